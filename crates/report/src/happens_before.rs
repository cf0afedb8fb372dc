//! What comes before what in a trace: the edges between threads, and which steps a failure can depend on.
//!
//! *Called by:* everything that leaves steps out or draws arrows. The edges are the model's: two touches of an object that do not commute, and
//! the step that an event names itself (who notified, who sent, who was joined). Where the model cannot follow a trace there are none.

use crate::{trace::Trace, walk::Walked};
use reweave_model::{Access, Class};
use std::collections::BTreeSet;

/// Touches of an object that are looked back at: beyond that the nearer ones have an order with the further ones, or nearly always.
const BACK: usize = 64;

/// One step comes before another one, of another thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Arrow {
    pub from: usize,
    pub to: usize,
    pub why: Why,
}

/// What an arrow stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Why {
    /// What the first wrote, the second read.
    ReadsFrom,
    /// The first gave or took a lock before the second did.
    Lock,
    /// The first woke, sent to or was awaited by the second.
    Wakes,
    /// Their order matters in another way, as of a read before a write.
    Before,
}

impl Why {
    /// As pictures spell it.
    pub fn name(self) -> &'static str {
        match self {
            Why::ReadsFrom => "reads-from",
            Why::Lock => "lock",
            Why::Wakes => "wakes",
            Why::Before => "before",
        }
    }
}

/// All arrows of a trace, by where they point to.
pub(crate) fn arrows(trace: &Trace, walked: &Walked) -> Vec<Arrow> {
    let mut arrows = BTreeSet::new();
    let mut touches: Vec<Vec<(usize, Access)>> = vec![Vec::new(); trace.objects.len()];
    for (to, event) in trace.events.iter().enumerate() {
        if let Some(from) = walked.after(event.after).filter(|from| *from < to) {
            let why = Why::Wakes;
            arrows.insert(Arrow { from, to, why });
        }
        for access in walked.touched.get(to).into_iter().flatten().flatten() {
            let earlier = &mut touches[access.object.index()];
            for (from, other) in earlier.iter().rev().take(BACK) {
                let cross = trace.events[*from].thread != event.thread;
                if cross && access.conflicts(*other) {
                    let why = reason(trace, (*from, *other), (to, *access));
                    let from = *from;
                    arrows.insert(Arrow { from, to, why });
                }
                if other.class == Class::Write {
                    // What is before that is before it.
                    break;
                }
            }
            earlier.push((to, *access));
        }
    }
    let mut arrows: Vec<Arrow> = arrows.into_iter().collect();
    arrows.sort_by_key(|arrow| (arrow.to, arrow.from));
    arrows
}

fn reason(trace: &Trace, from: (usize, Access), to: (usize, Access)) -> Why {
    use crate::trace::ObjectState::{Atomic, Mutex, Rwlock};
    let reads = !matches!(&*trace.events[to.0].operation.name, "store" | "wait-if");
    match &trace.objects[to.1.object.index()].state {
        Mutex { .. } | Rwlock { .. } => Why::Lock,
        Atomic { .. } if from.1.class == Class::Write && reads => Why::ReadsFrom,
        _ => Why::Before,
    }
}

/// The steps that the given ones can depend on: of all that come before them, those in which threads meet.
pub(crate) fn matter(
    trace: &Trace,
    walked: &Walked,
    arrows: &[Arrow],
    last: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let past = past(trace, walked, arrows, last);
    let mut matter = last.clone();
    for arrow in arrows.iter().filter(|arrow| past[arrow.to]) {
        matter.insert(arrow.to);
        // What a thread did last is not what others wait for when they wait for its end.
        if trace.events[arrow.to].operation.name != "join" {
            matter.insert(arrow.from);
        }
    }
    matter.extend(changes(trace, walked, &past));
    matter.extend(unnoticed(trace));
    matter.extend(partners(trace, &past, &matter));
    matter
}

