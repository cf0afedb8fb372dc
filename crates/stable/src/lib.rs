//! The shared object that `reweave run` loads into a program: its threads synchronise in an order that only the input decides.
//!
//! Each call of the thread library waits for its turn in a round robin of threads (`rotation.rs`), is done, and passes the turn on
//! (`turn.rs`). What lies between two calls runs in parallel. A call that would wait for another thread leaves its thread in a queue here
//! and never in the operating system, so nothing depends on how fast threads are. Waits for something outside of the process leave the
//! rotation and come back to it (`calls/outside.rs`).
//!
//! The order can be written to a file, and a file's order can be kept (`schedule.rs`).

#[cfg_attr(
    test,
    allow(dead_code, reason = "they are exported, but not from tests")
)]
mod calls;
mod clock;
mod messages;
mod real;
mod rotation;
mod schedule;
mod turn;
