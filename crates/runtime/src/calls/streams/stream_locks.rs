//! `flockfile` and its like: a stream is a mutex that its holder may take again. Other calls take it as well, as soon as some thread is seen to ([`Rule::Streams`]).

use crate::{
    core::{call_sites, operations::visible, rules, world},
    hooks::Frame,
    kernel::file_objects,
    real, trampoline,
};
use core::ffi::c_int;
use libc::FILE;
use reweave_model::{ObjectId, Op, Site};
use reweave_wire::Rule;

trampoline! {
    flockfile => lock_stream, "rsi";
    ftrylockfile => try_lock_stream, "rsi";
    funlockfile => unlock_stream, "rsi";
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

/// The lock of a stream. It goes by another place than the stream, which may be an object itself.
fn stream_lock(stream: usize) -> ObjectId {
    const LOCK: usize = 136;
    file_objects::lock_of((stream + LOCK) / 8)
}

/// How often the running thread holds the lock of a stream.
fn held(stream: usize) -> Option<&'static mut u32> {
    let world = world::get();
    let me = world.current;
    let mut locks = world.calls.streams.locks.iter_mut();
    let mine = locks.find(|(locked, holder, _)| (*locked, *holder) == (stream, me));
    mine.map(|(_, _, depth)| depth)
}

/// Whether the running thread had it already, and now has it once more.
fn holds_again(stream: usize) -> bool {
    held(stream).is_some_and(|depth| {
        *depth += 1;
        true
    })
}

fn holds_now(stream: usize) {
    let world = world::get();
    let me = world.current;
    world.calls.streams.locks.push((stream, me, 1));
}

/// The running thread waits for the lock of a stream.
pub(crate) fn take(stream: usize, site: Site) {
    if !holds_again(stream) {
        visible(Op::Lock(stream_lock(stream)), site);
        holds_now(stream);
    }
}

pub(crate) fn give_back(stream: usize, site: Site) {
    let Some(depth) = held(stream) else {
        return;
    };
    *depth -= 1;
    if *depth == 0 {
        let world = world::get();
        let me = world.current;
        let locks = &mut world.calls.streams.locks;
        locks.retain(|(locked, holder, _)| (*locked, *holder) != (stream, me));
        visible(Op::Unlock(stream_lock(stream)), site);
    }
}

/// While no other thread opens, closes or lists streams.
pub(crate) fn with_list<T>(site: Site, then: impl FnOnce() -> T) -> T {
    if !rules::holds(Rule::Streams) {
        return then();
    }
    visible(Op::Lock(file_objects::lock_of(file_objects::STREAMS)), site);
    let result = then();
    visible(
        Op::Unlock(file_objects::lock_of(file_objects::STREAMS)),
        site,
    );
    result
}

unsafe extern "C" fn lock_stream(stream: *mut FILE, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(flockfile: fn(*mut FILE))(stream) };
    }
    rules::needs(Rule::Streams);
    take(stream as usize, site(frame));
}

unsafe extern "C" fn try_lock_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(ftrylockfile: fn(*mut FILE) -> c_int)(stream) };
    }
    rules::needs(Rule::Streams);
    let stream = stream as usize;
    if holds_again(stream) {
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
    give_back(stream as usize, site(frame));
}