/// Steps with the locks of those who wait for a notification at the end: what was changed then without one.
fn unnoticed(trace: &Trace) -> Vec<usize> {
    let waiting = (0..).zip(&trace.threads).filter(|(_, thread)| {
        let pending = thread.pending.as_ref();
        pending.is_some_and(|it| it.operation.name == "wake")
    });
    let locks: BTreeSet<u32> = waiting
        .filter_map(|(thread, _)| {
            let own = trace.events.iter().filter(|it| it.thread == thread);
            own.filter_map(|event| event.operation.mutex).next_back()
        })
        .collect();
    let meets = |step: &usize| {
        let object = trace.events[*step].operation.object;
        object.is_some_and(|object| locks.contains(&object))
    };
    (0..trace.events.len()).filter(meets).collect()
}

/// What was done to atomics and semaphores that several threads touch, also where the same thread went on with it: a value that came
/// back is seen by nobody else.
fn changes(trace: &Trace, walked: &Walked, past: &[bool]) -> Vec<usize> {
    use crate::trace::ObjectState::{Atomic, Semaphore};
    let mut threads = vec![BTreeSet::new(); trace.objects.len()];
    let mut changes = Vec::new();
    for (step, touched) in walked
        .touched
        .iter()
        .enumerate()
        .filter(|(step, _)| past[*step])
    {
        for access in touched.iter().flatten() {
            threads[access.object.index()].insert(trace.events[step].thread);
            let state = &trace.objects[access.object.index()].state;
            let counts = matches!(state, Atomic { .. } | Semaphore { .. });
            if counts && access.class != Class::Read {
                changes.push((step, access.object.index()));
            }
        }
    }
    let shared = changes
        .into_iter()
        .filter(|(_, object)| threads[*object].len() > 1);
    shared.map(|(step, _)| step).collect()
}

/// Which events happen before these, or are these.
fn past(trace: &Trace, walked: &Walked, arrows: &[Arrow], last: &BTreeSet<usize>) -> Vec<bool> {
    let mut past = vec![false; trace.events.len()];
    let mut nth = vec![0; trace.events.len()];
    for steps in &walked.steps {
        for (index, step) in steps.iter().enumerate() {
            nth[*step] = index;
        }
    }
    let mut arrows = arrows.iter().rev().peekable();
    for step in (0..trace.events.len()).rev() {
        past[step] |= last.contains(&step);
        let thread = trace.events[step].thread as usize;
        while let Some(arrow) = arrows.next_if(|arrow| arrow.to == step) {
            past[arrow.from] |= past[step];
        }
        if !past[step] {
            continue;
        }
        let entry = &trace.threads[thread];
        let before = match nth[step] {
            0 if thread == 0 => None,
            0 => walked.after(Some((entry.parent, entry.born_after))),
            nth => Some(walked.steps[thread][nth - 1]),
        };
        if let Some(before) = before.filter(|before| *before < step) {
            past[before] = true;
        }
    }
    past
}

/// For steps that take or give back a lock, the other half: one without the other is a riddle.
fn partners(trace: &Trace, past: &[bool], matter: &BTreeSet<usize>) -> Vec<usize> {
    let halves = |name: &str| match name {
        "lock" | "try-lock" | "read-lock" | "write-lock" | "try-read-lock" | "try-write-lock" => 1,
        "unlock" | "unlock-clean" | "read-unlock" | "write-unlock" => -1,
        _ => 0,
    };
    let mut open = std::collections::BTreeMap::new();
    let mut partners = Vec::new();
    for (step, event) in trace.events.iter().enumerate() {
        let key = (event.thread, event.operation.object);
        match halves(&event.operation.name) {
            1 if event.ok => {
                open.insert(key, step);
            }
            -1 => {
                let Some(taken) = open.remove(&key) else {
                    continue;
                };
                if matter.contains(&step) {
                    partners.push(taken);
                } else if matter.contains(&taken) && past[step] {
                    partners.push(step);
                }
            }
            _ => {}
        }
    }
    partners
}
