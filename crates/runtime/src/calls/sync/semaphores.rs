//! Semaphores.

use crate::{
    calls::sync::sync_objects::{Shape, word},
    core::{modules, objects::Sort, trampoline::Frame},
    kernel::waits::{self, Ended},
    outside_run, real,
    run::{
        accesses, cancellation,
        operations::{failed, visible},
        world::poll,
    },
    shared::{
        deadlines::{self, Deadline},
        injected_faults,
    },
    trampoline,
};
use core::ffi::{c_int, c_uint};
use libc::{sem_t as Semaphore, timespec};
use reweave_model::{Object, ObjectId, Op, Order, Site};

trampoline! {
    sem_init => init, "rcx";
    sem_destroy => destroy, "rsi";
    sem_wait => wait, "rsi";
    sem_trywait => try_wait, "rsi";
    sem_timedwait => timed_wait, "rdx";
    sem_clockwait => clock_wait, "rcx";
    sem_post => post, "rsi";
    sem_getvalue => value, "rdx";
}

/// As glibc has it: the count, how many wait, a flag.
pub const SHAPE: Shape = Shape {
    sort: Sort::Semaphore,
    bytes: size_of::<Semaphore>(),
    mark: 16,
    new: |word| word(1) == 0,
    statically: false,
};

pub(super) fn model(semaphore: *const Semaphore) -> Object {
    Object::Semaphore(word(semaphore as usize, 0).into())
}

pub(super) fn find(semaphore: *const Semaphore, site: Site) -> ObjectId {
    SHAPE.find(semaphore as usize, site, || model(semaphore))
}

/// # Safety
///
/// As `sem_init`: `semaphore` points to room for a semaphore.
unsafe extern "C" fn init(
    semaphore: *mut Semaphore,
    shared: c_int,
    count: c_uint,
    frame: &Frame,
) -> c_int {
    let real = real!(sem_init: fn(*mut Semaphore, c_int, c_uint) -> c_int);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(semaphore, shared, count) };
    if result == 0 {
        SHAPE.made(semaphore as usize, frame, || model(semaphore));
    }
    result
}

/// A thread that waits looks the same as one that is about to wait. One that still waits at the end of the run is reported as using
/// what was destroyed.
///
/// # Safety
///
/// As `sem_destroy`: `semaphore` points to a semaphore.
unsafe extern "C" fn destroy(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    outside_run!(sem_destroy: fn(semaphore: *mut Semaphore) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(semaphore, site);
    SHAPE.destroyed(object, frame);
    0
}

/// # Safety
///
/// As `sem_wait`: `semaphore` points to a semaphore.
unsafe extern "C" fn wait(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    outside_run!(sem_wait: fn(semaphore: *mut Semaphore) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(semaphore, site);
    let timed = false;
    if injected_faults::interrupts(site) {
        return failed(libc::EINTR);
    }
    if waits::used() {
        return answer(waits::acquire(object, None, site));
    }
    visible(Op::SemAcquire { object, timed }, site);
    0
}

/// What a wait returns, by how it has ended.
fn answer(ended: Ended) -> c_int {
    match ended {
        Ended::Woken => 0,
        Ended::Late => failed(libc::ETIMEDOUT),
        Ended::Cancelled => cancellation::go(),
    }
}

/// # Safety
///
/// As `sem_trywait`: `semaphore` points to a semaphore.
unsafe extern "C" fn try_wait(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    outside_run!(sem_trywait: fn(semaphore: *mut Semaphore) -> c_int);
    let site = modules::site(frame.return_address);
    let op = Op::SemTryAcquire(find(semaphore, site));
    match poll(op, frame, site, Order::SeqCst, None).ok {
        true => 0,
        false => failed(libc::EAGAIN),
    }
}

/// # Safety
///
/// As `sem_timedwait`: `semaphore` points to a semaphore, `until` to a time.
unsafe extern "C" fn timed_wait(
    semaphore: *mut Semaphore,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(sem_timedwait: fn(semaphore: *mut Semaphore, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(libc::CLOCK_REALTIME, until, Some(frame)) };
    wait_until(semaphore, until, frame)
}

/// # Safety
///
/// As `sem_clockwait`: `semaphore` points to a semaphore, `until` to a time.
unsafe extern "C" fn clock_wait(
    semaphore: *mut Semaphore,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    outside_run!(sem_clockwait: fn(semaphore: *mut Semaphore, clock: libc::clockid_t, until: *const timespec) -> c_int);
    // SAFETY: `until` points to a time, by this function's contract.
    let until = unsafe { Deadline::new(clock, until, Some(frame)) };
    wait_until(semaphore, until, frame)
}

fn wait_until(semaphore: *mut Semaphore, until: Option<Deadline<'_>>, frame: &Frame) -> c_int {
    let site = modules::site(frame.return_address);
    let object = find(semaphore, site);
    let Some(until) = until else {
        return failed(libc::EINVAL);
    };
    if waits::used() {
        return answer(waits::acquire(object, Some(until), site));
    }
    let timed = true;
    match deadlines::perform_until(Op::SemAcquire { object, timed }, until, site).ok {
        true => 0,
        false => failed(libc::ETIMEDOUT),
    }
}

/// # Safety
///
/// As `sem_post`: `semaphore` points to a semaphore.
unsafe extern "C" fn post(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    outside_run!(sem_post: fn(semaphore: *mut Semaphore) -> c_int);
    let site = modules::site(frame.return_address);
    let object = find(semaphore, site);
    if waits::used() {
        waits::release(object, site);
    } else {
        visible(Op::SemRelease(object), site);
    }
    0
}

/// # Safety
///
/// As `sem_getvalue`: `semaphore` points to a semaphore, `into` to room for a number.
unsafe extern "C" fn value(semaphore: *mut Semaphore, into: *mut c_int, frame: &Frame) -> c_int {
    outside_run!(sem_getvalue: fn(semaphore: *mut Semaphore, into: *mut c_int) -> c_int);
    let site = modules::site(frame.return_address);
    let op = Op::Load(find(semaphore, site));
    let count = poll(op, frame, site, Order::SeqCst, None).result;
    accesses::range(into as usize, size_of::<c_int>(), true, frame);
    // SAFETY: `into` points to room for a number, by this function's contract.
    unsafe { *into = count as c_int };
    0
}
