//! What `reweave.h` offers to programs that want another order: soft barriers and sections.

use crate::{
    messages::give_up,
    rotation::Woken,
    schedule::Op,
    turn::{self, Step, active, synchronise},
};
use core::cell::UnsafeCell;
use libc::{c_int, c_void};

const BARRIERS: usize = 256;

/// A soft barrier: threads that arrive wait for `size` of them, but no longer than so many turns.
#[derive(Clone, Copy)]
struct SoftBarrier {
    key: usize,
    size: u32,
    arrived: u32,
    turns: u64,
}

struct SoftBarriers(UnsafeCell<[SoftBarrier; BARRIERS]>);

// SAFETY: only bodies of steps use it, which run under one lock.
unsafe impl Sync for SoftBarriers {}

static ALL: SoftBarriers = SoftBarriers(UnsafeCell::new(
    [SoftBarrier {
        key: 0,
        size: 0,
        arrived: 0,
        turns: 0,
    }; BARRIERS],
));

impl SoftBarriers {
    /// # Safety
    ///
    /// Called in the body of a step, and the borrow ends with it.
    #[allow(clippy::mut_from_ref, reason = "the lock of the step is the borrow")]
    unsafe fn find(&self, key: usize) -> Option<&mut SoftBarrier> {
        // SAFETY: the caller keeps the condition of this function.
        unsafe { &mut *self.0.get() }
            .iter_mut()
            .find(|barrier| barrier.key == key)
    }
}

/// Makes a soft barrier of some threads, by an address that nothing else uses. Making it once more changes it.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C-unwind" fn reweave_soft_barrier_init_(size: u32, key: *const c_void, turns: c_int) {
    if !active() || key.is_null() || size == 0 {
        return;
    }
    let made = synchronise(Op::SoftBarrier, |turn| {
        // SAFETY: this is the body of a step, and the borrow ends with it.
        let place = unsafe { ALL.find(key.addr()).or_else(|| ALL.find(0)) };
        let Some(place) = place else {
            return Step::Done(false);
        };
        turn.wake_all(key.addr());
        *place = SoftBarrier {
            key: key.addr(),
            size,
            arrived: 0,
            turns: turns.max(0) as u64,
        };
        Step::Done(true)
    });
    if !made {
        give_up(format_args!("more than {BARRIERS} soft barriers"));
    }
}

/// Waits at a soft barrier.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C-unwind" fn reweave_soft_barrier_wait_(key: *const c_void) {
    if !active() {
        return;
    }
    let mut waits = false;
    synchronise(Op::SoftBarrier, |turn| {
        // SAFETY: this is the body of a step, and the borrow ends with it.
        let Some(barrier) = (unsafe { ALL.find(key.addr()) }) else {
            return Step::Done(());
        };
        if waits {
            // The first one whose time is over releases all of them.
            if turn.woken() == Some(Woken::TimedOut) {
                barrier.arrived = 0;
                turn.wake_all(key.addr());
            }
            return Step::Done(());
        }
        barrier.arrived += 1;
        if barrier.arrived >= barrier.size {
            barrier.arrived = 0;
            turn.wake_all(key.addr());
            return Step::Done(());
        }
        waits = true;
        Step::Wait(key.addr(), Some(turn.deadline_in_turns(barrier.turns)))
    });
}

/// Begins a section whose steps are done as soon as they can be. Sections may be nested.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C-unwind" fn reweave_section_enter_() {
    if active() {
        turn::enter_section();
    }
}

/// Ends it.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C-unwind" fn reweave_section_exit_() {
    if active() {
        turn::exit_section();
    }
}

/// The thread is about to wait for something that is not scheduled.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C-unwind" fn reweave_thread_waiting_() {
    if active() {
        turn::step_out(Op::Leave);
    }
}

/// It goes on.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C-unwind" fn reweave_thread_running_() {
    if active() {
        turn::step_in(Op::Rejoin);
    }
}
