//! `reweave check`: compiles, explores, reports.

use crate::{
    args::{CheckOptions, CheckRequest, FaultKind, Format, Granularity, ProgramSource, Races},
    cluster,
    config::{Suppress, accept, is_known},
    fingerprint::{Facts, hash_of_file},
    output::{Failure, print, quoted, replay_line, say, style, usage},
    progress::{self, Phase, Progress},
    search_file::SearchFile,
    signals::interrupts,
    verdict_cache::{Known, VerdictCache},
};
use reweave_check::{Control, Settings};
use reweave_explore::{AlgorithmName, Options, Probing};
use reweave_native::{
    Finished, Ladder, Lines, NativeProgram, Session, StepDown, copy_standard_input,
};
use reweave_report::{ExitCode, ResultDocument, Sources, Style, render_trace, render_untold};
use std::{
    collections::BTreeSet,
    env,
    ffi::OsString,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// Runs the command and returns its exit code.
pub fn run(options: CheckOptions) -> ExitCode {
    let request = match CheckRequest::new(options) {
        Ok(request) => request,
        Err(sentence) => return usage(&sentence),
    };
    let explored = match request.options.cluster {
        Some(_) => cluster::explore(&request),
        None => explore(&request),
    };
    match explored {
        Ok(code) => code,
        Err(failure) => {
            let code = failure.report();
            if code == ExitCode::Fault && request.options.format == Format::Json {
                print(&without_result(&request, &failure.sentence).to_json());
            }
            code
        }
    }
}

/// The document of a program that could not be explored to any result.
fn without_result(request: &CheckRequest, sentence: &str) -> ResultDocument {
    let algorithm = match request.search.algorithm {
        AlgorithmName::Auto => AlgorithmName::Rf,
        named => named,
    };
    let mut result = ResultDocument::new(
        &request.program_name(),
        algorithm.name(),
        algorithm.equivalence(),
    );
    result.complete = false;
    let line = sentence.lines().next().unwrap_or_default();
    result.incomplete = vec![format!("unsupported: {line}")];
    result
}

/// The command's standard input, for the program.
pub fn standard_input() -> Result<Option<Arc<File>>, Failure> {
    let slow =
        || say("standard input is read to its end, for the program; `< /dev/null` gives it none");
    let copied = copy_standard_input(slow);
    copied.map_err(|error| format!("standard input cannot be read: {error}").into())
}

/// Builds the program, if it has to be built, and makes it ready to be started with this standard input.
pub fn prepare(request: &CheckRequest, stdin: Option<Arc<File>>) -> Result<NativeProgram, Failure> {
    let options = &request.options;
    let mut program = match &request.source {
        ProgramSource::Files(words) => NativeProgram::build(words.clone())?,
        ProgramSource::Program(path) => {
            let program = match options.granularity {
                Granularity::Accesses => NativeProgram::open(path)?,
                Granularity::Calls => NativeProgram::open_unmodified(path)?,
            };
            if !program.has_debug_info() {
                say(&format!(
                    "{}: has no debug information, so places are functions and addresses; build it with -g to see files and lines",
                    path.display()
                ));
            }
            program
        }
    };
    program.ladder = Ladder::from(options.restart);
    let launch = &mut program.launch;
    launch.args.clone_from(&request.args);
    launch.stdin = stdin;
    if options.granularity == Granularity::Accesses {
        launch.races = request.races().into();
    }
    launch.spurious_wakeups = options.faults.contains(&FaultKind::SpuriousWakeups);
    let faults: BTreeSet<FaultKind> = options.faults.iter().copied().collect();
    launch.faults = faults.into_iter().filter_map(FaultKind::injected).collect();
    launch.ranks = options.ranks;
    launch.sends = options.sends.into();
    launch.restart = program.ladder.first();
    launch.limits = options.limits();
    launch.threads = options.threads.into();
    if options.coverage {
        launch.lines = Lines::of(&launch.program).map(Arc::new);
    }
    let directory = env::current_dir().ok();
    let digest = hash_of_file(&program.launch.program).ok();
    let description = &mut program.description;
    description.digest = digest;
    description.command = request.to_words();
    description.directory = directory.map(|directory| directory.display().to_string());
    description.replay = Some("reweave replay {trace}".into());
    Ok(program)
}

/// What the files of a check are called: after its program and its arguments, `queue` or `queue_17`.
fn files_name(program: &str, args: &[OsString]) -> String {
    /// Names of files have limits, also with a number and an extension.
    const LONGEST: usize = 60;
    let mut name = stem(program);
    for arg in args {
        let good = |c: char| c.is_ascii_alphanumeric() || "-.=+,".contains(c);
        let arg = arg.to_string_lossy();
        let arg = arg.chars().map(|c| if good(c) { c } else { '-' });
        name.push('_');
        name.extend(arg);
    }
    if name.len() > LONGEST && !args.is_empty() {
        let mut hasher = DefaultHasher::new();
        args.hash(&mut hasher);
        let end = (0..=LONGEST).rev().find(|at| name.is_char_boundary(*at));
        name.truncate(end.unwrap_or(0));
        name += &format!("-{:08x}", hasher.finish() as u32);
    }
    name
}

/// All that a program reads on its standard input.
pub fn whole(stdin: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; stdin.metadata()?.len() as usize];
    stdin.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// What the files of a program are called, whatever its arguments are.
pub fn stem(program: &str) -> String {
    let stem = Path::new(program).file_stem();
    stem.unwrap_or_default().to_string_lossy().into_owned()
}

/// How many workers explore at once.
fn workers(options: &CheckOptions) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    options.workers.map_or_else(cores, usize::from)
}

