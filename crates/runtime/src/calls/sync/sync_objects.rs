//! Which synchronisation object lies at an address, and whether it is one.
//!
//! The program's memory says so: an object that is used for the first time is either one that a static initialiser or an `_init` call made,
//! or none. From then on it carries a *mark* in bytes that libc does not use. Memory without its mark was written to since: by another
//! initialiser, which makes a new object of it, or by something else. A copy of an object has the mark of another one and is none.
//!
//! Making and destroying objects are no events, but writes to their memory: when nothing orders them with other uses, that is a data race.

use crate::{
    calls::sync::{barriers, condvars, mutexes, rwlocks, semaphores},
    core::{
        entry::driven,
        objects::{Found, Known, Sort},
        operations::misuse,
        slots, spin,
        world::{self, World},
    },
    hooks::{Frame, accesses},
};
use reweave_model::{End, Kind, Object, ObjectId, Site, ThreadId};
use reweave_wire::Note;

/// A kind of object.
pub struct Shape {
    pub sort: Sort,
    pub bytes: usize,
    /// Where the mark is: eight bytes that are zero in every new object.
    pub mark: usize,
    /// Whether memory, its mark aside, is a new object.
    pub new: unsafe fn(*const u32) -> bool,
    /// Whether memory can be a new object without any call.
    pub statically: bool,
}

/// Made by an `_init` call outside of a run.
const MADE: u64 = u64::MAX;
/// Destroyed, in a run.
const DESTROYED: u64 = u64::MAX - 1;

impl Shape {
    fn mark(&self, address: usize) -> *mut u64 {
        (address + self.mark) as *mut u64
    }

    /// The object at an address, which the program is about to use.
    #[inline]
    pub fn find(&self, address: usize, site: Site, model: impl FnOnce() -> Object) -> ObjectId {
        let found = world::get().objects.find(address, self.bytes, self.sort);
        // SAFETY: the program says that an object lies there.
        let mark = unsafe { *self.mark(address) };
        match found {
            Found::Object(object) if mark == number(object) => object,
            _ => self.take(address, mark, site, model),
        }
    }

    #[cold]
    fn take(
        &self,
        address: usize,
        mark: u64,
        site: Site,
        model: impl FnOnce() -> Object,
    ) -> ObjectId {
        let whole = match mark {
            0 => self.statically,
            MADE => true,
            _ => false,
        };
        // SAFETY: the program says that an object lies there.
        if whole && unsafe { (self.new)(address as *const u32) } {
            return self.put(world::get(), address, model());
        }
        let message = match mark {
            DESTROYED => "{0} is used after it was destroyed",
            _ => "{0} is used and was never initialised",
        };
        misuse("uninitialised", message, address, site)
    }

    fn put(&self, world: &mut World, address: usize, model: Object) -> ObjectId {
        let object = world.make(address, self.bytes, self.sort, model);
        spin::foreign(address + self.mark, 8);
        // SAFETY: the program says that an object lies there.
        unsafe { *self.mark(address) = number(object) };
        object
    }

    /// An `_init` call has made an object, in a run or before.
    pub fn made(&self, address: usize, frame: &Frame, model: impl FnOnce() -> Object) {
        if world::active() {
            accesses::range(address, self.bytes, true, frame);
            let world = world::get();
            let object = self.put(world, address, model());
            world.about(object).made = world.site(frame.return_address).0;
        } else if driven() {
            // SAFETY: libc has just written there.
            unsafe { *self.mark(address) = MADE };
        }
    }

    /// An object has come to be by another way, which orders it before all use.
    pub fn appeared(&self, address: usize, model: Object) {
        self.put(world::get(), address, model);
    }

    /// The object is destroyed. The program must not use it any more.
    pub fn destroyed(&self, object: ObjectId, frame: &Frame) {
        let world = world::get();
        let site = world.site(frame.return_address);
        let known = world.about(object);
        // Before the access, which may be in a race: that is told as what it is then.
        known.destroyed = site.0;
        accesses::range(known.address, self.bytes, true, frame);
        self.disappeared(object, site);
    }

    /// The object is gone, by what is no write to it.
    pub fn disappeared(&self, object: ObjectId, site: Site) {
        let known = world::get().about(object);
        known.destroyed = site.0;
        // SAFETY: it lay there until now.
        unsafe { *self.mark(known.address) = DESTROYED };
    }
}

fn number(object: ObjectId) -> u64 {
    u64::from(object.0) + 1
}

/// What is wrong with two uses of a synchronisation object that nothing orders, one of which makes or destroys it.
pub fn unordered(
    world: &World,
    address: usize,
    sites: [Site; 2],
) -> Option<(&'static str, &'static str)> {
    let known = world.objects.known().iter().rev();
    let mut here = known.filter(|known| {
        let end = known.address.saturating_add(known.bytes as usize);
        !matches!(known.sort, Sort::Atomic | Sort::Wide) && (known.address..end).contains(&address)
    });
    here.find_map(|known| {
        if sites.contains(&Site(known.destroyed)) {
            Some((
                "destroyed-in-use",
                "{0} is destroyed, and nothing orders that with its use",
            ))
        } else if sites.contains(&Site(known.made)) {
            Some((
                "uninitialised",
                "{0} is used, and nothing orders that after its initialisation",
            ))
        } else {
            None
        }
    })
}

/// Takes the marks of a run off the stacks, which are not put back: a run must not find them there.
pub fn erase(world: &World) {
    const SHAPES: [Shape; 5] = [
        mutexes::SHAPE,
        condvars::SHAPE,
        rwlocks::SHAPE,
        barriers::SHAPE,
        semaphores::SHAPE,
    ];
    let Some(main) = world.threads.first().map(|main| main.top) else {
        return;
    };
    for known in world.objects.known() {
        let fits = |shape: &&Shape| shape.sort == known.sort && shape.bytes == known.bytes as usize;
        let stack = slots::slot_of(known.address).is_some()
            || main.wrapping_sub(known.address) <= slots::STACK_BYTES;
        if let Some(shape) = SHAPES.iter().find(fits).filter(|_| stack) {
            // SAFETY: an object lay there, on a stack that nobody runs on.
            unsafe { *shape.mark(known.address) = 0 };
        }
    }
}

/// At the end of a run: threads that wait for what was destroyed, and objects that an `_init` call made and nobody destroyed.
pub fn conclude(end: End) {
    let world = world::get();
    if end == End::Deadlock {
        for index in 0..world.threads.len() {
            let Some(pending) = world.run.pending(ThreadId(index as u32)).copied() else {
                continue;
            };
            let Some(known) = pending.op.object().map(|object| *world.about(object)) else {
                continue;
            };
            // A wait may have an object of its own, which goes by the address.
            let here = |other: &&Known| other.address == known.address;
            let all = world.objects.known().iter().filter(here);
            let destroyed = all.map(|other| other.destroyed).max().unwrap_or(0);
            if destroyed != 0 {
                world.error_about(
                    Kind::Misuse,
                    Some("destroyed-in-use"),
                    "{0} is destroyed while a thread waits for it".into(),
                    &[Site(destroyed), pending.site],
                    known.address,
                );
            }
        }
    }
    if end != End::Done || !world.run.execution().errors.is_empty() {
        return;
    }
    let left = world.objects.known().iter();
    let left = left.filter(|known| known.made != 0 && known.destroyed == 0);
    world.notes.extend(left.map(|known| Note::Warning {
        rule: "not-destroyed".into(),
        site: Site(known.made),
        address: known.address as u64,
    }));
}
