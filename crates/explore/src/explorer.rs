//! Branches, and how they follow from an execution: what an algorithm found, with the places that estimates need.

use crate::{
    algorithm::{Algorithm, Found, Interrupt, NewBranch, Options, Ran, Unfit},
    algorithms::{AnyAlgorithm, AnyPayload, Dfs},
    claims::{AtNodes, Claim, Claims, Node},
    draft::steps_of,
};
use reweave_estimate::{Place, Placed, Shares};
use reweave_model::{Execution, Plan, Step};
use std::sync::Arc;

/// A piece of work: one execution to run and all that follows from it.
#[derive(Clone, Debug)]
pub struct Branch<P = AnyPayload> {
    /// Where its plan begins: so many of these steps.
    pub(crate) shared: (Arc<[Step]>, u32),
    /// How it goes on.
    pub(crate) rest: Plan,
    /// What it carries for its algorithm.
    pub(crate) payload: P,
    /// Where it comes from.
    pub(crate) place: Place,
    /// Its node in the log, if there is one.
    pub(crate) node: u64,
    /// Whether its execution was run and counted before, and only some of what follows from it is yet to be found.
    pub(crate) again: bool,
}

impl<P> Branch<P> {
    pub(crate) fn new(plan: Plan, payload: P, place: Place) -> Branch<P> {
        Branch {
            shared: (Arc::new([]), 0),
            rest: plan,
            payload,
            place,
            node: 0,
            again: false,
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

impl<P> Placed for Branch<P> {
    fn place(&mut self) -> &mut Place {
        &mut self.place
    }
}

/// Branches that were found at a node of another process. The owner makes the claim, and takes them if it is the first of its kind.
#[derive(Clone, Debug)]
pub(crate) struct Offer<P> {
    pub node: Arc<Node>,
    pub claim: Claim,
    pub branches: Vec<Branch<P>>,
}

/// Finds what is still to be explored after an execution. One for each worker; it remembers nothing that matters.
#[derive(Debug)]
pub struct Explorer<A: Algorithm = AnyAlgorithm> {
    algorithm: A,
    found: Found<A::Payload>,
    shares: Shares,
    /// For logs.
    dfs: Dfs,
    unfit: Option<Unfit>,
    /// The last execution is counted as redundant.
    pub(crate) repeats: bool,
    pub(crate) offers: Vec<Offer<A::Payload>>,
    /// Ends long analyses.
    interrupt: Interrupt,
}

impl Explorer {
    /// For one worker.
    pub fn new(options: &Options) -> Explorer {
        Explorer::of(options, &(Arc::new(AtNodes) as Arc<dyn Claims>))
    }

    /// Where every search begins.
    pub fn root(options: &Options) -> Branch {
        Explorer::<AnyAlgorithm>::first(options)
    }
}

impl<A: Algorithm> Explorer<A> {
    /// For one worker, with any algorithm.
    pub fn of(options: &Options, claims: &Arc<dyn Claims>) -> Explorer<A> {
        Explorer {
            algorithm: A::new(options, claims),
            found: Found::default(),
            shares: Shares::default(),
            dfs: Dfs::default(),
            unfit: None,
            repeats: false,
            offers: Vec::new(),
            interrupt: Interrupt::default(),
        }
    }

    /// The same, whose analyses are ended by this.
    #[must_use]
    pub(crate) fn interrupted_by(mut self, interrupt: Interrupt) -> Explorer<A> {
        self.interrupt = interrupt;
        self
    }

    /// Where every search begins.
    pub fn first(options: &Options) -> Branch<A::Payload> {
        let (policy, payload) = A::first(options);
        let plan = Plan {
            policy,
            max_steps: options.max_steps,
            ..Plan::default()
        };
        Branch::new(plan, payload, Place::default())
    }

    /// Whether a bound kept something from being explored.
    pub fn cut(&self) -> bool {
        self.found.cut
    }

    /// Why the algorithm cannot explore what it was shown.
    pub fn unfit(&self) -> Option<&Unfit> {
        self.unfit.as_ref()
    }

    /// How many claims the last execution made at nodes that other executions share.
    pub fn claims(&self) -> u64 {
        self.found.claimed
    }

    /// Adds the branches that follow from an execution, which was run by this plan. Those that are to be run first come last.
    /// Returns what the execution itself weighs: the natural logarithm of it.
    pub fn branches(
        &mut self,
        branch: Branch<A::Payload>,
        plan: &Plan,
        execution: &Execution,
        out: &mut Vec<Branch<A::Payload>>,
    ) -> f64 {
        let ran = Ran {
            plan,
            payload: &branch.payload,
            execution,
            interrupt: &self.interrupt,
        };
        if let Err(unfit) = self.algorithm.branches(ran, &mut self.found) {
            self.unfit.get_or_insert(unfit);
        }
        self.repeats = std::mem::take(&mut self.found.repeats);
        let given = self.found.kept.take();
        let rest = self.found.rest.take();
        if self.found.children.is_empty() && rest.is_none() {
            return branch.place.weight + given.unwrap_or(0.0);
        }
        let children = self.found.children.iter().map(|new| new.child.shared);
        let left = rest.as_ref().map(|(from, _)| *from);
        let kept = self.shares.deal(children.chain(left));
        let steps = steps_of(plan, execution);
        let Place { weight, .. } = branch.place;
        // What is left of it is older than what was found.
        out.extend(rest.map(|(from, payload)| Branch {
            shared: branch.shared.clone(),
            rest: branch.rest.clone(),
            place: Place {
                weight: weight + self.shares.of(from),
                ..branch.place
            },
            payload,
            node: branch.node,
            again: true,
        }));
        let mut children = std::mem::take(&mut self.found.children);
        for (new, before) in children.drain(..).zip(0..) {
            let place = self.place(&branch.place, &new, before);
            let child = Branch {
                shared: (steps.clone(), new.child.shared),
                rest: new.child.rest,
                payload: new.payload,
                place,
                node: 0,
                again: false,
            };
            match new.claim {
                None => out.push(child),
                Some(claim) => self.offer(*claim, child),
            }
        }
        self.found.children = children;
        weight + given.unwrap_or(kept)
    }

    /// That of a child, so many of whose siblings come before it.
    fn place(&self, parent: &Place, new: &NewBranch<A::Payload>, before: u32) -> Place {
        if let Some(part) = new.part {
            return Place {
                weight: parent.weight + part,
                ..Place::default()
            };
        }
        let (position, siblings) = (new.child.shared, self.shares.count());
        let later = self.shares.later(position);
        Place {
            weight: parent.weight + self.shares.of(position),
            above: new.above,
            ..parent.child(position, siblings, siblings - before, later)
        }
    }

    /// Keeps a branch for the owner of a node. One claim may stand for several branches, which are found one after the other.
    fn offer(&mut self, (node, claim): (Arc<Node>, Claim), branch: Branch<A::Payload>) {
        match self.offers.last_mut() {
            Some(last) if Arc::ptr_eq(&last.node, &node) && last.claim == claim => {
                last.branches.push(branch);
            }
            _ => self.offers.push(Offer {
                node,
                claim,
                branches: vec![branch],
            }),
        }
    }

    /// The positions of all that was enabled and not done, behind the plan.
    pub(crate) fn alternatives(&mut self, plan: &Plan, execution: &Execution) -> Vec<u32> {
        self.dfs.alternatives(plan, execution)
    }
}
