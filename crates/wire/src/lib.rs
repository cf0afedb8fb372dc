//! The shared-memory layout between a native target and its driver: batches of plans in, executions out.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
