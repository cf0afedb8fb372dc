//! Waits that several things may end, in programs that cancel threads or ask whether they have ended.
//!
//! An operation of the model waits for one object. Here threads that wait are on a list, each with a semaphore of its own: whoever signals, posts, ends
//! or cancels looks at the list, in a section that a hidden mutex protects, and wakes whom it finds there. What a section finds follows from the
//! order of sections alone. A thread that is cancelled stays on the list until it acts on that: a signal that comes first still wakes it, one that
//! comes later is another thread's.
//!
//! Neither the mutex nor the semaphores are the program's: they order no memory ([`Sort::Quiet`]). Programs that name none of the
//! functions in [`NAMES`] do without all this.

use crate::{
    core::{
        call_sites, cancellation,
        deadlines::Deadline,
        hidden_objects::Hidden,
        objects::Sort,
        operations::{misuse, visible},
        world::{self, World, perform, poll},
    },
    hooks::Frame,
};
use alloc::{format, string::String, vec::Vec};
use core::ffi::{CStr, c_int, c_void};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Site, ThreadId};

/// A program that calls one of these has their names among its strings for the loader.
const NAMES: [&CStr; 4] = [
    c"pthread_cancel",
    c"pthread_tryjoin_np",
    c"pthread_timedjoin_np",
    c"pthread_clockjoin_np",
];

/// Whether the program's waits are of this kind.
pub use crate::core::cancellation::used;

/// Of a run.
#[derive(Default)]
pub struct State {
    waits: Vec<Wait>,
}

impl State {
    pub fn clear(&mut self) {
        self.waits.clear();
    }
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// It was woken because it is cancelled.
    cancelled: bool,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Object(ObjectId),
    EndOf(ThreadId),
}

struct Wait {
    thread: ThreadId,
    what: What,
    /// What the thread is woken by.
    semaphore: ObjectId,
    cancellable: bool,
    /// It is woken already.
    cancelled: bool,
    /// What a wait on a condition variable gave up.
    mutex: Option<ObjectId>,
}

/// How a wait has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Woken,
    Late,
    Cancelled,
}

fn waits() -> &'static mut Vec<Wait> {
    &mut world::get().calls.waits.waits
}

fn enter(site: Site) {
    visible(Op::Lock(Hidden::Waits.object()), site);
}

fn leave(site: Site) {
    visible(Op::Unlock(Hidden::Waits.object()), site);
}

/// As [`enter`], to look for those who wait for something, or to be one of them. Who waits for the end of a thread is on the list under a lock of that
/// thread's too, so that ends that nobody waits for do not meet.
fn enter_for(what: What, site: Site) {
    if let What::EndOf(thread) = what {
        visible(Op::Lock(end_lock(thread)), site);
    }
    enter(site);
}

fn leave_for(what: What, site: Site) {
    leave(site);
    if let What::EndOf(thread) = what {
        visible(Op::Unlock(end_lock(thread)), site);
    }
}

/// Puts the running thread on the list; what it is to wait for.
fn enlist(what: What, address: usize, mutex: Option<ObjectId>) -> ObjectId {
    let world = world::get();
    let semaphore = world.make_quiet(address, Object::Semaphore(0));
    let wait = Wait {
        thread: world.current,
        what,
        semaphore,
        cancellable: cancellation::enabled(),
        cancelled: false,
        mutex,
    };
    waits().push(wait);
    semaphore
}

/// Takes the first one off the list that fits, in creation order, and wakes it.
fn wake(fits: impl Fn(&Wait) -> bool, nth: usize, site: Site) -> Option<ThreadId> {
    let state = world::get().run.state();
    let mut found: Vec<usize> = (0..waits().len())
        .filter(|index| fits(&waits()[*index]))
        .collect();
    found.sort_by_key(|index| state.path(waits()[*index].thread));
    let wait = waits().remove(*found.get(nth)?);
    if !wait.cancelled {
        visible(Op::SemRelease(wait.semaphore), site);
    }
    Some(wait.thread)
}

fn wake_all(what: What, site: Site) {
    while wake(|wait| wait.what == what, 0, site).is_some() {}
}

