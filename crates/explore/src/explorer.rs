//! One door to all algorithms: what is still to be explored after an execution.

use crate::{
    dfs::Dfs,
    dpor::{Dpor, Path},
    draft::{Child, steps_of},
    estimate::{Probing, probe::Placed, sizes::Place, weight::Shares},
    optimal::Optimal,
    rf::{Rf, Trail},
};
use reweave_model::{Execution, Plan, Policy, Step};
use serde::{Deserialize, Serialize};
use std::{str::FromStr, sync::Arc};

/// How to explore.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// The one that needs the fewest executions: [`Algorithm::Rf`], or [`Algorithm::Optimal`] where that cannot serve.
    #[default]
    Auto,
    /// Every interleaving.
    Dfs,
    /// Dynamic partial-order reduction with sleep sets.
    Dpor,
    /// One execution for each Mazurkiewicz trace.
    Optimal,
    /// One execution for each way in which reads get their values.
    Rf,
    /// Random schedules.
    Random,
    /// Random priorities with a few changes: finds bugs of small depth with known probability.
    Pct,
}

impl Algorithm {
    /// All of them, as users spell them.
    pub const NAMES: [(&'static str, Algorithm); 7] = [
        ("auto", Algorithm::Auto),
        ("dfs", Algorithm::Dfs),
        ("dpor", Algorithm::Dpor),
        ("optimal", Algorithm::Optimal),
        ("rf", Algorithm::Rf),
        ("random", Algorithm::Random),
        ("pct", Algorithm::Pct),
    ];

    /// As users spell it.
    pub fn name(self) -> &'static str {
        let named = Algorithm::NAMES.iter().find(|(_, other)| *other == self);
        named.expect("all are listed").0
    }

    /// Which executions count as the same.
    pub fn equivalence(self) -> &'static str {
        match self {
            Algorithm::Auto | Algorithm::Rf => "reads-from",
            Algorithm::Optimal | Algorithm::Dpor => "mazurkiewicz",
            Algorithm::Dfs => "interleaving",
            Algorithm::Random | Algorithm::Pct => "none",
        }
    }

    /// Whether it only samples.
    pub fn samples(self) -> bool {
        matches!(self, Algorithm::Random | Algorithm::Pct)
    }
}

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        let named = Algorithm::NAMES.iter().find(|(name, _)| *name == text);
        named.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            let names: Vec<&str> = Algorithm::NAMES.iter().map(|(name, _)| *name).collect();
            format!(
                "no algorithm is called `{text}`; there are {}",
                names.join(", ")
            )
        })
    }
}

/// What to explore, and how far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Options {
    /// How.
    pub algorithm: Algorithm,
    /// Only schedules with at most so many preemptions.
    pub preemptions: Option<u32>,
    /// Events after which a thread goes no further.
    pub max_steps: u32,
    /// For `random` and `pct`: how many runs.
    pub samples: u64,
    /// For `random` and `pct`: the first run's seed; the others follow.
    pub seed: u64,
    /// For `pct`: places where a priority changes.
    pub depth: u32,
    /// For `optimal`: children of one execution that are found at a time. One that has more is run again for the rest, and counted once.
    pub at_once: u32,
    /// How many executions are drawn at random, so that the size of the search is known early.
    pub probing: Probing,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            algorithm: Algorithm::Auto,
            preemptions: None,
            max_steps: 100_000,
            samples: 10_000,
            seed: 0,
            depth: 3,
            at_once: 10_000,
            probing: Probing::default(),
        }
    }
}

/// A piece of work: one execution to run and all that follows from it.
#[derive(Clone, Debug)]
pub struct Branch {
    /// Where its plan begins: so many of these steps.
    pub(crate) shared: (Arc<[Step]>, u32),
    /// How it goes on.
    pub(crate) rest: Plan,
    /// For `dpor`: the shared nodes that the plan passes.
    pub(crate) path: Path,
    /// For `rf`.
    pub(crate) trail: Trail,
    /// For `random` and `pct`: runs that follow this one.
    pub(crate) more: u64,
    /// Where it comes from.
    pub(crate) place: Place,
    /// Its node in the log, if there is one.
    pub(crate) node: u64,
    /// Not 0: it was run and told before, and only what follows from it from this place on is yet to be found.
    pub(crate) from: u32,
}

