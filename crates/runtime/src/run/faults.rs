//! Signals that the kernel sends because of what the program does.

use crate::{
    core::{channel, modules, restore::PAGE, sys, system_call_names},
    run::{
        closed_code::{self, Trap},
        foreign_code, line_traps, os_threads, plain_spin, process_end, processes, signal_actions,
        world,
    },
};
use alloc::format;
use core::{ffi::c_void, mem::MaybeUninit, sync::atomic::Ordering};
use reweave_model::{Kind, Site};

/// The driver asks whether a thread loops for ever.
pub const ENDLESS: i32 = libc::SIGXCPU;

const SIGNALS: [(i32, &str); 7] = [
    (libc::SIGSEGV, "segmentation fault"),
    (libc::SIGBUS, "bus error"),
    (libc::SIGFPE, "arithmetic error"),
    (libc::SIGILL, "illegal instruction"),
    (libc::SIGTRAP, "trap"),
    (libc::SIGABRT, "abort"),
    (ENDLESS, "endless loop"),
];

const ALTERNATE: usize = 256 << 10;

/// Whether a signal is caught here.
pub fn catches(signal: i32) -> bool {
    let children = signal == libc::SIGCHLD && processes::used();
    children || SIGNALS.iter().any(|(known, _)| *known == signal)
}

/// Gives the running thread a stack for handlers.
pub fn alternate_stack() {
    // Each process has its own: one may look at a signal while another one runs.
    let Some(memory) = sys::map_private(ALTERNATE) else {
        crate::give_up(format_args!("there is no memory for a signal stack"));
    };
    let stack = libc::stack_t {
        ss_sp: memory.cast(),
        ss_flags: 0,
        ss_size: ALTERNATE,
    };
    // SAFETY: the kernel reads `stack`, a live local; the memory it names is mapped above and never given
    // back.
    unsafe {
        sys::call(
            libc::SYS_sigaltstack,
            [&raw const stack as usize, 0, 0, 0, 0, 0],
        );
    }
}

/// Installs the handlers.
pub fn install() {
    alternate_stack();
    // SAFETY: `sigaction` reads `action`, a live local; zeros are a valid `sigaction`, and `handle` has the
    // signature that SA_SIGINFO asks for.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | libc::SA_RESTART;
        for (signal, _) in SIGNALS {
            crate::real!(sigaction: fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32)(
                signal,
                &action,
                core::ptr::null_mut(),
            );
        }
    }
}

/// The end of a forked process is noticed from now on.
pub fn watch_children() {
    // SAFETY: `sigaction` reads `action`, a live local; zeros are a valid `sigaction`.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = child_ended as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        crate::real!(sigaction: fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32)(
            libc::SIGCHLD,
            &action,
            core::ptr::null_mut(),
        );
    }
}

extern "C" fn child_ended(_: i32) {
    processes::child_ended();
}

