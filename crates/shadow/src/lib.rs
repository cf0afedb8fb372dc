//! Shadow memory for native programs: for every byte of a run who accessed it, and whether a new access clashes with that.
//!
//! [`Shadow`] is told of every access that the compiler's hooks report, plain or atomic, and of memory given back. It
//! answers at once which earlier accesses the new one races with. What happens before what is
//! [`RaceDetector`](reweave_model::RaceDetector)'s business; a clock of it comes along with each access.
//!
//! Two accesses of one byte clash when they are of different threads, at least one of them writes, at least one is not
//! atomic, and neither happens before the other. Giving memory back is a plain write to all of it; any access after that,
//! ordered or not, is one of freed memory.
//!
//! Never reports two accesses that are ordered (but for freed memory). Misses nothing within a run in this sense: the first
//! access that makes a byte racy is reported at once, for exactly this byte. Later races on the same byte may go
//! unreported. Accesses it is not told of it cannot judge.
//!
//! The path of an access: [`Shadow::hot`] in the hook itself, a look at one cell that suffices when the thread has just done
//! the same; else [`Shadow::access`], for each granule of 8 bytes `Book::settle` or, if others are in the way, `Book::meet`.
//!
//! * `word`: one recorded access in 64 bits
//! * `table`: cells of two words, found by address; the only unsafe code
//! * `blocks`: lists of words for granules that need more than two
//! * `segments`: whose access a word is
//! * `book`: the rules
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod blocks;
mod book;
mod segments;
mod shadow;
mod table;
#[cfg(test)]
mod tests;
mod word;

pub use book::Clash;
pub use shadow::Shadow;
pub use table::{Memory, fresh};
pub use word::Kind;
