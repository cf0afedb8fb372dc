//! Entry points of the program into the runtime: functions in assembly that save registers and call a function here.
//!
//! All of them are made of the same few pieces of assembly ([`assembly!`]), so that registers are saved in one way only and
//! unwinders find their way through every one of them.

/// What a trampoline pushes: callee-saved registers and the return address into the program.
#[repr(C)]
pub struct Frame {
    pub registers: [usize; 6],
    pub return_address: usize,
}

/// Pieces of assembly that trampolines are made of. Each keeps the unwinder's view of the stack right.
macro_rules! assembly {
    (@push) => { "" };
    (@push $register:literal $($more:literal)*) => {
        concat!("push ", $register, "\n.cfi_adjust_cfa_offset 8\n", $crate::core::trampoline::assembly!(@push $($more)*))
    };
    (@pop) => { "" };
    (@pop $register:literal $($more:literal)*) => {
        concat!("pop ", $register, "\n.cfi_adjust_cfa_offset -8\n", $crate::core::trampoline::assembly!(@pop $($more)*))
    };
    // Callee-saved registers, below the return address: a `Frame` at the stack pointer.
    (push frame) => { $crate::core::trampoline::assembly!(@push "rbp" "rbx" "r12" "r13" "r14" "r15") };
    // The six integer arguments: an array at the stack pointer, the first argument first.
    (push arguments) => { $crate::core::trampoline::assembly!(@push "r9" "r8" "rcx" "rdx" "rsi" "rdi") };
    (pop arguments) => { $crate::core::trampoline::assembly!(@pop "rdi" "rsi" "rdx" "rcx" "r8" "r9") };
    // Makes and gives up room, in bytes.
    (room $bytes:literal) => { concat!("sub rsp, ", $bytes, "\n.cfi_adjust_cfa_offset ", $bytes, "\n") };
    (drop $bytes:literal) => { concat!("add rsp, ", $bytes, "\n.cfi_adjust_cfa_offset -", $bytes, "\n") };
    // The eight vector arguments, to and from 128 bytes at this distance from the stack pointer.
    (store vectors $at:literal) => { concat!(
        "movaps [rsp + ", $at, " + 0], xmm0\nmovaps [rsp + ", $at, " + 16], xmm1\n",
        "movaps [rsp + ", $at, " + 32], xmm2\nmovaps [rsp + ", $at, " + 48], xmm3\n",
        "movaps [rsp + ", $at, " + 64], xmm4\nmovaps [rsp + ", $at, " + 80], xmm5\n",
        "movaps [rsp + ", $at, " + 96], xmm6\nmovaps [rsp + ", $at, " + 112], xmm7\n",
    ) };
    (load vectors $at:literal) => { concat!(
        "movaps xmm0, [rsp + ", $at, " + 0]\nmovaps xmm1, [rsp + ", $at, " + 16]\n",
        "movaps xmm2, [rsp + ", $at, " + 32]\nmovaps xmm3, [rsp + ", $at, " + 48]\n",
        "movaps xmm4, [rsp + ", $at, " + 64]\nmovaps xmm5, [rsp + ", $at, " + 80]\n",
        "movaps xmm6, [rsp + ", $at, " + 96]\nmovaps xmm7, [rsp + ", $at, " + 112]\n",
    ) };
}

/// Defines functions for the program that pass on their arguments and, in the register named and on the stack, a `Frame`.
#[macro_export]
macro_rules! trampoline {
    ($($name:ident => $target:path, $frame:literal;)*) => {$(
        /// # Safety
        ///
        /// For the program, by the rules of the function that it stands for.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                $crate::core::trampoline::assembly!(push frame),
                concat!("mov ", $frame, ", rsp"),
                concat!("push ", $frame),
                ".cfi_adjust_cfa_offset 8",
                "call {target}",
                $crate::core::trampoline::assembly!(drop "56"),
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    )*};
}

pub(crate) use assembly;
