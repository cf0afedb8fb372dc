//! Condition variables. A wait is three events: release the mutex and enqueue, wake, lock again.

use crate::{
    calls::sync::{
        mutexes, robust_mutexes,
        sync_objects::{Shape, word},
    },
    core::{channel, modules, objects::Sort, trampoline::Frame},
    kernel::waits::{self, Ended},
    outside_run, real,
    run::{
        accesses, cancellation,
        operations::{misuse, visible},
        perform::perform_timed,
        spin, world,
    },
    shared::{
        deadlines::{self, Deadline},
        held_mutexes::held,
    },
    trampoline,
};
use core::{ffi::c_int, sync::atomic::Ordering};
use libc::{
    pthread_cond_t as Condvar, pthread_condattr_t as Attributes, pthread_mutex_t as Mutex, timespec,
};
use reweave_conduct::SPURIOUS;
use reweave_model::{Gate, Object, ObjectId, Op, Site};

trampoline! {
    pthread_cond_init => init, "rdx";
    pthread_cond_destroy => destroy, "rsi";
    pthread_cond_wait => wait, "rdx";
    pthread_cond_timedwait => timed_wait, "rcx";
    pthread_cond_clockwait => clock_wait, "r8";
    pthread_cond_signal => signal, "rsi";
    pthread_cond_broadcast => broadcast, "rsi";
}

/// As glibc has it: two positions, counts of two groups of waiters, references with two flags, signals of the groups.
pub const SHAPE: Shape = Shape {
    sort: Sort::Condvar,
    bytes: size_of::<Condvar>(),
    mark: 40,
    new: |word| (4..9).all(|index| word(index) == 0) && word(FLAGS) <= 3,
    statically: true,
};

const FLAGS: usize = 9;
const MONOTONIC: u32 = 2;

fn find(condvar: *const Condvar, site: Site) -> ObjectId {
    SHAPE.find(condvar as usize, site, Object::condvar)
}

/// # Safety
///
/// As `pthread_cond_init`: `condvar` points to room for a condition variable, `attributes` is null or points to attributes.
pub(super) unsafe extern "C" fn init(
    condvar: *mut Condvar,
    attributes: *const Attributes,
    frame: &Frame,
) -> c_int {
    let real = real!(pthread_cond_init: fn(*mut Condvar, *const Attributes) -> c_int);
    let from = frame.return_address;
    accesses::argument(attributes as usize, size_of::<Attributes>(), false, from);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(condvar, attributes) };
    if result == 0 {
        SHAPE.made(condvar as usize, frame, Object::condvar);
    }
    result
}

/// # Safety
///
/// As `pthread_cond_destroy`: `condvar` points to a condition variable.
pub(super) unsafe extern "C" fn destroy(condvar: *mut Condvar, frame: &Frame) -> c_int {
    outside_run!(pthread_cond_destroy: fn(condvar: *mut Condvar) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(condvar, site);
    if waiting(object) > 0 {
        misuse(
            "destroyed-in-use",
            "{0} is destroyed while a thread waits on it",
            condvar as usize,
            site,
        );
    }
    SHAPE.destroyed(object, frame);
    0
}

fn waiting(condvar: ObjectId) -> usize {
    let in_model = match world::borrow().run.state().object(condvar) {
        Object::Condvar(waiters) => waiters.len(),
        _ => return 0,
    };
    in_model + waits::waiting(condvar)
}

/// # Safety
///
/// As `pthread_cond_wait`: `condvar` points to a condition variable, `mutex` to a mutex.
pub(super) unsafe extern "C" fn wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_cond_wait: fn(condvar: *mut Condvar, mutex: *mut Mutex) -> c_int);
    wait_until(condvar, mutex, None, frame)
}

/// # Safety
///
/// As `pthread_cond_timedwait`: `condvar` points to a condition variable, `mutex` to a mutex, `until` to a time.
pub(super) unsafe extern "C" fn timed_wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_cond_timedwait: fn(condvar: *mut Condvar, mutex: *mut Mutex, until: *const timespec) -> c_int);
    let clock = match word(condvar as usize, FLAGS) & MONOTONIC {
        0 => libc::CLOCK_REALTIME,
        _ => libc::CLOCK_MONOTONIC,
    };
    // SAFETY: `until` points to a time, by this function's contract.
    match unsafe { Deadline::new(clock, until, Some(frame)) } {
        Some(until) => wait_until(condvar, mutex, Some(until), frame),
        None => libc::EINVAL,
    }
}

