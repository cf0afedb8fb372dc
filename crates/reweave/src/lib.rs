//! Runs a concurrent Rust test again and again, in every interleaving of its threads that matters.

mod rt;
