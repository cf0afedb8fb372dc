//! A worker that draws branches at random, so that the size of the search is known early: see [`crate::estimate::probe`].

use crate::{
    estimate::{
        Passed, Probing,
        pace::few,
        probe::{Dice, Pass},
        sizes::Sizes,
    },
    explorer::Branch,
    search::{Flow, Worker},
    target::{Target, TargetError},
};
use reweave_model::{Execution, Plan};

/// What probing remembers from pass to pass, and from one slice of a search to the next.
#[derive(Debug)]
pub(crate) struct Prober {
    sizes: Sizes,
    dice: Dice,
    under_way: Option<UnderWay>,
    /// Executions of the last pass.
    last: u64,
}

/// A pass that has begun.
#[derive(Debug)]
struct UnderWay {
    pass: Pass<Branch>,
    /// What is still to be run of its level, the next one last.
    drawn: Vec<(usize, Branch)>,
    /// Executions before it.
    before: u64,
    width: usize,
}

impl Prober {
    pub fn new(seed: u64) -> Prober {
        Prober {
            sizes: Sizes::default(),
            dice: Dice(seed),
            under_way: None,
            last: 0,
        }
    }

    /// Branches that wait in a pass.
    pub fn waiting(&self) -> impl Iterator<Item = &Branch> {
        let passes = self.under_way.iter();
        passes.flat_map(|it| {
            it.pass
                .waiting()
                .chain(it.drawn.iter().map(|(_, drawn)| drawn))
        })
    }

    /// Whether it is time for a pass, after so many executions, so many of them in passes.
    pub fn is_due(&self, probing: Probing, runs: u64, probed: u64) -> bool {
        self.under_way.is_some() || probing.due(runs, probed, self.last)
    }

    /// Whether there are branches for a pass, and not too many of them.
    pub fn takes(&self, branches: &[Branch]) -> bool {
        let steps = branches.last().map_or(0, |branch| branch.shared.0.len());
        self.under_way.is_some() || few(branches.len(), steps)
    }

    /// Gives up the pass and hands out what waits in it.
    pub fn give_up(&mut self, branches: &mut Vec<Branch>) {
        if let Some(it) = self.under_way.take() {
            branches.extend(it.pass.abandon());
            branches.extend(it.drawn.into_iter().map(|(_, branch)| branch));
        }
    }

    fn begin(&mut self, branches: &mut Vec<Branch>, width: usize, before: u64) -> UnderWay {
        let (pass, drawn) = Pass::new(branches, width, &self.sizes, &mut self.dice);
        UnderWay {
            pass,
            drawn,
            before,
            width,
        }
    }
}

impl Worker<'_> {
    /// A pass looks at all branches there are, so they have to be in one hand.
    pub fn wants_to_probe(&mut self, prober: &Prober) -> bool {
        let (runs, probed, _) = self.crew.gauge.so_far();
        let (runs, probed) = (runs + self.tally.runs, probed + self.tally.probed);
        if !prober.is_due(self.probing, runs, probed) {
            return false;
        }
        self.crew.take_all(&mut self.mine);
        prober.takes(&self.mine)
    }

    /// Makes one pass over all that is left, or goes on with one. One that is stopped waits to be gone on with.
    pub fn probe<T: Target>(
        &mut self,
        prober: &mut Prober,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, TargetError> {
        let (runs, probed, passes) = self.crew.gauge.so_far();
        let done = runs + self.tally.runs;
        let width = self.probing.width(done, probed, passes);
        let begun = prober.under_way.take();
        let mut it = begun.unwrap_or_else(|| prober.begin(&mut self.mine, width, done));
        loop {
            // A pass may have been stopped just when a level was complete.
            if it.drawn.is_empty() {
                let (sizes, dice) = (&prober.sizes, &mut prober.dice);
                it.drawn = it.pass.draw(sizes, dice, &mut self.mine);
                self.tally
                    .pass_so_far(Passed::so_far(it.before, it.width, it.pass.so_far()));
            }
            if it.drawn.is_empty() {
                break;
            }
            let flow = self.run_drawn(&mut it, target, before, after);
            if !matches!(flow, Ok(Flow::Continue)) {
                prober.under_way = Some(it);
                return flow;
            }
        }
        prober.last = it.pass.runs();
        let below = it.pass.conclude(&mut prober.sizes);
        self.tally.pass(Passed::new(it.before, it.width, below));
        Ok(Flow::Continue)
    }

    /// Runs some of what was drawn and hands the pass what follows.
    fn run_drawn<T: Target>(
        &mut self,
        it: &mut UnderWay,
        target: &mut T,
        before: &impl Fn() -> Flow,
        after: &impl Fn(&Plan, &Execution) -> Flow,
    ) -> Result<Flow, TargetError> {
        let some = it.drawn.len().saturating_sub(target.batch().max(1));
        let (mut numbers, batch): (Vec<usize>, Vec<Branch>) = it.drawn.drain(some..).unzip();
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
                found.for_each(|branch| it.pass.child(*number, branch));
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
