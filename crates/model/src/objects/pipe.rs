//! Pipes: bounded queues of units with any number of writers and readers. Units are bytes of a pipe or a socket, datagrams, or
//! connections that wait to be accepted.
//!
//! *Bytes*: how much a get takes depends on all that was put before it, and how much a put puts on all that was taken. So all puts
//! and gets of one pipe are in order.
//!
//! *Writers that come and go* commute with puts and gets that wait: such a get looks at them only if there is nothing, and then it is a
//! [`Hangup`]; whoever puts is a writer itself. Where a get does not wait it finds bytes or that there are none, and the latter
//! depends on writers: so it never commutes with them. Readers that go do not commute with puts, which may find that none is left,
//! but with gets. A new writer or reader is made by one that is there, and concerns nobody.
//!
//! *Messages* are put and taken one by one. Writers are in order among themselves, and so are readers, but a put and a get commute:
//! a get comes after the put of its message, a put after the get that made its room, by [`Effect::after`]. For bytes that would not
//! do, even where a put and a get do not see each other: a third operation can see both, and one of them can make it wait.

use super::{Doing, Object};
use crate::{
    dependence::{Class, Conflicts},
    execution::Edge,
    machine::{Effect, Machine},
    op::{ObjectId, Op, ThreadId},
};
use Class::{Deaf, Empty, Full, Handle, Hangup, Look, Poll, Put, Recv, Refused, Send, Take, Write};
use alloc::collections::VecDeque;
use serde::{Deserialize, Serialize};

/// Those of channels hold as well: [`super::channel`].
pub(crate) const CONFLICTS: Conflicts = &[
    (Look, &[Send, Recv, Poll, Write, Put, Take, Handle, Deaf]),
    (
        Write,
        &[Send, Recv, Poll, Empty, Full, Handle, Hangup, Deaf, Refused],
    ),
    (Put, &[Write, Put, Take, Empty, Full, Hangup, Deaf, Refused]),
    (Take, &[Write, Take, Empty, Full, Hangup, Refused]),
];

/// Results of [`Op::Put`] and [`Op::Get`] that fail.
pub const NOT_NOW: u64 = 1;
/// The other side is gone.
pub const GONE: u64 = 2;

/// See the module.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Pipe {
    /// Its units are messages.
    pub messages: bool,
    /// How many units there is room for.
    pub capacity: u64,
    /// How many can be put into it.
    pub writers: u32,
    /// How many can get from it.
    pub readers: u32,
    /// How many units were ever put into it.
    written: u64,
    /// How many units were ever taken.
    taken: u64,
    /// What is in it: the steps that put it there, and how many of their units are left.
    puts: VecDeque<(Edge, u64)>,
    /// The steps that made the room that there is, latest last, and how many units were taken then.
    gets: VecDeque<(Edge, u64)>,
}

impl Pipe {
    /// An empty one.
    pub const fn new(messages: bool, capacity: u64, writers: u32, readers: u32) -> Pipe {
        Pipe {
            messages,
            capacity,
            writers,
            readers,
            written: 0,
            taken: 0,
            puts: VecDeque::new(),
            gets: VecDeque::new(),
        }
    }

    /// How many units are in it.
    pub fn held(&self) -> u64 {
        self.written - self.taken
    }

    /// How many more there is room for.
    pub fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.held())
    }

    /// All that can be seen of it. It never comes back to an earlier word as long as no writer or reader is added.
    pub(super) fn word(&self) -> u64 {
        let moved = self.written << 31 ^ self.taken;
        moved << 2 | u64::from(self.writers > 0) << 1 | u64::from(self.readers > 0)
    }

    /// Whether the pipe is of no more use to one of the sides.
    fn is_broken(&self) -> bool {
        self.writers == 0 || self.readers == 0
    }

    fn can_put(&self, least: u64) -> bool {
        self.is_broken() || self.room() >= least
    }

    /// Whether a get does not wait.
    pub fn can_get(&self) -> bool {
        self.held() > 0 || self.is_broken()
    }

    /// The step that made the room that the next so many units fill; `None`: there always was.
    fn room_maker(&self, count: u64) -> Option<Edge> {
        let needed = (self.written + count).checked_sub(self.capacity)?;
        let mut gets = self.gets.iter();
        let found = gets.find(|(_, taken)| *taken >= needed);
        found.filter(|_| needed > 0).map(|(step, _)| *step)
    }

    /// Units were put into it.
    fn put(&mut self, step: Edge, count: u64) {
        self.written += count;
        self.puts.push_back((step, count));
        let needed = (self.written + 1).saturating_sub(self.capacity);
        while self.gets.front().is_some_and(|(_, taken)| *taken < needed) {
            self.gets.pop_front();
        }
    }

    /// Units were taken.
    fn take(&mut self, step: Edge, count: u64) {
        self.taken += count;
        let mut left = count;
        while let Some((_, rest)) = self.puts.front_mut().filter(|_| left > 0) {
            let part = left.min(*rest);
            *rest -= part;
            left -= part;
            if *rest == 0 {
                self.puts.pop_front();
            }
        }
        self.gets.push_back((step, self.taken));
    }
}

