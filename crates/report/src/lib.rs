//! What is written down and shown: trace files, result documents, and their text for people.
//!
//! A finished execution becomes a [`Trace`], one JSON document that can be stored, read back, compared and turned into
//! a plan again; a finished search becomes a [`ResultDocument`], a suite of tests a [`SuiteDocument`]. Everything shown to people is made from these, so a
//! stored file and a live search look the same. Targets and algorithms are unknown here; nothing here prints.
#![forbid(unsafe_code)]

mod cause;
mod coverage;
mod document;
mod fleet;
mod formats;
mod happens_before;
mod junit;
mod object_state;
mod operation;
mod position;
mod presented;
mod result;
mod sources;
mod stacks;
mod suite;
mod text;
mod trace;
mod validate;
mod values;
mod walk;

pub use cause::Cause;
pub use coverage::{Coverage, CoveredPlace, LineCoverage, Met, PlacePair, UnreachedLines};
pub use document::{Document, ReadError, WriteError, load, open, save};
pub use fleet::{FleetCourse, FleetSample};
pub use formats::{Shown, chrome, dot, github, sarif, svg};
pub use junit::{junit_result, junit_suite};
pub use operation::Operation;
pub use position::{NotAPosition, Position};

pub use presented::{presented, thread_names};
pub use result::{
    BlockedBy, Estimated, ExitCode, Finding, Multiplies, ResultDocument, Suppressed, Unexplored,
    UnseenCode,
};
pub use sources::{Sources, record_sources};
pub use stacks::CallEntry;
pub use suite::{SuiteDocument, TestEntry, Verdict};
pub use text::{
    Large, Part, Span, Story, Style, Wait, clean, grouped, is_unseen, mattering, render_result,
    render_suite, render_trace, render_untold, spelled, summary, waiting,
};
pub use trace::{
    AccessEntry, Context, Difference, Failure, ObjectEntry, ObjectState, Options, PendingEntry,
    PlanStep, Program, Shortened, SourceEntry, ThreadEntry, Trace, TraceEvent, parse_path,
    path_name,
};
pub use values::{ChangeEntry, SleepEntry, ValueType, VariableEntry, WatchedEntry};
pub use walk::{Hold, Walk, holders};
