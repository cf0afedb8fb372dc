//! Atomics of 16 bytes. The model's values have 8: it is told a word for each value, which is the value itself if that is small, and otherwise a number
//! that says as much as needed, whether two values are equal. Loads, stores, exchanges and compare-exchanges are one operation each; for
//! anything else processors have no instruction of that size either, and it is a load and compare-exchanges until one succeeds.

use crate::{
    hooks::{Frame, order},
    trampoline,
    world::{self, Done, perform, poll},
};
use alloc::collections::BTreeMap;
use core::arch::asm;
use reweave_model::{Gate, ObjectId, Op, Rmw, RmwKind};

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

/// The large values of a run, by the words that the model has for them.
#[derive(Default)]
pub struct Values(BTreeMap<u64, u128>);

impl Values {
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// A memory order of a call, and that of its failure.
#[derive(Clone, Copy)]
struct Orders(i32, i32);

/// An access of the program to 16 bytes, in a run.
struct Access<'a> {
    address: *mut u128,
    frame: &'a Frame,
}

impl Access<'_> {
    /// What is there at the moment.
    fn now(&self) -> u128 {
        // SAFETY: the program's own access; one thread runs.
        unsafe { self.address.read_volatile() }
    }

    fn set(&self, value: u128) {
        // SAFETY: as above.
        unsafe { self.address.write_volatile(value) };
    }

    /// The model's word for a value.
    fn word(&self, value: u128) -> u64 {
        const LARGE: u64 = 1 << 63;
        if value < LARGE.into() {
            return value as u64;
        }
        let word = mixed(value) | LARGE;
        let world = world::get();
        if *world.values.0.entry(word).or_insert(value) != value {
            let site = world.site(self.frame.return_address);
            world.unsupported("two values of 16 bytes that look alike", site);
        }
        word
    }

    /// Does what `op` makes of the object.
    fn perform(&self, orders: Orders, op: impl FnOnce(ObjectId) -> Op) -> Done {
        let word = self.word(self.now());
        let world = world::get();
        let site = world.site(self.frame.return_address);
        let object = world.atomic(self.address as usize, 16, word, site);
        let (success, failure) = (order(orders.0), order(orders.1));
        match op(object) {
            op @ Op::Store(..) => perform(op, Gate::Open, site, success, None),
            op @ Op::CompareExchange { .. } => poll(op, self.frame, site, success, Some(failure)),
            op => poll(op, self.frame, site, success, None),
        }
    }

    fn compare(&self, expected: u128, new: u128, orders: Orders, weak: bool) -> (bool, u128) {
        let (old, replacement) = (self.word(expected), self.word(new));
        let done = self.perform(orders, |object| Op::CompareExchange {
            object,
            expected: old,
            new: replacement,
            weak,
        });
        let found = self.now();
        if done.ok {
            self.set(new);
        }
        (done.ok, found)
    }
}

/// A number that depends on all bits of a value.
fn mixed(value: u128) -> u64 {
    let mut word = value as u64;
    for part in [(value >> 64) as u64, 0] {
        word = (word ^ word >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 29).wrapping_mul(0x94d0_49bb_1331_11eb);
        word = (word ^ word >> 32).wrapping_add(part.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
    word
}

/// What was there; `new` is now, if that was `expected`. By the processor.
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

/// Outside of runs: changes what is there.
unsafe fn change(address: *mut u128, new: impl Fn(u128) -> u128) -> u128 {
    let mut old = 0;
    loop {
        // SAFETY: the program's own access.
        let seen = unsafe { swap(address, old, new(old)) };
        if seen == old {
            return old;
        }
        old = seen;
    }
}

unsafe extern "C" fn load(address: *mut u128, mo: i32, frame: &Frame) -> u128 {
    if !world::active() {
        // SAFETY: the program's own access, here and below.
        return unsafe { change(address, |old| old) };
    }
    let access = Access { address, frame };
    access.perform(Orders(mo, mo), Op::Load);
    access.now()
}

unsafe extern "C" fn store(address: *mut u128, value: u128, mo: i32, frame: &Frame) {
    if !world::active() {
        // SAFETY: as above.
        unsafe { change(address, |_| value) };
        return;
    }
    let access = Access { address, frame };
    let word = access.word(value);
    access.perform(Orders(mo, mo), |object| Op::Store(object, word));
    access.set(value);
}

unsafe extern "C" fn exchange(address: *mut u128, new: u128, mo: i32, frame: &Frame) -> u128 {
    if !world::active() {
        // SAFETY: as above.
        return unsafe { change(address, |_| new) };
    }
    let access = Access { address, frame };
    let rmw = Rmw {
        kind: RmwKind::Swap,
        operand: access.word(new),
        bits: 64,
    };
    access.perform(Orders(mo, mo), |object| Op::Rmw(object, rmw));
    let old = access.now();
    access.set(new);
    old
}

unsafe fn modify(address: *mut u128, mo: i32, frame: &Frame, new: impl Fn(u128) -> u128) -> u128 {
    if !world::active() {
        // SAFETY: as above.
        return unsafe { change(address, new) };
    }
    let access = Access { address, frame };
    let orders = Orders(mo, mo);
    access.perform(orders, Op::Load);
    let mut old = access.now();
    loop {
        match access.compare(old, new(old), orders, false) {
            (true, _) => return old,
            (false, found) => old = found,
        }
    }
}

macro_rules! modifications {
    ($($name:ident |$old:ident, $operand:ident| $new:expr;)*) => {$(
        unsafe extern "C" fn $name(address: *mut u128, $operand: u128, mo: i32, frame: &Frame) -> u128 {
            // SAFETY: as above.
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

unsafe fn compare(
    address: *mut u128,
    (expected, new): (u128, u128),
    orders: Orders,
    weak: bool,
    frame: &Frame,
) -> (bool, u128) {
    if !world::active() {
        // SAFETY: as above.
        let old = unsafe { swap(address, expected, new) };
        return (old == expected, old);
    }
    Access { address, frame }.compare(expected, new, orders, weak)
}

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

unsafe extern "C" fn weak(
    address: *mut u128,
    expected: *mut u128,
    new: u128,
    mo: i32,
    fmo: i32,
    frame: &Frame,
) -> bool {
    // SAFETY: as above.
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