/// Waits, outside of a section, to be woken or until some time. What timed out the last time is known by an object.
fn block(
    what: What,
    semaphore: ObjectId,
    until: Option<Deadline>,
    key: ObjectId,
    site: Site,
) -> Ended {
    let acquire = |timed, gate| {
        let object = semaphore;
        let op = Op::SemAcquire { object, timed };
        perform(op, gate, site, Order::SeqCst, None).ok
    };
    let Some(until) = until else {
        acquire(false, Gate::Open);
        return woken(what, semaphore, site);
    };
    let gate = world::get().timed_gate(Op::Load(key));
    let mut ok = acquire(true, gate);
    if !ok && !withdraw(what, semaphore, site) {
        // Somebody was about to wake it.
        ok = acquire(false, Gate::Open);
    }
    world::get().timed(Op::Load(key), ok);
    if ok {
        return woken(what, semaphore, site);
    }
    world::get().me().own_calls.waits.cancelled = false;
    until.reached();
    Ended::Late
}

/// Takes the running thread off the list; whether it was still there.
fn withdraw(what: What, semaphore: ObjectId, site: Site) -> bool {
    enter_for(what, site);
    let place = waits().iter().position(|wait| wait.semaphore == semaphore);
    if let Some(place) = place {
        waits().remove(place);
    }
    leave_for(what, site);
    place.is_some()
}

/// The running thread was woken: by whom is settled, since that one released its semaphore.
fn woken(what: What, semaphore: ObjectId, site: Site) -> Ended {
    let own = &mut world::get().me().own_calls.waits;
    if !core::mem::take(&mut own.cancelled) || !withdraw(what, semaphore, site) {
        return Ended::Woken;
    }
    // Who cancels comes before what is done about it.
    cancellation::asked(site);
    Ended::Cancelled
}

/// How many threads wait for an object.
pub fn waiting(object: ObjectId) -> usize {
    let waits = waits().iter();
    waits
        .filter(|wait| wait.what == What::Object(object))
        .count()
}

/// Waits on a condition variable. The mutex is held when it ends, however it does.
pub fn on_condvar(
    condvar: ObjectId,
    mutex: ObjectId,
    until: Option<Deadline>,
    site: Site,
) -> Ended {
    let address = world::get().about(condvar).address;
    enter(site);
    if cancellation::asked(site) {
        leave(site);
        return Ended::Cancelled;
    }
    let what = What::Object(condvar);
    let differs = |wait: &Wait| wait.what == what && wait.mutex != Some(mutex);
    let differ = waits().iter().any(differs);
    let semaphore = enlist(what, address, Some(mutex));
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
    let ended = block(what, semaphore, until, condvar, site);
    visible(Op::Lock(mutex), site);
    ended
}

/// Wakes one of those who wait on a condition variable, any of them.
pub fn signal(condvar: ObjectId, site: Site) {
    enter(site);
    let nth = match waiting(condvar) {
        0 | 1 => 0,
        several => visible(Op::Any(several as u32), site).result as usize,
    };
    wake(|wait| wait.what == What::Object(condvar), nth, site);
    leave(site);
}

/// Wakes all who wait on a condition variable.
pub fn broadcast(condvar: ObjectId, site: Site) {
    enter(site);
    wake_all(What::Object(condvar), site);
    leave(site);
}

/// Waits for a semaphore.
pub fn acquire(object: ObjectId, until: Option<Deadline>, site: Site) -> Ended {
    let address = world::get().about(object).address;
    let ready = || visible(Op::SemTryAcquire(object), site).ok;
    wait(What::Object(object), address, object, ready, until, site)
}

/// Counts a semaphore up. Of those who wait for it, and of those who come by, any one takes what there is.
pub fn release(object: ObjectId, site: Site) {
    let count_up = || {
        visible(Op::SemRelease(object), site);
    };
    post(object, count_up, site);
}

/// Waits for signals. Who sends them does so in [`post`].
pub fn for_signals(
    token: ObjectId,
    ready: impl Fn() -> bool,
    until: Option<Deadline>,
    site: Site,
) -> Ended {
    let address = world::get().about(token).address;
    wait(What::Object(token), address, token, ready, until, site)
}

/// Does something that those may wait for who wait for an object.
pub fn post(object: ObjectId, act: impl FnOnce(), site: Site) {
    enter(site);
    act();
    wake_all(What::Object(object), site);
    leave(site);
}

/// Waits for the end of a thread.
pub fn end_of(thread: ThreadId, until: Option<Deadline>, site: Site) -> Ended {
    let key = cancellation::flag(thread);
    let address = world::get().about(key).address + NEWS;
    let ready = || own_of(thread).ended;
    wait(What::EndOf(thread), address, key, ready, until, site)
}

/// Whether a thread has ended. A loop around this waits for that.
pub fn has_ended(thread: ThreadId, frame: &Frame) -> bool {
    let site = call_sites::site(&frame.return_address);
    poll(Op::Load(end_flag(thread)), frame, site, Order::SeqCst, None).result == 1
}

