//! Executions as words. An event takes three to seven.

use crate::{
    previous_events::PreviousEvents,
    words::{Malformed, Reader, Writer},
};
use alloc::{string::String, vec::Vec};
use reweave_model::{
    Access, Attempt, Class, Code, Edge, End, Error, Event, Execution, Gate, Kind, Object, ObjectId,
    OnceState, Op, OpKind, Orders, Pending, Pipe, PlainAccess, Site, StateId, ThreadId,
    ThreadRecord, Unrecorded, Watch,
};

const OK: u64 = 1;
const AFTER: u64 = 2;
const WORD: u64 = 4;
const LATE: u64 = 8;
const FIRST: u64 = 16;
const SECOND: u64 = 32;
const FLAG: u64 = 64;

/// Bits that an object's number has, with an access class or memory orders above them.
const OBJECT_BITS: u32 = 24;

/// The number of an object or a thread, and above it the orders. Most operations have the orders whose number is 0.
#[inline]
fn with_orders(object: u32, orders: Orders) -> u32 {
    object | u32::from(orders.number()) << OBJECT_BITS
}

#[inline]
fn without_orders(word: u32) -> Result<(u32, Orders), Malformed> {
    let orders = Orders::of_number((word >> OBJECT_BITS) as u8).ok_or(Malformed)?;
    Ok((word & ((1 << OBJECT_BITS) - 1), orders))
}

fn gate_flags(gate: Gate) -> u64 {
    match gate {
        Gate::Open => 0,
        Gate::Word(_) => WORD,
        Gate::Late => LATE,
    }
}

fn write_operation(out: &mut Writer<'_>, code: &Code, gate: Gate) {
    for operand in &code.words[..OpKind(code.kind).words()] {
        out.word(*operand);
    }
    if let Gate::Word(word) = gate {
        out.word(word);
    }
}

fn read_operation(from: &mut Reader<'_>, head: u64, object: u32) -> Result<(Op, Gate), Malformed> {
    let kind = (head >> 16) as u8;
    let flags = head >> 24;
    let mut words = [0; 2];
    for word in words.iter_mut().take(OpKind(kind).words()) {
        *word = from.word()?;
    }
    let code = Code {
        kind,
        flag: flags & FLAG != 0,
        object,
        words,
    };
    let op = code.op().ok_or(Malformed)?;
    let gate = match (flags & WORD != 0, flags & LATE != 0) {
        (true, _) => Gate::Word(from.word()?),
        (_, true) => Gate::Late,
        _ => Gate::Open,
    };
    Ok((op, gate))
}

fn touch(access: Option<Access>) -> u64 {
    access.map_or(0, |access| {
        u64::from(access.object.0) | (access.class as u64) << OBJECT_BITS
    })
}

#[inline(always)]
fn write_event(out: &mut Writer<'_>, event: &Event) {
    let code = event.op.code();
    let [first, second] = event.access;
    let bit = |holds: bool, bit: u64| if holds { bit } else { 0 };
    let flags = gate_flags(event.gate)
        | bit(event.ok, OK)
        | bit(event.after.is_some(), AFTER)
        | bit(first.is_some(), FIRST)
        | bit(second.is_some(), SECOND)
        | bit(code.flag, FLAG);
    out.word(
        u64::from(event.thread.0 as u16)
            | u64::from(code.kind) << 16
            | flags << 24
            | u64::from(event.outcome) << 32
            | u64::from(event.outcomes) << 48,
    );
    out.pair(with_orders(code.object, event.order), event.site.0);
    out.word(event.result);
    write_operation(out, &code, event.gate);
    if let Some(edge) = event.after {
        out.pair(edge.thread.0, edge.count);
    }
    if first.is_some() || second.is_some() {
        out.word(touch(first) | touch(second) << 32);
    }
}

