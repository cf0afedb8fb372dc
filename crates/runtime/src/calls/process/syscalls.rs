//! `syscall`.

use crate::{
    calls_by_assembly,
    core::{cell, modules, sys},
    hooks::unhooked::Saved,
    kernel::{descriptor_arguments, futexes},
    real,
    run::{call_sites, operations::failed, world},
    shared::process_identity::{current_thread, process as own_process},
};
use alloc::format;
use core::{
    arch::naked_asm,
    ffi::{c_long, c_void},
};

/// The arguments of `syscall`, number first, last one on top of the stack.
#[repr(C)]
pub struct Arguments {
    /// The fifth to the first, and the number.
    reversed: [usize; 6],
    pub return_address: usize,
    sixth: usize,
}

impl Arguments {
    fn number(&self) -> c_long {
        self.reversed[5] as c_long
    }

    /// The arguments of the system call itself.
    pub fn all(&self) -> [usize; 6] {
        let [e, d, c, b, a, _] = self.reversed;
        [a, b, c, d, e, self.sixth]
    }
}

/// Where to continue: at libc's own function, or back in the program with this result.
#[repr(C)]
struct Answer {
    real: *const c_void,
    result: usize,
}

extern "C" fn dispatch(arguments: &Arguments) -> Answer {
    if descriptor_arguments::to_kernel(arguments.number(), &arguments.all()) {
        return Answer {
            real: core::ptr::null(),
            result: failed(libc::EBADF) as usize,
        };
    }
    if !world::active() {
        return Answer {
            real: real!(syscall: fn(c_long) -> c_long) as *const c_void,
            result: 0,
        };
    }
    // It is no call that a state knows of.
    cell::changed();
    let result = match arguments.number() {
        libc::SYS_gettid => current_thread() as usize,
        libc::SYS_getpid => own_process() as usize,
        libc::SYS_sched_yield => 0,
        libc::SYS_futex => {
            let site = modules::site(arguments.return_address);
            // SAFETY: the arguments are what the program passed to the system call, which demands the same of them.
            unsafe { futexes::call(&arguments.all(), site) as usize }
        }
        // Threads are never interrupted, so there is nothing to wait for.
        libc::SYS_membarrier => 0,
        number => {
            let site = call_sites::site(&arguments.return_address);
            let name = name(number);
            let call = match name {
                Some(name) => format!("syscall({name})"),
                None => format!("syscall({number})"),
            };
            world::unsupported(&call, site)
        }
    };
    Answer {
        real: core::ptr::null(),
        result,
    }
}

calls_by_assembly! {
    __reweave_unhooked_syscall => system_call;
}

/// A system call that the program makes without the C library.
extern "C" fn system_call(saved: &mut Saved) {
    let (number, [mut a, b, c, d, e, sixth]) = saved.system_call();
    let ends = match number as c_long {
        libc::SYS_exit | libc::SYS_exit_group => true,
        libc::SYS_kill if a == own_process() as usize && world::active() => {
            // SAFETY: it takes nothing and changes nothing.
            a = unsafe { sys::call(libc::SYS_getpid, [0; 6]) } as usize;
            true
        }
        _ => false,
    };
    if ends {
        // The end of the process, and of the run: the driver sees it.
        // SAFETY: the program makes this very system call.
        let result = unsafe { sys::call(number as c_long, [a, b, c, d, e, sixth]) };
        return saved.set_result(result as usize);
    }
    let arguments = Arguments {
        reversed: [e, d, c, b, a, number],
        return_address: saved.frame.return_address,
        sixth,
    };
    // SAFETY: libc returns the address of the running thread's own `errno`.
    let errno = unsafe { &mut *libc::__errno_location() };
    let before = core::mem::take(errno);
    let answer = dispatch(&arguments);
    let result = match answer.real.is_null() {
        true if answer.result as c_long == -1 => -c_long::from(*errno),
        true => answer.result as c_long,
        // SAFETY: the program makes this very system call.
        false => unsafe { sys::call(number as c_long, [a, b, c, d, e, sixth]) as c_long },
    };
    *errno = before;
    saved.set_result(result as usize);
}

/// Names of those that programs call this way.
fn name(number: c_long) -> Option<&'static str> {
    Some(match number {
        libc::SYS_clone => "SYS_clone",
        libc::SYS_fork => "SYS_fork",
        libc::SYS_vfork => "SYS_vfork",
        libc::SYS_getrandom => "SYS_getrandom",
        libc::SYS_io_uring_setup => "SYS_io_uring_setup",
        libc::SYS_io_uring_enter => "SYS_io_uring_enter",
        libc::SYS_io_uring_register => "SYS_io_uring_register",
        libc::SYS_exit => "SYS_exit",
        libc::SYS_exit_group => "SYS_exit_group",
        libc::SYS_tgkill => "SYS_tgkill",
        libc::SYS_write => "SYS_write",
        libc::SYS_read => "SYS_read",
        libc::SYS_mmap => "SYS_mmap",
        libc::SYS_memfd_create => "SYS_memfd_create",
        libc::SYS_perf_event_open => "SYS_perf_event_open",
        _ => return None,
    })
}

/// # Safety
///
/// As `syscall` of libc: the arguments are what the system call of this number demands.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    naked_asm!(
        ".cfi_startproc",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "mov rdi, rsp",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 56",
        "call {dispatch}",
        "add rsp, 8",
        "mov r11, rax",
        "mov rax, rdx",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        ".cfi_adjust_cfa_offset -56",
        "test r11, r11",
        "je 2f",
        "xor eax, eax",
        "jmp r11",
        "2:",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch,
    )
}
