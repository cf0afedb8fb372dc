//! Follows the schedule of a recorded execution in a program that has changed since: added operations are done where their
//! thread comes to them, removed ones are passed over.
//!
//! *Decides:* which operations of a thread are those that were recorded. *Called by:* replays of changed programs. *Owns:*
//! nothing. Never reports anything that was not run; the execution that comes out is one of the program, near the recorded
//! one, and says nothing about others.

use crate::subject::{Fault, Subject};
use reweave_explore::{Schedule, Target, Wish};
use reweave_model::{Execution, Plan, Policy};
use std::{collections::BTreeMap, time::Instant};

/// One recorded step: the thread by its creation path, the outcome, and what was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedStep {
    /// See [`Wish`].
    pub path: Vec<u32>,
    /// Which of several outcomes.
    pub outcome: u16,
    /// The name of the operation.
    pub operation: String,
}

/// Runs for one recorded execution.
const RUNS: usize = 3000;

/// The most steps of one thread that are compared each with each.
const COMPARED: usize = 3000;

/// The execution that follows the recorded steps as far as the program lets it. `None`: it could not be followed before
/// the time or the number of runs was over.
pub fn follow(
    subject: &impl Subject,
    recorded: &[RecordedStep],
    max_steps: u32,
    until: Instant,
) -> Result<Option<Execution>, Fault> {
    let mut target = subject.target();
    let mut schedule = Schedule::default();
    let mut plan = Plan {
        policy: Policy::Stay,
        max_steps,
        ..Plan::default()
    };
    for _ in 0..RUNS {
        if Instant::now() >= until {
            return Ok(None);
        }
        target.prepare(std::slice::from_ref(&plan));
        let run = target.run(&plan).cloned();
        let execution = run.map_err(|error| Fault::of(subject, error))?;
        match schedule.towards(&execution, &wishes(recorded, &execution)) {
            Some(next) => plan = next,
            None => return Ok(Some(execution)),
        }
    }
    Ok(None)
}

/// The recorded order, with each thread's added operations before its next recorded one, and without those that it does
/// not do any more.
fn wishes(recorded: &[RecordedStep], execution: &Execution) -> Vec<Wish> {
    let mut threads: BTreeMap<&[u32], (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (index, step) in recorded.iter().enumerate() {
        threads.entry(&step.path).or_default().0.push(index);
    }
    for (index, event) in execution.events.iter().enumerate() {
        let path = &execution.threads[event.thread.index()].path;
        threads.entry(path).or_default().1.push(index);
    }
    // For each recorded step that is still there: the events up to it that are not recorded, and its own.
    let mut before: Vec<Option<Vec<usize>>> = vec![None; recorded.len()];
    for (steps, events) in threads.values() {
        let same = |(step, event): (usize, usize)| {
            recorded[steps[step]].operation == execution.events[events[event]].op.kind().name()
        };
        let mut done = 0;
        for (step, event) in common((steps.len(), events.len()), same) {
            before[steps[step]] = Some(events[done..event].to_vec());
            done = event + 1;
        }
    }
    let wish = |index: &usize| {
        let event = &execution.events[*index];
        let path = &execution.threads[event.thread.index()].path;
        (path.clone(), event.outcome)
    };
    let mut wishes = Vec::new();
    for (step, added) in recorded.iter().zip(&before) {
        if let Some(added) = added {
            wishes.extend(added.iter().map(wish));
            wishes.push((step.path.clone(), step.outcome));
        }
    }
    wishes
}

/// A longest common subsequence, as pairs of positions; of very long sequences their common beginning.
fn common(
    (left, right): (usize, usize),
    same: impl Fn((usize, usize)) -> bool,
) -> Vec<(usize, usize)> {
    let begin = (0..left.min(right))
        .take_while(|at| same((*at, *at)))
        .count();
    let mut pairs: Vec<_> = (0..begin).map(|at| (at, at)).collect();
    let (rows, columns) = (left - begin, right - begin);
    if rows.max(columns) > COMPARED {
        return pairs;
    }
    // How much the ends have in common from each pair of positions on.
    let mut most = vec![0u16; (rows + 1) * (columns + 1)];
    let at = |row: usize, column: usize| row * (columns + 1) + column;
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            most[at(row, column)] = match same((begin + row, begin + column)) {
                true => most[at(row + 1, column + 1)] + 1,
                false => most[at(row + 1, column)].max(most[at(row, column + 1)]),
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    while row < rows && column < columns {
        if same((begin + row, begin + column)) {
            pairs.push((begin + row, begin + column));
            (row, column) = (row + 1, column + 1);
        } else if most[at(row + 1, column)] >= most[at(row, column + 1)] {
            row += 1;
        } else {
            column += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::common;

    #[test]
    fn what_two_texts_have_in_common() {
        let pairs = |left: &[u8], right: &[u8]| {
            let same = |(at, other): (usize, usize)| left[at] == right[other];
            let pairs = common((left.len(), right.len()), same).into_iter();
            let text = pairs.map(|(at, _)| char::from(left[at]));
            text.collect::<String>()
        };
        assert_eq!(pairs(b"rw", b"lrwu"), "rw");
        assert_eq!(pairs(b"lrwulrwu", b"lrwrwu"), "lrwrwu");
        assert_eq!(pairs(b"abc", b""), "");
        assert_eq!(pairs(b"same", b"same"), "same");
    }
}
