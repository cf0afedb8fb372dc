//! The compiler's hooks for loads and stores of plain memory.

use crate::{
    core::trampoline::{self, Frame, assembly},
    run::{accesses::access, racy_units},
};
use core::arch::naked_asm;
use reweave_memory::Kind;

/// Defines a hook: straight to the check, or, in a search with visible units, with a [`Frame`] to `units`.
macro_rules! hook {
    ($name:ident, $fast:ident, $slow:ident, $pc:tt) => {
        /// # Safety
        ///
        /// Called by the compiler's instrumentation, before the access that it stands for.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "cmp byte ptr [rip + {any}], 0",
                "jne 2f",
                concat!("mov ", $pc, ", [rsp]"),
                "jmp {fast}",
                "2:",
                assembly!(push frame),
                concat!("mov ", $pc, ", rsp"),
                assembly!(enter $pc),
                "call {slow}",
                assembly!(leave $pc),
                assembly!(return),
                ".cfi_endproc",
                call = sym trampoline::CALL,
                recorded = sym trampoline::RECORDED,
                forget = sym trampoline::return_and_forget,
                any = sym racy_units::LOOKED_AT,
                fast = sym $fast,
                slow = sym $slow,
            )
        }
    };
}

macro_rules! plain {
    ($($name:ident $module:ident $bytes:literal $kind:ident;)*) => {$(
        mod $module {
            use super::*;
            extern "C" fn fast(address: usize, pc: usize) {
                access(address, $bytes, Kind::$kind, pc);
            }
            extern "C" fn slow(address: usize, frame: &Frame) {
                racy_units::visible(address, $bytes, Kind::$kind, frame);
            }
            hook!($name, fast, slow, "rsi");
        }
    )*};
}

plain! {
    __tsan_read1 read1 1 Read;
    __tsan_read2 read2 2 Read;
    __tsan_read4 read4 4 Read;
    __tsan_read8 read8 8 Read;
    __tsan_read16 read16 16 Read;
    __tsan_write1 write1 1 Write;
    __tsan_write2 write2 2 Write;
    __tsan_write4 write4 4 Write;
    __tsan_write8 write8 8 Write;
    __tsan_write16 write16 16 Write;
    __tsan_unaligned_read2 unaligned_read2 2 Read;
    __tsan_unaligned_read4 unaligned_read4 4 Read;
    __tsan_unaligned_read8 unaligned_read8 8 Read;
    __tsan_unaligned_read16 unaligned_read16 16 Read;
    __tsan_unaligned_write2 unaligned_write2 2 Write;
    __tsan_unaligned_write4 unaligned_write4 4 Write;
    __tsan_unaligned_write8 unaligned_write8 8 Write;
    __tsan_unaligned_write16 unaligned_write16 16 Write;
    __tsan_volatile_read1 volatile_read1 1 Read;
    __tsan_volatile_read2 volatile_read2 2 Read;
    __tsan_volatile_read4 volatile_read4 4 Read;
    __tsan_volatile_read8 volatile_read8 8 Read;
    __tsan_volatile_read16 volatile_read16 16 Read;
    __tsan_volatile_write1 volatile_write1 1 Write;
    __tsan_volatile_write2 volatile_write2 2 Write;
    __tsan_volatile_write4 volatile_write4 4 Write;
    __tsan_volatile_write8 volatile_write8 8 Write;
    __tsan_volatile_write16 volatile_write16 16 Write;
    __tsan_unaligned_volatile_read2 unaligned_volatile_read2 2 Read;
    __tsan_unaligned_volatile_read4 unaligned_volatile_read4 4 Read;
    __tsan_unaligned_volatile_read8 unaligned_volatile_read8 8 Read;
    __tsan_unaligned_volatile_read16 unaligned_volatile_read16 16 Read;
    __tsan_unaligned_volatile_write2 unaligned_volatile_write2 2 Write;
    __tsan_unaligned_volatile_write4 unaligned_volatile_write4 4 Write;
    __tsan_unaligned_volatile_write8 unaligned_volatile_write8 8 Write;
    __tsan_unaligned_volatile_write16 unaligned_volatile_write16 16 Write;
    // clang: a read and then a write of the same.
    __tsan_read_write1 change1 1 Write;
    __tsan_read_write2 change2 2 Write;
    __tsan_read_write4 change4 4 Write;
    __tsan_read_write8 change8 8 Write;
    __tsan_read_write16 change16 16 Write;
    __tsan_unaligned_read_write2 unaligned_change2 2 Write;
    __tsan_unaligned_read_write4 unaligned_change4 4 Write;
    __tsan_unaligned_read_write8 unaligned_change8 8 Write;
    __tsan_unaligned_read_write16 unaligned_change16 16 Write;
    __tsan_vptr_read vptr_read 8 Read;
}

macro_rules! ranges {
    ($($name:ident $module:ident $kind:ident;)*) => {$(
        mod $module {
            use super::*;
            extern "C" fn fast(address: usize, bytes: usize, pc: usize) {
                if bytes > 0 {
                    access(address, bytes, Kind::$kind, pc);
                }
            }
            extern "C" fn slow(address: usize, bytes: usize, frame: &Frame) {
                racy_units::visible(address, bytes, Kind::$kind, frame);
            }
            hook!($name, fast, slow, "rdx");
        }
    )*};
}

ranges! {
    __tsan_read_range read_range Read;
    __tsan_write_range write_range Write;
}

/// A constructor or destructor sets the pointer to the virtual functions. Setting what is there already is no change that anybody could see.
mod vptr_update {
    use super::*;

    fn changes(place: *const usize, new: usize) -> bool {
        // SAFETY: the compiler calls the hook before the program writes a pointer there, so the word is
        // mapped and aligned.
        unsafe { *place != new }
    }

    extern "C" fn fast(place: *const usize, new: usize, pc: usize) {
        if changes(place, new) {
            access(place as usize, 8, Kind::Write, pc);
        }
    }

    extern "C" fn slow(place: *const usize, new: usize, frame: &Frame) {
        if changes(place, new) {
            racy_units::visible(place as usize, 8, Kind::Write, frame);
        }
    }

    hook!(__tsan_vptr_update, fast, slow, "rdx");
}
