//! The switch from one stack to another, and the thread-local memory that goes with it.

use core::arch::asm;

/// Saves what a function call preserves on the present stack, stores its top in `save`, and goes on where `to` was saved.
///
/// Part of the function that calls it: the processor guesses where functions return to, and is wrong about each that was called on another
/// stack.
///
/// # Safety
/// `to` was stored by `switch`, or made by [`prepare`], and is used once.
#[inline(always)]
pub unsafe fn switch(save: *mut *mut u8, to: *mut u8) {
    // SAFETY: as promised; comes back to its end with the stack as it was, and everything else is said to be overwritten.
    unsafe {
        asm!(
            "push rbp",
            "push rbx",
            "lea rax, [rip + 4f]",
            "push rax",
            "push 0",
            "stmxcsr [rsp]",
            "fnstcw [rsp + 4]",
            "mov eax, [rsp]",
            "movzx ecx, word ptr [rsp + 4]",
            "mov [rdi], rsp",
            "mov rsp, rsi",
            // Loading the control words is slow; they hardly ever differ. Each is looked at as it was stored: one look at both
            // would wait for the stores.
            "cmp eax, [rsp]",
            "jne 2f",
            "cmp cx, [rsp + 4]",
            "je 3f",
            "2:",
            "ldmxcsr [rsp]",
            "fldcw [rsp + 4]",
            "3:",
            "mov rax, [rsp + 8]",
            "add rsp, 16",
            "jmp rax",
            "4:",
            "pop rbx",
            "pop rbp",
            in("rdi") save,
            in("rsi") to,
            out("r12") _,
            out("r13") _,
            out("r14") _,
            out("r15") _,
            clobber_abi("C"),
        );
    }
}

/// A stack on which [`switch`] begins with a call of `entry`; the call returns nowhere.
///
/// # Safety
/// Below `top` (aligned to 16) lies memory that nobody uses.
pub unsafe fn prepare(top: *mut u8, entry: extern "C" fn() -> !) -> *mut u8 {
    let words = top.cast::<u64>();
    // SAFETY: as promised. From the top: no return address (where unwinders stop), the entry, what goes there, control words.
    unsafe {
        words.sub(1).write(0);
        words.sub(2).write(entry as usize as u64);
        words
            .sub(3)
            .write(begin as unsafe extern "C" fn() as usize as u64);
        words.sub(4).write(0);
        asm!(
            "stmxcsr [{0}]",
            "fnstcw [{0} + 4]",
            in(reg) words.sub(4),
            options(nostack)
        );
        words.sub(4).cast()
    }
}

/// The first thing on a new stack: goes to the entry on top, with registers that hold the same in every run.
///
/// # Safety
///
/// Jumped to by [`switch`] on a stack made by [`prepare`].
#[unsafe(naked)]
unsafe extern "C" fn begin() {
    core::arch::naked_asm!(
        "pop rax",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "jmp rax",
    )
}

/// How the processor calculates with floating-point numbers at the moment, with the exceptions that it has noted.
pub fn control_words() -> u64 {
    let (mut vectors, mut control, mut status) = (0_u32, 0_u16, 0_u16);
    // SAFETY: each instruction stores so many bytes.
    unsafe {
        asm!(
            "stmxcsr [{}]",
            "fnstcw [{}]",
            "fnstsw [{}]",
            in(reg) &raw mut vectors,
            in(reg) &raw mut control,
            in(reg) &raw mut status,
            options(nostack, preserves_flags)
        );
    }
    const EXCEPTIONS: u16 = 0x3f;
    u64::from(vectors) | u64::from(control) << 32 | u64::from(status & EXCEPTIONS) << 48
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
    // SAFETY: the caller passes the base of a real thread's thread-local memory.
    unsafe { asm!("wrfsbase {}", in(reg) base, options(nostack, preserves_flags)) };
}

/// Whether the kernel lets programs set where their thread-local memory is.
pub fn supported() -> bool {
    const FSGSBASE: u64 = 1 << 1;
    // SAFETY: `getauxval` takes a number and has no effect.
    unsafe { libc::getauxval(libc::AT_HWCAP2) & FSGSBASE != 0 }
}
