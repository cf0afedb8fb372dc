//! Which test goes on next.
//!
//! *Called by:* the schedule and the simulator, so that what is measured is what is done. A test that nobody has looked at yet goes
//! before all that are known, under every policy: only then is there something to decide.

use reweave_explore::Estimate;
use std::{cmp::Ordering, collections::BinaryHeap, str::FromStr};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Policy {
    /// The one that is done soonest: many tests are finished early.
    #[default]
    FinishMost,
    /// The one that is covered least: no test is neglected.
    Even,
    /// One after the other.
    RoundRobin,
}

impl Policy {
    pub const NAMES: [(&'static str, Policy); 3] = [
        ("finish-most", Policy::FinishMost),
        ("even", Policy::Even),
        ("round-robin", Policy::RoundRobin),
    ];

    /// As users spell it.
    pub fn name(self) -> &'static str {
        let named = Policy::NAMES.iter().find(|(_, other)| *other == self);
        named.expect("all are listed").0
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(text: &str) -> Result<Policy, String> {
        let named = Policy::NAMES.iter().find(|(name, _)| *name == text);
        named.map(|(_, policy)| *policy).ok_or_else(|| {
            let names = Policy::NAMES.map(|(name, _)| name).join(", ");
            format!("no policy is called `{text}`; there are {names}")
        })
    }
}

/// What is known of a test's future: natural logarithms, since some futures are longer than a floating-point number can tell.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Outlook {
    /// Of the seconds still to go.
    pub ln_seconds: f64,
    /// Of the part that is done.
    pub ln_covered: f64,
}

/// Estimates from few executions tell less than they think they do: so many, divided by their number, are doubted (natural logarithms)
/// beyond this part of what the estimate says itself. These and [`NEGLECT`] were found by trying on recorded searches.
const DOUBT: f64 = 50.0;
const UNSURE: f64 = 0.25;

/// Who is to neglect no test doubts so many times as much that one is covered already.
const NEGLECT: f64 = 3.0;

/// What has taken long will hardly be done in a moment, whatever is estimated: at least this part of the time so far is added. Or a test
/// that always seems to be nearly done would keep all others waiting.
const HABIT: f64 = 1.0;

impl Outlook {
    /// After so much time. What is doubtful is taken to be nearer to its turn: a wrong estimate that keeps a test waiting would never be
    /// corrected.
    pub fn new(estimate: &Estimate, elapsed: f64) -> Outlook {
        let done = estimate.done as f64;
        let elapsed = elapsed.max(f64::MIN_POSITIVE);
        let rate = elapsed.ln() - done.ln();
        let doubt = UNSURE * estimate.within.ln() + DOUBT / done;
        let (left, habit) = (estimate.ln_remaining() + rate, (HABIT * elapsed).ln());
        let (less, more) = (left.min(habit), left.max(habit));
        Outlook {
            ln_seconds: more + (less - more).exp().ln_1p() - doubt,
            ln_covered: estimate.ln_covered() - NEGLECT * doubt,
        }
    }
}

/// Tests that wait to go on.
#[derive(Debug)]
pub struct Queue {
    policy: Policy,
    waiting: BinaryHeap<Waiting>,
    /// Grows with every test that is put in.
    turn: u64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Waiting {
    /// The least goes first.
    key: f64,
    /// Of equals, the one that came first.
    turn: u64,
    test: usize,
}

impl Queue {
    /// An empty one.
    pub fn new(policy: Policy) -> Queue {
        Queue {
            policy,
            waiting: BinaryHeap::new(),
            turn: 0,
        }
    }

    /// Puts in a test with what is known of it, if anything is.
    pub fn push(&mut self, test: usize, outlook: Option<Outlook>) {
        let key = outlook.map_or(f64::NEG_INFINITY, |outlook| match self.policy {
            Policy::FinishMost => outlook.ln_seconds,
            Policy::Even => outlook.ln_covered,
            Policy::RoundRobin => 0.0,
        });
        self.turn += 1;
        let turn = self.turn;
        self.waiting.push(Waiting { key, turn, test });
    }

    /// Takes out the test that goes on next.
    pub fn pop(&mut self) -> Option<usize> {
        self.waiting.pop().map(|waiting| waiting.test)
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl Eq for Waiting {}

impl Ord for Waiting {
    /// The heap hands out the greatest.
    fn cmp(&self, other: &Waiting) -> Ordering {
        let key = other.key.total_cmp(&self.key);
        key.then(other.turn.cmp(&self.turn))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(policy: Policy) -> Vec<usize> {
        let mut queue = Queue::new(policy);
        let known = |seconds: f64, covered: f64| {
            Some(Outlook {
                ln_seconds: seconds.ln(),
                ln_covered: covered.ln(),
            })
        };
        let outlooks = [
            known(5.0, 0.9),
            known(3.0, 0.2),
            None,
            known(f64::INFINITY, 1e-300),
            None,
            known(3.0, 0.2),
            known(0.0, 1.0),
        ];
        for (test, outlook) in outlooks.into_iter().enumerate() {
            queue.push(test, outlook);
        }
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn unknown_tests_go_first_and_then_the_policy_decides() {
        assert_eq!(order(Policy::FinishMost), [2, 4, 6, 1, 5, 0, 3]);
        assert_eq!(order(Policy::Even), [2, 4, 3, 1, 5, 0, 6]);
        assert_eq!(order(Policy::RoundRobin), [2, 4, 0, 1, 3, 5, 6]);
    }

    #[test]
    fn policies_go_by_their_names() {
        for (name, policy) in Policy::NAMES {
            assert_eq!((policy.name(), name.parse()), (name, Ok(policy)));
        }
        assert!("fair".parse::<Policy>().is_err());
    }
}
