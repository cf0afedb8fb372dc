//! Waiting on several objects: for a condition variable, a semaphore, signals or the end of a thread, and for a cancellation or a
//! deadline at the same time. Used by programs that cancel threads or ask whether they have ended.
//!
//! An operation of the model waits for one object. So a thread that waits is on a list, with a semaphore of its own. A thread that
//! signals, posts, ends or cancels goes through the list in a section that a hidden mutex protects, and wakes the threads that it
//! finds. What a section finds follows from the order of the sections alone. A thread that is cancelled stays on the list until it
//! acts on that: a signal that comes first still wakes it, a signal that comes later wakes another thread.
//!
//! Neither the mutex nor the semaphores are the program's: they order no memory ([`Sort::Quiet`]). Programs that name none of the
//! functions in [`NAMES`] do without all this.

use crate::{
    core::{
        cell::RunCell, families::Birth, objects::Sort, per_thread::PerThread, trampoline::Frame,
    },
    kernel::imported_names,
    run::{
        call_sites, cancellation,
        hidden_objects::Hidden,
        operations::{misuse, visible},
        perform::perform_timed,
        world::{self, World, poll},
    },
    shared::deadlines::{self, Deadline},
};
use alloc::{format, string::String, vec::Vec};
use core::ffi::CStr;
use reweave_model::{Object, ObjectId, Op, Order, Site, ThreadId};

/// A program that calls one of these names it for the loader.
const NAMES: [&CStr; 4] = [
    c"pthread_cancel",
    c"pthread_tryjoin_np",
    c"pthread_timedjoin_np",
    c"pthread_clockjoin_np",
];

/// Whether the program's waits are of this kind.
pub use crate::run::cancellation::used;

/// Looks at what the program's modules name.
pub fn prepare() {
    if imported_names::names_any(&NAMES) {
        cancellation::use_it();
    }
}

/// A new run.
pub(crate) fn begin_run() {
    WAITS.borrow().clear();
    PROGRESS.clear();
}

pub(crate) fn thread_begins(birth: &Birth) {
    PROGRESS.take_over(birth);
}

/// The list of the threads that wait.
static WAITS: RunCell<Vec<Wait>> = RunCell::new(Vec::new());

/// What a thread has to know when it is woken, and other threads of it.
#[derive(Default)]
struct Progress {
    /// It was woken because it is cancelled.
    cancelled: bool,
    ended: bool,
}

static PROGRESS: PerThread<Progress> = PerThread::new();

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Awaited {
    Object(ObjectId),
    EndOf(ThreadId),
}

/// A thread that waits.
#[derive(Clone, Copy)]
struct Wait {
    thread: ThreadId,
    awaited: Awaited,
    /// What the thread is woken by.
    semaphore: ObjectId,
    cancellable: bool,
    /// It was woken because it is cancelled.
    cancelled: bool,
    /// The mutex that a wait on a condition variable has released.
    mutex: Option<ObjectId>,
}

/// How a wait has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Woken,
    Late,
    Cancelled,
}

fn current() -> ThreadId {
    world::borrow().current
}

fn address_of(object: ObjectId) -> usize {
    world::borrow().about(object).address
}

fn enter(site: Site) {
    visible(Op::Lock(Hidden::Waits.object()), site);
}

fn leave(site: Site) {
    visible(Op::Unlock(Hidden::Waits.object()), site);
}

/// As [`enter`], to look for threads that wait for something, or to be one of them. A wait for the end of a thread takes a lock of
/// that thread, too, so that ends that no thread waits for are independent.
fn enter_for(awaited: Awaited, site: Site) {
    if let Awaited::EndOf(thread) = awaited {
        visible(Op::Lock(end_lock(thread)), site);
    }
    enter(site);
}

fn leave_for(awaited: Awaited, site: Site) {
    leave(site);
    if let Awaited::EndOf(thread) = awaited {
        visible(Op::Unlock(end_lock(thread)), site);
    }
}

/// Puts the running thread on the list; the semaphore that it is woken by.
fn enlist(awaited: Awaited, address: usize, mutex: Option<ObjectId>) -> ObjectId {
    let cancellable = cancellation::enabled();
    let mut world = world::borrow();
    let semaphore = world.make_quiet(address, Object::Semaphore(0));
    WAITS.borrow().push(Wait {
        thread: world.current,
        awaited,
        semaphore,
        cancellable,
        cancelled: false,
        mutex,
    });
    semaphore
}

/// Takes the nth thread off the list that waits for this, in creation order, and wakes it; whether there is one.
fn wake(awaited: Awaited, nth: usize, site: Site) -> bool {
    let wait = {
        let world = world::borrow();
        let state = world.run.state();
        let mut waits = WAITS.borrow();
        let mut found: Vec<usize> = (0..waits.len())
            .filter(|index| waits[*index].awaited == awaited)
            .collect();
        found.sort_by_key(|index| state.path(waits[*index].thread));
        let Some(index) = found.get(nth) else {
            return false;
        };
        waits.remove(*index)
    };
    if !wait.cancelled {
        visible(Op::SemRelease(wait.semaphore), site);
    }
    true
}

