//! The switch from one stack to another, and the thread-local memory that goes with it.

use core::arch::{asm, naked_asm};

/// Saves what a function call preserves on the present stack, stores its top in `save`, and goes on where `to` was saved.
///
/// # Safety
/// `to` was stored by `switch`, or made by [`prepare`], and is used once.
#[unsafe(naked)]
pub unsafe extern "C" fn switch(save: *mut *mut u8, to: *mut u8) {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push 0",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov eax, [rsp]",
        "movzx ecx, word ptr [rsp + 4]",
        "mov [rdi], rsp",
        "mov rsp, rsi",
        // Loading the control words is slow; they hardly ever differ. Each is looked at as it was stored: one look at both would wait
        // for the stores.
        "cmp eax, [rsp]",
        "jne 2f",
        "cmp cx, [rsp + 4]",
        "je 3f",
        "2:",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "3:",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
    )
}

/// A stack on which [`switch`] begins with a call of `entry`; the call returns nowhere.
///
/// # Safety
/// Below `top` (aligned to 16) lies memory that nobody uses.
pub unsafe fn prepare(top: *mut u8, entry: extern "C" fn() -> !) -> *mut u8 {
    let words = top.cast::<u64>();
    let mut control = [0u8; 8];
    // SAFETY: stores into a local.
    unsafe {
        asm!(
            "stmxcsr [{0}]",
            "fnstcw [{0} + 4]",
            in(reg) control.as_mut_ptr(),
            options(nostack)
        );
    }
    // SAFETY: as promised. From the top: no return address (where unwinders stop), the entry, six registers, control words.
    unsafe {
        words.sub(1).write(0);
        words.sub(2).write(entry as usize as u64);
        for register in 3..9 {
            words.sub(register).write(0);
        }
        words.sub(9).write(u64::from_ne_bytes(control));
        words.sub(9).cast()
    }
}

/// Where the running thread's own memory is.
#[inline]
pub fn own_memory() -> usize {
    let base: usize;
    // SAFETY: the first word of glibc's thread descriptor is its own address.
    unsafe { asm!("mov {}, fs:[0]", out(reg) base, options(nostack, preserves_flags)) };
    base
}

/// Moves on to the thread-local memory of another thread.
///
/// # Safety
/// `base` is what [`own_memory`] said on a live thread, and the processor lets programs do this: see [`supported`].
#[inline]
pub unsafe fn set_own_memory(base: usize) {
    // SAFETY: as promised.
    unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// Whether the kernel lets programs set where their thread-local memory is.
pub fn supported() -> bool {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: only asks.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}
