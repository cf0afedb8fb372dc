//! Which atomic object lies at an address. Memory holds the values of atomics, the model follows.

use crate::{
    objects::{Found, Sort},
    slots::{STACK_BYTES, slot_of},
    world::World,
};
use reweave_model::{Object, ObjectId, Site};

/// What is not supported: to know what one of them reads from the other takes more than one word.
const MIXED: &str = "atomic accesses of different sizes to one place";
/// Bytes of the largest atomics.
const WIDE: usize = 16;

impl World {
    /// The atomic object at an address, whose memory holds `value`. Plain writes pass the model by: where one has changed the
    /// value, an object begins anew.
    #[inline]
    pub fn atomic(&mut self, address: usize, bytes: usize, value: u64, site: Site) -> ObjectId {
        self.settle();
        if self.units.cut(address, bytes) {
            self.unsupported("atomic accesses to a part of racy memory", site);
        }
        match self.objects.find(address, bytes, Sort::Atomic) {
            Found::Object(object) => {
                if matches!(self.run.state().object(object), Object::Atomic(known) if *known == value)
                {
                    return object;
                }
                self.make(address, bytes, Sort::Atomic, Object::Atomic(value))
            }
            Found::Nothing if self.find_wide(address & !15).is_none() => {
                self.make(address, bytes, Sort::Atomic, Object::Atomic(value))
            }
            Found::Overlap if self.is_gone(address, bytes, site) => {
                self.make(address, bytes, Sort::Atomic, Object::Atomic(value))
            }
            Found::Nothing | Found::Overlap => self.unsupported(MIXED, site),
        }
    }

    /// Whether an atomic of another size lay at a place of some stack and is gone: all that was done to it happens before.
    fn is_gone(&mut self, address: usize, bytes: usize, site: Site) -> bool {
        let main = self.threads[0].top.wrapping_sub(address) <= STACK_BYTES;
        let stack = main || slot_of(address).is_some();
        if !stack || !self.check_races {
            return false;
        }
        let clock = self.races.clock(self.current);
        let (place, bytes) = (address & !7, bytes.max(8));
        let gone =
            self.races.alone(self.current) || self.shadow.free(clock, place, bytes, site).is_none();
        self.shadow.forget(place, bytes);
        gone
    }

    fn find_wide(&self, address: usize) -> Option<ObjectId> {
        match self.objects.find(address, WIDE, Sort::Wide) {
            Found::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The atomic object of 16 bytes at an address.
    pub fn wide(&mut self, address: usize, site: Site) -> ObjectId {
        self.settle();
        if self.units.cut(address, WIDE) {
            self.unsupported("atomic accesses to a part of racy memory", site);
        }
        if let Some(object) = self.find_wide(address) {
            return object;
        }
        if self.objects.has_atomic(address) || self.objects.has_atomic(address + 8) {
            self.unsupported(MIXED, site);
        }
        self.make(address, WIDE, Sort::Wide, Object::Atomic(0))
    }
}
