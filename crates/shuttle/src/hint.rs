//! Hints.

pub use reweave::hint::spin_loop;
pub use std::hint::black_box;
