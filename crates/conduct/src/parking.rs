//! Loops that only wait for other threads.
//!
//! A thread reaches an operation that changed nothing the last time. If it is there again with nothing written by it in
//! between, and with the same registers and the same stack as the time before, the round from there to here repeats
//! until another thread changes something that it looks at. Then the thread is *parked*: its operation is announced with
//! the word that it saw, and is enabled when the word of the object differs. A loop that looks at several objects first
//! guesses which one will change. The guess is an event, so every guess is explored; a wrong one is released when nothing
//! else can run.
//!
//! *Call path:* before an operation is announced, [`Polls::revisit`] decides whether a round repeats; if it does, the
//! target takes the round and calls [`park`]. After each event, [`Polls::record`]. At the end of a critical section,
//! [`Polls::leaves_clean`].
//!
//! *Locks.* A round may look at data under locks. The model counts, for each lock, the releases after which the data may
//! differ, and that count is what a round sees of a lock. A repeated round that wrote nothing releases without being
//! counted. A thread is never parked inside a critical section of its round, where it would keep others out.
//!
//! *What a target supplies* is how it looks at a thread. There are two ways, because the two targets see different
//! things:
//!
//! * Native code is compiled with hooks, so its target sees every write. It clears the row when a thread writes outside
//!   of its own stack ([`Fingerprint::SEES_WRITES`]). What the thread writes to its stack shows in the fingerprint. A
//!   parked thread goes on inside its round ([`Polls::resume`]) because the target also follows what other threads write
//!   to that stack.
//! * The Rust target sees no plain writes. Only a guard knows whether it was dereferenced mutably, so a section that
//!   ends with `Unlock` has changed something. And memory outside of the stack may count the rounds, so the target
//!   tries the loop for some rounds before it parks it, and asks for two equal fingerprints after each wake-up.
//!
//! Every decision is a function of what the thread itself has done and read, never of what others did meanwhile:
//! equivalent executions park alike.
//!
//! *Limits.* Rounds of more than half of the length of the row may not be recognised. A loop that writes something in each
//! round ends at the limit on steps.

mod polls;
mod round;

#[cfg(test)]
mod tests;

pub use polls::{Fingerprint, Polls, Visit};
pub use round::{Waiter, park};
