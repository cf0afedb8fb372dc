//! Loops that only wait for others.
//!
//! *Decides:* when a thread is parked in such a loop, and when an operation that may time out does so only late. *Called by:* the runtime
//! before and after each operation. *Owns:* what a thread has read since it last changed anything, in its task.
//!
//! A thread comes to an operation that changed nothing the last time. When it is there for the third time, with nothing changed by it in
//! between, the same registers and the same stack as at the second, the round from there to here will repeat for ever, unless memory
//! that is not on the stack counts the rounds. So it is tried: the loop runs on for [`PROBE_ROUNDS`] rounds, alone, with
//! the results it had before; these rounds are no events. If it leaves the loop or its stack changes, the site is remembered as one that never parks, and the
//! execution is begun again. Else the thread is parked: its operation is announced with the word that it saw, and can go when the
//! object's word differs. A loop that looks at several objects first guesses (an event: every guess is explored) which will change.
//!
//! *Locks.* A round may take locks, if what they protect is only looked at: a mutex whose guard was never dereferenced mutably, a read lock. The
//! model counts, for each lock, the releases after which its data may differ; that count is what the round saw. Such a round is tried with the
//! real data, so only when nobody else is inside or has changed it; otherwise the thread is parked untried, which is harmless: it can go as
//! soon as the other has left, if that changed anything. It is never parked inside a section of the round, where it would keep others out.
//!
//! Every decision here is a function of what the thread itself has done and read, never of what others did meanwhile: equivalent
//! executions park alike.
//!
//! *Limits.*
//! 1. A loop that counts in heap memory and leaves only after more rounds is parked though it should not be.
//! 2. Interior mutability under a lock (`Mutex<Cell<..>>`) is not seen: a section that changes data so counts as one that only looks. If the loop
//!    itself does, the trial finds out, mostly; if another thread does, a parked loop is not woken by it, and a livelock may be reported that is
//!    none.
//! 3. A loop that takes its guard mutably in each round (`queue.lock().unwrap().pop()`, a write lock) or gets it by `try_lock` may change
//!    something; it ends at the limit on steps.
//! 4. The rounds of a parked loop are not there for others to run into: a `try_lock` that fails because of the third or a later round of such a loop is
//!    explored only as failing because of an earlier one.

use super::{Task, World, perform_gated, poll::Frame};
use reweave_model::{End, Event, Gate, Next, Object, ObjectId, Op, Orders, Site, ThreadId};

/// How long a loop must run on unchanged before it is taken for endless. A thousand rounds the first time would cost a check of three
/// executions 25 us with an atomic and 58 us with a mutex, two and three times what it takes now.
const PROBE_ROUNDS: u32 = 200;

/// Longer rounds are not recognised.
const ROW: usize = 48;

/// What one thread has done since it last changed anything.
#[derive(Default)]
pub(crate) struct Spin {
    row: Vec<Visit>,
    probe: Option<Probe>,
    /// Timed operations that timed out the last time: site, and how many events the thread had done then.
    late: Vec<(Site, u32)>,
    /// Pauses since the last operation.
    pub(crate) pauses: u32,
}

/// An operation that changed nothing.
#[derive(Clone, Copy)]
struct Visit {
    site: Site,
    op: Op,
    ok: bool,
    result: u64,
    /// What the object looked like.
    word: u64,
    /// Of registers and stack, from the second visit on.
    print: Option<u64>,
}

/// A loop that is being tried: its round is the row.
struct Probe {
    /// The next operation in the row, if the loop goes on.
    place: usize,
    rounds: u32,
    print: u64,
    clock_ns: u64,
}

/// What to do with an operation.
pub(crate) enum Before {
    /// Announce it with this gate.
    Go(Gate),
    /// It was answered without an event.
    Served(Event),
}

/// Whether an event changed nothing and would do the same again.
#[inline]
fn quiet(event: &Event) -> bool {
    match event.op {
        Op::Load(_) => true,
        Op::Rmw(_, rmw) => rmw.apply(event.result) == event.result,
        // A weak one that failed for no reason will not do so again; one that succeeded may fail then.
        Op::CompareExchange {
            expected,
            new,
            weak,
            ..
        } => match event.ok {
            true => new == expected && !weak,
            false => event.result != expected,
        },
        // Not an attempt to write-lock: several readers together keep it from going, and `optimal` needs those who do to come one after
        // the other.
        Op::TryLock(_)
        | Op::TryReadLock(_)
        | Op::SemTryAcquire(_)
        | Op::TrySend(_)
        | Op::TryRecv(_) => !event.ok,
        // A section that turns out to have changed something ends with another operation.
        op => enters(op) || exits(op),
    }
}

