//! Probing, on a search that was recorded.
//!
//! The executions are those of the log, and only their order is another one. Under `rf` who finds a branch depends on that order: there, what
//! is rehearsed is the tree as the recorded search found it.

use crate::log::Happened;
use crate::{
    Passed, Probing,
    gauge::passed,
    pace::few,
    probe::{Dice, Pass, Placed},
    sizes::{Place, Sizes},
    weight::Shares,
};
use std::ops::Range;

/// Which executions follow from which. Each is known by the node that it begins at.
#[derive(Debug, Default)]
pub struct Family {
    /// The node that each child begins at, and where it leaves its parent.
    children: Vec<(usize, u32)>,
    /// Which of them are those of the execution that begins at each node.
    of: Vec<Range<usize>>,
    executions: u64,
}

/// An execution that waits.
type Waiting = (usize, Place);

impl Placed for Waiting {
    fn place(&mut self) -> &mut Place {
        &mut self.1
    }
}

/// A search that is rehearsed: how far it is, and what it has said.
struct Rehearsal<'a> {
    family: &'a Family,
    parts: &'a [f64],
    shares: Shares,
    done: u64,
    passes: Vec<Passed>,
    under_way: Option<Passed>,
    found: Vec<f64>,
}

impl Family {
    pub(super) fn new(events: impl Iterator<Item = Happened>) -> Family {
        let mut family = Family::default();
        let mut depths = Vec::new();
        let mut own = None;
        // A node has one parent, whatever a log says: the first one stays.
        let mut known = Vec::new();
        let (mut scheduled, mut passed) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Happened::AddNode { depth, .. } => {
                    known.push(depths.is_empty());
                    depths.push(depth as u32);
                    family.of.push(0..0);
                }
                Happened::Explore(node) => {
                    if !std::mem::replace(&mut known[node as usize], true) {
                        scheduled.push(node as usize);
                    }
                }
                Happened::Transition(node) => {
                    own.get_or_insert(node);
                    passed.push(node as usize);
                }
                Happened::End(_) => {
                    scheduled.retain(|node| !passed.contains(node));
                    let first = family.children.len();
                    let new = scheduled.drain(..).map(|node| (node, depths[node]));
                    family.children.extend(new);
                    let own = own.take().unwrap_or(0) as usize;
                    family.of[own] = first..family.children.len();
                    family.executions += 1;
                    passed.clear();
                }
                Happened::Start | Happened::Closed(_) => {}
            }
        }
        family
    }

    /// Executions in all.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// What follows from the execution that begins at a node: where that begins, and the position at which it leaves.
    pub fn children(&self, node: usize) -> &[(usize, u32)] {
        &self.children[self.of[node].clone()]
    }

    /// What probing says after each of these parts of the executions, in order.
    pub(super) fn probe(&self, probing: Probing, parts: &[f64], seed: u64) -> Vec<f64> {
        let mut it = Rehearsal {
            family: self,
            parts,
            shares: Shares::default(),
            done: 0,
            passes: Vec::new(),
            under_way: None,
            found: Vec::new(),
        };
        let mut stack = vec![(0, Place::default())];
        let (mut sizes, mut dice) = (Sizes::default(), Dice(seed));
        let (mut probed, mut last) = (0, 0);
        while !stack.is_empty() && it.found.len() < parts.len() {
            if !probing.due(it.done, probed, last) || !few(stack.len(), 0) {
                let next = stack.pop().expect("there are some");
                it.run(next, |child| stack.push(child));
                continue;
            }
            let before = it.done;
            let width = probing.width(before, probed, it.passes.len());
            let below = it.pass(&mut stack, width, &mut sizes, &mut dice);
            last = it.done - before;
            probed += last;
            it.passes.push(Passed::new(before, width, below));
        }
        it.done = self.executions;
        it.mark();
        it.found
    }
}

impl Rehearsal<'_> {
    /// Runs one, and hands out what follows from it.
    fn run(&mut self, (node, place): Waiting, found: impl FnMut(Waiting)) {
        self.done += 1;
        self.mark();
        let children = self.family.children(node);
        let shares = &mut self.shares;
        shares.deal(children.iter().map(|(_, position)| *position));
        let siblings = shares.count();
        let child = |(before, (node, position)): (u32, &(usize, u32))| {
            let later = shares.later(*position);
            let place = place.child(*position, siblings, siblings - before, later);
            (*node, place)
        };
        (0..).zip(children).map(child).for_each(found);
    }

    /// Makes a pass over what is left. How many there are below it: the natural logarithm.
    fn pass(
        &mut self,
        stack: &mut Vec<Waiting>,
        width: usize,
        sizes: &mut Sizes,
        dice: &mut Dice,
    ) -> f64 {
        let before = self.done;
        let (mut pass, mut drawn) = Pass::new(stack, width, sizes, dice);
        while !drawn.is_empty() {
            for (number, next) in drawn {
                self.run(next, |child| pass.child(number, child));
            }
            drawn = pass.draw(sizes, dice, stack);
            self.under_way = Some(Passed::so_far(before, width, pass.so_far()));
        }
        self.under_way = None;
        pass.conclude(sizes)
    }

    /// Notes what can be said, if it is time.
    fn mark(&mut self) {
        let (all, done) = (self.family.executions, self.done);
        let due = |part: &&f64| done as f64 >= **part * all as f64;
        while self.parts.get(self.found.len()).as_ref().is_some_and(due) {
            // Whoever has run the last one sees that nothing is left.
            let guess = passed(&self.passes, self.under_way, done).filter(|_| done < all);
            let guess = guess.map_or(0.0, |(ln, _)| ln.exp());
            self.found.push(guess.max(done as f64));
        }
    }
}
