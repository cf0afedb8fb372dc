//! How calls of libgomp's functions come in: some have more arguments than there are registers.

use crate::{
    core::{call_sites, real::Real, world},
    hooks::Frame,
};
use core::ffi::c_void;
use reweave_model::Site;

/// A call: the arguments in registers, and what a trampoline keeps; the other arguments lie behind the return address.
#[repr(C)]
pub struct Call {
    registers: [usize; 6],
    pub frame: Frame,
}

impl Call {
    pub fn argument(&self, index: usize) -> usize {
        match self.registers.get(index) {
            Some(argument) => *argument,
            None => {
                let address = &raw const self.frame.return_address;
                // SAFETY: the caller has put it there.
                unsafe { *address.add(1 + index - self.registers.len()) }
            }
        }
    }

    /// Where in the program it was made.
    pub fn site(&self) -> Site {
        call_sites::site(&self.frame.return_address)
    }
}

/// Where to go instead, outside of runs.
pub extern "C" fn outside(real: &Real) -> *mut c_void {
    match world::active() {
        true => core::ptr::null_mut(),
        false => real.get_from(c"libgomp.so.1"),
    }
}

/// Defines functions for the program that hand on their [`Call`]; outside of runs they are libgomp's own.
macro_rules! entries {
    ($($name:ident => $target:expr;)*) => {$(
        const _: () = {
            static REAL: $crate::core::real::Real = $crate::core::real::Real::new(
                // SAFETY: ends with the only nul.
                unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            );
            unsafe extern "C" fn target(call: &$crate::calls::openmp::call::Call) -> usize {
                $target(call)
            }
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    "push rbp",
                    "push rbx",
                    "push r12",
                    "push r13",
                    "push r14",
                    "push r15",
                    "push r9",
                    "push r8",
                    "push rcx",
                    "push rdx",
                    "push rsi",
                    "push rdi",
                    "sub rsp, 8",
                    ".cfi_adjust_cfa_offset 104",
                    "lea rdi, [rip + {real}]",
                    "call {outside}",
                    "test rax, rax",
                    "jnz 2f",
                    "lea rdi, [rsp + 8]",
                    "call {target}",
                    "add rsp, 104",
                    ".cfi_remember_state",
                    ".cfi_adjust_cfa_offset -104",
                    "ret",
                    ".cfi_restore_state",
                    "2:",
                    "mov r11, rax",
                    "add rsp, 8",
                    "pop rdi",
                    "pop rsi",
                    "pop rdx",
                    "pop rcx",
                    "pop r8",
                    "pop r9",
                    "add rsp, 48",
                    ".cfi_adjust_cfa_offset -104",
                    "jmp r11",
                    ".cfi_endproc",
                    real = sym REAL,
                    outside = sym $crate::calls::openmp::call::outside,
                    target = sym target,
                )
            }
        };
    )*};
}

pub(super) use entries;
