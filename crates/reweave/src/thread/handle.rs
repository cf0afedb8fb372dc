//! Handles of threads: of a check's and of real ones.

use super::parker_of;
use crate::rt;
use reweave_model::{Op, ThreadId as ModelId};
use std::{cell::Cell, fmt, sync::Arc, thread::Result};

/// As [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread(Who);

#[derive(Clone)]
enum Who {
    Std(std::thread::Thread),
    Check {
        /// The execution it belongs to.
        stamp: u32,
        id: ModelId,
        name: Option<Arc<str>>,
    },
}

/// As [`std::thread::ThreadId`]. The same in every execution for a thread that is created in the same order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(Number);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Number {
    Std(std::thread::ThreadId),
    Check(u32),
}

impl ThreadId {
    /// Its number in a check, in the order in which threads are created.
    #[doc(hidden)]
    pub fn number(self) -> Option<u32> {
        match self.0 {
            Number::Check(number) => Some(number),
            Number::Std(_) => None,
        }
    }
}

impl Thread {
    pub(crate) fn std(thread: std::thread::Thread) -> Thread {
        Thread(Who::Std(thread))
    }

    pub(crate) fn check(stamp: u32, id: ModelId, name: Option<Arc<str>>) -> Thread {
        Thread(Who::Check { stamp, id, name })
    }

    /// As [`std::thread::Thread::id`].
    pub fn id(&self) -> ThreadId {
        ThreadId(match &self.0 {
            Who::Std(thread) => Number::Std(thread.id()),
            Who::Check { id, .. } => Number::Check(id.0),
        })
    }

    /// As [`std::thread::Thread::name`].
    pub fn name(&self) -> Option<&str> {
        match &self.0 {
            Who::Std(thread) => thread.name(),
            Who::Check { id, name, .. } => match name {
                None if *id == ModelId::MAIN => Some("main"),
                name => name.as_deref(),
            },
        }
    }

    /// As [`std::thread::Thread::unpark`].
    #[track_caller]
    pub fn unpark(&self) {
        match &self.0 {
            Who::Std(thread) => thread.unpark(),
            Who::Check { stamp, id, .. } => {
                if !rt::active() {
                    rt::inert();
                    return;
                }
                let world = rt::task().expect("in a check").world();
                if *stamp == world.stamp.get() {
                    rt::op(Op::Unpark(parker_of(world, *id)));
                }
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// Where a thread leaves its result.
pub(super) struct Packet<T>(Cell<Option<Result<T>>>);

// SAFETY: the threads of a check share one OS thread: the cell is never used by two at once. The value moves from one of its threads to
// another, which `T: Send` allows.
unsafe impl<T: Send> Sync for Packet<T> {}
// SAFETY: what it holds moves from one thread to another with it, which `T: Send` allows.
unsafe impl<T: Send> Send for Packet<T> {}

impl<T> Packet<T> {
    pub(super) fn new() -> Arc<Packet<T>> {
        Arc::new(Packet(Cell::new(None)))
    }

    pub(super) fn put(&self, result: Result<T>) {
        self.0.set(Some(result));
    }

    pub(super) fn take(&self) -> Option<Result<T>> {
        self.0.take()
    }
}

/// As [`std::thread::JoinHandle`].
pub struct JoinHandle<T>(How<T>);

enum How<T> {
    Std(std::thread::JoinHandle<T>, Thread),
    Check(Thread, Arc<Packet<T>>),
}

impl<T> JoinHandle<T> {
    pub(super) fn std(handle: std::thread::JoinHandle<T>) -> JoinHandle<T> {
        let thread = Thread::std(handle.thread().clone());
        JoinHandle(How::Std(handle, thread))
    }

    pub(super) fn check(thread: Thread, packet: Arc<Packet<T>>) -> JoinHandle<T> {
        JoinHandle(How::Check(thread, packet))
    }

    /// As [`std::thread::JoinHandle::thread`].
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            How::Std(_, thread) | How::Check(thread, _) => thread,
        }
    }

    /// As [`std::thread::JoinHandle::join`].
    ///
    /// # Errors
    /// The payload of the panic that ended the thread.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            How::Std(handle, _) => handle.join(),
            How::Check(thread, packet) => {
                join(&thread);
                match packet.take() {
                    Some(result) => result,
                    None => rt::give_up(),
                }
            }
        }
    }

    /// As [`std::thread::JoinHandle::is_finished`]. In a check it is an event: a look at whether the thread has come to its end.
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            How::Std(handle, _) => handle.is_finished(),
            How::Check(thread, _) => finished(thread),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

/// Waits for the end of a thread of this check; from then on its panic is the program's business.
#[track_caller]
pub(super) fn join(thread: &Thread) {
    let Who::Check { stamp, id, .. } = thread.0 else {
        return;
    };
    if !rt::active() {
        rt::inert();
        return;
    }
    let world = rt::task().expect("in a check").world();
    assert!(
        stamp == world.stamp.get(),
        "a thread is joined in the execution that created it"
    );
    rt::op(Op::Join(id));
    if let Ok(mut threads) = world.threads.try_borrow_mut() {
        threads[id.index()].joined = true;
    }
}

#[inline(always)]
#[track_caller]
pub(super) fn finished(thread: &Thread) -> bool {
    let Who::Check { stamp, id, .. } = thread.0 else {
        return false;
    };
    if !rt::active() {
        rt::inert();
        return true;
    }
    let world = rt::task().expect("in a check").world();
    stamp != world.stamp.get() || rt::ended(world, id)
}
