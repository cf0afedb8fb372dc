//! Time and futexes, by libc's own functions and the system call itself: those of the program are scheduled.

use crate::real;
use core::{ptr, sync::atomic::AtomicU32, time::Duration};
use libc::c_int;

/// The time, on a clock that only goes forwards.
pub fn now() -> Duration {
    time_of(libc::CLOCK_MONOTONIC)
}

/// The time on a clock.
pub fn time_of(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is to a local.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32)
}

/// Sleeps so long, whatever signals come.
pub fn sleep(time: Duration) {
    let end = now() + time;
    while let Some(left) = end.checked_sub(now()).filter(|left| !left.is_zero()) {
        let left = timespec(left);
        // SAFETY: the pointer is to a local.
        unsafe {
            real!(nanosleep: fn(*const libc::timespec, *mut libc::timespec) -> c_int)(
                &left,
                ptr::null_mut(),
            )
        };
    }
}

fn timespec(time: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    }
}

/// Sleeps while a word has a value, or for a time; it may wake earlier.
pub fn futex_wait(word: &AtomicU32, value: u32, time: Option<Duration>) {
    let time = time.map(timespec);
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    raw_futex(word, libc::FUTEX_WAIT, value, time);
}

/// Wakes one thread that sleeps on a word.
pub fn futex_wake(word: &AtomicU32) {
    raw_futex(word, libc::FUTEX_WAKE, 1, ptr::null());
}

/// The system call itself: `syscall` is one of the functions that are scheduled. It leaves errno alone.
fn raw_futex(word: &AtomicU32, operation: c_int, value: u32, time: *const libc::timespec) {
    // SAFETY: the word and the time are valid during the call, and the call changes nothing but registers.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_futex => _,
            in("rdi") word.as_ptr(),
            in("rsi") operation | libc::FUTEX_PRIVATE_FLAG,
            in("rdx") value as usize,
            in("r10") time,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
}
