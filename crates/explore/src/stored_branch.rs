//! Branches as plain data, in few bytes: searches by `dfs` hold hundreds of them for each execution, and pieces travel.
//!
//! *Decides:* how a branch is written: rows of numbers without names. *Called by:* `fragment`. *Owns:* nothing. *Invariant:* what is written is
//! read as it was.

use crate::algorithm::StoredPayload;
use reweave_estimate::Place;
use reweave_model::{Choice, Mark, OpKind, Plan, Policy, Site, Step, ThreadId};
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use std::fmt;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct StoredBranch {
    /// Steps that it begins with, as the branch before it does: neighbours have most of them in common.
    pub same: usize,
    /// How it goes on.
    pub plan: Plan,
    pub payload: StoredPayload,
    pub place: Place,
    pub again: bool,
}

/// Thread, outcome, kind, site, and the rest of a step, where it says more than usual.
type StepRow = (u32, u16, u8, u32, Option<(Option<bool>, Mark)>);

/// Weight, position, siblings, rank, later, generation, parent, and the rest.
type PlaceRow = (f64, [u32; 5], [u32; 3], u32, f32, u32);

type Row = (
    usize,
    Vec<StepRow>,
    Vec<(u32, u16)>,
    Policy,
    u32,
    (Vec<u64>, Vec<u32>),
    PlaceRow,
    bool,
);

fn step_row(step: &Step) -> StepRow {
    let Step {
        choice,
        kind,
        site,
        ok,
        mark,
    } = *step;
    let more = (ok.is_some() || mark != Mark::Default).then_some((ok, mark));
    (choice.thread.0, choice.outcome, kind.0, site.0, more)
}

fn step((thread, outcome, kind, site, more): StepRow) -> Step {
    let (ok, mark) = more.unwrap_or_default();
    Step {
        choice: Choice {
            thread: ThreadId(thread),
            outcome,
        },
        kind: OpKind(kind),
        site: Site(site),
        ok,
        mark,
    }
}

impl Serialize for StoredBranch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Plan {
            steps,
            sleep,
            policy,
            max_steps,
        } = &self.plan;
        let place = &self.place;
        let row: Row = (
            self.same,
            steps.iter().map(step_row).collect(),
            sleep.iter().map(|it| (it.thread.0, it.outcome)).collect(),
            *policy,
            *max_steps,
            (self.payload.numbers.clone(), self.payload.nodes.clone()),
            (
                place.weight,
                [
                    place.position,
                    place.siblings,
                    place.rank,
                    place.later,
                    place.generation,
                ],
                place.parent,
                place.above,
                place.expected,
                place.asked,
            ),
            self.again,
        );
        row.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for StoredBranch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StoredBranch, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a row.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = StoredBranch;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a branch")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, row: A) -> Result<StoredBranch, A::Error> {
        Row::deserialize(SeqAccessDeserializer::new(row)).map(StoredBranch::of)
    }

    /// Of an earlier version: the fragment around it is refused for that, or this one because it begins with steps that there are not.
    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<StoredBranch, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(StoredBranch {
            same: usize::MAX,
            plan: Plan::default(),
            payload: StoredPayload::default(),
            place: Place::default(),
            again: false,
        })
    }
}

impl StoredBranch {
    fn of(row: Row) -> StoredBranch {
        let (same, steps, sleep, policy, max_steps, (numbers, nodes), place, again) = row;
        let choice = |(thread, outcome)| Choice {
            thread: ThreadId(thread),
            outcome,
        };
        let (weight, [position, siblings, rank, later, generation], parent, above, expected, asked) =
            place;
        StoredBranch {
            same,
            plan: Plan {
                steps: steps.into_iter().map(step).collect(),
                sleep: sleep.into_iter().map(choice).collect(),
                policy,
                max_steps,
            },
            payload: StoredPayload { numbers, nodes },
            place: Place {
                weight,
                position,
                siblings,
                rank,
                later,
                generation,
                parent,
                above,
                expected,
                asked,
            },
            again,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn branch(numbers: &[u32]) -> StoredBranch {
        let at = |index: usize| numbers[index % numbers.len()];
        let step = |index: usize| Step {
            choice: Choice {
                thread: ThreadId(at(index)),
                outcome: at(index + 1) as u16,
            },
            kind: OpKind(at(index + 2) as u8),
            site: Site(at(index + 3)),
            ok: [None, Some(false), Some(true)][at(index + 4) as usize % 3],
            mark: [
                Mark::Default,
                Mark::Leads,
                Mark::Overtakes(ThreadId(at(index))),
                Mark::Reads(at(index + 5)),
            ][at(index + 6) as usize % 4],
        };
        let policies = [
            Policy::First,
            Policy::Loops,
            Policy::Random(u64::MAX),
            Policy::Pct {
                seed: 7,
                changes: at(0),
                steps: 3,
            },
        ];
        StoredBranch {
            same: at(0) as usize,
            plan: Plan {
                steps: (0..numbers.len() % 9).map(step).collect(),
                sleep: (0..numbers.len() % 3).map(|it| step(it).choice).collect(),
                policy: policies[at(3) as usize % 4],
                max_steps: at(4),
            },
            payload: StoredPayload {
                numbers: vec![u64::MAX, u64::from(at(1))],
                nodes: numbers[1..].to_vec(),
            },
            place: Place {
                weight: -f64::from(at(2)) / 8.0,
                position: at(3),
                siblings: at(4),
                rank: at(5),
                later: at(6),
                generation: at(7),
                parent: [at(0), at(1), at(2)],
                above: at(8),
                expected: (at(1) % 1000) as f32 / 4.0,
                asked: at(9),
            },
            again: at(5) % 2 == 1,
        }
    }

    proptest! {
        #[test]
        fn branches_round_trip(numbers in proptest::collection::vec(any::<u32>(), 1..30)) {
            let branch = branch(&numbers);
            let text = serde_json::to_string(&branch).unwrap();
            prop_assert_eq!(serde_json::from_str::<StoredBranch>(&text).unwrap(), branch);
        }
    }

    /// One choice beyond the branch before it: what most branches of `dfs` are.
    #[test]
    fn a_branch_is_short() {
        let mut branch = branch(&[80, 2, 3]);
        branch.plan.steps.truncate(1);
        branch.plan.steps[0].mark = Mark::Default;
        let text = serde_json::to_string(&branch).unwrap();
        assert!(text.len() < 200, "{} bytes: {text}", text.len());
    }
}
