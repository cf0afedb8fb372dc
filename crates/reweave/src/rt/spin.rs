//! Loops that only wait for other threads, in Rust tests.
//!
//! *Decides:* how a fingerprint of a thread is taken, and whether a loop whose round repeats is endless. When a round repeats, and how a thread
//! is parked, is decided by [`reweave_conduct::parking`]. *Called by:* the runtime before and after each operation. *Owns:* the row of polls of
//! a thread and the trial of its loop, in its task.
//!
//! When a round repeats it will do so for ever, unless memory that is not on the stack counts the rounds. So the loop is tried: it runs on for
//! [`PROBE_ROUNDS`] rounds, alone, with the results it had before; these rounds are no events. If it leaves the loop or its stack changes, the
//! site is remembered as one that never parks, and the execution is restarted. Otherwise the thread is parked.
//!
//! *Locks.* A round may take locks if what they protect is only looked at: a mutex whose guard was never dereferenced mutably, a read lock. Such a
//! round is tried with the real data, so only when no other thread is inside or has changed it. Otherwise the thread is parked untried, which is
//! harmless: it can go as soon as the other has left, if that changed anything.
//!
//! *Limits.*
//! 1. A loop that counts in heap memory and leaves only after more rounds is parked though it should not be.
//! 2. Interior mutability under a lock (`Mutex<Cell<..>>`) is not seen: a section that changes data so counts as one that only looks. If the loop
//!    itself does, the trial mostly finds out; if another thread does, a parked loop is not woken by it, and a livelock may be reported that is
//!    none.
//! 3. A loop that takes its guard mutably in each round (`queue.lock().unwrap().pop()`, a write lock) or gets it by `try_lock` may change
//!    something; it ends at the limit on steps.
//! 4. The rounds of a parked loop are not there for others to run into: a `try_lock` that fails because of the third or a later round of such a loop is
//!    explored only as failing because of an earlier one.

use super::{Task, World, perform_gated, poll::Frame};
use reweave_conduct::{
    Next, Round,
    parking::{self, Fingerprint, Polls, Waiter},
};
use reweave_model::{End, Event, Gate, Object, ObjectId, Op, Orders, Site, ThreadId};

/// How long a loop must run on unchanged before it is taken for endless. A thousand rounds the first time would cost a check of three
/// executions 25 us with an atomic and 58 us with a mutex, two and three times what it takes now.
const PROBE_ROUNDS: u32 = 200;

/// The polls of one thread.
#[derive(Default)]
pub(crate) struct Spin {
    polls: Polls<Print>,
    probe: Option<Probe>,
}

/// A hash of registers and live stack.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Print(u64);

impl Fingerprint for Print {
    // Plain writes are not seen; only a guard knows that it was dereferenced mutably.
    const SEES_WRITES: bool = false;
}

/// A loop that is being tried: its round is the row.
struct Probe {
    /// The next operation in the row, if the loop goes on.
    place: usize,
    rounds: u32,
    print: Print,
    clock_ns: u64,
}

impl Probe {
    fn new(task: &Task, round: &[Visit], print: Print) -> Probe {
        Probe {
            place: 1 % round.len(),
            rounds: 1,
            print,
            clock_ns: task.world().run.borrow().time_ns(task.thread),
        }
    }
}

type Visit = parking::Visit<Print>;

/// What to do with an operation.
pub(crate) enum Before {
    /// Announce it with this gate.
    Go(Gate),
    /// It was answered without an event.
    Served(Event),
}

/// Before an operation is announced.
#[inline]
pub(crate) fn before(task: &Task, op: Op, site: Site, frame: Option<&Frame>) -> Before {
    let spin = task.spin.borrow();
    if spin.polls.row().is_empty() && !(frame.is_some() && task.world().takes_back.get()) {
        return Before::Go(Gate::Open);
    }
    if frame.is_none() && spin.probe.is_none() {
        return Before::Go(Gate::Open);
    }
    let tried = spin.probe.is_some();
    drop(spin);
    match (tried, frame) {
        (true, frame) => go_on_trying(task, op, site, frame),
        (false, Some(frame)) => revisit(task, op, site, frame),
        (false, None) => Before::Go(Gate::Open),
    }
}

