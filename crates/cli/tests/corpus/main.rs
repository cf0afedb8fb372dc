//! Every program of `programs/`, checked by the command as its expectations say. Each search is a test with a name of its own:
//!
//! * `classics/lock-order`: the verdict of `reweave check FILE`, on a warm restart and one worker. The trace of every error is shown, and replayed twice.
//! * `classics/lock-order@fork`, `@two-workers`, `@os-threads`, `@exec`: the program, compiled by `reweave cc`, comes to the same result on another rung,
//!   with two workers, on threads of the operating system. Large searches are left out on the slow rungs.
//! * `@alone`: a clean program runs by itself. `@minimised`: errors are the same ones when they are made simple.
//! * `@agree`: `optimal` and `rf` find the same errors; of small programs, which are run in every interleaving if they are small enough for that, all classes, each once.
//! * `@count:optimal,N=3`: a count that is written down.
//!
//! So `cargo test -p reweave-cli --test corpus -- papers/` (one filter) and nextest select and time each. A failure comes with its command line. Tests of one program share its
//! compiled form (`store.rs`).
//!
//! `REWEAVE_SLOW=1` adds what is marked `slow`, and large searches on threads of the operating system; `REWEAVE_RUNGS=1` has those with many executions run on
//! `fork` and `exec`, too; `REWEAVE_PROGRAMS=papers/,lock-order` takes only the programs whose names contain one of these parts.

mod agree;
mod brute;
mod command;
mod expect;
mod harness;
mod store;
mod trial;

use expect::Expected;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};
use trial::{Done, Part};

/// Tests that fail so far, and why. An entry goes when its test passes; a test that passes must not have one.
const GAPS: &[(&str, &str)] = &[];

fn programs() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(2).expect("crates/cli is two below");
    root.join("programs")
}

/// The names of all expectations, `group/name`, sorted.
fn names() -> Vec<String> {
    let read = |path: &Path| fs::read_dir(path).expect("programs/ can be read");
    let mut names = Vec::new();
    for group in read(&programs()) {
        let group = group.expect("programs/ can be read").path();
        if !group.is_dir() {
            continue;
        }
        for file in read(&group) {
            let path = file.expect("programs/ can be read").path();
            let extension = path.extension();
            if extension.is_some_and(|extension| extension == "toml") {
                let name = path.strip_prefix(programs()).expect("found below it");
                names.push(name.with_extension("").display().to_string());
            }
        }
    }
    names.sort();
    names
}

/// One test of a program.
struct Test {
    name: String,
    program: String,
    /// An error is a sentence about a file that cannot be understood.
    expected: Result<Arc<Expected>, String>,
    part: Part,
}

impl Test {
    /// The tests of a program; of one whose expectations cannot be read there is one, which fails.
    fn of(program: &str) -> Vec<Test> {
        let test = |suffix: String, expected, part| Test {
            name: format!("{program}{suffix}"),
            program: program.into(),
            expected,
            part,
        };
        match Expected::read(&programs(), program) {
            Err(sentence) => vec![test(String::new(), Err(sentence), Part::Verdict)],
            Ok(expected) => {
                let expected = Arc::new(expected);
                let one = |part: Part| test(part.suffix(&expected), Ok(expected.clone()), part);
                Part::all(&expected).into_iter().map(one).collect()
            }
        }
    }

    fn is_slow(&self) -> bool {
        let expected = self.expected.as_ref();
        expected.is_ok_and(|expected| self.part.is_slow(expected))
    }

    fn run(self, slow: bool) -> Result<Completion, Failed> {
        let stores = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
        let outcome = self.expected.and_then(|expected| {
            let program = (&*self.program, &*expected);
            trial::of(&programs(), &stores, program, self.part, slow)
        });
        let gap = GAPS.iter().any(|(known, _)| *known == self.name);
        match outcome {
            Ok(Done::Skipped(why)) => Ok(Completion::ignored_with(why)),
            Ok(Done::Checked) if gap => {
                Err("is as expected now: strike it off the list of gaps".into())
            }
            Err(sentence) if !gap => Err(sentence.into()),
            _ => Ok(Completion::Completed),
        }
    }
}

/// For the tests of the harness.
fn names_of_all_tests() -> Vec<String> {
    let tests = names().into_iter().flat_map(|program| Test::of(&program));
    tests.map(|test| test.name).collect()
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let asked = env::var("REWEAVE_PROGRAMS").unwrap_or_default();
    let parts: Vec<&str> = asked.split(',').filter(|part| !part.is_empty()).collect();
    let slow = env::var_os("REWEAVE_SLOW").is_some();
    let mut names = names();
    assert!(names.len() > 100, "programs/ holds the corpus");
    names.retain(|name| parts.is_empty() || parts.iter().any(|part| name.contains(part)));
    assert!(!names.is_empty(), "no program is called like {asked}");

    let mut tests: Vec<Test> = names.iter().flat_map(|name| Test::of(name)).collect();
    tests.sort_by(|one, other| (one.part, &one.name).cmp(&(other.part, &other.name)));
    let of_programs = tests.into_iter().map(|test| {
        let too_slow = test.is_slow() && !slow;
        Trial::ignorable_test(test.name.clone(), move || test.run(slow)).with_ignored_flag(too_slow)
    });
    let of_the_harness = harness::TESTS.iter().map(|(name, run)| {
        Trial::test(*name, || {
            run();
            Ok(())
        })
    });
    let all = of_the_harness.chain(of_programs).collect();
    libtest_mimic::run(&arguments, all).exit_code()
}
