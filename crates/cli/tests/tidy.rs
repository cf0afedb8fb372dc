//! Rules about the tree itself, checked so that they stay true: what ARCHITECTURE.md claims, paths in documents, sizes, leftovers, and numbers that may only shrink
//! (`crates/testing/src/tidy`, one file a rule).
//!
//! An `*Invariant:*` line of ARCHITECTURE.md has one of the forms below, or names in parentheses the test that checks it:
//!
//! * `a`, `b` depend only on `x`, `y`.
//! * `a` never depends on `x`, `y`.
//! * `a`, `b` forbid unsafe code.
//! * `a` never names `x`, `y`.

use reweave_explore::AlgorithmName;
use reweave_testing::tidy::{
    self, calls,
    crates::{cycle, dependencies, differences, graph},
    limits, strays,
    tree::{files, pages, read, root, sources},
};
use std::fs;

/// Lines above which a file is hard to keep in one's head.
const LONGEST: usize = 800;

/// Files that are longer, with their length. Entries may shrink and go, never grow or come.
const LONGER: &[(&str, usize)] = &[];

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Where a word stands in a text as a word of its own.
fn finds(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].chars().next_back().is_some_and(part) || !word.starts_with(part))
}

fn fail_if_any(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// A page without its blocks of code.
fn prose(page: &str) -> String {
    let outside = page.split("```").step_by(2);
    outside.collect()
}

/// Paths of this tree that a page names: between backquotes from the root, as a link from the page itself.
fn missing_paths(name: &str, page: &str) -> Vec<String> {
    let tops = [
        "crates/",
        "scripts/",
        "benches/",
        "programs/",
        "docs/",
        ".ci/",
    ];
    let is_path = |word: &&str| {
        let plain = !word.contains([' ', '*', '<', '(']);
        plain && (tops.iter().any(|top| word.starts_with(top)) || word.ends_with(".md"))
    };
    let text = prose(page);
    let named = quoted(&text).into_iter().filter(is_path);
    let named = named.map(|path| (path, root().join(path)));
    let page = root().join(name);
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#']).next());
    let links = links.filter(|link| !link.is_empty() && !link.contains("://"));
    let links = links.map(|link| (link, page.with_file_name(link)));
    let missing = named.chain(links).filter(|(_, path)| !path.exists());
    missing.map(|(path, _)| format!("{name}: {path}")).collect()
}

#[test]
fn paths_in_documents_exist() {
    // The changelog names what was there once.
    let pages = pages().into_iter();
    let pages = pages.filter(|page| page.path != "CHANGELOG.md");
    let missing: Vec<String> = pages
        .flat_map(|page| missing_paths(&page.path, &page.text))
        .collect();
    fail_if_any("documents name paths that are not there", &missing);
}

#[test]
fn missing_paths_are_noticed() {
    let page = "`crates/nowhere`, `crates/cli`, [a](README.md), [b](../README.md#c), [d](e.md), [f](https://g)\n```\n`crates/code`\n```\n`docs/h.md`";
    let missing = [
        "docs/x.md: crates/nowhere",
        "docs/x.md: docs/h.md",
        "docs/x.md: README.md",
        "docs/x.md: e.md",
    ];
    assert_eq!(missing_paths("docs/x.md", page), missing);
}

/// Why an invariant does not hold; `None`: it does.
fn broken(line: &str) -> Option<String> {
    let says = |verb: &str| {
        let (left, right) = line.split_once(verb)?;
        Some((quoted(left), quoted(right)))
    };
    let manifest = |name: &str| dependencies(&read(&format!("crates/{name}/Cargo.toml")));
    let only = says(" depends only on ").or_else(|| says(" depend only on "));
    if let Some((crates, allowed)) = only {
        return crates.iter().find_map(|name| {
            let found = manifest(name);
            let other = found
                .iter()
                .find(|dependency| !allowed.contains(&dependency.as_str()))?;
            Some(format!("{name} depends on {other}"))
        });
    }
    let never = says(" never depends on ").or_else(|| says(" never depend on "));
    if let Some((crates, forbidden)) = never {
        return crates.iter().find_map(|name| {
            let found = manifest(name);
            let other = forbidden
                .iter()
                .find(|dependency| found.contains(**dependency))?;
            Some(format!("{name} depends on {other}"))
        });
    }
    if line.contains(" unsafe code") {
        return quoted(line).iter().find_map(|name| {
            let head = crate_root(name);
            let forbids = head.lines().any(|line| line == "#![forbid(unsafe_code)]");
            (!forbids).then(|| format!("{name} does not forbid it"))
        });
    }
    if let Some((crates, words)) = says(" never names ").or_else(|| says(" never name ")) {
        let sources = sources();
        return sources.iter().find_map(|source| {
            let (path, text) = (&source.path, &source.text);
            let mine = |name: &&&str| path.starts_with(&format!("crates/{name}/src/"));
            crates.iter().find(mine)?;
            let word = words.iter().find(|word| finds(text, word))?;
            Some(format!("{path} names {word}"))
        });
    }
    let inside = line
        .rsplit_once('(')
        .map(|(_, rest)| quoted(rest))
        .unwrap_or_default();
    match inside.first() {
        Some(path) if root().join(path).exists() => None,
        Some(path) => Some(format!("{path} is not there")),
        None => Some("no known form, and no test is named".into()),
    }
}

#[test]
fn invariants_of_the_architecture_hold() {
    let text = read("ARCHITECTURE.md");
    let claim = "Invariant:* ";
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim_start_matches(['*', ' ']).strip_prefix(claim))
        .collect();
    assert!(
        lines.len() >= 8,
        "only {} invariants were found",
        lines.len()
    );
    let wrong: Vec<String> = lines
        .iter()
        .filter_map(|line| Some(format!("{} [{}]", line.trim(), broken(line)?)))
        .collect();
    fail_if_any("invariants that do not hold", &wrong);
}

