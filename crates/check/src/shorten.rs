//! Makes a failing execution simple before it is shown: few preemptions, then few steps, then few switches.
//!
//! Two ways, each of which believes only what it has run. *Bending*: pieces of a thread that others interrupt are put together, wherever
//! that still fails. *Bounds*: all schedules without a preemption, then all with one, and so on, as long as there is something to gain. What
//! comes out fails the same way (kind, rule, places) and has no more preemptions and steps than what was found. Both stop at a limit on
//! runs and on time; what is best by then is taken. With runs to spare the number of preemptions is the least there is.

use crate::{
    found::{Case, Identity, identity},
    subject::Subject,
};
use reweave_explore::{Flow, Options, Schedule, Search, Target, Wish};
use reweave_model::{End, Execution, Site};
use reweave_report::{Position, Shortened};
use std::{
    ops::Range,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
};

/// Runs for one error: enough for every schedule with two preemptions of two threads with some dozen steps.
const RUNS: u32 = 2000;

/// The simplest execution that was found to fail as a case does, which of its errors that is, and what was done; `None`: the case itself is.
pub(crate) fn shorten<S: Subject>(
    subject: &S,
    case: &Case,
    over: &(dyn Fn() -> bool + Sync),
) -> Option<(Execution, usize, Shortened)> {
    let first = Cost::of(&case.execution);
    let trials = Trials {
        subject,
        over,
        identity: identity(&case.execution, case.index, |site| place(subject, site)),
        verdict: case.index == 0,
        first,
        runs: AtomicU32::new(0),
        best: Mutex::new(Best {
            execution: case.execution.clone(),
            index: case.index,
            cost: first,
        }),
    };
    trials.bend();
    trials.bound();
    let shortened = Shortened {
        steps: first.steps,
        switches: first.switches,
        preemptions: first.preemptions,
        runs: trials.runs.load(Relaxed),
    };
    let best = trials.best.into_inner();
    let best = best.unwrap_or_else(PoisonError::into_inner);
    (best.cost < first).then_some((best.execution, best.index, shortened))
}

/// How simple an execution is: less is simpler.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Cost {
    preemptions: u32,
    steps: u32,
    switches: u32,
}

impl Cost {
    fn of(execution: &Execution) -> Cost {
        Cost {
            preemptions: Schedule::default().preemptions(execution),
            steps: execution.events.len() as u32,
            switches: pieces(execution).len().saturating_sub(1) as u32,
        }
    }
}

struct Best {
    execution: Execution,
    index: usize,
    cost: Cost,
}

/// Where a site is; one without a place stands for itself.
fn place(subject: &impl Subject, site: Site) -> Result<Position, Site> {
    subject.position(site).ok_or(site)
}

struct Trials<'a, S> {
    subject: &'a S,
    /// Asked before every run.
    over: &'a (dyn Fn() -> bool + Sync),
    identity: Identity<Result<Position, Site>>,
    /// Whether it has to be the first error.
    verdict: bool,
    first: Cost,
    runs: AtomicU32,
    best: Mutex<Best>,
}

impl<S: Subject> Trials<'_, S> {
    fn best(&self) -> MutexGuard<'_, Best> {
        self.best.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there may be another run; counts it.
    fn another(&self) -> Flow {
        let go = self.runs.load(Relaxed) < RUNS && !(self.over)() && self.subject.proceed();
        self.runs.fetch_add(u32::from(go), Relaxed);
        if go { Flow::Continue } else { Flow::Stop }
    }

    /// Takes an execution that fails the same way and is simpler. Says whether it was.
    fn take(&self, execution: &Execution) -> bool {
        let longer = execution.events.len() as u32 > self.first.steps;
        if longer || execution.end == End::Redundant {
            return false;
        }
        let most = if self.verdict { 1 } else { usize::MAX };
        let same = |index: &usize| {
            identity(execution, *index, |site| place(self.subject, site)) == self.identity
        };
        let Some(index) = (0..execution.errors.len().min(most)).find(same) else {
            return false;
        };
        let cost = Cost::of(execution);
        let mut best = self.best();
        if cost >= best.cost {
            return false;
        }
        *best = Best {
            execution: execution.clone(),
            index,
            cost,
        };
        true
    }

    /// Puts pieces together until nothing helps any more.
    fn bend(&self) {
        let mut target = self.subject.trial();
        let mut schedule = Schedule::default();
        loop {
            let from = self.best().execution.clone();
            let simpler =
                |wishes: Vec<Wish>| self.follow(&mut target, &mut schedule, from.clone(), &wishes);
            if !joined(&from).any(simpler) {
                return;
            }
        }
    }

    /// Runs as wished, as far as the program lets it. Says whether that was simpler.
    fn follow(
        &self,
        target: &mut S::Target,
        schedule: &mut Schedule,
        mut execution: Execution,
        wishes: &[Wish],
    ) -> bool {
        while let Some(plan) = schedule.towards(&execution, wishes) {
            if self.another() == Flow::Stop {
                return false;
            }
            target.prepare(std::slice::from_ref(&plan));
            match target.run(&plan) {
                Ok(run) if self.take(run) => return true,
                Ok(run) => execution.clone_from(run),
                Err(_) => return false,
            }
        }
        false
    }

    /// Goes through all schedules with few preemptions.
    fn bound(&self) {
        let mut preemptions = 0;
        // Those with as many as the best has may still have fewer steps.
        while preemptions <= self.best().cost.preemptions {
            let options = Options {
                preemptions: Some(preemptions),
                max_steps: self.best().execution.max_steps,
                ..Options::default()
            };
            let mut search = Search::new(options);
            let after = |_: &_, execution: &Execution| {
                self.take(execution);
                Flow::Continue
            };
            let done = search.run(1, |_| self.subject.trial(), || self.another(), after);
            if done.is_err() || !search.exhausted() {
                return;
            }
            preemptions += 1;
        }
    }
}

/// Longest parts of an execution in which one thread runs.
fn pieces(execution: &Execution) -> Vec<Range<usize>> {
    let mut pieces: Vec<Range<usize>> = Vec::new();
    for (position, event) in execution.events.iter().enumerate() {
        match pieces.last_mut() {
            Some(piece) if execution.events[piece.start].thread == event.thread => {
                piece.end = position + 1;
            }
            _ => pieces.push(position..position + 1),
        }
    }
    pieces
}

/// Orders in which two pieces of a thread are one: the second one put behind the first, or the first before the second. Each is made
/// when it is its turn: a long execution has very many.
fn joined(execution: &Execution) -> impl Iterator<Item = Vec<Wish>> {
    let pieces = pieces(execution);
    let count = pieces.len();
    let thread = |piece: &Range<usize>| execution.events[piece.start].thread;
    let orders = move |first: usize| {
        let mut later =
            (first + 1..pieces.len()).filter(|it| thread(&pieces[*it]) == thread(&pieces[first]));
        let second = later.next()?;
        let (before, behind) = (&pieces[..first], &pieces[second + 1..]);
        let between = &pieces[first + 1..second];
        let own = [pieces[first].clone(), pieces[second].clone()];
        Some([
            [before, &own, between, behind].concat(),
            [before, between, &own, behind].concat(),
        ])
    };
    let wish = |position: usize| {
        let event = &execution.events[position];
        let path = &execution.threads[event.thread.index()].path;
        (path.clone(), event.outcome)
    };
    let wishes = move |order: Vec<Range<usize>>| order.into_iter().flatten().map(wish).collect();
    (0..count).filter_map(orders).flatten().map(wishes)
}
