//! Memory of a program under test: happens-before between its threads, and data races on what they access.
//!
//! [`RaceDetector`] computes happens-before from the events of a run and finds races of the plain accesses reported to it: all that
//! the Rust target needs. [`Shadow`] records the accesses of a native program, byte by byte, with the detector's clocks. Weaker
//! memory models belong here too.
//!
//! Both targets feed it; it never knows which one runs, nor how.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod race;
mod shadow;

pub use race::{RaceDetector, RaceFound};
pub use shadow::{Clash, Kind, Memory, SHARED_UNIT, Shadow, fresh};
