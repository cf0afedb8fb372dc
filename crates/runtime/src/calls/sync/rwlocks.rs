//! Read-write locks. Unless an attribute says otherwise, readers do not wait behind a writer that waits.

use crate::{
    calls::{
        sync::sync_objects::Shape,
        time::clocks::{self, Deadline},
    },
    core::{
        objects::Sort,
        operations::misuse,
        world::{self, perform, poll},
    },
    hooks::Frame,
    real, trampoline,
};
use core::ffi::c_int;
use libc::{pthread_rwlock_t as Lock, pthread_rwlockattr_t as Attributes, timespec};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site, ThreadId};

trampoline! {
    pthread_rwlock_init => init, "rdx";
    pthread_rwlock_destroy => destroy, "rsi";
    pthread_rwlock_rdlock => read, "rsi";
    pthread_rwlock_tryrdlock => try_read, "rsi";
    pthread_rwlock_timedrdlock => timed_read, "rdx";
    pthread_rwlock_clockrdlock => clock_read, "rcx";
    pthread_rwlock_wrlock => write, "rsi";
    pthread_rwlock_trywrlock => try_write, "rsi";
    pthread_rwlock_timedwrlock => timed_write, "rdx";
    pthread_rwlock_clockwrlock => clock_write, "rcx";
    pthread_rwlock_unlock => unlock, "rsi";
}

/// As glibc has it: readers with two flags, writers, two words to wait for, the writer that has it, room, who goes first.
pub const SHAPE: Shape = Shape {
    sort: Sort::RwLock,
    bytes: size_of::<Lock>(),
    mark: 40,
    // SAFETY: the caller's.
    new: |words| unsafe {
        *words <= 1 && *words.add(1) == 0 && *words.add(6) == 0 && *words.add(KIND) < 3
    },
    statically: true,
};

const KIND: usize = 12;
const WRITERS_FIRST: u32 = 2;

fn model(lock: *const Lock) -> Object {
    // SAFETY: the program says that a lock lies there.
    match unsafe { *lock.cast::<u32>().add(KIND) } {
        WRITERS_FIRST => Object::rwlock(),
        _ => Object::rwlock_readers_first(),
    }
}

#[inline]
fn find(lock: *const Lock, site: Site) -> ObjectId {
    SHAPE.find(lock as usize, site, || model(lock))
}

/// Who has it for writing, and how many have it for reading, how often the running thread.
fn holders(object: ObjectId) -> (Option<ThreadId>, usize, usize) {
    let world = world::get();
    match world.run.state().object(object) {
        Object::RwLock {
            writer,
            acquired,
            readers,
            ..
        } => {
            let mine = readers.iter().filter(|reader| **reader == world.current);
            (writer.filter(|_| *acquired), readers.len(), mine.count())
        }
        _ => (None, 0, 0),
    }
}

/// Whether the running thread has it for writing.
fn writes(object: ObjectId) -> bool {
    holders(object).0 == Some(world::get().current)
}

fn step(op: Op, site: Site) -> world::Done {
    perform(op, Gate::Open, site, Order::SeqCst, None)
}

unsafe extern "C" fn init(lock: *mut Lock, attributes: *const Attributes, frame: &Frame) -> c_int {
    let real = real!(pthread_rwlock_init: fn(*mut Lock, *const Attributes) -> c_int);
    // SAFETY: the program's own arguments.
    let result = unsafe { real(lock, attributes) };
    if result == 0 {
        SHAPE.made(lock as usize, frame, || model(lock));
    }
    result
}

unsafe extern "C" fn destroy(lock: *mut Lock, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_rwlock_destroy: fn(*mut Lock) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    if !matches!(holders(object), (None, 0, _)) {
        misuse(
            "destroyed-in-use",
            "{0} is destroyed while it is locked",
            lock as usize,
            site,
        );
    }
    SHAPE.destroyed(object, frame);
    0
}

