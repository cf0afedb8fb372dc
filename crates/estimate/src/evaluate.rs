//! How right estimates would have been, on a recorded search.

use crate::log::{Happened, LogError, Reader};
use crate::{
    Curve, Probing,
    rehearse::Family,
    series::Series,
    tree::{Estimator, Strategy, Tree},
};
use std::{io::Read, ops::Range};

/// A search that was recorded to its end.
#[derive(Debug)]
pub struct Recorded {
    /// As it was written: far smaller than its events are one by one.
    log: Vec<u8>,
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
    /// Reads a log. An unfinished search has no size to compare estimates with.
    pub fn read(mut from: impl Read) -> Result<Recorded, LogError> {
        let mut log = Vec::new();
        let read = from.read_to_end(&mut log);
        read.map_err(LogError::Unreadable)?;
        let mut recorded = Recorded {
            log: Vec::new(),
            ever: Vec::new(),
            time: 0.0,
            executions: 0,
        };
        let mut parents = Vec::new();
        let mut scheduled = Vec::new();
        for event in Reader::new(&log[..])? {
            match event? {
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
                    return Err(LogError::Unfinished);
                }
                _ => {}
            }
        }
        Ok(Recorded { log, ..recorded })
    }

    /// What happened, in order.
    fn events(&self) -> impl Iterator<Item = Happened> {
        let read = Reader::new(&self.log[..]).into_iter().flatten();
        read.map(|event| event.expect("it was read before"))
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
        for event in self.events() {
            match event {
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
                    if found.len() == parts.len() {
                        break;
                    }
                }
            }
        }
        found
    }

    /// What probing says after each of these parts of the executions, in order, for each of these seeds.
    pub fn probe(&self, probing: Probing, parts: &[f64], seeds: Range<u64>) -> Vec<Vec<f64>> {
        let family = self.family();
        seeds
            .map(|seed| family.probe(probing, parts, seed))
            .collect()
    }
}

impl Recorded {
    /// Which executions follow from which.
    pub fn family(&self) -> Family {
        Family::new(self.events())
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
