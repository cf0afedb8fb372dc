//! `syscall`, pipes that are made and not used, and sleeps by `poll` and `select` without a descriptor.

use crate::{
    calls_by_assembly,
    core::{modules, sys, trampoline::Frame},
    hooks::unhooked::Saved,
    kernel::{descriptor_arguments, descriptor_table, futexes, start_state},
    outside_run, real,
    run::{accesses, call_sites, cancellation, operations::failed, world},
    shared::{
        deadlines,
        process_identity::{current_thread, process as own_process},
    },
    trampoline,
};
use alloc::format;
use core::{
    arch::naked_asm,
    ffi::{c_int, c_long, c_void},
};

trampoline! {
    poll => wait_for_some, "rcx";
    ppoll => wait_for_some_exactly, "r8";
    select => wait_for_sets, "r9";
    pipe => make_pipe, "rsi";
    pipe2 => make_pipe_with, "rdx";
}

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

/// Sleeps for so long. A cancellation point.
fn sleep(frame: &Frame, ns: u64) -> c_int {
    cancellation::point(frame);
    deadlines::sleep(ns, frame);
    0
}

/// # Safety
///
/// As `poll`: `list` points to `count` entries.
unsafe extern "C" fn wait_for_some(
    list: *mut libc::pollfd,
    count: libc::nfds_t,
    milliseconds: c_int,
    frame: &Frame,
) -> c_int {
    outside_run!(poll: fn(list: *mut libc::pollfd, count: libc::nfds_t, milliseconds: c_int) -> c_int);
    if count == 0 && milliseconds >= 0 {
        return sleep(frame, milliseconds as u64 * 1_000_000);
    }
    let site = call_sites::site(&frame.return_address);
    world::unsupported("poll", site)
}

/// # Safety
///
/// As `ppoll`: `list` points to `count` entries, `time` and `mask` are null or point to a time and to a set.
unsafe extern "C" fn wait_for_some_exactly(
    list: *mut libc::pollfd,
    count: libc::nfds_t,
    time: *const libc::timespec,
    mask: *const libc::sigset_t,
    frame: &Frame,
) -> c_int {
    outside_run!(ppoll: fn(list: *mut libc::pollfd, count: libc::nfds_t, time: *const libc::timespec, mask: *const libc::sigset_t) -> c_int);
    if count == 0 && !time.is_null() {
        // SAFETY: not null, so it points to a time, by this function's contract.
        let time = unsafe { &*time };
        return sleep(
            frame,
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64,
        );
    }
    let site = call_sites::site(&frame.return_address);
    world::unsupported("ppoll", site)
}

/// # Safety
///
/// As `select`: the sets and `time` are null or point to sets and to a time.
unsafe extern "C" fn wait_for_sets(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    error: *mut libc::fd_set,
    time: *mut libc::timeval,
    frame: &Frame,
) -> c_int {
    type Sets = *mut libc::fd_set;
    outside_run!(select: fn(count: c_int, read: Sets, write: Sets, error: Sets, time: *mut libc::timeval) -> c_int);
    let nothing = count == 0 || read.is_null() && write.is_null() && error.is_null();
    if nothing && !time.is_null() {
        // SAFETY: not null, so it points to a time, by this function's contract.
        let time = unsafe { &*time };
        return sleep(
            frame,
            time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000,
        );
    }
    let site = call_sites::site(&frame.return_address);
    world::unsupported("select", site)
}

/// Programs make a pipe to wake themselves in handlers of signals that never come. So making one is supported; reading and writing it
/// are not.
///
/// # Safety
///
/// As `pipe`: `ends` points to room for two descriptors.
unsafe extern "C" fn make_pipe(ends: *mut c_int, frame: &Frame) -> c_int {
    // SAFETY: `ends` is what `pipe2` asks for too.
    unsafe { make_pipe_with(ends, 0, frame) }
}

/// # Safety
///
/// As `pipe2`: `ends` points to room for two descriptors.
unsafe extern "C" fn make_pipe_with(ends: *mut c_int, flags: c_int, frame: &Frame) -> c_int {
    let real = real!(pipe2: fn(*mut c_int, c_int) -> c_int);
    let bytes = size_of::<[c_int; 2]>();
    start_state::descriptors_change();
    if world::active() {
        world::snapshot().touch_range(ends as usize, bytes);
    }
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(ends, flags) };
    if world::active() && result == 0 {
        accesses::range(ends as usize, bytes, true, frame);
        let site = call_sites::site(&frame.return_address);
        // SAFETY: the call went well, so `ends` points to two descriptors, which were just opened.
        unsafe { descriptor_table::opened_both(&mut *ends.cast(), site) };
    }
    result
}
