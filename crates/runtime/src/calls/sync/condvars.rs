//! Condition variables. A wait is three events: give up the mutex and enqueue, wake, lock again.

use crate::{
    calls::{
        sync::{mutexes, robust_mutexes, sync_objects::Shape},
        threads::cancellation,
        time::clocks::{self, Deadline},
    },
    core::{
        objects::Sort,
        operations::misuse,
        world::{self, perform},
    },
    hooks::Frame,
    kernel::waits::{self, Ended},
    real, trampoline,
};
use core::ffi::c_int;
use libc::{
    pthread_cond_t as Condvar, pthread_condattr_t as Attributes, pthread_mutex_t as Mutex, timespec,
};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

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
    // SAFETY: the caller's.
    new: |words| unsafe { (4..9).all(|word| *words.add(word) == 0) && *words.add(FLAGS) <= 3 },
    statically: true,
};

const FLAGS: usize = 9;
const MONOTONIC: u32 = 2;

fn find(condvar: *const Condvar, site: Site) -> ObjectId {
    SHAPE.find(condvar as usize, site, Object::condvar)
}

pub(crate) unsafe extern "C" fn init(
    condvar: *mut Condvar,
    attributes: *const Attributes,
    frame: &Frame,
) -> c_int {
    let real = real!(pthread_cond_init: fn(*mut Condvar, *const Attributes) -> c_int);
    // SAFETY: the program's own arguments.
    let result = unsafe { real(condvar, attributes) };
    if result == 0 {
        SHAPE.made(condvar as usize, frame, Object::condvar);
    }
    result
}

pub(crate) unsafe extern "C" fn destroy(condvar: *mut Condvar, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_cond_destroy: fn(*mut Condvar) -> c_int)(condvar) };
    }
    let world = world::get();
    let site = world.site(frame.return_address);
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
    match world::get().run.state().object(condvar) {
        Object::Condvar(waiters) => waiters.len() + waits::waiting(condvar),
        _ => 0,
    }
}

pub(crate) unsafe extern "C" fn wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_cond_wait: fn(*mut Condvar, *mut Mutex) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(condvar, mutex) };
    }
    wait_until(condvar, mutex, None, frame)
}

pub(crate) unsafe extern "C" fn timed_wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real =
            real!(pthread_cond_timedwait: fn(*mut Condvar, *mut Mutex, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(condvar, mutex, until) };
    }
    // SAFETY: the program says that a condition variable lies there.
    let flags = unsafe { *condvar.cast::<u32>().add(FLAGS) };
    let clock = match flags & MONOTONIC {
        0 => libc::CLOCK_REALTIME,
        _ => libc::CLOCK_MONOTONIC,
    };
    match Deadline::new(clock, until) {
        Some(until) => wait_until(condvar, mutex, Some(until), frame),
        None => libc::EINVAL,
    }
}

unsafe extern "C" fn clock_wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(pthread_cond_clockwait: fn(*mut Condvar, *mut Mutex, libc::clockid_t, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(condvar, mutex, clock, until) };
    }
    match Deadline::new(clock, until) {
        Some(until) => wait_until(condvar, mutex, Some(until), frame),
        None => libc::EINVAL,
    }
}

fn wait_until(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    until: Option<Deadline>,
    frame: &Frame,
) -> c_int {
    let site = world::get().site(frame.return_address);
    let address = condvar as usize;
    let condvar = find(condvar, site);
    let given_up = mutexes::find(mutex, site);
    if !mutexes::held(given_up) {
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
    robust_mutexes::let_go(given_up);
    let again = mutex;
    let mutex = match world::get().about(given_up).depth {
        0 => given_up,
        // A recursive one that was locked more than once is not given up.
        _ => nobodys(),
    };
    if waits::used() {
        let ended = waits::on_condvar(condvar, mutex, until, site);
        return match (mutexes::taken(again, given_up, site), ended) {
            (_, Ended::Cancelled) => cancellation::go(),
            (0, Ended::Woken) => 0,
            (0, Ended::Late) => libc::ETIMEDOUT,
            (error, _) => error,
        };
    }
    let step = |op| perform(op, Gate::Open, site, Order::SeqCst, None);
    step(Op::Enqueue { condvar, mutex });
    let others = waiting(condvar) > 1;
    let before = world::get().about(condvar).mutex.replace(given_up);
    if others && before != Some(given_up) {
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
        Some(until) => clocks::perform_until(wake, until, site),
        None => step(wake),
    };
    step(Op::Lock(mutex));
    match mutexes::taken(again, given_up, site) {
        0 if !woken.ok => libc::ETIMEDOUT,
        error => error,
    }
}

/// A mutex that no other thread knows of.
fn nobodys() -> ObjectId {
    let world = world::get();
    // An address that is none, and another one for each.
    let address = usize::MAX - 8 * world.objects.known().len() - 7;
    world.make(address, 8, Sort::Mutex, Object::mutex())
}

pub(crate) unsafe extern "C" fn signal(condvar: *mut Condvar, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_cond_signal: fn(*mut Condvar) -> c_int)(condvar) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(condvar, site);
    if waits::used() {
        waits::signal(object, site);
    } else {
        perform(Op::NotifyOne(object), Gate::Open, site, Order::SeqCst, None);
    }
    0
}

pub(crate) unsafe extern "C" fn broadcast(condvar: *mut Condvar, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(pthread_cond_broadcast: fn(*mut Condvar) -> c_int)(condvar) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(condvar, site);
    if waits::used() {
        waits::broadcast(object, site);
    } else {
        perform(Op::NotifyAll(object), Gate::Open, site, Order::SeqCst, None);
    }
    0
}
