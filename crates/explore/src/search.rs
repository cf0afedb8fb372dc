//! The search: a frontier of branches, worked off by any number of workers, stoppable after every execution.
//!
//! [`Search`] is a value: it can be stored, split and gone on with, and ends with the same totals. Workers
//! keep their own branches and share out the oldest when others have none; otherwise they meet only in the claims of
//! `dpor`. A target that asks for it sees the next few plans before they are run, so that it can work ahead. With
//! one worker the order of executions is always the same.

mod crew;
mod departures;
mod probing;
mod worker;

use crate::{
    algorithm::{Algorithm, Interrupt, Options, Unfit},
    algorithms::AnyAlgorithm,
    balance::Schedules,
    claims::{AtNodes, Claims},
    explorer::{Branch, Explorer},
    fragment::{Exchange, Fragment, FragmentError},
    target::{Target, TargetError},
};
use crew::{Crew, StopOnPanic};
pub use departures::Departures;
use probing::takes;
use reweave_estimate::{Estimate, Gauge, Log, LogSum, Prober, Probing, Tally};
use reweave_model::{End, Execution, Plan};
use serde::{Deserialize, Serialize};
use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicI64, Ordering},
};
use worker::Worker;

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
    /// Whether a loop of timed waits was cut: see [`Execution::timeouts_cut`].
    #[serde(default)]
    pub timeouts_cut: bool,
    /// Whether several threads looked at a coarse clock: see [`Execution::clocks_cut`].
    #[serde(default)]
    pub clocks_cut: bool,
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
        self.timeouts_cut |= execution.timeouts_cut;
        self.clocks_cut |= execution.clocks_cut;
    }

    /// An execution that was added turned out to be redundant.
    fn repeats(&mut self, execution: &Execution) {
        match execution.end {
            End::Redundant => return,
            End::Blocked if execution.errors.is_empty() => self.assume_blocked -= 1,
            _ => self.executions -= 1,
        }
        self.redundant += 1;
    }

    pub(crate) fn merge(&mut self, other: &Totals) {
        self.executions += other.executions;
        self.assume_blocked += other.assume_blocked;
        self.redundant += other.redundant;
        self.max_steps += other.max_steps;
        self.events += other.events;
        self.threads_max = self.threads_max.max(other.threads_max);
        self.cut |= other.cut;
        self.timeouts_cut |= other.timeouts_cut;
        self.clocks_cut |= other.clocks_cut;
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

/// An exploration under way: a frontier of branches, and what was seen.
#[derive(Debug)]
pub struct Search<A: Algorithm = AnyAlgorithm> {
    options: Options,
    pub(crate) frontier: Vec<Branch<A::Payload>>,
    pub(crate) totals: Totals,
    gauge: Arc<Gauge>,
    prober: Mutex<Prober<Branch<A::Payload>>>,
    pub(crate) unfit: Option<Unfit>,
    log: Option<Mutex<Log>>,
    departures: Option<Arc<Departures>>,
    claims: Arc<dyn Claims>,
    interrupt: Interrupt,
    pub(crate) exchange: Exchange<A::Payload>,
    /// Where the branches of one worker begin, with a balance that distinguishes them.
    pub(crate) groups: Vec<usize>,
    pub(crate) schedules: Schedules,
}

impl Search {
    /// A search that has not begun.
    pub fn new(options: Options) -> Search {
        Search::of(options, Arc::new(AtNodes))
    }

    /// Goes on where a stored search stopped, or explores a fragment of one.
    pub fn resume(fragment: Fragment) -> Result<Search, FragmentError> {
        Search::restore(fragment, Arc::new(AtNodes))
    }
}

impl<A: Algorithm> Search<A> {
    /// A search that has not begun, with any algorithm and any claims.
    pub fn of(options: Options, claims: Arc<dyn Claims>) -> Search<A> {
        let mut search = Search::empty(options, claims);
        search.frontier.push(Explorer::<A>::first(&options));
        search.measure(Tally::default());
        search
    }

    pub(crate) fn empty(options: Options, claims: Arc<dyn Claims>) -> Search<A> {
        Search {
            options,
            frontier: Vec::new(),
            totals: Totals::default(),
            gauge: Arc::new(Gauge::new(Tally::default(), LogSum::default())),
            prober: Mutex::new(Prober::new(options.seed)),
            unfit: None,
            log: None,
            departures: None,
            claims,
            interrupt: Interrupt::default(),
            exchange: Exchange::default(),
            groups: Vec::new(),
            schedules: Schedules::default(),
        }
    }

    fn prober(&self) -> MutexGuard<'_, Prober<Branch<A::Payload>>> {
        self.prober.lock().expect("nobody panics while probing")
    }

    /// Calls all branches back that wait in a pass, which is abandoned.
    pub(crate) fn settle(&mut self) {
        let prober = self.prober.get_mut();
        let prober = prober.expect("nobody panics while probing");
        prober.abandon(&mut self.frontier);
    }

    /// Begins a gauge for what was done and what is left.
    pub(crate) fn measure(&mut self, tally: Tally) {
        let mut left = LogSum::default();
        match self.exchange.identity.lends() {
            // What is elsewhere is left, too.
            true => left.add((1.0 - tally.covered()).max(f64::MIN_POSITIVE).ln()),
            false => self
                .frontier
                .iter()
                .for_each(|branch| left.add(branch.place.weight)),
        }
        self.gauge = Arc::new(Gauge::new(tally, left));
    }

    /// From now on writes down what it does. It is explored depth first then: estimators are compared with that.
    pub fn record(&mut self, log: Log) {
        self.options.probing = Probing::Never;
        self.log = Some(Mutex::new(log));
    }

    /// From now on counts where its branches leave.
    pub fn count_departures(&mut self) -> Arc<Departures> {
        self.departures.get_or_insert_default().clone()
    }

    /// Has long analyses stop when this says so. What is left of them is found when the search goes on.
    pub fn interrupt(&mut self, interrupt: Interrupt) {
        self.interrupt = interrupt;
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

    /// Estimates how large it is while it is run, until it is split or put together with another.
    pub fn gauge(&self) -> Arc<Gauge> {
        self.gauge.clone()
    }

    /// Everything that is left to be explored here.
    pub(crate) fn waiting(&self) -> Vec<Branch<A::Payload>> {
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

    /// Whether nothing is left to be explored: neither here, nor branches for other processes.
    pub fn exhausted(&self) -> bool {
        self.is_done() && self.exchange.offers.is_empty()
    }

    /// Whether nothing is left to be explored here.
    fn is_done(&self) -> bool {
        self.frontier.is_empty() && self.prober().waiting().next().is_none()
    }

    /// Why the algorithm cannot explore this program; then the search has stopped and what it saw is not all there is.
    pub fn unfit(&self) -> Option<&Unfit> {
        self.unfit.as_ref()
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
        while last.is_ok() && !self.is_done() && self.unfit.is_none() {
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
        prober.is_due(self.options.probing, runs, probed) && takes(&prober, &self.frontier)
    }

    /// Whether branches are also drawn at random. A fragment is explored depth first: passes over a part of the search say nothing, and leave
    /// many branches behind.
    fn probes(&self) -> bool {
        let whole = self.exchange.identity.is_whole();
        let algorithm = self.options.algorithm;
        let alone = algorithm.splits() && !algorithm.samples();
        whole && self.options.probing != Probing::Never && alone
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
        let frontier = self.take_frontier();
        let (first, branches) = match pass {
            true => (frontier, Vec::new()),
            false => (Vec::new(), frontier),
        };
        let log = self.log.as_ref();
        let mut crew = Crew::new(workers, branches, &self.gauge, &self.prober, log);
        crew.departures = self.departures.as_deref();
        let options = self.options;
        let probes = self.probes();
        let work = |index: usize, mine: Vec<Branch<A::Payload>>| {
            let mut worker: Worker<'_, A> = Worker {
                crew: &crew,
                probing: match probes && index == 0 && (pass || workers == 1) {
                    true => options.probing,
                    false => Probing::Never,
                },
                explorer: Explorer::of(&options, &self.claims)
                    .interrupted_by(self.interrupt.clone()),
                mine,
                batch: Vec::new(),
                plans: Vec::new(),
                totals: Totals::default(),
                tally: Tally::default(),
                schedules: options.balance.copies().then(Vec::new),
            };
            let _panics = StopOnPanic(&crew);
            let mut target = target(index);
            let result = worker.work(&mut target, before, after);
            worker.totals.cut = worker.explorer.cut();
            crew.gauge.merge(&worker.tally);
            crew.give(worker.mine.drain(..));
            (result, worker.totals, worker.explorer, worker.schedules)
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
        self.frontier = crew.into_branches();
        let mut result: Result<(), TargetError> = Ok(());
        for (outcome, totals, mut explorer, schedules) in done {
            self.note_schedules(&schedules.unwrap_or_default());
            self.totals.merge(&totals);
            self.unfit = self.unfit.take().or(explorer.unfit().cloned());
            self.exchange.offers.append(&mut explorer.offers);
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
