//! The search: a frontier of branches, worked off by any number of workers, stoppable after every execution.
//!
//! [`Search`] is a value: it can be stored, split and gone on with, and ends with the same totals. Workers
//! keep their own branches and share out the oldest when others have none; otherwise they meet only in the claims of
//! `dpor`. A target that asks for it is told of the next few plans before they are run, so that it can work ahead. With
//! one worker the order of executions is always the same.

mod worker;

pub(crate) use worker::Worker;

use crate::{
    estimate::{Estimate, Gauge, LogSum, Probing, Tally},
    explorer::{Branch, Explorer, Options},
    log::Log,
    probing::Prober,
    target::{Target, TargetError},
};
use reweave_model::{End, Execution, Plan};
use serde::{Deserialize, Serialize};
use std::sync::{
    Arc, Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
};

/// What a search has seen so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Runs that ended by themselves.
    pub executions: u64,
    /// Runs in which an `assume` failed.
    pub assume_blocked: u64,
    /// Runs given up because they could only repeat others.
    pub redundant: u64,
    /// Runs in which the limit on steps stopped a thread.
    pub max_steps: u64,
    /// Events of all runs.
    pub events: u64,
    /// Most threads in one run.
    pub threads_max: u32,
    /// Whether a preemption bound kept something from being explored.
    pub cut: bool,
}

impl Totals {
    fn add(&mut self, execution: &Execution) {
        match execution.end {
            End::Blocked if execution.errors.is_empty() => self.assume_blocked += 1,
            End::Redundant => self.redundant += 1,
            End::MaxSteps => {
                self.max_steps += 1;
                self.executions += 1;
            }
            End::Done | End::Deadlock | End::Livelock | End::Blocked => self.executions += 1,
        }
        self.events += execution.events.len() as u64;
        self.threads_max = self.threads_max.max(execution.threads.len() as u32);
    }

    fn merge(&mut self, other: &Totals) {
        self.executions += other.executions;
        self.assume_blocked += other.assume_blocked;
        self.redundant += other.redundant;
        self.max_steps += other.max_steps;
        self.events += other.events;
        self.threads_max = self.threads_max.max(other.threads_max);
        self.cut |= other.cut;
    }

    /// All runs, however they ended.
    pub fn runs(&self) -> u64 {
        self.executions + self.assume_blocked + self.redundant
    }
}

/// What to do after an execution.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Go on.
    Continue,
    /// Let all workers finish what they run and stop.
    Stop,
}

/// The whole state of an exploration.
#[derive(Debug)]
pub struct Search {
    options: Options,
    pub(crate) frontier: Vec<Branch>,
    totals: Totals,
    gauge: Arc<Gauge>,
    prober: Mutex<Prober>,
    unfit: Option<&'static str>,
    log: Option<Mutex<Log>>,
}

impl Clone for Search {
    fn clone(&self) -> Search {
        let frontier = self.waiting();
        let tally = self.gauge.tally();
        Search {
            unfit: self.unfit,
            ..Search::from_parts(self.options, frontier, self.totals, tally)
        }
    }
}

impl Search {
    /// A search that has not begun.
    pub fn new(options: Options) -> Search {
        let frontier = vec![Explorer::root(&options)];
        Search::from_parts(options, frontier, Totals::default(), Tally::default())
    }

    pub(crate) fn from_parts(
        options: Options,
        frontier: Vec<Branch>,
        totals: Totals,
        tally: Tally,
    ) -> Search {
        let mut search = Search {
            options,
            frontier,
            totals,
            gauge: Arc::new(Gauge::new(Tally::default(), LogSum::default())),
            prober: Mutex::new(Prober::new(options.seed)),
            unfit: None,
            log: None,
        };
        search.measure(tally);
        search
    }

