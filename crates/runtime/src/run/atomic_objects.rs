//! Which atomic object lies at an address. Memory holds the values of atomics, the model follows.

use crate::{
    core::objects::{Found, Sort},
    run::{
        slots::{STACK_BYTES, slot_of},
        world::{self, World},
    },
};
use reweave_model::{Object, ObjectId, Order, Site};

/// The memory order of a hook's argument.
pub fn order(number: i32) -> Order {
    match number & 7 {
        0 => Order::Relaxed,
        1 | 2 => Order::Acquire,
        3 => Order::Release,
        4 => Order::AcqRel,
        _ => Order::SeqCst,
    }
}

/// The atomic object at an address, whose memory holds `value`. Plain writes bypass the model: where one has changed the value, the
/// memory is a new object.
#[inline]
pub fn atomic(address: usize, bytes: usize, value: u64, site: Site) -> ObjectId {
    let found = world::borrow().find_atomic(address, bytes, value, site);
    found.unwrap_or_else(|call| world::unsupported(call, site))
}

/// As [`atomic`], of an object that is no word.
pub fn wide(address: usize, bytes: usize, value: u64, site: Site) -> ObjectId {
    let found = world::borrow().find_wide(address, bytes, value, site);
    found.unwrap_or_else(|call| world::unsupported(call, site))
}

/// An object, or what is not supported.
type Supported = Result<ObjectId, &'static str>;

impl World {
    #[inline(always)]
    fn find_atomic(&mut self, address: usize, bytes: usize, value: u64, site: Site) -> Supported {
        self.whole(address, bytes)?;
        let found = self.objects.find(address, bytes, Sort::Atomic);
        self.renew(found, (address, bytes, Sort::Atomic), value, site)
    }

    fn find_wide(&mut self, address: usize, bytes: usize, value: u64, site: Site) -> Supported {
        self.whole(address, bytes)?;
        let found = self.objects.find_wide(address, bytes);
        self.renew(found, (address, bytes, Sort::Wide), value, site)
    }

    #[inline(always)]
    fn whole(&mut self, address: usize, bytes: usize) -> Result<(), &'static str> {
        self.settle();
        match self.units.cut(address, bytes) {
            true => Err("atomic accesses to a part of racy memory"),
            false => Ok(()),
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
    ) -> Supported {
        match found {
            Found::Object(object) => {
                if matches!(self.run.state().object(object), Object::Atomic(known) if *known == value)
                {
                    return Ok(object);
                }
            }
            Found::Nothing => {}
            Found::Overlap if self.is_gone(address, bytes, site) => {}
            Found::Overlap => return Err("atomic accesses of different sizes to one place"),
        }
        Ok(self.make(address, bytes, sort, Object::Atomic(value)))
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
