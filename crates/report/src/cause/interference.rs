//! Assertions, crashes and the like: what other threads did between two steps of the one that failed.

use super::{Cause, step};
use crate::{
    happens_before::{Arrow, arrows},
    text::Story,
    trace::{Failure, ObjectState},
};
use reweave_model::{Class, Kind, Op};

/// A failure that needs no other thread.
pub(super) fn alone(story: &Story<'_>, error: &Failure) -> Option<Cause> {
    let trace = story.trace;
    let (thread, count) = error.after?;
    let who = story.thread(thread);
    let needless = "no interleaving is needed.";
    if trace.threads.len() == 1 {
        let text = format!("{who} is the only thread: {needless}");
        return Some(Cause::new(text, []));
    }
    if matches!(error.kind, Kind::DataRace) || error.accesses.iter().any(|it| it.thread != thread) {
        return None;
    }
    // What the thread did up to there, and those that created it before they did.
    let mut past = Vec::new();
    let (mut at, mut upto) = (thread, count);
    loop {
        past.extend(story.walked.steps[at as usize].iter().take(upto as usize));
        if at == 0 {
            break;
        }
        let entry = &trace.threads[at as usize];
        (at, upto) = (entry.parent, entry.born_after);
    }
    let touched = |index: usize| story.walked.touched[index].iter().flatten();
    let conflicts = |mine: usize| {
        (0..trace.events.len()).any(|other| {
            !past.contains(&other)
                && trace.events[other].thread != trace.events[mine].thread
                && touched(other).any(|theirs| {
                    touched(mine).any(|own| own.object == theirs.object && own.conflicts(*theirs))
                })
        })
    };
    // Plain memory: another thread that ran before it may have left something behind, ordered by a join.
    let follows = past
        .iter()
        .any(|index| trace.events[*index].after.is_some());
    let waits = |index: &usize| trace.events[*index].operation.object.is_some();
    let others = trace.threads.iter().enumerate().any(|(index, other)| {
        let pending = other.pending.as_ref().and_then(|it| it.operation.object);
        index as u32 != thread
            && pending.is_some_and(|object| {
                past.iter()
                    .any(|own| trace.events[*own].operation.object == Some(object))
            })
    });
    let meets = past
        .iter()
        .filter(|index| waits(index))
        .any(|index| conflicts(*index));
    if follows || others || meets {
        return None;
    }
    let text = format!("Nothing that {who} had done by then depends on another thread: {needless}");
    Some(Cause::new(text, []))
}

/// Steps of one thread between which another one came.
struct Between {
    before: usize,
    by: usize,
    after: usize,
}

pub(super) fn cause(story: &Story<'_>, error: &Failure) -> Option<Cause> {
    let (thread, count) = error.after?;
    let own = &story.walked.steps[thread as usize];
    let own = &own[..own.len().min(count as usize)];
    let moment = moment(story, own, error);
    woken(story, thread, own)
        .or_else(|| overwritten(story, moment))
        .or_else(|| stale(story, thread, own, moment))
        .or_else(|| sections(story, thread, own))
        .or_else(|| joined(story, own))
        .or_else(|| changed(story, thread, own))
        .or_else(|| early(story, thread, own))
        .or_else(|| late(story, thread, own))
}

/// The thread failed over what others had done that it joined: one of them went on with something old.
fn joined(story: &Story<'_>, own: &[usize]) -> Option<Cause> {
    let ended = own
        .iter()
        .filter_map(|step| story.trace.events[*step].operation.of);
    ended.into_iter().find_map(|thread| {
        let steps = story.walked.steps.get(thread as usize)?;
        let moment = *steps.last()?;
        let old = sections(story, thread, steps);
        old.or_else(|| stale(story, thread, steps, moment))
    })
}

/// After which event the failure came.
fn moment(story: &Story<'_>, own: &[usize], error: &Failure) -> usize {
    let last = own.last().copied();
    last.or_else(|| {
        let entry = story.trace.threads.get(error.after?.0 as usize)?;
        story.walked.after(Some((entry.parent, entry.born_after)))
    })
    .unwrap_or(0)
}

