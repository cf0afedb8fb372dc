//! Calls that are not supported. Reaching one in a run stops the thread there, and the search reports that it is incomplete;
//! outside of runs they go to libc's own.

use crate::{core::real::Real, run::world};
use core::{
    arch::naked_asm,
    ffi::{CStr, c_void},
};

struct Call {
    name: &'static CStr,
    real: Real,
}

impl Call {
    const fn new(name: &'static CStr) -> Call {
        Call {
            name,
            real: Real::new(name),
        }
    }
}

/// A call that is not supported; the address of libc's own function, outside of runs.
extern "C" fn reached(call: &Call, return_address: &usize) -> *mut c_void {
    if !world::active() {
        return call.real.get();
    }
    let site = crate::run::call_sites::site(return_address);
    let name = call.name.to_str().unwrap_or("?");
    // Constructors and members of C++ classes go by what they are. The shell is another program.
    let name = match name {
        "_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv" => {
            "std::promise::set_value_at_thread_exit"
        }
        "system" => "system, which runs /bin/sh",
        "popen" => "popen, which runs /bin/sh",
        _ => name,
    };
    world::unsupported(name, site)
}

/// Defines functions of these names, with whatever arguments.
macro_rules! unsupported {
    ($($name:ident)*) => {$(
        const _: () = {
            static CALL: Call = Call::new(
                // SAFETY: the name of a function has no nul, and one is added at its end.
                unsafe { CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            );
            /// # Safety
            ///
            /// As the function of this name demands: outside of runs libc's own gets the arguments.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                naked_asm!(
                    ".cfi_startproc",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    ".cfi_adjust_cfa_offset 56",
                    "lea rdi, [rip + {call}]",
                    "lea rsi, [rsp + 56]",
                    "call {reached}",
                    "mov r11, rax",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    ".cfi_adjust_cfa_offset -56",
                    "jmp r11",
                    ".cfi_endproc",
                    call = sym CALL,
                    reached = sym reached,
                )
            }
        };
    )*};
}

// Other processes.
unsupported! {
    clone system popen daemon forkpty
    fexecve execveat
    ptrace unshare setns
}

// What threads and processes talk through, beyond memory and the objects of pthreads.
unsupported! {
    mkfifo mkfifoat mknod mknodat
    sendmmsg recvmmsg
    gethostbyname gethostbyname2 gethostbyaddr
    shmget shmat shmdt shmctl
    semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
    mq_open mq_close mq_unlink mq_send mq_receive mq_timedsend mq_timedreceive mq_notify mq_getattr mq_setattr
    process_vm_readv process_vm_writev
    splice tee vmsplice userfaultfd
}

// Functions of a certain version of the C library, by their names: the runtime's are not found that way.
unsupported! { dlvsym }

// Waiting for several things at once, and for what comes by itself.
unsupported! {
    pselect
    signalfd timerfd_create timerfd_settime inotify_init inotify_init1 fanotify_init
    timer_create timer_settime timer_gettime timer_delete alarm ualarm setitimer
    sigpause __sigpause __xpg_sigpause sigqueue pthread_sigqueue killpg
    aio_read aio_write aio_fsync aio_suspend aio_cancel aio_error aio_return lio_listio
    aio_read64 aio_write64 aio_fsync64 aio_suspend64 aio_cancel64 aio_error64 aio_return64 lio_listio64
}

// What would change the machine, or files without the runtime's knowledge; and names for files that differ from run to run.
unsupported! {
    acct mount umount umount2 mount_setattr move_mount fsmount fsopen open_tree swapon swapoff quotactl chroot
    init_module delete_module reboot sethostname setdomainname settimeofday stime clock_settime
    adjtime adjtimex __adjtimex clock_adjtime ntp_adjtime
    pututxline updwtmp updwtmpx login logout logwtmp lckpwdf wordexp
    open_by_handle_at name_to_handle_at __xmknod __xmknodat _IO_file_fopen _IO_file_open _IO_popen _IO_proc_open __mq_open_2
    getdirentries getdirentries64 mktemp tempnam tmpnam_r
}

// What of OpenMP is not ours.
unsupported! {
    GOMP_parallel_start GOMP_parallel_loop_static_start GOMP_parallel_loop_dynamic_start GOMP_parallel_loop_guided_start
    GOMP_parallel_loop_runtime_start GOMP_parallel_sections_start GOMP_parallel_end
    GOMP_parallel_reductions GOMP_workshare_task_reduction_unregister GOMP_scope_start
    GOMP_loop_start GOMP_loop_ordered_start GOMP_loop_ull_start GOMP_loop_ull_ordered_start GOMP_sections2_start
    GOMP_loop_doacross_start GOMP_loop_doacross_static_start GOMP_loop_doacross_dynamic_start
    GOMP_loop_doacross_guided_start GOMP_loop_doacross_runtime_start
    GOMP_loop_ull_doacross_start GOMP_loop_ull_doacross_static_start GOMP_loop_ull_doacross_dynamic_start
    GOMP_loop_ull_doacross_guided_start GOMP_loop_ull_doacross_runtime_start
    GOMP_doacross_post GOMP_doacross_wait GOMP_doacross_ull_post GOMP_doacross_ull_wait
    GOMP_taskloop GOMP_taskloop_ull GOMP_taskwait_depend GOMP_taskgroup_reduction_register
    GOMP_taskgroup_reduction_unregister GOMP_task_reduction_remap omp_fulfill_event
    GOMP_teams GOMP_teams4 GOMP_teams_reg
    GOMP_target GOMP_target_ext GOMP_target_data GOMP_target_data_ext GOMP_target_end_data
    GOMP_target_update GOMP_target_update_ext GOMP_target_enter_exit_data GOACC_parallel GOACC_parallel_keyed
    omp_set_schedule_8_ omp_get_schedule_8_ omp_pause_resource omp_pause_resource_all
    __kmpc_fork_call __kmpc_fork_teams __kmpc_omp_task
}

// A future that becomes ready when its thread has ended: by an atomic operation inside the C++ library, which is not instrumented.
unsupported! { _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv }

// Code that comes and goes.
unsupported! { dlmopen }

// A lock that libc takes by itself; attributes of all threads to come.
unsupported! { pthread_mutex_setprioceiling pthread_setattr_default_np }

// The names of the software-verification competition that stand for a value without bounds.
unsupported! {
    __VERIFIER_nondet_int __VERIFIER_nondet_uint __VERIFIER_nondet_unsigned __VERIFIER_nondet_unsigned_int
    __VERIFIER_nondet_char __VERIFIER_nondet_uchar __VERIFIER_nondet_unsigned_char
    __VERIFIER_nondet_short __VERIFIER_nondet_ushort __VERIFIER_nondet_unsigned_short
    __VERIFIER_nondet_long __VERIFIER_nondet_ulong __VERIFIER_nondet_unsigned_long
    __VERIFIER_nondet_longlong __VERIFIER_nondet_ulonglong __VERIFIER_nondet_int128 __VERIFIER_nondet_uint128
    __VERIFIER_nondet_size_t __VERIFIER_nondet_loff_t __VERIFIER_nondet_u8 __VERIFIER_nondet_u16 __VERIFIER_nondet_u32
    __VERIFIER_nondet_float __VERIFIER_nondet_double __VERIFIER_nondet_pointer __VERIFIER_nondet_pchar
    __VERIFIER_nondet_const_char_pointer __VERIFIER_nondet_memory
}
