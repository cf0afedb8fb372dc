//! Runs a table of small programs, with and without the checker; `corpus.rs` and `structures.rs`
//! bring the tables.

use std::{
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

/// What the checker must say of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code, reason = "not every table has a case of each")]
pub enum Expected {
    Clean,
    Assertion,
    DataRace,
    Deadlock,
    Livelock,
}

/// One program and its verdict.
pub struct Case {
    pub name: &'static str,
    pub run: fn(),
    pub expected: Expected,
}

/// Far above what any of these programs takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs every clean program once, as it is, outside a check: each ends, none panics.
pub fn smoke(cases: &[Case]) {
    let failures: Vec<String> = cases
        .iter()
        .filter(|case| case.expected == Expected::Clean)
        .filter_map(|case| run_once(case).err())
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

fn run_once(case: &Case) -> Result<(), String> {
    let (ended, end) = mpsc::channel();
    let run = case.run;
    let runner = thread::spawn(move || {
        run();
        ended.send(()).expect("the receiver waits for this");
    });
    // A panic drops the sender, and the join below says so.
    if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        return Err(format!("{}: did not end", case.name));
    }
    runner
        .join()
        .map_err(|_| format!("{}: panicked", case.name))
}

/// The names in a table are the names of trace directories: each once.
pub fn names_are_distinct(cases: &[Case]) {
    let distinct: std::collections::BTreeSet<_> = cases.iter().map(|case| case.name).collect();
    assert_eq!(distinct.len(), cases.len());
}

pub use checked::check;

mod checked {
    use super::{Case, Expected};
    use reweave::{Builder, Kind};
    use std::{
        fs,
        path::{Path, PathBuf},
    };

    /// Every program has its verdict; every failing one wrote a trace that replays, twice, to the
    /// same end.
    pub fn check(cases: &[Case]) {
        let failures: Vec<String> = cases
            .iter()
            .filter_map(|case| check_one(case).err())
            .collect();
        assert!(failures.is_empty(), "{failures:#?}");
    }

    fn check_one(case: &Case) -> Result<(), String> {
        let report = Builder::new()
            .keep_going(true)
            .trace_dir(trace_dir(case))
            .run(case.run);
        let told = |what: String| Err(format!("{}: {what}", case.name));
        let Some(expected) = kind(case.expected) else {
            if let Some(error) = report.errors.first() {
                return told(format!("not clean: {:?}: {}", error.kind, error.message));
            }
            if !report.complete {
                return told(format!("incomplete after {} executions", report.executions));
            }
            // Which values keep a thread in its loop is known only by running it.
            let loops = report.equivalence == "reads-from-exits";
            if report.blocked > 0 && !loops {
                return told(format!("{} runs given up", report.blocked));
            }
            return Ok(());
        };
        if report.errors.is_empty() {
            return told(format!(
                "no {expected:?} in {} executions",
                report.executions
            ));
        }
        for error in &report.errors {
            if error.kind != expected {
                return told(format!(
                    "{:?} instead of {expected:?}: {}",
                    error.kind, error.message
                ));
            }
            let Some(trace) = &error.trace else {
                return told(format!("no trace of: {}", error.message));
            };
            for _ in 0..2 {
                replays(case, trace, (error.kind, &error.message, error.events))?;
            }
        }
        Ok(())
    }

    /// One run from the trace file ends with exactly the recorded error after as many events.
    fn replays(case: &Case, trace: &Path, recorded: (Kind, &str, usize)) -> Result<(), String> {
        let report = Builder::new().replay(trace).run(case.run);
        let again: Vec<_> = report
            .errors
            .iter()
            .map(|e| (e.kind, e.message.as_str(), e.events))
            .collect();
        if report.executions == 1 && again == [recorded] {
            Ok(())
        } else {
            Err(format!(
                "{}: {} gave {again:?} in {} executions, not {recorded:?}",
                case.name,
                trace.display(),
                report.executions
            ))
        }
    }

    fn kind(expected: Expected) -> Option<Kind> {
        match expected {
            Expected::Clean => None,
            Expected::Assertion => Some(Kind::Assertion),
            Expected::DataRace => Some(Kind::DataRace),
            Expected::Deadlock => Some(Kind::Deadlock),
            Expected::Livelock => Some(Kind::Livelock),
        }
    }

    /// A fresh directory below the build's own temporary one.
    fn trace_dir(case: &Case) -> PathBuf {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("traces")
            .join(case.name.replace("::", "-"));
        let _ = fs::remove_dir_all(&dir); // there is none on the first run
        fs::create_dir_all(&dir).expect("the build directory is ours");
        dir
    }
}