/// The settings of a check of this program.
pub fn settings(request: &CheckRequest, program: &NativeProgram) -> Settings {
    let options = &request.options;
    Settings {
        options: Options {
            // With a budget, the size of the search matters.
            probing: match options.budget {
                Some(_) => Probing::Often,
                None => request.search.probing,
            },
            ..request.search
        },
        workers: workers(options),
        budget: options.budget,
        max_executions: options.max_executions,
        keep_going: options.keep_going,
        every_race: true,
        beyond_races: request.races() == Races::Explore,
        races_cut: request.races() == Races::Report,
        minimise: !options.no_minimise,
        directory: options.output.clone(),
        name: files_name(program.name(), &request.args),
        coverage: options.coverage,
        log: options.log.clone(),
    }
}

fn explore(request: &CheckRequest) -> Result<ExitCode, Failure> {
    let options = &request.options;
    let stdin = standard_input()?;
    if let Some(log) = &options.log {
        // Reported now, and not after the search.
        File::create(log)
            .map_err(|error| format!("{}: no log can be written: {error}", log.display()))?;
    }
    let control = Control::default();
    let progress = Progress::new(request.program_name(), workers(options), &control);
    let shown = options.format == Format::Text;
    let verdict = progress::shown(&progress, shown, || -> Result<_, Failure> {
        let program = prepare(request, stdin)?;
        let facts = Facts::of(request, &program)
            .map_err(|error| format!("{}: cannot be read: {error}", program.name()))?;
        let cache = VerdictCache::of(request, &facts);
        if let Some(known) = cache.as_ref().and_then(|cache| cache.look_up(&program)) {
            return Ok(Verdict::Known(Box::new(known)));
        }
        let checked = search(
            request,
            program,
            &facts,
            cache.as_ref(),
            &control,
            &progress,
        )?;
        Ok(Verdict::Found(Box::new(checked)))
    })?;
    match verdict {
        Verdict::Known(known) => Ok(repeat(request, *known)),
        Verdict::Found(checked) => present(request, &checked),
    }
}

