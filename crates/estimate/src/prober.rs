//! Passes of probing over the branches of a search: when one is due, what it draws, where it waits when the search stops.
//!
//! *Called by:* the worker of a search that probes. It runs what is drawn and hands back what follows. *Owns:* what was learned from pass to
//! pass, and the branches of the pass under way.

use crate::{
    Passed, Probing,
    pace::few,
    probe::{Dice, Pass, Placed},
    sizes::Sizes,
};

/// What probing remembers from pass to pass, and from one slice of a search to the next.
#[derive(Debug)]
pub struct Prober<B> {
    sizes: Sizes,
    dice: Dice,
    under_way: Option<UnderWay<B>>,
    /// Executions of the last pass.
    last: u64,
}

/// A pass that has begun.
#[derive(Debug)]
pub struct UnderWay<B> {
    pass: Pass<B>,
    /// What is still to be run of its level, the next one last, each with its number in the pass.
    pub drawn: Vec<(usize, B)>,
    /// Executions before it.
    before: u64,
    width: usize,
}

impl<B: Placed> Prober<B> {
    /// One that has learned nothing yet.
    pub fn new(seed: u64) -> Prober<B> {
        Prober {
            sizes: Sizes::default(),
            dice: Dice(seed),
            under_way: None,
            last: 0,
        }
    }

    /// Branches that wait in a pass.
    pub fn waiting(&self) -> impl Iterator<Item = &B> {
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

    /// Whether so many branches, from executions of so many steps, are enough for a pass and not too many.
    pub fn takes(&self, branches: usize, steps: usize) -> bool {
        self.under_way.is_some() || few(branches, steps)
    }

    /// Abandons the pass and hands out what waits in it.
    pub fn abandon(&mut self, branches: &mut Vec<B>) {
        if let Some(it) = self.under_way.take() {
            branches.extend(it.pass.abandon());
            branches.extend(it.drawn.into_iter().map(|(_, branch)| branch));
        }
    }

    /// The pass that waits, or a new one over all branches, so wide, after so many executions.
    pub fn resume(&mut self, branches: &mut Vec<B>, width: usize, before: u64) -> UnderWay<B> {
        self.under_way.take().unwrap_or_else(|| {
            let (pass, drawn) = Pass::new(branches, width, &self.sizes, &mut self.dice);
            UnderWay {
                pass,
                drawn,
                before,
                width,
            }
        })
    }

    /// The pass waits.
    pub fn pause(&mut self, pass: UnderWay<B>) {
        self.under_way = Some(pass);
    }

    /// Draws the next level; what is not drawn goes to `left`. Returns what the pass would come to.
    pub fn draw(&mut self, it: &mut UnderWay<B>, left: &mut Vec<B>) -> Passed {
        it.drawn = it.pass.draw(&self.sizes, &mut self.dice, left);
        Passed::so_far(it.before, it.width, it.pass.so_far())
    }

    /// The pass is over. Learns from it, and returns what it came to.
    pub fn conclude(&mut self, it: UnderWay<B>) -> Passed {
        self.last = it.pass.runs();
        let below = it.pass.conclude(&mut self.sizes);
        Passed::new(it.before, it.width, below)
    }
}

impl<B: Placed> UnderWay<B> {
    /// Adds a branch that was found by the one with this number.
    pub fn child(&mut self, finder: usize, branch: B) {
        self.pass.child(finder, branch);
    }
}
