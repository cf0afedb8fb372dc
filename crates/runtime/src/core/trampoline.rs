//! Entry points of the program into the runtime: functions in assembly that save registers and call a function here.
//!
//! All of them are made of the same few pieces of assembly ([`assembly!`]), so that registers are saved in one way only and
//! unwinders find their way through every one of them.

use super::cell::RunValue;

/// What a trampoline pushes: callee-saved registers and the return address into the program.
#[repr(C)]
pub struct Frame {
    pub registers: [usize; 6],
    pub return_address: usize,
}

/// The innermost call of the running thread into the runtime; 0: it is in none. Calls of threads that do not run lie in their records.
pub static CALL: RunValue<usize> = RunValue::new(0);

/// What a trampoline pushes below its [`Frame`] and the arguments: the call's past, which with them says all that the call depends on.
#[repr(C)]
pub struct CallRecord {
    /// The call around this one; 0: there is none.
    outer: usize,
    /// A sum over the operations that the call has done so far.
    pub done: u64,
}

impl CallRecord {
    /// Where what a state holds of a call begins: its past, its arguments, its frame, and the stack above.
    pub fn live(call: usize) -> usize {
        call + core::mem::offset_of!(CallRecord, done)
    }
}

/// Whether the run at hand records states.
pub static RECORDED: RunValue<bool> = RunValue::new(false);

/// How many words below the stack are cleared behind a call of the runtime: more than it uses as a rule. What stays behind costs matches only.
const FORGOTTEN: usize = 512;

/// Returns, and clears what lies below the stack: a later frame of the program may leave its part of it uninitialised.
///
/// # Safety
///
/// Jumped to in the place of a `ret`.
#[unsafe(naked)]
pub unsafe extern "C" fn return_and_forget() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "mov r11, rax",
        "lea rdi, [rsp - 8 * {words}]",
        "mov ecx, {words}",
        "xor eax, eax",
        "rep stosq",
        "mov rax, r11",
        "ret",
        ".cfi_endproc",
        words = const FORGOTTEN,
    )
}

/// The same from within the runtime, below the calling function.
#[inline(always)]
pub fn forget_below() {
    if RECORDED.get() {
        // SAFETY: what lies below the stack is in use by no function; the red zone is not, since the assembly uses the stack.
        unsafe {
            core::arch::asm!(
                "lea rdi, [rsp - 8 * {words}]",
                "rep stosq",
                words = const FORGOTTEN,
                inout("ecx") FORGOTTEN as u32 => _,
                inout("rax") 0_u64 => _,
                out("rdi") _,
            );
        }
    }
}