fn pipe(machine: &Machine, object: ObjectId) -> &Pipe {
    match machine.object(object) {
        Object::Pipe(pipe) => pipe,
        other => panic!("{} used as a pipe", other.kind_name()),
    }
}

pub(super) fn enabled(machine: &Machine, _: ThreadId, op: Op) -> bool {
    match op {
        Op::Put {
            object,
            least,
            tries,
            ..
        } => tries || pipe(machine, object).can_put(least),
        Op::Get { object, tries, .. } => tries || pipe(machine, object).can_get(),
        _ => true,
    }
}

pub(super) fn effect(machine: &Machine, _: ThreadId, op: Op, _: u16) -> Effect {
    match op {
        Op::Put {
            object,
            count,
            least,
            tries,
        } => put(pipe(machine, object), object, [count, least], tries),
        Op::Get {
            object,
            most,
            tries,
        } => get(pipe(machine, object), object, most, tries),
        // A single writer or reader that goes cannot be about to use the pipe.
        Op::WriterDrop(object, true) | Op::ReaderDrop(object, true) => Effect::touch(object, Write),
        Op::WriterDrop(object, _) => Effect::touch(object, Handle),
        Op::ReaderDrop(object, _) => Effect::touch(object, Deaf),
        // Of several, made by one that is there: nothing can see it.
        Op::WriterAdd(_) | Op::ReaderAdd(_) => Effect::NONE,
        op => unreachable!("{op:?} on a pipe"),
    }
}

fn put(pipe: &Pipe, object: ObjectId, [count, least]: [u64; 2], tries: bool) -> Effect {
    if pipe.is_broken() {
        return Effect::touch(object, Refused).returning(GONE).failed();
    }
    let room = pipe.room();
    if room < least {
        return Effect::touch(object, Full).returning(NOT_NOW).failed();
    }
    let amount = count.min(room);
    let class = match (pipe.messages, tries) {
        (true, _) => Send,
        (false, true) => Write,
        (false, false) => Put,
    };
    Effect {
        after: pipe.room_maker(amount),
        ..Effect::touch(object, class).returning(amount)
    }
}

fn get(pipe: &Pipe, object: ObjectId, most: u64, tries: bool) -> Effect {
    let Some((first, _)) = pipe.puts.front().copied() else {
        return match pipe.is_broken() {
            true => Effect::touch(object, Hangup).returning(GONE).failed(),
            false => Effect::touch(object, Empty).returning(NOT_NOW).failed(),
        };
    };
    if pipe.messages {
        let class = if tries { Poll } else { Recv };
        return Effect {
            after: Some(first),
            ..Effect::touch(object, class).returning(1)
        };
    }
    // To look whether there are bytes, without waiting, finds out about writers too.
    let class = if tries { Write } else { Take };
    let amount = match most {
        0 => pipe.held(),
        most => most.min(pipe.held()),
    };
    let (mut last, mut left) = (first, amount);
    for (step, units) in &pipe.puts {
        last = *step;
        left = left.saturating_sub(*units);
        if left == 0 {
            break;
        }
    }
    Effect {
        after: Some(last),
        ..Effect::touch(object, class).returning(amount)
    }
}

pub(super) fn apply(machine: &mut Machine, doing: &Doing) {
    let Some(Object::Pipe(pipe)) = machine.object_of(doing.op) else {
        return;
    };
    let amount = doing.effect.result;
    match doing.op {
        Op::Put { .. } if doing.effect.ok && amount > 0 => pipe.put(doing.step, amount),
        Op::Get { most: 1.., .. } if doing.effect.ok => pipe.take(doing.step, amount),
        // An end that is shut down stays so.
        Op::WriterAdd(_) => pipe.writers += u32::from(pipe.writers > 0),
        Op::WriterDrop(_, false) => pipe.writers = pipe.writers.saturating_sub(1),
        Op::WriterDrop(_, true) => pipe.writers = 0,
        Op::ReaderAdd(_) => pipe.readers += u32::from(pipe.readers > 0),
        Op::ReaderDrop(_, false) => pipe.readers = pipe.readers.saturating_sub(1),
        Op::ReaderDrop(_, true) => pipe.readers = 0,
        _ => {}
    }
}