/// The rules above find what they are there for.
#[test]
fn broken_invariants_are_noticed() {
    let wrong = [
        "`report` depends only on `serde`.",
        "`report` never depends on `explore`, `model`.",
        "`fiber`, `report` forbid unsafe code.",
        "`cli` never names `process::ExitCode`.",
        "everything is fine.",
        "everything is fine (`crates/cli/tests/nowhere.rs`).",
    ];
    for line in wrong {
        assert!(broken(line).is_some(), "{line}");
    }
    assert_eq!(broken("all is well (`crates/cli/tests/tidy.rs`)."), None);
}

fn crate_root(name: &str) -> String {
    let dir = root().join("crates").join(name).join("src");
    let roots = ["lib.rs", "main.rs"].map(|file| dir.join(file));
    let found = roots.iter().find(|path| path.exists());
    let found = found.unwrap_or_else(|| panic!("crate {name} has no root"));
    fs::read_to_string(found).expect("sources are UTF-8")
}

#[test]
fn modules_begin_with_what_they_are_for() {
    let bare = sources().into_iter().filter(|source| {
        source.package().is_some() && source.is_library() && !source.text.starts_with("//! ")
    });
    let bare: Vec<String> = bare.map(|source| source.path).collect();
    fail_if_any("files whose first line is not `//! ...`", &bare);
}

#[test]
fn no_file_is_too_long() {
    let mut wrong = Vec::new();
    let sources = sources();
    for source in &sources {
        let path = &source.path;
        let lines = source.text.lines().count();
        let allowed = LONGER
            .iter()
            .find(|(name, _)| name == path)
            .map(|(_, lines)| *lines);
        if lines > allowed.unwrap_or(LONGEST) {
            wrong.push(format!("{path}: {lines} lines"));
        } else if allowed.is_some_and(|allowed| lines < allowed) {
            wrong.push(format!(
                "{path}: {lines} lines now; lower or remove its entry"
            ));
        }
    }
    for (path, _) in LONGER {
        if sources.iter().all(|source| source.path != *path) {
            wrong.push(format!("{path}: is gone; remove its entry"));
        }
    }
    fail_if_any("files above the limit", &wrong);
}

/// Long functions, errors that are strings, reasons for unsafe code, imports between families of calls, odd English.
#[test]
fn what_may_only_shrink_does_not_grow() {
    let lines = limits::compare(&tidy::ratchets());
    fail_if_any("ratchets (`scripts/ratchets`)", &limits::broken(&lines));
}

