//! Signals that a program sends to itself. What it does about them is kept here and never told to the kernel, whose signals are for the
//! runtime; signals from outside are not under control. Those to other threads are in [`crate::calls::process::awaited_signals`].

use crate::{
    calls::process::{awaited_signals, process_end, system_info},
    core::{call_sites, spin, world},
    hooks::{Frame, accesses},
    kernel::file_objects::{self, Whole},
    real, trampoline,
};
use alloc::{format, vec::Vec};
use core::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    ptr,
};
use libc::{sigaction as Action, sigset_t as Set};
use reweave_model::{Kind, Site};

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
    kill => kill_process, "rdx";
    pthread_kill => kill_thread, "rdx";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// By number; what is not there is as it was before `main`.
    actions: Vec<Option<Action>>,
}

impl State {
    pub fn clear(&mut self) {
        self.actions.clear();
    }
}

/// Of a thread, a bit for each signal.
#[derive(Default)]
pub struct Own {
    pub(crate) blocked: u64,
    pub(crate) pending: u64,
    /// By other threads, and not yet found.
    pub(crate) sent: u64,
    /// Where the program would have handlers run, and how large that is.
    stack: Option<(usize, usize)>,
}

impl Own {
    /// Of a thread that this one creates.
    pub fn child(&self) -> Own {
        Own {
            blocked: self.blocked,
            ..Own::default()
        }
    }
}

const MOST: c_int = 64;
/// A flag of alternate stacks.
const AUTODISARM: c_int = 1 << 31;

pub(crate) fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// What the program does about a signal.
fn action(signal: c_int) -> Action {
    let actions = &world::get().calls.signals.actions;
    if let Some(Some(action)) = actions.get(signal as usize) {
        return *action;
    }
    // SAFETY: all zeros mean the default; asks the kernel what was set before `main`.
    unsafe {
        let mut before = MaybeUninit::<Action>::zeroed().assume_init();
        if !crate::core::faults::catches(signal) {
            real!(sigaction: fn(c_int, *const Action, *mut Action) -> c_int)(
                signal,
                ptr::null(),
                &mut before,
            );
        }
        before
    }
}

/// Whether the program wants to deal with a signal itself.
pub fn handled(signal: c_int) -> bool {
    let handler = action(signal).sa_sigaction;
    handler != libc::SIG_DFL && handler != libc::SIG_IGN
}

unsafe extern "C" fn set_action(
    signal: c_int,
    new: *const Action,
    old: *mut Action,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sigaction: fn(c_int, *const Action, *mut Action) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(signal, new, old) };
    }
    let fixed = matches!(signal, libc::SIGKILL | libc::SIGSTOP) && !new.is_null();
    if !(1..=MOST).contains(&signal) || fixed {
        return crate::core::operations::failed(libc::EINVAL);
    }
    spin::disturbed();
    let site = call_sites::site(&frame.return_address);
    match new.is_null() {
        true => file_objects::look_at(actions_of(signal), site),
        false => file_objects::touch(actions_of(signal), site),
    }
    let before = action(signal);
    if !new.is_null() {
        let actions = &mut world::get().calls.signals.actions;
        if actions.is_empty() {
            actions.resize(MOST as usize + 1, None);
        }
        // SAFETY: the program's own variable.
        actions[signal as usize] = Some(unsafe { *new });
    }
    if !old.is_null() {
        accesses::range(old as usize, size_of::<Action>(), true, frame);
        // SAFETY: as above.
        unsafe { *old = before };
    }
    0
}

unsafe fn install(signal: c_int, handler: usize, flags: c_int, frame: &Frame) -> usize {
    // SAFETY: all zeros are an action; both are locals.
    unsafe {
        let mut new = MaybeUninit::<Action>::zeroed().assume_init();
        let mut old = MaybeUninit::<Action>::zeroed().assume_init();
        new.sa_sigaction = handler;
        new.sa_flags = flags;
        match set_action(signal, &new, &mut old, frame) {
            0 => old.sa_sigaction,
            _ => libc::SIG_ERR,
        }
    }
}

unsafe extern "C" fn set_handler(signal: c_int, handler: usize, frame: &Frame) -> usize {
    // SAFETY: as the call itself.
    unsafe { install(signal, handler, libc::SA_RESTART, frame) }
}

