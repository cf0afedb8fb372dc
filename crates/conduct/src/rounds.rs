//! Rounds of loops that change nothing, under [`Policy::Loops`].
//!
//! A thread that is back at an operation, with the same registers, stack and memory written as before, has gone through a round without
//! effect. Where the round was not planned it is *taken back*: its events leave the execution, and the thread is where it was before. It
//! waits until another thread writes to something that the round read, since until then the next round is the same. So the execution holds
//! the round that leaves the loop and no other. Only rounds that read atomics are taken back. A read-modify-write that leaves the value as it
//! was, such as the failed test-and-set of a lock, counts as a read there.
//!
//! A round that a plan asks for stays, and its thread is stopped: other values were to be read there, and these do not leave the loop.
//! Such an execution repeats another one; it is run for what it shows of the other threads.
//!
//! *Called by:* targets, when [`Polls::again`](crate::parking::Polls::again) finds a round. *Owns:* which threads wait, and for what.

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{
    Attempt, Choice, Class, Edge, Event, Gate, HOLD_ANY, ObjectId, Op, Policy, ThreadId,
};

/// Threads whose last round changed nothing.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    waiting: Vec<Waiting>,
    /// The clocks of threads at the beginnings of their rounds.
    times: Vec<(Edge, u64)>,
    /// The sleepers of the plan are held.
    begun: bool,
    /// Threads that went on because the thread of the last event wrote what was there before, and after how many events.
    woken: Vec<(usize, Waiting)>,
}

#[derive(Debug)]
struct Waiting {
    thread: ThreadId,
    /// What the round read; nothing if the thread was stopped.
    objects: Vec<ObjectId>,
    /// The plan asks for it.
    held: bool,
    /// Any write ends it.
    any: bool,
}

impl Rounds {
    /// A new run.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
        self.times.clear();
        self.begun = false;
        self.woken.clear();
    }

    /// Whether a thread waits that could have left its loop.
    pub(crate) fn hold_back(&self) -> bool {
        self.waiting.iter().any(|it| it.held)
    }

    /// Whether a thread waits.
    #[inline]
    pub(crate) fn hold(&self, thread: ThreadId) -> bool {
        !self.waiting.is_empty() && self.waiting.iter().any(|it| it.thread == thread)
    }

    /// Whether some thread does.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// After an event, the one at this place.
    pub(crate) fn notice(&mut self, event: &Event, place: usize) {
        let mut touches = event.access.into_iter().flatten();
        let written = touches.find(|access| access.class == Class::Write);
        let written = written.map(|access| access.object);
        let goes_on = |it: &mut Waiting| {
            let wakes = written.is_some_and(|object| it.any || it.objects.contains(&object));
            it.thread == event.thread || wakes
        };
        let woken = self.waiting.extract_if(.., goes_on);
        match event.leaves_value() {
            true => self.woken.extend(woken.map(|it| (place, it))),
            false => woken.for_each(drop),
        }
    }

    /// The events from a place on are taken back, and so is what they did to threads that wait.
    fn take_back(&mut self, thread: ThreadId, place: usize) {
        let woken = self.woken.extract_if(.., |(at, _)| *at >= place);
        let others = woken.map(|(_, it)| it).filter(|it| it.thread != thread);
        self.waiting.extend(others);
    }
}

/// What became of a round that changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round {
    /// Its events are none any more.
    TakenBack,
    /// It was planned: its thread goes no further.
    Stopped,
    /// It did more than look at atomics.
    Stays,
}

/// Whether an event only looked at an atomic, or wrote there what it found.
fn looks(event: &Event) -> bool {
    if event.leaves_value() {
        return event.gate == Gate::Open;
    }
    let read = event.access[0].is_some_and(|access| access.class == Class::Read);
    let plain = match event.op {
        Op::Load(_) => true,
        Op::CompareExchange { .. } => !event.ok && event.outcome == 0,
        _ => false,
    };
    read && plain && event.gate == Gate::Open
}

impl Run {
    /// Whether rounds that change nothing are taken back.
    #[inline]
    pub fn takes_back(&self) -> bool {
        self.plan.policy == Policy::Loops
    }

    /// A thread comes to an operation that may turn out to be the first of a round.
    pub fn round_may_begin(&mut self, thread: ThreadId) {
        if self.time.used() {
            let (moment, now) = (self.moment(thread), self.time_ns(thread));
            self.rounds.times.push((moment, now));
        }
    }

    /// Whether the last so many events of a thread only looked at atomics.
    pub fn only_looked(&self, thread: ThreadId, count: usize) -> bool {
        let events = self.execution.events.iter().rev();
        let mine = events.filter(|event| event.thread == thread).take(count);
        count > 0 && mine.filter(|event| looks(event)).count() == count
    }

    /// The last so many events of a thread are a round that changed nothing. Says what became of them.
    pub fn take_back(&mut self, thread: ThreadId, count: usize) -> Round {
        if !self.only_looked(thread, count) {
            return Round::Stays;
        }
        let events = &self.execution.events;
        let place = events.len() - count;
        let together = events[place..].iter().all(|event| event.thread == thread);
        let done = self.state.count(thread);
        let since = Edge {
            thread,
            count: done - count as u32,
        };
        if !together || place < self.plan.steps.len() {
            self.execution.stopped.push(since);
            self.wait(thread, Vec::new());
            return Round::Stopped;
        }
        let events: Vec<Event> = self.execution.events.drain(place..).collect();
        self.rounds.take_back(thread, place);
        let objects = events.iter().filter_map(|event| event.op.object());
        self.wait(thread, objects.collect());
        self.execution.attempts.push(Attempt {
            since,
            place: place as u32,
            events,
        });
        self.state.take_back(thread, count as u32);
        let mut times = self.rounds.times.iter().rev();
        if let Some(&(_, now)) = times.find(|(moment, _)| *moment == since) {
            self.time.take_back(since, now);
        }
        Round::TakenBack
    }

    fn wait(&mut self, thread: ThreadId, objects: Vec<ObjectId>) {
        self.rounds.waiting.push(Waiting {
            thread,
            objects,
            held: false,
            any: false,
        });
    }

    /// The sleepers of the plan do not go on before something is written that they read: what they have come to or, where the outcome is
    /// [`HOLD_ANY`], anything.
    pub(crate) fn hold_sleepers(&mut self) {
        if core::mem::replace(&mut self.rounds.begun, true) {
            return;
        }
        for index in 0..self.plan.sleep.len() {
            let Choice { thread, outcome } = self.plan.sleep[index];
            let pending = self.pending.get(thread.index()).and_then(Option::as_ref);
            let objects = pending.and_then(|pending| pending.op.object());
            self.rounds.waiting.push(Waiting {
                thread,
                objects: objects.into_iter().collect(),
                held: true,
                any: outcome == HOLD_ANY,
            });
        }
    }

    /// What the threads that wait have come to is held back until something changes: for readers of the execution.
    pub(crate) fn show_waiting(&mut self) {
        for waiting in &self.rounds.waiting {
            if let Some(pending) = &mut self.pending[waiting.thread.index()] {
                if let Some(object) = pending.op.object() {
                    let word = self.state.object(object).sees(pending.op);
                    pending.gate = Gate::Word(word);
                }
            }
        }
    }
}
