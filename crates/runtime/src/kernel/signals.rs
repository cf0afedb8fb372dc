//! Signals that the program sends to itself: masks, pending signals, delivery, and waits for signals.
//!
//! The kernel never learns of any of this: its own signals are for the runtime. A signal that a thread sends to itself is
//! delivered at once, as a call of the handler, or stays pending while it is blocked. Signals from outside, and signals that
//! would interrupt another thread at any place, are not under control.
//!
//! A thread may send signals to another one that has them blocked, and that waits for them or unblocks them later. A token of the
//! model stands for "something came" and belongs to the receiver: to send is to leave it ([`Op::Unpark`]), to wait is to take it
//! ([`Op::Park`]). A thread learns what came only when it looks for the token, so what it knows follows from its operations.
//!
//! Used by the calls in `calls/process/signals.rs` and `calls/process/awaited_signals.rs`, and by long jumps, which restore masks.

use crate::{
    core::{
        cell::{self, ASIDE, RunValue},
        families::Birth,
        objects::Sort,
        per_process::{PerProcess, ProcessChange},
        per_thread::PerThread,
        signal_names::SignalName,
    },
    kernel::{
        file_objects::{self, Whole},
        ordering::alone,
        waits::{self, Ended},
    },
    run::{
        cancellation,
        operations::visible,
        process_end, processes, rules,
        signal_actions::{self, action, handled},
        thread_end, world,
    },
    shared::deadlines::{self, Deadline},
};
use alloc::format;
use core::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
};
use reweave_model::{Identity, Kind, Object, ObjectId, Op, Site, ThreadId};
use reweave_wire::Rule;

/// Signals of a thread, a bit for each.
#[derive(Clone, Copy, Default)]
struct ThreadSignals {
    blocked: u64,
    pending: u64,
    /// Sent by other threads; the thread does not know yet.
    sent: u64,
}

static THREADS: PerThread<ThreadSignals, ASIDE> = PerThread::new();

/// Signals to the whole process. They are for the first thread, and no other thread may be open to them.
#[derive(Clone, Copy)]
struct ProcessSignals {
    /// Those that were sent to the process.
    sent: u64,
    /// Those of them that the first thread has not taken yet.
    pending: u64,
    /// Those that another thread than the first waited for, or had unblocked at any time.
    open: u64,
}

const QUIET: ProcessSignals = ProcessSignals {
    sent: 0,
    pending: 0,
    open: 0,
};

static PROCESS: PerProcess<ProcessSignals, ASIDE> = PerProcess::new(QUIET);

/// A process forks, goes on or is gone. Nothing is pending for a new one.
pub fn process_changes(change: ProcessChange) {
    PROCESS.change(change);
    if matches!(change, ProcessChange::Fork { .. }) {
        *PROCESS.borrow() = QUIET;
    }
}

/// A new run.
pub fn clear() {
    THREADS.clear();
    *PROCESS.borrow() = QUIET;
}

/// The mask that the next thread begins with; `None`: its creator's.
static NEXT_MASK: RunValue<Option<u64>> = RunValue::new(None);

/// The next thread that begins has this mask.
pub fn begin_with(mask: Option<u64>) {
    if mask.is_some() {
        cell::changed();
    }
    NEXT_MASK.set(mask);
}

/// What a state holds of the masks of all threads and what is pending.
pub fn identify(out: &mut Identity) {
    THREADS.identify(out);
    let process = PROCESS.borrow();
    out.word(process.sent);
    out.word(process.pending);
    out.word(process.open);
}

/// A thread has its creator's mask, or the one that it was created with.
pub fn thread_begins(birth: &Birth) {
    let mask = NEXT_MASK.get();
    NEXT_MASK.set(None);
    if birth.again {
        // `exec` keeps what is blocked and what is pending.
        return;
    }
    if THREADS.take_over_or_copy(birth) {
        if birth.forked {
            THREADS.with(birth.child, |child| (child.pending, child.sent) = (0, 0));
        }
        return;
    }
    if let Some(parent) = birth.parent {
        let blocked = THREADS.with(parent, |parent| parent.blocked);
        let blocked = mask.unwrap_or(blocked);
        THREADS.with(birth.child, |child| child.blocked = blocked);
    }
}

