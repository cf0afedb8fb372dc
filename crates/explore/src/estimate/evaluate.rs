//! How right estimates would have been, on a recorded search.

use super::{
    Curve, Passed, Probing, Series,
    gauge::passed,
    pace::few,
    probe::{Dice, Pass, Placed},
    sizes::{Place, Sizes},
    tree::{Estimator, Strategy, Tree},
};
use crate::log::{Happened, Reader};
use std::io::BufRead;

/// A search that was recorded to its end.
#[derive(Debug)]
pub struct Recorded {
    events: Vec<Happened>,
    /// How many children of each node are scheduled in the end.
    ever: Vec<u32>,
    time: f64,
    executions: u64,
}

/// What is made of a strategy, an estimator and a curve at one moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Guess {
    /// Which nodes will be explored.
    pub strategy: Strategy,
    /// How a number is made of it.
    pub estimator: Estimator,
    /// What is laid through these numbers.
    pub curve: Curve,
    /// The time that the search takes.
    pub estimate: f64,
}

impl Recorded {
    /// Reads a log. A search that did not come to its end has no size to be held against.
    pub fn read(from: impl BufRead) -> Result<Recorded, String> {
        let mut recorded = Recorded {
            events: Vec::new(),
            ever: Vec::new(),
            time: 0.0,
            executions: 0,
        };
        let mut parents = Vec::new();
        let mut scheduled = Vec::new();
        for event in Reader::new(from)? {
            let event = event?;
            match event {
                Happened::AddNode { parent, .. } => {
                    parents.push(parent as usize);
                    scheduled.push(false);
                    recorded.ever.push(0);
                }
                Happened::Explore(node) if node > 0 => {
                    if !std::mem::replace(&mut scheduled[node as usize], true) {
                        recorded.ever[parents[node as usize]] += 1;
                    }
                }
                Happened::End(thousandths) => {
                    recorded.time += thousandths as f64 / 1000.0;
                    recorded.executions += 1;
                }
                Happened::Closed(false) => {
                    return Err("the recorded search was not explored to its end".into());
                }
                _ => {}
            }
            recorded.events.push(event);
        }
        Ok(recorded)
    }

    /// Executions in all.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Nodes of its tree.
    pub fn nodes(&self) -> u64 {
        self.ever.len() as u64
    }

    /// Time in all; in our own logs, executions.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// All combinations of strategy, estimator and curve after each of these parts of the time, in order.
    pub fn replay(&self, parts: &[f64]) -> Vec<Vec<Guess>> {
        let mut tree = Tree::new(self.ever.clone());
        let mut series: Vec<Series> =
            vec![Series::default(); Strategy::ALL.len() * Estimator::ALL.len()];
        let mut found = Vec::new();
        for event in &self.events {
            match *event {
                Happened::AddNode { parent, .. } => tree.add_node(parent as usize),
                Happened::Explore(node) => tree.explore(node as usize),
                Happened::Transition(node) => tree.transition(node as usize),
                Happened::Start | Happened::Closed(_) => {}
                Happened::End(thousandths) => {
                    tree.end(thousandths as f64 / 1000.0);
                    for (series, (strategy, estimator)) in series.iter_mut().zip(pairs()) {
                        series.note(tree.time(), || tree.estimate(strategy, estimator).ln());
                    }
                    while parts
                        .get(found.len())
                        .is_some_and(|part| tree.time() >= part * self.time)
                    {
                        found.push(guesses(&tree, &series));
                    }
                }
            }
        }
        found
    }

