//! What the compiler's thread-sanitizer instrumentation calls.

pub(crate) mod atomic_sections;
pub(crate) mod library_objects;
pub(crate) mod plain_accesses;
pub(crate) mod sized_atomics;
pub(crate) mod unhooked;
pub(crate) mod wide_atomics;

use crate::{
    core::{cell, modules, trampoline::Frame},
    run::{
        atomic_objects::{self, order},
        callers,
        world::{self, perform, poll},
    },
    trampoline,
};
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};
use reweave_model::{Gate, Op, Order, Rmw, RmwKind};

macro_rules! atomics {
    ($width:ident, $bits:literal, $word:ty, $atomic:ty) => {
        mod $width {
            use super::*;

            /// # Safety
            /// As the operation it stands for.
            unsafe fn real<'a>(address: *mut $word) -> &'a $atomic {
                // SAFETY: the program performs an atomic operation of this width there, so the address is
                // valid and aligned for it.
                unsafe { <$atomic>::from_ptr(address) }
            }

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            pub unsafe extern "C" fn load(address: *mut $word, mo: i32, frame: &Frame) -> $word {
                // SAFETY: the program performs an atomic operation of this width there, so the address is
                // valid and aligned for it.
                let value = unsafe { address.read_volatile() };
                if !world::active() {
                    return value;
                }
                let site = modules::site(frame.return_address);
                let object = atomic_objects::atomic(address as usize, $bits / 8, value.into(), site);
                poll(Op::Load(object), frame, site, order(mo), None).result as $word
            }

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            pub unsafe extern "C" fn store(
                address: *mut $word,
                value: $word,
                mo: i32,
                frame: &Frame,
            ) {
                if !world::active() {
                    // SAFETY: the program performs an atomic operation of this width there, so the address is
                    // valid and aligned for it.
                    return unsafe { real(address) }.store(value, Ordering::SeqCst);
                }
                // SAFETY: the program performs an atomic operation of this width there, so the address is
                // valid and aligned for it.
                let old = unsafe { address.read_volatile() };
                let site = modules::site(frame.return_address);
                let object = atomic_objects::atomic(address as usize, $bits / 8, old.into(), site);
                perform(Op::Store(object, value.into()), Gate::Open, site, order(mo), None);
                // SAFETY: the program's operation writes there, as the address was found valid and aligned
                // for above.
                unsafe { address.write_volatile(value) };
            }

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            #[inline(always)]
            unsafe fn modify(
                address: *mut $word,
                operand: $word,
                mo: i32,
                frame: &Frame,
                kind: RmwKind,
            ) -> $word {
                let rmw = Rmw {
                    kind,
                    operand: operand.into(),
                    bits: $bits,
                };
                if !world::active() {
                    let update = |old: $word| Some(rmw.apply(old.into()) as $word);
                    // SAFETY: the program performs an atomic operation of this width there, so the address is
                    // valid and aligned for it.
                    let old = unsafe { real(address) }
                        .fetch_update(Ordering::SeqCst, Ordering::SeqCst, update);
                    return old.unwrap_or_default();
                }
                // SAFETY: the program performs an atomic operation of this width there, so the address is
                // valid and aligned for it.
                let old = unsafe { address.read_volatile() };
                let site = modules::site(frame.return_address);
                let object = atomic_objects::atomic(address as usize, $bits / 8, old.into(), site);
                let old = poll(Op::Rmw(object, rmw), frame, site, order(mo), None).result;
                // SAFETY: the program's operation writes there, as the address was found valid and aligned
                // for above.
                unsafe { address.write_volatile(rmw.apply(old) as $word) };
                old as $word
            }

            atomics!(@modify $word, exchange Swap, fetch_add Add, fetch_sub Sub, fetch_and And, fetch_or Or, fetch_xor Xor, fetch_nand Nand);

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            #[inline(always)]
            unsafe fn compare(
                address: *mut $word,
                expected: $word,
                new: $word,
                orders: (i32, i32),
                weak: bool,
                frame: &Frame,
            ) -> (bool, $word) {
                if !world::active() {
                    // SAFETY: the program performs an atomic operation of this width there, so the address is
                    // valid and aligned for it.
                    let result = unsafe { real(address) }.compare_exchange(
                        expected,
                        new,
                        Ordering::SeqCst,
                        Ordering::SeqCst,
                    );
                    return (result.is_ok(), result.unwrap_or_else(|old| old));
                }
                // SAFETY: the program performs an atomic operation of this width there, so the address is
                // valid and aligned for it.
                let old = unsafe { address.read_volatile() };
                let site = modules::site(frame.return_address);
                let object = atomic_objects::atomic(address as usize, $bits / 8, old.into(), site);
                let op = Op::CompareExchange {
                    object,
                    expected: expected.into(),
                    new: new.into(),
                    weak,
                };
                let failure = Some(order(orders.1));
                let event = poll(op, frame, site, order(orders.0), failure);
                if event.ok {
                    // SAFETY: the program's operation writes there, as the address was found valid and
                    // aligned for above.
                    unsafe { address.write_volatile(new) };
                }
                (event.ok, event.result as $word)
            }

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            pub unsafe extern "C" fn strong(
                address: *mut $word,
                expected: *mut $word,
                new: $word,
                mo: i32,
                fmo: i32,
                frame: &Frame,
            ) -> bool {
                // SAFETY: the compiler passes the address of the program's variable for the expected value,
                // of this width.
                unsafe {
                    let (ok, old) = compare(address, *expected, new, (mo, fmo), false, frame);
                    if !ok {
                        *expected = old;
                    }
                    ok
                }
            }

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            pub unsafe extern "C" fn weak(
                address: *mut $word,
                expected: *mut $word,
                new: $word,
                mo: i32,
                fmo: i32,
                frame: &Frame,
            ) -> bool {
                // SAFETY: the program's operation writes there, as the address was found valid and aligned
                // for above.
                unsafe {
                    let (ok, old) = compare(address, *expected, new, (mo, fmo), true, frame);
                    if !ok {
                        *expected = old;
                    }
                    ok
                }
            }

            /// # Safety
            ///
            /// `address` is valid for the atomic operation that the program performs there.
            pub unsafe extern "C" fn value(
                address: *mut $word,
                expected: $word,
                new: $word,
                mo: i32,
                fmo: i32,
                frame: &Frame,
            ) -> $word {
                // SAFETY: the program's operation writes there, as the address was found valid and aligned
                // for above.
                unsafe { compare(address, expected, new, (mo, fmo), false, frame) }.1
            }
        }
    };
    (@modify $word:ty, $($name:ident $kind:ident),*) => {$(
        /// # Safety
        ///
        /// `address` is valid for the atomic operation that the program performs there.
        pub unsafe extern "C" fn $name(
            address: *mut $word,
            operand: $word,
            mo: i32,
            frame: &Frame,
        ) -> $word {
            // SAFETY: the program performs an atomic operation of this width there, so the address is valid
            // and aligned for it.
            unsafe { modify(address, operand, mo, frame, RmwKind::$kind) }
        }
    )*};
}