/// Another thread took the lock between a notification and the wake that it caused.
fn woken(story: &Story<'_>, thread: u32, own: &[usize]) -> Option<Cause> {
    let trace = story.trace;
    let wake = own
        .iter()
        .rev()
        .copied()
        .find(|step| trace.events[*step].operation.name == "wake")?;
    // What it did since then with other locks would be another story.
    if own.iter().filter(|step| **step > wake).count() > 4 {
        return None;
    }
    let notify = story.walked.after(trace.events[wake].after);
    let (who, what) = (
        story.thread(thread),
        trace.object_name(trace.events[wake].operation.object?),
    );
    let Some(notify) = notify else {
        let text = format!(
            "The wait of {who} for {what} ended without a notification ({}), and it went on as if there had been one.",
            step(wake)
        );
        return Some(Cause::new(text, [wake]));
    };
    let again = own
        .iter()
        .copied()
        .find(|step| *step > wake && trace.events[*step].operation.name == "lock");
    let again = again?;
    let lock = trace.events[again].operation.object?;
    let took = (notify + 1..again).find(|index| {
        let event = &trace.events[*index];
        event.ok
            && event.thread != thread
            && event.thread != trace.events[notify].thread
            && event.operation.object == Some(lock)
            && matches!(&*event.operation.name, "lock" | "try-lock")
    })?;
    let (other, lock) = (
        story.thread(trace.events[took].thread),
        trace.object_name(lock),
    );
    let notifier = story.thread(trace.events[notify].thread);
    let text = format!(
        "{other} took {lock} ({}) between the notify of {what} by {notifier} ({}) and {who}'s return from its wait ({}): what {who} was woken for was gone.",
        step(took),
        step(notify),
        step(again)
    );
    Some(Cause::new(text, [notify, took, wake, again]))
}

/// A change that was lost: a thread wrote what it had made of a value that another one had changed meanwhile.
fn overwritten(story: &Story<'_>, moment: usize) -> Option<Cause> {
    let trace = story.trace;
    let is = |index: usize, name: &str, thread: u32, object: u32| {
        let event = &trace.events[index];
        let operation = &event.operation;
        operation.name == name && event.thread == thread && operation.object == Some(object)
    };
    (0..=moment.min(trace.events.len().checked_sub(1)?)).rev().find_map(|after| {
        let event = &trace.events[after];
        let (thread, object) = (event.thread, event.operation.object?);
        if event.operation.name != "store" || !atomic(story, object) {
            return None;
        }
        let before = (0..after).rev().find(|index| is(*index, "load", thread, object))?;
        // The last thing that it did with it: a loop looks often.
        let again = (before + 1..after).any(|index| is(index, "store", thread, object));
        let by = (before + 1..after).find(|index| {
            trace.events[*index].thread != thread
                && trace.events[*index].operation.object == Some(object)
                && writes(story, *index, object)
        });
        let by = by.filter(|_| !again)?;
        let (who, other) = (story.thread(thread), story.thread(trace.events[by].thread));
        let name = trace.object_name(object);
        let saw = story.value(object, trace.events[before].result);
        let text = format!(
            "{who} read {name} as {saw} ({}), {other} changed it ({}), and {who} wrote over that ({}): a change was lost.",
            step(before),
            step(by),
            step(after)
        );
        Some(Cause::new(text, [before, by, after]))
    })
}

/// A value that the thread read was overwritten before it used it.
fn stale(story: &Story<'_>, thread: u32, own: &[usize], moment: usize) -> Option<Cause> {
    let trace = story.trace;
    let between = own.iter().rev().find_map(|before| {
        let event = &trace.events[*before];
        let object = event.operation.object?;
        let atomic = matches!(
            trace.objects[object as usize].state,
            ObjectState::Atomic { .. }
        );
        if event.operation.name != "load" || !atomic {
            return None;
        }
        let mut changes = (*before + 1..moment).filter(|index| {
            let other = &trace.events[*index];
            other.ok && other.operation.object == Some(object) && writes(story, *index, object)
        });
        // What the thread changed itself is no longer the old value.
        let by = changes
            .next()
            .filter(|index| trace.events[*index].thread != thread)?;
        let after = own.iter().copied().find(|step| *step > by)?;
        let before = *before;
        Some(Between { before, by, after })
    })?;
    let Between { before, by, after } = between;
    let object = trace.events[before].operation.object?;
    let (who, other) = (story.thread(thread), story.thread(trace.events[by].thread));
    let name = trace.object_name(object);
    let saw = story.value(object, trace.events[before].result);
    let text = format!(
        "{who} read {name} as {saw} ({}), then {other} changed it ({}) before {who} went on with the old value ({}).",
        step(before),
        step(by),
        step(after)
    );
    Some(Cause::new(text, [before, by, after]))
}