    /// What probing says after each of these parts of the executions, in order.
    pub fn probe(&self, probing: Probing, parts: &[f64], seed: u64) -> Vec<f64> {
        let children = self.children();
        let mut stack = vec![(0usize, Place::default())];
        let (mut sizes, mut dice) = (Sizes::default(), Dice(seed));
        let (mut passes, mut found) = (Vec::new(), Vec::new());
        let (mut done, mut probed, mut last) = (0, 0, 0);
        let mark = |done: u64, passes: &[Passed], now: Option<Passed>, found: &mut Vec<f64>| {
            while parts
                .get(found.len())
                .is_some_and(|part| done as f64 >= part * self.executions as f64)
            {
                // Whoever has run the last one sees that nothing is left.
                let guess = passed(passes, now, done).filter(|_| done < self.executions);
                let guess = guess.map_or(0.0, |(ln, _)| ln.exp());
                found.push(guess.max(done as f64));
            }
        };
        while !stack.is_empty() && found.len() < parts.len() {
            if !probing.due(done, probed, last) || !few(stack.len(), 0) {
                let (node, _) = stack.pop().expect("there are some");
                stack.extend(&children[node]);
                done += 1;
                mark(done, &passes, None, &mut found);
                continue;
            }
            let before = done;
            let width = probing.width(before, probed, passes.len());
            let (mut pass, mut drawn) = Pass::new(&mut stack, width, &mut sizes, &mut dice);
            let mut now = None;
            while !drawn.is_empty() {
                for (number, (node, _)) in drawn {
                    done += 1;
                    mark(done, &passes, now, &mut found);
                    for child in &children[node] {
                        pass.child(number, *child);
                    }
                }
                drawn = pass.draw(&mut sizes, &mut dice, &mut stack);
                now = Some(Passed::so_far(before, width, pass.so_far()));
            }
            last = done - before;
            probed += last;
            passes.push(Passed::new(before, width, pass.conclude(&mut sizes)));
        }
        mark(self.executions, &passes, None, &mut found);
        found
    }

    /// The executions that follow from the one that begins at each node, by the nodes they begin at.
    fn children(&self) -> Vec<Vec<(usize, Place)>> {
        let mut depths = Vec::new();
        let mut children = vec![Vec::new(); self.ever.len()];
        let mut own = None;
        // A node has one parent, whatever a log says: the first one stays.
        let mut known = vec![false; self.ever.len()];
        known[..1].fill(true);
        let (mut scheduled, mut passed) = (Vec::new(), Vec::new());
        for event in &self.events {
            match *event {
                Happened::AddNode { depth, .. } => depths.push(depth as u32),
                Happened::Explore(node) => {
                    if !std::mem::replace(&mut known[node as usize], true) {
                        scheduled.push(node);
                    }
                }
                Happened::Transition(node) => {
                    own.get_or_insert(node);
                    passed.push(node);
                }
                Happened::End(_) => {
                    scheduled.retain(|node| !passed.contains(node));
                    let siblings = scheduled.len() as u32;
                    let place = |(node, before): (u64, u32)| {
                        let place = Place {
                            position: depths[node as usize],
                            siblings,
                            rank: siblings - before,
                            ..Place::default()
                        };
                        (node as usize, place)
                    };
                    let own = own.take().unwrap_or(0) as usize;
                    children[own] = scheduled.drain(..).zip(0..).map(place).collect();
                    passed.clear();
                }
                Happened::Start | Happened::Closed(_) => {}
            }
        }
        children
    }
}

impl Placed for (usize, Place) {
    fn place(&mut self) -> &mut Place {
        &mut self.1
    }
}

fn pairs() -> impl Iterator<Item = (Strategy, Estimator)> {
    let with = |strategy| Estimator::ALL.map(|estimator| (strategy, estimator));
    Strategy::ALL.into_iter().flat_map(with)
}

fn guesses(tree: &Tree, series: &[Series]) -> Vec<Guess> {
    let mut guesses = Vec::new();
    for (series, (strategy, estimator)) in series.iter().zip(pairs()) {
        let plain = tree.estimate(strategy, estimator).ln();
        for curve in Curve::ALL {
            guesses.push(Guess {
                strategy,
                estimator,
                curve,
                estimate: series.fit_by(curve, plain).exp(),
            });
        }
    }
    guesses
}
