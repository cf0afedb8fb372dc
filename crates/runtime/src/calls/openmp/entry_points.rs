//! The entry points of libgomp: functions in assembly, since some have more arguments than there are registers.

use crate::{
    core::{real::Real, trampoline::Frame},
    run::{call_sites, world},
};
use core::ffi::c_void;
use reweave_model::Site;

/// A call: the arguments in registers, and the callee-saved registers; the other arguments lie behind the return address.
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
                // SAFETY: a `Call` lies on the stack where an entry point made it; callers put the arguments that have no register
                // behind the return address, and each function is asked only for arguments that it has.
                unsafe { *address.add(1 + index - self.registers.len()) }
            }
        }
    }

    /// The site in the program that it comes from.
    pub fn site(&self) -> Site {
        call_sites::site(&self.frame.return_address)
    }
}

/// The function to go on with outside of runs; null in a run.
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
                // SAFETY: the text is an identifier followed by the only nul.
                unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
            );
            extern "C" fn target(call: &$crate::calls::openmp::entry_points::Call) -> usize {
                $target(call)
            }
            /// # Safety
            ///
            /// For compiled code, by the rules of the function that it stands for.
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            pub unsafe extern "C" fn $name() {
                core::arch::naked_asm!(
                    ".cfi_startproc",
                    $crate::core::trampoline::assembly!(push frame),
                    $crate::core::trampoline::assembly!(push arguments),
                    $crate::core::trampoline::assembly!(room "8"),
                    "lea rdi, [rip + {real}]",
                    "call {outside}",
                    "test rax, rax",
                    "jnz 2f",
                    "lea rdi, [rsp + 8]",
                    "call {target}",
                    ".cfi_remember_state",
                    $crate::core::trampoline::assembly!(drop "104"),
                    "ret",
                    ".cfi_restore_state",
                    "2:",
                    "mov r11, rax",
                    $crate::core::trampoline::assembly!(drop "8"),
                    $crate::core::trampoline::assembly!(pop arguments),
                    $crate::core::trampoline::assembly!(drop "48"),
                    "jmp r11",
                    ".cfi_endproc",
                    real = sym REAL,
                    outside = sym $crate::calls::openmp::entry_points::outside,
                    target = sym target,
                )
            }
        };
    )*};
}

pub(super) use entries;
