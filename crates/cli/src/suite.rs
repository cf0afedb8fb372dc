//! `reweave suite`: many tests within one budget.

mod expect;
mod file;
mod init;
mod job;
mod policy;
mod schedule;
mod simulate;
mod state_file;

use crate::{
    args::{Format, SuiteOptions},
    cluster::SharedCluster,
    output::{print, say, style, usage},
    signals::interrupts,
};
use file::SuiteFile;
use job::Job;
use policy::Policy;
use reweave_check::Control;
use reweave_report::{ExitCode, SuiteDocument, junit_suite, render_suite, save};
use reweave_toolchain::Kit;
use state_file::StateFile;
use std::{
    env, fs, io, path,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// Runs the command and returns its exit code.
pub fn run(options: &SuiteOptions) -> ExitCode {
    let done = match (options.init, options.simulate) {
        (true, _) => init(&options.file),
        (false, true) => simulate(options),
        (false, false) => tests(options),
    };
    done.unwrap_or_else(|sentence| usage(&sentence))
}

fn init(file: &Path) -> Result<ExitCode, String> {
    let tests = init::write(file)?;
    let tests = format!("{tests} test{}", if tests == 1 { "" } else { "s" });
    Ok(print(&format!("{}: {tests}\n", file.display())))
}

/// Explores every test to its end, once for each seed, without looking at what it comes to.
fn simulate(options: &SuiteOptions) -> Result<ExitCode, String> {
    let mut suite = file::read(&options.file)?;
    Places::new(options)?;
    let control = Control::default();
    let (stop, state) = (interrupts(&control), StateFile::new());
    let mut turns = Vec::new();
    for seed in 0..options.seeds.get().into() {
        let mut courses = Vec::new();
        for test in &mut suite.tests {
            test.check.search.seed = seed;
            let course = Job::new(test, &state, &stop, None).record();
            courses.push(course.map_err(|failure| format!("{}: {}", test.name, failure.sentence))?);
        }
        turns.push(courses);
    }
    Ok(print(&simulate::tables(&turns)))
}

fn tests(options: &SuiteOptions) -> Result<ExitCode, String> {
    let start = Instant::now();
    let suite = file::read(&options.file)?;
    let budget = budget(options, &suite)?;
    let policy = options.policy.as_ref().map(|policy| policy.parse());
    let policy = policy.transpose()?.or(suite.policy).unwrap_or_default();
    let places = Places::new(options)?;
    let mut state = match &places.state {
        Some(path) => StateFile::read(path)?,
        None => StateFile::new(),
    };
    let cluster = cluster(options)?;
    let workers = options
        .workers
        .map_or_else(|| usual(cluster.is_some()), usize::from);
    let mut document = SuiteDocument::new(&options.file.to_string_lossy(), policy.name());
    document.budget_s = budget.map(|budget| budget.as_secs_f64());
    document.workers = workers as u32;
    let until = budget.and_then(|budget| start.checked_add(budget));
    let exploration = Exploration {
        policy,
        workers,
        until,
        cluster: cluster.as_ref(),
    };
    document.tests = explore(suite, &places, &mut state, &exploration)?;
    if let Some(cluster) = &cluster {
        document.workers = cluster.slots() as u32;
    }
    document.elapsed_s = start.elapsed().as_secs_f64();
    tell(options, &places, &document, &state)
}

/// How many tests have a turn at the same time: one for each core, and more where others explore them.
fn usual(elsewhere: bool) -> usize {
    const ELSEWHERE: usize = 4;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if elsewhere { ELSEWHERE * cores } else { cores }
}

fn cluster(options: &SuiteOptions) -> Result<Option<SharedCluster>, String> {
    let credentials = options.credentials.as_deref();
    let connect = |url| SharedCluster::connect(url, credentials);
    let cluster = options.cluster.as_deref().map(connect).transpose();
    cluster.map_err(|failure| failure.sentence)
}

/// The command line's, or else the file's.
fn budget(options: &SuiteOptions, suite: &SuiteFile) -> Result<Option<Duration>, String> {
    match options.budget.or(suite.budget) {
        Some(Duration::ZERO) => Err("a budget of nothing is enough for no test".into()),
        budget => Ok(budget),
    }
}

/// Where files go; tests are run from where the suite's file is.
struct Places {
    state: Option<PathBuf>,
    junit: Option<PathBuf>,
    output: PathBuf,
}

impl Places {
    /// Goes to the place of the suite's file, with the others as they were meant before.
    fn new(options: &SuiteOptions) -> Result<Places, String> {
        let mut places = Places {
            state: options.state.clone(),
            junit: options.junit.clone(),
            output: options.output.clone(),
        };
        // Said now, and not when the budget is spent.
        for place in [&places.state, &places.junit].into_iter().flatten() {
            can_be_written(place)?;
        }
        let parent = options.file.parent();
        let Some(parent) = parent.filter(|parent| *parent != Path::new("")) else {
            return Ok(places);
        };
        let all = [&mut places.state, &mut places.junit];
        for place in all.into_iter().flatten().chain([&mut places.output]) {
            let absolute = path::absolute(&place);
            *place = absolute.map_err(|error| format!("{}: {error}", place.display()))?;
        }
        let failed = |error| format!("{}: cannot be entered: {error}", parent.display());
        env::set_current_dir(parent).map_err(failed)?;
        Ok(places)
    }
}

/// Files are written into a neighbour and renamed.
fn can_be_written(path: &Path) -> Result<(), String> {
    let failed = |error| format!("{}: cannot be written: {error}", path.display());
    if path.is_dir() {
        return Err(failed(io::ErrorKind::IsADirectory.into()));
    }
    let neighbour = path.with_file_name(format!(".reweave-{}.part", std::process::id()));
    fs::File::create(&neighbour).map_err(failed)?;
    fs::remove_file(&neighbour).map_err(failed)
}

/// How tests are explored.
struct Exploration<'a> {
    policy: Policy,
    /// How many tests have a turn at the same time.
    workers: usize,
    until: Option<Instant>,
    cluster: Option<&'a SharedCluster>,
}

