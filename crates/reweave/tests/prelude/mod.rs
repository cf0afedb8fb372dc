//! The one place that says on which library the corpus, the structures and the litmus tests run.
//!
//! Everything below `tests/` takes `cell`, `hint`, `sync` and `thread` from here and from nowhere else.
#![allow(unused_imports, reason = "each test binary uses its own part")]

pub use reweave::{cell, hint, sync, thread};