/// Uses the running thread's signals. The closure must not switch threads.
fn own<R>(what: impl FnOnce(&mut ThreadSignals) -> R) -> R {
    let me = world::borrow().current;
    THREADS.with(me, what)
}

/// The bit of a signal.
pub fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// What the running thread blocks.
pub fn blocked() -> u64 {
    own(|own| own.blocked)
}

/// What is pending for the running thread, as far as it knows.
pub fn pending() -> u64 {
    own(|own| own.pending)
}

/// What is pending for the process as a whole, which every thread can see.
pub fn pending_for_process(site: Site) -> u64 {
    let me = world::borrow().current;
    if me != processes::main_of_current() && !alone() {
        rules::needs(Rule::Pending);
    }
    if rules::holds(Rule::Pending) {
        file_objects::look_at(file_objects::PENDING, site);
    }
    let process = PROCESS.borrow().pending;
    // To send a signal to the process is two steps. The first thread must not see the first one and miss the second one.
    while me == processes::main_of_current() && process & !pending() != 0 {
        let object = own_token();
        let timed = false;
        visible(Op::Park { object, timed }, site);
        learn();
    }
    process
}

/// Other signals are about to be pending for the process.
fn pending_changes(site: Site, change: impl FnOnce(u64) -> u64) {
    if rules::holds(Rule::Pending) {
        file_objects::touch(file_objects::PENDING, site);
    }
    let mut process = *PROCESS.borrow();
    process.pending = change(process.pending);
    *PROCESS.borrow() = process;
}

/// The running thread has taken a signal that was pending.
fn taken(signal: c_int, site: Site) {
    let me = world::borrow().current;
    if me == processes::main_of_current() && PROCESS.borrow().pending & bit(signal) != 0 {
        pending_changes(site, |pending| pending & !bit(signal));
    }
}

/// The running thread blocks these from now on, as a long jump has it: others do not come to know.
pub fn block(mask: u64, site: Site) {
    own(|own| own.blocked = mask);
    deliver_pending(site);
}

/// The running thread sets another mask.
pub fn set_mask(mask: u64, site: Site) {
    look(site);
    open(!mask, site);
    own(|own| own.blocked = mask);
}

/// The running thread gets a signal; 0 is none.
pub fn send(signal: c_int, site: Site) {
    if signal == 0 {
        return;
    }
    let kept = own(|own| {
        let kept = own.blocked & bit(signal) != 0;
        if kept {
            own.pending |= bit(signal);
        }
        kept
    });
    if !kept {
        deliver(signal, site);
    }
}

/// Sends a signal to a thread; an error number.
pub fn to_thread(handle: libc::pthread_t, signal: c_int, site: Site) -> c_int {
    let Some(thread) = thread_end::find(handle) else {
        return libc::ESRCH;
    };
    if signal != 0 {
        deposit(thread, signal, site);
    }
    0
}

/// Sends a signal to the process that the running thread has blocked.
pub fn to_process(signal: c_int, site: Site) {
    let mut process = *PROCESS.borrow();
    process.sent |= bit(signal);
    *PROCESS.borrow() = process;
    only_for_the_first(site);
    pending_changes(site, |pending| pending | bit(signal));
    let me = world::borrow().current;
    let first = processes::main_of_current();
    match me == first {
        true => own(|own| own.pending |= bit(signal)),
        false => deposit(first, signal, site),
    }
}

/// The token of a thread; it lies nowhere in memory.
fn token(thread: ThreadId) -> ObjectId {
    const NOWHERE: usize = 0x7100_0000_0000;
    let mut world = world::borrow();
    let address = NOWHERE + 8 * world.threads[thread.index()].slot;
    world.object(address, 8, Sort::Signals, || Object::Parker(false))
}

