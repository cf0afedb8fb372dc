//! Signals that the kernel sends because of what the program does.

use crate::{
    calls::libraries::{self, Trap},
    core::{
        os_threads, plain_spin,
        restore::PAGE,
        sys,
        world::{self, World},
    },
};
use alloc::format;
use core::{ffi::c_void, mem::MaybeUninit};
use reweave_model::{Kind, Site};
use reweave_wire::Note;

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
    SIGNALS.iter().any(|(known, _)| *known == signal)
}

/// Gives the running thread a stack for handlers.
pub fn alternate_stack() {
    let Some(memory) = sys::map_own(ALTERNATE) else {
        crate::give_up(format_args!("there is no memory for a signal stack"));
    };
    let stack = libc::stack_t {
        ss_sp: memory.cast(),
        ss_flags: 0,
        ss_size: ALTERNATE,
    };
    // SAFETY: the memory is ours for good.
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
    // SAFETY: the handler has the type that SA_SIGINFO asks for.
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

unsafe extern "C" fn handle(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid ones; a fault has an address.
    let (address, code) = unsafe { ((*info).si_addr() as usize, (*info).si_code) };
    if signal == libc::SIGSEGV && code > 0 && world::snapshot().touch(address) {
        return;
    }
    // SAFETY: as above, and nobody else has the context.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
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
    let world = world::get();
    let pc = registers[libc::REG_RIP as usize] as usize;
    let stack = registers[libc::REG_RSP as usize] as usize;
    let overflow = signal == libc::SIGSEGV && address.abs_diff(stack) < 16 * PAGE;
    let site = match world.is_library(pc) && !overflow {
        true => caller(world, stack),
        false => world.site(pc + 1),
    };
    let trap = match signal == libc::SIGSEGV && address == pc {
        true => libraries::ran(pc, site),
        false => Trap::Other,
    };
    if matches!(trap, Trap::GoesOn) {
        return;
    }
    let world = world::get();
    let name = SIGNALS.iter().find(|(known, _)| *known == signal);
    let name = name.map_or("signal", |(_, name)| *name);
    let message = if overflow {
        format!("stack overflow ({name} at address {address:#x})")
    } else if address < PAGE {
        format!("{name}: null pointer")
    } else {
        format!("{name} at address {address:#x}")
    };
    match signal {
        _ if matches!(trap, Trap::Told) => {}
        ENDLESS => {
            let message = "a thread goes on for ever without an operation that others could see";
            world.error(Kind::Livelock, None, message.into(), &[site]);
        }
        _ if signal == libc::SIGABRT || halts(world, pc) => {
            let message = "the C library ended the program";
            world.error(Kind::Assertion, None, message.into(), &[site]);
        }
        _ if crate::calls::process::signals::handled(signal) => {
            world.notes.push(Note::Unsupported {
                call: format!("a handler of the program's own for a {name}"),
                site,
            })
        }
        _ => world.error(Kind::Crash, None, message, &[site]),
    }
    world.spoilt = true;
    world.unsettled = None;
    // The thread ends here. What is on its stack is not needed any more.
    registers[libc::REG_RIP as usize] = frozen as *const () as i64;
    registers[libc::REG_RSP as usize] = (world.me().top - 64 - 8) as i64;
    registers[libc::REG_RDI as usize] = i64::from(site.0);
    registers[libc::REG_EFL as usize] &= !(1 << 10 | 1 << 8);
}

/// Where the program called the library that it is in: the first place on the stack that looks like it.
fn caller(world: &World, stack: usize) -> Site {
    let top = world.threads[world.current.index()].top;
    let mut place = stack.next_multiple_of(8);
    while place < top {
        // SAFETY: on the running thread's stack.
        let word = unsafe { *(place as *const usize) };
        if !world.is_library(word) {
            return world.site(word);
        }
        place += 8;
    }
    Site(1)
}

/// Whether a library came to an instruction that no program can do, as `abort` does in the end.
fn halts(world: &World, pc: usize) -> bool {
    const HALT: u8 = 0xf4;
    // SAFETY: code that was about to be run.
    world.is_library(pc) && world.site(pc) != Site(1) && unsafe { *(pc as *const u8) } == HALT
}

extern "C" fn frozen(site: u32) -> ! {
    world::get().freeze(Site(site))
}
