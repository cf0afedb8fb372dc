//! Tests of the harness itself: that it can fail, and that it says why.

use crate::{
    expect::Expected,
    programs,
    trial::{self, Done, Part},
};
use std::{fs, path::Path};

/// All tests of this file, by name.
pub const TESTS: &[(&str, fn())] = &[
    (
        "harness/what_is_not_as_expected_is_noticed",
        what_is_not_as_expected_is_noticed,
    ),
    (
        "harness/every_test_has_a_name_of_its_own",
        every_test_has_a_name_of_its_own,
    ),
    (
        "harness/gaps_are_tests_of_the_corpus",
        gaps_are_tests_of_the_corpus,
    ),
    (
        "harness/a_broken_file_is_met_with_a_sentence",
        a_broken_file_is_met_with_a_sentence,
    ),
    (
        "harness/a_missing_program_is_reported",
        a_missing_program_is_reported,
    ),
];

fn every_test_has_a_name_of_its_own() {
    let mut names = crate::names_of_all_tests();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
}

fn gaps_are_tests_of_the_corpus() {
    let names = crate::names_of_all_tests();
    for (name, why) in crate::GAPS {
        assert!(names.iter().any(|known| known == name), "{name} ({why})");
    }
}

/// All tests of a program, one after the other; the first that fails ends it.
fn all_of(place: &Path, name: &str, expected: &Expected) -> Result<(), String> {
    for part in Part::all(expected) {
        let store = place.join("store");
        if trial::of(place, &store, (name, expected), part, false)? == Done::Checked {
            continue;
        }
        return Err(format!("{part:?} is skipped"));
    }
    Ok(())
}

/// Without this the rest might not be able to fail.
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
        match (all_of(place.path(), "group/it", &expected), says) {
            (Ok(()), None) => {}
            (Err(sentence), Some(says)) if sentence.contains(says) => {}
            (outcome, _) => panic!("{text}\n{outcome:?}"),
        }
    }
}

fn a_broken_file_is_met_with_a_sentence() {
    let cases = [
        ("verdict = ", "make no sense"),
        ("", "missing field `verdict`"),
        ("verdict = \"fine\"", "did not match any variant"),
        ("verdict = \"clean\"\nverdit = 1", "unknown field `verdit`"),
        (
            "verdict = \"clean\"\nrule = \"leak\"",
            "no error is expected",
        ),
        (
            "verdict = \"clean\"\n[[error]]\nkind = \"crash\"",
            "errors are listed",
        ),
        (
            "verdict = \"crash\"\n[[error]]\nkind = \"crash\"",
            "stops at the first",
        ),
        (
            "verdict = \"crash\"\n[[error]]\nknd = \"crash\"",
            "unknown field `knd`",
        ),
        (
            "verdict = \"clean\"\n[[count]]\nalgorithm = \"dfs\"",
            "missing field `executions`",
        ),
        (
            "verdict = \"clean\"\n[[count]]\nalgorithm = \"dfs\"\nexecutions = 1\nerrors = 1",
            "do not agree",
        ),
    ];
    for (text, says) in cases {
        let sentence = Expected::parse(text).expect_err(text);
        assert!(sentence.contains(says), "{text}: {sentence}");
    }
}

fn a_missing_program_is_reported() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("gone.toml"), "verdict = \"clean\"").expect("written");
    let sentence = Expected::read(dir.path(), "gone").expect_err("there is no gone.c");
    assert!(
        sentence.contains("gone.c, which is not there"),
        "{sentence}"
    );
}