fn wake_all(awaited: Awaited, site: Site) {
    while wake(awaited, 0, site) {}
}

/// Waits, outside of a section, to be woken or until a deadline. Which waits timed out the last time is known by the object `key`.
fn block(
    awaited: Awaited,
    semaphore: ObjectId,
    until: Option<Deadline<'_>>,
    key: ObjectId,
    site: Site,
) -> Ended {
    let acquire = |timed| Op::SemAcquire {
        object: semaphore,
        timed,
    };
    let Some(until) = until else {
        visible(acquire(false), site);
        return woken(awaited, semaphore, site);
    };
    let key = Op::Load(key);
    let gate = deadlines::gate(key, until, site);
    let mut ok = perform_timed(acquire(true), key, gate, site).ok;
    if !ok && !withdraw(awaited, semaphore, site) {
        // Another thread was about to wake it.
        ok = visible(acquire(false), site).ok;
    }
    world::borrow().timed(key, site, ok);
    if ok {
        return woken(awaited, semaphore, site);
    }
    PROGRESS.with(current(), |own| own.cancelled = false);
    until.reached();
    Ended::Late
}

/// Takes the running thread off the list; whether it was still there.
fn withdraw(awaited: Awaited, semaphore: ObjectId, site: Site) -> bool {
    enter_for(awaited, site);
    let listed = {
        let mut waits = WAITS.borrow();
        let place = waits.iter().position(|wait| wait.semaphore == semaphore);
        place.map(|place| waits.remove(place)).is_some()
    };
    leave_for(awaited, site);
    listed
}

/// The running thread was woken; by which thread is settled, since that one released its semaphore.
fn woken(awaited: Awaited, semaphore: ObjectId, site: Site) -> Ended {
    let cancelled = PROGRESS.with(current(), |own| core::mem::take(&mut own.cancelled));
    if !cancelled || !withdraw(awaited, semaphore, site) {
        return Ended::Woken;
    }
    // The cancellation is ordered before what is done about it.
    cancellation::asked(site);
    Ended::Cancelled
}

/// How many threads wait for an object.
pub fn waiting(object: ObjectId) -> usize {
    let waits = WAITS.borrow();
    let waiting = waits.iter();
    waiting
        .filter(|wait| wait.awaited == Awaited::Object(object))
        .count()
}

/// Waits on a condition variable. The mutex is held afterwards, however the wait ends.
pub fn on_condvar(
    condvar: ObjectId,
    mutex: ObjectId,
    until: Option<Deadline<'_>>,
    site: Site,
) -> Ended {
    let address = address_of(condvar);
    enter(site);
    if cancellation::asked(site) {
        leave(site);
        return Ended::Cancelled;
    }
    let awaited = Awaited::Object(condvar);
    let differs = |wait: &Wait| wait.awaited == awaited && wait.mutex != Some(mutex);
    let differ = WAITS.borrow().iter().any(differs);
    let semaphore = enlist(awaited, address, Some(mutex));
    visible(Op::Unlock(mutex), site);
    leave(site);
    if differ {
        misuse(
            "wait-with-two-mutexes",
            "two threads wait on {0} with different mutexes",
            address,
            site,
        );
    }
    let ended = block(awaited, semaphore, until, condvar, site);
    visible(Op::Lock(mutex), site);
    ended
}

/// Wakes one of the threads that wait on a condition variable, any of them.
pub fn signal(condvar: ObjectId, site: Site) {
    enter(site);
    let nth = match waiting(condvar) {
        0 | 1 => 0,
        several => visible(Op::Any(several as u32), site).result as usize,
    };
    wake(Awaited::Object(condvar), nth, site);
    leave(site);
}

/// Wakes all threads that wait on a condition variable.
pub fn broadcast(condvar: ObjectId, site: Site) {
    enter(site);
    wake_all(Awaited::Object(condvar), site);
    leave(site);
}

/// Waits for a semaphore.
pub fn acquire(object: ObjectId, until: Option<Deadline<'_>>, site: Site) -> Ended {
    let ready = || visible(Op::SemTryAcquire(object), site).ok;
    let address = address_of(object);
    wait(Awaited::Object(object), address, object, ready, until, site)
}

/// Increments a semaphore. Any thread that waits for it or tries to take it may get it.
pub fn release(object: ObjectId, site: Site) {
    let count_up = || {
        visible(Op::SemRelease(object), site);
    };
    post(object, count_up, site);
}

/// Waits for signals. A thread that sends them does so in [`post`].
pub fn for_signals(
    token: ObjectId,
    ready: impl Fn() -> bool,
    until: Option<Deadline<'_>>,
    site: Site,
) -> Ended {
    let address = address_of(token);
    wait(Awaited::Object(token), address, token, ready, until, site)
}

/// Waits until an attempt succeeds; one that fails changes nothing. A thread that makes the next one succeed does so in [`post`].
pub fn until_done(object: ObjectId, attempt: impl Fn() -> bool, site: Site) -> Ended {
    let address = address_of(object);
    wait(
        Awaited::Object(object),
        address,
        object,
        attempt,
        None,
        site,
    )
}

