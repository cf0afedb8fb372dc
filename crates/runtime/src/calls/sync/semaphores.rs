//! Semaphores.

use crate::{
    calls::{
        sync::sync_objects::Shape,
        threads::{attributes, cancellation},
        time::clocks::{self, Deadline, fail},
    },
    core::{
        objects::Sort,
        world::{self, perform, poll},
    },
    hooks::{Frame, accesses},
    kernel::waits::{self, Ended},
    real, trampoline,
};
use core::ffi::{c_int, c_uint};
use libc::{sem_t as Semaphore, timespec};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site};

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
    // SAFETY: the caller's.
    new: |words| unsafe { *words.add(1) == 0 },
    statically: false,
};

pub(crate) fn model(semaphore: *const Semaphore) -> Object {
    // SAFETY: the program says that a semaphore lies there.
    Object::Semaphore(u64::from(unsafe { *semaphore.cast::<u32>() }))
}

pub(crate) fn find(semaphore: *const Semaphore, site: Site) -> ObjectId {
    SHAPE.find(semaphore as usize, site, || model(semaphore))
}

unsafe extern "C" fn init(
    semaphore: *mut Semaphore,
    shared: c_int,
    count: c_uint,
    frame: &Frame,
) -> c_int {
    if shared != 0 && world::active() {
        attributes::shared(c"sem_init", world::get().site(frame.return_address));
    }
    let real = real!(sem_init: fn(*mut Semaphore, c_int, c_uint) -> c_int);
    // SAFETY: the program's own arguments.
    let result = unsafe { real(semaphore, shared, count) };
    if result == 0 {
        SHAPE.made(semaphore as usize, frame, || model(semaphore));
    }
    result
}

/// Whether somebody waits cannot be told from somebody who is about to: who still does afterwards is found to use what was destroyed.
unsafe extern "C" fn destroy(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sem_destroy: fn(*mut Semaphore) -> c_int)(semaphore) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(semaphore, site);
    SHAPE.destroyed(object, frame);
    0
}

fn step(op: Op, site: Site) -> world::Done {
    perform(op, Gate::Open, site, Order::SeqCst, None)
}

unsafe extern "C" fn wait(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sem_wait: fn(*mut Semaphore) -> c_int)(semaphore) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(semaphore, site);
    let timed = false;
    if waits::used() {
        return answer(waits::acquire(object, None, site));
    }
    step(Op::SemAcquire { object, timed }, site);
    0
}

/// What a wait returns that several things may have ended.
fn answer(ended: Ended) -> c_int {
    match ended {
        Ended::Woken => 0,
        Ended::Late => fail(libc::ETIMEDOUT),
        Ended::Cancelled => cancellation::go(),
    }
}

unsafe extern "C" fn try_wait(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sem_trywait: fn(*mut Semaphore) -> c_int)(semaphore) };
    }
    let site = world::get().site(frame.return_address);
    let op = Op::SemTryAcquire(find(semaphore, site));
    match poll(op, frame, site, Order::SeqCst, None).ok {
        true => 0,
        false => fail(libc::EAGAIN),
    }
}

unsafe extern "C" fn timed_wait(
    semaphore: *mut Semaphore,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(sem_timedwait: fn(*mut Semaphore, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(semaphore, until) };
    }
    wait_until(semaphore, Deadline::new(libc::CLOCK_REALTIME, until), frame)
}

unsafe extern "C" fn clock_wait(
    semaphore: *mut Semaphore,
    clock: libc::clockid_t,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real =
            real!(sem_clockwait: fn(*mut Semaphore, libc::clockid_t, *const timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(semaphore, clock, until) };
    }
    wait_until(semaphore, Deadline::new(clock, until), frame)
}

fn wait_until(semaphore: *mut Semaphore, until: Option<Deadline>, frame: &Frame) -> c_int {
    let site = world::get().site(frame.return_address);
    let object = find(semaphore, site);
    let Some(until) = until else {
        return fail(libc::EINVAL);
    };
    if waits::used() {
        return answer(waits::acquire(object, Some(until), site));
    }
    let timed = true;
    match clocks::perform_until(Op::SemAcquire { object, timed }, until, site).ok {
        true => 0,
        false => fail(libc::ETIMEDOUT),
    }
}

unsafe extern "C" fn post(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sem_post: fn(*mut Semaphore) -> c_int)(semaphore) };
    }
    let site = world::get().site(frame.return_address);
    let object = find(semaphore, site);
    if waits::used() {
        waits::release(object, site);
    } else {
        step(Op::SemRelease(object), site);
    }
    0
}

unsafe extern "C" fn value(semaphore: *mut Semaphore, into: *mut c_int, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(sem_getvalue: fn(*mut Semaphore, *mut c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(semaphore, into) };
    }
    let site = world::get().site(frame.return_address);
    let op = Op::Load(find(semaphore, site));
    let count = poll(op, frame, site, Order::SeqCst, None).result;
    accesses::range(into as usize, size_of::<c_int>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { *into = count as c_int };
    0
}
