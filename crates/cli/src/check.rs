//! `reweave check`: compiles, explores, tells.

pub mod args;
mod debugger;
mod names;
mod native;
mod noticed;
pub mod progress;
mod replay;
mod session;
mod size;
mod stdin;

use crate::{args::Format, kit, print, say, style, usage};
use args::{Check, Races, Restart, Threads, What};
pub use debugger::Debugging;
pub use replay::replay;
use reweave_check::{Control, Fault, Settings};
use reweave_drive::{Launch, Limits, binary, compile};
use reweave_explore::{AlgorithmName as Algorithm, Options, Probing};
use reweave_report::{
    ExitCode, Program, ResultDocument, Sources, Style, render_trace, render_untold,
};
pub use session::{Session, StoredSession, Told};
pub use size::estimate;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// Runs the command and says with which code to exit.
pub fn run(args: Vec<OsString>) -> ExitCode {
    let check = match args::parse(args) {
        Ok(Some(check)) => check,
        Ok(None) => return print(args::HELP),
        Err(sentence) => return usage(&sentence),
    };
    match explore(&check) {
        Ok(code) => code,
        Err(Ending(code, sentence)) => {
            say(&sentence);
            if code == ExitCode::Fault && check.format == Format::Json {
                print(&nothing_known(&check, &sentence).to_json());
            }
            code
        }
    }
}

/// What is told of a program that could not be explored to any result.
fn nothing_known(check: &Check, sentence: &str) -> ResultDocument {
    let algorithm = match check.options.algorithm {
        Algorithm::Auto => Algorithm::Rf,
        named => named,
    };
    let name = name(&check.what);
    let mut result = ResultDocument::new(&name, algorithm.name(), algorithm.equivalence());
    result.complete = false;
    let line = sentence.lines().next().unwrap_or_default();
    result.incomplete = vec![format!("unsupported: {line}")];
    result
}

/// Why there is no result.
pub struct Ending(pub ExitCode, pub String);

impl From<String> for Ending {
    fn from(sentence: String) -> Ending {
        Ending(ExitCode::Usage, sentence)
    }
}

impl From<Fault> for Ending {
    fn from(fault: Fault) -> Ending {
        let why = match fault {
            Fault::Differs(what) => format!("{NOT_DETERMINISTIC}\n  {what}"),
            Fault::Failed(why) => why,
        };
        Ending(ExitCode::Fault, why)
    }
}

/// A program that can be started. Dropping it removes what was built.
pub struct Prepared {
    launch: Launch,
    program: Program,
    _built: Option<compile::Built>,
}

impl Prepared {
    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.launch.program
    }

    /// What is asked for, of this program.
    pub fn settings(&self, check: &Check) -> Settings {
        settings(check, &self.program)
    }

    /// A more trusted way to run it again, if there is one and we may choose.
    fn lower(&self, check: &Check) -> Option<reweave_drive::Restart> {
        use reweave_drive::Restart::{Exec, Fork, Warm};
        match (check.restart, self.launch.restart) {
            // A forked process has no other threads.
            (Restart::Auto, Warm) if check.threads == Threads::Os => Some(Exec),
            (Restart::Auto, Warm) => Some(Fork),
            (Restart::Auto, Fork) => Some(Exec),
            _ => None,
        }
    }
}

/// Whether somebody wants an end.
fn stopped(interrupted: &AtomicBool) -> bool {
    interrupted.load(Relaxed)
}

/// Has a program compiled, if it has to be, and ready to be started with this standard input.
pub fn prepare(check: &Check, stdin: Option<Arc<File>>) -> Result<Prepared, Ending> {
    let races = match check.races {
        Races::Report => reweave_drive::Races::Check,
        Races::Explore => reweave_drive::Races::Explore,
        Races::Interleave => reweave_drive::Races::Interleave,
        Races::Ignore => reweave_drive::Races::Ignore,
    };
    let restart = match check.restart {
        Restart::Auto | Restart::Warm => reweave_drive::Restart::Warm,
        Restart::Fork => reweave_drive::Restart::Fork,
        Restart::Exec => reweave_drive::Restart::Exec,
    };
    let threads = match check.threads {
        Threads::Fiber => reweave_drive::Threads::Fiber,
        Threads::Os => reweave_drive::Threads::Os,
    };
    let (path, built) = match &check.what {
        What::Files(words) => {
            let kit = kit::unpack()?;
            let built = compile::build(&kit, words.clone()).map_err(|error| error.to_string())?;
            (built.program.clone(), Some(built))
        }
        What::Program(program) => {
            let path = found(program);
            let bare = binary::look(&path)?.bare;
            binary::instrumented(&path)?;
            if bare {
                say(&format!(
                    "{}: has no debug information, so places are functions and addresses; build it with -g to see files and lines",
                    program.display()
                ));
            }
            (path, None)
        }
    };
    Ok(Prepared {
        launch: Launch {
            args: check.args.clone(),
            stdin,
            races,
            restart,
            limits: check.limits.clone(),
            threads,
            ..Launch::new(path)
        },
        program: described(check),
        _built: built,
    })
}

