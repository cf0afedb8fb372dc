//! Atomics of 16 bytes. Loads, stores, exchanges and compare-exchanges are one operation each ([`crate::run::wide_values`]); for anything else processors have no
//! instruction of that size either, and it is a load and compare-exchanges until one succeeds.

use crate::{
    core::trampoline::Frame,
    run::{
        wide_values::{Access, Orders},
        world,
    },
    trampoline,
};
use core::{arch::asm, ptr};

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
    __tsan_atomic128_compare_exchange_strong => strong, "rax";
    __tsan_atomic128_compare_exchange_weak => weak, "rax";
    __tsan_atomic128_compare_exchange_val => value, "rax";
}

// The same from code that was not instrumented.
trampoline! {
    __atomic_load_16 => load, "rdx";
    __atomic_store_16 => store, "r8";
    __atomic_exchange_16 => exchange, "r8";
    __atomic_fetch_add_16 => fetch_add, "r8";
    __atomic_fetch_sub_16 => fetch_sub, "r8";
    __atomic_fetch_and_16 => fetch_and, "r8";
    __atomic_fetch_or_16 => fetch_or, "r8";
    __atomic_fetch_xor_16 => fetch_xor, "r8";
    __atomic_fetch_nand_16 => fetch_nand, "r8";
    __atomic_compare_exchange_16 => strong, "rax";
}

/// What was there; `new` is now, if that was `expected`. By the processor.
///
/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
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

fn access(address: *mut u128, frame: &Frame) -> Access<'_> {
    Access {
        address: address.cast(),
        bytes: size_of::<u128>(),
        frame,
    }
}

/// Outside of runs: changes what is there.
///
/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe fn change(address: *mut u128, new: impl Fn(u128) -> u128) -> u128 {
    let mut old = 0;
    loop {
        // SAFETY: by the caller, the program performs an atomic operation of 16 bytes there.
        let seen = unsafe { swap(address, old, new(old)) };
        if seen == old {
            return old;
        }
        old = seen;
    }
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe extern "C" fn load(address: *mut u128, mo: i32, frame: &Frame) -> u128 {
    if !world::active() {
        // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
        // aligned.
        return unsafe { change(address, |old| old) };
    }
    access(address, frame).load(mo);
    // SAFETY: the program's operation reads 16 bytes there, and no other thread runs meanwhile.
    unsafe { address.read_volatile() }
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe extern "C" fn store(address: *mut u128, value: u128, mo: i32, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
        // aligned.
        unsafe { change(address, |_| value) };
        return;
    }
    access(address, frame).store((&raw const value).cast(), mo);
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe extern "C" fn exchange(address: *mut u128, new: u128, mo: i32, frame: &Frame) -> u128 {
    if !world::active() {
        // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
        // aligned.
        return unsafe { change(address, |_| new) };
    }
    let mut old = 0_u128;
    let (from, into) = ((&raw const new).cast(), (&raw mut old).cast());
    access(address, frame).exchange(from, into, mo);
    old
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe fn modify(address: *mut u128, mo: i32, frame: &Frame, new: impl Fn(u128) -> u128) -> u128 {
    if !world::active() {
        // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
        // aligned.
        return unsafe { change(address, new) };
    }
    // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
    // aligned.
    unsafe {
        let mut old = load(address, mo, frame);
        loop {
            match compare(address, (old, new(old)), Orders(mo, mo), false, frame) {
                (true, _) => return old,
                (false, found) => old = found,
            }
        }
    }
}

macro_rules! modifications {
    ($($name:ident |$old:ident, $operand:ident| $new:expr;)*) => {$(
        /// # Safety
        ///
        /// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
        unsafe extern "C" fn $name(address: *mut u128, $operand: u128, mo: i32, frame: &Frame) -> u128 {
            // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
            // aligned.
            unsafe { modify(address, mo, frame, |$old| $new) }
        }
    )*};
}

modifications! {
    fetch_add |old, operand| old.wrapping_add(operand);
    fetch_sub |old, operand| old.wrapping_sub(operand);
    fetch_and |old, operand| old & operand;
    fetch_or |old, operand| old | operand;
    fetch_xor |old, operand| old ^ operand;
    fetch_nand |old, operand| !(old & operand);
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe fn compare(
    address: *mut u128,
    (expected, new): (u128, u128),
    orders: Orders,
    weak: bool,
    frame: &Frame,
) -> (bool, u128) {
    if !world::active() {
        // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
        // aligned.
        let old = unsafe { swap(address, expected, new) };
        return (old == expected, old);
    }
    let (old, replacement) = (ptr::from_ref(&expected), ptr::from_ref(&new));
    let ok = access(address, frame).compare(old.cast(), replacement.cast(), orders, weak);
    // SAFETY: the program's operation reads 16 bytes there, and no other thread runs meanwhile.
    let found = unsafe { address.read_volatile() };
    (ok, if ok { expected } else { found })
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe extern "C" fn strong(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    mo: i32,
    fmo: i32,
    frame: &Frame,
) -> bool {
    // SAFETY: the program passes a variable of its own.
    unsafe {
        let values = (expected.read_unaligned(), new);
        let (ok, old) = compare(address, values, Orders(mo, fmo), false, frame);
        if !ok {
            expected.write_unaligned(old);
        }
        ok
    }
}

/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe extern "C" fn weak(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    mo: i32,
    fmo: i32,
    frame: &Frame,
) -> bool {
    // SAFETY: the program performs an atomic operation of 16 bytes there, so the address is valid and
    // aligned.
    unsafe {
        let values = (expected.read_unaligned(), new);
        let (ok, old) = compare(address, values, Orders(mo, fmo), true, frame);
        if !ok {
            expected.write_unaligned(old);
        }
        ok
    }
}

/// The order of its failure lies behind the return address.
///
/// # Safety
///
/// `address` is valid for an atomic operation of 16 bytes, which the program performs there.
unsafe extern "C" fn value(
    address: *mut u128,
    expected: u128,
    new: u128,
    mo: i32,
    frame: &Frame,
) -> u128 {
    // SAFETY: as above; the caller has put its last argument there.
    unsafe {
        let fmo = (&raw const frame.return_address)
            .add(1)
            .cast::<i32>()
            .read();
        compare(address, (expected, new), Orders(mo, fmo), false, frame).1
    }
}
