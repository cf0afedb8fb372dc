//! One run under one plan.
//!
//! A target owns a [`Run`]. It reports threads, objects and the operation that each thread has reached; the run decides
//! which thread goes next ([`Run::next`]) and does the operation ([`Run::go`]). The run follows its plan step by step,
//! then the policy that the plan names, and records the execution. It also keeps everything else that must be the same
//! for every target:
//!
//! | what | where |
//! | --- | --- |
//! | turns: plan, policy, sleep sets, what happens when nothing can run | `turns`, `policy`, `sleep`, `epoch` |
//! | doing an operation and recording its event | `step` |
//! | virtual time: a thread's clock is a function of its causal past | `time` |
//! | loops around timed waits | `late` |
//! | loops that only wait for other threads | [`parking`] |
//! | rounds of such loops that are taken back | `rounds` |
//! | states of the run, for stateful search | `states` |
//! | objects that the target adds for itself and that order no memory | `hidden` |
//!
//! # Where the state lives
//!
//! A [`Run`] is a plain value. It has no statics, no thread locals and no pointers other than its own `Vec`s, which come
//! from the global allocator. So the caller decides where it lives: a runtime whose global allocator hands out memory
//! of one arena has the whole run in that arena. If several processes map the arena at the same address, each of them
//! can use the run in turn (`tests/shared_memory.rs` does that). At most one thread of one process may use a run at a
//! time; the hand-over must order memory, as a futex or a pipe does.
//!
//! *Invariant:* the crate does not know what a thread is made of, nor how many processes there are.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod epoch;
mod hidden;
mod late;
pub mod parking;
mod policy;
mod rounds;
mod run;
mod sleep;
mod states;
mod step;
mod time;
mod turns;

pub use late::{IN_A_ROW, SPURIOUS};
pub use rounds::Round;
pub use run::Run;
pub use time::LOOK;
pub use turns::Next;
