//! The search: a frontier of branches, worked off by any number of workers, stoppable after every execution.
//!
//! [`Search`] is a value: it can be stored, split and gone on with, and ends with the same totals. Workers
//! keep their own branches and share out the oldest when others have none; otherwise they meet only in the claims of
//! `dpor`. With one worker the order of executions is always the same.

use crate::{
    explorer::{Branch, Explorer, Options},
    target::Target,
};
use reweave_model::{Divergence, End, Execution, Plan};
use serde::{Deserialize, Serialize};
use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
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
    /// Runs cut by the limit on steps.
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
            End::Blocked => self.assume_blocked += 1,
            End::Redundant => self.redundant += 1,
            End::MaxSteps => {
                self.max_steps += 1;
                self.executions += 1;
            }
            End::Done | End::Deadlock | End::Livelock => self.executions += 1,
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
#[derive(Clone, Debug)]
pub struct Search {
    options: Options,
    pub(crate) frontier: Vec<Branch>,
    totals: Totals,
}

impl Search {
    /// A search that has not begun.
    pub fn new(options: Options) -> Search {
        Search {
            options,
            frontier: vec![Explorer::root(&options)],
            totals: Totals::default(),
        }
    }

    pub(crate) fn from_parts(options: Options, frontier: Vec<Branch>, totals: Totals) -> Search {
        Search {
            options,
            frontier,
            totals,
        }
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
        self.frontier.is_empty()
    }

    /// Hands out about half of what is left, to be explored by somebody else; `None` if there is only one branch.
    /// What both find adds up to what this one would have found.
    pub fn split(&mut self) -> Option<Search> {
        if self.frontier.len() < 2 {
            return None;
        }
        let keep = self.frontier.len() / 2;
        Some(Search {
            options: self.options,
            frontier: self.frontier.drain(..keep).collect(),
            totals: Totals::default(),
        })
    }

    /// Takes in what somebody else has done of a part that was split off, and what is left of it.
    pub fn absorb(&mut self, other: Search) {
        self.frontier.extend(other.frontier);
        self.totals.merge(&other.totals);
    }

    /// Explores until nothing is left or somebody says stop: `before` before every run (from any worker), `after` with
    /// every execution. A divergence stops too, with its branch put back.
    pub fn run<T: Target>(
        &mut self,
        workers: usize,
        target: impl Fn(usize) -> T + Sync,
        before: impl Fn() -> Flow + Sync,
        after: impl Fn(&Plan, &Execution) -> Flow + Sync,
    ) -> Result<(), Divergence> {
        let crew = Crew {
            pool: Mutex::new(Pool {
                branches: std::mem::take(&mut self.frontier),
                busy: workers.max(1),
            }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        };
        let options = self.options;
        let work = |index: usize| {
            let mut worker = Worker {
                crew: &crew,
                explorer: Explorer::new(&options),
                mine: Vec::new(),
                plan: Plan::default(),
                totals: Totals::default(),
            };
            let mut target = target(index);
            let result = worker.work(&mut target, &before, &after);
            worker.totals.cut = worker.explorer.cut();
            crew.lock().branches.append(&mut worker.mine);
            (result, worker.totals)
        };
        let done = match workers {
            0 | 1 => vec![work(0)],
            _ => std::thread::scope(|scope| {
                let work = &work;
                let hands: Vec<_> = (0..workers)
                    .map(|index| scope.spawn(move || work(index)))
                    .collect();
                let done = hands.into_iter().map(|hand| hand.join());
                done.map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                    .collect()
            }),
        };
        self.frontier = crew.pool.into_inner().expect("workers are done").branches;
        let mut result = Ok(());
        for (outcome, totals) in done {
            self.totals.merge(&totals);
            result = result.and(outcome);
        }
        result
    }
}

/// What workers share.
struct Crew {
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

impl Crew {
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

    /// Waits for a branch; `None` when there will never be one.
    fn take(&self) -> Option<Branch> {
        let mut pool = self.lock();
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return None;
            }
            if let Some(branch) = pool.branches.pop() {
                return Some(branch);
            }
            pool.busy -= 1;
            if pool.busy == 0 {
                self.changed.notify_all();
                return None;
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
                return None;
            }
            pool.busy += 1;
        }
    }
}

struct Worker<'a> {
    crew: &'a Crew,
    explorer: Explorer,
    mine: Vec<Branch>,
    plan: Plan,
    totals: Totals,
}

impl Worker<'_> {
    fn work<T: Target>(
        &mut self,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<(), Divergence> {
        while let Some(branch) = self.mine.pop().or_else(|| self.crew.take()) {
            if self.crew.stop.load(Ordering::Relaxed) || before() == Flow::Stop {
                self.mine.push(branch);
                self.crew.stop();
                return Ok(());
            }
            branch.write_plan(&mut self.plan);
            let execution = match target.run(&self.plan) {
                Ok(execution) => execution,
                Err(divergence) => {
                    self.mine.push(branch);
                    self.crew.stop();
                    return Err(divergence);
                }
            };
            self.totals.add(execution);
            let flow = after(&self.plan, execution);
            self.explorer
                .branches(branch, &self.plan, execution, &mut self.mine);
            if flow == Flow::Stop {
                self.crew.stop();
                return Ok(());
            }
            if self.mine.len() > 1 && self.crew.hungry.load(Ordering::Relaxed) > 0 {
                self.share();
            }
        }
        Ok(())
    }

    /// Gives away the older half: the branches nearer to the root, with more below them.
    fn share(&mut self) {
        let give = self.mine.len() / 2;
        let mut pool = self.crew.lock();
        pool.branches.extend(self.mine.drain(..give));
        self.crew.changed.notify_all();
    }
}
