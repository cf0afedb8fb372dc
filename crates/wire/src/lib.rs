//! The shared-memory layout between a native target and its driver: batches of plans in, executions out.
//!
//! One file, mapped by both: a [`Header`], then room for plans, then room for reports. The driver writes a batch of plans and
//! raises [`Header::request`]; the target runs them one after another, appends a report for each and counts it in
//! [`Header::done`], and raises [`Header::reply`] at the end. Who is not at work does not touch the rooms, so there are no locks.
//!
//! Both rooms hold streams of 64-bit words ([`Writer`], [`Reader`]). A program under test can write anything anywhere, so whatever the
//! driver reads is checked: a stream that makes no sense is [`Malformed`], never undefined behaviour.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod execution;
mod header;
mod hello;
mod lines;
mod memory_image;
mod plan;
mod previous_events;
mod report;
mod rules;
mod words;

pub use header::{
    Debugged, FORKING, Fault, Header, LEFT, LINES_AT, LINES_BYTES, MAGIC, PLANS_AT, PLANS_BYTES,
    REPORTS_AT, REPORTS_BYTES, Races, Restart, Sends, TOTAL_BYTES, Threads, VERSION,
};
pub use hello::{Hello, HelloModule, read_hello, write_hello};
pub use lines::LineStart;
pub use memory_image::{MemoryImage, MemoryWrite, Region, Slept, StackFrame};
pub use plan::{
    Beginning, Death, Doom, Library, Request, Unit, read_beginning, read_request, write_beginning,
    write_request,
};
pub use report::{
    AccessKind, Accessed, Detail, Note, Parts, Place, PlaceKind, Report, Stack, read_report,
    write_report,
};
pub use rules::{Rule, Rules};
pub use words::{Malformed, Reader, Writer};
