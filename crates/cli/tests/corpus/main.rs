//! Every program of `programs/`, checked by the command as its expectations say.
//!
//! The verdict comes from `reweave check FILE`, on a warm restart and one worker. The program compiled once by `reweave cc` must then
//! give the same on `fork`, on threads of the operating system, on two workers and, if it has few executions, on `exec`, and the counts that are written down. The trace of every error is shown, and
//! replayed twice. `optimal` and `rf` must find the same errors; of small programs, which are run in every interleaving if they are small enough
//! for that, all classes, each once. Programs are taken by as many threads as there are cores; what went wrong is told with its
//! command line.
//!
//! `REWEAVE_SLOW=1` adds what is marked `slow`, and large searches on threads of the operating system; `REWEAVE_RUNGS=1` has those with many executions run on
//! `fork` and `exec`, too; `REWEAVE_PROGRAMS=papers/,lock-order` takes only those whose names contain one of
//! these parts.

mod agree;
mod brute;
#[allow(dead_code)] // Not all of it is of use here.
#[path = "../../../explore/tests/common/class.rs"]
mod class;
mod command;
mod expect;
mod trial;

use expect::Expected;
use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// Programs that do not come out as they should yet, and why. Entries go when that is mended, and none may come that passes.
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
            if path
                .extension()
                .is_some_and(|extension| extension == "toml")
            {
                let name = path.strip_prefix(programs()).expect("found below it");
                names.push(name.with_extension("").display().to_string());
            }
        }
    }
    names.sort();
    names
}

#[test]
fn every_program_is_as_expected() {
    let asked = env::var("REWEAVE_PROGRAMS").unwrap_or_default();
    let parts: Vec<&str> = asked.split(',').filter(|part| !part.is_empty()).collect();
    let slow = env::var_os("REWEAVE_SLOW").is_some();
    let mut names = names();
    assert!(names.len() > 100, "programs/ holds the corpus");
    names.retain(|name| parts.is_empty() || parts.iter().any(|part| name.contains(part)));
    assert!(!names.is_empty(), "no program is called like {asked}");

    let next = AtomicUsize::new(0);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Relaxed)) {
            let outcome = Expected::read(&programs(), name)
                .and_then(|expected| trial::of(&programs(), name, &expected, slow));
            let gap = GAPS.iter().find(|(known, _)| known == name);
            let sentence = match (outcome, gap) {
                (Ok(()), None) | (Err(_), Some(_)) => continue,
                (Err(sentence), None) => sentence,
                (Ok(()), Some(_)) => "is as expected now: strike it off the list of gaps".into(),
            };
            eprintln!("FAILED {name}: {sentence}");
            let mut failed = failed.lock().expect("no worker panics with it");
            failed.push(name.clone());
        }
    };
    thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    let mut failed = failed.into_inner().expect("no worker panicked");
    failed.sort();
    let (of, names) = (names.len(), failed.join(", "));
    assert!(
        failed.is_empty(),
        "{} of {of} programs: {names}",
        failed.len()
    );
}

#[test]
fn gaps_are_programs_of_the_corpus() {
    let names = names();
    for (name, why) in GAPS {
        assert!(names.iter().any(|known| known == name), "{name} ({why})");
    }
}

/// Without this the rest might not be able to fail.
#[test]
fn what_is_not_as_expected_is_noticed() {
    let place = tempfile::tempdir().expect("there is a directory for temporary files");
    let group = place.path().join("group");
    let source = programs().join("classics/lost-update.c");
    fs::create_dir(&group).expect("there is room");
    fs::copy(source, group.join("it.c")).expect("there is room");
    let right = "verdict = \"assertion\"\nlocation = [\"it.c:26\"]\n";
    let count = |rest: &str| format!("{right}[[count]]\nalgorithm = \"optimal\"\n{rest}");
    let cases = [
        (right.into(), None),
        (count("executions = 4\nerrors = 1"), None),
        (
            "verdict = \"clean\"".into(),
            Some("no error is expected, but"),
        ),
        ("verdict = \"crash\"".into(), Some("Crash is expected")),
        (
            right.replace("26", "25"),
            Some("it.c:25 is expected, and not it.c:26"),
        ),
        (
            format!("{right}message = \"nonsense\""),
            Some("`nonsense` is expected"),
        ),
        (
            format!("{right}warnings = [\"unjoined\"]"),
            Some("there are none"),
        ),
        (format!("{right}complete = true"), Some("complete is false")),
        (
            format!("{right}incomplete = [\"races\"]"),
            Some("stopped-at-error"),
        ),
        (
            format!("{right}exit = 0"),
            Some("exits with 1 instead of 0"),
        ),
        (
            format!("{right}flags = [\"-O9x\"]"),
            Some("has no result document"),
        ),
        (
            count("executions = 5"),
            Some("4 executions and 0 blocked instead of 5"),
        ),
        (
            count("executions = 4\nblocked = 1"),
            Some("instead of 4 and 1"),
        ),
        (
            count("executions = 4\nerrors = 2"),
            Some("errors are Assertion"),
        ),
    ];
    for (text, says) in cases {
        fs::write(group.join("it.toml"), &text).expect("there is room");
        let expected = Expected::read(place.path(), "group/it").expect("well-formed");
        match (trial::of(place.path(), "group/it", &expected, false), says) {
            (Ok(()), None) => {}
            (Err(sentence), Some(says)) if sentence.contains(says) => {}
            (outcome, _) => panic!("{text}\n{outcome:?}"),
        }
    }
}