impl Branch {
    pub(crate) fn new(plan: Plan, path: Path, more: u64, place: Place) -> Branch {
        Branch {
            shared: (Arc::new([]), 0),
            rest: plan,
            path,
            trail: Trail::default(),
            more,
            place,
            node: 0,
            from: 0,
        }
    }

    /// What to run, written over another plan.
    pub fn write_plan(&self, plan: &mut Plan) {
        let mut steps = std::mem::take(&mut plan.steps);
        let (shared, count) = &self.shared;
        steps.clear();
        steps.extend_from_slice(&shared[..*count as usize]);
        steps.extend_from_slice(&self.rest.steps);
        *plan = Plan {
            steps,
            sleep: self.rest.sleep.clone(),
            ..self.rest
        };
    }
}

impl Placed for Branch {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }
}

/// Says what is still to be explored after an execution. One for each worker; it remembers nothing that matters.
#[derive(Debug)]
pub struct Explorer {
    options: Options,
    dfs: Dfs,
    dpor: Dpor,
    optimal: Optimal,
    rf: Rf,
    children: Vec<Child>,
    shares: Shares,
    dpor_children: Vec<(Child, Path)>,
    rf_children: Vec<(Child, Trail)>,
    /// Length of the longest run, for `pct`.
    longest: u32,
    cut: bool,
    unfit: Option<&'static str>,
}

impl Explorer {
    /// For one worker.
    pub fn new(options: &Options) -> Explorer {
        Explorer {
            options: *options,
            dfs: Dfs::default(),
            dpor: Dpor::default(),
            optimal: Optimal::new(options.at_once),
            rf: Rf::default(),
            children: Vec::new(),
            shares: Shares::default(),
            dpor_children: Vec::new(),
            rf_children: Vec::new(),
            longest: 0,
            cut: false,
            unfit: None,
        }
    }

    /// Where every search begins.
    pub fn root(options: &Options) -> Branch {
        let samples = options.algorithm.samples();
        let bounded = options.preemptions.is_some();
        let policy = match options.algorithm {
            Algorithm::Random => Policy::Random(options.seed),
            // The first run shows how long runs are.
            Algorithm::Pct => Policy::Pct {
                seed: options.seed,
                changes: options.depth,
                steps: 100,
            },
            _ if bounded => Policy::Stay,
            _ => Policy::First,
        };
        let plan = Plan {
            policy,
            max_steps: options.max_steps,
            ..Plan::default()
        };
        let more = if samples {
            options.samples.saturating_sub(1)
        } else {
            0
        };
        Branch::new(plan, Path::new(), more, Place::default())
    }

    /// Whether a bound kept something from being explored.
    pub fn cut(&self) -> bool {
        self.cut
    }

