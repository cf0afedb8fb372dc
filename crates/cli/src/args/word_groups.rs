//! Words of `check` and `estimate`: our options, a compiler's options and files mixed in with them, and after `--` the
//! program and its arguments.
//!
//! *Decides:* which words are whose. *Called by:* `args`. *Owns:* nothing; which options are ours is read from clap's
//! definition of the verb.

use reweave_toolchain::compile::{Language, takes_value};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::Path,
};

/// The words of a command line, by whose they are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WordGroups {
    /// Options of ours, for clap.
    pub ours: Vec<OsString>,
    /// A compiler's options and files, in their order.
    pub compiler: Vec<OsString>,
    /// Whether there are files among them.
    pub files: bool,
    /// All words after `--`, if there is one.
    pub program: Option<Vec<OsString>>,
    /// What is wrong with the words before `--`, unless clap reports it.
    pub mistake: Option<String>,
}

impl WordGroups {
    /// Groups the words after the verb.
    pub fn of(words: impl Iterator<Item = OsString>, verb: &clap::Command) -> WordGroups {
        let mut groups = WordGroups::default();
        let mut words = words;
        let mut language = false;
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            let (name, joined) = match text.split_once('=') {
                Some((name, _)) => (name, true),
                None => (text.as_str(), false),
            };
            if word == "--" {
                groups.program = Some(words.collect());
                break;
            } else if let Some(valued) = is_ours(name, verb) {
                groups.ours.push(word);
                groups
                    .ours
                    .extend((valued && !joined).then(|| words.next()).flatten());
            } else if is_for_compilers(&text) {
                if is_own_step(&text) {
                    groups.mistake.get_or_insert(format!(
                        "{text}: check makes a program of its own, explores it and removes it; `reweave cc` is the compiler itself"
                    ));
                }
                language |= text.starts_with("-x");
                let valued = word == "-x" || takes_value(&word);
                groups.compiler.push(word);
                match valued.then(|| words.next()) {
                    Some(Some(value)) => groups.compiler.push(value),
                    Some(None) => {
                        groups
                            .mistake
                            .get_or_insert(format!("{text} needs a value"));
                    }
                    None => {}
                }
            } else if text.len() > 1 && text.starts_with('-') {
                // Clap knows what to say about it.
                groups.ours.push(word);
                break;
            } else {
                if !is_file(&word, language) {
                    groups.mistake.get_or_insert(format!(
                        "{text} is no C or C++ file by its name; `reweave check -- {text}` explores a program as it is"
                    ));
                }
                groups.files = true;
                groups.compiler.push(word);
            }
        }
        groups
    }
}

/// Whether an option is one of the verb's own, and if so, whether it has a value.
fn is_ours(name: &str, verb: &clap::Command) -> Option<bool> {
    if matches!(name, "--help" | "-h") {
        return Some(false);
    }
    let name = name.strip_prefix("--")?;
    let mut options = verb.get_arguments();
    let option = options.find(|option| option.get_long() == Some(name))?;
    Some(option.get_action().takes_values())
}

/// Options that make something else than a program.
fn is_own_step(option: &str) -> bool {
    const STEPS: [&str; 9] = [
        "-c",
        "-S",
        "-E",
        "-M",
        "-MM",
        "-shared",
        "-r",
        "-static",
        "-fsyntax-only",
    ];
    STEPS.contains(&option) || option.starts_with("-o")
}

/// Whether an option is one that a compiler understands.
fn is_for_compilers(option: &str) -> bool {
    const FAMILIES: [&str; 18] = [
        "-B",
        "-D",
        "-I",
        "-L",
        "-O",
        "-U",
        "-W",
        "-X",
        "-f",
        "-g",
        "-i",
        "-l",
        "-m",
        "-pedantic",
        "-std=",
        "-x",
        "--param",
        "--sysroot",
    ];
    const WORDS: [&str; 15] = [
        "-ansi",
        "-pipe",
        "-pthread",
        "-rdynamic",
        "-s",
        "-trigraphs",
        "-undef",
        "-w",
        "-no-pie",
        "-pie",
        "-nostdinc",
        "-nostdinc++",
        "-z",
        "-u",
        "-T",
    ];
    let family = FAMILIES.iter().any(|family| option.starts_with(family));
    is_own_step(option) || WORDS.contains(&option) || family
}

/// Whether a word names something to compile or link.
fn is_file(word: &OsStr, language: bool) -> bool {
    // The contents of a response file are the compiler's.
    let response = word.as_bytes().starts_with(b"@");
    let extension = Path::new(word).extension().and_then(OsStr::to_str);
    let linked = ["a", "o", "s", "so", "S"];
    let linked = extension.is_some_and(|name| linked.contains(&name));
    response || linked || language || Language::of(word, None).is_some()
}
