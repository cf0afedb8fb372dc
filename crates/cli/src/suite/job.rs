//! One test under way: built when its first turn comes, explored in slices, judged.

use super::{
    file::Test,
    policy::Outlook,
    simulate::Course,
    state_file::{Kept, StateFile},
};
use crate::{
    check::{prepare, settings},
    cluster::{Remote, SharedCluster, TurnLength},
    output::{Failure, say},
};
use reweave_check::{Control, Settings};
use reweave_explore::Estimate;
use reweave_native::{Session, StepDown};
use reweave_report::{TestEntry, Verdict};
use reweave_toolchain::Kit;
use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The last time, and the estimates there were with their times.
type Seen = (f64, Vec<(f64, Estimate)>);

/// See the module.
pub struct Job<'a> {
    test: &'a Test,
    control: Control,
    /// What is remembered of it: from last time, and in the end for the next.
    kept: Option<Kept>,
    session: Option<Session>,
    /// Where it is explored after its first turn, if not here.
    cluster: Option<&'a SharedCluster>,
    /// The session while the cluster explores it.
    remote: Option<Remote<'a>>,
    /// When no test is explored any more.
    deadline: Option<Instant>,
}

/// What a test has in its turn.
pub struct Share {
    /// Until when.
    pub until: Instant,
    /// How many workers of this process.
    pub workers: usize,
    /// How many tests have a turn at the same time.
    pub tests: usize,
}

/// The first turns: starting and stopping wastes at most some dozen executions.
const SLICE: Duration = Duration::from_millis(100);

/// The last ones.
const LONGEST: Duration = Duration::from_secs(2);

/// Those on a cluster: workers start the program, and pieces travel.
const REMOTE: Duration = Duration::from_secs(1);
const REMOTE_LONGEST: Duration = Duration::from_secs(10);

/// A test is explored here for so long before a cluster explores it: most are over by then.
const SOON: Duration = Duration::from_millis(300);

/// What a turn came to.
pub enum Turn {
    /// There is more to do.
    More(Option<Outlook>),
    /// It is done.
    Done(Box<TestEntry>),
}