/// Does something that threads may wait for, and wakes those that wait for the object.
pub fn post(object: ObjectId, act: impl FnOnce(), site: Site) {
    enter(site);
    act();
    // What follows is nothing that the program has left to do: the thread that is woken may end the process.
    let acted = world::borrow().me().acted;
    wake_all(Awaited::Object(object), site);
    leave(site);
    world::borrow().me().acted = acted;
}

/// Waits for the end of a thread.
pub fn end_of(thread: ThreadId, until: Option<Deadline<'_>>, site: Site) -> Ended {
    let key = cancellation::flag(thread);
    let address = address_of(key) + NEWS;
    let ready = || PROGRESS.with(thread, |progress| progress.ended);
    wait(Awaited::EndOf(thread), address, key, ready, until, site)
}

/// Whether a thread has ended. A loop around this waits for that.
pub fn has_ended(thread: ThreadId, frame: &Frame) -> bool {
    let site = call_sites::site(&frame.return_address);
    poll(Op::Load(end_flag(thread)), frame, site, Order::SeqCst, None).result == 1
}

/// Whether a thread has ended: an atomic beside [`cancellation::flag`].
fn end_flag(thread: ThreadId) -> ObjectId {
    let mut world = world::borrow();
    let address = world.threads[thread.index()].handle + ENDED;
    world.object(address, 8, Sort::Quiet, || Object::Atomic(0))
}

/// See [`enter_for`].
fn end_lock(thread: ThreadId) -> ObjectId {
    let mut world = world::borrow();
    let address = world.threads[thread.index()].handle + END;
    world.object(address, 8, Sort::Quiet, Object::mutex)
}

/// Objects that are about a thread go by addresses so far behind its handle.
const ENDED: usize = 8;
const END: usize = 16;
const NEWS: usize = 24;

/// The name of such an object.
pub fn named(world: &World, address: usize) -> Option<String> {
    if address == Hidden::Waits.address() {
        return Some("the list of who waits".into());
    }
    let mut threads = world.threads.iter().zip(&world.run.execution().threads);
    let at = |handle: usize| (handle..=handle + NEWS).contains(&address);
    let (thread, known) = threads.find(|(thread, _)| used() && at(thread.handle))?;
    let path = known.path.iter();
    let path = path.fold(String::from("main"), |path, step| format!("{path}.{step}"));
    match address - thread.handle {
        0 => Some(format!("the cancellation of {path}")),
        ENDED => Some(format!("whether {path} has ended")),
        END => Some(format!("the end of {path}")),
        NEWS => Some(format!("news of the end of {path}")),
        _ => None,
    }
}

/// The running thread is at its end. What is done here is nothing that the program has left to do.
pub fn end() {
    if !used() {
        return;
    }
    let (me, site, acted) = {
        let mut world = world::borrow();
        let current = world.current;
        let thread = world.me();
        (current, Site(thread.created), thread.acted)
    };
    visible(Op::Lock(end_lock(me)), site);
    PROGRESS.with(me, |own| own.ended = true);
    visible(Op::Store(end_flag(me), 1), site);
    let awaited = |wait: &Wait| wait.awaited == Awaited::EndOf(me);
    let is_awaited = WAITS.borrow().iter().any(awaited);
    if is_awaited {
        enter(site);
        wake_all(Awaited::EndOf(me), site);
        leave(site);
    }
    visible(Op::Unlock(end_lock(me)), site);
    world::borrow().me().acted = acted;
}

/// Waits until `ready`, which is asked in a section.
fn wait(
    awaited: Awaited,
    address: usize,
    key: ObjectId,
    ready: impl Fn() -> bool,
    until: Option<Deadline<'_>>,
    site: Site,
) -> Ended {
    // What was waited for goes before a cancellation, once it was waited for.
    let mut again = false;
    loop {
        enter_for(awaited, site);
        let cancelled = !again && cancellation::asked(site);
        if !cancelled && ready() {
            leave_for(awaited, site);
            return Ended::Woken;
        }
        if cancelled || again && cancellation::asked(site) {
            leave_for(awaited, site);
            return Ended::Cancelled;
        }
        again = true;
        let semaphore = enlist(awaited, address, None);
        leave_for(awaited, site);
        match block(awaited, semaphore, until, key, site) {
            Ended::Woken => {}
            ended => return ended,
        }
    }
}

/// Cancels a thread: if it waits, it is woken for that.
pub fn cancel(thread: ThreadId, site: Site) {
    enter(site);
    visible(Op::Store(cancellation::flag(thread), 1), site);
    let fits = |wait: &&mut Wait| wait.thread == thread && wait.cancellable && !wait.cancelled;
    let semaphore = {
        let mut waits = WAITS.borrow();
        let wait = waits.iter_mut().find(fits);
        wait.map(|wait| {
            wait.cancelled = true;
            wait.semaphore
        })
    };
    if let Some(semaphore) = semaphore {
        PROGRESS.with(thread, |progress| progress.cancelled = true);
        visible(Op::SemRelease(semaphore), site);
    }
    leave(site);
}
