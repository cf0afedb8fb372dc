//! `pthread_once` and `call_once`. The word is used as libc uses it: 0 before, 2 after; in between it is 1.

use crate::{
    real,
    schedule::Op,
    turn::{Step, active, synchronise},
};
use libc::{c_int, pthread_once_t};

const NEW: c_int = 0;
const RUNS: c_int = 1;
const DONE: c_int = 2;

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_once(
    once: *mut pthread_once_t,
    routine: extern "C-unwind" fn(),
) -> c_int {
    if !active() {
        // SAFETY: the caller passes a valid word and a function that stays.
        return unsafe {
            real!(pthread_once: fn(*mut pthread_once_t, extern "C-unwind" fn()) -> c_int)(
                once, routine,
            )
        };
    }
    let word = once.cast::<c_int>();
    let mine = synchronise(Op::Once, |_| {
        // SAFETY: the caller's word, which only steps change.
        unsafe {
            match *word {
                NEW => {
                    *word = RUNS;
                    Step::Done(true)
                }
                DONE => Step::Done(false),
                _ => Step::Wait(once.addr(), None),
            }
        }
    });
    if mine {
        /// Also where the routine throws or its thread ends: then another thread runs it.
        struct After(*mut c_int, c_int);
        impl Drop for After {
            fn drop(&mut self) {
                synchronise(Op::OnceDone, |turn| {
                    // SAFETY: the caller's word, which only steps change.
                    unsafe { *self.0 = self.1 };
                    turn.wake_all(self.0.addr());
                    Step::Done(())
                });
            }
        }
        let mut after = After(word, NEW);
        routine();
        after.1 = DONE;
    }
    0
}