#[inline(always)]
pub(crate) fn read_event(from: &mut Reader<'_>, objects: usize) -> Result<Event, Malformed> {
    let head = from.word()?;
    let (object, site) = from.pair()?;
    let (object, order) = without_orders(object)?;
    let result = from.word()?;
    let (op, gate) = read_operation(from, head, object)?;
    let flags = head >> 24;
    let after = match flags & AFTER {
        0 => None,
        _ => Some(edge(from)?),
    };
    let mut access = [None, None];
    if flags & (FIRST | SECOND) != 0 {
        let word = from.word()?;
        for (place, bit, half) in [(0, FIRST, word as u32), (1, SECOND, (word >> 32) as u32)] {
            if flags & bit != 0 {
                let object = half & ((1 << OBJECT_BITS) - 1);
                if object as usize >= objects {
                    return Err(Malformed);
                }
                access[place] = Some(Access {
                    object: ObjectId(object),
                    class: Class::of_number((half >> OBJECT_BITS) as u8).ok_or(Malformed)?,
                });
            }
        }
    }
    Ok(Event {
        thread: ThreadId(u32::from(head as u16)),
        op,
        gate,
        outcome: (head >> 32) as u16,
        outcomes: (head >> 48) as u16,
        ok: flags & OK != 0,
        result,
        after,
        access,
        site: Site(site),
        order,
    })
}

fn edge(from: &mut Reader<'_>) -> Result<Edge, Malformed> {
    let (thread, count) = from.pair()?;
    Ok(Edge {
        thread: ThreadId(thread),
        count,
    })
}

fn write_thread(out: &mut Writer<'_>, thread: &ThreadRecord) {
    out.pair(thread.born.thread.0, thread.born.count);
    let name = thread.name.is_some();
    out.pair(
        thread.path.len() as u32,
        u32::from(thread.pending.is_some()) | u32::from(name) << 1,
    );
    for place in &thread.path {
        out.word(u64::from(*place));
    }
    if let Some(name) = &thread.name {
        out.bytes(name.as_bytes());
    }
    if let Some(pending) = &thread.pending {
        let code = pending.op.code();
        let flags = gate_flags(pending.gate) | if code.flag { FLAG } else { 0 };
        out.word(u64::from(code.kind) << 16 | flags << 24);
        out.pair(with_orders(code.object, pending.order), pending.site.0);
        write_operation(out, &code, pending.gate);
    }
}

fn read_thread(from: &mut Reader<'_>, thread: &mut ThreadRecord) -> Result<(), Malformed> {
    thread.born = edge(from)?;
    let (length, flags) = from.pair()?;
    thread.path.clear();
    for _ in 0..length {
        thread.path.push(from.word()? as u32);
    }
    thread.name = match flags & 2 {
        0 => None,
        _ => Some(from.text()?),
    };
    thread.pending = match flags & 1 {
        0 => None,
        _ => {
            let head = from.word()?;
            let (object, site) = from.pair()?;
            let (object, order) = without_orders(object)?;
            let (op, gate) = read_operation(from, head, object)?;
            Some(Pending {
                op,
                gate,
                site: Site(site),
                order,
            })
        }
    };
    Ok(())
}

fn write_object(out: &mut Writer<'_>, object: &Object) {
    match object {
        Object::Atomic(value) => {
            out.word(0);
            out.word(*value);
        }
        Object::Mutex { .. } => out.word(1),
        Object::RwLock { readers_first, .. } => out.word(if *readers_first { 10 } else { 2 }),
        Object::Condvar(_) => out.word(3),
        Object::Semaphore(count) => {
            out.word(4);
            out.word(*count);
        }
        Object::Barrier { size, leads, .. } => {
            out.word(if *leads { 5 } else { 11 });
            out.word(u64::from(*size));
        }
        Object::Once(state) => out.word(if *state == OnceState::Done { 7 } else { 6 }),
        Object::Parker(token) => out.word(if *token { 9 } else { 8 }),
        Object::Pool(_) => out.word(12),
        Object::Pipe(pipe) => {
            out.word(if pipe.messages { 14 } else { 13 });
            out.word(pipe.capacity);
            out.pair(pipe.writers, pipe.readers);
        }
        Object::Channel { capacity, .. } => {
            out.word(15);
            out.word(capacity.map_or(u64::MAX, u64::from));
        }
    }
}

