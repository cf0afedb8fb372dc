//! Hints.

pub use reweave::hint::spin_loop;

/// As [`std::hint::unreachable_unchecked`], with a panic.
///
/// # Safety
/// It must not be reached.
#[track_caller]
pub unsafe fn unreachable_unchecked() -> ! {
    unreachable!("unreachable_unchecked was reached!")
}
