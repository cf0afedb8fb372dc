//! Mutexes.
//!
//! Their kinds differ in what happens to a thread that locks a mutex that it holds, or unlocks one that it does not hold. How often
//! the holder of a recursive mutex has locked it is known to the holder alone, and no event.

use crate::{
    calls::sync::{
        robust_mutexes,
        sync_objects::{Shape, word},
    },
    core::{modules, objects::Sort, trampoline::Frame},
    outside_run, real,
    run::{
        accesses,
        operations::{misuse, visible},
        spin,
        world::{self, poll},
    },
    shared::{
        deadlines::{self, Deadline},
        held_mutexes::{held, holder},
    },
    trampoline,
};
use core::ffi::c_int;
use libc::{pthread_mutex_t as Mutex, pthread_mutexattr_t as Attributes, timespec};
use reweave_model::{Object, ObjectId, Op, Order, Site};

trampoline! {
    pthread_mutex_init => init, "rdx";
    pthread_mutex_destroy => destroy, "rsi";
    pthread_mutex_lock => lock, "rsi";
    pthread_mutex_trylock => try_lock, "rsi";
    pthread_mutex_timedlock => timed_lock, "rdx";
    pthread_mutex_clocklock => clock_lock, "rcx";
    pthread_mutex_unlock => unlock, "rsi";
}

/// As glibc has it: the lock, the count, the owner, the number of users, the kind, and a list.
pub const SHAPE: Shape = Shape {
    sort: Sort::Mutex,
    bytes: size_of::<Mutex>(),
    mark: 32,
    new: |word| {
        // One with a ceiling keeps it where the lock is.
        (word(0) == 0 || word(KIND) & CEILING != 0)
            && (1..4).all(|index| word(index) == 0)
            && word(KIND) & 3 == word(KIND) & 15
            && word(KIND) >> 10 == 0
            && word(6) == 0
            && word(7) == 0
    },
    statically: true,
};

/// The word that says what kind of mutex it is.
const KIND: usize = 4;
const ROBUST: c_int = 16;
const INHERITS: c_int = 32;
const CEILING: u32 = 64;

fn kind(mutex: *const Mutex) -> c_int {
    word(mutex as usize, KIND) as c_int
}

fn recursive(mutex: *const Mutex) -> bool {
    kind(mutex) & 3 == libc::PTHREAD_MUTEX_RECURSIVE
}

/// Whether wrong use of a mutex is answered with an error number, and not forbidden.
pub fn checks_errors(mutex: *const Mutex) -> bool {
    kind(mutex) & 3 == libc::PTHREAD_MUTEX_ERRORCHECK
}

#[inline]
pub fn find(mutex: *const Mutex, site: Site) -> ObjectId {
    SHAPE.find(mutex as usize, site, Object::mutex)
}

fn is_robust(mutex: *const Mutex) -> bool {
    kind(mutex) & ROBUST != 0
}

/// Whether the C library knows the owner of a mutex of any type: it inherits priorities, or is robust.
fn knows_owner(mutex: *const Mutex) -> bool {
    kind(mutex) & (ROBUST | INHERITS) != 0
}

/// The running thread has just locked a mutex: what the call returns.
#[inline]
pub fn taken(mutex: *const Mutex, object: ObjectId, site: Site) -> c_int {
    match is_robust(mutex) {
        true => robust_mutexes::taken(object, site),
        false => 0,
    }
}

/// # Safety
///
/// As `pthread_mutex_init`: `mutex` points to room for a mutex, `attributes` is null or points to attributes.
pub(super) unsafe extern "C" fn init(
    mutex: *mut Mutex,
    attributes: *const Attributes,
    frame: &Frame,
) -> c_int {
    if world::active() {
        // SAFETY: `attributes` is null or points to attributes, by this function's contract.
        unsafe { refuse_ceiling(attributes, frame) };
    }
    let real = real!(pthread_mutex_init: fn(*mut Mutex, *const Attributes) -> c_int);
    let from = frame.return_address;
    accesses::argument(attributes as usize, size_of::<Attributes>(), false, from);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(mutex, attributes) };
    if result == 0 {
        SHAPE.made(mutex as usize, frame, Object::mutex);
    }
    result
}

/// Stops the thread if mutexes with these attributes have a priority ceiling: whether one can be locked depends on priorities and
/// privileges, which have no effect here.
///
/// # Safety
///
/// `attributes` is null or points to attributes.
unsafe fn refuse_ceiling(attributes: *const Attributes, frame: &Frame) {
    let mut protocol = libc::PTHREAD_PRIO_NONE;
    if !attributes.is_null() {
        let real = real!(pthread_mutexattr_getprotocol: fn(*const Attributes, *mut c_int) -> c_int);
        // SAFETY: not null, so it points to attributes, by this function's contract; the answer goes to a local.
        unsafe { real(attributes, &mut protocol) };
    }
    if protocol == libc::PTHREAD_PRIO_PROTECT {
        let site = modules::site(frame.return_address);
        world::unsupported("pthread_mutex_init with PTHREAD_PRIO_PROTECT", site);
    }
}

