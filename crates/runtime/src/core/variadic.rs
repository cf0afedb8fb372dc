//! Functions that take any number of arguments, such as `printf` and `open`, handed on to functions that take a list.

/// A `va_list`: offsets of the next arguments in registers, the next argument on the stack, and where registers were saved.
pub(crate) type List = *mut [u64; 3];

/// Defines functions for the program that take any number of arguments and call functions that take a [`List`]: so many named
/// arguments, the register for the list, and the register for the [`Frame`](super::trampoline::Frame).
macro_rules! variadic {
    ($($name:ident => $target:ident, $named:literal, $list:literal, $frame:literal;)*) => {$(
        /// # Safety
        ///
        /// For the program, by the rules of the function that it stands for.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::core::trampoline::assembly!(push frame),
                "mov r11, rsp",
                // The eight vector registers, then the list.
                $crate::core::trampoline::assembly!(room "152"),
                $crate::core::trampoline::assembly!(push arguments),
                "test al, al",
                "je 2f",
                $crate::core::trampoline::assembly!(store vectors "48"),
                "2:",
                // Offsets of the next argument of each kind, then those on the stack, then those that were saved.
                concat!("mov dword ptr [rsp + 176], 8 * ", $named),
                "mov dword ptr [rsp + 180], 48",
                "lea rax, [r11 + 56]",
                "mov [rsp + 184], rax",
                "mov [rsp + 192], rsp",
                concat!("lea ", $list, ", [rsp + 176]"),
                concat!("mov ", $frame, ", r11"),
                $crate::core::trampoline::assembly!(push call),
                "call {target}",
                $crate::core::trampoline::assembly!(pop call),
                $crate::core::trampoline::assembly!(drop "256"),
                $crate::core::trampoline::assembly!(return),
                ".cfi_endproc",
                target = sym $target,
                call = sym $crate::core::trampoline::CALL,
                recorded = sym $crate::core::trampoline::RECORDED,
                forget = sym $crate::core::trampoline::return_and_forget,
            )
        }
    )*};
}

pub(crate) use variadic;