    /// Why `rf` cannot explore what it was shown.
    pub fn unfit(&self) -> Option<&'static str> {
        self.unfit
    }

    /// For `rf`: how often the last execution was held against what others may have tried.
    pub fn claims(&self) -> u64 {
        self.rf.claimed
    }

    /// Adds the branches that follow from an execution, which was run by this plan. Those that follow first come last.
    /// Says what the execution itself weighs: the natural logarithm of it.
    pub fn branches(
        &mut self,
        branch: Branch,
        plan: &Plan,
        execution: &Execution,
        out: &mut Vec<Branch>,
    ) -> f64 {
        let mut rest = None;
        match self.options.algorithm {
            Algorithm::Random | Algorithm::Pct => {
                return self.more_samples(plan, &branch, execution, out);
            }
            _ if self.options.preemptions.is_some() => {
                let bound = self.options.preemptions;
                self.cut |= self
                    .dfs
                    .children(plan, execution, bound, &mut self.children);
            }
            Algorithm::Dfs => {
                self.dfs.children(plan, execution, None, &mut self.children);
            }
            Algorithm::Dpor => {
                let path = &branch.path;
                self.dpor
                    .branches(plan, path, execution, &mut self.dpor_children);
            }
            Algorithm::Auto | Algorithm::Rf => {
                let children = &mut self.rf_children;
                let fit = self.rf.branches(plan, &branch.trail, execution, children);
                self.unfit = self.unfit.or(fit.err());
            }
            Algorithm::Optimal => {
                let children = &mut self.children;
                rest = self
                    .optimal
                    .children(plan, execution, branch.from, children);
            }
        }
        if self.children.is_empty() && self.dpor_children.is_empty() && self.rf_children.is_empty()
        {
            return branch.place.weight;
        }
        let plain = self.children.iter().map(|child| child.shared);
        let claimed = self.dpor_children.iter().map(|(child, _)| child.shared);
        let read = self.rf_children.iter().map(|(child, _)| child.shared);
        let kept = self
            .shares
            .deal(plain.chain(claimed).chain(read).chain(rest));
        let steps = steps_of(plan, execution);
        let children = self.children.drain(..);
        let children = children.map(|child| (child, Path::new(), Trail::default()));
        let dpor = self.dpor_children.drain(..);
        let dpor = dpor.map(|(child, path)| (child, path, Trail::default()));
        let rf = self.rf_children.drain(..);
        let rf = rf.map(|(child, trail)| (child, Path::new(), trail));
        let new = children.chain(dpor).chain(rf);
        let siblings = self.shares.count();
        // What is left of it is older than what was found.
        out.extend(rest.map(|from| Branch {
            place: Place {
                weight: branch.place.weight + self.shares.of(from),
                ..branch.place
            },
            from,
            ..branch.clone()
        }));
        out.extend(new.zip(0..).map(|((child, path, trail), before)| Branch {
            shared: (steps.clone(), child.shared),
            rest: child.rest,
            path,
            more: 0,
            place: Place {
                weight: branch.place.weight + self.shares.of(child.shared),
                above: trail.above,
                ..branch.place.child(
                    child.shared,
                    siblings,
                    siblings - before,
                    self.shares.later(child.shared),
                )
            },
            trail,
            node: 0,
            from: 0,
        }));
        branch.place.weight + kept
    }

    /// The positions of all that was enabled and not done, behind the plan.
    pub(crate) fn alternatives(&mut self, plan: &Plan, execution: &Execution) -> Vec<u32> {
        let mut children = Vec::new();
        self.dfs.children(plan, execution, None, &mut children);
        children.iter().map(|child| child.shared).collect()
    }

    /// The runs that follow a sample, in two halves, so that they can be shared out.
    fn more_samples(
        &mut self,
        plan: &Plan,
        branch: &Branch,
        execution: &Execution,
        out: &mut Vec<Branch>,
    ) -> f64 {
        let more = branch.more;
        self.longest = self.longest.max(execution.events.len() as u32);
        let next = |by: u64| match plan.policy {
            Policy::Pct { seed, changes, .. } => Policy::Pct {
                seed: seed.wrapping_add(by),
                changes,
                steps: self.longest,
            },
            Policy::Random(seed) => Policy::Random(seed.wrapping_add(by)),
            other => other,
        };
        let half = more / 2;
        for (first, count) in [(1 + half, more - half), (1, half)] {
            if count > 0 {
                let plan = Plan {
                    policy: next(first),
                    ..plan.clone()
                };
                let weight = branch.place.weight + (count as f64 / (more + 1) as f64).ln();
                let place = Place {
                    weight,
                    ..Place::default()
                };
                out.push(Branch::new(plan, Path::new(), count - 1, place));
            }
        }
        branch.place.weight - ((more + 1) as f64).ln()
    }
}