/// Calls a function of the program and then `end` with what it returned. Registers begin as 0, so that frames of the program hold nothing of the
/// runtime's.
///
/// # Safety
///
/// `function` takes these arguments by the rules of C; `end` takes its result and never returns.
#[unsafe(naked)]
pub unsafe extern "C" fn enter_program(
    function: usize,
    end: usize,
    first: usize,
    second: usize,
    third: usize,
) -> ! {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "mov rax, rdi",
        "mov rdi, rdx",
        "mov rsi, rcx",
        "mov rdx, r8",
        "xor ecx, ecx",
        "xor r8d, r8d",
        "xor r9d, r9d",
        "xor r10d, r10d",
        "xor r11d, r11d",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "call rax",
        "mov rdi, rax",
        "call [rsp]",
        "ud2",
        ".cfi_endproc",
    )
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
    // A `CallRecord` below as many arguments as come before the register for the frame, and what keeps the stack aligned.
    (enter "rdi") => { concat!($crate::core::trampoline::assembly!(push zero), $crate::core::trampoline::assembly!(push call)) };
    (enter "rsi") => { concat!($crate::core::trampoline::assembly!(@push "rdi"), $crate::core::trampoline::assembly!(push call)) };
    (enter "rdx") => { concat!($crate::core::trampoline::assembly!(push zero), $crate::core::trampoline::assembly!(@push "rdi" "rsi"), $crate::core::trampoline::assembly!(push call)) };
    (enter "rcx") => { concat!($crate::core::trampoline::assembly!(@push "rdi" "rsi" "rdx"), $crate::core::trampoline::assembly!(push call)) };
    (enter "r8") => { concat!($crate::core::trampoline::assembly!(push zero), $crate::core::trampoline::assembly!(@push "rdi" "rsi" "rdx" "rcx"), $crate::core::trampoline::assembly!(push call)) };
    (enter "r9") => { concat!($crate::core::trampoline::assembly!(@push "rdi" "rsi" "rdx" "rcx" "r8"), $crate::core::trampoline::assembly!(push call)) };
    // The frame itself is an argument on the stack.
    (enter "rax") => { $crate::core::trampoline::assembly!(enter on stack "rax") };
    (enter "r10") => { $crate::core::trampoline::assembly!(enter on stack "r10") };
    (enter on stack $frame:tt) => { concat!(
        $crate::core::trampoline::assembly!(@push "rdi" "rsi" "rdx" "rcx" "r8" "r9"),
        $crate::core::trampoline::assembly!(push call),
        $crate::core::trampoline::assembly!(@push $frame),
    ) };
    (push zero) => { "push 0\n.cfi_adjust_cfa_offset 8\n" };
    (push call) => { concat!(
        $crate::core::trampoline::assembly!(push zero),
        "push qword ptr [rip + {call}]\n.cfi_adjust_cfa_offset 8\n",
        "mov [rip + {call}], rsp\n",
    ) };
    (pop call) => { "pop qword ptr [rip + {call}]\n.cfi_adjust_cfa_offset -8\n" };
    // Where states are recorded, what the call has left below the stack is cleared.
    (return) => { "cmp byte ptr [rip + {recorded}], 0\njne {forget}\nret\n" };
    // The end of what `enter` begins, with the frame.
    (leave "rdi") => { $crate::core::trampoline::assembly!(leaving "64") };
    (leave "rsi") => { $crate::core::trampoline::assembly!(leaving "64") };
    (leave "rdx") => { $crate::core::trampoline::assembly!(leaving "80") };
    (leave "rcx") => { $crate::core::trampoline::assembly!(leaving "80") };
    (leave "r8") => { $crate::core::trampoline::assembly!(leaving "96") };
    (leave "r9") => { $crate::core::trampoline::assembly!(leaving "96") };
    (leave "rax") => { concat!($crate::core::trampoline::assembly!(drop "8"), $crate::core::trampoline::assembly!(leaving "104")) };
    (leave "r10") => { $crate::core::trampoline::assembly!(leave "rax") };
    (leaving $bytes:literal) => { concat!($crate::core::trampoline::assembly!(pop call), $crate::core::trampoline::assembly!(drop $bytes)) };
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
    // Clears what was saved, without a change of flags: a later frame may leave it uninitialised, and loops are recognised by
    // their frames.
    (forget) => { concat!(
        "mov qword ptr [rsp - 8], 0\n",
        "mov qword ptr [rsp - 16], 0\n",
        "mov qword ptr [rsp - 24], 0\n",
        "mov qword ptr [rsp - 32], 0\n",
        "mov qword ptr [rsp - 40], 0\n",
        "mov qword ptr [rsp - 48], 0\n",
        "mov qword ptr [rsp - 56], 0\n",
        "mov qword ptr [rsp - 64], 0\n",
        "mov qword ptr [rsp - 72], 0\n",
        "mov qword ptr [rsp - 80], 0\n",
        "mov qword ptr [rsp - 88], 0\n",
        "mov qword ptr [rsp - 96], 0\n",
        "mov qword ptr [rsp - 104], 0\n",
        "mov qword ptr [rsp - 112], 0\n",
        "mov qword ptr [rsp - 120], 0\n",
        "mov qword ptr [rsp - 128], 0\n",
        "mov qword ptr [rsp - 136], 0\n",
        "mov qword ptr [rsp - 144], 0\n",
        "mov qword ptr [rsp - 152], 0\n",
        "mov qword ptr [rsp - 160], 0\n",
        "mov qword ptr [rsp - 168], 0\n",
        "mov qword ptr [rsp - 176], 0\n",
        "mov qword ptr [rsp - 184], 0\n",
        "mov qword ptr [rsp - 192], 0\n",
        "mov qword ptr [rsp - 200], 0\n",
        "mov qword ptr [rsp - 208], 0\n",
        "mov qword ptr [rsp - 216], 0\n",
        "mov qword ptr [rsp - 224], 0\n",
        "mov qword ptr [rsp - 232], 0\n",
        "mov qword ptr [rsp - 240], 0\n",
        "mov qword ptr [rsp - 248], 0\n",
        "mov qword ptr [rsp - 256], 0\n",
        "mov qword ptr [rsp - 264], 0\n",
        "mov qword ptr [rsp - 272], 0\n",
        "mov qword ptr [rsp - 280], 0\n",
        "mov qword ptr [rsp - 288], 0\n",
        "mov qword ptr [rsp - 296], 0\n",
        "mov qword ptr [rsp - 304], 0\n",
        "mov qword ptr [rsp - 312], 0\n",
        "mov qword ptr [rsp - 320], 0\n",
        "mov qword ptr [rsp - 328], 0\n",
        "mov qword ptr [rsp - 336], 0\n",
        "mov qword ptr [rsp - 344], 0\n",
        "mov qword ptr [rsp - 352], 0\n",
        "mov qword ptr [rsp - 360], 0\n",
        "mov qword ptr [rsp - 368], 0\n",
        "mov qword ptr [rsp - 376], 0\n",
        "mov qword ptr [rsp - 384], 0\n",
        "mov qword ptr [rsp - 392], 0\n",
    ) };
    // All vector registers, to and from 256 bytes at the stack pointer.
    (store all vectors) => { concat!(
        "movups [rsp + 0], xmm0\n",
        "movups [rsp + 16], xmm1\n",
        "movups [rsp + 32], xmm2\n",
        "movups [rsp + 48], xmm3\n",
        "movups [rsp + 64], xmm4\n",
        "movups [rsp + 80], xmm5\n",
        "movups [rsp + 96], xmm6\n",
        "movups [rsp + 112], xmm7\n",
        "movups [rsp + 128], xmm8\n",
        "movups [rsp + 144], xmm9\n",
        "movups [rsp + 160], xmm10\n",
        "movups [rsp + 176], xmm11\n",
        "movups [rsp + 192], xmm12\n",
        "movups [rsp + 208], xmm13\n",
        "movups [rsp + 224], xmm14\n",
        "movups [rsp + 240], xmm15\n",
    ) };
    (load all vectors) => { concat!(
        "movups xmm0, [rsp + 0]\n",
        "movups xmm1, [rsp + 16]\n",
        "movups xmm2, [rsp + 32]\n",
        "movups xmm3, [rsp + 48]\n",
        "movups xmm4, [rsp + 64]\n",
        "movups xmm5, [rsp + 80]\n",
        "movups xmm6, [rsp + 96]\n",
        "movups xmm7, [rsp + 112]\n",
        "movups xmm8, [rsp + 128]\n",
        "movups xmm9, [rsp + 144]\n",
        "movups xmm10, [rsp + 160]\n",
        "movups xmm11, [rsp + 176]\n",
        "movups xmm12, [rsp + 192]\n",
        "movups xmm13, [rsp + 208]\n",
        "movups xmm14, [rsp + 224]\n",
        "movups xmm15, [rsp + 240]\n",
    ) };
}

