//! Calls about signals: actions, masks, alternate stacks, and sending. What they mean is in [`crate::kernel::signals`].

use crate::{
    calls::process::awaited_signals::bits,
    core::{
        families::{Birth, PointerVisitor},
        modules,
        per_thread::PerThread,
        trampoline::Frame,
    },
    kernel::{
        file_objects,
        signals::{self, action_object, bit, blocked, deliver_pending, send},
    },
    outside_run,
    run::{
        accesses, call_sites,
        operations::failed,
        processes,
        signal_actions::{self, MOST, action, default_action},
        spin, world,
    },
    shared::process_identity::process as own_process,
    trampoline,
};
use core::{
    ffi::{c_int, c_void},
    ptr,
};
use libc::{sigaction as Action, sigset_t as Set};
use reweave_model::Site;

trampoline! {
    sigaction => set_action, "rcx";
    signal => set_handler, "rdx";
    bsd_signal => set_handler, "rdx";
    ssignal => set_handler, "rdx";
    __sysv_signal => set_handler_once, "rdx";
    sysv_signal => set_handler_once, "rdx";
    siginterrupt => set_interrupt, "rdx";
    sigprocmask => process_mask, "rcx";
    pthread_sigmask => thread_mask, "rcx";
    sigpending => pending_signals, "rsi";
    sigaltstack => alternate_stack, "rdx";
    raise => raise_signal, "rsi";
    gsignal => raise_signal, "rsi";
    kill => kill_process, "rdx";
    pthread_kill => kill_thread, "rdx";
}

/// The stack on which the program would have a thread's handlers run, and its size. Handlers run where they are called, and the
/// kernel's own are the runtime's, so it is only remembered.
static ALTERNATE_STACKS: PerThread<Option<(usize, usize)>> = PerThread::new();

/// A flag of alternate stacks.
const AUTODISARM: c_int = 1 << 31;

/// A new run.
pub fn clear() {
    ALTERNATE_STACKS.clear();
    signal_actions::clear();
    signals::clear();
}

/// Passes the alternate stacks that the program has set.
pub fn each_kept(each: &mut PointerVisitor<'_>) {
    ALTERNATE_STACKS.each(|stack| {
        if let Some((place, _)) = stack {
            each(*place);
        }
    });
}

pub fn thread_begins(birth: &Birth) {
    ALTERNATE_STACKS.take_over_or_copy(birth);
}

/// # Safety
///
/// As `sigaction`: `new` and `old` are null or point to an action and to room for one.
unsafe extern "C" fn set_action(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
    frame: &Frame,
) -> c_int {
    outside_run!(sigaction: fn(signal: c_int, new: *const Action, old: *mut Action) -> c_int);
    let fixed = matches!(signal, libc::SIGKILL | libc::SIGSTOP) && !new.is_null();
    if !(1..=MOST).contains(&signal) || fixed {
        return failed(libc::EINVAL);
    }
    spin::disturbed();
    let site = call_sites::site(&frame.return_address);
    match new.is_null() {
        true => file_objects::look_at(action_object(signal), site),
        false => file_objects::touch(action_object(signal), site),
    }
    let before = action(signal);
    if !new.is_null() {
        accesses::range(new as usize, size_of::<Action>(), false, frame);
        // SAFETY: not null, so it points to an action, by this function's contract.
        signal_actions::set(signal, unsafe { *new });
        let default = action(signal).sa_sigaction == libc::SIG_DFL;
        if signal == libc::SIGCHLD && !default && processes::has_children() {
            world::borrow().note_unsupported("a handler for SIGCHLD", site);
        }
    }
    if !old.is_null() {
        accesses::range(old as usize, size_of::<Action>(), true, frame);
        // SAFETY: not null, so it points to room for an action, by this function's contract.
        unsafe { *old = before };
    }
    0
}

/// Sets a handler with these flags; the one before.
pub(super) fn install(signal: c_int, handler: usize, flags: c_int, frame: &Frame) -> usize {
    let mut new = default_action();
    let mut old = default_action();
    new.sa_sigaction = handler;
    new.sa_flags = flags;
    // SAFETY: `new` and `old` are locals that outlive the call.
    match unsafe { set_action(signal, &new, &mut old, frame) } {
        0 => old.sa_sigaction,
        _ => libc::SIG_ERR,
    }
}

extern "C" fn set_handler(signal: c_int, handler: usize, frame: &Frame) -> usize {
    install(signal, handler, libc::SA_RESTART, frame)
}

extern "C" fn set_handler_once(signal: c_int, handler: usize, frame: &Frame) -> usize {
    let flags = libc::SA_RESETHAND | libc::SA_NODEFER;
    install(signal, handler, flags, frame)
}

/// Nothing is ever interrupted.
extern "C" fn set_interrupt(signal: c_int, interrupts: c_int, _: &Frame) -> c_int {
    outside_run!(siginterrupt: fn(signal: c_int, interrupts: c_int) -> c_int);
    0
}

/// Sets the running thread's mask; an error number.
///
/// # Safety
///
/// `new` and `old` are null or point to a set and to room for one.
unsafe fn mask(how: c_int, new: *const Set, old: *mut Set, frame: &Frame) -> c_int {
    let site = modules::site(frame.return_address);
    let before = blocked();
    let mut after = before;
    if !new.is_null() {
        accesses::range(new as usize, size_of::<u64>(), false, frame);
        // SAFETY: not null, so it points to a set, by this function's contract.
        let set = unsafe { bits(new) };
        after = match how {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return libc::EINVAL,
        };
    }
    if !old.is_null() {
        // SAFETY: not null, so it points to room for a set, by this function's contract.
        unsafe { write_set(old, before, frame) };
    }
    change_mask(after, site);
    0
}

