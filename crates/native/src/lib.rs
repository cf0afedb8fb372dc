//! The native subject: C and C++ programs that are started, restarted, observed and shown.
//!
//! A library call is enough to check a program:
//!
//! ```no_run
//! use reweave_check::{Control, Settings};
//! use reweave_native::{NativeProgram, check_program};
//!
//! # fn check(settings: Settings) -> Result<(), Box<dyn std::error::Error>> {
//! let program = NativeProgram::build(vec!["queue.c".into()])?;
//! let finished = check_program(program, settings, &Control::default(), |_step_down| {})?;
//! assert!(finished.result.complete && finished.result.errors.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! * `program`, `launch`, `limits`, `ladder`: what is run and how.
//! * `session`, `surroundings`, `replay`: one check, one recorded execution; `pieces`: parts of one for other processes.
//! * `subject`, `worker_target`, `notes`: the program as the crates `check` and `explore` see it.
//! * `named_trace`, `program_names`: executions for people.
//! * `stable_run`: programs that are run once, in one fixed order.
//! * `target`, `process`, `channel`, `spawn`, `descendants`, `scratch_disk`, `loaded_libraries`, `lines`: processes and how they are driven.
//!
//! It knows nothing of the command line, and never prints.

mod channel;
mod conditions;
mod cores;
mod descendants;
mod errors;
mod gdb;
mod ladder;
mod launch;
mod limits;
mod lines;
mod loaded_libraries;
mod memory_names;
mod named_trace;
mod notes;
mod pieces;
mod pointer_names;
mod process;
mod program;
mod program_names;
mod replay;
mod scratch_disk;
mod session;
mod spawn;
mod stable_run;
mod standard_input;
mod subject;
mod surroundings;
mod target;
mod unexplored;
mod worker_target;

pub use errors::{CheckError, PrepareError, RunError, StartError};
pub use gdb::{Gdb, GdbError};
pub use ladder::{Ladder, rung_name, rung_named};
pub use launch::Launch;
pub use limits::{Confinement, Deadline, Limits};
pub use lines::Lines;
pub use loaded_libraries::LoadedLibraries;
pub use notes::StoredNotes;
pub use program::{NativeProgram, name_of_files, name_of_program};
pub use replay::{Replay, ReplayError};
pub use reweave_wire::{
    Detail, Fault, HelloModule, Library, Note, Place, PlaceKind, Races, Restart, Rule, Rules,
    Sends, Threads, Unit,
};
pub use scratch_disk::ScratchDisks;
pub use session::{Finished, ResumeError, Session, StepDown, StoredSession, check_program};
pub use stable_run::{Order, StableRun};
pub use standard_input::copy_standard_input;
pub use subject::NativeSubject;
pub use surroundings::Surroundings;
pub use target::{NativeTarget, Observation, Spent};
pub use worker_target::WorkerTarget;
