//! Rules about the tree itself, checked so that they stay true: what ARCHITECTURE.md claims, sizes, leftovers.
//!
//! An `*Invariant:*` line of ARCHITECTURE.md has one of the forms below, or names in parentheses the test that checks it:
//!
//! * `a`, `b` depend only on `x`, `y`.
//! * `a` never depends on `x`, `y`.
//! * `a`, `b` forbid unsafe code.
//! * `a` never names `x`, `y`.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Lines above which a file is hard to keep in one's head.
const LONGEST: usize = 800;

/// Files that are longer, with their length. Entries may shrink and go, never grow or come.
const LONGER: &[(&str, usize)] = &[];

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("crates/cli is two below")
        .into()
}

/// All files of the tree that are not made by a build or a run.
fn files() -> Vec<(String, PathBuf)> {
    fn walk(dir: &Path, root: &Path, found: &mut Vec<(String, PathBuf)>) {
        for entry in fs::read_dir(dir).expect("the tree can be read") {
            let path = entry.expect("the tree can be read").path();
            let name = path
                .file_name()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if path.is_dir() {
                let made = name.starts_with("target") || name == ".git" || name == "reweave-out";
                if !made {
                    walk(&path, root, found);
                }
            } else if name != ".git" {
                let inside = path.strip_prefix(root).expect("found below the root");
                found.push((inside.to_string_lossy().into_owned(), path));
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &root(), &mut found);
    found.sort();
    found
}

fn sources() -> Vec<(String, String)> {
    let rust = files()
        .into_iter()
        .filter(|(name, _)| name.ends_with(".rs"));
    rust.map(|(name, path)| (name, fs::read_to_string(path).expect("sources are UTF-8")))
        .collect()
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

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

#[test]
fn paths_in_the_architecture_exist() {
    let text = read("ARCHITECTURE.md");
    let tops = [
        "crates/",
        "scripts/",
        "benches/",
        "programs/",
        ".ci/",
        "tests/",
    ];
    let is_path = |word: &&str| {
        let plain = !word.contains([' ', '*', '<', '(']);
        plain && (tops.iter().any(|top| word.starts_with(top)) || word.ends_with(".md"))
    };
    let missing = quoted(&text).into_iter().filter(is_path);
    let missing: Vec<String> = missing
        .filter(|path| !root().join(path).exists())
        .map(String::from)
        .collect();
    fail_if_any("ARCHITECTURE.md names paths that are not there", &missing);
}

/// Names of the normal and build dependencies in a manifest; own crates by their short names.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            let dotted = section.rsplit_once("dependencies.");
            inside = section.ends_with("dependencies") && !section.contains("dev-");
            if let (Some((front, name)), true) = (dotted, !section.contains("dev-")) {
                if front.is_empty() || front.ends_with(['.', '-']) {
                    names.insert(name.to_owned());
                }
            }
            continue;
        }
        let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
        if inside && !name.is_empty() && !name.starts_with('#') {
            names.insert(name.trim_matches('"').to_owned());
        }
    }
    let short = |name: String| {
        name.strip_prefix("reweave-")
            .map(String::from)
            .unwrap_or(name)
    };
    names.into_iter().map(short).collect()
}

#[test]
fn dependencies_are_found_in_every_form() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\nb = \"1\"\n# c = \"1\"\n\
                    [dev-dependencies]\nd = \"1\"\n[target.'cfg(unix)'.dependencies]\nreweave-e = { path = \"e\" }\n\
                    [dependencies.f]\nversion = \"1\"\n[lints]\nworkspace = true\n";
    let found: Vec<String> = dependencies(manifest).into_iter().collect();
    assert_eq!(found, ["a", "b", "e", "f"]);
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
        return sources.iter().find_map(|(path, text)| {
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
    let bare = sources().into_iter().filter(|(path, text)| {
        path.starts_with("crates/") && path.contains("/src/") && !text.starts_with("//! ")
    });
    let bare: Vec<String> = bare.map(|(path, _)| path).collect();
    fail_if_any("files whose first line is not `//! ...`", &bare);
}

#[test]
fn no_file_is_too_long() {
    let mut wrong = Vec::new();
    let sources = sources();
    for (path, text) in &sources {
        let lines = text.lines().count();
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
        if sources.iter().all(|(name, _)| name != path) {
            wrong.push(format!("{path}: is gone; remove its entry"));
        }
    }
    fail_if_any("files above the limit", &wrong);
}

#[test]
fn nothing_is_left_undone() {
    // Put together here, so that this file does not find itself.
    let words = ["todo", "unimplemented", "dbg"].map(|word| format!("{word}!("));
    let ignored = format!("#[{}", "ignore");
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
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
