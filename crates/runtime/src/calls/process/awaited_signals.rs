//! Signals from one thread to another, which has them blocked and waits for them, or finds them when it lets them through.
//!
//! A token of the model stands for "something came" and belongs to the thread that signals are for: to send is to leave it, to wait is to take it. A
//! thread learns what came only when it looks for the token, so that what it knows follows from its operations. Where a signal would
//! interrupt another thread anywhere, it is not under control.

use crate::{
    calls::{
        process::signals::{self, Own, bit, own},
        threads::{cancellation, lifecycle},
        time::clocks::{self, Deadline},
    },
    core::{call_sites, objects::Sort, operations::visible, world},
    hooks::{Frame, accesses},
    kernel::waits::{self, Ended},
    real, trampoline,
};
use core::{ffi::c_int, mem::MaybeUninit};
use libc::{siginfo_t as Info, sigset_t as Set, timespec};
use reweave_model::{Object, ObjectId, Op, Site, ThreadId};

trampoline! {
    sigwait => wait, "rdx";
    sigwaitinfo => wait_informed, "rdx";
    sigtimedwait => wait_limited, "rcx";
    sigsuspend => suspend, "rsi";
}

/// Of a run: signals for the whole process are for the first thread, and nobody else may be open to them.
#[derive(Default)]
pub struct State {
    /// Which were sent to the process.
    sent: u64,
    /// Which some other thread than the first waited for, or has let through at any time.
    open: u64,
}