/// # Safety
///
/// As `pthread_mutex_destroy`: `mutex` points to a mutex.
pub(super) unsafe extern "C" fn destroy(mutex: *mut Mutex, frame: &Frame) -> c_int {
    outside_run!(pthread_mutex_destroy: fn(mutex: *mut Mutex) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(mutex, site);
    if holder(object).is_some() {
        misuse(
            "destroyed-in-use",
            "{0} is destroyed while it is locked",
            mutex as usize,
            site,
        );
    }
    SHAPE.destroyed(object, frame);
    0
}

/// The running thread locks a mutex that it holds already.
#[cold]
fn lock_again(mutex: *mut Mutex, object: ObjectId, site: Site) -> c_int {
    if recursive(mutex) {
        world::borrow().about(object).depth += 1;
        spin::disturbed();
        return 0;
    }
    if checks_errors(mutex) {
        return libc::EDEADLK;
    }
    misuse(
        "relock",
        "{0} is locked again by the thread that has it",
        mutex as usize,
        site,
    )
}

/// # Safety
///
/// As `pthread_mutex_lock`: `mutex` points to a mutex.
pub(super) unsafe extern "C" fn lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    outside_run!(pthread_mutex_lock: fn(mutex: *mut Mutex) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(mutex, site);
    if held(object) {
        return lock_again(mutex, object, site);
    }
    poll(Op::Lock(object), frame, site, Order::SeqCst, None);
    taken(mutex, object, site)
}

/// # Safety
///
/// As `pthread_mutex_trylock`: `mutex` points to a mutex.
pub(super) unsafe extern "C" fn try_lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    outside_run!(pthread_mutex_trylock: fn(mutex: *mut Mutex) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(mutex, site);
    // Only some of those that check errors do so here.
    let answers = recursive(mutex) || checks_errors(mutex) && knows_owner(mutex);
    if answers && held(object) {
        return lock_again(mutex, object, site);
    }
    let event = poll(Op::TryLock(object), frame, site, Order::SeqCst, None);
    match event.ok {
        true => taken(mutex, object, site),
        false => libc::EBUSY,
    }
}

/// # Safety
///
/// As `pthread_mutex_timedlock`: `mutex` points to a mutex, `until` to a time.
pub(super) unsafe extern "C" fn timed_lock(
    mutex: *mut Mutex,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_mutex_timedlock: fn(mutex: *mut Mutex, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(libc::CLOCK_REALTIME, until, Some(frame)) };
    lock_until(mutex, until, frame)
}

/// # Safety
///
/// As `pthread_mutex_clocklock`: `mutex` points to a mutex, `until` to a time.
unsafe extern "C" fn clock_lock(
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_mutex_clocklock: fn(mutex: *mut Mutex, clock: libc::clockid_t, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(clock, until, Some(frame)) };
    lock_until(mutex, until, frame)
}

fn lock_until(mutex: *mut Mutex, until: Option<Deadline<'_>>, frame: &Frame) -> c_int {
    let site = modules::site(frame.return_address);
    let object = find(mutex, site);
    if held(object) && (recursive(mutex) || checks_errors(mutex)) {
        return lock_again(mutex, object, site);
    }
    // The thread gets the mutex if that is free at this operation, and else has waited in vain.
    let op = Op::TryLock(object);
    let (event, error) = match until {
        Some(until) => (deadlines::perform_until(op, until, site), libc::ETIMEDOUT),
        // A time that is none matters only to a thread that would have to wait.
        None => (visible(op, site), libc::EINVAL),
    };
    match event.ok {
        true => taken(mutex, object, site),
        false => error,
    }
}

/// # Safety
///
/// As `pthread_mutex_unlock`: `mutex` points to a mutex.
pub(super) unsafe extern "C" fn unlock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    outside_run!(pthread_mutex_unlock: fn(mutex: *mut Mutex) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(mutex, site);
    if !held(object) {
        // So do all others whose owner is known.
        if checks_errors(mutex) || recursive(mutex) || knows_owner(mutex) {
            return libc::EPERM;
        }
        misuse(
            "unlock-not-owner",
            "{0} is unlocked by a thread that does not have it",
            mutex as usize,
            site,
        );
    }
    if recursive(mutex) {
        let again = {
            let mut world = world::borrow();
            let depth = &mut world.about(object).depth;
            let again = *depth > 0;
            *depth -= u32::from(again);
            again
        };
        if again {
            spin::disturbed();
            return 0;
        }
    }
    if is_robust(mutex) {
        robust_mutexes::released(object);
    }
    let op = match spin::clean(object, site, frame) {
        true => Op::UnlockClean(object),
        false => Op::Unlock(object),
    };
    visible(op, site);
    0
}
