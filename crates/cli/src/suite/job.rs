//! One test under way: built when its first turn comes, explored in slices, judged.

use super::{
    file::Test,
    policy::Outlook,
    simulate::Course,
    state::{Kept, State},
};
use crate::{
    check::{Ending, Session, prepare},
    say,
};
use reweave_check::Control;
use reweave_explore::Estimate;
use reweave_report::{Size, TestEntry, Verdict};
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// See the module.
pub struct Job<'a> {
    test: &'a Test,
    control: Control,
    /// What is remembered of it: from last time, and in the end for the next.
    kept: Option<Kept>,
    session: Option<Session>,
}

/// What a turn came to.
pub enum Turn {
    /// There is more to do.
    More(Option<Outlook>),
    /// It is done.
    Done(Box<TestEntry>),
}

impl<'a> Job<'a> {
    /// A test that has not begun; `stop` stops it.
    pub fn new(test: &'a Test, state: &State, stop: &Arc<AtomicBool>) -> Job<'a> {
        Job {
            test,
            control: Control::stopped_by(stop.clone()),
            kept: state.tests.get(&test.name).cloned(),
            session: None,
        }
    }

    /// Explores until then.
    pub fn advance(&mut self, until: Instant, workers: usize) -> Turn {
        match self.explore(until, workers) {
            Ok(true) => Turn::More(self.outlook()),
            Ok(false) => self.conclude(),
            Err(ending) => Turn::Done(Box::new(self.broken(ending))),
        }
    }

    fn explore(&mut self, until: Instant, workers: usize) -> Result<bool, Ending> {
        if self.session.is_none() {
            self.session = Some(self.begin()?);
        }
        let session = self.session.as_mut().expect("just begun");
        session.set_workers(workers);
        session.advance(&self.control, Some(until))
    }

    fn begin(&mut self) -> Result<Session, Ending> {
        let test = self.test;
        let stdin = test.stdin.as_ref().map(|path| {
            let file = File::open(path).map(Arc::new);
            file.map_err(|error| format!("{}: cannot be read: {error}", path.display()))
        });
        let prepared = prepare(&test.check, stdin.transpose()?)?;
        let program = prepared.path().to_path_buf();
        let mut session = Session::new(test.check.clone(), prepared, file_name(&test.name))?;
        let program = fingerprint(test, &program)
            .map_err(|error| format!("{}: cannot be read: {error}", program.display()))?;
        let kept = self.kept.take();
        let stored = match kept {
            Some(kept) if kept.program != program && kept.search.is_some() => {
                say(&format!(
                    "{}: the program has changed since; it is explored from the beginning",
                    test.name
                ));
                None
            }
            kept => kept.and_then(|kept| kept.search),
        };
        if let Some(why) = stored.and_then(|stored| session.resume(stored).err()) {
            say(&format!(
                "{}: cannot go on where it stopped, and is explored from the beginning: {why}",
                test.name
            ));
        }
        self.kept = Some(Kept {
            verdict: Verdict::Unfinished,
            program,
            search: None,
        });
        Ok(session)
    }

    fn outlook(&self) -> Option<Outlook> {
        let check = self.session.as_ref()?.under_way();
        let elapsed = check.elapsed().as_secs_f64();
        check.estimate().map(|it| Outlook::new(&it, elapsed))
    }

    /// Explores it to its end, and tells what could be told on the way.
    pub fn record(&mut self) -> Result<Course, Ending> {
        let mut session = self.begin()?;
        session.set_workers(1);
        let mut points = Vec::new();
        let mut runs = 1;
        while session.advance_to(&self.control, runs)? {
            if self.control.stop.load(Relaxed) {
                return Err("interrupted".to_owned().into());
            }
            let check = session.under_way();
            let events = check.totals().events as f64;
            let outlook = check.estimate().map(|it| Outlook::new(&it, events));
            points.extend(outlook.map(|outlook| (events, outlook)));
            // Half a percent later little has changed.
            runs = check.totals().runs() + 1 + runs / 200;
        }
        Ok(Course {
            name: self.test.name.clone(),
            points,
            length: session.under_way().totals().events as f64,
        })
    }

    /// Ends its processes until its next turn; a compiled program stays.
    pub fn rest(&self) {
        if let Some(session) = &self.session {
            session.rest();
        }
    }

    /// Says what came out. What was not explored is remembered.
    pub fn conclude(&mut self) -> Turn {
        let Some(session) = &mut self.session else {
            let why = "there was no time for it".into();
            return Turn::Done(Box::new(self.entry(Verdict::Unfinished, Some(why))));
        };
        let stored = session.store();
        let estimate = session.under_way().estimate();
        let told = match session.conclude() {
            Ok(Some(told)) => told,
            Ok(None) => return Turn::More(None),
            Err(ending) => return Turn::Done(Box::new(self.broken(ending))),
        };
        let (verdict, message) = self.test.expect.judge(&told.result, self.test.check.strict);
        let mut entry = self.entry(verdict, message);
        entry.estimate = estimate.map(size);
        entry.result = Some(told.result);
        if let Some(kept) = &mut self.kept {
            kept.search = Some(stored).filter(|_| verdict == Verdict::Unfinished);
        }
        self.session = None;
        Turn::Done(Box::new(entry))
    }

    fn broken(&mut self, Ending(_, why): Ending) -> TestEntry {
        self.session = None;
        self.kept.get_or_insert_with(|| Kept {
            verdict: Verdict::Broken,
            program: String::new(),
            search: None,
        });
        self.entry(Verdict::Broken, Some(why))
    }

    fn entry(&mut self, verdict: Verdict, message: Option<String>) -> TestEntry {
        if let Some(kept) = &mut self.kept {
            kept.verdict = verdict;
        }
        TestEntry {
            name: self.test.name.clone(),
            expected: self.test.expect.to_string(),
            verdict,
            message,
            estimate: None,
            result: None,
        }
    }

    /// What is remembered of it next time.
    pub fn kept(self) -> Option<(String, Kept)> {
        Some((self.test.name.clone(), self.kept?))
    }
}

fn size(estimate: Estimate) -> Size {
    Size {
        ln_executions: estimate.ln_runs,
        covered: estimate.covered(),
    }
}

/// Stands for the program and everything that decides what its search is: another one cannot go on where this one stopped.
fn fingerprint(test: &Test, program: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(program)?.hash(&mut hasher);
    test.check.args.hash(&mut hasher);
    let stdin = test.stdin.as_ref().map(fs::read);
    stdin.transpose()?.hash(&mut hasher);
    let check = &test.check;
    let options = (check.options, check.races, check.restart, check.keep_going);
    format!("{options:?} {:?}", check.max_executions).hash(&mut hasher);
    (env!("CARGO_PKG_VERSION"), env!("REWEAVE_KIT")).hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// A name that is good for a file.
fn file_name(name: &str) -> String {
    let good = |c: char| match c.is_ascii_alphanumeric() || "_-.".contains(c) {
        true => c,
        false => '-',
    };
    name.chars().map(good).collect()
}
