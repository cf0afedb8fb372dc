//! `pthread_barrier_wait`. The number of threads that have arrived is kept in the barrier, where libc counts them too.

use super::field;
use crate::{
    real,
    schedule::Op,
    turn::{Step, active, outside, synchronise},
};
use libc::{PTHREAD_BARRIER_SERIAL_THREAD, c_int, pthread_barrier_t};

/// Offsets in `struct pthread_barrier`.
const COUNT: usize = 8;
const SHARED: usize = 12;

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    let real = real!(pthread_barrier_wait: fn(*mut pthread_barrier_t) -> c_int);
    // SAFETY: the caller's barrier; it has 32 bytes.
    unsafe {
        if !active() {
            return real(barrier);
        }
        if field(barrier, SHARED) != 0 {
            return outside(|| real(barrier));
        }
        let arrived = barrier.cast::<u32>();
        let mut waits = false;
        synchronise(Op::Arrive, |turn| {
            if waits {
                return Step::Done(0);
            }
            *arrived += 1;
            if *arrived == field(barrier, COUNT) {
                *arrived = 0;
                turn.wake_all(barrier.addr());
                return Step::Done(PTHREAD_BARRIER_SERIAL_THREAD);
            }
            waits = true;
            Step::Wait(barrier.addr(), None)
        })
    }
}
