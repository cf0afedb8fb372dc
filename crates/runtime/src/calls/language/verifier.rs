//! What a test driver may ask for: `reweave.h`, and the names of the software-verification competition.

use crate::{
    core::{c_text, hidden_objects::Hidden, operations::visible, process_end, world},
    hooks::Frame,
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::{c_char, c_int, c_uint};
use reweave_model::{Kind, Op, Site};

trampoline! {
    reweave_assume => assume, "rsi";
    reweave_any => any, "rsi";
    reweave_check => check, "rdx";
    __VERIFIER_assume => assume_int, "rsi";
    __VERIFIER_nondet_bool => any_bool, "rdi";
    __VERIFIER_nondet__Bool => any_bool, "rdi";
    __VERIFIER_error => reached, "rdi";
    reach_error => reached, "rdi";
    __VERIFIER_atomic_begin => begin, "rdi";
    __VERIFIER_atomic_end => end, "rdi";
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// How many atomic sections it is in, one within the other.
    sections: u32,
    /// Functions among them that are atomic by name: where its list of callers ends within, and their places.
    pub functions: Vec<(*mut usize, Site)>,
}

fn site(frame: &Frame) -> Site {
    world::get().site(frame.return_address)
}

unsafe extern "C" fn assume(holds: bool, frame: &Frame) {
    if holds {
        return;
    }
    if !world::active() {
        // SAFETY: libc's own.
        unsafe { crate::real!(_exit: fn(c_int))(0) };
    }
    let site = site(frame);
    world::get().freeze(site);
}

unsafe extern "C" fn assume_int(holds: c_int, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { assume(holds != 0, frame) }
}

/// The most numbers that a choice can be from.
const MOST: c_uint = u16::MAX as c_uint;

unsafe extern "C" fn any(n: c_uint, frame: &Frame) -> c_uint {
    if n == 0 {
        // SAFETY: there is no such number.
        unsafe { assume(false, frame) };
    }
    if n <= 1 || !world::active() {
        return 0;
    }
    let site = site(frame);
    if n > MOST {
        world::get().unsupported("reweave_any with more than 65535 values", site);
    }
    visible(Op::Any(n), site).result as c_uint
}

unsafe extern "C" fn any_bool(frame: &Frame) -> bool {
    // SAFETY: two values.
    unsafe { any(2, frame) != 0 }
}

unsafe extern "C" fn check(holds: bool, message: *const c_char, frame: &Frame) {
    if holds {
        return;
    }
    if !world::active() {
        // SAFETY: libc's own.
        unsafe { crate::real!(abort: fn())() };
    }
    // SAFETY: the program's own text.
    let message = unsafe { c_text::text(message) }.into_owned();
    process_end::fail(Kind::Assertion, message, site(frame))
}

unsafe extern "C" fn reached(frame: &Frame) {
    if !world::active() {
        // SAFETY: libc's own.
        unsafe { crate::real!(abort: fn())() };
    }
    process_end::fail(Kind::Assertion, "the error was reached".into(), site(frame))
}

unsafe extern "C" fn begin(frame: &Frame) {
    if world::active() {
        enter(site(frame));
    }
}

unsafe extern "C" fn end(frame: &Frame) {
    if world::active() {
        leave(site(frame));
    }
}

/// The running thread begins an atomic section, or one within another.
pub fn enter(site: Site) {
    let own = &mut world::get().me().own_calls.verifier;
    own.sections += 1;
    if own.sections == 1 {
        visible(Op::Lock(Hidden::Section.object()), site);
    }
}

/// It comes to the end of one.
pub fn leave(site: Site) {
    let own = &mut world::get().me().own_calls.verifier;
    match own.sections {
        0 => {}
        1 => {
            own.sections = 0;
            visible(Op::Unlock(Hidden::Section.object()), site);
        }
        _ => own.sections -= 1,
    }
}
