//! Checks a C program by library calls only: `cargo run --release -p reweave-native --example check_program -- FILE...`.
//!
//! Without arguments it checks two small programs of its own, one with a lost update and one without. Each line is a
//! program with its executions and the errors that were found. Its tests run in `cargo test`.

use reweave_check::{Control, Settings};
use reweave_explore::Options;
use reweave_native::{Finished, NativeProgram, check_program};
use std::{error::Error, ffi::OsString, fs, path::Path};

/// Two threads increment a counter; the assertion fails if an increment is lost.
const COUNTER: &str = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
static atomic_int count;
static void *increment(void *unused) {
    STEP;
    return unused;
}
int main(void) {
    pthread_t other;
    pthread_create(&other, 0, increment, 0);
    increment(0);
    pthread_join(other, 0);
    assert(count == 2);
}
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let files: Vec<OsString> = std::env::args_os().skip(1).collect();
    if !files.is_empty() {
        return show(&check(files, place.path())?);
    }
    let source = place.path().join("counter.c");
    fs::write(&source, COUNTER)?;
    for step in ["count++", "count = count + 1"] {
        let words = [source.clone().into(), format!("-DSTEP={step}").into()];
        show(&check(words.into(), place.path())?)?;
    }
    Ok(())
}

/// Compiles the files and explores the program; the traces of errors go to a directory.
fn check(words: Vec<OsString>, traces: &Path) -> Result<Finished, Box<dyn Error>> {
    let program = NativeProgram::build(words)?;
    let settings = Settings {
        options: Options::default(),
        workers: 1,
        budget: None,
        max_executions: None,
        keep_going: true,
        every_race: true,
        beyond_races: false,
        races_cut: true,
        minimise: true,
        directory: traces.into(),
        name: program.name().to_owned(),
        coverage: false,
        log: None,
    };
    let stepped_down = |step: &reweave_native::StepDown| eprintln!("{step}");
    let finished = check_program(program, settings, &Control::default(), stepped_down)?;
    Ok(finished)
}

fn show(finished: &Finished) -> Result<(), Box<dyn Error>> {
    let result = &finished.result;
    println!("{}: {} executions", result.program, result.executions);
    for error in &finished.outcome.errors {
        let finding = error.finding();
        println!("  {}: {}", finding.kind.name(), finding.message);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(step: &str) -> Finished {
        let place = tempfile::tempdir().unwrap();
        let source = place.path().join("counter.c");
        fs::write(&source, COUNTER).unwrap();
        let words = vec![source.into(), format!("-DSTEP={step}").into()];
        check(words, place.path()).unwrap()
    }

    /// Two increments that cannot be interrupted: either thread's goes first.
    #[test]
    fn a_correct_program_has_every_class_and_no_error() {
        let finished = counter("count++");
        assert!(finished.result.complete, "{:?}", finished.result.incomplete);
        assert_eq!(finished.result.executions, 2);
        assert_eq!(finished.outcome.errors.len(), 0);
    }

    /// The second thread's load comes before the first one's store.
    #[test]
    fn a_lost_update_is_found_and_named() {
        let finished = counter("count = count + 1");
        let errors = &finished.outcome.errors;
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].finding().kind.name(), "assertion");
        let trace = &errors[0].trace;
        assert!(trace.objects.iter().any(|object| object.name == "count"));
    }

    #[test]
    fn mistakes_are_errors_with_sentences() {
        let place = tempfile::tempdir().unwrap();
        let missing = check(vec!["no-such-file.c".into()], place.path());
        let error = missing.err().expect("there is no such file");
        assert_eq!(error.to_string(), "no-such-file.c: no such file");
    }
}