#[test]
fn crates_are_those_of_the_architecture_and_have_no_cycle() {
    fail_if_any("ARCHITECTURE.md and the manifests", &differences());
    assert_eq!(cycle(&graph()), None);
}

#[test]
fn every_file_is_explained() {
    fail_if_any("no program and not named by one", &strays::below_programs());
    fail_if_any("unknown in the root", &strays::in_the_root());
}

/// In unit tests of the runtime its calls must not take the place of the test's own.
#[test]
fn the_runtime_exports_nothing_in_unit_tests() {
    let bare = ["no_mangle", "export_name"].map(|name| format!("#[unsafe({name}"));
    let mut wrong = Vec::new();
    for source in sources() {
        let mut before = "";
        for (line, number) in source.text.lines().zip(1..) {
            let exports = bare.iter().any(|bare| line.contains(bare));
            let left_out = before.trim() == "#[cfg(not(test))]";
            if source.package() == Some("runtime") && exports && !left_out {
                wrong.push(format!("{}:{number}", source.path));
            }
            before = line;
        }
    }
    fail_if_any("not `cfg_attr(not(test), ...)`", &wrong);
}

/// What several crates share is in `crates/testing`.
#[test]
fn modules_are_where_their_names_say() {
    let attribute = format!("#[{}", "path");
    let sources = sources().into_iter();
    let wrong = sources.filter(|source| source.text.contains(&attribute));
    let wrong: Vec<String> = wrong.map(|source| source.path).collect();
    fail_if_any("modules by path", &wrong);
}

#[test]
fn nothing_is_left_undone() {
    // Put together here, so that this file does not find itself.
    let words = ["todo", "unimplemented", "dbg"].map(|word| format!("{word}!("));
    let ignored = format!("#[{}", "ignore");
    let mut wrong = Vec::new();
    for source in sources() {
        let path = &source.path;
        for (number, line) in source.text.lines().enumerate() {
            let undone = words.iter().any(|word| finds(line, word));
            // The attribute of the macro crate keeps a test's own attributes, and says so.
            let skipped = line.contains(&ignored) && !path.starts_with("crates/macros/");
            if undone || skipped {
                wrong.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    fail_if_any("leftovers", &wrong);
}

#[test]
fn the_tree_is_the_same_on_every_machine() {
    let dirs = ["work", "home", "root", "Users"].map(|dir| format!("/{dir}/"));
    let index = "registry+https://github.com/rust-lang/crates.io-index";
    let mut wrong = Vec::new();
    for (name, path) in files() {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            let own = dirs.iter().any(|dir| {
                line.match_indices(dir.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_alphanumeric() && !"._-/}*".contains(c))
                })
            });
            let foreign = name.ends_with("Cargo.lock")
                && line.starts_with("source = ")
                && !line.contains(index);
            let mirror = name.contains(".cargo/config") && line.contains("replace-with");
            if own || foreign || mirror {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    fail_if_any("places of one machine", &wrong);
}

#[test]
fn the_table_of_calls_is_what_the_runtime_does() {
    let page = read("docs/calls.md");
    assert!(
        page == calls::page(&sources()),
        "docs/calls.md is not what the runtime's sources say: run scripts/calls"
    );
}

/// The table of algorithms is out of reach for the attribute's crate and for pages.
#[test]
fn every_algorithm_is_named_where_users_choose_one() {
    let places = [
        (
            "crates/macros/src/options.rs",
            "const ALGORITHMS",
            "];",
            '"',
        ),
        ("crates/macros/src/lib.rs", "| `algorithm = ", "\n", '`'),
        ("docs/options.md", "| `--algorithm auto`", "\n", '`'),
        ("docs/options.md", "| `algorithm = ", "\n", '`'),
    ];
    let mut missing = Vec::new();
    for (path, begin, end, quote) in places {
        let text = read(path);
        let (_, rest) = text.split_once(begin).expect(begin);
        let listed = rest.split(end).next().unwrap_or_default();
        let named = AlgorithmName::NAMES.iter().map(|(name, _)| name);
        let unnamed = named.filter(|name| !listed.contains(&format!("{quote}{name}{quote}")));
        missing.extend(unnamed.map(|name| format!("{path}: `{name}` in the line of {begin}")));
    }
    fail_if_any("algorithms that are not listed", &missing);
}
