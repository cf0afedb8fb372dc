//! C++ exceptions that several threads refer to, by `std::exception_ptr`. libstdc++ counts references without instrumentation; giving one up is
//! an operation, so that whoever destroys the exception comes after all who looked at it.

use crate::{
    core::{call_sites, exceptions, objects::Sort, operations::visible, world},
    hooks::passed_calls::passes,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_void};
use reweave_model::{Object, Op, Rmw, RmwKind};

passes! {
    _ZNSt15__exception_ptr13exception_ptrC1EPv => made;
    _ZNSt15__exception_ptr13exception_ptrC2EPv => made;
    _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv => released;
    __cxa_end_catch => handled;
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Exceptions to which there was a reference.
    shared: Vec<*mut c_void>,
}

impl State {
    pub fn clear(&mut self) {
        self.shared.clear();
    }
}

/// A first reference to an exception.
fn made(_: &'static CStr, arguments: &[usize; 6], _: &usize) {
    let object = arguments[1] as *mut c_void;
    let shared = &mut world::get().calls.pointers.shared;
    if !object.is_null() && !shared.contains(&object) {
        shared.push(object);
    }
}

/// A reference is given up.
fn released(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    // SAFETY: a reference is a pointer to the thrown object, or null.
    let object = unsafe { *(arguments[0] as *const *mut c_void) };
    give_up(object, from);
}

/// A handler has come to its end. The last one gives up the exception.
fn handled(_: &'static CStr, _: &[usize; 6], from: &usize) {
    if let Some((object, 1)) = exceptions::caught() {
        give_up(object, from);
    }
}

fn give_up(object: *mut c_void, from: &usize) {
    /// From the thrown object back to the counter.
    const COUNTER: usize = 128;
    let world = world::get();
    if !world.calls.pointers.shared.contains(&object) {
        return;
    }
    let site = call_sites::site(from);
    let counter = object as usize - COUNTER;
    let counter = world::get().object(counter, 8, Sort::Count, || Object::Atomic(0));
    let less = Rmw {
        kind: RmwKind::Sub,
        operand: 1,
        bits: 32,
    };
    visible(Op::Rmw(counter, less), site);
}