/// Begins a section that looks at what a lock protects.
fn enters(op: Op) -> bool {
    matches!(op, Op::Lock(_) | Op::ReadLock(_))
}

/// Ends a section that changed nothing.
fn exits(op: Op) -> bool {
    matches!(op, Op::UnlockClean(_) | Op::ReadUnlock(_))
}

/// Before an operation is announced.
#[inline]
pub(crate) fn before(task: &Task, op: Op, site: Site, frame: Option<&Frame>) -> Before {
    let spin = task.spin.borrow();
    if spin.row.is_empty() {
        return Before::Go(Gate::Open);
    }
    if frame.is_none() && spin.probe.is_none() {
        return Before::Go(Gate::Open);
    }
    drop(spin);
    revisit(task, op, site, frame)
}

#[inline(never)]
fn revisit(task: &Task, op: Op, site: Site, frame: Option<&Frame>) -> Before {
    let mut spin = task.spin.borrow_mut();
    let Spin { row, probe, .. } = &mut *spin;
    let frame = frame.map(Frame::start);
    if let Some(trial) = probe {
        let expected = row[trial.place];
        if (expected.site, expected.op) != (site, op) {
            drop(spin);
            leaves(task);
            return Before::Go(Gate::Open);
        }
        if trial.place == 0 {
            trial.rounds += 1;
            if trial.rounds > PROBE_ROUNDS {
                let same = frame.is_some_and(|frame| print(task, frame) == trial.print);
                let clock_ns = trial.clock_ns;
                *probe = None;
                drop(spin);
                if !same {
                    begin_again(task, site);
                }
                task.world().threads.borrow_mut()[task.thread.index()].clock_ns = clock_ns;
                return Before::Go(park(task, op, site));
            }
        }
        trial.place = (trial.place + 1) % row.len();
        return Before::Served(expected.event(task.thread));
    }
    let Some(frame) = frame else {
        return Before::Go(Gate::Open);
    };
    let Some(last) = row
        .iter()
        .rposition(|visit| (visit.site, visit.op) == (site, op))
    else {
        return Before::Go(Gate::Open);
    };
    let now = print(task, frame);
    let before = row[last].print;
    let round = &row[last..];
    let repeats = before == Some(now) && steady(round) && outside(round);
    if !repeats || task.world().never_parks(site) {
        task.print.set(Some(now));
        return Before::Go(Gate::Open);
    }
    row.drain(..last);
    if !untouched(task, row) {
        drop(spin);
        return Before::Go(park(task, op, site));
    }
    let first = row[0];
    *probe = Some(Probe {
        place: 1 % row.len(),
        rounds: 1,
        print: now,
        clock_ns: task.world().threads.borrow()[task.thread.index()].clock_ns,
    });
    Before::Served(first.event(task.thread))
}

/// After an operation was done.
#[inline]
pub(crate) fn after(task: &Task, world: &World, event: &Event) {
    let mut spin = task.spin.borrow_mut();
    spin.pauses = 0;
    let print = task.print.take();
    if !quiet(event) {
        spin.row.clear();
        return;
    }
    if spin.row.len() == ROW {
        spin.row.drain(..ROW / 2);
    }
    let object = event.op.object().expect("what polls has an object");
    let word = match event.op {
        Op::Load(_) | Op::Rmw(..) | Op::CompareExchange { .. } => event.result,
        op => world.run.borrow().state().object(object).sees(op),
    };
    spin.row.push(Visit {
        site: event.site,
        op: event.op,
        ok: event.ok,
        result: event.result,
        word,
        print,
    });
}

/// The thread creates another, or ends: it has left the loop it was tried in.
pub(crate) fn leaves(task: &Task) {
    let spin = task.spin.borrow();
    if spin.probe.is_some() {
        let culprit = spin.row[0].site;
        drop(spin);
        begin_again(task, culprit);
    }
}

/// The thread saw something that no object holds, such as the time: what it does next may depend on it, so a round with it is
/// never the same as the one before.
pub(crate) fn disturbed(task: &Task) {
    leaves(task);
    task.spin.borrow_mut().row.clear();
}

impl Visit {
    fn event(&self, thread: ThreadId) -> Event {
        Event {
            thread,
            op: self.op,
            gate: Gate::Open,
            outcome: 0,
            outcomes: 1,
            ok: self.ok,
            result: self.result,
            after: None,
            access: [None, None],
            site: self.site,
            order: Orders::IMPLIED,
        }
    }