/// The loop of the thread is being tried, and comes to this operation.
#[inline(never)]
fn go_on_trying(task: &Task, op: Op, site: Site, frame: Option<&Frame>) -> Before {
    let mut spin = task.spin.borrow_mut();
    let Spin { polls, probe } = &mut *spin;
    let trial = probe.as_mut().expect("the loop is being tried");
    let expected = polls.row()[trial.place];
    if (expected.site, expected.op) != (site, op) {
        drop(spin);
        leaves(task);
        return Before::Go(Gate::Open);
    }
    if trial.place == 0 {
        trial.rounds += 1;
        if trial.rounds > PROBE_ROUNDS {
            let same = frame.is_some_and(|frame| fingerprint(task, frame.start()) == trial.print);
            let (clock_ns, print) = (trial.clock_ns, trial.print);
            *probe = None;
            drop(spin);
            if !same {
                restart(task, site);
            }
            let mut run = task.world().run.borrow_mut();
            run.restore_clock(task.thread, clock_ns);
            drop(run);
            return Before::Go(match expected.timed() {
                true => cut(task, op, site, print),
                false => park(task, op, site),
            });
        }
    }
    trial.place = (trial.place + 1) % polls.row().len();
    Before::Served(event(&expected, task.thread))
}

#[inline(never)]
fn revisit(task: &Task, op: Op, site: Site, frame: &Frame) -> Before {
    let mut spin = task.spin.borrow_mut();
    let Spin { polls, probe } = &mut *spin;
    let takes_back = task.world().takes_back.get();
    let mut now = None;
    let take = || *now.insert(fingerprint(task, frame.start()));
    let begins = polls.row().is_empty();
    let start = match takes_back {
        true => polls.again(op, site, take),
        false => polls.revisit(op, site, take),
    };
    if takes_back {
        task.world().round_may_begin(task.thread, begins);
    }
    let Some(start) = start else {
        return Before::Go(Gate::Open);
    };
    if takes_back && !polls.waits_in(start) {
        let run = task.world().run.borrow();
        if !run.only_looked(task.thread, polls.row().len() - start) {
            return Before::Go(Gate::Open);
        }
    }
    let print = now.expect("taken to find that the round repeats");
    if task.world().never_parks(site) {
        return Before::Go(Gate::Open);
    }
    polls.keep_round(start);
    let round = polls.row();
    if !untouched(task, round) {
        drop(spin);
        return Before::Go(park(task, op, site));
    }
    let first = round[0];
    *probe = Some(Probe::new(task, round, print));
    Before::Served(event(&first, task.thread))
}

/// Before an operation is announced that may time out.
pub(crate) fn before_timed(task: &Task, op: Op, site: Site, frame: &Frame) -> Before {
    if task.spin.borrow().probe.is_some() {
        return go_on_trying(task, op, site, Some(frame));
    }
    let mut spin = task.spin.borrow_mut();
    let Spin { polls, probe } = &mut *spin;
    let mut now = None;
    let take = || Some(*now.insert(fingerprint(task, frame.start())));
    let start = polls.timed(op, site, take);
    let repeats = start.filter(|_| !task.world().never_parks(site));
    let (Some(start), Some(print)) = (repeats, now) else {
        drop(spin);
        return Before::Go(gate(task, op, site, false));
    };
    polls.keep_round(start);
    let round = polls.row();
    if !untouched(task, round) {
        drop(spin);
        return Before::Go(cut(task, op, site, print));
    }
    let first = round[0];
    *probe = Some(Probe::new(task, round, print));
    Before::Served(event(&first, task.thread))
}

/// The gate of an operation that may time out.
fn gate(task: &Task, op: Op, site: Site, repeats: bool) -> Gate {
    let mut run = task.world().run.borrow_mut();
    run.timed_gate(task.thread, op, site, repeats)
}

/// The gate of an operation that may time out, in a round that repeats.
fn cut(task: &Task, op: Op, site: Site, print: Print) -> Gate {
    let mut spin = task.spin.borrow_mut();
    spin.polls.resume(Some(print));
    drop(spin);
    gate(task, op, site, true)
}

