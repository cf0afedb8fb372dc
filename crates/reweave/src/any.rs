//! Choices without an order: every one is explored.

use crate::rt;
use reweave_model::Op;

/// A number below `n`. In a check every one is explored; outside it is 0.
///
/// # Panics
/// If `n` is 0 or above 65,535.
#[track_caller]
pub fn any(n: u32) -> u32 {
    assert!(
        (1..=u32::from(u16::MAX)).contains(&n),
        "a choice has 1 to 65,535 outcomes"
    );
    if rt::active() {
        rt::op(Op::Any(n)).result as u32
    } else {
        rt::inert();
        0
    }
}

/// True or false. In a check both are explored, `false` first.
#[track_caller]
pub fn any_bool() -> bool {
    any(2) == 1
}

/// Gives up executions in which it does not hold: in a check the thread goes no further, and the execution is counted as blocked, not as
/// an error. Outside it does nothing.
#[track_caller]
pub fn assume(holds: bool) {
    if !holds && rt::active() {
        rt::op(Op::Assume(false));
    }
}