    fn seen(&self) -> (ObjectId, u64) {
        (
            self.op.object().expect("what polls has an object"),
            self.word,
        )
    }
}

/// Whether a round saw one word of each object.
fn steady(round: &[Visit]) -> bool {
    let differ = |a: &Visit, b: &Visit| a.seen().0 == b.seen().0 && a.word != b.word;
    !round
        .iter()
        .any(|visit| round.iter().any(|other| differ(visit, other)))
}

/// Whether a round begins outside of its sections: a thread that is parked inside would keep others out.
fn outside(round: &[Visit]) -> bool {
    let mut inside: Vec<ObjectId> = Vec::new();
    round.iter().all(|visit| {
        let object = visit.seen().0;
        if enters(visit.op) {
            inside.push(object);
        } else if exits(visit.op) {
            let entered = inside.iter().rposition(|other| *other == object);
            return entered.map(|place| inside.remove(place)).is_some();
        }
        true
    }) && inside.is_empty()
}

/// Whether a round can be tried now: nobody is in one of its sections or has changed what they look at.
fn untouched(task: &Task, round: &[Visit]) -> bool {
    let run = task.world().run.borrow();
    round.iter().all(|visit| {
        let object = run.state().object(visit.seen().0);
        let open = match object {
            Object::Mutex { holder, .. } => holder.is_none(),
            Object::RwLock { writer, .. } => writer.is_none(),
            // Of these it is served what it saw.
            _ => return true,
        };
        let looks = enters(visit.op) || matches!(visit.op, Op::Load(_));
        !looks || (open && !object.differs(visit.word))
    })
}

/// Parks the thread at the first operation of its round: the gate to announce that one with.
fn park(task: &Task, op: Op, site: Site) -> Gate {
    let row = std::mem::take(&mut task.spin.borrow_mut().row);
    // In the order of the round, which is the same in equivalent executions; numbers of objects are not.
    let mut seen: Vec<(ObjectId, u64)> = Vec::new();
    for visit in &row {
        if !seen.contains(&visit.seen()) {
            seen.push(visit.seen());
        }
    }
    let own = op.object().expect("what polls has an object");
    if let [(_, word)] = seen[..] {
        return Gate::Word(word);
    }
    let guess = perform_gated(task, Op::Any(seen.len() as u32), Gate::Open, site).result;
    let (object, word) = seen[guess as usize];
    seen.remove(guess as usize);
    let world = task.world();
    world.run.borrow_mut().watch(task.thread, seen);
    if object == own {
        return Gate::Word(word);
    }
    perform_gated(task, Op::Await(object, word), Gate::Word(word), site);
    Gate::Open
}

/// The site never parks; the execution is begun again with that knowledge.
#[cold]
fn begin_again(task: &Task, site: Site) -> ! {
    let world = task.world();
    world.never_park(site);
    world.restart.set(true);
    world.next.set(Some(Next::End(End::Redundant)));
    super::give_up()
}

/// Of the registers (saved at `frame`) and of the live stack above it.
fn print(task: &Task, frame: usize) -> u64 {
    let end = std::ptr::from_ref(task) as usize;
    let mut hash = frame as u64;
    let mut address = frame & !7;
    while address < end {
        // SAFETY: between the frame of the running operation and the task, which is at the bottom of the same stack. Words that are not
        // initialised are read as what lies there: volatile, so the compiler makes nothing of it.
        let word = unsafe { std::ptr::read_volatile(address as *const u64) };
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        address += 8;
    }
    hash
}

/// The gate of an operation that may time out: late, when it did so the last time and the thread has heard nothing of others since.
pub(crate) fn timed_gate(task: &Task, site: Site) -> Gate {
    let spin = task.spin.borrow();
    let Some(&(_, since)) = spin.late.iter().find(|(late, _)| *late == site) else {
        return Gate::Open;
    };
    match task.world().run.borrow_mut().heard(task.thread, since) {
        true => Gate::Open,
        false => Gate::Late,
    }
}

/// How an operation that may time out ended.
pub(crate) fn timed(task: &Task, event: &Event) {
    let mut spin = task.spin.borrow_mut();
    spin.late.retain(|(site, _)| *site != event.site);
    if !event.ok {
        let done = task.world().run.borrow().state().count(event.thread);
        spin.late.push((event.site, done));
    }
}
