//! Atomics of 16 bytes. The model has no values of that size: in a run they are not supported, elsewhere they are what they are.

use crate::{hooks::Frame, trampoline, world};
use core::arch::asm;

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
    __tsan_atomic128_compare_exchange_strong => compare, "r9";
    __tsan_atomic128_compare_exchange_weak => compare, "r9";
    __tsan_atomic128_compare_exchange_val => compare_value, "r9";
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

unsafe fn modify(address: *mut u128, frame: &Frame, change: impl Fn(u128) -> u128) -> u128 {
    if world::active() {
        let world = world::get();
        let site = world.site(frame.return_address);
        world.unsupported("atomic operation on 16 bytes", site);
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

unsafe extern "C" fn load(address: *mut u128, _: i32, frame: &Frame) -> u128 {
    // SAFETY: the program's own access, here and below.
    unsafe { modify(address, frame, |old| old) }
}

unsafe extern "C" fn store(address: *mut u128, value: u128, _: i32, frame: &Frame) {
    // SAFETY: as above.
    unsafe { modify(address, frame, |_| value) };
}

macro_rules! modifications {
    ($($name:ident |$old:ident, $operand:ident| $new:expr;)*) => {$(
        unsafe extern "C" fn $name(address: *mut u128, $operand: u128, _: i32, frame: &Frame) -> u128 {
            // SAFETY: as above.
            unsafe { modify(address, frame, |$old| $new) }
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

unsafe extern "C" fn compare(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    _: i32,
    frame: &Frame,
) -> bool {
    // SAFETY: as above.
    unsafe {
        let wanted = *expected;
        let old = modify(address, frame, |old| if old == wanted { new } else { old });
        *expected = old;
        old == wanted
    }
}

unsafe extern "C" fn compare_value(
    address: *mut u128,
    expected: u128,
    new: u128,
    frame: &Frame,
) -> u128 {
    // SAFETY: as above.
    unsafe {
        modify(
            address,
            frame,
            |old| if old == expected { new } else { old },
        )
    }
}
