//! Atomics of 16 bytes. The model has no values of that size: what it knows of such an atomic is a number that every change makes another one,
//! and memory holds the value. So an operation is one event; a compare-exchange that may
//! succeed is a load before.

use crate::{
    hooks::{Frame, order},
    trampoline,
    world::{self, perform, poll},
};
use core::arch::asm;
use reweave_model::{Gate, Op, Rmw, RmwKind};

trampoline! {
    __tsan_atomic128_load => load, "rdx";
    __tsan_atomic128_store => store, "r8";
    __tsan_atomic128_exchange => exchange, "r8";
    __tsan_atomic128_fetch_add => fetch_add, "r8";
    __tsan_atomic128_fetch_sub => fetch_sub, "r8";
    __tsan_atomic128_fetch_and => fetch_and, "r8";
    __tsan_atomic128_fetch_or => fetch_or, "r8";
    __tsan_atomic128_fetch_xor => fetch_xor, "r8";
    __tsan_atomic128_fetch_nand => fetch_nand, "r8";
    __atomic_load_16 => load, "rdx";
    __atomic_store_16 => store, "r8";
    __atomic_exchange_16 => exchange, "r8";
    __atomic_fetch_add_16 => fetch_add, "r8";
    __atomic_fetch_sub_16 => fetch_sub, "r8";
    __atomic_fetch_and_16 => fetch_and, "r8";
    __atomic_fetch_or_16 => fetch_or, "r8";
    __atomic_fetch_xor_16 => fetch_xor, "r8";
    __atomic_fetch_nand_16 => fetch_nand, "r8";
}

/// What was there; `new` is now, if that was `expected`.
unsafe fn swap(address: *mut u128, expected: u128, new: u128) -> u128 {
    let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
    // SAFETY: the program's own access, aligned as such atomics are. rbx is LLVM's, so it is put back.
    unsafe {
        asm!(
            "xchg rbx, {new}",
            "lock cmpxchg16b [{address}]",
            "mov rbx, {new}",
            new = inout(reg) new as u64 => _,
            address = in(reg) address,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
        );
    }
    u128::from(low) | u128::from(high) << 64
}

unsafe fn modify(
    address: *mut u128,
    mo: i32,
    frame: &Frame,
    change: impl Fn(u128) -> u128,
) -> u128 {
    if world::active() {
        let site = world::get().site(frame.return_address);
        let object = world::get().wide(address as usize, site);
        let another = Rmw {
            kind: RmwKind::Add,
            operand: 1,
            bits: 64,
        };
        poll(Op::Rmw(object, another), frame, site, order(mo), None);
    }
    let mut old = 0;
    loop {
        // SAFETY: the program's own access.
        let seen = unsafe { swap(address, old, change(old)) };
        if seen == old {
            return old;
        }
        old = seen;
    }
}

unsafe extern "C" fn load(address: *mut u128, mo: i32, frame: &Frame) -> u128 {
    if world::active() {
        let site = world::get().site(frame.return_address);
        let object = world::get().wide(address as usize, site);
        poll(Op::Load(object), frame, site, order(mo), None);
        // SAFETY: the program's own access; one OS thread runs.
        return unsafe { address.read_volatile() };
    }
    // SAFETY: the program's own access.
    unsafe { swap(address, 0, 0) }
}

unsafe extern "C" fn store(address: *mut u128, value: u128, mo: i32, frame: &Frame) {
    if world::active() {
        let site = world::get().site(frame.return_address);
        let object = world::get().wide(address as usize, site);
        let number = fresh();
        perform(Op::Store(object, number), Gate::Open, site, order(mo), None);
        // SAFETY: the program's own access; one OS thread runs.
        return unsafe { address.write_volatile(value) };
    }
    // SAFETY: as above.
    unsafe { modify(address, mo, frame, |_| value) };
}

/// A number that no other store makes of an atomic: whose it is, and how many events that thread has done.
fn fresh() -> u64 {
    let world = world::get();
    let count = world.run.state().count(world.current);
    (world.slot() as u64 + 1) << 48 | u64::from(count) << 16
}

macro_rules! modifications {
    ($($name:ident |$old:ident, $operand:ident| $new:expr;)*) => {$(
        unsafe extern "C" fn $name(address: *mut u128, $operand: u128, mo: i32, frame: &Frame) -> u128 {
            // SAFETY: the program's own access.
            unsafe { modify(address, mo, frame, |$old| $new) }
        }
    )*};
}

modifications! {
    exchange |_old, operand| operand;
    fetch_add |old, operand| old.wrapping_add(operand);
    fetch_sub |old, operand| old.wrapping_sub(operand);
    fetch_and |old, operand| old & operand;
    fetch_or |old, operand| old | operand;
    fetch_xor |old, operand| old ^ operand;
    fetch_nand |old, operand| !(old & operand);
}

/// As [`trampoline`], for functions whose arguments take up all registers: the frame comes after them.
macro_rules! crowded {
    ($($name:ident => $target:path;)*) => {$(
        #[unsafe(no_mangle)]
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
                ".cfi_adjust_cfa_offset 48",
                "mov rax, rsp",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {target}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                target = sym $target,
            )
        }
    )*};
}

crowded! {
    __tsan_atomic128_compare_exchange_strong => compare;
    __tsan_atomic128_compare_exchange_weak => compare;
    __tsan_atomic128_compare_exchange_val => compare_value;
    __atomic_compare_exchange_16 => compare;
}

/// What was there: `new` is now, if that was `expected`. The model compares numbers, so the value is looked at first, and again when another one has
/// come in between.
unsafe fn exchange_if(
    address: *mut u128,
    expected: u128,
    new: u128,
    (mo, fmo): (i32, i32),
    frame: &Frame,
) -> u128 {
    if !world::active() {
        // SAFETY: the program's own access.
        return unsafe { swap(address, expected, new) };
    }
    let site = world::get().site(frame.return_address);
    let object = world::get().wide(address as usize, site);
    let failure = order(fmo);
    loop {
        let number = poll(Op::Load(object), frame, site, failure, None).result;
        // SAFETY: the program's own access; one OS thread runs.
        let old = unsafe { address.read_volatile() };
        if old != expected {
            return old;
        }
        let op = Op::CompareExchange {
            object,
            expected: number,
            new: fresh(),
            weak: false,
        };
        if perform(op, Gate::Open, site, order(mo), Some(failure)).ok {
            // SAFETY: as above.
            unsafe { address.write_volatile(new) };
            return old;
        }
    }
}

unsafe extern "C" fn compare(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    mo: i32,
    fmo: i32,
    frame: &Frame,
) -> bool {
    // SAFETY: the program's own access and variable.
    unsafe {
        let wanted = expected.read_unaligned();
        let old = exchange_if(address, wanted, new, (mo, fmo), frame);
        if old != wanted {
            expected.write_unaligned(old);
        }
        old == wanted
    }
}

unsafe extern "C" fn compare_value(
    address: *mut u128,
    expected: u128,
    new: u128,
    mo: i32,
    frame: &Frame,
) -> u128 {
    // SAFETY: its last argument lies on the stack, behind the frame.
    let fmo = unsafe { core::ptr::from_ref(frame).add(1).cast::<i32>().read() };
    // SAFETY: the program's own access.
    unsafe { exchange_if(address, expected, new, (mo, fmo), frame) }
}
