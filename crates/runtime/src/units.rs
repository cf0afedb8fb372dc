//! Plain accesses that are visible operations: those of memory on which some of them raced.
//!
//! The driver names the memory when it starts the process, in [`Unit`]s of a few bytes, each an object of the model. A load is an
//! event before the program makes it; so is a store, whose value is known only afterwards: it is put in when the thread comes to whatever it does
//! next ([`World::settle`]), before anybody else runs.

use crate::{
    accesses::access,
    channel,
    hooks::Frame,
    objects::Sort,
    world::{self, World, poll},
};
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU8, Ordering};
use reweave_model::{Object, Op, Order};
use reweave_shadow::Kind;
use reweave_wire::{Reader, Unit, read_units};

/// Whether there are any; looked at by every hook.
pub static ANY: AtomicU8 = AtomicU8::new(0);

/// Address and length, ascending, without overlap.
#[derive(Default)]
pub struct Units(Vec<(usize, usize)>);

/// Reads what the driver says, once.
pub fn prepare() {
    let Ok(units) = read_units(&mut Reader::new(channel::plans())) else {
        crate::give_up(format_args!("the list of visible memory makes no sense"));
    };
    let world = world::get();
    let mut found: Vec<(usize, usize)> = units
        .iter()
        .filter_map(|unit| {
            let address = world.address(unit.place)?;
            Some((address, unit.bytes.clamp(1, 8) as usize))
        })
        .collect();
    found.sort_unstable();
    ANY.store(u8::from(!found.is_empty()), Ordering::Relaxed);
    world.units = Units(found);
}

impl World {
    /// Bytes at an address, by a name that is the same in every process.
    pub fn unit(&self, address: usize, bytes: usize) -> Unit {
        let module = self
            .modules
            .iter()
            .find(|module| module.start <= address && address < module.end);
        let place = match module {
            Some(module) => Unit::STATIC + (module.bias + address - module.start) as u64,
            None => address as u64,
        };
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
        let module = self.modules.iter().find(|module| {
            module.bias <= offset && offset < module.bias + (module.end - module.start)
        })?;
        Some(module.start + offset - module.bias)
    }

    /// The running thread has made the store that was announced as an event: its value is known now.
    #[inline]
    pub fn settle(&mut self) {
        if let Some((address, bytes)) = self.unsettled.take() {
            self.run.settle(read(address, bytes));
        }
    }
}

fn read(address: usize, bytes: usize) -> u64 {
    let mut value = [0; 8];
    // SAFETY: memory that the program accesses; at most eight bytes.
    unsafe { core::ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), bytes) };
    u64::from_le_bytes(value)
}

/// An access of the program, of which parts may be visible.
pub fn visible(address: usize, bytes: usize, kind: Kind, frame: &Frame) {
    let end = address.saturating_add(bytes);
    let world = world::get_if_active();
    let checked = |world: &mut World| {
        let alone = world.races.alone(world.current);
        world.check_races && !alone
    };
    if ANY.load(Ordering::Relaxed) == 0 || !world.is_some_and(checked) {
        return access(address, bytes, kind, frame.return_address);
    }
    let mut at = address;
    let mut next = world::get()
        .units
        .0
        .partition_point(|(start, length)| start + length <= at);
    while at < end {
        let unit = world::get().units.0.get(next).copied();
        match unit.filter(|(start, _)| *start < end) {
            None => return access(at, end - at, kind, frame.return_address),
            Some((start, length)) => {
                if at < start {
                    access(at, start - at, kind, frame.return_address);
                }
                event(start, length, kind, frame);
                at = start + length;
                next += 1;
            }
        }
    }
}

/// An event on one unit.
fn event(address: usize, bytes: usize, kind: Kind, frame: &Frame) {
    let world = world::get();
    world.settle();
    let site = world.site(frame.return_address);
    let value = read(address, bytes);
    let object = world.atomic(address, bytes, value, site);
    debug_assert!(world.about(object).sort == Sort::Atomic);
    debug_assert!(matches!(
        world.run.state().object(object),
        Object::Atomic(_)
    ));
    let writes = kind == Kind::Write;
    let op = match writes {
        true => Op::Store(object, value),
        false => Op::Load(object),
    };
    // Where races are errors these accesses order nothing, and are still held against each other.
    world.me().plain = world.report_races;
    poll(op, frame, site, Order::SeqCst, None);
    let world = world::get();
    world.me().plain = false;
    if writes {
        crate::spin::wrote(address);
        world.unsettled = Some((address, bytes));
    }
}
