//! Small drivers: every plan of an algorithm, or random ones.
#![allow(dead_code, reason = "each test file uses some of it")]

use reweave::target::{
    ClosureTarget, Target,
    model::{Error, Execution, Kind, Plan, Policy},
};
use reweave_explore::{AlgorithmName as Algorithm, Explorer, Options};
use std::sync::Arc;

/// What a number of executions had to show.
#[derive(Default)]
pub struct Seen {
    pub executions: usize,
    pub events: usize,
    /// The first error of each execution that had one.
    pub errors: Vec<Error>,
    pub ends: Vec<reweave::target::model::End>,
}

impl Seen {
    fn add(&mut self, execution: &Execution) {
        self.executions += 1;
        self.events += execution.events.len();
        self.errors.extend(execution.errors.first().cloned());
        if !self.ends.contains(&execution.end) {
            self.ends.push(execution.end);
        }
    }

    /// The kinds of errors, each once.
    pub fn kinds(&self) -> Vec<Kind> {
        let mut kinds: Vec<Kind> = self.errors.iter().map(|error| error.kind).collect();
        kinds.sort();
        kinds.dedup();
        kinds
    }

    #[track_caller]
    pub fn correct(&self) {
        assert!(self.errors.is_empty(), "{:#?}", self.errors[0]);
    }
}

pub fn target(f: impl Fn() + Send + Sync + 'static) -> ClosureTarget {
    ClosureTarget::new(Arc::new(f), false)
}

/// Everything an algorithm asks for.
pub fn all(algorithm: Algorithm, f: impl Fn() + Send + Sync + 'static) -> Seen {
    all_of(&mut target(f), algorithm, || (), 2_000_000).expect("not too many")
}

/// As [`all`], of a target; `restart` is called when the search starts over with more events. `None`: there are
/// more executions than that.
pub fn all_of(
    target: &mut ClosureTarget,
    algorithm: Algorithm,
    restart: impl Fn(),
    most: usize,
) -> Option<Seen> {
    let options = Options {
        algorithm,
        ..Options::default()
    };
    let mut explorer = Explorer::new(&options);
    let mut branches = vec![Explorer::root(&options)];
    let mut seen = Seen::default();
    let mut version = target.wanted_version();
    let mut plan = Plan::default();
    while let Some(branch) = branches.pop() {
        branch.write_plan(&mut plan);
        match target.run(&plan) {
            Ok(execution) => {
                seen.add(execution);
                if seen.executions == most {
                    return None;
                }
                explorer.branches(branch, &plan, execution, &mut branches);
            }
            Err(divergence) => assert!(target.wanted_version() != version, "{divergence:?}"),
        }
        if target.wanted_version() != version {
            // Everything so far was run without the events that are needed now.
            version = target.wanted_version();
            explorer = Explorer::new(&options);
            branches = vec![Explorer::root(&options)];
            seen = Seen::default();
            restart();
        }
    }
    Some(seen)
}

pub fn optimal(f: impl Fn() + Send + Sync + 'static) -> Seen {
    all(Algorithm::Optimal, f)
}

/// Random plans.
pub fn random(seeds: u64, f: impl Fn() + Send + Sync + 'static) -> Seen {
    let mut target = target(f);
    let mut seen = Seen::default();
    for seed in 0..seeds {
        let plan = Plan {
            policy: Policy::Random(seed),
            ..Plan::default()
        };
        seen.add(target.run(&plan).expect("a plan without steps fits"));
    }
    seen
}
