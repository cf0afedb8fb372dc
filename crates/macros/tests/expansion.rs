//! What the attribute makes compiles and runs, against a stand-in for the library: this crate by the library's name.
#![allow(missing_docs)]

extern crate self as reweave;

use std::{str::FromStr, sync::Mutex, time::Duration};

/// What the attribute asked for, call by call.
#[derive(Default)]
pub struct Builder(Vec<String>);

#[derive(Debug)]
pub struct Algorithm(pub String);

impl FromStr for Algorithm {
    type Err = String;

    fn from_str(text: &str) -> Result<Algorithm, String> {
        Ok(Algorithm(text.into()))
    }
}

macro_rules! calls {
    ($($name:ident: $of:ty),*) => {
        impl Builder {
            pub fn new() -> Builder {
                Builder::default()
            }
            $(pub fn $name(mut self, value: $of) -> Builder {
                self.0.push(format!("{} {:?}", stringify!($name), value));
                self
            })*
        }
    };
}

calls!(
    name: &str,
    algorithm: Algorithm,
    workers: usize,
    preemptions: u32,
    budget: Duration,
    max_executions: u64,
    max_steps: u32,
    keep_going: bool,
    spurious_wakeups: bool
);

static SEEN: Mutex<Vec<(Vec<String>, Option<&str>)>> = Mutex::new(Vec::new());

pub mod __macro {
    use super::{Builder, SEEN};

    pub fn run_test(
        builder: Builder,
        expect: Option<&'static str>,
        body: impl Fn() + Send + Sync + 'static,
    ) {
        SEEN.lock().unwrap().push((builder.0, expect));
        body();
    }
}

/// A helper that has the name one would think of for the inner function.
fn body() -> u32 {
    7
}

#[reweave_macros::test]
fn plain() {
    assert_eq!(body(), 7);
}

#[reweave_macros::test(
    algorithm = "pct",
    workers = 2,
    preemptions = 2,
    budget = "250ms",
    max_executions = 1000,
    max_steps = 5000,
    spurious_wakeups,
    keep_going,
    expect = "data-race"
)]
fn with_everything() {}

#[reweave_macros::test]
fn with_a_result() -> Result<(), std::num::ParseIntError> {
    "7".parse::<u32>()?;
    Ok(())
}

#[reweave_macros::test]
#[should_panic(expected = "the test returned an error: ParseIntError")]
fn with_a_bad_result() -> Result<(), std::num::ParseIntError> {
    "seven".parse::<u32>()?;
    Ok(())
}

#[reweave_macros::test(keep_going = false)]
#[should_panic]
fn attributes_stay() {
    panic!("as expected");
}

#[test]
fn every_option_arrives() {
    with_everything();
    let seen = SEEN.lock().unwrap();
    let name = "name \"expansion::with_everything\"";
    let (calls, expect) = seen.iter().find(|(calls, _)| calls[0] == name).unwrap();
    let wanted = [
        name,
        "algorithm Algorithm(\"pct\")",
        "workers 2",
        "preemptions 2",
        "budget 250ms",
        "max_executions 1000",
        "max_steps 5000",
        "spurious_wakeups true",
        "keep_going true",
    ];
    assert_eq!(*calls, wanted);
    assert_eq!(*expect, Some("data-race"));
}