atomics!(byte, 8, u8, AtomicU8);
atomics!(half, 16, u16, AtomicU16);
atomics!(word, 32, u32, AtomicU32);
atomics!(double, 64, u64, AtomicU64);

trampoline! {
    __tsan_atomic8_load => byte::load, "rdx";
    __tsan_atomic16_load => half::load, "rdx";
    __tsan_atomic32_load => word::load, "rdx";
    __tsan_atomic64_load => double::load, "rdx";
    __tsan_atomic8_store => byte::store, "rcx";
    __tsan_atomic16_store => half::store, "rcx";
    __tsan_atomic32_store => word::store, "rcx";
    __tsan_atomic64_store => double::store, "rcx";
    __tsan_atomic8_exchange => byte::exchange, "rcx";
    __tsan_atomic16_exchange => half::exchange, "rcx";
    __tsan_atomic32_exchange => word::exchange, "rcx";
    __tsan_atomic64_exchange => double::exchange, "rcx";
    __tsan_atomic8_fetch_add => byte::fetch_add, "rcx";
    __tsan_atomic16_fetch_add => half::fetch_add, "rcx";
    __tsan_atomic32_fetch_add => word::fetch_add, "rcx";
    __tsan_atomic64_fetch_add => double::fetch_add, "rcx";
    __tsan_atomic8_fetch_sub => byte::fetch_sub, "rcx";
    __tsan_atomic16_fetch_sub => half::fetch_sub, "rcx";
    __tsan_atomic32_fetch_sub => word::fetch_sub, "rcx";
    __tsan_atomic64_fetch_sub => double::fetch_sub, "rcx";
    __tsan_atomic8_fetch_and => byte::fetch_and, "rcx";
    __tsan_atomic16_fetch_and => half::fetch_and, "rcx";
    __tsan_atomic32_fetch_and => word::fetch_and, "rcx";
    __tsan_atomic64_fetch_and => double::fetch_and, "rcx";
    __tsan_atomic8_fetch_or => byte::fetch_or, "rcx";
    __tsan_atomic16_fetch_or => half::fetch_or, "rcx";
    __tsan_atomic32_fetch_or => word::fetch_or, "rcx";
    __tsan_atomic64_fetch_or => double::fetch_or, "rcx";
    __tsan_atomic8_fetch_xor => byte::fetch_xor, "rcx";
    __tsan_atomic16_fetch_xor => half::fetch_xor, "rcx";
    __tsan_atomic32_fetch_xor => word::fetch_xor, "rcx";
    __tsan_atomic64_fetch_xor => double::fetch_xor, "rcx";
    __tsan_atomic8_fetch_nand => byte::fetch_nand, "rcx";
    __tsan_atomic16_fetch_nand => half::fetch_nand, "rcx";
    __tsan_atomic32_fetch_nand => word::fetch_nand, "rcx";
    __tsan_atomic64_fetch_nand => double::fetch_nand, "rcx";
    __tsan_atomic8_compare_exchange_strong => byte::strong, "r9";
    __tsan_atomic16_compare_exchange_strong => half::strong, "r9";
    __tsan_atomic32_compare_exchange_strong => word::strong, "r9";
    __tsan_atomic64_compare_exchange_strong => double::strong, "r9";
    __tsan_atomic8_compare_exchange_weak => byte::weak, "r9";
    __tsan_atomic16_compare_exchange_weak => half::weak, "r9";
    __tsan_atomic32_compare_exchange_weak => word::weak, "r9";
    __tsan_atomic64_compare_exchange_weak => double::weak, "r9";
    __tsan_atomic8_compare_exchange_val => byte::value, "r9";
    __tsan_atomic16_compare_exchange_val => half::value, "r9";
    __tsan_atomic32_compare_exchange_val => word::value, "r9";
    __tsan_atomic64_compare_exchange_val => double::value, "r9";
    __tsan_atomic_thread_fence => fence, "rsi";
}

/// # Safety
///
/// `address` is valid for the atomic operation that the program performs there.
unsafe extern "C" fn fence(mo: i32, frame: &Frame) {
    if !world::active() {
        core::sync::atomic::fence(Ordering::SeqCst);
        return;
    }
    cell::changed();
    let mut world = world::borrow();
    let order = order(mo);
    let current = world.current;
    if order != Order::SeqCst {
        let site = modules::site(frame.return_address);
        world.races.weak_order(site);
    }
    world.races.fence(current, order);
    world.refresh();
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_atomic_signal_fence(_: i32) {}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_init() {}

/// # Safety
///
/// Called by the compiler's instrumentation at the beginning of a function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
pub unsafe extern "C" fn __tsan_func_entry() {
    core::arch::naked_asm!("mov rsi, [rsp]", "jmp {target}", target = sym entered)
}

extern "C" fn entered(caller: usize, pc: usize) {
    if callers::push(caller) && atomic_sections::any() {
        atomic_sections::entered(pc);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn __tsan_func_exit() {
    if !callers::is_empty() {
        if atomic_sections::any() {
            atomic_sections::leaving();
        }
        callers::pop();
    }
}