    fn prober(&self) -> MutexGuard<'_, Prober> {
        self.prober.lock().expect("nobody panics while probing")
    }

    /// Calls all branches back that wait in a pass, which is given up.
    fn settle(&mut self) {
        let prober = self.prober.get_mut();
        let prober = prober.expect("nobody panics while probing");
        prober.give_up(&mut self.frontier);
    }

    /// Begins a gauge for what was done and what is left.
    fn measure(&mut self, tally: Tally) {
        let mut whole = LogSum::default();
        self.frontier
            .iter()
            .for_each(|branch| whole.add(branch.place.weight));
        self.gauge = Arc::new(Gauge::new(tally, whole));
    }

    /// From now on writes down what it does. It is explored depth first then: estimators are held against that.
    pub fn record(&mut self, log: Log) {
        self.options.probing = Probing::Never;
        self.log = Some(Mutex::new(log));
    }

    /// The log, to be closed.
    pub fn take_log(&mut self) -> Option<Log> {
        let log = self.log.take()?;
        Some(log.into_inner().expect("nobody panics while writing"))
    }

    /// How large it is; `None` before the first execution.
    pub fn estimate(&self) -> Option<Estimate> {
        self.gauge.estimate()
    }

    /// Tells how large it is while it is run, until it is split or put together with another.
    pub fn gauge(&self) -> Arc<Gauge> {
        self.gauge.clone()
    }

    /// Everything that is left to be explored.
    pub(crate) fn waiting(&self) -> Vec<Branch> {
        let prober = self.prober();
        let all = self.frontier.iter().chain(prober.waiting());
        all.cloned().collect()
    }

    pub(crate) fn tally(&self) -> Tally {
        self.gauge.tally()
    }

    /// What it explores.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// What it has seen so far.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Whether nothing is left to be explored.
    pub fn exhausted(&self) -> bool {
        self.frontier.is_empty() && self.prober().waiting().next().is_none()
    }

    /// Why `rf` cannot explore this program; then the search has stopped and what it saw is not all there is.
    pub fn unfit(&self) -> Option<&'static str> {
        self.unfit
    }

    /// Hands out about half of what is left, to be explored by somebody else; `None` if there is only one branch.
    /// What both find adds up to what this one would have found.
    pub fn split(&mut self) -> Option<Search> {
        self.settle();
        if self.frontier.len() < 2 {
            return None;
        }
        let keep = self.frontier.len() / 2;
        let frontier = self.frontier.drain(..keep).collect();
        let mut tally = self.gauge.tally();
        tally.forget_passes();
        self.measure(tally);
        let (options, totals) = (self.options, Totals::default());
        Some(Search::from_parts(
            options,
            frontier,
            totals,
            Tally::default(),
        ))
    }

    /// Takes in what somebody else has done of a part that was split off, and what is left of it.
    pub fn absorb(&mut self, mut other: Search) {
        self.settle();
        other.settle();
        self.frontier.extend(other.frontier);
        self.totals.merge(&other.totals);
        let mut tally = self.gauge.tally();
        tally.merge(&other.gauge.tally());
        self.measure(tally);
        self.unfit = self.unfit.or(other.unfit);
    }

    /// Explores until nothing is left or somebody says stop: `before` before every run (from any worker), `after` with
    /// every execution. A target that fails stops it too; its branch stays.
    ///
    /// A pass of probing is about all branches there are, so before each several workers put theirs together; one of them makes the pass,
    /// the others go on with what it leaves.
    pub fn run<T: Target>(
        &mut self,
        workers: usize,
        target: impl Fn(usize) -> T + Sync,
        before: impl Fn() -> Flow + Sync,
        after: impl Fn(&Plan, &Execution) -> Flow + Sync,
    ) -> Result<(), TargetError> {
        let workers = workers.max(1);
        if workers == 1 || !self.probes() {
            self.settle_for(workers);
            return self.explore(workers, false, &target, &before, &after);
        }
        let stopped = AtomicBool::new(false);
        let noted = |flow: Flow| {
            stopped.fetch_or(flow == Flow::Stop, Ordering::Relaxed);
            flow
        };
        let mut last = Ok(());
        while last.is_ok() && !self.exhausted() && self.unfit.is_none() {
            let pass = self.pass_is_due();
            let runs = self.totals.runs() as i64;
            let left = AtomicI64::new(match pass {
                true => i64::MAX,
                false => (runs / 2).max(LEAST),
            });
            let before = || match left.fetch_sub(1, Ordering::Relaxed) {
                1.. => noted(before()),
                _ => Flow::Stop,
            };
            let after = |plan: &Plan, execution: &Execution| noted(after(plan, execution));
            last = self.explore(workers, pass, &target, &before, &after);
            if stopped.load(Ordering::Relaxed) {
                break;
            }
        }
        last
    }

    fn pass_is_due(&self) -> bool {
        let (runs, probed, _) = self.gauge.so_far();
        let prober = self.prober();
        prober.is_due(self.options.probing, runs, probed) && prober.takes(&self.frontier)
    }

    /// Whether branches are also drawn at random.
    fn probes(&self) -> bool {
        self.options.probing != Probing::Never && !self.options.algorithm.samples()
    }

    /// Several workers, or one who does not probe, do not know of passes.
    fn settle_for(&mut self, workers: usize) {
        if workers > 1 || !self.probes() {
            self.settle();
        }
    }

    /// With several workers, `pass`: until the first one has made a pass of probing. It begins with all there is.
    fn explore<T: Target>(
        &mut self,
        workers: usize,
        pass: bool,
        target: &(impl Fn(usize) -> T + Sync),
        before: &(impl Fn() -> Flow + Sync),
        after: &(impl Fn(&Plan, &Execution) -> Flow + Sync),
    ) -> Result<(), TargetError> {
        let frontier = std::mem::take(&mut self.frontier);
        let (first, branches) = match pass {
            true => (frontier, Vec::new()),
            false => (Vec::new(), frontier),
        };
        let crew = Crew {
            workers,
            gauge: &self.gauge,
            prober: &self.prober,
            log: self.log.as_ref(),
            pool: Mutex::new(Pool {
                branches,
                busy: workers,
            }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        self.gauge.set_busy(workers);
        let options = self.options;
        let probes = self.probes();
        let work = |index: usize, mine: Vec<Branch>| {
            let mut worker = Worker {
                crew: &crew,
                probing: match probes && index == 0 && (pass || workers == 1) {
                    true => options.probing,
                    false => Probing::Never,
                },
                explorer: Explorer::new(&options),
                mine,
                batch: Vec::new(),
                plans: Vec::new(),
                totals: Totals::default(),
                tally: Tally::default(),
            };
            let _panics = StopOnPanic(&crew);
            let mut target = target(index);
            let result = worker.work(&mut target, before, after);
            worker.totals.cut = worker.explorer.cut();
            crew.gauge.merge(&worker.tally);
            crew.lock().branches.append(&mut worker.mine);
            (result, worker.totals, worker.explorer.unfit())
        };
        let done = match workers {
            1 => vec![work(0, first)],
            _ => std::thread::scope(|scope| {
                let work = &work;
                let begins = std::iter::once(first).chain(std::iter::repeat(Vec::new()));
                let hands: Vec<_> = (0..workers)
                    .zip(begins)
                    .map(|(index, mine)| scope.spawn(move || work(index, mine)))
                    .collect();
                let done = hands.into_iter().map(|hand| hand.join());
                done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            }),
        };
        self.frontier = crew.pool.into_inner().expect("workers are done").branches;
        let mut result: Result<(), TargetError> = Ok(());
        for (outcome, totals, unfit) in done {
            self.totals.merge(&totals);
            self.unfit = self.unfit.or(unfit);
            result = match (result, outcome) {
                (Err(one), Err(other)) => Err(one.or(other)),
                (one, other) => one.and(other),
            };
        }
        result
    }
}

/// Executions that several workers run before they look up again.
const LEAST: i64 = 500;

/// What workers share.
pub(crate) struct Crew<'a> {
    pub workers: usize,
    pub gauge: &'a Gauge,
    prober: &'a Mutex<Prober>,
    log: Option<&'a Mutex<Log>>,
    pool: Mutex<Pool>,
    changed: Condvar,
    /// Workers that have nothing to do.
    hungry: AtomicUsize,
    stop: AtomicBool,
}

