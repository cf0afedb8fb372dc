//! One operation in a few words.

use crate::{
    presented::thread_names,
    stacks::{CallEntry, shown},
    trace::{ObjectState, PendingEntry, Trace, pointer},
    values::VariableEntry,
    walk::{Walked, walk},
};
use reweave_model::{GONE, ObjectId, Op, RmwKind};
use std::collections::BTreeMap;

/// A trace with what the model knows about it.
pub struct Story<'a> {
    /// The trace.
    pub trace: &'a Trace,
    pub(crate) walked: Walked,
    /// Parking tokens, with the threads that park on them.
    owners: BTreeMap<u32, u32>,
    /// What threads are called.
    names: Vec<String>,
    /// For each stack, which of its calls is shown as its place.
    shown: Vec<usize>,
}

impl<'a> Story<'a> {
    /// Learns what the model knows.
    pub fn new(trace: &'a Trace) -> Story<'a> {
        let done = trace
            .events
            .iter()
            .map(|event| (event.thread, &event.operation));
        let threads = trace.threads.iter().zip(0..);
        let wished = threads
            .filter_map(|(thread, index)| Some((index, &thread.pending.as_ref()?.operation)));
        let parks = done
            .chain(wished)
            .filter(|(_, operation)| operation.name == "park");
        let owners = parks.filter_map(|(thread, operation)| Some((operation.object?, thread)));
        Story {
            trace,
            walked: walk(trace),
            names: thread_names(trace),
            shown: shown(trace),
            owners: owners.collect(),
        }
    }

    /// With threads called by their paths, as a debugger knows them.
    pub fn by_path(trace: &'a Trace) -> Story<'a> {
        let paths = trace.threads.iter().map(|thread| thread.path.clone());
        Story {
            names: paths.collect(),
            ..Story::new(trace)
        }
    }

    /// What event `index` did.
    pub fn event(&self, index: usize) -> String {
        let what = self.operation(self.trace.events[index].op());
        match self.note(index) {
            Some(note) => format!("{what}: {note}"),
            None => what,
        }
    }

    /// What came of event `index`, if there is more to say than its operation.
    fn note(&self, index: usize) -> Option<String> {
        let event = &self.trace.events[index];
        let op = event.op();
        let (ok, result) = (event.ok, event.result);
        Some(match op {
            Op::Any(_) => format!("takes {result}"),
            Op::Load(_) | Op::Await(..) | Op::Rmw(..) | Op::CompareExchange { .. } => {
                return self.value_note(op, ok, result);
            }
            Op::TryLock(_) | Op::TryReadLock(_) | Op::TryWriteLock(_) if !ok => {
                match self.walked.before[index].holders.first() {
                    Some(holder) => format!("fails, {} has it", self.thread(*holder)),
                    None => "fails".into(),
                }
            }
            Op::TryLock(_) | Op::TryReadLock(_) | Op::TryWriteLock(_) => "taken".into(),
            Op::WriteBegin(_) | Op::WriteAcquire(_) if !ok => "timed out".into(),
            Op::EnqueueIf { .. } if !ok => {
                format!("does not wait, it is {}", self.word(op, result))
            }
            Op::Wake { .. } => self.wake(index, ok),
            Op::NotifyOne(_) => match result.checked_sub(1) {
                Some(woken) => format!("wakes {}", self.thread(woken as u32)),
                None => "nobody waits".into(),
            },
            Op::NotifyAll(_) => self.notify_all(index),
            Op::SemAcquire { .. } | Op::SemTryAcquire(_) | Op::SemRelease(_) => {
                return self.semaphore_note(index, op, ok);
            }
            Op::Take { .. } if !ok => "count is 0".into(),
            Op::Add { .. } if !ok => "no room".into(),
            Op::Take { .. } | Op::Add { .. } => {
                let count = self.walked.before[index].count?;
                let after = match op {
                    Op::Add { .. } => count.saturating_add(result),
                    _ => count.saturating_sub(result),
                };
                format!("{} -> {}", value(count), value(after))
            }
            Op::Put { .. } | Op::Get { .. } => pipe_note(op, ok, result),
            Op::Leave(_) if result == 1 => "as leader".into(),
            Op::OnceBegin { .. } => match result {
                1 => "already done".into(),
                2 => "had failed before".into(),
                3 => "failed before, runs again".into(),
                _ => "runs it".into(),
            },
            Op::Expect(_) if !ok => "nothing else can run".into(),
            Op::Send(_) | Op::TrySend(_) | Op::Recv { .. } | Op::TryRecv(_) | Op::Expect(_) => {
                self.channel_note(index, op, ok, result)
            }
            Op::Handoff(..) if !ok => "receiver is gone".into(),
            Op::Allocate(_) if result == 0 => "a new address".into(),
            Op::Allocate(_) => format!("wants {} again", self.word(op, result)),
            Op::Reuse(..) if !ok => "gone, gets a new address".into(),
            Op::Park { timed: true, .. } if !ok && self.has_signals() => "none".into(),
            Op::Park { timed: true, .. } if !ok => "timed out".into(),
            _ => return None,
        })
    }

    /// What an operation on a word saw and made of it.
    fn value_note(&self, op: Op, ok: bool, result: u64) -> Option<String> {
        let word = |word| self.word(op, word);
        Some(match op {
            // Of another object than an atomic there is no value that a person would know.
            Op::Load(object) | Op::Await(object, _) | Op::Rmw(object, _)
                if !self.has_value(object) =>
            {
                return None;
            }
            Op::Load(_) => format!("reads {}", word(result)),
            Op::Await(..) => format!("sees {}", word(result)),
            Op::Rmw(_, rmw) => format!("{} -> {}", word(result), word(rmw.apply(result))),
            Op::CompareExchange { expected, new, .. } if ok => {
                format!("{} -> {}", word(expected), word(new))
            }
            Op::CompareExchange { expected, .. } if result == expected => {
                "fails, as a weak one may".into()
            }
            Op::CompareExchange { expected, .. } => {
                format!("fails, {} is not {}", word(result), word(expected))
            }
            _ => return None,
        })
    }

    /// How the count of a semaphore changed.
    fn semaphore_note(&self, index: usize, op: Op, ok: bool) -> Option<String> {
        if !ok
            && matches!(
                op,
                Op::SemAcquire { timed: true, .. } | Op::SemTryAcquire(_)
            )
        {
            return Some("none left".into());
        }
        let count = self.walked.before[index].count?;
        let after = match op {
            Op::SemRelease(_) => count.saturating_add(1),
            _ => count.saturating_sub(1),
        };
        Some(format!("{count} -> {after}"))
    }

    /// What was sent or received, or why nothing was.
    fn channel_note(&self, index: usize, op: Op, ok: bool, result: u64) -> String {
        match op {
            Op::Send(_) | Op::TrySend(_) if ok => format!("message {}", result.saturating_add(1)),
            Op::Send(_) | Op::TrySend(_) if result == 2 => "receiver is gone".into(),
            Op::Send(_) | Op::TrySend(_) => "full".into(),
            _ if ok => match self.after(index) {
                Some(step) => format!("what step {} sent", step + 1),
                None => "a message".into(),
            },
            _ if result == 2 => "all senders are gone".into(),
            Op::TryRecv(_) => "empty".into(),
            _ => "timed out".into(),
        }
    }

    fn wake(&self, index: usize, ok: bool) -> String {
        match (self.after(index), ok) {
            (Some(step), _) => format!("notified by step {}", step + 1),
            (None, true) => "for no reason".into(),
            (None, false) => "timed out".into(),
        }
    }

    fn notify_all(&self, index: usize) -> String {
        match self.walked.before[index].waiters.as_deref() {
            Some([]) => "nobody waits".into(),
            Some(woken) if woken.len() <= 3 => {
                let names: Vec<_> = woken.iter().map(|thread| self.thread(*thread)).collect();
                format!("wakes {}", names.join(", "))
            }
            Some(woken) => format!("wakes {} threads", woken.len()),
            None => "wakes whoever waits".into(),
        }
    }

    /// The event that event `index` comes after, beyond program order.
    fn after(&self, index: usize) -> Option<usize> {
        self.walked.after(self.trace.events[index].after)
    }

    /// An operation that was not done.
    pub fn pending(&self, pending: &PendingEntry) -> String {
        match pending.operation.to_op() {
            Some(op) => self.operation(op),
            None => pending.operation.name.clone(),
        }
    }

    /// A value of the operation's object.
    pub fn word(&self, op: Op, word: u64) -> String {
        match op.object() {
            Some(object) => self.value(object.0, word),
            None => value(word),
        }
    }

    /// A value of an object, for people.
    pub fn value(&self, object: u32, word: u64) -> String {
        if self.trace.pointers(object) {
            return pointer(word);
        }
        let entry = self.trace.objects.get(object as usize);
        let known = entry.and_then(|entry| entry.values.as_ref()?.told(word));
        known.unwrap_or_else(|| value(word))
    }

    /// Name and object, with what it writes.
    fn operation(&self, op: Op) -> String {
        let kind = op.kind().name();
        let on = op
            .object()
            .map_or("?", |object| self.trace.object_name(object.0));
        match op {
            Op::Join(thread) => format!("join {}", self.thread(thread.0)),
            Op::Any(n) => format!("choose one of {n}"),
            Op::Assume(holds) => format!("assume {holds}"),
            Op::Store(_, new) => format!("store {on}: writes {}", self.word(op, new)),
            Op::Load(object) if self.is_outside(object) => format!("look at {on}"),
            // It only counts the looks, one after the other.
            Op::Rmw(..) if on == "the clock" => format!("look at {on}"),
            Op::Rmw(object, _) if self.is_outside(object) => format!("change {on}"),
            Op::Rmw(_, rmw) => match rmw.kind {
                RmwKind::Swap => format!("swap {on}"),
                kind => {
                    let operand = rmw.operand & (u64::MAX >> (64 - u32::from(rmw.bits)));
                    format!("fetch-{} {on} {}", kind.name(), value(operand))
                }
            },
            Op::Await(object, _) if !self.has_value(object) => format!("spin on {on}"),
            Op::Await(_, seen) => format!("spin on {on} while {}", self.word(op, seen)),
            // Such a writer keeps nobody out: it is only settled that nobody comes before it.
            Op::WriteBegin(object) if self.readers_first(object) => format!("write-next {on}"),
            // Whether the section changed anything is of interest to parked loops only.
            Op::UnlockClean(_) => format!("unlock {on}"),
            Op::Enqueue { mutex, .. } => {
                format!("wait {on}, gives up {}", self.trace.object_name(mutex.0))
            }
            Op::EnqueueIf {
                atomic, expected, ..
            } => format!(
                "wait {on} if {} is {}",
                self.trace.object_name(atomic.0),
                self.word(op, expected)
            ),
            Op::OnceEnd(_, false) => format!("{kind} {on}: failed"),
            Op::Park { timed, .. } if self.has_signals() => match timed {
                true => "look for signals".into(),
                false => "wait for a signal".into(),
            },
            Op::Park { object, .. } if self.owner(object).is_some() => "park".into(),
            Op::Unpark(object) => match self.owner(object) {
                Some(owner) if self.has_signals() => {
                    format!("send a signal to {}", self.thread(owner))
                }
                Some(owner) => format!("unpark {}", self.thread(owner)),
                None => format!("unpark {on}"),
            },
            Op::Handoff(_, message) => {
                format!("{kind} {on} message {}", message.saturating_add(1))
            }
            Op::Free(_, address) => format!("free {}", self.word(op, address)),
            Op::Reuse(_, address) => format!("allocate {} again", self.word(op, address)),
            Op::Allocate(_) => kind.into(),
            _ => format!("{kind} {on}"),
        }
    }

    /// Whether what is seen of the object is a value of the program.
    pub fn has_value(&self, object: ObjectId) -> bool {
        let entry = self.trace.objects.get(object.index());
        let has = entry.is_some_and(|entry| {
            matches!(
                entry.state,
                ObjectState::Atomic { .. } | ObjectState::Semaphore { .. }
            )
        });
        has && !self.is_outside(object)
    }

    /// Whether the object is no memory, but a file and the like, which goes by words. Its value only counts changes.
    fn is_outside(&self, object: ObjectId) -> bool {
        let name = self.trace.object_name(object.0);
        let words = ["file ", "descriptor ", "the "];
        words.iter().any(|word| name.starts_with(word))
    }

    pub(crate) fn readers_first(&self, lock: ObjectId) -> bool {
        let entry = self.trace.objects.get(lock.index());
        let state = entry.map(|entry| &entry.state);
        matches!(
            state,
            Some(ObjectState::Rwlock {
                readers_first: true,
                ..
            })
        )
    }

    /// Whether tokens stand for signals, and not for the parking of threads.
    pub(super) fn has_signals(&self) -> bool {
        self.trace.program.kind == "native"
    }

    /// The thread whose parking token it is.
    fn owner(&self, parker: ObjectId) -> Option<u32> {
        self.owners.get(&parker.0).copied()
    }

    /// The calls that led to a place, from the one that is shown on, if there are several.
    pub fn calls(&self, stack: Option<u32>) -> Vec<&CallEntry> {
        let Some(stack) = stack else {
            return Vec::new();
        };
        let from = self.shown.get(stack as usize).copied().unwrap_or(0);
        let calls = self.trace.calls(stack, from);
        match calls.len() {
            0 | 1 => Vec::new(),
            _ => calls,
        }
    }

    /// How a thread came to a place: `in transfer, called by pay (bank.c:17)`.
    pub(super) fn way(&self, stack: Option<u32>) -> Option<String> {
        let calls = self.calls(stack);
        let (first, callers) = calls.split_first()?;
        let told: Vec<String> = callers
            .iter()
            .take(CALLERS)
            .map(|call| call.told())
            .collect();
        let more = match callers.len() > CALLERS {
            true => ", ...",
            false => "",
        };
        Some(format!(
            "in {}, called by {}{more}",
            first.function,
            told.join(", by ")
        ))
    }

    /// A variable that a failed condition names: its value, and which step wrote it.
    pub fn variable(&self, variable: &VariableEntry) -> String {
        let mut text = format!("{} = {}", variable.name, variable.value);
        if let Some((thread, count)) = variable.written {
            text += &format!(", written by {}", self.thread(thread));
            if let Some(step) = self.walked.after(Some((thread, count))) {
                text += &format!(" after step {}", step + 1);
            }
        }
        if let Some(at) = &variable.at {
            text += &format!(" at {}", at.line());
        }
        text
    }

    /// The step that is the last of so many of a thread.
    pub fn step_after(&self, thread: u32, count: u32) -> Option<usize> {
        self.walked.after(Some((thread, count)))
    }

    /// What a thread is called.
    pub fn thread(&self, thread: u32) -> &str {
        let name = self.names.get(thread as usize);
        name.map_or("?", String::as_str)
    }
}

/// Callers of a place that are named.
const CALLERS: usize = 3;

/// A value: small ones as they are, others in hexadecimal.
fn value(value: u64) -> String {
    if value < 1 << 32 {
        value.to_string()
    } else {
        format!("{value:#x}")
    }
}

/// How much was put into a pipe or taken from it.
fn pipe_note(op: Op, ok: bool, result: u64) -> String {
    match (op, ok) {
        (Op::Put { .. }, false) if result == GONE => "no reader is left".into(),
        (Op::Put { .. }, false) => "no room".into(),
        (_, false) if result == GONE => "at its end".into(),
        (_, false) => "empty".into(),
        (Op::Put { .. }, true) => format!("{result} more"),
        (_, true) => format!("{result} taken"),
    }
}
