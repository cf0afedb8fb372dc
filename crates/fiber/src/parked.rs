//! A real `std` thread that lends its TLS and its stack.
//!
//! *Decides:* how such a thread is made, parked and ended. *Called by:* `strand`, one a strand. *Owns:* the thread.
//!
//! *Invariants.* From the moment `Parked::new` returns until `Parked` is dropped the thread stays inside one system call,
//! with all signals blocked, and its stack below `ParkedStack::base` is unused. A `Parked` that is forgotten stays so for ever.

use std::arch::asm;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use corosensei::stack::{MIN_STACK_SIZE, STACK_ALIGNMENT, Stack, StackPointer};

use crate::{current, machine};

/// Room in the thread's mapping for what is not the fiber's: glibc's descriptor and static TLS, std's start-up frames.
const OWN_FRAMES_BYTES: usize = 16 << 10;

/// Distance between the parked frame and the fiber's first: the few calls that an unoptimised build makes around the futex.
const PARKED_FRAME_BYTES: usize = 1 << 10;

const STARTING: u32 = 0;
const PARKED: u32 = 1;
const ENDING: u32 = 2;

/// See the module.
pub(crate) struct Parked {
    seat: Arc<Seat>,
    /// `Some` until the drop.
    thread: Option<JoinHandle<()>>,
    stack: ParkedStack,
}

/// What the thread and its owner share.
struct Seat {
    /// STARTING, PARKED (set by the thread, with the two fields below), ENDING (set by the owner).
    state: AtomicU32,
    fs_base: AtomicUsize,
    stack_pointer: AtomicUsize,
}

/// The unused part of a parked thread's stack. Valid as long as its `Parked`.
#[derive(Clone)]
pub(crate) struct ParkedStack {
    base: StackPointer,
    limit: StackPointer,
    guard_end: usize,
}

impl Parked {
    /// # Panics
    /// If the system refuses another thread.
    pub(crate) fn new(stack_bytes: usize) -> Parked {
        let seat = Arc::new(Seat {
            state: AtomicU32::new(STARTING),
            fs_base: AtomicUsize::new(0),
            stack_pointer: AtomicUsize::new(0),
        });
        let theirs = seat.clone();
        let builder = Builder::new()
            .name("fiber".into())
            .stack_size(stack_bytes.max(MIN_STACK_SIZE) + OWN_FRAMES_BYTES);
        let thread = with_signals_blocked(|| builder.spawn(move || seat_body(&theirs)))
            .expect("a fiber needs a thread; raise the limit on threads (ulimit -u) or use fewer");
        while seat.state.load(Ordering::Acquire) == STARTING {
            machine::futex_wait(&seat.state, STARTING);
        }
        let stack = ParkedStack::below(seat.stack_pointer.load(Ordering::Relaxed), &thread);
        Parked {
            seat,
            thread: Some(thread),
            stack,
        }
    }

    #[inline]
    pub(crate) fn fs_base(&self) -> usize {
        self.seat.fs_base.load(Ordering::Relaxed)
    }

    pub(crate) fn stack(&self) -> ParkedStack {
        self.stack.clone()
    }
}

impl Drop for Parked {
    /// Ends the thread and waits for it. One at a time: its thread-locals' destructors may share unsynchronised data with
    /// those of other fibers, since jobs need not be `Send`.
    fn drop(&mut self) {
        self.seat.state.store(ENDING, Ordering::Release);
        machine::futex_wake(&self.seat.state);
        if let Some(thread) = self.thread.take() {
            // An error is a panic in a thread-local's destructor; std has reported it.
            let _ = thread.join();
        }
    }
}

impl ParkedStack {
    /// What is left below `stack_pointer` on the stack of `thread`.
    fn below(stack_pointer: usize, thread: &JoinHandle<()>) -> ParkedStack {
        let guard = guard_of(thread);
        let base = (stack_pointer - PARKED_FRAME_BYTES) & !(STACK_ALIGNMENT - 1);
        assert!(
            guard.len() >= MIN_STACK_SIZE && base - guard.end >= MIN_STACK_SIZE,
            "no guarded stack in a new thread"
        );
        let pointer = |address| StackPointer::new(address).expect("a stack is not at address 0");
        ParkedStack {
            base: pointer(base),
            limit: pointer(guard.start),
            guard_end: guard.end,
        }
    }

    pub(crate) fn guard(&self) -> Range<usize> {
        self.limit.get()..self.guard_end
    }
}

// SAFETY: `below` has checked the trait's conditions: a guard at the low end, MIN_STACK_SIZE bytes above it, alignment.
unsafe impl Stack for ParkedStack {
    #[inline]
    fn base(&self) -> StackPointer {
        self.base
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.limit
    }
}

/// All that the thread does. After PARKED is set its frames must not grow by PARKED_FRAME_BYTES, and nothing may touch a
/// thread-local: fiber code may already be running with them.
#[inline(never)]
fn seat_body(seat: &Seat) {
    let stack_pointer: usize;
    // SAFETY: only copies a register; memory, stack and flags stay as they are.
    unsafe {
        asm!("mov {}, rsp", out(reg) stack_pointer, options(nomem, nostack, preserves_flags))
    };
    seat.fs_base.store(machine::fs_base(), Ordering::Relaxed);
    seat.stack_pointer.store(stack_pointer, Ordering::Relaxed);
    seat.state.store(PARKED, Ordering::Release);
    machine::futex_wake(&seat.state);
    while seat.state.load(Ordering::Acquire) == PARKED {
        machine::futex_wait(&seat.state, PARKED);
    }
    current::leave();
}

/// The guard pages of a live thread: below the lowest usable byte since glibc 2.27.
fn guard_of(thread: &JoinHandle<()>) -> Range<usize> {
    let mut attributes = MaybeUninit::uninit();
    let (mut low, mut bytes, mut guard_bytes) = (std::ptr::null_mut(), 0, 0);
    // SAFETY: the thread is live; the attributes are initialised by the first call, read by the next two and then destroyed.
    unsafe {
        let result = libc::pthread_getattr_np(thread.as_pthread_t(), attributes.as_mut_ptr());
        assert_eq!(result, 0, "pthread_getattr_np");
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut bytes);
        libc::pthread_attr_getguardsize(attributes.as_ptr(), &mut guard_bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
    }
    low as usize - guard_bytes..low as usize
}

/// A new thread inherits the mask of its maker: there is no moment in which it takes a signal.
fn with_signals_blocked<T>(make: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: sigfillset initialises `all`; pthread_sigmask reads it and initialises `before`.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let made = make();
    // SAFETY: `before` was initialised above; no old mask is asked for.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    made
}