/// What a check came to.
enum Verdict {
    /// By an earlier check, and nothing has changed since.
    Known(Box<Known>),
    Found(Box<Checked>),
}

/// Shows the result of an earlier check.
fn repeat(request: &CheckRequest, known: Known) -> ExitCode {
    let options = &request.options;
    let mut result = known.result;
    let age = known.since.elapsed().unwrap_or_default();
    result.cached_s = Some(age.as_secs_f64());
    let text = match options.format {
        Format::Json => result.to_json(),
        Format::Text => render_untold(&result, 0, style(options.full, options.plain)),
    };
    match print(&text) {
        ExitCode::Clean => result.exit_code(options.strict),
        failed => failed,
    }
}

/// Shows what came out of a check, and returns the exit code.
pub fn present(request: &CheckRequest, checked: &Checked) -> Result<ExitCode, Failure> {
    let options = &request.options;
    if let Some(sentence) = &checked.interrupted {
        say(sentence);
    }
    let finished = &checked.finished;
    if let Some(sentence) = unconfirmed(finished.outcome.unconfirmed) {
        say(&sentence);
    }
    keep(&options.output, &checked.name, &finished.result);
    let text = match options.format {
        Format::Json => finished.result.to_json(),
        Format::Text => {
            let text = story(finished, style(options.full, options.plain));
            text + &where_covered(&options.output, &checked.name, &finished.result)
        }
    };
    Ok(match print(&text) {
        ExitCode::Clean => finished.result.exit_code(options.strict),
        failed => failed,
    })
}

/// How to look at all that was covered.
fn where_covered(output: &Path, name: &str, result: &ResultDocument) -> String {
    if result.coverage.is_none() {
        return String::new();
    }
    let file = output.join(format!("{name}{}", ResultDocument::LATEST));
    let file = quoted(&file.display().to_string());
    format!("\nAll that was covered:\n  reweave report {file} --html covered.html\n")
}

/// What stops a search that can be continued.
const RESUMABLE: [&str; 3] = ["interrupted", "budget", "max-executions"];

/// A check at its end.
pub struct Checked {
    pub finished: Finished,
    /// What its files are called.
    pub name: String,
    /// What to say if it was interrupted.
    pub interrupted: Option<String>,
}

/// Explores a program to its end or its limits. What is left of a search that was stopped is kept.
fn search(
    request: &CheckRequest,
    mut program: NativeProgram,
    facts: &Facts,
    cache: Option<&VerdictCache>,
    control: &Control,
    progress: &Progress<'_>,
) -> Result<Checked, Failure> {
    let options = &request.options;
    let interrupted = interrupts(control);
    program.stopped_by(control);
    let settings = settings(request, &program);
    let name = settings.name.clone();
    let file = SearchFile::new(&options.output, &name, facts);
    // Compiling does not count.
    let until = options.budget.and_then(|it| Instant::now().checked_add(it));
    let mut session = Session::new(program, settings, until)?;
    if options.resume {
        resume(&mut session, &file);
    }
    let stepped_down = &mut |step: &StepDown| say(&step.to_string());
    let (finished, left) = loop {
        progress.enter(Phase::Exploring);
        let more = session.advance(control, until, stepped_down)?;
        progress.enter(Phase::Confirming);
        // Confirming takes the errors out of the session.
        let left = (more || options.max_executions.is_some()).then(|| session.store());
        if let Some(mut finished) = session.conclude(stepped_down)? {
            accept_known(&options.suppress, &mut finished);
            let goes_on = |why: &String| RESUMABLE.contains(&why.as_str());
            let left = left.filter(|_| finished.result.incomplete.iter().any(goes_on));
            break (finished, left);
        }
    };
    if let Some(cache) = cache {
        cache.keep(&session, &finished.result);
    }
    let kept = match left {
        Some(left) => file.write(left),
        None => {
            file.remove();
            Err(String::new())
        }
    };
    let interrupted = stopped(&interrupted).then(|| match kept {
        Ok(()) => format!("interrupted; to continue:\n  {}", again()),
        Err(why) if why.is_empty() => "interrupted: this is what is known".into(),
        Err(why) => format!("interrupted, and it cannot be continued: {why}"),
    });
    Ok(Checked {
        finished,
        name,
        interrupted,
    })
}

