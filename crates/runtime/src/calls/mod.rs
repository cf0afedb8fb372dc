//! Library calls of the program that the runtime stands for, in families. Each has its model; outside of runs each goes to libc's
//! own. Families do not import each other: what several need is in `core` or `kernel`.

pub(crate) mod files;
pub(crate) mod language;
pub(crate) mod libraries;
pub(crate) mod memory;
pub(crate) mod mpi;
pub(crate) mod openmp;
pub(crate) mod process;
pub(crate) mod streams;
pub(crate) mod sync;
pub(crate) mod threads;
pub(crate) mod time;