/// Defines functions for the program that pass on their arguments and, in the register named and on the stack, a `Frame`.
#[macro_export]
macro_rules! trampoline {
    ($($name:ident => $target:path, $frame:tt;)*) => {$(
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
                $crate::core::trampoline::assembly!(enter $frame),
                "call {target}",
                $crate::core::trampoline::assembly!(leave $frame),
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

pub(crate) use assembly;

/// Defines functions for the program's assembly, which save and restore every register, and the flags. They pass on the
/// address of all that on the stack, a [`Frame`] first. Registers of more than 16 bytes are saved where the caller says that they are in use.
#[macro_export]
macro_rules! calls_by_assembly {
    ($($name:ident => $target:path;)*) => {$(
        /// # Safety
        ///
        /// Called by assembly that has pushed what the function needs.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                ".cfi_startproc",
                "pushfq",
                ".cfi_adjust_cfa_offset 8",
                $crate::core::trampoline::assembly!(@push "rax" "rcx" "rdx" "rsi" "rdi" "r8" "r9" "r10" "r11"),
                $crate::core::trampoline::assembly!(room "256"),
                $crate::core::trampoline::assembly!(store all vectors),
                // The return address again, below which the frame is expected.
                "push qword ptr [rsp + 336]",
                ".cfi_adjust_cfa_offset 8",
                $crate::core::trampoline::assembly!(push frame),
                "mov rdi, rsp",
                "mov rbx, rsp",
                ".cfi_def_cfa_register rbx",
                ".cfi_offset rbx, -368",
                ".cfi_offset r12, -376",
                "cld",
                "xor r12d, r12d",
                // Registers of more than 16 bytes.
                "test dword ptr [rbx + 400], 0x20000",
                "jz 2f",
                "sub rsp, 8192",
                "and rsp, -64",
                "mov r12, rsp",
                "xor eax, eax",
                "mov [r12 + 512], rax",
                "mov [r12 + 520], rax",
                "mov [r12 + 528], rax",
                "mov [r12 + 536], rax",
                "mov [r12 + 544], rax",
                "mov [r12 + 552], rax",
                "mov [r12 + 560], rax",
                "mov [r12 + 568], rax",
                "mov eax, -1",
                "mov edx, -1",
                "xsave64 [r12]",
                "2:",
                "mov qword ptr [rsp - 8], 0",
                "and rsp, -16",
                "push 0",
                "push qword ptr [rip + {call}]",
                "mov [rip + {call}], rsp",
                "call {target}",
                "pop qword ptr [rip + {call}]",
                "test r12, r12",
                "jz 3f",
                "mov eax, -1",
                "mov edx, -1",
                "xrstor64 [r12]",
                "3:",
                "mov rsp, rbx",
                ".cfi_def_cfa_register rsp",
                $crate::core::trampoline::assembly!(@pop "r15" "r14" "r13" "r12" "rbx" "rbp"),
                ".cfi_restore rbx",
                ".cfi_restore r12",
                "lea rsp, [rsp + 8]",
                ".cfi_adjust_cfa_offset -8",
                $crate::core::trampoline::assembly!(load all vectors),
                $crate::core::trampoline::assembly!(drop "256"),
                $crate::core::trampoline::assembly!(@pop "r11" "r10" "r9" "r8" "rdi" "rsi" "rdx" "rcx" "rax"),
                "popfq",
                ".cfi_adjust_cfa_offset -8",
                $crate::core::trampoline::assembly!(forget),
                "ret",
                ".cfi_endproc",
                target = sym $target,
                call = sym $crate::core::trampoline::CALL,
            )
        }
    )*};
}
