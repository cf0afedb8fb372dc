//! Loops of plain accesses that wait for others.
//!
//! The driver asks after a moment without a step. For some thousand accesses hooks then come here, with registers and stack. A thread that is at the
//! same access again, with both as they were and nothing written in between but its own stack, goes round until somebody else writes what it
//! reads: that memory has to be visible. The search restarts with it ([`Note::Missing`]), and this run goes on without the thread.

use crate::{
    core::{
        cell::{ASIDE, RunCell},
        channel, modules,
        trampoline::Frame,
        unseen_calls::UNSEEN,
    },
    run::{
        racy_units,
        spin::{self, Print},
        world::{self, World},
    },
};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use reweave_memory::Kind;
use reweave_wire::Note;

/// Words of stack that are looked at, of all accesses together.
const WORDS: usize = 1_000_000;
/// Loops that read more than that do not wait.
const READS: usize = 40;

/// The step after which the driver asked last.
static ASKED: AtomicU64 = AtomicU64::new(u64::MAX);

/// What was seen since a place that the thread may come back to.
struct Look {
    /// Words of stack.
    left: usize,
    /// Accesses.
    seen: usize,
    place: Option<Place>,
    /// Address and length.
    reads: Vec<(usize, usize)>,
    /// The number of calls with unseen effects before the last access.
    unseen: u64,
}

/// An access, and how the thread came to it. One call of the C library can make several accesses.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    pc: usize,
    address: usize,
    kind: Kind,
    print: Print,
}

static LOOK: RunCell<Look, ASIDE> = RunCell::new(Look {
    left: 0,
    seen: 0,
    place: None,
    reads: Vec::new(),
    unseen: 0,
});

fn steps() -> u64 {
    channel::header().steps.load(Ordering::Relaxed)
}

/// Begins to look, on the driver's signal; `false`: it has waited long enough.
pub fn begin() -> bool {
    if channel::header().endless.load(Ordering::Relaxed) != 0 {
        return false;
    }
    ASKED.store(steps(), Ordering::Relaxed);
    // The signal may interrupt a look; then the driver asks again.
    if let Some(mut look) = LOOK.try_borrow() {
        look.left = WORDS;
    }
    racy_units::LOOKED_AT.fetch_or(racy_units::STALLS, Ordering::Relaxed);
    true
}

fn end(look: &mut Look) {
    racy_units::LOOKED_AT.fetch_and(!racy_units::STALLS, Ordering::Relaxed);
    look.left = 0;
    look.seen = 0;
    look.place = None;
}

/// The running thread comes to an access.
pub fn passes(address: usize, bytes: usize, kind: Kind, frame: &Frame) {
    if let Some(reads) = look(address, bytes, kind, frame) {
        waits(&reads, frame);
    }
}

/// What the thread reads in its loop, if it was at this access before and changed nothing since.
fn look(address: usize, bytes: usize, kind: Kind, frame: &Frame) -> Option<Vec<(usize, usize)>> {
    let top = world::borrow().me().top;
    let mut look = LOOK.borrow();
    let look = &mut *look;
    let depth = top.wrapping_sub(core::ptr::from_ref(frame) as usize) / 8;
    let known = spin::on_stack(top, core::ptr::from_ref(frame) as usize);
    if look.left <= depth || !known || steps() != ASKED.load(Ordering::Relaxed) {
        end(look);
        return None;
    }
    look.left -= depth + 1;
    look.seen += 1;
    let unseen = core::mem::replace(&mut look.unseen, UNSEEN.get());
    if unseen != look.unseen {
        look.place = None;
    }
    if kind == Kind::Write && !spin::on_stack(top, address) {
        look.place = None;
        return None;
    }
    let here = Place {
        pc: frame.return_address,
        address,
        kind,
        print: world::borrow().print(frame),
    };
    if look.place == Some(here) {
        let reads = core::mem::take(&mut look.reads);
        end(look);
        return Some(reads);
    }
    // The way into a loop is no part of it.
    if look.place.is_none() || look.seen.is_power_of_two() {
        look.place = Some(here);
        look.reads.clear();
    }
    if kind == Kind::Read && !look.reads.contains(&(address, bytes)) {
        look.reads.push((address, bytes));
    }
    if look.reads.len() > READS {
        look.place = None;
    }
    None
}

/// The running thread waits for one of these to change.
fn waits(reads: &[(usize, usize)], frame: &Frame) {
    let mut world = world::borrow();
    if world.threads.len() == 1 {
        return;
    }
    let hidden = |world: &World, read: &&(usize, usize)| !world.units.touches(read.0, read.1);
    let hidden: Vec<_> = reads.iter().filter(|read| hidden(&world, read)).collect();
    if hidden.is_empty() {
        return;
    }
    for (address, bytes) in hidden {
        let unit = world.unit(*address, *bytes);
        world.note(Note::Missing(unit));
    }
    world.spoilt = true;
    // Another thread may wait next: the driver has to ask again.
    channel::header().steps.fetch_add(1, Ordering::Relaxed);
    drop(world);
    world::freeze(modules::site(frame.return_address))
}
