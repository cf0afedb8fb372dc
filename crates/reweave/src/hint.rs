//! Hints, by the names and signatures of [`std::hint`].

use crate::rt;

pub use std::hint::black_box;

/// As [`std::hint::spin_loop`]. In a check it is no event, only a hint that this may be a loop that waits for others.
#[track_caller]
pub fn spin_loop() {
    if rt::active() {
        rt::pause();
    } else if !rt::inert() {
        std::hint::spin_loop();
    }
}