unsafe extern "C" fn set_handler_once(signal: c_int, handler: usize, frame: &Frame) -> usize {
    let flags = libc::SA_RESETHAND | libc::SA_NODEFER;
    // SAFETY: as the call itself.
    unsafe { install(signal, handler, flags, frame) }
}

/// Nothing is ever interrupted.
unsafe extern "C" fn set_interrupt(signal: c_int, interrupts: c_int, _: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: numbers.
        return unsafe { real!(siginterrupt: fn(c_int, c_int) -> c_int)(signal, interrupts) };
    }
    0
}

pub(crate) fn own() -> &'static mut Own {
    &mut world::get().me().own_calls.signals
}

/// What the running thread blocks, a bit for each signal.
pub fn blocked() -> u64 {
    own().blocked
}

/// The running thread blocks these from now on.
pub fn block(mask: u64, site: Site) {
    own().blocked = mask;
    deliver_pending(site);
}

/// Sets the running thread's mask; an error number.
unsafe fn mask(how: c_int, new: *const Set, old: *mut Set, frame: &Frame) -> c_int {
    let site = world::get().site(frame.return_address);
    let before = own().blocked;
    spin::disturbed();
    if !new.is_null() {
        // SAFETY: the program's own variable; the kernel has 64 signals.
        let set = unsafe { new.cast::<u64>().read() } & !(bit(libc::SIGKILL) | bit(libc::SIGSTOP));
        let after = match how {
            libc::SIG_BLOCK => before | set,
            libc::SIG_UNBLOCK => before & !set,
            libc::SIG_SETMASK => set,
            _ => return libc::EINVAL,
        };
        if after != before {
            awaited_signals::masked(after, site);
            own().blocked = after;
        }
    }
    if !old.is_null() {
        accesses::range(old as usize, size_of::<Set>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { write(old, before) };
    }
    deliver_pending(site);
    0
}

unsafe fn write(set: *mut Set, bits: u64) {
    // SAFETY: the program's own variable.
    unsafe {
        ptr::write_bytes(set, 0, 1);
        *set.cast::<u64>() = bits;
    }
}

unsafe extern "C" fn process_mask(
    how: c_int,
    new: *const Set,
    old: *mut Set,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sigprocmask: fn(c_int, *const Set, *mut Set) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(how, new, old) };
    }
    // SAFETY: as the call itself.
    match unsafe { mask(how, new, old, frame) } {
        0 => 0,
        error => crate::core::operations::failed(error),
    }
}

unsafe extern "C" fn thread_mask(
    how: c_int,
    new: *const Set,
    old: *mut Set,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_sigmask: fn(c_int, *const Set, *mut Set) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(how, new, old) };
    }
    // SAFETY: as the call itself.
    unsafe { mask(how, new, old, frame) }
}

unsafe extern "C" fn pending_signals(set: *mut Set, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sigpending: fn(*mut Set) -> c_int)(set) };
    }
    awaited_signals::look(call_sites::site(&frame.return_address));
    accesses::range(set as usize, size_of::<Set>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { write(set, own().pending) };
    0
}

/// Handlers run where they are called; the stack for those of the kernel is the runtime's.
unsafe extern "C" fn alternate_stack(
    new: *const libc::stack_t,
    old: *mut libc::stack_t,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sigaltstack: fn(*const libc::stack_t, *mut libc::stack_t) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(new, old) };
    }
    let before = own().stack;
    if !new.is_null() {
        // SAFETY: the program's own variable.
        let new = unsafe { &*new };
        let none = new.ss_flags & libc::SS_DISABLE != 0;
        if new.ss_flags & !(libc::SS_DISABLE | libc::SS_ONSTACK | AUTODISARM) != 0 {
            return crate::core::operations::failed(libc::EINVAL);
        }
        if !none && new.ss_size < libc::MINSIGSTKSZ {
            return crate::core::operations::failed(libc::ENOMEM);
        }
        spin::disturbed();
        own().stack = (!none).then_some((new.ss_sp as usize, new.ss_size));
    }
    if !old.is_null() {
        accesses::range(old as usize, size_of::<libc::stack_t>(), true, frame);
        let (place, bytes) = before.unwrap_or_default();
        let answer = libc::stack_t {
            ss_sp: place as *mut c_void,
            ss_flags: before.map_or(libc::SS_DISABLE, |_| 0),
            ss_size: bytes,
        };
        // SAFETY: the program's own variable.
        unsafe { *old = answer };
    }
    0
}

