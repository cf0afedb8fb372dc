//! Plain accesses that are visible operations: those of memory on which some of them raced.
//!
//! The driver names the memory when it starts the process, in [`Unit`]s of a few bytes, each an object of the model. A load is an
//! event before the program makes it; so is a store, whose value is known only afterwards: it is put in when the thread comes to whatever it does
//! next ([`World::settle`]), before anybody else runs.

use crate::{
    core::{modules, trampoline::Frame},
    run::{
        accesses::access,
        atomic_objects, plain_spin, watched_reads,
        world::{self, World, poll_access},
    },
};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU8, Ordering};
use reweave_memory::Kind;
use reweave_model::{Object, Op};
use reweave_wire::{Note, Unit};

/// Why hooks come here: looked at by every one.
pub static LOOKED_AT: AtomicU8 = AtomicU8::new(0);
/// There are some.
const UNITS: u8 = 1;
/// See [`plain_spin`].
pub const STALLS: u8 = 2;
/// See [`watched_reads`].
pub const WATCHES: u8 = 4;

/// Address and length, ascending, without overlap.
#[derive(Default)]
pub struct Units(Vec<(usize, usize)>);

/// The part of a unit that an access is about.
#[derive(Clone, Copy)]
pub struct Part {
    pub address: usize,
    pub bytes: usize,
    pub writes: bool,
    /// Races are errors: the access orders nothing, and is still compared with others.
    pub races: bool,
}

impl Part {
    pub fn kind(self) -> Kind {
        match (self.writes, self.races) {
            (true, true) => Kind::Write,
            (false, true) => Kind::Read,
            (true, false) => Kind::AtomicWrite,
            (false, false) => Kind::AtomicRead,
        }
    }
}

/// Takes in what the driver says, once.
pub fn prepare(units: &[Unit]) {
    let mut world = world::borrow();
    let mut found: Vec<(usize, usize)> = units
        .iter()
        .filter(|unit| unit.allocated_at().is_none())
        .filter_map(|unit| {
            let address = world.address(unit.place)?;
            Some((address, unit.bytes as usize))
        })
        .collect();
    found.sort_unstable();
    LOOKED_AT.store(UNITS * u8::from(!found.is_empty()), Ordering::Relaxed);
    world.units = Units(found);
}

impl World {
    /// Bytes at an address, by a name that is the same in every process.
    pub fn unit(&self, address: usize, bytes: usize) -> Unit {
        let place = modules::with(address, |module| match module {
            Some(module) => Unit::STATIC + (module.bias + address - module.start) as u64,
            None => address as u64,
        });
        Unit {
            place,
            bytes: bytes as u64,
        }
    }

    fn address(&self, place: u64) -> Option<usize> {
        if place < Unit::STATIC {
            return Some(place as usize);
        }
        let offset = (place - Unit::STATIC) as usize;
        modules::address_of(offset)
    }

    /// The running thread has made the store that was announced as an event: its value is known now.
    #[inline]
    pub fn settle(&mut self) {
        if let Some((address, bytes)) = self.unsettled.take() {
            self.run.settle(read(address, bytes));
        }
    }
}