fn writes(story: &Story<'_>, index: usize, object: u32) -> bool {
    let touched = story.walked.touched[index].iter().flatten();
    let mut touched = touched.filter(|access| access.object.0 == object);
    touched.any(|access| access.class != Class::Read)
}

/// Operations that take a lock, and that give it back.
const TAKES: [&str; 6] = [
    "lock",
    "try-lock",
    "read-lock",
    "write-lock",
    "try-read-lock",
    "try-write-lock",
];
const GIVES: [&str; 4] = ["unlock", "unlock-clean", "read-unlock", "write-unlock"];

fn named(story: &Story<'_>, index: usize, names: &[&str]) -> bool {
    let event = &story.trace.events[index];
    event.ok && names.contains(&&*event.operation.name)
}

/// Steps in which atomics that are used as locks are taken and given back.
#[derive(Default)]
struct SpinLocks {
    takes: Vec<usize>,
    gives: Vec<usize>,
}

/// An atomic is used as a lock if nothing but this happens to it: a thread exchanges 0 for something, and stores 0.
fn spin_locks(story: &Story<'_>) -> SpinLocks {
    let trace = story.trace;
    let mut all = SpinLocks::default();
    for object in (0..trace.objects.len() as u32).filter(|object| atomic(story, *object)) {
        let mut own = SpinLocks::default();
        let mut holder = None;
        let mut changes = (0..trace.events.len()).filter(|index| {
            let event = &trace.events[*index];
            event.operation.object == Some(object) && event.ok && writes(story, *index, object)
        });
        let locks = changes.all(|index| {
            let event = &trace.events[index];
            let zero = match event.operation.to_op() {
                Some(Op::Store(_, new) | Op::CompareExchange { new, .. }) => new == 0,
                Some(Op::Rmw(_, rmw)) => rmw.apply(event.result) == 0,
                _ => false,
            };
            match (&*event.operation.name, holder) {
                // How it is set up.
                ("store", None) => zero,
                ("store", Some(thread)) => {
                    holder = None;
                    own.gives.push(index);
                    zero && thread == event.thread
                }
                (_, Some(_)) => event.result != 0,
                (_, None) => {
                    holder = Some(event.thread);
                    own.takes.push(index);
                    event.result == 0 && !zero
                }
            }
        });
        if locks && !own.gives.is_empty() {
            all.takes.extend(own.takes);
            all.gives.extend(own.gives);
        }
    }
    all
}

/// Another thread held the lock between two sections of the thread that failed.
fn sections(story: &Story<'_>, thread: u32, own: &[usize]) -> Option<Cause> {
    let trace = story.trace;
    let spun = spin_locks(story);
    let takes = |index: usize| spun.takes.contains(&index) || named(story, index, &TAKES);
    let gives = |index: usize| spun.gives.contains(&index) || named(story, index, &GIVES);
    let second = own.iter().rev().copied().find(|step| takes(*step))?;
    let lock = trace.events[second].operation.object?;
    let same = |index: usize| trace.events[index].operation.object == Some(lock);
    let mut before = own.iter().rev().copied().filter(|step| *step < second);
    let given = before.find(|step| same(*step) && gives(*step))?;
    let by = (given + 1..second)
        .rev()
        .find(|index| trace.events[*index].thread != thread && same(*index) && takes(*index))?;
    let (who, other) = (story.thread(thread), story.thread(trace.events[by].thread));
    let name = trace.object_name(lock);
    let text = format!(
        "{other} held {name} ({}) after {who} had given it up ({}) and before {who} took it again ({}): what {who} had found out was no longer true.",
        step(by),
        step(given),
        step(second)
    );
    Some(Cause::new(text, [given, by, second]))
}

/// The last two steps of the thread on one object, with a change by another thread between them.
fn changed(story: &Story<'_>, thread: u32, own: &[usize]) -> Option<Cause> {
    let trace = story.trace;
    let after = own.iter().rev().copied().find(|step| {
        trace.events[*step]
            .operation
            .object
            .is_some_and(|object| atomic(story, object))
    })?;
    let object = trace.events[after].operation.object?;
    let by = (0..after).rev().find(|index| {
        let event = &trace.events[*index];
        event.ok
            && event.thread != thread
            && event.operation.object == Some(object)
            && writes(story, *index, object)
    })?;
    let own_write = own.iter().rev().copied().find(|step| {
        *step < after
            && trace.events[*step].operation.object == Some(object)
            && writes(story, *step, object)
    });
    if own_write.is_some_and(|own| own > by) {
        return None;
    }
    let (who, other) = (story.thread(thread), story.thread(trace.events[by].thread));
    let name = trace.object_name(object);
    let (text, before) = match own_write {
        Some(before) => (
            format!(
                "{other} changed {name} ({}) between {who}'s own change ({}) and its next look at it ({}).",
                step(by),
                step(before),
                step(after)
            ),
            Some(before),
        ),
        None => (
            format!(
                "{who} comes to {name} ({}) after {other} has changed it ({}).",
                step(after),
                step(by)
            ),
            None,
        ),
    };
    Some(Cause::new(text, before.into_iter().chain([by, after])))
}