fn explore(
    mut suite: SuiteFile,
    places: &Places,
    state: &mut StateFile,
    how: &Exploration<'_>,
) -> Result<Vec<reweave_report::TestEntry>, String> {
    for test in &mut suite.tests {
        test.check.options.output.clone_from(&places.output);
    }
    // Now, and not by all workers at once.
    Kit::unpack().map_err(|error| error.to_string())?;
    let control = Control::default();
    let stop = interrupts(&control);
    let mut order: Vec<usize> = (0..suite.tests.len()).collect();
    order.sort_by_key(|index| state.rank(&suite.tests[*index].name));
    let jobs = suite.tests.iter();
    let jobs: Vec<_> = jobs
        .map(|test| Mutex::new(Job::new(test, state, &stop, how.until).on(how.cluster)))
        .collect();
    let entries = schedule::run(&jobs, &order, how, &stop);
    if stop.load(Relaxed) {
        say("interrupted: this is what is known so far");
    }
    let jobs = jobs.into_iter().map(Mutex::into_inner);
    let jobs = jobs.map(|job| job.unwrap_or_else(PoisonError::into_inner));
    state.tests = jobs.filter_map(Job::kept).collect();
    Ok(entries)
}

fn tell(
    options: &SuiteOptions,
    places: &Places,
    document: &SuiteDocument,
    state: &StateFile,
) -> Result<ExitCode, String> {
    let text = match options.format {
        Format::Json => document.to_json(),
        Format::Text => render_suite(document, style(false, false)),
    };
    let printed = print(&text);
    if let Some(path) = &places.state {
        state.write(path)?;
    }
    if let Some(path) = &places.junit {
        save(path, &junit_suite(document)).map_err(|error| error.to_string())?;
    }
    Ok(match printed {
        ExitCode::Clean => document.exit_code(),
        failed => failed,
    })
}