/// What a unit holds; of a large one, a number that differs when that does.
fn read(address: usize, bytes: usize) -> u64 {
    // SAFETY: the program is accessing these bytes, or has accessed them as one unit, so they are mapped.
    let memory = unsafe { core::slice::from_raw_parts(address as *const u8, bytes) };
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    if bytes <= 8 {
        return word(memory);
    }
    memory.chunks(8).fold(0, |hash: u64, bytes| {
        (hash.rotate_left(5) ^ word(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    })
}

/// An access of the program, of which parts may be visible.
pub fn visible(address: usize, bytes: usize, kind: Kind, frame: &Frame) {
    let end = address.saturating_add(bytes);
    let why = LOOKED_AT.load(Ordering::Relaxed);
    if why & STALLS != 0 && world::active() {
        plain_spin::passes(address, bytes, kind, frame);
    }
    if why & WATCHES != 0 && world::active() {
        watched_reads::passes(address, bytes, kind);
    }
    if why & UNITS == 0 || !world::active() {
        return access(address, bytes, kind, frame.return_address);
    }
    let Some((first, last, races)) = touched_units(address, bytes) else {
        return access(address, bytes, kind, frame.return_address);
    };
    if address < first.0 {
        access(address, first.0 - address, kind, frame.return_address);
    }
    let part = Part {
        address: address.max(first.0),
        bytes: end.min(first.0 + first.1) - address.max(first.0),
        writes: kind == Kind::Write,
        races,
    };
    event(first.0, first.1, part, frame);
    let behind = last.0 + last.1;
    if behind < end {
        access(behind, end - behind, kind, frame.return_address);
    }
}

/// Where a unit begins, and its bytes.
type Bounds = (usize, usize);

/// The first and the last unit that an access touches, and whether races are reported.
fn touched_units(address: usize, bytes: usize) -> Option<(Bounds, Bounds, bool)> {
    let mut world = world::borrow();
    // A thread that is alone again reads what others have stored.
    if world.threads.len() == 1 {
        return None;
    }
    let touched = world.units.touched(address, bytes);
    let (first, last) = match world.units.0[touched.clone()] {
        [] => return None,
        [only] => (only, only),
        // One access is one event: this memory has to be one unit.
        [first, .., last] => (first, last),
    };
    if touched.len() > 1 {
        let whole = world.unit(first.0, last.0 + last.1 - first.0);
        world.note(Note::Racy(whole));
    }
    Some((first, last, world.report_races))
}

impl Units {
    /// Those that an access touches.
    fn touched(&self, address: usize, bytes: usize) -> core::ops::Range<usize> {
        let end = address.saturating_add(bytes);
        let first = self
            .0
            .partition_point(|(start, length)| start + length <= address);
        let count = self.0[first..].partition_point(|(start, _)| *start < end);
        first..first + count
    }

    /// Whether an access touches some.
    pub fn touches(&self, address: usize, bytes: usize) -> bool {
        !self.touched(address, bytes).is_empty()
    }

    /// Whether an access touches some, and is not just one of them.
    #[inline]
    pub fn cut(&self, address: usize, bytes: usize) -> bool {
        !self.0.is_empty() && {
            let touched = &self.0[self.touched(address, bytes)];
            !touched.is_empty() && touched != [(address, bytes)]
        }
    }
}

/// An event on one unit.
fn event(address: usize, bytes: usize, part: Part, frame: &Frame) {
    let site = modules::site(frame.return_address);
    world::borrow().settle();
    let value = read(address, bytes);
    let object = atomic_objects::atomic(address, bytes, value, site);
    debug_assert!(matches!(
        world::borrow().run.state().object(object),
        Object::Atomic(_)
    ));
    let op = match part.writes {
        true => Op::Store(object, value),
        false => Op::Load(object),
    };
    poll_access(op, frame, site, part);
    if part.writes {
        crate::run::spin::wrote(address, bytes);
        world::borrow().unsettled = Some((address, bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// [8, 12), [12, 16), [32, 40).
    fn units() -> Units {
        Units(vec![(8, 4), (12, 4), (32, 8)])
    }

    #[test]
    fn an_access_touches_what_it_overlaps() {
        let units = units();
        assert_eq!(units.touched(0, 8), 0..0, "ends where the first begins");
        assert_eq!(units.touched(0, 9), 0..1);
        assert_eq!(units.touched(11, 2), 0..2);
        assert_eq!(units.touched(16, 16), 2..2, "between two of them");
        assert_eq!(units.touched(0, usize::MAX), 0..3);
        assert!(units.touches(39, 1) && !units.touches(40, 1));
    }

    #[test]
    fn an_access_of_just_one_unit_does_not_cut_it() {
        let units = units();
        assert!(!units.cut(8, 4));
        assert!(units.cut(8, 2), "a part of one");
        assert!(units.cut(8, 8), "two of them");
        assert!(!units.cut(20, 4), "none");
        assert!(!Units::default().cut(8, 4));
    }

    #[test]
    fn values_of_up_to_eight_bytes_are_exact() {
        let memory: [u8; 16] = core::array::from_fn(|at| at as u8 + 1);
        let at = memory.as_ptr() as usize;
        assert_eq!(read(at, 1), 1);
        assert_eq!(read(at, 3), 0x03_02_01);
        assert_eq!(read(at, 8), 0x0807_0605_0403_0201);
    }

    #[test]
    fn values_of_more_bytes_differ_when_one_byte_does() {
        let mut memory = [0_u8; 20];
        let before = read(memory.as_ptr() as usize, 20);
        for at in 0..20 {
            memory[at] = 1;
            assert_ne!(read(memory.as_ptr() as usize, 20), before, "byte {at}");
            memory[at] = 0;
        }
    }
}
