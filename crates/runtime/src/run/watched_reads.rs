//! Plain memory that a waiting loop reads, where races are not looked for (`--races ignore`).
//!
//! A thread is parked until an object changes that its loop looks at. Plain memory is no object: a write to it by another thread would not wake
//! the thread. Where races are looked for, such a write is one, and that memory becomes visible if the user wants it. Otherwise the reads of a
//! loop that may be parked are listed here. A write of another thread to one of them makes the search restart with that memory visible
//! ([`Note::Missing`]), as for loops without any operation ([`crate::run::plain_spin`]).
//!
//! *Called by:* the spin detection, and every access as long as something is listed ([`racy_units::visible`]).

use crate::{
    core::cell::{ASIDE, RunCell},
    run::{
        racy_units::{self, WATCHES},
        spin, world,
    },
};
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use reweave_memory::Kind;
use reweave_model::ThreadId;
use reweave_wire::Note;

/// Threads whose reads are listed.
static THREADS: RunCell<Vec<ThreadId>, ASIDE> = RunCell::new(Vec::new());

/// What they have read: thread, address and length.
static READS: RunCell<Vec<(ThreadId, usize, usize)>, ASIDE> = RunCell::new(Vec::new());

/// A new run.
pub fn clear() {
    THREADS.borrow().clear();
    READS.borrow().clear();
    racy_units::LOOKED_AT.fetch_and(!WATCHES, Ordering::Relaxed);
}

/// A thread may be in a loop that waits: what it reads from now on is listed.
pub fn begin(thread: ThreadId) {
    let mut threads = THREADS.borrow();
    if !threads.contains(&thread) {
        threads.push(thread);
        racy_units::LOOKED_AT.fetch_or(WATCHES, Ordering::Relaxed);
    }
}

/// A thread is in no such loop.
#[inline]
pub fn end(thread: ThreadId) {
    if racy_units::LOOKED_AT.load(Ordering::Relaxed) & WATCHES != 0 {
        forget(thread);
    }
}

#[cold]
fn forget(thread: ThreadId) {
    let mut threads = THREADS.borrow();
    threads.retain(|known| *known != thread);
    READS.borrow().retain(|(reader, ..)| *reader != thread);
    if threads.is_empty() {
        racy_units::LOOKED_AT.fetch_and(!WATCHES, Ordering::Relaxed);
    }
}

/// The running thread comes to an access.
pub fn passes(address: usize, bytes: usize, kind: Kind) {
    let mut world = world::borrow();
    let me = world.current;
    if kind == Kind::Read {
        let listed = THREADS.borrow().contains(&me);
        let own = spin::on_stack(world.me().top, address);
        let read = (me, address, bytes);
        let mut reads = READS.borrow();
        if listed && !own && !reads.contains(&read) {
            reads.push(read);
        }
        return;
    }
    let reads = READS.borrow();
    let others = reads.iter().filter(|(reader, start, length)| {
        *reader != me && *start < address + bytes && address < start + length
    });
    let hidden: Vec<_> = others
        .filter(|(_, start, length)| !world.units.touches(*start, *length))
        .map(|(_, start, length)| world.unit(*start, *length))
        .collect();
    for unit in hidden {
        world.note(Note::Missing(unit));
    }
}
