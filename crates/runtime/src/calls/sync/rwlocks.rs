//! Read-write locks. Unless an attribute says otherwise, readers do not wait behind a writer that waits.

use crate::{
    calls::sync::sync_objects::{Shape, word},
    core::{modules, objects::Sort, trampoline::Frame},
    outside_run, real,
    run::{
        accesses,
        operations::{misuse, visible},
        world::{self, poll},
    },
    shared::deadlines::{self, Deadline},
    trampoline,
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

/// As glibc has it: readers with two flags, writers, two words to wait for, the writer that holds it, room, which side goes first.
pub const SHAPE: Shape = Shape {
    sort: Sort::RwLock,
    bytes: size_of::<Lock>(),
    mark: 40,
    new: |word| word(0) <= 1 && word(1) == 0 && word(6) == 0 && word(KIND) < 3,
    statically: true,
};

const KIND: usize = 12;
const WRITERS_FIRST: u32 = 2;

fn model(lock: *const Lock) -> Object {
    match word(lock as usize, KIND) {
        WRITERS_FIRST => Object::rwlock(),
        _ => Object::rwlock_readers_first(),
    }
}

#[inline]
fn find(lock: *const Lock, site: Site) -> ObjectId {
    SHAPE.find(lock as usize, site, || model(lock))
}

/// The thread that holds it for writing, how often it is held for reading, and how often of that by the running thread.
fn holders(object: ObjectId) -> (Option<ThreadId>, usize, usize) {
    let world = world::borrow();
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

/// Whether the running thread holds it for writing.
fn writes(object: ObjectId) -> bool {
    let me = world::borrow().current;
    holders(object).0 == Some(me)
}

/// # Safety
///
/// As `pthread_rwlock_init`: `lock` points to room for a lock, `attributes` is null or points to attributes.
unsafe extern "C" fn init(lock: *mut Lock, attributes: *const Attributes, frame: &Frame) -> c_int {
    let real = real!(pthread_rwlock_init: fn(*mut Lock, *const Attributes) -> c_int);
    let from = frame.return_address;
    accesses::argument(attributes as usize, size_of::<Attributes>(), false, from);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(lock, attributes) };
    if result == 0 {
        SHAPE.made(lock as usize, frame, || model(lock));
    }
    result
}

/// # Safety
///
/// As `pthread_rwlock_destroy`: `lock` points to a read-write lock.
unsafe extern "C" fn destroy(lock: *mut Lock, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_destroy: fn(lock: *mut Lock) -> c_int);
    let site = modules::site(frame.return_address);
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

/// # Safety
///
/// As `pthread_rwlock_rdlock`: `lock` points to a read-write lock.
unsafe extern "C" fn read(lock: *mut Lock, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_rdlock: fn(lock: *mut Lock) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(lock, site);
    if writes(object) {
        return libc::EDEADLK;
    }
    poll(Op::ReadLock(object), frame, site, Order::SeqCst, None);
    0
}

/// # Safety
///
/// As `pthread_rwlock_tryrdlock`: `lock` points to a read-write lock.
unsafe extern "C" fn try_read(lock: *mut Lock, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_tryrdlock: fn(lock: *mut Lock) -> c_int);
    let site = modules::site(frame.return_address);
    let op = Op::TryReadLock(find(lock, site));
    let event = poll(op, frame, site, Order::SeqCst, None);
    if event.ok { 0 } else { libc::EBUSY }
}

/// # Safety
///
/// As `pthread_rwlock_timedrdlock`: `lock` points to a read-write lock, `until` to a time.
unsafe extern "C" fn timed_read(lock: *mut Lock, until: *const timespec, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_timedrdlock: fn(lock: *mut Lock, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(libc::CLOCK_REALTIME, until, Some(frame)) };
    read_until(lock, until, frame)
}

/// # Safety
///
/// As `pthread_rwlock_clockrdlock`: `lock` points to a read-write lock, `until` to a time.
unsafe extern "C" fn clock_read(
    lock: *mut Lock,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_rwlock_clockrdlock: fn(lock: *mut Lock, clock: libc::clockid_t, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(clock, until, Some(frame)) };
    read_until(lock, until, frame)
}

fn read_until(lock: *mut Lock, until: Option<Deadline<'_>>, frame: &Frame) -> c_int {
    let site = modules::site(frame.return_address);
    let object = find(lock, site);
    // Here a time that is none matters even if the thread does not have to wait.
    let Some(until) = until else {
        return libc::EINVAL;
    };
    if writes(object) {
        return libc::EDEADLK;
    }
    match deadlines::perform_until(Op::TryReadLock(object), until, site).ok {
        true => 0,
        false => libc::ETIMEDOUT,
    }
}

/// # Safety
///
/// As `pthread_rwlock_wrlock`: `lock` points to a read-write lock.
unsafe extern "C" fn write(lock: *mut Lock, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_wrlock: fn(lock: *mut Lock) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(lock, site);
    if writes(object) {
        return libc::EDEADLK;
    }
    visible(Op::WriteBegin(object), site);
    visible(Op::WriteAcquire(object), site);
    0
}

/// # Safety
///
/// As `pthread_rwlock_trywrlock`: `lock` points to a read-write lock.
unsafe extern "C" fn try_write(lock: *mut Lock, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_trywrlock: fn(lock: *mut Lock) -> c_int);
    let site = modules::site(frame.return_address);
    let event = visible(Op::TryWriteLock(find(lock, site)), site);
    if event.ok { 0 } else { libc::EBUSY }
}

/// # Safety
///
/// As `pthread_rwlock_timedwrlock`: `lock` points to a read-write lock, `until` to a time.
unsafe extern "C" fn timed_write(lock: *mut Lock, until: *const timespec, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_timedwrlock: fn(lock: *mut Lock, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(libc::CLOCK_REALTIME, until, Some(frame)) };
    write_until(lock, until, frame)
}

/// # Safety
///
/// As `pthread_rwlock_clockwrlock`: `lock` points to a read-write lock, `until` to a time.
unsafe extern "C" fn clock_write(
    lock: *mut Lock,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_rwlock_clockwrlock: fn(lock: *mut Lock, clock: libc::clockid_t, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(clock, until, Some(frame)) };
    write_until(lock, until, frame)
}

fn write_until(lock: *mut Lock, until: Option<Deadline<'_>>, frame: &Frame) -> c_int {
    let site = modules::site(frame.return_address);
    let object = find(lock, site);
    let Some(until) = until else {
        return libc::EINVAL;
    };
    if writes(object) {
        return libc::EDEADLK;
    }
    let key = Op::TryWriteLock(object);
    let gate = deadlines::gate(key, until, site);
    // A try must not wait for several readers.
    let steps: &[Op] = match gate {
        Gate::Late => &[Op::WriteBegin(object), Op::WriteAcquire(object)],
        _ => &[key],
    };
    let step = |op: &Op| deadlines::perform_gated(*op, key, gate, until, site).ok;
    if steps.iter().all(step) {
        0
    } else {
        libc::ETIMEDOUT
    }
}

/// # Safety
///
/// As `pthread_rwlock_unlock`: `lock` points to a read-write lock.
unsafe extern "C" fn unlock(lock: *mut Lock, frame: &Frame) -> c_int {
    outside_run!(pthread_rwlock_unlock: fn(lock: *mut Lock) -> c_int);
    let site = modules::site(frame.return_address);
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
    visible(op, site);
    0
}
