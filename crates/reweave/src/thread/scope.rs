//! Scoped threads.
//!
//! A scope of a check waits for its threads by joining each that was not joined. Threads of an execution that is given up are unwound
//! children first, so they never outlive what they borrow.

use super::{
    Builder, Thread,
    handle::{Packet, finished, join},
};
use crate::rt;
use std::{
    cell::{Cell, RefCell},
    fmt, io,
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    ptr,
    rc::Rc,
    sync::Arc,
    thread::Result,
};

/// As [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    how: How,
    env: PhantomData<&'env mut &'env ()>,
    scope: PhantomData<&'scope mut &'scope ()>,
}

enum How {
    /// Set once, before the program sees the scope.
    Std(OneThread<Cell<*const StdScope>>),
    Check(OneThread<Children>),
}

/// Std's scope, whatever its lifetimes.
type StdScope = std::thread::Scope<'static, 'static>;

/// The threads of a scope of a check.
#[derive(Default)]
struct Children(RefCell<Vec<Child>>);

struct Child {
    thread: Thread,
    state: Rc<ThreadEnd>,
}

#[derive(Default)]
struct ThreadEnd {
    joined: Cell<bool>,
    panicked: Cell<bool>,
}

/// As [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T>(Handle<'scope, T>);

enum Handle<'scope, T> {
    Std(std::thread::ScopedJoinHandle<'scope, T>, Thread),
    Check {
        thread: Thread,
        packet: Arc<Packet<T>>,
        state: OneThread<Rc<ThreadEnd>>,
        scope: PhantomData<&'scope ()>,
    },
}

/// What only threads of one check touch, or what does not change.
struct OneThread<T>(T);

// SAFETY: the threads of a check share one OS thread. Outside a check there is only the pointer to std's scope, which does not change.
unsafe impl<T> Send for OneThread<T> {}
// SAFETY: all threads of a check run on one OS thread, and outside a check the pointer inside never changes.
unsafe impl<T> Sync for OneThread<T> {}

/// As [`std::thread::scope`].
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = |how| Scope {
        how,
        env: PhantomData,
        scope: PhantomData,
    };
    if !rt::active() {
        let scope = scope(How::Std(OneThread(Cell::new(ptr::null()))));
        return std::thread::scope(|std| {
            if let How::Std(place) = &scope.how {
                place.0.set(ptr::from_ref(std).cast());
            }
            // SAFETY: the scope is outside of std's, which ends after all its threads have.
            f(unsafe { &*ptr::from_ref(&scope) })
        });
    }
    let scope = scope(How::Check(OneThread(Children::default())));
    // SAFETY: all threads that refer to the scope have ended before this function returns, or are unwound before this frame is.
    let result = catch_unwind(AssertUnwindSafe(|| f(unsafe { &*ptr::from_ref(&scope) })));
    let panicked = match &scope.how {
        How::Check(children) if rt::active() => children.0.wait(),
        _ => false,
    };
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(_) if panicked => panic!("a scoped thread panicked"),
        Ok(value) => value,
    }
}

impl Children {
    /// Waits for all that nobody joined, also for those that are created meanwhile. Whether one of them panicked.
    #[track_caller]
    fn wait(&self) -> bool {
        let mut panicked = false;
        let mut index = 0;
        loop {
            let child = match self.0.borrow().get(index) {
                Some(child) => (child.thread.clone(), child.state.clone()),
                None => return panicked,
            };
            index += 1;
            let (thread, state) = child;
            if !state.joined.get() {
                join(&thread);
                panicked |= state.panicked.get();
            }
        }
    }
}

impl<'scope> Scope<'scope, '_> {
    /// As [`std::thread::Scope::spawn`].
    ///
    /// # Panics
    /// If the system refuses another thread.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        self.spawn_with(Builder::new(), f)
            .expect("failed to spawn thread")
    }

    #[track_caller]
    pub(super) fn spawn_with<F, T>(
        &'scope self,
        builder: Builder,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        match &self.how {
            How::Std(std) => {
                // SAFETY: std's scope, set before this one was handed out, with the lifetime it has.
                let std = unsafe { &*std.0.get().cast::<std::thread::Scope<'scope, 'scope>>() };
                let handle = builder.std().spawn_scoped(std, f)?;
                let thread = Thread::std(handle.thread().clone());
                Ok(ScopedJoinHandle(Handle::Std(handle, thread)))
            }
            How::Check(children) => {
                let state = Rc::new(ThreadEnd::default());
                let theirs = OneThread(state.clone());
                let work = move || {
                    let theirs = theirs;
                    match catch_unwind(AssertUnwindSafe(f)) {
                        Ok(value) => value,
                        Err(payload) => {
                            theirs.0.panicked.set(true);
                            resume_unwind(payload)
                        }
                    }
                };
                // SAFETY: the scope waits for the thread before what it borrows is gone.
                let (thread, packet) = unsafe { builder.spawn_fiber(work) };
                children.0.0.borrow_mut().push(Child {
                    thread: thread.clone(),
                    state: state.clone(),
                });
                let state = OneThread(state);
                Ok(ScopedJoinHandle(Handle::Check {
                    thread,
                    packet,
                    state,
                    scope: PhantomData,
                }))
            }
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// As [`std::thread::ScopedJoinHandle::thread`].
    pub fn thread(&self) -> &Thread {
        match &self.0 {
            Handle::Std(_, thread) | Handle::Check { thread, .. } => thread,
        }
    }

    /// As [`std::thread::ScopedJoinHandle::join`].
    ///
    /// # Errors
    /// The payload of the panic that ended the thread.
    #[track_caller]
    pub fn join(self) -> Result<T> {
        match self.0 {
            Handle::Std(handle, _) => handle.join(),
            Handle::Check {
                thread,
                packet,
                state,
                ..
            } => {
                join(&thread);
                state.0.joined.set(true);
                packet.take().unwrap_or_else(|| rt::give_up())
            }
        }
    }

    /// As [`std::thread::ScopedJoinHandle::is_finished`]; see [`JoinHandle::is_finished`](super::JoinHandle::is_finished).
    #[inline(always)]
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        match &self.0 {
            Handle::Std(handle, _) => handle.is_finished(),
            Handle::Check { thread, .. } => finished(thread),
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
