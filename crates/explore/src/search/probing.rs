//! A worker that draws branches at random, so that the size of the search is known early: see [`Prober`].

use super::{Flow, worker::Worker};
use crate::{
    algorithm::Algorithm,
    explorer::Branch,
    target::{Target, TargetError},
};
use reweave_estimate::{Prober, UnderWay};
use reweave_model::{Execution, Plan};

/// Whether there are branches for a pass, and not too many of them.
pub(super) fn takes<P>(prober: &Prober<Branch<P>>, branches: &[Branch<P>]) -> bool {
    let steps = branches.last().map_or(0, |branch| branch.shared.0.len());
    prober.takes(branches.len(), steps)
}

impl<A: Algorithm> Worker<'_, A> {
    /// A pass looks at all branches there are, so they have to be in one hand.
    pub fn wants_to_probe(&mut self, prober: &Prober<Branch<A::Payload>>) -> bool {
        let (runs, probed, _) = self.crew.gauge.so_far();
        let (runs, probed) = (runs + self.tally.runs, probed + self.tally.probed);
        if !prober.is_due(self.probing, runs, probed) {
            return false;
        }
        self.crew.take_all(&mut self.mine);
        takes(prober, &self.mine)
    }

    /// Makes one pass over all that is left, or goes on with one. One that is stopped waits to be gone on with.
    pub fn probe<T: Target>(
        &mut self,
        prober: &mut Prober<Branch<A::Payload>>,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, TargetError> {
        let (runs, probed, passes) = self.crew.gauge.so_far();
        let done = runs + self.tally.runs;
        let width = self.probing.width(done, probed, passes);
        let mut it = prober.resume(&mut self.mine, width, done);
        loop {
            // A pass may have been stopped just when a level was complete.
            if it.drawn.is_empty() {
                let so_far = prober.draw(&mut it, &mut self.mine);
                self.tally.pass_so_far(so_far);
            }
            if it.drawn.is_empty() {
                break;
            }
            let flow = self.run_drawn(&mut it, target, before, after);
            if !matches!(flow, Ok(Flow::Continue)) {
                prober.pause(it);
                return flow;
            }
        }
        self.tally.pass(prober.conclude(it));
        Ok(Flow::Continue)
    }

    /// Runs some of what was drawn and hands the pass what follows.
    fn run_drawn<T: Target>(
        &mut self,
        it: &mut UnderWay<Branch<A::Payload>>,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, TargetError> {
        let some = it.drawn.len().saturating_sub(target.batch().max(1));
        let (mut numbers, batch): (Vec<usize>, Vec<_>) = it.drawn.drain(some..).unzip();
        self.batch = batch;
        self.announce(target);
        let mut flow = Ok(Flow::Continue);
        let mut next = 0;
        while let (Ok(Flow::Continue), Some(number)) = (&flow, numbers.last()) {
            let (stack, waiting) = (self.mine.len(), self.batch.len());
            flow = self.run_next(target, next, before, after);
            if self.batch.len() < waiting {
                self.tally.probed += 1;
                let found = self.mine.drain(stack..);
                found.for_each(|branch| it.child(*number, branch));
                numbers.pop();
                self.share();
            }
            next += 1;
        }
        it.drawn
            .extend(numbers.into_iter().zip(self.batch.drain(..)));
        flow
    }
}
