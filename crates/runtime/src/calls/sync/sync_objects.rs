//! Which synchronisation object lies at an address, and whether one does.
//!
//! The program's memory says so: memory that is used for the first time is either an object that a static initialiser or an
//! `_init` call made, or none. From then on it carries a *mark* in bytes that libc does not use. Memory without its mark was
//! written to since: by another initialiser, which makes a new object of it, or by something else. A copy of an object has the
//! mark of another one and is none.
//!
//! Making and destroying objects are no operations of the model, but writes to their memory: when nothing orders them with other
//! uses, that is a data race ([`crate::run::object_lifetimes`]).

use crate::{
    calls::sync::{barriers, condvars, mutexes, rwlocks, semaphores},
    core::{
        modules,
        objects::{Found, Known, Sort},
        program_start::driven,
        trampoline::Frame,
    },
    run::{
        accesses,
        operations::misuse,
        slots, spin,
        world::{self, World},
    },
};
use reweave_model::{End, Kind, Object, ObjectId, Site, ThreadId};
use reweave_wire::Note;

/// A kind of object, as libc lays it out.
///
/// The methods take the address of an object that the program passed to a call. They read and write `bytes` bytes there: it is the
/// program's fault if these do not exist, and a fault of the memory then ends the thread. No borrow is alive at such an access.
pub struct Shape {
    pub sort: Sort,
    pub bytes: usize,
    /// Where the mark is: eight bytes that are zero in every new object.
    pub mark: usize,
    /// Whether memory, its mark aside, is a new object. It takes the words of the memory.
    pub new: fn(&dyn Fn(usize) -> u32) -> bool,
    /// Whether memory can be a new object without any call.
    pub statically: bool,
}

/// Made by an `_init` call outside of a run.
const MADE: u64 = u64::MAX;
/// Destroyed, in a run.
const DESTROYED: u64 = u64::MAX - 1;

/// A word of an object of the program.
#[inline]
pub fn word(address: usize, index: usize) -> u32 {
    // SAFETY: the program passed the address of an object, which has this word; libc would read it too. It is read as the
    // program's threads would, of which none runs now.
    unsafe { (address as *const u32).add(index).read_volatile() }
}

impl Shape {
    fn mark(&self, address: usize) -> u64 {
        // SAFETY: the program passed the address of an object, and the mark lies within it (see the type).
        unsafe { ((address + self.mark) as *const u64).read() }
    }

    fn set_mark(&self, address: usize, mark: u64) {
        // SAFETY: an object lies there, and the mark within it, in bytes that libc does not use (see the type).
        unsafe { ((address + self.mark) as *mut u64).write(mark) };
    }

    /// The object at an address, which the program is about to use.
    #[inline]
    pub fn find(&self, address: usize, site: Site, model: impl FnOnce() -> Object) -> ObjectId {
        let mark = self.mark(address);
        let found = world::borrow().objects.find(address, self.bytes, self.sort);
        match found {
            Found::Object(object) if mark == number(object) => object,
            Found::Object(object) if mark == inherited(object) => object,
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
        if whole && (self.new)(&|index| word(address, index)) {
            return self.put(address, model());
        }
        let message = match mark {
            DESTROYED => "{0} is used after it was destroyed",
            _ => "{0} is used and was never initialised",
        };
        misuse("uninitialised", message, address, site)
    }

    fn put(&self, address: usize, model: Object) -> ObjectId {
        let object = world::borrow().make(address, self.bytes, self.sort, model);
        spin::foreign(address + self.mark, 8);
        self.set_mark(address, number(object));
        object
    }

    /// An `_init` call has made an object, in a run or before.
    pub fn made(&self, address: usize, frame: &Frame, model: impl FnOnce() -> Object) {
        if world::active() {
            accesses::range(address, self.bytes, true, frame);
            let object = self.put(address, model());
            let mut world = world::borrow();
            world.about(object).made = modules::site(frame.return_address).0;
        } else if driven() {
            self.set_mark(address, MADE);
        }
    }

    /// An object was made in another way than by an `_init` call, which orders it before all use.
    pub fn appeared(&self, address: usize, model: Object) {
        self.put(address, model);
    }

    /// The object is destroyed. The program must not use it any more.
    pub fn destroyed(&self, object: ObjectId, frame: &Frame) {
        let (address, site) = {
            let mut world = world::borrow();
            let site = modules::site(frame.return_address);
            let known = world.about(object);
            // Before the access, which may be in a race: that is reported as what it is then.
            known.destroyed = site.0;
            (known.address, site)
        };
        accesses::range(address, self.bytes, true, frame);
        self.disappeared(object, site);
    }

    /// The object is gone, without a write of the program to it.
    pub fn disappeared(&self, object: ObjectId, site: Site) {
        let address = {
            let mut world = world::borrow();
            let known = world.about(object);
            known.destroyed = site.0;
            known.address
        };
        self.set_mark(address, DESTROYED);
    }
}

/// The mark of an object.
fn number(object: ObjectId) -> u64 {
    u64::from(object.0) + 1
}

/// The mark of an object that a fork made, which is that of the object that it is a copy of.
#[cold]
fn inherited(object: ObjectId) -> u64 {
    number(world::borrow().about(object).origin)
}

/// After a run: removes its marks from the stacks, which are not restored, so that the next run does not find them there.
pub fn erase_marks() {
    const SHAPES: [Shape; 5] = [
        mutexes::SHAPE,
        condvars::SHAPE,
        rwlocks::SHAPE,
        barriers::SHAPE,
        semaphores::SHAPE,
    ];
    let world = world::borrow();
    let Some(main) = world.threads.first().map(|main| main.top) else {
        return;
    };
    for known in world.objects.known() {
        let fits = |shape: &&Shape| shape.sort == known.sort && shape.bytes == known.bytes as usize;
        let stack = slots::slot_of(known.address).is_some()
            || main.wrapping_sub(known.address) <= slots::STACK_BYTES;
        let here = known.process.is_first();
        if let Some(shape) = SHAPES.iter().find(fits).filter(|_| stack && here) {
            // On a stack, which is always mapped.
            shape.set_mark(known.address, 0);
        }
    }
}

/// After a run: reports threads that wait for an object that was destroyed, and objects that an `_init` call made and that were not
/// destroyed.
pub fn conclude(end: End) {
    let mut world = world::borrow();
    if end == End::Deadlock {
        let threads = world.threads.len();
        for index in 0..threads {
            report_wait_for_destroyed(&mut world, ThreadId(index as u32));
        }
    }
    if end != End::Done || !world.run.execution().errors.is_empty() {
        return;
    }
    let world = &mut *world;
    let left = world.objects.known().iter();
    let left = left.filter(|known| known.made != 0 && known.destroyed == 0);
    world.notes.extend(left.map(|known| Note::Warning {
        rule: "not-destroyed".into(),
        site: Site(known.made),
        address: known.address as u64,
    }));
}

fn report_wait_for_destroyed(world: &mut World, thread: ThreadId) {
    let Some(pending) = world.run.pending(thread).copied() else {
        return;
    };
    let Some(known) = pending.op.object().map(|object| *world.about(object)) else {
        return;
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
