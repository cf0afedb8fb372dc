//! Faults on a fiber end the fiber and not the process.
//!
//! *Decides:* whether a SIGSEGV or SIGBUS belongs to the fiber that runs; any other goes to the handler that was there before,
//! as a rule std's, which reports overflows of ordinary threads. *Called by:* `pool`, once a pool. *Owns:* the process's two
//! handlers and, on a thread that has none, an alternate signal stack.
//!
//! The handler runs on the alternate stack with the fiber's TLS. It touches one thread-local, the core and the interrupted
//! registers; the rest happens on the fiber's stack after it has returned.
//!
//! *Limit:* a program that repairs faults itself (a handler for its own mappings) must install its handler after the first
//! pool, and pass on what it does not know; one installed before never sees a fiber's faults.

use std::mem::{MaybeUninit, zeroed};
use std::ptr;
use std::sync::OnceLock;

use corosensei::trap::TrapHandlerRegs;
use libc::{c_int, c_void, sigaction, siginfo_t, ucontext_t};

use crate::current::{Fault, current};

/// The handlers that were there before ours. Set before ours are installed.
static PREVIOUS: OnceLock<[sigaction; 2]> = OnceLock::new();
const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// Flags that must not be set when a function begins: direction, trap.
const STRAY_FLAGS: i64 = 1 << 10 | 1 << 8;

/// Far above what the kernel pushes for the widest registers (about 11 KiB with AMX) and what the handlers use.
const ALTERNATE_STACK_BYTES: usize = 64 << 10;

/// Makes the process and the calling thread ready for faults on fibers.
pub(crate) fn prepare() {
    PREVIOUS.get_or_init(|| SIGNALS.map(previous));
    static INSTALLED: OnceLock<()> = OnceLock::new();
    INSTALLED.get_or_init(|| SIGNALS.into_iter().for_each(install));
    ensure_alternate_stack();
}

fn previous(signal: c_int) -> sigaction {
    let mut action = MaybeUninit::uninit();
    // SAFETY: with a null action, sigaction only stores the current one.
    unsafe {
        let result = libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
        assert_eq!(result, 0, "sigaction of signal {signal}");
        action.assume_init()
    }
}

fn install(signal: c_int) {
    // SAFETY: all zeros is a valid sigaction with an empty mask; `handle` has the signature that SA_SIGINFO asks for.
    unsafe {
        let mut action: sigaction = zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}

/// std gives every thread it knows an alternate stack. Another thread gets one here, which it keeps for its life.
fn ensure_alternate_stack() {
    // SAFETY: sigaltstack stores the current stack in a local; the mapping it is given is fresh and never unmapped.
    unsafe {
        let mut stack: libc::stack_t = zeroed();
        libc::sigaltstack(ptr::null(), &mut stack);
        if stack.ss_flags & libc::SS_DISABLE == 0 {
            return;
        }
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        );
        let memory = libc::mmap(ptr::null_mut(), ALTERNATE_STACK_BYTES, access, kind, -1, 0);
        assert_ne!(
            memory,
            libc::MAP_FAILED,
            "no memory for an alternate signal stack"
        );
        stack = libc::stack_t {
            ss_sp: memory,
            ss_flags: 0,
            ss_size: ALTERNATE_STACK_BYTES,
        };
        libc::sigaltstack(&stack, ptr::null_mut());
    }
}

/// The handler. Async-signal-safe: no allocation, no lock, no panic.
///
/// # Safety
///
/// The kernel calls it as a handler with SA_SIGINFO: `info` and `context` are valid until it returns.
unsafe extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo_t and ucontext_t, ours alone until the handler returns.
    let taken = unsafe { end_fiber(signal, &*info, &mut *context.cast::<ucontext_t>()) };
    if !taken {
        // SAFETY: the arguments are those of the kernel.
        unsafe { pass_on(signal, info, context) };
    }
}

/// If the interrupted code is a fiber's, lets it go on at the root of its coroutine, which then returns to the resumer.
///
/// # Safety
/// Called by the handler, with what the kernel gave it.
unsafe fn end_fiber(signal: c_int, info: &siginfo_t, context: &mut ucontext_t) -> bool {
    let Some(core) = current() else { return false };
    let Some(trap) = core.trap.get() else {
        return false;
    };
    let registers = &mut context.uc_mcontext.gregs;
    // A positive code is the kernel's own: a fault, and not somebody's kill(). Elsewhere than on the fiber's stack runs a
    // handler of the program on the alternate one.
    if info.si_code <= 0 || !trap.stack_ptr_in_bounds(registers[libc::REG_RSP as usize] as usize) {
        return false;
    }
    // SAFETY: si_addr is valid for the kernel's SIGSEGV and SIGBUS.
    let address = unsafe { info.si_addr() } as usize;
    core.fault.set(Some(Fault { signal, address }));
    // SAFETY: setup_trap_handler wants a stack pointer inside the coroutine (checked above), all registers it returns written
    // (below), and a coroutine that leaves nothing half done outside: the strand is never entered or freed again, and what the
    // job left half done is the resumer's risk, as `Resumed` says.
    let TrapHandlerRegs {
        rip,
        rsp,
        rbp,
        rdi,
        rsi,
    } = unsafe { trap.setup_trap_handler(|| ()) };
    for (register, value) in [
        (libc::REG_RIP, rip),
        (libc::REG_RSP, rsp),
        (libc::REG_RBP, rbp),
        (libc::REG_RDI, rdi),
        (libc::REG_RSI, rsi),
    ] {
        registers[register as usize] = value as i64;
    }
    registers[libc::REG_EFL as usize] &= !STRAY_FLAGS;
    true
}

/// # Safety
/// Called by the handler, with what the kernel gave it.
unsafe fn pass_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(previous) = PREVIOUS.get() else {
        return;
    };
    let previous = &previous[usize::from(signal != SIGNALS[0])];
    match previous.sa_sigaction {
        // SAFETY: puts back what was there; the instruction then faults again and gets it.
        libc::SIG_DFL | libc::SIG_IGN => unsafe {
            libc::sigaction(signal, previous, ptr::null_mut());
        },
        // SAFETY: with SA_SIGINFO the program gave a function of three arguments.
        action if previous.sa_flags & libc::SA_SIGINFO != 0 => unsafe {
            let action: unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void) =
                std::mem::transmute(action);
            action(signal, info, context);
        },
        // SAFETY: without SA_SIGINFO it is a function of one argument, the signal.
        action => unsafe {
            let action: unsafe extern "C" fn(c_int) = std::mem::transmute(action);
            action(signal);
        },
    }
}