fn atomic(story: &Story<'_>, object: u32) -> bool {
    let state = &story.trace.objects[object as usize].state;
    matches!(state, ObjectState::Atomic { .. }) && story.has_value(reweave_model::ObjectId(object))
}

/// The thread looked before another one had written.
fn early(story: &Story<'_>, thread: u32, own: &[usize]) -> Option<Cause> {
    let trace = story.trace;
    let arrows = arrows(trace, &story.walked);
    let found = own.iter().rev().find_map(|before| {
        let object = trace.events[*before].operation.object?;
        let mut later = arrows.iter().filter(|arrow: &&Arrow| {
            arrow.from == *before && trace.events[arrow.to].thread != thread
        });
        let later = later.find(|arrow| {
            trace.events[arrow.to].operation.object == Some(object) && !own.contains(&arrow.to)
        })?;
        (atomic(story, object) && trace.events[*before].operation.name == "load")
            .then_some((*before, later.to, object))
    });
    let (before, later, object) = found?;
    let (who, other) = (
        story.thread(thread),
        story.thread(trace.events[later].thread),
    );
    let name = trace.object_name(object);
    let saw = story.value(object, trace.events[before].result);
    let text = format!(
        "{who} read {name} as {saw} ({}) before {other} changed it ({}): nothing makes {who} wait for that.",
        step(before),
        step(later)
    );
    Some(Cause::new(text, [before, later]))
}

/// The thread came to a lock before, or after, another one.
fn late(story: &Story<'_>, thread: u32, own: &[usize]) -> Option<Cause> {
    let trace = story.trace;
    let takes = ["lock", "read-lock", "write-lock", "acquire"];
    let last = own
        .iter()
        .rev()
        .copied()
        .find(|step| takes.contains(&&*trace.events[*step].operation.name))?;
    let object = trace.events[last].operation.object?;
    let same = |index: &usize| {
        let event = &trace.events[*index];
        event.thread != thread
            && event.operation.object == Some(object)
            && takes.contains(&&*event.operation.name)
    };
    let (who, name) = (story.thread(thread), trace.object_name(object));
    if let Some(before) = (0..last).rev().find(same) {
        let other = story.thread(trace.events[before].thread);
        let text = format!(
            "{other} had {name} ({}) before {who} took it ({}): {who} found what {other} left.",
            step(before),
            step(last)
        );
        return Some(Cause::new(text, [before, last]));
    }
    let after = (last + 1..trace.events.len()).find(same)?;
    let other = story.thread(trace.events[after].thread);
    let text = format!(
        "{who} took {name} ({}) before {other} did ({}): nothing makes it wait for {other}.",
        step(last),
        step(after)
    );
    Some(Cause::new(text, [last, after]))
}

/// A thread that had slept went on before another one did what the sleep was to wait for.
pub(super) fn outrun(story: &Story<'_>, _error: &Failure) -> Option<(String, Vec<usize>)> {
    let trace = story.trace;
    let arrows = arrows(trace, &story.walked);
    let found = trace.sleeps.iter().find_map(|sleep| {
        let steps = &story.walked.steps[sleep.thread as usize];
        let after = steps.get(sleep.after as usize..)?;
        // A step after the sleep, before which a step of a thread that was there all the time could have come.
        let arrow = arrows.iter().find(|arrow| after.contains(&arrow.from))?;
        Some((sleep, *arrow))
    });
    let (sleep, arrow) = found?;
    let (who, other) = (
        story.thread(sleep.thread),
        story.thread(trace.events[arrow.to].thread),
    );
    let at = sleep
        .at
        .as_ref()
        .map_or_else(String::new, |at| format!(" at {at}"));
    let text = format!(
        "It depends on the sleep of {who}{at} being outrun: {other} takes longer than that to come to {}.",
        step(arrow.to)
    );
    Some((text, vec![arrow.from, arrow.to]))
}