unsafe extern "C" fn raise_signal(signal: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: a number.
        return unsafe { real!(raise: fn(c_int) -> c_int)(signal) };
    }
    if !(0..=MOST).contains(&signal) {
        return crate::core::operations::failed(libc::EINVAL);
    }
    send(signal, call_sites::site(&frame.return_address));
    0
}

unsafe extern "C" fn kill_process(process: c_int, signal: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: numbers.
        return unsafe { real!(kill: fn(c_int, c_int) -> c_int)(process, signal) };
    }
    let site = call_sites::site(&frame.return_address);
    if !(0..=MOST).contains(&signal) {
        return crate::core::operations::failed(libc::EINVAL);
    }
    if process != system_info::PROCESS && process != 0 {
        world::get().unsupported("kill of another process", site);
    }
    if signal != 0 && own().blocked & bit(signal) != 0 {
        awaited_signals::to_process(signal, site);
    } else {
        send(signal, site);
    }
    0
}

unsafe extern "C" fn kill_thread(handle: libc::pthread_t, signal: c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(pthread_kill: fn(libc::pthread_t, c_int) -> c_int)(handle, signal) };
    }
    let site = call_sites::site(&frame.return_address);
    let world = world::get();
    if !(0..=MOST).contains(&signal) {
        return libc::EINVAL;
    }
    if world.me().handle == handle as usize {
        send(signal, site);
        return 0;
    }
    awaited_signals::to_thread(handle, signal, site)
}

/// The running thread gets a signal; 0 is none.
fn send(signal: c_int, site: Site) {
    if signal == 0 {
        return;
    }
    let own = own();
    if own.blocked & bit(signal) != 0 {
        own.pending |= bit(signal);
    } else {
        deliver(signal, site);
    }
}

fn deliver_pending(site: Site) {
    loop {
        let own = own();
        let ready = own.pending & !own.blocked;
        if ready == 0 {
            return;
        }
        let signal = ready.trailing_zeros() as c_int + 1;
        own.pending &= !bit(signal);
        deliver(signal, site);
    }
}

/// What is done about a signal, as an object.
fn actions_of(signal: c_int) -> usize {
    Whole::Actions as usize + signal as usize
}

pub(crate) fn deliver(signal: c_int, site: Site) {
    file_objects::look_at(actions_of(signal), site);
    let action = action(signal);
    match action.sa_sigaction {
        libc::SIG_IGN => {}
        libc::SIG_DFL => by_default(signal, site),
        handler => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                let actions = &mut world::get().calls.signals.actions;
                // SAFETY: all zeros mean the default.
                let default = unsafe { MaybeUninit::<Action>::zeroed().assume_init() };
                if actions.is_empty() {
                    actions.resize(MOST as usize + 1, None);
                }
                actions[signal as usize] = Some(default);
            }
            let before = own().blocked;
            // SAFETY: the kernel has 64 signals.
            own().blocked |= unsafe { (&raw const action.sa_mask).cast::<u64>().read() };
            if action.sa_flags & libc::SA_NODEFER == 0 {
                own().blocked |= bit(signal);
            }
            // SAFETY: the program's own handler.
            unsafe { call(handler, signal, action.sa_flags) };
            own().blocked = before;
            deliver_pending(site);
        }
    }
}

unsafe fn call(handler: usize, signal: c_int, flags: c_int) {
    // SAFETY: the program's own handler, of the type that its flags say.
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

fn by_default(signal: c_int, site: Site) {
    match signal {
        libc::SIGCHLD | libc::SIGCONT | libc::SIGURG | libc::SIGWINCH => {}
        libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => {
            world::get().unsupported("a signal that stops the process", site)
        }
        libc::SIGABRT => process_end::fail(Kind::Assertion, "abort was called".into(), site),
        _ => {
            let message = format!("the program was ended by {}", Name(signal));
            process_end::fail(Kind::Crash, message, site)
        }
    }
}

/// Before `abort` ends the thread: the program may have something to say.
pub fn before_abort(site: Site) {
    if handled(libc::SIGABRT) {
        deliver(libc::SIGABRT, site);
    }
}

/// A signal as people call it.
pub struct Name(pub c_int);

impl core::fmt::Display for Name {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        const NAMES: [&str; 31] = [
            "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV",
            "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN",
            "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
        ];
        match NAMES.get(self.0 as usize - 1) {
            Some(name) => write!(f, "SIG{name}"),
            None => write!(f, "signal {}", self.0),
        }
    }
}