/// Takes known races out of the errors.
fn accept_known(known: &[Suppress], finished: &mut Finished) {
    let errors = &mut finished.outcome.errors;
    let places = errors
        .iter()
        .map(|error| error.trace.errors[error.index].places.clone());
    let places: Vec<_> = places.collect();
    let mut stays = accept(known, &places, &mut finished.result).into_iter();
    errors.retain(|_| stays.next().unwrap_or(true));
    // A story is about its error. The file has the known races of the execution, too.
    for error in errors {
        let (before, rest) = error.trace.errors.split_at(error.index);
        let mut shown: Vec<_> = before
            .iter()
            .filter(|it| !is_known(known, it))
            .cloned()
            .collect();
        error.index = shown.len();
        let (own, behind) = rest.split_at(1);
        shown.extend_from_slice(own);
        shown.extend(behind.iter().filter(|it| !is_known(known, it)).cloned());
        error.trace.errors = shown;
    }
}

/// Goes on where an earlier check stopped, if there is one.
fn resume(session: &mut Session, file: &SearchFile) {
    let resumed = file.read().and_then(|stored| {
        let resumed = session.resume(stored);
        resumed.map_err(|error| error.to_string())
    });
    match resumed {
        Ok(()) => session.allow_more(),
        Err(why) => say(&format!("{why}; it is explored from the beginning")),
    }
}

/// The command line that continues this one.
fn again() -> String {
    let words = env::args_os().skip(1);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    let mut words: Vec<String> = words.collect();
    let resumes = words
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "--resume");
    if let (false, Some(verb)) = (resumes, words.iter().position(|word| word == "check")) {
        words.insert(verb + 1, "--resume".into());
    }
    format!("reweave {}", words.join(" "))
}

/// What is said of errors that could not be run again in time.
fn unconfirmed(errors: usize) -> Option<String> {
    let what = match errors {
        0 => return None,
        1 => "an error was found whose execution".to_owned(),
        many => format!("{many} errors were found whose executions"),
    };
    Some(format!(
        "{what} could not be run again before the time was over; a larger budget reports it"
    ))
}

/// Whether the user interrupted the command.
pub fn stopped(interrupted: &AtomicBool) -> bool {
    interrupted.load(Relaxed)
}

/// Executions that are shown in full; of the others there is the trace file.
const STORIES: usize = 3;

/// Leaves the result beside the traces, if their directory exists. What was covered is for looking at, so it is always kept.
fn keep(output: &Path, name: &str, result: &ResultDocument) {
    if result.coverage.is_some() {
        // What goes wrong here does so below, with a message.
        let _ = fs::create_dir_all(output);
    }
    if output.is_dir() || result.coverage.is_some() {
        if let Err(error) = result.keep(output, name) {
            say(&format!("the result is not kept: {error}"));
        }
    }
}

fn story(finished: &Finished, style: Style) -> String {
    let mut text = String::new();
    for error in finished.outcome.errors.iter().take(STORIES) {
        let file = error.file.as_ref().ok();
        let again = file.and_then(|file| replay_line(&error.trace.program, file));
        text += &render_trace(
            &error.trace,
            again.as_deref(),
            &Sources::of(&error.trace),
            style,
        );
        if error.replaced {
            text += "\nThe file held an earlier trace of the same error.\n";
        }
        if let Err(why) = &error.file {
            text += &format!("\nThere is no trace file to run this execution again from: {why}\n");
        }
        text += "\n";
    }
    let stories = finished.outcome.errors.len().min(STORIES);
    text + &render_untold(&finished.result, stories, style)
}