/// Whether a thread has ended: an atomic of its own, beside [`cancellation::flag`].
fn end_flag(thread: ThreadId) -> ObjectId {
    let world = world::get();
    let address = world.threads[thread.index()].handle + ENDED;
    world.object(address, 8, Sort::Quiet, || Object::Atomic(0))
}

/// See [`enter_for`].
fn end_lock(thread: ThreadId) -> ObjectId {
    let world = world::get();
    let address = world.threads[thread.index()].handle + END;
    world.object(address, 8, Sort::Quiet, Object::mutex)
}

/// Where objects that are about a thread go by: so far behind its handle.
const ENDED: usize = 8;
const END: usize = 16;
const NEWS: usize = 24;

/// What people call such an object.
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
    if used() {
        let world = world::get();
        let me = world.current;
        let site = Site(world.me().created);
        let acted = world.me().acted;
        visible(Op::Lock(end_lock(me)), site);
        own_of(me).ended = true;
        visible(Op::Store(end_flag(me), 1), site);
        if waits().iter().any(|wait| wait.what == What::EndOf(me)) {
            enter(site);
            wake_all(What::EndOf(me), site);
            leave(site);
        }
        visible(Op::Unlock(end_lock(me)), site);
        world::get().me().acted = acted;
    }
}

fn own_of(thread: ThreadId) -> &'static mut Own {
    &mut world::get().threads[thread.index()].own_calls.waits
}

fn wait(
    what: What,
    address: usize,
    key: ObjectId,
    ready: impl Fn() -> bool,
    until: Option<Deadline>,
    site: Site,
) -> Ended {
    // What was waited for goes before a cancellation, once it was waited for.
    let mut again = false;
    loop {
        enter_for(what, site);
        let cancelled = !again && cancellation::asked(site);
        if !cancelled && ready() {
            leave_for(what, site);
            return Ended::Woken;
        }
        if cancelled || again && cancellation::asked(site) {
            leave_for(what, site);
            return Ended::Cancelled;
        }
        again = true;
        let semaphore = enlist(what, address, None);
        leave_for(what, site);
        match block(what, semaphore, until, key, site) {
            Ended::Woken => {}
            ended => return ended,
        }
    }
}

/// A thread is asked to go: if it waits, it is woken for that.
pub fn cancel(thread: ThreadId, site: Site) {
    enter(site);
    visible(Op::Store(cancellation::flag(thread), 1), site);
    let fits = |wait: &&mut Wait| wait.thread == thread && wait.cancellable && !wait.cancelled;
    if let Some(wait) = waits().iter_mut().find(fits) {
        wait.cancelled = true;
        own_of(thread).cancelled = true;
        visible(Op::SemRelease(wait.semaphore), site);
    }
    leave(site);
}

/// Looks at what the program's modules name.
pub fn prepare() {
    unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry.
        let info = unsafe { &*info };
        if crate::core::modules::is_library(info.dlpi_addr as usize) {
            return 0;
        }
        // SAFETY: as above; the module is loaded.
        let strings = unsafe { strings(info) };
        let mut names = strings.split(|byte| *byte == 0);
        let known = |name: &[u8]| NAMES.iter().any(|known| known.to_bytes() == name);
        if names.any(known) {
            cancellation::use_it();
        }
        0
    }
    // SAFETY: `look` has the type that is asked for.
    unsafe { libc::dl_iterate_phdr(Some(look), core::ptr::null_mut()) };
}

/// The names that a loaded module has for the loader.
unsafe fn strings(info: &libc::dl_phdr_info) -> &[u8] {
    const END: u64 = 0;
    const STRINGS: u64 = 5;
    const STRINGS_BYTES: u64 = 10;
    let base = info.dlpi_addr;
    // SAFETY: a loaded module has these tables, and they stay.
    unsafe {
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        let mut dynamic = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_DYNAMIC);
        let Some(dynamic) = dynamic.next() else {
            return &[];
        };
        let mut entry = (base + dynamic.p_vaddr) as *const [u64; 2];
        let (mut place, mut bytes) = (0, 0);
        while (*entry)[0] != END {
            match *entry {
                [STRINGS, value] => place = value,
                [STRINGS_BYTES, value] => bytes = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if place == 0 {
            return &[];
        }
        // The loader makes an address of it where it can.
        let place = if place < base { base + place } else { place };
        core::slice::from_raw_parts(place as *const u8, bytes as usize)
    }
}
