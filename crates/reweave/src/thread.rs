//! Threads, by the names and signatures of [`std::thread`].
//!
//! In a check a thread is a fiber of the check's worker; outside, a real one. Starting and ending are no events: a thread begins to
//! run at once up to its first operation, which nobody can notice, and its end is noticed by joins only.

mod handle;
mod local;
mod scope;

pub use self::{
    handle::{JoinHandle, Thread, ThreadId},
    local::{AccessError, LocalKey},
    scope::{Scope, ScopedJoinHandle, scope},
};
pub use std::thread::{Result, available_parallelism, panicking};

use crate::{
    rt::{self, poll::Frame},
    time,
};
use handle::Packet;
use reweave_model::{Object, Op};
use std::{
    io,
    panic::{AssertUnwindSafe, Location, catch_unwind},
    sync::Arc,
    time::Duration,
};

/// As [`std::thread::spawn`].
///
/// # Panics
/// If the system refuses another thread.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// As [`std::thread::Builder`]. In a check the stack size is the check's, not what was asked for.
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: Option<usize>,
}

impl Builder {
    /// As [`std::thread::Builder::new`].
    pub fn new() -> Builder {
        Builder::default()
    }

    /// As [`std::thread::Builder::name`].
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// As [`std::thread::Builder::stack_size`].
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = Some(size);
        self
    }

    /// As [`std::thread::Builder::spawn`].
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        if !rt::active() {
            return self.std().spawn(f).map(JoinHandle::std);
        }
        // SAFETY: what the thread refers to lives for ever.
        let (thread, packet) = unsafe { self.spawn_fiber(f) };
        Ok(JoinHandle::check(thread, packet))
    }

    /// As [`std::thread::Builder::spawn_scoped`].
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        scope.spawn_with(self, f)
    }

    fn std(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    /// # Safety
    /// What `f` refers to must live until the thread has ended. In a check, threads that are given up are unwound before those that created
    /// them.
    #[track_caller]
    unsafe fn spawn_fiber<'a, F, T>(self, f: F) -> (Thread, Arc<Packet<T>>)
    where
        F: FnOnce() -> T + 'a,
        T: 'a,
    {
        let world = rt::task().expect("in a check").world();
        let name: Option<Arc<str>> = self.name.map(Into::into);
        let id = reserve(name.clone(), Location::caller());
        let packet = Packet::new();
        let (theirs, place) = (packet.clone(), std::ptr::from_ref(world));
        let work = move || match catch_unwind(AssertUnwindSafe(f)) {
            Ok(value) => {
                theirs.put(Ok(value));
                None
            }
            Err(payload) => {
                rt::died(&*payload);
                theirs.put(Err(payload));
                None
            }
        };
        // SAFETY: the world outlives its fibers.
        let life: Box<dyn FnOnce() + 'a> = Box::new(move || rt::live(unsafe { &*place }, id, work));
        // SAFETY: only the lifetime changes; the caller answers for it.
        let job = unsafe { std::mem::transmute::<Box<dyn FnOnce() + 'a>, Box<dyn FnOnce()>>(life) };
        world.start(id, job);
        (Thread::check(world.stamp.get(), id, name), packet)
    }
}

/// A thread of the check that the running one creates at this place, to be started in the world.
pub(crate) fn reserve(
    name: Option<Arc<str>>,
    place: &'static Location<'static>,
) -> reweave_model::ThreadId {
    let task = rt::task().expect("in a check");
    rt::before_spawn();
    task.world().spawn(task.thread, name, place)
}

/// As [`std::thread::current`].
pub fn current() -> Thread {
    match rt::task() {
        None => Thread::std(std::thread::current()),
        Some(task) => {
            if task.silent_falls.get() > 0 {
                rt::arcs::visible(task);
            }
            let world = task.world();
            let name = world.threads.borrow()[task.thread.index()].name.clone();
            Thread::check(world.stamp.get(), task.thread, name)
        }
    }
}

/// As [`std::thread::yield_now`]. In a check it is no event, only a hint that this may be a loop that waits for others.
#[track_caller]
pub fn yield_now() {
    if rt::active() {
        rt::pause();
    } else if !rt::inert() {
        std::thread::yield_now();
    }
}

/// As [`std::thread::sleep`]. In a check it takes no time and orders nothing: the thread's own clock goes forward.
#[track_caller]
pub fn sleep(duration: Duration) {
    if rt::active() {
        time::advance(duration);
        rt::pause();
    } else if !rt::inert() {
        std::thread::sleep(duration);
    }
}

/// As [`std::thread::park`]. In a check it never wakes up by itself.
#[track_caller]
pub fn park() {
    if rt::active() {
        let object = parker();
        rt::op(Op::Park {
            object,
            timed: false,
        });
    } else if !rt::inert() {
        std::thread::park();
    }
}

/// As [`std::thread::park_timeout`].
#[inline(always)]
#[track_caller]
pub fn park_timeout(duration: Duration) {
    let frame = Frame::here();
    park_timeout_at(duration, &frame);
}

#[inline(never)]
#[track_caller]
fn park_timeout_at(duration: Duration, frame: &Frame) {
    if rt::active() {
        let object = parker();
        let timed = true;
        let event = rt::op_timed(Op::Park { object, timed }, frame);
        if !event.ok {
            time::advance(duration);
        }
    } else if !rt::inert() {
        std::thread::park_timeout(duration);
    }
}

/// The running thread's parking token.
fn parker() -> reweave_model::ObjectId {
    let task = rt::task().expect("in a check");
    parker_of(task.world(), task.thread)
}

fn parker_of(world: &rt::World, thread: reweave_model::ThreadId) -> reweave_model::ObjectId {
    world.threads.borrow()[thread.index()]
        .parker
        .id(|| Object::Parker(false))
}
