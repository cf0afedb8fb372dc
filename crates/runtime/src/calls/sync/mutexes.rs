//! Mutexes.
//!
//! Their kinds differ in what happens to a thread that locks a mutex it has, or unlocks one it has not. How often the holder of a recursive
//! one has it is the holder's own business and no event.

use crate::{
    calls::{
        sync::{robust_mutexes, sync_objects::Shape},
        time::clocks::{self, Deadline},
    },
    core::{
        objects::Sort,
        operations::misuse,
        spin,
        world::{self, perform, poll},
    },
    hooks::Frame,
    real, trampoline,
};
use core::ffi::c_int;
use libc::{pthread_mutex_t as Mutex, pthread_mutexattr_t as Attributes, timespec};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

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
    // SAFETY: the caller's.
    new: |words| unsafe {
        // One with a ceiling keeps it where the lock is.
        (*words == 0 || *words.add(KIND) & CEILING != 0)
            && (1..4).all(|word| *words.add(word) == 0)
            && *words.add(KIND) & 3 == *words.add(KIND) & 15
            && *words.add(KIND) >> 10 == 0
            && *words.add(6) == 0
            && *words.add(7) == 0
    },
    statically: true,
};

/// The word that says what kind of mutex it is.
const KIND: usize = 4;
const ROBUST: c_int = 16;
const CEILING: u32 = 64;

fn kind(mutex: *const Mutex) -> c_int {
    // SAFETY: `find` has seen that a mutex lies there.
    unsafe { *mutex.cast::<c_int>().add(KIND) }
}

fn recursive(mutex: *const Mutex) -> bool {
    kind(mutex) & 3 == libc::PTHREAD_MUTEX_RECURSIVE
}

/// Whether wrong use of it is answered and not forbidden.
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

/// The running thread has just got a mutex: what it is told.
#[inline]
pub fn taken(mutex: *const Mutex, object: ObjectId, site: Site) -> c_int {
    match is_robust(mutex) {
        true => robust_mutexes::taken(object, site),
        false => 0,
    }
}

/// Whether the running thread has it.
#[inline]
pub fn held(object: ObjectId) -> bool {
    let world = world::get();
    let me = Some(world.current);
    matches!(world.run.state().object(object), Object::Mutex { holder, .. } if *holder == me)
}

pub(crate) unsafe extern "C" fn init(
    mutex: *mut Mutex,
    attributes: *const Attributes,
    frame: &Frame,
) -> c_int {
    let real = real!(pthread_mutex_init: fn(*mut Mutex, *const Attributes) -> c_int);
    // SAFETY: the program's own arguments.
    let result = unsafe { real(mutex, attributes) };
    if result == 0 {
        SHAPE.made(mutex as usize, frame, Object::mutex);
    }
    result
}

pub(crate) unsafe extern "C" fn destroy(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_destroy: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let world = world::get();
    let site = world.site(frame.return_address);
    let object = find(mutex, site);
    if !matches!(
        world.run.state().object(object),
        Object::Mutex { holder: None, .. }
    ) {
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

/// What a thread gets that locks a mutex it has.
#[cold]
fn again(mutex: *mut Mutex, object: ObjectId, site: Site) -> c_int {
    if recursive(mutex) {
        world::get().about(object).depth += 1;
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

pub(crate) unsafe extern "C" fn lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_lock: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(mutex, site);
    if held(object) {
        return again(mutex, object, site);
    }
    poll(Op::Lock(object), frame, site, Order::SeqCst, None);
    taken(mutex, object, site)
}

pub(crate) unsafe extern "C" fn try_lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_trylock: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(mutex, site);
    if recursive(mutex) && held(object) {
        return again(mutex, object, site);
    }
    let event = poll(Op::TryLock(object), frame, site, Order::SeqCst, None);
    match event.ok {
        true => taken(mutex, object, site),
        false => libc::EBUSY,
    }
}

pub(crate) unsafe extern "C" fn timed_lock(
    mutex: *mut Mutex,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_mutex_timedlock: fn(*mut Mutex, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(mutex, until) };
    }
    lock_until(mutex, Deadline::new(libc::CLOCK_REALTIME, until), frame)
}

unsafe extern "C" fn clock_lock(
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_mutex_clocklock: fn(*mut Mutex, libc::clockid_t, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(mutex, clock, until) };
    }
    lock_until(mutex, Deadline::new(clock, until), frame)
}

fn lock_until(mutex: *mut Mutex, until: Option<Deadline>, frame: &Frame) -> c_int {
    let site = world::get().site(frame.return_address);
    let object = find(mutex, site);
    if held(object) && (recursive(mutex) || checks_errors(mutex)) {
        return again(mutex, object, site);
    }
    // It gets the mutex when it goes while that is free, and else has waited in vain.
    let op = Op::TryLock(object);
    let (event, error) = match until {
        Some(until) => (clocks::perform_until(op, until, site), libc::ETIMEDOUT),
        // No time at all matters only to one that would have to wait.
        None => (
            perform(op, Gate::Open, site, Order::SeqCst, None),
            libc::EINVAL,
        ),
    };
    match event.ok {
        true => taken(mutex, object, site),
        false => error,
    }
}

pub(crate) unsafe extern "C" fn unlock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_mutex_unlock: fn(*mut Mutex) -> c_int)(mutex) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(mutex, site);
    if !held(object) {
        // Recursive and robust ones answer too.
        if checks_errors(mutex) || recursive(mutex) || is_robust(mutex) {
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
        let depth = &mut world::get().about(object).depth;
        if *depth > 0 {
            *depth -= 1;
            spin::disturbed();
            return 0;
        }
    }
    if is_robust(mutex) {
        robust_mutexes::given_up(object);
    }
    let op = match spin::clean(object, site, frame) {
        true => Op::UnlockClean(object),
        false => Op::Unlock(object),
    };
    perform(op, Gate::Open, site, Order::SeqCst, None);
    0
}
