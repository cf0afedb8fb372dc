//! Why a check could not be made. Errors of the program under test are in the [`Report`](crate::Report) instead.

use reweave_check::NotADuration;
use reweave_explore::UnknownAlgorithm;
use reweave_report::ReadError;
use std::{env::VarError, fmt, path::PathBuf};

/// Why a check could not be made. [`fmt::Display`] is a sentence that says what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum CheckError {
    /// An environment variable makes no sense.
    Variable {
        /// Its name.
        name: &'static str,
        /// What is wrong with it.
        error: VariableError,
    },
    /// A bound on preemptions together with an algorithm that takes random schedules.
    BoundedSampling,
    /// Leaks were asked for, and [`Allocator`](crate::Allocator) is not the program's global allocator.
    NoAllocator,
    /// The closure does not do the same when it is run the same way again: what differed.
    NotDeterministic(String),
    /// The closure could not be run: why.
    Unavailable(String),
    /// The trace to replay cannot be read.
    Unreadable(ReadError),
    /// The trace to replay is of another check.
    OtherCheck {
        /// The file.
        trace: PathBuf,
        /// The check that it was recorded from.
        recorded: String,
        /// The check that is to replay it.
        replayed: String,
    },
    /// The replay did not follow the trace.
    Diverged {
        /// The file.
        trace: PathBuf,
        /// The first difference.
        difference: String,
    },
}

/// What is wrong with an environment variable.
#[derive(Debug)]
#[non_exhaustive]
pub enum VariableError {
    /// It is not UTF-8.
    NotText(VarError),
    /// Its value cannot be used.
    Value {
        /// The value.
        text: String,
        /// What is wrong with it.
        error: ValueError,
    },
}

/// Why a value cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub enum ValueError {
    /// No algorithm has this name.
    Algorithm(UnknownAlgorithm),
    /// It is not a time.
    Duration(NotADuration),
    /// It is not a number of the size that is expected.
    Number(std::num::ParseIntError),
    /// It is neither 1 nor 0.
    NotABool,
}

const NOT_DETERMINISTIC: &str = "the check does not do the same when it is run the same way again \
    (does it read the clock, iterate over a HashMap, use random numbers, or keep something from run to run?)";

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckError::Variable { name, error } => match error {
                VariableError::NotText(error) => write!(f, "{name}: {error}"),
                VariableError::Value { text, error } => write!(f, "{name}={text}: {error}"),
            },
            CheckError::BoundedSampling => f.write_str(
                "a bound on preemptions goes through all schedules within it: it has no use for random ones",
            ),
            CheckError::NoAllocator => f.write_str(
                "leaks were asked for, which needs reweave's allocator: put `#[global_allocator] static ALLOCATOR: \
                 reweave::Allocator = reweave::Allocator;` into the test's crate",
            ),
            CheckError::NotDeterministic(what) => write!(f, "{NOT_DETERMINISTIC}\n  {what}"),
            CheckError::Unavailable(why) => f.write_str(why),
            CheckError::Unreadable(error) => error.fmt(f),
            CheckError::OtherCheck {
                trace,
                recorded,
                replayed,
            } => write!(
                f,
                "{} was recorded from `{recorded}`, and this is `{replayed}`: run that test, or record a new trace",
                trace.display()
            ),
            CheckError::Diverged { trace, difference } => write!(
                f,
                "{} went another way when it was run again: the program has changed, or is not deterministic\n  \
                 {difference}",
                trace.display()
            ),
        }
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::Algorithm(error) => error.fmt(f),
            ValueError::Duration(error) => error.fmt(f),
            ValueError::Number(error) => write!(f, "a number is expected: {error}"),
            ValueError::NotABool => f.write_str("1 or 0 is expected"),
        }
    }
}

impl std::error::Error for CheckError {}
