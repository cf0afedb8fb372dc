//! C++ exceptions that several threads refer to, by `std::exception_ptr`. libstdc++ counts references without instrumentation. To
//! drop a reference is an operation, so that the thread that destroys the exception comes after all threads that used it.

use crate::{
    core::{
        objects::Sort,
        per_process::{PerProcess, ProcessChange},
    },
    kernel::passed_calls::passes,
    run::{call_sites, operations::visible, world},
    shared::exceptions,
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

/// Exceptions that this run has had references to.
static SHARED: PerProcess<Vec<*mut c_void>> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    SHARED.change(change);
}

/// A new run.
pub fn clear() {
    SHARED.borrow().clear();
}

/// A first reference to an exception.
fn made(_: &'static CStr, arguments: &[usize; 6], _: &usize) {
    let object = arguments[1] as *mut c_void;
    let mut shared = SHARED.borrow();
    if !object.is_null() && !shared.contains(&object) {
        shared.push(object);
    }
}

/// A reference is dropped.
fn released(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    // SAFETY: the argument is the `this` of a `std::exception_ptr`, which consists of a pointer to the thrown object, or null.
    let object = unsafe { *(arguments[0] as *const *mut c_void) };
    drop_reference(object, from);
}

/// A handler has come to its end. The last one drops the exception.
fn handled(_: &'static CStr, _: &[usize; 6], from: &usize) {
    if let Some((object, 1)) = exceptions::caught() {
        drop_reference(object, from);
    }
}

fn drop_reference(object: *mut c_void, from: &usize) {
    /// From the thrown object back to the counter.
    const COUNTER: usize = 128;
    if !SHARED.borrow().contains(&object) {
        return;
    }
    let site = call_sites::site(from);
    let counter = object as usize - COUNTER;
    let counter = world::borrow().object(counter, 8, Sort::Count, || Object::Atomic(0));
    let less = Rmw {
        kind: RmwKind::Sub,
        operand: 1,
        bits: 32,
    };
    visible(Op::Rmw(counter, less), site);
}