fn read_object(from: &mut Reader<'_>) -> Result<Object, Malformed> {
    Ok(match from.word()? {
        0 => Object::Atomic(from.word()?),
        1 => Object::mutex(),
        2 => Object::rwlock(),
        3 => Object::condvar(),
        4 => Object::Semaphore(from.word()?),
        5 => Object::barrier(from.word()? as u32),
        6 => Object::Once(OnceState::New),
        7 => Object::Once(OnceState::Done),
        8 => Object::Parker(false),
        9 => Object::Parker(true),
        10 => Object::rwlock_readers_first(),
        11 => Object::barrier_without_leader(from.word()? as u32),
        12 => Object::pool(),
        kind @ (13 | 14) => {
            let capacity = from.word()?;
            let (writers, readers) = from.pair()?;
            Object::Pipe(Pipe::new(kind == 14, capacity, writers, readers))
        }
        15 => Object::channel(u32::try_from(from.word()?).ok()),
        _ => return Err(Malformed),
    })
}

const ENDS: [End; 6] = [
    End::Done,
    End::Deadlock,
    End::Livelock,
    End::Blocked,
    End::Redundant,
    End::MaxSteps,
];

pub(crate) fn write_execution(out: &mut Writer<'_>, execution: &Execution) {
    let end = ENDS.iter().position(|end| *end == execution.end);
    let flags = u32::from(execution.spurious)
        | u32::from(execution.peeked) << 1
        | u32::from(execution.timeouts_cut) << 2
        | u32::from(execution.clocks_cut) << 3
        | u32::from(!execution.states.is_empty() || execution.unrecorded.is_some()) << 4;
    out.pair(end.unwrap_or(0) as u32, flags);
    out.word(u64::from(execution.max_steps));
    out.word(execution.threads.len() as u64);
    for thread in &execution.threads {
        write_thread(out, thread);
    }
    out.word(execution.objects.len() as u64);
    for object in &execution.objects {
        write_object(out, object);
    }
    out.word(execution.events.len() as u64);
    for event in &execution.events {
        write_event(out, event);
    }
    out.pair(
        execution.epochs.len() as u32,
        execution.watches.len() as u32,
    );
    for epoch in &execution.epochs {
        out.word(u64::from(*epoch));
    }
    for watch in &execution.watches {
        out.pair(watch.since.thread.0, watch.since.count);
        out.word(watch.words.len() as u64);
        for (object, word) in &watch.words {
            out.word(u64::from(object.0));
            out.word(*word);
        }
    }
    write_rounds(out, execution);
    write_states(out, execution);
    out.word(execution.errors.len() as u64);
    for error in &execution.errors {
        write_error(out, error);
    }
}

/// States of the run and names of its objects, if there are any.
fn write_states(out: &mut Writer<'_>, execution: &Execution) {
    if execution.states.is_empty() && execution.unrecorded.is_none() {
        return;
    }
    let why = |why| Unrecorded::ALL.iter().position(|it| *it == why);
    let unrecorded = execution.unrecorded.and_then(why);
    out.word(unrecorded.map_or(0, |why| why as u64 + 1));
    out.pair(execution.states.len() as u32, execution.names.len() as u32);
    for state in &execution.states {
        out.word((state.0 >> 64) as u64);
        out.word(state.0 as u64);
    }
    for name in &execution.names {
        out.word(*name);
    }
    out.word(execution.accesses.len() as u64);
    for access in &execution.accesses {
        let flags = u32::from(access.write) | u32::from(access.atomic) << 1;
        out.pair(access.position, access.thread.0);
        out.pair(access.threads << 2 | flags, access.bytes);
        out.word(access.address);
    }
}

