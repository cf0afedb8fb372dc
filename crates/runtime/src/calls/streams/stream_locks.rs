//! `flockfile` and its like: a stream is a recursive mutex. Other calls on streams take it as well as soon as a thread is seen to
//! take it, or makes a call that takes no lock (`putc_unlocked`) beside other threads ([`Rule::Streams`]).

use crate::{
    core::{
        cell::ASIDE,
        per_process::{PerProcess, ProcessChange},
        trampoline::Frame,
    },
    kernel::file_objects,
    outside_run,
    run::{call_sites, operations::visible, rules, world},
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::FILE;
use reweave_model::{Identity, ObjectId, Op, Site, ThreadId};
use reweave_wire::Rule;

trampoline! {
    flockfile => lock_stream, "rsi";
    ftrylockfile => try_lock_stream, "rsi";
    funlockfile => unlock_stream, "rsi";
}

/// A lock that a thread holds.
#[derive(Clone)]
struct HeldLock {
    stream: usize,
    holder: ThreadId,
    /// How often.
    depth: u32,
}

static HELD: PerProcess<Vec<HeldLock>, ASIDE> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    HELD.change(change);
}

/// A new run.
pub(crate) fn begin_run() {
    HELD.borrow().clear();
}

/// What a state holds of the locks: their holders, and how often they have taken them.
pub(crate) fn identify(out: &mut Identity) {
    for held in HELD.borrow().iter() {
        out.word(held.stream as u64);
        out.word(u64::from(held.holder.0) << 32 | u64::from(held.depth));
    }
    out.word(0);
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

/// The lock of a stream. It goes by another address than the stream, which may be an object itself.
fn stream_lock(stream: usize) -> ObjectId {
    const LOCK: usize = 136;
    file_objects::lock_of((stream + LOCK) / 8)
}

/// Uses the lock of a stream, if the running thread holds it.
fn with_held<T>(stream: usize, then: impl FnOnce(&mut HeldLock) -> T) -> Option<T> {
    let me = world::borrow().current;
    let mut held = HELD.borrow();
    let mut held = held.iter_mut();
    let own = held.find(|held| (held.stream, held.holder) == (stream, me));
    own.map(then)
}

/// Whether the running thread held the lock already, and now holds it once more.
fn holds_again(stream: usize) -> bool {
    with_held(stream, |held| held.depth += 1).is_some()
}

fn holds_now(stream: usize) {
    let holder = world::borrow().current;
    HELD.borrow().push(HeldLock {
        stream,
        holder,
        depth: 1,
    });
}

/// The running thread takes the lock of a stream.
pub(crate) fn take(stream: usize, site: Site) {
    if !holds_again(stream) {
        visible(Op::Lock(stream_lock(stream)), site);
        holds_now(stream);
    }
}

/// The running thread releases the lock of a stream, if it holds it.
pub(crate) fn give_back(stream: usize, site: Site) {
    let left = with_held(stream, |held| {
        held.depth -= 1;
        held.depth
    });
    if left == Some(0) {
        HELD.borrow().retain(|held| held.depth > 0);
        visible(Op::Unlock(stream_lock(stream)), site);
    }
}

/// Does something while no other thread opens, closes or lists streams.
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

/// `flockfile`.
///
/// # Safety
///
/// As POSIX demands of the caller: `stream` is a stream.
unsafe extern "C" fn lock_stream(stream: *mut FILE, frame: &Frame) {
    outside_run!(flockfile: fn(stream: *mut FILE));
    rules::needs(Rule::Streams);
    take(stream as usize, site(frame));
}

/// `ftrylockfile`.
///
/// # Safety
///
/// As POSIX demands of the caller: `stream` is a stream.
unsafe extern "C" fn try_lock_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    outside_run!(ftrylockfile: fn(stream: *mut FILE) -> c_int);
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

/// `funlockfile`.
///
/// # Safety
///
/// As POSIX demands of the caller: `stream` is a stream.
unsafe extern "C" fn unlock_stream(stream: *mut FILE, frame: &Frame) {
    outside_run!(funlockfile: fn(stream: *mut FILE));
    give_back(stream as usize, site(frame));
}