/// From now on the running thread blocks these signals.
pub(super) fn change_mask(after: u64, site: Site) {
    spin::disturbed();
    let after = after & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
    if after != blocked() {
        signals::set_mask(after, site);
    }
    deliver_pending(site);
}

/// Writes a set of signals to where the program wants it.
///
/// # Safety
///
/// `set` points to room for a `sigset_t`.
unsafe fn write_set(set: *mut Set, bits: u64, frame: &Frame) {
    accesses::range(set as usize, size_of::<Set>(), true, frame);
    // SAFETY: `set` has room for a set, which has at least eight bytes, by this function's contract.
    unsafe {
        ptr::write_bytes(set, 0, 1);
        *set.cast::<u64>() = bits;
    }
}

/// # Safety
///
/// As `sigprocmask`: `new` and `old` are null or point to a set and to room for one.
unsafe extern "C" fn process_mask(
    how: c_int,
    new: *const Set,
    old: *mut Set,
    frame: &Frame,
) -> c_int {
    outside_run!(sigprocmask: fn(how: c_int, new: *const Set, old: *mut Set) -> c_int);
    // SAFETY: `mask` has this function's contract.
    match unsafe { mask(how, new, old, frame) } {
        0 => 0,
        error => failed(error),
    }
}

/// # Safety
///
/// As `pthread_sigmask`: `new` and `old` are null or point to a set and to room for one.
unsafe extern "C" fn thread_mask(
    how: c_int,
    new: *const Set,
    old: *mut Set,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_sigmask: fn(how: c_int, new: *const Set, old: *mut Set) -> c_int);
    // SAFETY: `mask` has this function's contract.
    unsafe { mask(how, new, old, frame) }
}

/// # Safety
///
/// As `sigpending`: `set` points to room for a set.
unsafe extern "C" fn pending_signals(set: *mut Set, frame: &Frame) -> c_int {
    outside_run!(sigpending: fn(set: *mut Set) -> c_int);
    let site = call_sites::site(&frame.return_address);
    signals::look(site);
    let pending = signals::pending() | signals::pending_for_process(site);
    // SAFETY: `set` points to room for a set, by this function's contract.
    unsafe { write_set(set, pending, frame) };
    0
}

/// # Safety
///
/// As `sigaltstack`: `new` and `old` are null or point to a description of a stack and to room for one.
unsafe extern "C" fn alternate_stack(
    new: *const libc::stack_t,
    old: *mut libc::stack_t,
    frame: &Frame,
) -> c_int {
    outside_run!(sigaltstack: fn(new: *const libc::stack_t, old: *mut libc::stack_t) -> c_int);
    let me = world::borrow().current;
    let before = ALTERNATE_STACKS.with(me, |stack| *stack);
    if !new.is_null() {
        // SAFETY: not null, so it points to a description of a stack, by this function's contract.
        let new = unsafe { *new };
        let none = new.ss_flags & libc::SS_DISABLE != 0;
        if new.ss_flags & !(libc::SS_DISABLE | libc::SS_ONSTACK | AUTODISARM) != 0 {
            return failed(libc::EINVAL);
        }
        if !none && new.ss_size < libc::MINSIGSTKSZ {
            return failed(libc::ENOMEM);
        }
        spin::disturbed();
        let stack = (!none).then_some((new.ss_sp as usize, new.ss_size));
        ALTERNATE_STACKS.with(me, |known| *known = stack);
    }
    if !old.is_null() {
        accesses::range(old as usize, size_of::<libc::stack_t>(), true, frame);
        let (place, bytes) = before.unwrap_or_default();
        let answer = libc::stack_t {
            ss_sp: place as *mut c_void,
            ss_flags: before.map_or(libc::SS_DISABLE, |_| 0),
            ss_size: bytes,
        };
        // SAFETY: not null, so it points to room for a description, by this function's contract.
        unsafe { *old = answer };
    }
    0
}

extern "C" fn raise_signal(signal: c_int, frame: &Frame) -> c_int {
    outside_run!(raise: fn(signal: c_int) -> c_int);
    if !(0..=MOST).contains(&signal) {
        return failed(libc::EINVAL);
    }
    send(signal, call_sites::site(&frame.return_address));
    0
}

extern "C" fn kill_process(process: c_int, signal: c_int, frame: &Frame) -> c_int {
    outside_run!(kill: fn(process: c_int, signal: c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    if !(0..=MOST).contains(&signal) {
        return failed(libc::EINVAL);
    }
    let several = !processes::all().is_empty();
    if process != own_process() && (process != 0 || several) {
        world::unsupported("kill of another process", site);
    }
    if signal != 0 && blocked() & bit(signal) != 0 {
        signals::to_process(signal, site);
    } else {
        send(signal, site);
    }
    0
}

/// # Safety
///
/// As `pthread_kill`: outside of runs, `handle` is that of a thread.
unsafe extern "C" fn kill_thread(handle: libc::pthread_t, signal: c_int, frame: &Frame) -> c_int {
    outside_run!(pthread_kill: fn(handle: libc::pthread_t, signal: c_int) -> c_int);
    let site = call_sites::site(&frame.return_address);
    if !(0..=MOST).contains(&signal) {
        return libc::EINVAL;
    }
    let own_handle = world::borrow().me().handle;
    if own_handle == handle as usize {
        send(signal, site);
        return 0;
    }
    signals::to_thread(handle, signal, site)
}