/// The operation that is performed next may time out, or decides whether a wait ends spuriously, and is known by `key`.
pub(crate) fn may_time_out(task: &Task, key: Op) {
    task.spin.borrow_mut().polls.may_time_out(key);
}

/// The wait that is performed next releases its mutex after a section that changed nothing.
pub(crate) fn waits_clean(task: &Task) {
    let mut spin = task.spin.borrow_mut();
    if spin.probe.is_none() {
        spin.polls.waits_clean();
    }
}

/// After an operation was done.
#[inline]
pub(crate) fn after(task: &Task, world: &World, event: &Event) {
    let run = world.run.borrow();
    task.spin.borrow_mut().polls.record(event, run.state());
}

/// The thread creates another, or ends: it has left the loop it was tried in.
pub(crate) fn leaves(task: &Task) {
    let spin = task.spin.borrow();
    if spin.probe.is_some() {
        let culprit = spin.polls.row()[0].site;
        drop(spin);
        restart(task, culprit);
    }
}

/// The thread saw something that no object holds, such as the time: what it does next may depend on it, so a round with it is
/// never the same as the one before.
pub(crate) fn disturbed(task: &Task) {
    leaves(task);
    task.spin.borrow_mut().polls.clear_row();
}

/// What a visit looks like as an event.
fn event(visit: &Visit, thread: ThreadId) -> Event {
    Event {
        thread,
        op: visit.op,
        gate: Gate::Open,
        outcome: 0,
        outcomes: 1,
        ok: visit.ok,
        result: visit.result,
        after: None,
        access: [None, None],
        site: visit.site,
        order: Orders::IMPLIED,
    }
}

/// Whether a round can be tried now: no other thread is in one of its sections or has changed what they look at.
fn untouched(task: &Task, round: &[Visit]) -> bool {
    let run = task.world().run.borrow();
    round.iter().enumerate().all(|(place, visit)| {
        let object = run.state().object(visit.seen().0);
        let open = match object {
            Object::Mutex { holder, .. } => holder.is_none(),
            Object::RwLock { writer, .. } => writer.is_none(),
            // Of these it is served what it saw.
            _ => return true,
        };
        let looks = matches!(visit.op, Op::Lock(_) | Op::ReadLock(_) | Op::Load(_));
        // The thread's own waits have released the mutex since.
        let waits = round[place..].iter();
        let waits = waits.filter(|wait| wait.op.mutex() == Some(visit.seen().0));
        let own = waits.count() as u64;
        !looks || (open && !object.differs(visit.word_after(own)))
    })
}

/// Parks the thread at the first operation of its round, which is the row: the gate to announce that one with.
fn park(task: &Task, op: Op, site: Site) -> Gate {
    let mut spin = task.spin.borrow_mut();
    if task.world().takes_back.get() {
        let count = spin.polls.row().len();
        let round = task.world().take_back(task.thread, count);
        if round != Round::Stays {
            if round == Round::TakenBack {
                spin.polls.clear_row();
            }
            return Gate::Open;
        }
    }
    drop(spin);
    // It goes on with no fingerprint: what a wake-up changes outside of the stack is not seen.
    let (_, seen) = task.spin.borrow_mut().polls.take_round(0);
    parking::park(op, seen, &mut Parked { task, site })
}

/// A thread that is being parked here.
struct Parked<'a> {
    task: &'a Task,
    site: Site,
}

impl Waiter for Parked<'_> {
    fn perform(&mut self, op: Op, gate: Gate) -> u64 {
        perform_gated(self.task, op, gate, self.site).result
    }

    fn watch(&mut self, words: Vec<(ObjectId, u64)>) {
        let mut run = self.task.world().run.borrow_mut();
        run.watch(self.task.thread, words);
    }
}

/// The site never parks; the execution is restarted with that knowledge.
#[cold]
fn restart(task: &Task, site: Site) -> ! {
    let world = task.world();
    world.never_park(site);
    world.restart.set(true);
    world.next.set(Some(Next::End(End::Redundant)));
    super::give_up()
}

/// Of the registers (saved at `frame`) and of the live stack above it.
fn fingerprint(task: &Task, frame: usize) -> Print {
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
    Print(hash)
}
