//! Atomics of sizes that the compiler leaves to libatomic, which would take locks of its own for them: structures of three bytes, of three
//! words.

use crate::{
    core::{real::Real, trampoline::Frame},
    run::{
        accesses,
        wide_values::{Access, Orders},
        world,
    },
    trampoline,
};
use core::mem::transmute;

trampoline! {
    __atomic_load => load, "r8";
    __atomic_store => store, "r8";
    __atomic_exchange => exchange, "r9";
    __atomic_compare_exchange => compare, "rax";
}

/// What is loaded when programs that need it run by themselves.
const LIBRARY: &core::ffi::CStr = c"libatomic.so.1";

type Load = unsafe extern "C" fn(usize, *mut u8, *mut u8, i32);
type Exchange = unsafe extern "C" fn(usize, *mut u8, *mut u8, *mut u8, i32);
type Compare = unsafe extern "C" fn(usize, *mut u8, *mut u8, *mut u8, i32, i32) -> bool;

/// # Safety
///
/// The arguments are those of the function of libatomic that the program calls.
unsafe extern "C" fn load(bytes: usize, address: *mut u8, into: *mut u8, mo: i32, frame: &Frame) {
    if !world::active() {
        static REAL: Real = Real::new(c"__atomic_load");
        // SAFETY: the library's function has this type; the program's own arguments.
        return unsafe {
            transmute::<*mut _, Load>(REAL.get_from(LIBRARY))(bytes, address, into, mo)
        };
    }
    let access = Access {
        address,
        bytes,
        frame,
    };
    access.load(mo);
    accesses::range(into as usize, bytes, true, frame);
    access.read(into);
}

/// # Safety
///
/// The arguments are those of the function of libatomic that the program calls.
unsafe extern "C" fn store(bytes: usize, address: *mut u8, value: *mut u8, mo: i32, frame: &Frame) {
    if !world::active() {
        static REAL: Real = Real::new(c"__atomic_store");
        // SAFETY: libatomic's function of this name has this signature; the arguments are those that the
        // program passed for it.
        return unsafe {
            transmute::<*mut _, Load>(REAL.get_from(LIBRARY))(bytes, address, value, mo)
        };
    }
    accesses::range(value as usize, bytes, false, frame);
    let access = Access {
        address,
        bytes,
        frame,
    };
    access.store(value, mo);
}

/// # Safety
///
/// The arguments are those of the function of libatomic that the program calls.
unsafe extern "C" fn exchange(
    bytes: usize,
    address: *mut u8,
    value: *mut u8,
    into: *mut u8,
    mo: i32,
    frame: &Frame,
) {
    if !world::active() {
        static REAL: Real = Real::new(c"__atomic_exchange");
        // SAFETY: libatomic's function of this name has this signature; the arguments are those that the
        // program passed for it.
        return unsafe {
            let real = transmute::<*mut _, Exchange>(REAL.get_from(LIBRARY));
            real(bytes, address, value, into, mo)
        };
    }
    accesses::range(value as usize, bytes, false, frame);
    accesses::range(into as usize, bytes, true, frame);
    let access = Access {
        address,
        bytes,
        frame,
    };
    access.exchange(value, into, mo);
}

/// # Safety
///
/// The arguments are those of the function of libatomic that the program calls.
unsafe extern "C" fn compare(
    bytes: usize,
    address: *mut u8,
    expected: *mut u8,
    new: *mut u8,
    mo: i32,
    fmo: i32,
    frame: &Frame,
) -> bool {
    if !world::active() {
        static REAL: Real = Real::new(c"__atomic_compare_exchange");
        // SAFETY: libatomic's function of this name has this signature; the arguments are those that the
        // program passed for it.
        return unsafe {
            let real = transmute::<*mut _, Compare>(REAL.get_from(LIBRARY));
            real(bytes, address, expected, new, mo, fmo)
        };
    }
    accesses::range(expected as usize, bytes, false, frame);
    accesses::range(new as usize, bytes, false, frame);
    let access = Access {
        address,
        bytes,
        frame,
    };
    let ok = access.compare(expected, new, Orders(mo, fmo), false);
    if !ok {
        accesses::range(expected as usize, bytes, true, frame);
        access.read(expected);
    }
    ok
}
