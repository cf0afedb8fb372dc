//! `flockfile` and its like: a stream is a mutex that its holder may take again.

use super::{callers, visible};
use crate::{hooks::Frame, objects::Sort, real, trampoline, world};
use core::ffi::c_int;
use libc::FILE;
use reweave_model::{Object, ObjectId, Op, Site};

trampoline! {
    flockfile => lock_stream, "rsi";
    ftrylockfile => try_lock_stream, "rsi";
    funlockfile => unlock_stream, "rsi";
}

fn site(frame: &Frame) -> Site {
    callers::site(&frame.return_address)
}

/// The lock of a stream.
fn stream_lock(stream: *mut FILE) -> ObjectId {
    world::get().object(stream as usize, 8, Sort::Mutex, Object::mutex)
}

/// How often the running thread holds the lock of a stream.
fn held(stream: *mut FILE) -> Option<&'static mut u32> {
    let world = world::get();
    let me = world.current;
    let mut locks = world.calls.streams.locks.iter_mut();
    let mine = locks.find(|(locked, holder, _)| (*locked, *holder) == (stream as usize, me));
    mine.map(|(_, _, depth)| depth)
}

fn holds_now(stream: *mut FILE) {
    let world = world::get();
    let me = world.current;
    world.calls.streams.locks.push((stream as usize, me, 1));
}

unsafe extern "C" fn lock_stream(stream: *mut FILE, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(flockfile: fn(*mut FILE))(stream) };
    }
    if let Some(depth) = held(stream) {
        *depth += 1;
        return;
    }
    visible(Op::Lock(stream_lock(stream)), site(frame));
    holds_now(stream);
}

unsafe extern "C" fn try_lock_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(ftrylockfile: fn(*mut FILE) -> c_int)(stream) };
    }
    if let Some(depth) = held(stream) {
        *depth += 1;
        return 0;
    }
    if !visible(Op::TryLock(stream_lock(stream)), site(frame)).ok {
        return -1;
    }
    holds_now(stream);
    0
}

unsafe extern "C" fn unlock_stream(stream: *mut FILE, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(funlockfile: fn(*mut FILE))(stream) };
    }
    let Some(depth) = held(stream) else {
        return;
    };
    *depth -= 1;
    if *depth == 0 {
        let world = world::get();
        let me = world.current;
        let locks = &mut world.calls.streams.locks;
        locks.retain(|(locked, holder, _)| (*locked, *holder) != (stream as usize, me));
        visible(Op::Unlock(stream_lock(stream)), site(frame));
    }
}