impl State {
    pub fn clear(&mut self) {
        *self = State::default();
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.awaited
}

/// The token of a thread; it lies nowhere.
fn token(thread: ThreadId) -> ObjectId {
    const NOWHERE: usize = 0x7100_0000_0000;
    let world = world::get();
    let address = NOWHERE + 8 * world.threads[thread.index()].slot;
    world.object(address, 8, Sort::Signals, || Object::Parker(false))
}

/// Sends a signal to a thread; an error number.
pub fn to_thread(handle: libc::pthread_t, signal: c_int, site: Site) -> c_int {
    let Some(thread) = lifecycle::find(handle) else {
        return libc::ESRCH;
    };
    if signal != 0 {
        deposit(thread, signal, site);
    }
    0
}

/// Sends a signal to the process that the running thread has blocked.
pub fn to_process(signal: c_int, site: Site) {
    state().sent |= bit(signal);
    only_for_the_first(site);
    match world::get().current {
        ThreadId::MAIN => own().pending |= bit(signal),
        _ => deposit(ThreadId::MAIN, signal, site),
    }
}

fn deposit(thread: ThreadId, signal: c_int, site: Site) {
    let mut blocked = false;
    let mut leave = || {
        visible(Op::Unpark(token(thread)), site);
        let theirs = &mut world::get().threads[thread.index()].own_calls.signals;
        blocked = theirs.blocked & bit(signal) != 0;
        if blocked {
            theirs.sent |= bit(signal);
        }
    };
    match waits::used() {
        true => waits::post(token(thread), leave, site),
        false => leave(),
    }
    if blocked {
        return;
    }
    if signals::handled(signal) {
        world::get().unsupported("a signal that interrupts another thread", site);
    } else {
        signals::deliver(signal, site);
    }
}

/// A thread other than the first lets these through, or waits for them.
pub fn opened(signals: u64) {
    state().open |= signals;
}

/// The running thread does so: who of several would get one that is for the process is not under control.
fn open(signals: u64, site: Site) {
    if world::get().current != ThreadId::MAIN {
        opened(signals);
    }
    only_for_the_first(site);
}

fn only_for_the_first(site: Site) {
    if state().sent & state().open != 0 {
        world::get().unsupported("a signal to the process that several threads may get", site);
    }
}

/// The running thread looks what came, and what did not is not there.
pub fn look(site: Site) {
    let world = world::get();
    if world.races.alone(world.current) {
        return;
    }
    collect(site);
}

fn collect(site: Site) {
    let object = token(world::get().current);
    let timed = true;
    visible(Op::Park { object, timed }, site);
    own().collect();
}

/// The mask of the running thread changes from what it was.
pub fn masked(signals: u64, site: Site) {
    look(site);
    open(!signals, site);
}

/// Takes the first of these signals that there is; `None`: there was none until then. A cancellation point.
fn take(wanted: u64, until: Option<Deadline>, site: Site) -> Option<c_int> {
    open(wanted, site);
    let found = match waits::used() {
        true => await_or_go(wanted, until, site),
        false => await_some(wanted, until, site),
    };
    if !found {
        return None;
    }
    let signal = (own().pending & wanted).trailing_zeros() as c_int + 1;
    own().pending &= !bit(signal);
    Some(signal)
}

/// Waits until there is one of these signals, or for so long; whether there is one.
fn await_some(wanted: u64, until: Option<Deadline>, site: Site) -> bool {
    let object = token(world::get().current);
    if own().pending & wanted != 0 {
        look(site);
    }
    while own().pending & wanted == 0 {
        let timed = until.is_some();
        let op = Op::Park { object, timed };
        let came = match until {
            Some(until) => clocks::perform_until(op, until, site).ok,
            None => visible(op, site).ok,
        };
        if !came {
            return false;
        }
        own().collect();
    }
    true
}

/// The same, in a program that cancels threads.
fn await_or_go(wanted: u64, until: Option<Deadline>, site: Site) -> bool {
    let ready = || {
        collect(site);
        own().pending & wanted != 0
    };
    match waits::for_signals(token(world::get().current), ready, until, site) {
        Ended::Woken => true,
        Ended::Late => false,
        Ended::Cancelled => cancellation::go(),
    }
}

/// Takes one, and waits for as long as it takes.
fn take_any(wanted: u64, site: Site) -> c_int {
    take(wanted, None, site).expect("nobody gives up")
}

impl Own {
    /// Learns what was sent.
    fn collect(&mut self) {
        self.pending |= core::mem::take(&mut self.sent);
    }
}

unsafe fn bits(set: *const Set) -> u64 {
    // SAFETY: the program's own variable; the kernel has 64 signals.
    unsafe { set.cast::<u64>().read() }
}

/// Says which signal it is, where that is asked for.
unsafe fn tell(signal: c_int, info: *mut Info, frame: &Frame) {
    if info.is_null() {
        return;
    }
    accesses::range(info as usize, size_of::<Info>(), true, frame);
    // SAFETY: the program's own variable; all zeros are one.
    unsafe {
        let mut told = MaybeUninit::<Info>::zeroed().assume_init();
        told.si_signo = signal;
        told.si_code = libc::SI_TKILL;
        info.write(told);
    }
}

unsafe extern "C" fn wait(set: *const Set, signal: *mut c_int, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(sigwait: fn(*const Set, *mut c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(set, signal) };
    }
    let site = call_sites::site(&frame.return_address);
    // SAFETY: as above.
    let taken = take_any(unsafe { bits(set) }, site);
    accesses::range(signal as usize, size_of::<c_int>(), true, frame);
    // SAFETY: as above.
    unsafe { *signal = taken };
    0
}

unsafe extern "C" fn wait_informed(set: *const Set, info: *mut Info, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(sigwaitinfo: fn(*const Set, *mut Info) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(set, info) };
    }
    let site = call_sites::site(&frame.return_address);
    // SAFETY: as above.
    unsafe {
        let taken = take_any(bits(set), site);
        tell(taken, info, frame);
        taken
    }
}

unsafe extern "C" fn wait_limited(
    set: *const Set,
    info: *mut Info,
    limit: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sigtimedwait: fn(*const Set, *mut Info, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(set, info, limit) };
    }
    if limit.is_null() {
        // SAFETY: as above.
        return unsafe { wait_informed(set, info, frame) };
    }
    let site = call_sites::site(&frame.return_address);
    let Some(until) = Deadline::after(limit) else {
        return crate::core::operations::failed(libc::EINVAL);
    };
    // SAFETY: as above.
    unsafe {
        let Some(taken) = take(bits(set), Some(until), site) else {
            return crate::core::operations::failed(libc::EAGAIN);
        };
        tell(taken, info, frame);
        taken
    }
}

/// Waits until a handler has run. Until then the mask counts as what it was: what comes before this and what comes during it is the same.
unsafe extern "C" fn suspend(mask: *const Set, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sigsuspend: fn(*const Set) -> c_int)(mask) };
    }
    let site = call_sites::site(&frame.return_address);
    // SAFETY: as above.
    let open = !unsafe { bits(mask) };
    loop {
        let signal = take_any(open, site);
        let handled = signals::handled(signal);
        let before = own().blocked;
        own().blocked = !open;
        signals::deliver(signal, site);
        own().blocked = before;
        if handled {
            return crate::core::operations::failed(libc::EINTR);
        }
    }
}
