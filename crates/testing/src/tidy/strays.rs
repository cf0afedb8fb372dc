//! Files that nothing explains, below `programs/` and in the root.

use super::tree::{files, root};
use std::{collections::BTreeSet, fs};

/// Files of `programs/` that are neither programs nor expectations.
const OF_PROGRAMS: &[&str] = &[
    "README.md",
    "hostile/disk.txt", // Read by hostile/disk.c.
    "native.c",
    "places",
    "suite-other.toml",
    "suite-rf.toml",
    "suite.toml",
    "under-tsan",
];

/// What stands in the root, or is made there by a build or a test.
const OF_THE_ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".config",
    ".git",
    ".github",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "benches",
    "crates",
    "docs",
    "programs",
    "release",
    "release-out",
    "reweave-out",
    "rust-toolchain.toml",
    "screenshots",
    "scripts",
    "target",
];

/// What the lines `source = ["a.c", "b.c"]` of an expectation name.
fn named(expectation: &str) -> Vec<&str> {
    let lines = expectation.lines();
    let source = lines.filter_map(|line| line.strip_prefix("source = ["));
    source
        .flat_map(|names| names.split('"').skip(1).step_by(2))
        .collect()
}

pub fn below_programs() -> Vec<String> {
    let files: Vec<(String, String)> = files()
        .into_iter()
        .filter_map(|(name, path)| {
            let text = fs::read_to_string(path).unwrap_or_default();
            Some((name.strip_prefix("programs/")?.to_owned(), text))
        })
        .collect();
    strays(&files)
}

fn strays(files: &[(String, String)]) -> Vec<String> {
    let mut explained: BTreeSet<String> = OF_PROGRAMS.iter().map(|name| (*name).into()).collect();
    for (name, text) in files {
        // One folder deep, as `group/name.toml`.
        let Some(stem) = name.strip_suffix(".toml") else {
            continue;
        };
        let Some((group, program)) = stem.split_once('/') else {
            continue;
        };
        let sources = named(text);
        let own = ["c", "cc"].map(|end| format!("{program}.{end}"));
        let own = own.iter().map(String::as_str).collect();
        let sources: Vec<&str> = if sources.is_empty() { own } else { sources };
        let there = sources.iter().map(|source| format!("{group}/{source}"));
        let there = there.filter(|source| files.iter().any(|(name, _)| name == source));
        let there: Vec<String> = there.collect();
        if !there.is_empty() && !program.contains('/') {
            explained.insert(name.clone());
        }
        explained.extend(there);
    }
    let strays = files.iter().map(|(name, _)| name);
    let strays = strays.filter(|name| !explained.contains(*name));
    strays.cloned().collect()
}

pub fn in_the_root() -> Vec<String> {
    let entries = fs::read_dir(root())
        .expect("the root can be read")
        .flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let known = |name: &String| OF_THE_ROOT.contains(&&**name);
    names.filter(|name| !known(name)).collect()
}

#[test]
fn what_nothing_names_is_a_stray() {
    let file = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let files = [
        file("README.md", ""),
        file("a/one.c", ""),
        file("a/one.toml", "verdict"),
        file("a/two.toml", "source = [\"one.c\", \"helper.cc\"]"),
        file("a/helper.cc", ""),
        file("a/left.tmp", ""),
        file("a/alone.toml", "verdict"),
        file("b/one.c", ""),
        file("left/a", ""),
        file("x.toml", ""),
    ];
    let names = ["a/left.tmp", "a/alone.toml", "b/one.c", "left/a", "x.toml"];
    assert_eq!(strays(&files), names);
}