/// The file of a program, in the directories for programs if it is named without one.
fn found(program: &Path) -> PathBuf {
    let plain = !program.as_os_str().to_string_lossy().contains('/');
    let path = env::var_os("PATH").filter(|_| plain).unwrap_or_default();
    let files = env::split_paths(&path).map(|directory| directory.join(program));
    let mut files = files.filter(|file| file.is_file());
    files.next().unwrap_or_else(|| program.into())
}

/// The program in a trace: with the words that build and start it again.
fn described(check: &Check) -> Program {
    let mut command = Vec::new();
    if check.races != Races::default() {
        command.extend(["--races".into(), check.races.name().into()]);
    }
    if check.threads == Threads::Os {
        command.extend(["--threads".into(), "os".into()]);
    }
    command.extend(check.limits());
    let mut add = |words: &[OsString]| {
        command.extend(words.iter().map(|word| word.to_string_lossy().into_owned()));
    };
    match &check.what {
        What::Files(words) => {
            add(words);
            add(&["--".into()]);
        }
        What::Program(program) => add(&["--".into(), program.into()]),
    }
    add(&check.args);
    let directory = env::current_dir().ok();
    Program {
        name: name(&check.what),
        kind: "native".into(),
        test: None,
        command,
        directory: directory.map(|directory| directory.display().to_string()),
        visible: Vec::new(),
        rules: Vec::new(),
        libraries: Vec::new(),
        replay: Some("reweave replay {trace}".into()),
    }
}

/// What the program is called: its first file.
fn name(what: &What) -> String {
    let path = match what {
        What::Program(program) => program.clone(),
        What::Files(words) => compile::Line::read(words.clone())
            .first_file()
            .map_or_else(PathBuf::new, PathBuf::from),
    };
    let name = path.file_name().map(OsStr::to_string_lossy);
    name.map_or_else(|| "program".into(), String::from)
}

/// What is asked for, of this program.
fn settings(check: &Check, program: &Program) -> Settings {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let stem = Path::new(&program.name).file_stem();
    Settings {
        options: Options {
            // Who has no time for all of it wants to know how much that is.
            probing: match check.budget {
                Some(_) => Probing::Often,
                None => check.options.probing,
            },
            ..check.options
        },
        workers: check.workers.map_or_else(cores, usize::from),
        budget: check.budget,
        max_executions: check.max_executions,
        keep_going: check.keep_going,
        every_race: true,
        beyond_races: check.races == Races::Explore,
        races_cut: check.races == Races::Report,
        minimise: check.minimise,
        directory: check.output.clone(),
        name: stem.unwrap_or_default().to_string_lossy().into_owned(),
        log: check.log.clone(),
    }
}

fn explore(check: &Check) -> Result<ExitCode, Ending> {
    let mut prepared = prepare(check, stdin::read()?)?;
    if let Some(log) = &check.log {
        // Said now, and not after the search.
        File::create(log)
            .map_err(|error| format!("{}: no log can be written: {error}", log.display()))?;
    }
    let control = Control::default();
    let interrupted = progress::interrupts(&control)?;
    let name = prepared.program.name.clone();
    let settings = prepared.settings(check);
    let workers = settings.workers;
    let stem = settings.name.clone();
    let limits = Limits {
        stop: control.stop.clone(),
        ..prepared.launch.limits.clone()
    };
    prepared.launch.limits = limits.clone();
    let mut session = Session::new(check.clone(), prepared, settings)?;
    // Compiling is not exploring.
    let until = check
        .budget
        .and_then(|budget| Instant::now().checked_add(budget));
    if let Some(until) = until {
        let _ = limits.until.set(until);
    }
    let shown = check.format == Format::Text;
    let told = loop {
        progress::shown(&name, workers, &control, shown, || {
            session.advance(&control, until)
        })?;
        if let Some(told) = session.conclude()? {
            break told;
        }
    };
    if stopped(&interrupted) {
        say("interrupted: this is what is known so far");
    }
    keep(check, &stem, &told.result);
    let text = match check.format {
        Format::Json => told.result.to_json(),
        Format::Text => story(&told, style(check.full, check.plain)),
    };
    Ok(match print(&text) {
        ExitCode::Clean => told.result.exit_code(check.strict),
        failed => failed,
    })
}

const NOT_DETERMINISTIC: &str = "the program does not do the same when it is run the same way again (does it depend on \
    addresses, on random numbers, on something outside that changes?)";

/// Stories that are told whole; of the others there is the trace file.
const STORIES: usize = 3;

/// Leaves the result beside the traces: where there are some, and where a directory for them stands ready.
fn keep(check: &Check, name: &str, result: &ResultDocument) {
    if check.output.is_dir() {
        if let Err(error) = result.keep(&check.output, name) {
            say(&format!("the result is not kept: {error}"));
        }
    }
}

fn story(told: &Told, style: Style) -> String {
    let mut text = String::new();
    for error in told.outcome.errors.iter().take(STORIES) {
        let file = error.file.as_ref().ok();
        let again = file.and_then(|file| crate::again(&error.trace.program, file));
        text += &render_trace(
            &error.trace,
            again.as_deref(),
            &Sources::of(&error.trace),
            style,
        );
        if let Err(why) = &error.file {
            text += &format!("\nThere is no trace file to run this execution again from: {why}\n");
        }
        text += "\n";
    }
    let stories = told.outcome.errors.len().min(STORIES);
    text + &render_untold(&told.result, stories, style)
}