fn own_token() -> ObjectId {
    let me = world::borrow().current;
    token(me)
}

/// Leaves a signal for another thread.
fn deposit(thread: ThreadId, signal: c_int, site: Site) {
    let mut blocked = false;
    let mut leave = || {
        visible(Op::Unpark(token(thread)), site);
        blocked = THREADS.with(thread, |theirs| {
            let blocked = theirs.blocked & bit(signal) != 0;
            if blocked {
                theirs.sent |= bit(signal);
            }
            blocked
        });
    };
    match waits::used() {
        true => waits::post(token(thread), leave, site),
        false => leave(),
    }
    if blocked {
        return;
    }
    if handled(signal) {
        world::unsupported("a signal that interrupts another thread", site);
    } else {
        deliver(signal, site);
    }
}

/// A thread other than the first has these unblocked, or waits for them.
pub fn opened(signals: u64) {
    let mut process = *PROCESS.borrow();
    process.open |= signals;
    *PROCESS.borrow() = process;
}

/// The running thread unblocks these or waits for them. Which of several threads gets a signal to the process is not under
/// control.
fn open(signals: u64, site: Site) {
    let me = world::borrow().current;
    if me != processes::main_of_current() {
        opened(signals);
    }
    only_for_the_first(site);
}

fn only_for_the_first(site: Site) {
    let process = *PROCESS.borrow();
    if process.sent & process.open != 0 {
        world::unsupported("a signal to the process that several threads may get", site);
    }
}

/// The running thread looks what was sent to it.
pub fn look(site: Site) {
    let alone = {
        let world = world::borrow();
        world.races.alone(world.current)
    };
    if !alone {
        collect(site);
    }
}

/// Takes the token, if it is there, and learns what was sent.
fn collect(site: Site) {
    let object = own_token();
    let timed = true;
    visible(Op::Park { object, timed }, site);
    learn();
}

/// What was sent to the running thread is pending from now on.
fn learn() {
    own(|own| own.pending |= core::mem::take(&mut own.sent));
}

/// Takes the first of these signals that is pending; `None`: there was none until the deadline. A cancellation point.
pub fn take(wanted: u64, until: Option<Deadline<'_>>, site: Site) -> Option<c_int> {
    open(wanted, site);
    let found = match waits::used() {
        true => await_or_leave(wanted, until, site),
        false => await_some(wanted, until, site),
    };
    found.then(|| {
        let signal = own(|own| {
            let signal = (own.pending & wanted).trailing_zeros() as c_int + 1;
            own.pending &= !bit(signal);
            signal
        });
        taken(signal, site);
        signal
    })
}

/// As [`take`], without a deadline.
pub fn take_any(wanted: u64, site: Site) -> c_int {
    take(wanted, None, site).expect("a wait without a deadline ends with a signal")
}

/// Waits until one of these signals is pending, or until the deadline; whether one is.
fn await_some(wanted: u64, until: Option<Deadline<'_>>, site: Site) -> bool {
    refuse_children(wanted, site);
    let object = own_token();
    if pending() & wanted != 0 {
        look(site);
    }
    while pending() & wanted == 0 {
        let timed = until.is_some();
        let op = Op::Park { object, timed };
        let came = match until {
            Some(until) => deadlines::perform_until(op, until, site).ok,
            None => visible(op, site).ok,
        };
        if !came {
            return false;
        }
        learn();
    }
    true
}

/// As [`await_some`], in a program that cancels threads.
fn await_or_leave(wanted: u64, until: Option<Deadline<'_>>, site: Site) -> bool {
    refuse_children(wanted, site);
    let ready = || {
        collect(site);
        pending() & wanted != 0
    };
    match waits::for_signals(own_token(), ready, until, site) {
        Ended::Woken => true,
        Ended::Late => false,
        Ended::Cancelled => cancellation::go(),
    }
}

