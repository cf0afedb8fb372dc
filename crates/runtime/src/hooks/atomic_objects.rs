//! Which atomic object lies at an address. Memory holds the values of atomics, the model follows.

use crate::core::{
    objects::{Found, Sort},
    slots::{STACK_BYTES, slot_of},
    world::World,
};
use reweave_model::{Object, ObjectId, Site};

impl World {
    /// The atomic object at an address, whose memory holds `value`. Plain writes pass the model by: where one has changed the
    /// value, an object begins anew.
    #[inline]
    pub fn atomic(&mut self, address: usize, bytes: usize, value: u64, site: Site) -> ObjectId {
        self.whole(address, bytes, site);
        let found = self.objects.find(address, bytes, Sort::Atomic);
        self.renew(found, (address, bytes, Sort::Atomic), value, site)
    }

    /// As [`World::atomic`], of one that is no word.
    pub fn wide(&mut self, address: usize, bytes: usize, value: u64, site: Site) -> ObjectId {
        self.whole(address, bytes, site);
        let found = self.objects.find_wide(address, bytes);
        self.renew(found, (address, bytes, Sort::Wide), value, site)
    }

    #[inline(always)]
    fn whole(&mut self, address: usize, bytes: usize, site: Site) {
        self.settle();
        if self.units.cut(address, bytes) {
            self.unsupported("atomic accesses to a part of racy memory", site);
        }
    }

    /// The object that was found, if it still has this value, or a new one.
    #[inline(always)]
    fn renew(
        &mut self,
        found: Found,
        (address, bytes, sort): (usize, usize, Sort),
        value: u64,
        site: Site,
    ) -> ObjectId {
        match found {
            Found::Object(object) => {
                if matches!(self.run.state().object(object), Object::Atomic(known) if *known == value)
                {
                    return object;
                }
            }
            Found::Nothing => {}
            Found::Overlap if self.is_gone(address, bytes, site) => {}
            Found::Overlap => {
                self.unsupported("atomic accesses of different sizes to one place", site)
            }
        }
        self.make(address, bytes, sort, Object::Atomic(value))
    }

    /// Whether an atomic of another size lay at a place of some stack and is gone: all that was done to it happens before.
    fn is_gone(&mut self, address: usize, bytes: usize, site: Site) -> bool {
        let main = self.threads[0].top.wrapping_sub(address) <= STACK_BYTES;
        let stack = main || slot_of(address).is_some();
        if !stack || !self.check_races {
            return false;
        }
        let clock = self.races.clock(self.current);
        let place = address & !7;
        let bytes = (address + bytes).next_multiple_of(8) - place;
        let gone =
            self.races.alone(self.current) || self.shadow.free(clock, place, bytes, site).is_none();
        self.shadow.forget(place, bytes);
        gone
    }
}
