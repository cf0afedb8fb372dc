//! The instructions and system calls a switch needs: fs base, floating-point control, futex.
//!
//! *Called by:* `strand` (every switch) and `parked`. *Owns:* one flag, whether user code may write the fs base. All calls are
//! inline assembly, because libc's wrappers write `errno`, which is a thread-local of whoever's TLS is loaded.

use std::arch::asm;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Whether `wrfsbase` is allowed; else every switch pays two `arch_prctl`. Both ways are right at any moment.
static WRFSBASE: AtomicBool = AtomicBool::new(false);

/// `HWCAP2_FSGSBASE` of the kernel's `asm/hwcap2.h`: the kernel has set CR4.FSGSBASE.
const HWCAP2_FSGSBASE: u64 = 1 << 1;
const ARCH_SET_FS: usize = 0x1002;

/// Finds out which way of writing the fs base there is. Before that the slow one is used.
pub(crate) fn detect() {
    static DETECTED: Once = Once::new();
    DETECTED.call_once(|| {
        // SAFETY: getauxval has no conditions; an unknown entry reads as 0.
        let hwcap2 = unsafe { libc::getauxval(libc::AT_HWCAP2) };
        WRFSBASE.store(hwcap2 & HWCAP2_FSGSBASE != 0, Ordering::Relaxed);
    });
}

/// The caller's fs base. The x86-64 TLS ABI keeps a copy at its own address, cheaper to read than `rdfsbase`.
#[inline(always)]
pub(crate) fn fs_base() -> usize {
    let base;
    // SAFETY: in a process with a libc, fs:0 holds the fs base and is readable.
    unsafe {
        asm!("mov {}, qword ptr fs:[0]", out(reg) base, options(nostack, preserves_flags, readonly))
    };
    base
}

/// Loads another thread's TLS.
///
/// # Safety
/// `base` is the fs base of a live thread that is parked, or of the caller itself. Until the caller's own base is loaded again
/// nothing touches a thread-local of the caller.
#[inline(always)]
pub(crate) unsafe fn set_fs_base(base: usize) {
    if WRFSBASE.load(Ordering::Relaxed) {
        // SAFETY: the kernel allows the instruction; that memory may change is the default of asm!, so nothing moves across.
        unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
    } else {
        // SAFETY: arch_prctl(ARCH_SET_FS) takes any canonical address, which a thread's fs base is.
        let result = unsafe { syscall(libc::SYS_arch_prctl, ARCH_SET_FS, base, 0, 0) };
        debug_assert_eq!(result, 0);
    }
}

/// Sleeps while `word` holds `value`; may return early.
#[inline(always)]
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let wait = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: FUTEX_WAIT reads an aligned word that outlives the call; a null timeout means none.
    unsafe {
        syscall(
            libc::SYS_futex,
            word.as_ptr() as usize,
            wait,
            value as usize,
            0,
        )
    };
}

/// Wakes whoever sleeps on `word`; there is one at most.
#[inline(always)]
pub(crate) fn futex_wake(word: &AtomicU32) {
    let wake = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    // SAFETY: FUTEX_WAKE uses only the address of the word.
    unsafe { syscall(libc::SYS_futex, word.as_ptr() as usize, wake, 1, 0) };
}

/// # Safety
/// The conditions of the system call hold.
#[inline(always)]
unsafe fn syscall(number: libc::c_long, a: usize, b: usize, c: usize, d: usize) -> isize {
    let result;
    // SAFETY: the kernel's convention: arguments in rdi, rsi, rdx, r10; rcx and r11 are lost. The caller answers for the rest.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// What the ABI makes a thread's own and a coroutine switch leaves alone: MXCSR and the x87 control word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FpControl {
    mxcsr: u32,
    x87: u16,
}

impl FpControl {
    #[inline(always)]
    pub(crate) fn read() -> FpControl {
        let mut fp = FpControl { mxcsr: 0, x87: 0 };
        let (mxcsr, x87) = (&raw mut fp.mxcsr, &raw mut fp.x87);
        // SAFETY: both instructions only store, 4 and 2 bytes, to the fields given.
        unsafe {
            asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) mxcsr, in(reg) x87, options(nostack, preserves_flags))
        };
        fp
    }

    /// Loads it, unless it is what is loaded, `now`.
    #[inline(always)]
    pub(crate) fn load_over(self, now: FpControl) {
        if self != now {
            // SAFETY: both values were stored by `read`, so no reserved bit is set and no exception is pending in them.
            unsafe {
                asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) &raw const self.mxcsr, in(reg) &raw const self.x87,
                    options(nostack, preserves_flags, readonly));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pool, Resumed, suspend};
    use std::{cell::Cell, rc::Rc};

    thread_local!(static SEEN: Cell<u32> = const { Cell::new(0) });

    /// A thread-local seen by the resumer, by the fiber after a turn of the resumer, and by the resumer again.
    fn turns() -> [u32; 3] {
        let mut pool = Pool::new(64 << 10);
        let seen = Rc::new(Cell::new(0));
        let out = seen.clone();
        let mut fiber = pool.spawn(Box::new(move || {
            SEEN.set(7);
            suspend();
            out.set(SEEN.get());
        }));
        SEEN.set(1);
        assert_eq!(fiber.resume(), Resumed::Suspended);
        let between = SEEN.get();
        assert_eq!(fiber.resume(), Resumed::Finished);
        [between, seen.get(), SEEN.get()]
    }

    /// The path of old kernels must agree with the fast one. Other tests may run meanwhile: both ways are right at any moment.
    #[test]
    fn both_ways_of_writing_the_fs_base_agree() {
        let detected = turns();
        let before = WRFSBASE.swap(false, Ordering::Relaxed);
        let slow = turns();
        WRFSBASE.store(before, Ordering::Relaxed);
        assert_eq!((detected, slow), ([1, 7, 1], [1, 7, 1]));
    }

    /// A job that flushes denormals and rounds down on x87 keeps that for itself, across a suspension too.
    #[test]
    fn floating_point_control_is_each_fibers_own() {
        const FLUSH_TO_ZERO: u32 = 1 << 15;
        const ROUND_DOWN: u16 = 1 << 10;
        let before = FpControl::read();
        let changed = FpControl {
            mxcsr: before.mxcsr ^ FLUSH_TO_ZERO,
            x87: before.x87 ^ ROUND_DOWN,
        };
        let mut pool = Pool::new(64 << 10);
        let mut fiber = pool.spawn(Box::new(move || {
            changed.load_over(FpControl::read());
            suspend();
            assert!(FpControl::read() == changed);
            suspend();
        }));
        fiber.resume();
        assert!(FpControl::read() == before);
        assert_eq!(
            fiber.resume(),
            Resumed::Suspended,
            "the job saw what it had set"
        );
        assert!(FpControl::read() == before);
        fiber.resume();
    }
}
