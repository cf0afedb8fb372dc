//! Cancellation, of the deferred kind: a thread that was asked to go does so at its next cancellation point.
//!
//! Whether a thread was asked is an atomic of its own: asking is a store to it, a cancellation point that does not wait is a load. Those
//! that wait are in [`waits`]. To go is to leave as by `pthread_exit`.

use crate::{
    calls::{files::descriptor_calls, language::unwinding, threads::lifecycle},
    core::{
        call_sites,
        objects::Sort,
        operations::visible,
        spin,
        world::{self, poll},
    },
    hooks::{Frame, accesses, passed_calls::passes},
    kernel::waits,
    real, trampoline,
};
use core::ffi::{CStr, c_int, c_void};
use libc::pthread_t as Handle;
use reweave_model::{Object, ObjectId, Op, Order, Site, ThreadId};

trampoline! {
    pthread_cancel => ask, "rsi";
    pthread_testcancel => test, "rdi";
    pthread_setcancelstate => set_state, "rdx";
    pthread_setcanceltype => set_type, "rdx";
}

passes! {
    fsync => passed_open;
    fdatasync => passed_open;
    msync => passed;
    tcdrain => passed_open;
    sync_file_range => passed_open;
}

/// The same, of calls that ask for a descriptor.
fn passed_open(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    point_at(from);
    descriptor_calls::asked(arguments[0] as c_int, call_sites::site(from));
}

/// Calls that are nothing else to the runtime.
fn passed(_: &'static CStr, _: &[usize; 6], from: &usize) {
    point_at(from);
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    disabled: bool,
    asynchronous: bool,
    /// It goes already.
    leaving: bool,
}

const DISABLE: c_int = 1;
const ASYNCHRONOUS: c_int = 1;
/// What a thread that was cancelled has as its result.
const CANCELED: *mut c_void = usize::MAX as *mut c_void;

fn own() -> &'static mut Own {
    &mut world::get().me().own_calls.cancel
}

/// Whether a thread was asked to go: the object.
pub fn flag(thread: ThreadId) -> ObjectId {
    let world = world::get();
    let address = world.threads[thread.index()].handle;
    world.object(address, 8, Sort::Atomic, || Object::Atomic(0))
}

/// Whether the running thread would go if it were asked.
pub fn enabled() -> bool {
    let own = own();
    !own.disabled && !own.leaving
}

/// Whether the running thread is to go, now that it has come to a cancellation point.
pub fn asked(site: Site) -> bool {
    enabled() && visible(Op::Load(flag(world::get().current)), site).result == 1
}

/// A cancellation point that does not wait. A loop around it may do so.
#[inline]
pub fn point(frame: &Frame) {
    if world::active() && possible() && asked_at(frame) {
        go();
    }
}

/// Whether a cancellation point of the running thread's is one.
pub fn possible() -> bool {
    waits::used() && enabled()
}

/// Whether the running thread, for which that is possible, is to go; a loop around it may wait for that.
pub fn asked_at(frame: &Frame) -> bool {
    let site = call_sites::site(&frame.return_address);
    let op = Op::Load(flag(world::get().current));
    poll(op, frame, site, Order::SeqCst, None).result == 1
}

/// The same, where no more is known than where the call comes from.
pub fn point_at(return_address: &usize) {
    if waits::used() && asked(call_sites::site(return_address)) {
        go();
    }
}

/// The running thread was asked to go, and does.
pub fn go() -> ! {
    world::get().me().result = CANCELED;
    unwinding::unwind()
}

/// The running thread leaves: nobody can ask it any more.
pub fn leaving() {
    own().leaving = true;
}

unsafe extern "C" fn ask(handle: Handle, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_cancel: fn(Handle) -> c_int)(handle) };
    }
    let Some(thread) = lifecycle::find(handle) else {
        return libc::ESRCH;
    };
    let site = call_sites::site(&frame.return_address);
    if !waits::used() {
        // Found by another way than by name.
        world::get().unsupported("pthread_cancel", site);
    }
    waits::cancel(thread, site);
    0
}

unsafe extern "C" fn test(frame: &Frame) {
    if !world::active() {
        // SAFETY: it takes nothing.
        return unsafe { real!(pthread_testcancel: fn())() };
    }
    point(frame);
}

unsafe extern "C" fn set_state(state: c_int, old: *mut c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe {
            real!(pthread_setcancelstate: fn(c_int, *mut c_int) -> c_int)(state, old)
        };
    }
    // SAFETY: as the call itself.
    unsafe { set(state, DISABLE, &mut own().disabled, old, frame) }
}

unsafe extern "C" fn set_type(kind: c_int, old: *mut c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(pthread_setcanceltype: fn(c_int, *mut c_int) -> c_int)(kind, old) };
    }
    if kind == ASYNCHRONOUS && waits::used() {
        let site = call_sites::site(&frame.return_address);
        world::get().unsupported("pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS)", site);
    }
    // SAFETY: as the call itself.
    unsafe { set(kind, ASYNCHRONOUS, &mut own().asynchronous, old, frame) }
}

unsafe fn set(new: c_int, yes: c_int, what: &mut bool, old: *mut c_int, frame: &Frame) -> c_int {
    if new != 0 && new != yes {
        return libc::EINVAL;
    }
    spin::disturbed();
    let before = core::mem::replace(what, new == yes);
    if !old.is_null() {
        accesses::range(old as usize, size_of::<c_int>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { *old = c_int::from(before) };
    }
    0
}