fn read_states(
    from: &mut Reader<'_>,
    into: &mut Execution,
    recorded: bool,
) -> Result<(), Malformed> {
    into.states.clear();
    into.names.clear();
    into.accesses.clear();
    into.unrecorded = None;
    if !recorded {
        return Ok(());
    }
    into.unrecorded = match from.word()? {
        0 => None,
        why => Some(*Unrecorded::ALL.get(why as usize - 1).ok_or(Malformed)?),
    };
    let (states, names) = from.pair()?;
    if states as usize > into.events.len() + 1 {
        return Err(Malformed);
    }
    for _ in 0..states {
        let high = u128::from(from.word()?);
        into.states
            .push(StateId(high << 64 | u128::from(from.word()?)));
    }
    for _ in 0..names {
        into.names.push(from.word()?);
    }
    for _ in 0..from.count()? {
        let access = read_access(from)?;
        let last = into.accesses.last().map_or(0, |last| last.position);
        let known = access.thread.index() < into.threads.len();
        if !known || access.position < last || access.position as usize > into.events.len() {
            return Err(Malformed);
        }
        into.accesses.push(access);
    }
    Ok(())
}

fn read_access(from: &mut Reader<'_>) -> Result<PlainAccess, Malformed> {
    let (position, thread) = from.pair()?;
    let (threads, bytes) = from.pair()?;
    let address = from.word()?;
    if address.checked_add(u64::from(bytes) + 8).is_none() {
        return Err(Malformed);
    }
    Ok(PlainAccess {
        position,
        thread: ThreadId(thread),
        threads: threads >> 2,
        address,
        bytes,
        write: threads & 1 != 0,
        atomic: threads & 2 != 0,
    })
}

/// Rounds of loops that changed nothing.
fn write_rounds(out: &mut Writer<'_>, execution: &Execution) {
    out.pair(
        execution.attempts.len() as u32,
        execution.stopped.len() as u32,
    );
    for attempt in &execution.attempts {
        out.pair(attempt.since.thread.0, attempt.since.count);
        out.pair(attempt.place, attempt.events.len() as u32);
        for event in &attempt.events {
            write_event(out, event);
        }
    }
    for stopped in &execution.stopped {
        out.pair(stopped.thread.0, stopped.count);
    }
}

fn read_rounds(from: &mut Reader<'_>, into: &mut Execution) -> Result<(), Malformed> {
    into.attempts.clear();
    into.stopped.clear();
    let (attempts, stopped) = from.pair()?;
    let (threads, objects) = (into.threads.len(), into.objects.len());
    let known = |edge: Edge| match edge.thread.index() < threads {
        true => Ok(edge),
        false => Err(Malformed),
    };
    for _ in 0..attempts {
        let since = known(edge(from)?)?;
        let (place, count) = from.pair()?;
        if place as usize > into.events.len() {
            return Err(Malformed);
        }
        let mut events = Vec::new();
        for _ in 0..count {
            let event = read_event(from, objects)?;
            let object = event.op.object().ok_or(Malformed)?;
            if event.thread != since.thread || object.index() >= objects {
                return Err(Malformed);
            }
            events.push(event);
        }
        into.attempts.push(Attempt {
            since,
            place,
            events,
        });
    }
    for _ in 0..stopped {
        let edge = known(edge(from)?)?;
        into.stopped.push(edge);
    }
    Ok(())
}

/// Reads an execution over the one that was read before it.
pub(crate) fn read_execution(
    from: &mut Reader<'_>,
    into: &mut Execution,
    previous: &mut PreviousEvents,
) -> Result<(), Malformed> {
    let (end, flags) = from.pair()?;
    into.end = *ENDS.get(end as usize).ok_or(Malformed)?;
    into.spurious = flags & 1 != 0;
    into.peeked = flags & 2 != 0;
    into.timeouts_cut = flags & 4 != 0;
    into.clocks_cut = flags & 8 != 0;
    into.max_steps = from.word()? as u32;
    let threads = from.count()?;
    into.threads.truncate(threads);
    for index in 0..threads {
        if index == into.threads.len() {
            into.threads.push(ThreadRecord {
                born: Edge {
                    thread: ThreadId::MAIN,
                    count: 0,
                },
                path: Vec::new(),
                name: None,
                pending: None,
            });
        }
        read_thread(from, &mut into.threads[index])?;
    }
    into.objects.clear();
    for _ in 0..from.count()? {
        let object = read_object(from)?;
        into.objects.push(object);
    }
    previous.read_events(from, into)?;
    check(into)?;
    let objects = into.objects.len();
    let (epochs, watches) = from.pair()?;
    into.epochs.clear();
    for _ in 0..epochs {
        let epoch = from.word()?;
        let last = into.epochs.last().copied().unwrap_or(0);
        if epoch < last.into() || epoch > into.events.len() as u64 {
            return Err(Malformed);
        }
        into.epochs.push(epoch as u32);
    }
    into.watches.clear();
    for _ in 0..watches {
        let since = edge(from)?;
        let mut words = Vec::new();
        for _ in 0..from.count()? {
            let object = ObjectId(from.word()? as u32);
            if object.index() >= objects {
                return Err(Malformed);
            }
            words.push((object, from.word()?));
        }
        into.watches.push(Watch { since, words });
    }
    read_rounds(from, into)?;
    read_states(from, into, flags & 16 != 0)?;
    into.pointers.clear();
    into.errors.clear();
    for _ in 0..from.count()? {
        let error = read_error(from)?;
        into.errors.push(error);
    }
    Ok(())
}