/// Waits until a handler has run, with another mask. Until then the old mask counts: it makes no difference whether a signal
/// comes before this call or during it.
pub fn suspend(mask: u64, site: Site) {
    let open = !mask;
    loop {
        let signal = take_any(open, site);
        let has_handler = handled(signal);
        let before = own(|own| core::mem::replace(&mut own.blocked, mask));
        deliver(signal, site);
        own(|own| own.blocked = before);
        if has_handler {
            return;
        }
    }
}

/// Delivers what is pending for the running thread and not blocked.
pub fn deliver_pending(site: Site) {
    let next = || {
        own(|own| {
            let ready = own.pending & !own.blocked;
            let signal = (ready != 0).then(|| ready.trailing_zeros() as c_int + 1)?;
            own.pending &= !bit(signal);
            Some(signal)
        })
    };
    while let Some(signal) = next() {
        taken(signal, site);
        deliver(signal, site);
    }
}

/// The object that stands for what is done about a signal.
pub fn action_object(signal: c_int) -> usize {
    Whole::Actions as usize + signal as usize
}

/// Does what the program wants done about a signal.
pub fn deliver(signal: c_int, site: Site) {
    file_objects::look_at(action_object(signal), site);
    let action = action(signal);
    match action.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL => by_default(signal, site),
        handler => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                signal_actions::set(signal, signal_actions::default_action());
            }
            // SAFETY: a set of signals is at least eight bytes, of which the kernel uses the first eight.
            let mut blocks = unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
            if action.sa_flags & libc::SA_NODEFER == 0 {
                blocks |= bit(signal);
            }
            let before = own(|own| {
                let before = own.blocked;
                own.blocked |= blocks;
                before
            });
            // SAFETY: the program registered the handler, with these flags. No borrow is alive.
            unsafe { call(handler, signal, action.sa_flags) };
            own(|own| own.blocked = before);
            deliver_pending(site);
        }
    }
}

/// Calls a handler of the program.
///
/// # Safety
///
/// `handler` is a function that takes a signal, or three arguments if the flags have `SA_SIGINFO`.
unsafe fn call(handler: usize, signal: c_int, flags: c_int) {
    // SAFETY: the handler has the type that its flags say, by this function's contract; all zeros are a value of `siginfo_t`,
    // which is made of numbers and pointers.
    unsafe {
        if flags & libc::SA_SIGINFO == 0 {
            let handler: extern "C" fn(c_int) = core::mem::transmute(handler);
            return handler(signal);
        }
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed().assume_init();
        info.si_signo = signal;
        info.si_code = libc::SI_TKILL;
        let mut context = MaybeUninit::<libc::ucontext_t>::zeroed();
        type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        let handler: Handler = core::mem::transmute(handler);
        handler(signal, &mut info, context.as_mut_ptr().cast());
    }
}

/// Whether a signal says that the program is wrong.
fn is_fault(signal: c_int) -> bool {
    matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGFPE | libc::SIGILL | libc::SIGTRAP | libc::SIGSYS
    )
}

/// The running thread waits for signals. Those that the ends of children send are not under control.
fn refuse_children(wanted: u64, site: Site) {
    if wanted & bit(libc::SIGCHLD) != 0 && processes::has_children() {
        world::unsupported("waiting for SIGCHLD", site);
    }
}

fn by_default(signal: c_int, site: Site) {
    match signal {
        libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH => {}
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
            world::unsupported("a signal that stops the process", site)
        }
        libc::SIGABRT => process_end::fail(Kind::Assertion, "abort was called".into(), site),
        // What ends a forked process is for its parent to see.
        _ if !processes::current().is_first() && !is_fault(signal) => {
            process_end::die(signal, site)
        }
        _ => {
            let message = format!("the program was ended by {}", SignalName(signal));
            process_end::fail(Kind::Crash, message, site)
        }
    }
}

/// `abort` is about to end the running thread: the program's handler runs first.
pub fn before_abort(site: Site) {
    if handled(libc::SIGABRT) {
        deliver(libc::SIGABRT, site);
    }
}