unsafe extern "C" fn read(lock: *mut Lock, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_rwlock_rdlock: fn(*mut Lock) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    if writes(object) {
        return libc::EDEADLK;
    }
    poll(Op::ReadLock(object), frame, site, Order::SeqCst, None);
    0
}

unsafe extern "C" fn try_read(lock: *mut Lock, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_rwlock_tryrdlock: fn(*mut Lock) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let op = Op::TryReadLock(find(lock, site));
    let event = poll(op, frame, site, Order::SeqCst, None);
    if event.ok { 0 } else { libc::EBUSY }
}

unsafe extern "C" fn timed_read(lock: *mut Lock, until: *const timespec, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_rwlock_timedrdlock: fn(*mut Lock, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(lock, until) };
    }
    read_until(lock, Deadline::new(libc::CLOCK_REALTIME, until), frame)
}

unsafe extern "C" fn clock_read(
    lock: *mut Lock,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_rwlock_clockrdlock: fn(*mut Lock, libc::clockid_t, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(lock, clock, until) };
    }
    read_until(lock, Deadline::new(clock, until), frame)
}

fn read_until(lock: *mut Lock, until: Option<Deadline>, frame: &Frame) -> c_int {
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    // Here it matters to everybody whether it is a time.
    let Some(until) = until else {
        return libc::EINVAL;
    };
    if writes(object) {
        return libc::EDEADLK;
    }
    match clocks::perform_until(Op::TryReadLock(object), until, site).ok {
        true => 0,
        false => libc::ETIMEDOUT,
    }
}

unsafe extern "C" fn write(lock: *mut Lock, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_rwlock_wrlock: fn(*mut Lock) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    if writes(object) {
        return libc::EDEADLK;
    }
    step(Op::WriteBegin(object), site);
    step(Op::WriteAcquire(object), site);
    0
}

unsafe extern "C" fn try_write(lock: *mut Lock, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_rwlock_trywrlock: fn(*mut Lock) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let event = step(Op::TryWriteLock(find(lock, site)), site);
    if event.ok { 0 } else { libc::EBUSY }
}

unsafe extern "C" fn timed_write(lock: *mut Lock, until: *const timespec, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(pthread_rwlock_timedwrlock: fn(*mut Lock, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(lock, until) };
    }
    write_until(lock, Deadline::new(libc::CLOCK_REALTIME, until), frame)
}

unsafe extern "C" fn clock_write(
    lock: *mut Lock,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_rwlock_clockwrlock: fn(*mut Lock, libc::clockid_t, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(lock, clock, until) };
    }
    write_until(lock, Deadline::new(clock, until), frame)
}

fn write_until(lock: *mut Lock, until: Option<Deadline>, frame: &Frame) -> c_int {
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    let Some(until) = until else {
        return libc::EINVAL;
    };
    if writes(object) {
        return libc::EDEADLK;
    }
    let gate = world::get().timed_gate(Op::TryWriteLock(object));
    // A try must not wait for several readers.
    let steps: &[Op] = match gate {
        Gate::Late => &[Op::WriteBegin(object), Op::WriteAcquire(object)],
        _ => &[Op::TryWriteLock(object)],
    };
    let step = |op: &Op| clocks::perform_gated(*op, gate, until, site).ok;
    if steps.iter().all(step) {
        0
    } else {
        libc::ETIMEDOUT
    }
}

unsafe extern "C" fn unlock(lock: *mut Lock, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_rwlock_unlock: fn(*mut Lock) -> c_int)(lock) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(lock, site);
    let op = if writes(object) {
        Op::WriteUnlock(object)
    } else if holders(object).2 > 0 {
        Op::ReadUnlock(object)
    } else {
        misuse(
            "unlock-not-owner",
            "{0} is unlocked by a thread that does not have it",
            lock as usize,
            site,
        )
    };
    step(op, site);
    0
}
