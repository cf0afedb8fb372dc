//! Which atomic object lies at an address. Memory holds the values of atomics, the model follows.

use crate::{
    objects::{Found, Sort},
    slots::STACK_BYTES,
    world::World,
};
use reweave_model::{Object, ObjectId, Site};

impl World {
    /// The atomic object at an address, whose memory holds `value`. Plain writes pass the model by: where one has changed the
    /// value, an object begins anew.
    #[inline]
    pub fn atomic(&mut self, address: usize, bytes: usize, value: u64, site: Site) -> ObjectId {
        self.settle();
        if self.units.cut(address, bytes) {
            self.unsupported("atomic accesses to a part of racy memory", site);
        }
        let (found, sort) = match bytes {
            16 => (self.objects.find_wide(address), Sort::Wide),
            _ => (
                self.objects.find(address, bytes, Sort::Atomic),
                Sort::Atomic,
            ),
        };
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

    /// Whether an atomic of another size lay at a place of the running thread's stack and is gone: all that was done to it happens before.
    fn is_gone(&mut self, address: usize, bytes: usize, site: Site) -> bool {
        let own = self.me().top.wrapping_sub(address) < STACK_BYTES;
        if !own || !self.check_races {
            return false;
        }
        let clock = self.races.clock(self.current);
        let (place, bytes) = (address & !7, bytes.max(8));
        let gone =
            self.races.alone(self.current) || self.shadow.free(clock, place, bytes, site).is_none();
        self.shadow.forget(place, bytes);
        gone
    }
}