/// More units than that are in no pipe, and not put at once.
const MOST_UNITS: u64 = 1 << 60;

pub(super) fn well_formed(machine: &Machine, op: Op) -> bool {
    match (op, op.object().map(|object| machine.object(object))) {
        (Op::WriterAdd(_), Some(Object::Pipe(pipe))) => pipe.writers != u32::MAX,
        (Op::ReaderAdd(_), Some(Object::Pipe(pipe))) => pipe.readers != u32::MAX,
        (Op::Put { count, .. }, Some(Object::Pipe(pipe))) => {
            count < MOST_UNITS && pipe.written < MOST_UNITS
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPE: ObjectId = ObjectId(0);

    fn machine(capacity: u64) -> (Machine, ThreadId) {
        let mut machine = Machine::default();
        let me = machine.spawn(None);
        machine.create(Object::pipe(capacity));
        (machine, me)
    }

    fn put(count: u64, least: u64, tries: bool) -> Op {
        Op::Put {
            object: PIPE,
            count,
            least,
            tries,
        }
    }

    fn get(most: u64, tries: bool) -> Op {
        Op::Get {
            object: PIPE,
            most,
            tries,
        }
    }

    #[test]
    fn units_are_taken_in_order_and_room_is_what_was_taken() {
        let (mut machine, me) = machine(4);
        assert!(!enabled(&machine, me, get(1, false)));
        assert_eq!(machine.apply(me, put(3, 3, false), 0).result, 3);
        assert!(!enabled(&machine, me, put(2, 2, false)));
        assert_eq!(machine.apply(me, put(2, 1, false), 0).result, 1);
        let full = machine.apply(me, put(1, 1, true), 0);
        assert_eq!((full.ok, full.result), (false, NOT_NOW));
        assert_eq!(machine.apply(me, get(0, false), 0).result, 4);
        assert_eq!(machine.apply(me, get(2, false), 0).result, 2);
        let refill = machine.apply(me, put(2, 2, false), 0);
        let maker = Edge {
            thread: me,
            count: 5,
        };
        assert_eq!((refill.result, refill.after), (2, Some(maker)));
        assert_eq!(machine.apply(me, get(9, false), 0).result, 4);
        assert_eq!(machine.apply(me, get(9, true), 0).result, NOT_NOW);
    }

    #[test]
    fn messages_are_taken_one_by_one_after_they_were_put() {
        let mut machine = Machine::default();
        let me = machine.spawn(None);
        machine.create(Object::message_pipe(2));
        let class = |effect: Effect| effect.access[0].map(|access| access.class);
        let step = |count| Some(Edge { thread: me, count });
        assert_eq!(class(machine.apply(me, put(1, 1, false), 0)), Some(Send));
        assert_eq!(class(machine.apply(me, put(1, 1, false), 0)), Some(Send));
        assert_eq!(class(machine.effect(me, get(1, true), 0)), Some(Poll));
        let look = machine.apply(me, get(0, false), 0);
        assert_eq!((look.result, look.after), (1, step(1)));
        assert_eq!(machine.apply(me, get(1, false), 0).after, step(1));
        assert_eq!(machine.apply(me, put(1, 1, false), 0).after, step(4));
        let next = machine.apply(me, get(1, false), 0);
        assert_eq!((class(next), next.after), (Some(Recv), step(2)));
        assert!(!Send.conflicts(Recv) && Look.conflicts(Send) && !Look.conflicts(Look));
    }

    #[test]
    fn the_last_writer_or_reader_that_goes_ends_waits() {
        let (mut machine, me) = machine(1);
        machine.apply(me, Op::WriterAdd(PIPE), 0);
        machine.apply(me, Op::WriterDrop(PIPE, false), 0);
        assert!(!enabled(&machine, me, get(1, false)));
        machine.apply(me, put(1, 1, false), 0);
        machine.apply(me, Op::WriterDrop(PIPE, false), 0);
        assert!(machine.apply(me, get(1, false), 0).ok);
        let end = machine.apply(me, get(1, false), 0);
        assert_eq!((end.ok, end.result), (false, GONE));
        machine.apply(me, Op::WriterAdd(PIPE), 0);
        assert_eq!(machine.apply(me, get(1, false), 0).result, GONE);
        let (mut machine, me) = self::machine(1);
        machine.apply(me, put(1, 1, false), 0);
        assert!(!enabled(&machine, me, put(1, 1, false)));
        machine.apply(me, Op::ReaderAdd(PIPE), 0);
        machine.apply(me, Op::ReaderDrop(PIPE, true), 0);
        let broken = machine.apply(me, put(1, 1, false), 0);
        assert_eq!((broken.ok, broken.result), (false, GONE));
    }
}