impl<'a> Job<'a> {
    /// A test that has not begun; `stop` stops it, and so does the deadline.
    pub fn new(
        test: &'a Test,
        state: &StateFile,
        stop: &Arc<AtomicBool>,
        deadline: Option<Instant>,
    ) -> Job<'a> {
        Job {
            test,
            control: Control::stopped_by(stop.clone()),
            kept: state.tests.get(&test.name).cloned(),
            session: None,
            cluster: None,
            remote: None,
            deadline,
        }
    }

    /// The same on a cluster.
    pub fn on(self, cluster: Option<&'a SharedCluster>) -> Job<'a> {
        Job { cluster, ..self }
    }

    /// Explores in its turn.
    pub fn advance(&mut self, share: &Share) -> Turn {
        match self.explore(share) {
            Ok(true) => Turn::More(self.outlook()),
            Ok(false) => self.conclude(),
            Err(failure) => Turn::Done(Box::new(self.broken(failure))),
        }
    }

    fn explore(&mut self, share: &Share) -> Result<bool, Failure> {
        if self.remote.is_none() {
            let mut session = match self.session.take() {
                Some(session) => session,
                None => self.begin()?,
            };
            let cluster = self.cluster.filter(|_| session.check().elapsed() >= SOON);
            let Some(cluster) = cluster else {
                session.set_workers(share.workers);
                let more = session.advance(&self.control, Some(share.until), &mut report);
                self.session = Some(session);
                return Ok(more?);
            };
            session.end_processes();
            self.remote = Some(cluster.enter(&self.test.check, session)?);
        }
        let remote = self.remote.as_mut().expect("it has just entered");
        let length = TurnLength {
            until: share.until,
            deadline: self.deadline,
            sharing: share.tests,
        };
        remote.turn(&self.control, &length)
    }

    /// The check, wherever it is explored.
    fn session(&self) -> Option<&Session> {
        let remote = self.remote.as_ref().map(Remote::session);
        self.session.as_ref().or(remote)
    }

    /// The check is explored here, until its next turn.
    fn come_home(&mut self) {
        self.session = self
            .session
            .take()
            .or(self.remote.take().map(Remote::leave));
    }

    fn begin(&mut self) -> Result<Session, Failure> {
        let test = self.test;
        let stdin = test.stdin.as_ref().map(|path| {
            let file = File::open(path).map(Arc::new);
            file.map_err(|error| format!("{}: cannot be read: {error}", path.display()))
        });
        let mut native = prepare(&test.check, stdin.transpose()?)?;
        native.stopped_by(&self.control);
        let program = native.launch.program.clone();
        let settings = Settings {
            name: file_name(&test.name),
            // A search that is stored and continued counts only what comes after.
            coverage: false,
            ..settings(&test.check, &native)
        };
        let mut session = Session::new(native, settings, self.deadline)?;
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
        let check = self.session()?.check();
        let elapsed = check.elapsed().as_secs_f64();
        check.estimate().map(|it| Outlook::new(&it, elapsed))
    }

    /// Explores it to its end, and tells what could be told on the way.
    pub fn record(&mut self) -> Result<Course, Failure> {
        let mut session = self.begin()?;
        session.set_workers(1);
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let told = seen.clone();
        self.control.witness = Some(Box::new(move |control, events| {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            let (now, points) = &mut *told;
            *now += events as f64;
            let last = points.last().map_or(0.0, |(at, _)| *at);
            // Half a percent later little has changed.
            if *now >= last * 1.005 {
                points.extend(control.estimate().map(|it| (*now, it)));
            }
        }));
        session.advance(&self.control, None, &mut report)?;
        if self.control.stop.load(Relaxed) {
            return Err("interrupted".to_owned().into());
        }
        let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (length, points) = &*seen;
        let outlook = |(at, it): &(f64, Estimate)| (*at, Outlook::new(it, *at));
        Ok(Course {
            name: self.test.name.clone(),
            points: points.iter().map(outlook).collect(),
            estimates: points.iter().map(|(_, it)| *it).collect(),
            runs: session.check().totals().runs(),
            length: *length,
        })
    }

    /// How long its next turn is. The longer it has been explored the less is decided by a short one, and estimates want some time.
    pub fn slice(&self) -> Duration {
        let session = self.session();
        let elapsed = session.map_or(Duration::ZERO, |it| it.check().elapsed());
        match self.cluster {
            Some(_) if elapsed < SOON => SOON,
            Some(_) => (elapsed / 4).clamp(REMOTE, REMOTE_LONGEST),
            None => (elapsed / 4).clamp(SLICE, LONGEST),
        }
    }

    /// Ends its processes until its next turn; a compiled program stays.
    pub fn rest(&mut self) {
        self.come_home();
        if let Some(session) = &self.session {
            session.end_processes();
        }
    }

    /// Says what came out. What was not explored is remembered.
    pub fn conclude(&mut self) -> Turn {
        self.come_home();
        let Some(session) = &mut self.session else {
            let why = "there was no time for it".into();
            return Turn::Done(Box::new(self.entry(Verdict::Unfinished, Some(why))));
        };
        let stored = session.store();
        let finished = match session.conclude(&mut report) {
            Ok(Some(finished)) => finished,
            Ok(None) => return Turn::More(None),
            Err(failure) => return Turn::Done(Box::new(self.broken(failure.into()))),
        };
        let (verdict, message) = self
            .test
            .expect
            .judge(&finished.result, self.test.check.options.strict);
        let mut entry = self.entry(verdict, message);
        entry.result = Some(finished.result);
        if let Some(kept) = &mut self.kept {
            kept.search = Some(stored).filter(|_| verdict == Verdict::Unfinished);
        }
        self.session = None;
        Turn::Done(Box::new(entry))
    }

    fn broken(&mut self, failure: Failure) -> TestEntry {
        self.come_home();
        self.session = None;
        self.kept.get_or_insert_with(|| Kept {
            verdict: Verdict::Broken,
            program: String::new(),
            search: None,
        });
        self.entry(Verdict::Broken, Some(failure.sentence))
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
            result: None,
        }
    }

    /// What is remembered of it next time.
    pub fn kept(self) -> Option<(String, Kept)> {
        Some((self.test.name.clone(), self.kept?))
    }
}

/// Prints that a check starts over on another rung.
fn report(step: &StepDown) {
    say(&step.to_string());
}

/// Stands for the program and everything that decides what its search is: another one cannot go on where this one stopped.
fn fingerprint(test: &Test, program: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    fs::read(program)?.hash(&mut hasher);
    test.check.args.hash(&mut hasher);
    let stdin = test.stdin.as_ref().map(fs::read);
    stdin.transpose()?.hash(&mut hasher);
    let check = &test.check;
    let typed = &check.options;
    let options = (check.search, typed.races, typed.restart, typed.keep_going);
    format!("{options:?} {:?}", typed.max_executions).hash(&mut hasher);
    (env!("CARGO_PKG_VERSION"), Kit::FINGERPRINT).hash(&mut hasher);
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