/// # Safety
///
/// As `pthread_cond_clockwait`: `condvar` points to a condition variable, `mutex` to a mutex, `until` to a time.
unsafe extern "C" fn clock_wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(pthread_cond_clockwait: fn(condvar: *mut Condvar, mutex: *mut Mutex, clock: libc::clockid_t, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    match unsafe { Deadline::new(clock, until, Some(frame)) } {
        Some(until) => wait_until(condvar, mutex, Some(until), frame),
        None => libc::EINVAL,
    }
}

fn wait_until(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    until: Option<Deadline<'_>>,
    frame: &Frame,
) -> c_int {
    let site = modules::site(frame.return_address);
    let address = condvar as usize;
    let condvar = find(condvar, site);
    let released = mutexes::find(mutex, site);
    if !held(released) {
        if mutexes::checks_errors(mutex) {
            return libc::EPERM;
        }
        misuse(
            "wait-without-lock",
            "a wait on {0} with a mutex that the thread does not have",
            address,
            site,
        );
    }
    robust_mutexes::released_for_wait(released);
    let depth = world::borrow().about(released).depth;
    let enqueued = match depth {
        0 => released,
        // A recursive one that was locked more than once is not released.
        _ => private_mutex(),
    };
    if may_be_spurious() && ends_spuriously(condvar, site, frame) {
        visible(Op::Unlock(enqueued), site);
        visible(Op::Lock(enqueued), site);
        return mutexes::taken(mutex, released, site);
    }
    let ended = match waits::used() {
        true => waits::on_condvar(condvar, enqueued, until, site),
        false => wait_for_signal(condvar, enqueued, released, until, site),
    };
    match (mutexes::taken(mutex, released, site), ended) {
        (_, Ended::Cancelled) => cancellation::go(),
        (0, Ended::Late) => libc::ETIMEDOUT,
        (error, _) => error,
    }
}

/// Whether waits may end without a notification.
fn may_be_spurious() -> bool {
    let header = channel::header();
    header.spurious_wakeups.load(Ordering::Relaxed) != 0
}

/// Whether a wait that begins now ends without a notification: a choice. It is not one again in a loop around the wait that is back in
/// the same state.
fn ends_spuriously(condvar: ObjectId, site: Site, frame: &Frame) -> bool {
    let timed = false;
    let key = Op::Wake { condvar, timed };
    let repeats = spin::repeats(key, site, Some(frame));
    let gate = world::borrow().timed_gate(key, site, repeats);
    if gate == Gate::Late {
        return false;
    }
    let ends = perform_timed(SPURIOUS, key, gate, site).result == 1;
    world::borrow().timed(key, site, !ends);
    ends
}

/// Waits, in a program that does not cancel threads. The mutex that is `enqueued` with the thread is held when it ends.
fn wait_for_signal(
    condvar: ObjectId,
    enqueued: ObjectId,
    released: ObjectId,
    until: Option<Deadline<'_>>,
    site: Site,
) -> Ended {
    let mutex = enqueued;
    visible(Op::Enqueue { condvar, mutex }, site);
    let others = waiting(condvar) > 1;
    let (before, address) = {
        let mut world = world::borrow();
        let known = world.about(condvar);
        (known.mutex.replace(released), known.address)
    };
    if others && before != Some(released) {
        misuse(
            "wait-with-two-mutexes",
            "two threads wait on {0} with different mutexes",
            address,
            site,
        );
    }
    let timed = until.is_some();
    let wake = Op::Wake { condvar, timed };
    let woken = match until {
        Some(until) => deadlines::perform_until(wake, until, site),
        None => visible(wake, site),
    };
    visible(Op::Lock(mutex), site);
    match woken.ok {
        true => Ended::Woken,
        false => Ended::Late,
    }
}

/// A mutex that no other thread knows of.
fn private_mutex() -> ObjectId {
    let mut world = world::borrow();
    // No object lies at such an address, and each private mutex has another one.
    let address = usize::MAX - 8 * world.objects.known().len() - 7;
    world.make(address, 8, Sort::Mutex, Object::mutex())
}

/// # Safety
///
/// As `pthread_cond_signal`: `condvar` points to a condition variable.
pub(super) unsafe extern "C" fn signal(condvar: *mut Condvar, frame: &Frame) -> c_int {
    outside_run!(pthread_cond_signal: fn(condvar: *mut Condvar) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(condvar, site);
    if waits::used() {
        waits::signal(object, site);
    } else {
        visible(Op::NotifyOne(object), site);
    }
    0
}

/// # Safety
///
/// As `pthread_cond_broadcast`: `condvar` points to a condition variable.
pub(super) unsafe extern "C" fn broadcast(condvar: *mut Condvar, frame: &Frame) -> c_int {
    outside_run!(pthread_cond_broadcast: fn(condvar: *mut Condvar) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(condvar, site);
    if waits::used() {
        waits::broadcast(object, site);
    } else {
        visible(Op::NotifyAll(object), site);
    }
    0
}