/// # Safety
///
/// Called by the kernel as a signal handler with SA_SIGINFO.
unsafe extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid ones; a fault has an address.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    if signal == ENDLESS && processes::pass_on(signal) {
        return;
    }
    let written = || world::try_snapshot().is_some_and(|mut snapshot| snapshot.touch(address));
    if signal == libc::SIGSEGV && code > 0 && written() {
        return;
    }
    // SAFETY: the kernel passes a `ucontext_t` that belongs to this call of the handler alone.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let end = registers[libc::REG_RIP as usize] as usize;
    if let Some(place) = (signal == libc::SIGTRAP)
        .then(|| line_traps::reached(end))
        .flatten()
    {
        registers[libc::REG_RIP as usize] = place as i64;
        return;
    }
    let runs = signal == libc::SIGSEGV && address == registers[libc::REG_RIP as usize] as usize;
    let first = registers[libc::REG_RDI as usize] as usize;
    if runs && foreign_code::ran(address, first, modules::site(address + 1)) {
        return;
    }
    if signal == ENDLESS && (!world::active() || os_threads::pass_on(signal) || plain_spin::begin())
    {
        return;
    }
    if !world::active() {
        crate::give_up(format_args!(
            "signal {signal} at {:#x} for {address:#x} outside of a run",
            registers[libc::REG_RIP as usize]
        ));
    }
    let pc = registers[libc::REG_RIP as usize] as usize;
    let stack = registers[libc::REG_RSP as usize] as usize;
    let overflow = signal == libc::SIGSEGV && address.abs_diff(stack) < 16 * PAGE;
    if !runs {
        // SAFETY: the interrupted code does not go on: its thread is frozen below. (Code that traps because it was run is the
        // program's, and the program does not run while anything is borrowed.)
        unsafe { world::reclaim() };
    }
    let site = match modules::is_library(pc) && !overflow {
        true => caller(stack),
        false => modules::site(pc + 1),
    };
    let trap = match runs {
        true => closed_code::ran(pc, site),
        false => Trap::Other,
    };
    if matches!(trap, Trap::GoesOn) {
        foreign_code::runs(pc, registers[libc::REG_RDI as usize] as usize);
        return;
    }
    if !matches!(trap, Trap::Reported) {
        report(signal, address, overflow, pc, site);
    }
    let mut world = world::borrow();
    world.spoilt = true;
    world.unsettled = None;
    // The thread ends here. What is on its stack is not needed any more.
    registers[libc::REG_RIP as usize] = frozen as *const () as i64;
    registers[libc::REG_RSP as usize] = (world.me().top - 64 - 8) as i64;
    registers[libc::REG_RDI as usize] = i64::from(site.0);
    registers[libc::REG_RSI as usize] = i64::from(signal);
    registers[libc::REG_EFL as usize] &= !(1 << 10 | 1 << 8);
}

/// Notes what the signal means for the run.
fn report(signal: i32, address: usize, overflow: bool, pc: usize, site: Site) {
    let name = SIGNALS.iter().find(|(known, _)| *known == signal);
    let name = name.map_or("signal", |(_, name)| *name);
    let message = if overflow {
        format!("stack overflow ({name} at address {address:#x})")
    } else if address < PAGE {
        format!("{name}: null pointer")
    } else {
        format!("{name} at address {address:#x}")
    };
    let has_handler = signal_actions::handled(signal);
    let mut world = world::borrow();
    match signal {
        // The driver has found that it does not run.
        ENDLESS if waits_in().is_some() => {
            let call = system_call_names::waiting(waits_in().unwrap_or(u32::MAX));
            world.note_unsupported(&call, site);
        }
        ENDLESS => world.note_endless(site),
        _ if signal == libc::SIGABRT || halts(pc) => {
            let message = "the C library ended the program";
            world.error(Kind::Assertion, None, message.into(), &[site]);
        }
        _ if has_handler => {
            let call = format!("a handler of the program's own for a {name}");
            world.note_unsupported(&call, site);
        }
        _ => world.error(Kind::Crash, None, message, &[site]),
    }
}

/// The system call that the running thread waits in, as the driver sees it.
fn waits_in() -> Option<u32> {
    let call = channel::header().waits_in.load(Ordering::Relaxed);
    call.checked_sub(1)
}

/// Where the program called the library that it is in: the first place on the stack that looks like it.
fn caller(stack: usize) -> Site {
    let top = world::borrow().me().top;
    let mut place = stack.next_multiple_of(8);
    while place < top {
        // SAFETY: `place` lies between the interrupted stack pointer and the top of the running thread's
        // stack, all of which is mapped.
        let word = unsafe { *(place as *const usize) };
        if !modules::is_library(word) {
            return modules::site(word);
        }
        place += 8;
    }
    Site(1)
}

/// Whether a library came to an instruction that no program can do, as `abort` does in the end.
fn halts(pc: usize) -> bool {
    const HALT: u8 = 0xf4;
    // SAFETY: the interrupted thread was about to run the instruction at `pc`, in a loaded module, so the
    // byte is readable.
    modules::is_library(pc) && modules::site(pc) != Site(1) && unsafe { *(pc as *const u8) } == HALT
}

extern "C" fn frozen(site: u32, signal: i32) -> ! {
    process_end::die(signal, Site(site))
}
