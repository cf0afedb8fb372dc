//! Where a debugger stops.
//!
//! It sets a breakpoint on [`reweave_stop`] and says in [`reweave_stop_at`] at which step that is to be called; it is also called at every error
//! and at the end of the run. Threads have their names for the kernel too, as a debugger shows them.

use crate::{
    core::{channel, sys},
    run::world::{Outcome, World},
};
use alloc::format;
use core::{
    ffi::CStr,
    sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering},
};
use reweave_model::ThreadId;
use reweave_wire::Debugged;

/// Set by the debugger when it is ready.
#[cfg_attr(not(test), unsafe(no_mangle))]
static reweave_attached: AtomicU32 = AtomicU32::new(0);

/// Set by the debugger: the step to stop at.
#[cfg_attr(not(test), unsafe(no_mangle))]
static reweave_stop_at: AtomicU64 = AtomicU64::new(0);

/// Read by the debugger: the steps that were begun, and those of them that it let go.
#[cfg_attr(not(test), unsafe(no_mangle))]
static reweave_begun: AtomicU64 = AtomicU64::new(0);
#[cfg_attr(not(test), unsafe(no_mangle))]
static reweave_done: AtomicU64 = AtomicU64::new(0);

/// Read by the debugger: the kernel's numbers of the first threads.
#[cfg_attr(not(test), unsafe(no_mangle))]
static reweave_numbers: [AtomicI32; 1024] = [const { AtomicI32::new(0) }; 1024];

/// Why it stops.
const AT_STEP: u32 = 1;
const AT_ERROR: u32 = 2;
const AT_END: u32 = 3;

/// The debugger stops here: at a step, at the error with a number, or at the end.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[inline(never)]
extern "C" fn reweave_stop(why: u32, which: u64) {
    core::hint::black_box((why, which));
}

/// Whether the run is to be debugged.
pub fn wanted() -> bool {
    channel::header().debugged.load(Ordering::Relaxed) != Debugged::No as u32
}

/// Waits for the debugger, or until it turns out that none will come.
pub fn wait() {
    // SAFETY: lets any process of this user attach, where only those above it may.
    unsafe {
        let (option, anybody) = (libc::PR_SET_PTRACER as usize, usize::MAX);
        sys::call(libc::SYS_prctl, [option, anybody, 0, 0, 0, 0]);
    }
    let debugged = &channel::header().debugged;
    debugged.store(Debugged::Waits as u32, Ordering::Release);
    while reweave_attached.load(Ordering::Acquire) == 0 && wanted() {
        sys::sleep(5);
    }
}

/// The number of the step that the running thread is about to make.
pub fn next_step(world: &World) -> u64 {
    world.run.execution().events.len() as u64 + 1
}

/// The running thread is about to make a step.
#[cold]
pub fn at_step(step: u64) {
    reweave_begun.store(step, Ordering::Relaxed);
    if step == reweave_stop_at.load(Ordering::Relaxed) {
        reweave_stop(AT_STEP, step);
    }
    reweave_done.store(step, Ordering::Relaxed);
}

/// The running thread has made an error.
#[cold]
pub fn at_error(world: &World) {
    let errors = world.run.execution().errors.len() as u64;
    reweave_stop(AT_ERROR, errors - 1);
}

/// Nobody can go on.
#[cold]
pub fn at_end(outcome: Outcome) {
    if let Outcome::Ended(_) | Outcome::Diverged = outcome {
        reweave_stop(AT_END, 0);
    }
}

/// Has the kernel know a thread by its name, and the debugger by its number.
#[cold]
pub fn name(world: &World, thread: ThreadId) {
    let record = &world.threads[thread.index()];
    let Some(number) = record.seat.map(|seat| seat.number()) else {
        return;
    };
    if let Some(place) = reweave_numbers.get(thread.index()) {
        place.store(number, Ordering::Relaxed);
    }
    let mut name = world.name_of(thread);
    if record.finished {
        name += " (ended)";
    }
    let path = format!("/proc/self/task/{number}/comm\0");
    if let Ok(path) = CStr::from_bytes_with_nul(path.as_bytes()) {
        sys::write_file(path, name.as_bytes());
    }
}
