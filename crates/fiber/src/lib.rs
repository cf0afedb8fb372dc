//! Fibers that are threads to everything but the kernel.
//!
//! *Decides:* how a job gets a stack and a thread's identity of its own while all jobs of a [`Pool`] take turns on one OS
//! thread. A real `std` thread is created once for each fiber and parked; the job then runs on that thread's stack, with that
//! thread's TLS (the fs base), on the OS thread that owns the pool. So `thread_local!`s, [`std::thread::current`],
//! [`std::thread::panicking`], `errno` and malloc's caches are each fiber's own, and the guard page is a real one.
//!
//! *Called by:* the engine that runs a program's threads. It resumes one [`Fiber`] at a time; the job comes back with
//! [`suspend`].
//!
//! *Owns:* the parked threads and, once for the process, a SIGSEGV and SIGBUS handler (`trap`).
//!
//! *Invariants.*
//! 1. A pool, its fibers and what their jobs touch stay on one OS thread (`!Send`): jobs of a pool never run in parallel, not
//!    even while their thread-locals are destroyed.
//! 2. A logical thread, fiber or resumer, sees one fs base for all its life. Only `Strand::enter` runs with a foreign one, and
//!    it touches no thread-local: a compiler that keeps a thread-local's address across a switch is right to do so.
//! 3. A parked thread neither runs nor takes a signal while its fiber may run.
//!
//! *Call path:* [`Pool::spawn`] takes a `Strand` (coroutine and parked thread) from the idle list; [`Fiber::resume`] enters it;
//! its body, a loop, takes the job and runs it; [`suspend`] finds the strand's `Core` through a thread-local and switches back.
//!
//! *Limits.*
//! 1. A fiber is reused with the thread-locals that earlier jobs left in it, as a thread of a thread pool is.
//! 2. A libc lock held across [`suspend`] (`flockfile`, `StdoutLock`) hangs the next fiber that wants it. A fiber that
//!    overflowed, crashed or was leaked keeps what it held.
//! 3. `setuid` and its kin signal every thread of the process past any mask: no fiber may be suspended then.
//! 4. `sched_getcpu` answers for the parked thread, as does anything else built on rseq.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "reweave-fiber needs Linux on x86-64: fibers borrow a thread's TLS through the fs base"
);

mod current;
mod fiber;
mod machine;
mod parked;
mod pool;
mod strand;
mod trap;

pub use self::{
    current::{on_fiber, suspend, unwinding},
    fiber::{Fiber, Resumed, Unwound},
    pool::Pool,
};