struct Pool {
    branches: Vec<Branch>,
    /// Workers that may still find something.
    busy: usize,
}

impl Crew<'_> {
    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool
            .lock()
            .expect("nobody panics while holding the pool")
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        let _pool = self.lock();
        self.changed.notify_all();
    }

    /// Takes what lies there, without waiting: it is older, and goes below.
    pub fn take_all(&self, mine: &mut Vec<Branch>) {
        let mut all = std::mem::take(&mut self.lock().branches);
        if !all.is_empty() {
            all.append(mine);
            *mine = all;
        }
    }

    /// Waits for branches and takes some, at most so many; says `false` when there will never be any.
    fn take(&self, mine: &mut Vec<Branch>, most: usize) -> bool {
        let mut pool = self.lock();
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return false;
            }
            let all = pool.branches.len();
            if all > 0 {
                let some = (all / self.workers).min(most).max(1);
                mine.extend(pool.branches.drain(all - some..));
                return true;
            }
            pool.busy -= 1;
            self.gauge.set_busy(pool.busy);
            if pool.busy == 0 {
                self.changed.notify_all();
                return false;
            }
            self.hungry.fetch_add(1, Ordering::SeqCst);
            while pool.branches.is_empty() && pool.busy > 0 && !self.stop.load(Ordering::SeqCst) {
                pool = self
                    .changed
                    .wait(pool)
                    .expect("nobody panics while holding the pool");
            }
            self.hungry.fetch_sub(1, Ordering::SeqCst);
            if pool.branches.is_empty() {
                return false;
            }
            pool.busy += 1;
            self.gauge.set_busy(pool.busy);
        }
    }
}

/// A worker that panics takes the others along instead of leaving them waiting.
struct StopOnPanic<'a>(&'a Crew<'a>);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
