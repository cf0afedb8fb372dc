//! A worker that draws branches at random, so that the size of the search is known early: see [`crate::estimate::probe`].

use crate::{
    estimate::{
        Passed,
        probe::{Pass, Place, WAITING, width},
    },
    explorer::Branch,
    search::{Flow, Worker},
    target::Target,
};
use reweave_model::{Divergence, Execution, Plan};

impl Worker<'_> {
    /// A pass looks at all branches there are, so they have to be in one hand.
    pub fn wants_to_probe(&mut self) -> bool {
        if !self.probes || self.crew.workers > 1 {
            return false;
        }
        self.crew.take_all(&mut self.mine);
        (1..=WAITING).contains(&self.mine.len())
    }

    /// Makes one pass over all that is left.
    pub fn probe<T: Target>(
        &mut self,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, Divergence> {
        let (runs, passes) = self.crew.gauge.so_far();
        let done = runs + self.tally.runs;
        let width = width(done, passes);
        let place = |branch: Branch| {
            let place = branch.place;
            (branch, place)
        };
        let mut pass = Pass::new(self.mine.drain(..).map(place), width);
        loop {
            let mut prober = self.crew.gauge.prober();
            let prober = &mut *prober;
            let mut drawn = pass.draw(&prober.sizes, &mut prober.dice, &mut self.mine);
            if drawn.is_empty() {
                let below = pass.conclude(&mut prober.sizes);
                self.tally.pass(Passed::new(done, width as u64, below));
                return Ok(Flow::Continue);
            }
            while !drawn.is_empty() {
                let some = drawn.len().saturating_sub(target.batch().max(1));
                let batch = drawn.split_off(some);
                let flow = self.run_drawn(batch, &mut pass, target, before, after);
                if !matches!(flow, Ok(Flow::Continue)) {
                    self.mine
                        .extend(drawn.into_iter().map(|(_, branch)| branch));
                    self.mine.extend(pass.abandon());
                    return flow;
                }
            }
        }
    }

    /// Runs some of what was drawn and hands the pass what follows.
    fn run_drawn<T: Target>(
        &mut self,
        drawn: Vec<(usize, Branch)>,
        pass: &mut Pass<Branch>,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, Divergence> {
        let (mut numbers, batch): (Vec<usize>, Vec<Branch>) = drawn.into_iter().unzip();
        self.batch = batch;
        self.announce(target);
        let mut next = 0;
        while let Some(number) = numbers.pop() {
            let stack = self.mine.len();
            if self.run_next(target, next, before, after)? == Flow::Stop {
                return Ok(Flow::Stop);
            }
            for branch in self.mine.drain(stack..) {
                let place: Place = branch.place;
                pass.child(number, branch, place);
            }
            next += 1;
        }
        Ok(Flow::Continue)
    }
}