/// Whether every number in it names something that is there, and was there by then.
fn check(execution: &Execution) -> Result<(), Malformed> {
    let (threads, objects) = (&execution.threads, execution.objects.len());
    let known = |op: reweave_model::Op| {
        let second = match op {
            reweave_model::Op::Enqueue { mutex, .. } => Some(mutex),
            reweave_model::Op::EnqueueIf { atomic, .. } => Some(atomic),
            reweave_model::Op::Join(thread) if thread.index() >= threads.len() => return false,
            _ => None,
        };
        let mut named = [op.object(), second].into_iter().flatten();
        named.all(|object| object.index() < objects)
    };
    let mut done = alloc::vec![0_u32; threads.len()];
    let happened = |edge: Edge, done: &[u32]| {
        let count = done.get(edge.thread.index());
        count.is_some_and(|count| edge.count <= *count)
    };
    for event in &execution.events {
        let thread = event.thread.index();
        let begun = done[thread] > 0 || happened(threads[thread].born, &done);
        let after = event.after.is_none_or(|edge| happened(edge, &done));
        if !begun || !after || !known(event.op) || event.outcome >= event.outcomes.max(1) {
            return Err(Malformed);
        }
        done[thread] += 1;
    }
    let born = |(index, thread): (usize, &ThreadRecord)| {
        let parent = thread.born.thread.index();
        let earlier = parent < index || (index == 0 && parent == 0 && thread.born.count == 0);
        earlier && happened(thread.born, &done)
    };
    let mut wishes = threads.iter().filter_map(|thread| thread.pending);
    let sound = !threads.is_empty()
        && threads.iter().enumerate().all(born)
        && wishes.all(|pending| known(pending.op));
    if sound { Ok(()) } else { Err(Malformed) }
}

const KINDS: [Kind; 8] = [
    Kind::DataRace,
    Kind::Deadlock,
    Kind::Assertion,
    Kind::Crash,
    Kind::ExitStatus,
    Kind::Memory,
    Kind::Misuse,
    Kind::Livelock,
];

fn write_error(out: &mut Writer<'_>, error: &Error) {
    let kind = KINDS.iter().position(|kind| *kind == error.kind);
    out.pair(kind.unwrap_or(0) as u32, error.after.is_some().into());
    if let Some(edge) = error.after {
        out.pair(edge.thread.0, edge.count);
    }
    out.bytes(error.rule.as_deref().unwrap_or("").as_bytes());
    out.bytes(error.message.as_bytes());
    out.word(error.sites.len() as u64);
    for site in &error.sites {
        out.word(u64::from(site.0));
    }
}

fn read_error(from: &mut Reader<'_>) -> Result<Error, Malformed> {
    let (kind, after) = from.pair()?;
    let kind = *KINDS.get(kind as usize).ok_or(Malformed)?;
    let after = match after {
        0 => None,
        _ => Some(edge(from)?),
    };
    let rule = Some(from.text()?).filter(|rule: &String| !rule.is_empty());
    let message = from.text()?;
    let mut sites = Vec::new();
    for _ in 0..from.count()? {
        sites.push(Site(from.word()? as u32));
    }
    Ok(Error {
        kind,
        rule,
        message,
        sites,
        after,
    })
}
