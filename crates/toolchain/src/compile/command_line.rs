//! A compiler's command line: which words are inputs, which belong together, which step they are for.
//!
//! *Called by:* `compile`, and the command to tell a compiler's options from its own. *Invariants:* knows just enough
//! of gcc's and clang's options to find inputs and outputs; everything else is passed on unchanged.

use super::{Language, response_file};
use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// What a command line asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// To say something: it has no inputs.
    Ask,
    /// Objects, assembly, preprocessed text, dependencies.
    Compile,
    /// A program or a library.
    Link,
}

/// A file to compile, and the language that `-x` gave it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Source {
    pub file: OsString,
    pub named: Option<OsString>,
}

impl Source {
    pub fn language(&self) -> Option<Language> {
        Language::of(&self.file, self.named.as_deref())
    }
}

/// Words that belong together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// A file to compile.
    Source(Source),
    /// A file for the linker.
    Input(OsString),
    /// `-o`.
    Output(OsString),
    /// `-x`.
    Language(OsString),
    /// An option, with its value where that is a word of its own.
    Option(Vec<OsString>),
}

impl Part {
    /// Whether it is `-lNAME`.
    pub(super) fn is_library(&self) -> bool {
        matches!(self, Part::Option(words) if words[0].as_bytes().starts_with(b"-l"))
    }

    fn words(&self) -> Vec<OsString> {
        match self {
            Part::Source(source) => vec![source.file.clone()],
            Part::Input(file) => vec![file.clone()],
            Part::Output(file) => vec!["-o".into(), file.clone()],
            Part::Language(name) => vec!["-x".into(), name.clone()],
            Part::Option(words) => words.clone(),
        }
    }

    /// For the linker, which is not to bring the sanitizer's own library along nor throw away names and places.
    pub(super) fn link_words(&self) -> Vec<OsString> {
        let Part::Option(words) = self else {
            return match self {
                Part::Language(_) => Vec::new(),
                part => part.words(),
            };
        };
        let option = words[0].to_string_lossy();
        if let Some(list) = option.strip_prefix("-fsanitize=") {
            let kept: Vec<&str> = list.split(',').filter(|name| *name != "thread").collect();
            return match kept.is_empty() {
                true => Vec::new(),
                false => vec![format!("-fsanitize={}", kept.join(",")).into()],
            };
        }
        // Objects that are made here have nothing left for a linker to compile, and exceptions pass through the runtime by the shared
        // library that unwinds.
        let dropped = matches!(&*option, "-s" | "-static-libgcc")
            || option.starts_with("-M")
            || option.starts_with("-flto");
        if dropped { Vec::new() } else { words.clone() }
    }

    /// For the compiler of one file of several.
    fn compile_words(&self) -> Vec<OsString> {
        match self {
            Part::Option(words) => {
                let option = words[0].as_bytes();
                let linker = [&b"-l"[..], b"-L", b"-Wl,", b"-Xlinker"];
                match linker.iter().any(|name| option.starts_with(name)) {
                    true => Vec::new(),
                    false => words.clone(),
                }
            }
            _ => Vec::new(),
        }
    }
}

/// A compiler's command line.
#[derive(Clone, Debug)]
pub struct CommandLine {
    parts: Vec<Part>,
}

impl CommandLine {
    /// Takes it apart. Response files (`@file`) are read first.
    pub fn read(words: Vec<OsString>) -> CommandLine {
        let mut expanded = Vec::new();
        response_file::expand(words, 0, &mut expanded);
        let mut words = expanded.into_iter();
        let mut parts = Vec::new();
        let mut language: Option<OsString> = None;
        while let Some(word) = words.next() {
            if word == "-" || !word.as_bytes().starts_with(b"-") {
                let source = language.is_some() || compiled(&word);
                parts.push(match source {
                    true => Part::Source(Source {
                        file: word,
                        named: language.clone(),
                    }),
                    false => Part::Input(word),
                });
                continue;
            }
            let joined = |name: &str| {
                let rest = word.as_bytes().strip_prefix(name.as_bytes())?;
                (!rest.is_empty()).then(|| OsStr::from_bytes(rest).to_owned())
            };
            if let Some(name) = joined("-x").or_else(|| next_if(&word, "-x", &mut words)) {
                language = Some(name.clone()).filter(|name| name != "none");
                parts.push(Part::Language(name));
            } else if let Some(file) = joined("-o").or_else(|| next_if(&word, "-o", &mut words)) {
                parts.push(Part::Output(file));
            } else if takes_value(&word) {
                let value = words.next();
                parts.push(Part::Option(
                    [Some(word), value].into_iter().flatten().collect(),
                ));
            } else {
                parts.push(Part::Option(vec![word]));
            }
        }
        CommandLine { parts }
    }

    pub(super) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Files to compile.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Source> {
        self.parts.iter().filter_map(|part| match part {
            Part::Source(source) => Some(source),
            _ => None,
        })
    }

    /// The language of all files to compile, if they have one in common.
    pub(super) fn language(&self) -> Option<Language> {
        let mut languages = self.sources().map(Source::language);
        let first = languages.next()??;
        languages.all(|it| it == Some(first)).then_some(first)
    }

    /// The first file to compile or link.
    pub fn first_file(&self) -> Option<&OsStr> {
        self.files().next()
    }

    /// Files to compile or link.
    pub(super) fn files(&self) -> impl Iterator<Item = &OsStr> {
        self.parts.iter().filter_map(|part| match part {
            Part::Source(source) => Some(source.file.as_os_str()),
            Part::Input(file) => Some(file.as_os_str()),
            _ => None,
        })
    }

    pub(super) fn output(&self) -> Option<&Path> {
        self.parts.iter().rev().find_map(|part| match part {
            Part::Output(file) => Some(Path::new(file)),
            _ => None,
        })
    }

    fn has(&self, options: &[&str]) -> bool {
        self.parts.iter().any(|part| match part {
            Part::Option(words) => options.iter().any(|option| words[0] == *option),
            _ => false,
        })
    }

    pub(super) fn stage(&self) -> Stage {
        let any = self.files().next().is_some() || self.parts.iter().any(Part::is_library);
        let header = |file: &OsStr| {
            let extension = Path::new(file).extension().and_then(OsStr::to_str);
            extension.is_some_and(|name| HEADERS.contains(&name))
        };
        if !any || self.has(&["-###", "--help", "--version"]) {
            return Stage::Ask;
        }
        let short = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];
        let headers = self.sources().any(|source| match &source.named {
            Some(named) => named.as_bytes().ends_with(b"-header"),
            None => header(&source.file),
        });
        match self.has(&short) || headers {
            true => Stage::Compile,
            false => Stage::Link,
        }
    }

    /// Whether what is linked is loaded as it is; a part of something larger gets the runtime later.
    pub(super) fn links_runtime(&self) -> bool {
        !self.has(&["-r", "-nostdlib", "-nodefaultlibs"])
    }

    /// Whether the C library is to be a part of what is linked.
    pub(super) fn links_statically(&self) -> bool {
        self.links_runtime() && self.has(&["-static", "--static", "-static-pie"])
    }

    /// All of it.
    pub(super) fn words(&self) -> Vec<OsString> {
        self.parts.iter().flat_map(Part::words).collect()
    }

    /// For a step that only links.
    pub(super) fn link_words(&self) -> Vec<OsString> {
        self.parts.iter().flat_map(Part::link_words).collect()
    }

    /// Options for the compilation of one of its files; `language`: leave out those for others.
    pub(super) fn compile_words(&self, file: &OsStr, language: Option<Language>) -> Vec<OsString> {
        let words = self.parts.iter().flat_map(Part::compile_words);
        let meant = |word: &OsString| !language.is_some_and(|language| language.refuses(word));
        let mut words: Vec<OsString> = words.filter(meant).collect();
        words.extend(self.dependencies(file));
        words
    }

    /// Where dependencies go, which gcc names after the program when it compiles and links at once.
    fn dependencies(&self, file: &OsStr) -> Vec<OsString> {
        let mut words = Vec::new();
        if !self.has(&["-MD", "-MMD"]) {
            return words;
        }
        let stem = Path::new(file).file_stem().unwrap_or(file);
        let named = |extension: &str| PathBuf::from(stem).with_extension(extension);
        if !self.has(&["-MF"]) {
            let list = match self.output() {
                Some(output) => output.with_extension("d"),
                None => format!("a-{}", named("d").display()).into(),
            };
            words.extend(["-MF".into(), list.into()]);
        }
        if !self.has(&["-MT", "-MQ"]) {
            let made = self.output().map_or_else(|| named("o"), PathBuf::from);
            words.extend(["-MQ".into(), made.into()]);
        }
        words
    }
}

const HEADERS: [&str; 8] = ["h", "H", "hh", "hp", "hpp", "hxx", "h++", "tcc"];

/// Whether a compiler compiles a file of that name, or preprocesses or assembles it.
fn compiled(file: &OsStr) -> bool {
    let extension = Path::new(file).extension().and_then(OsStr::to_str);
    let other = ["s", "S", "sx", "m", "mm", "mi", "mii", "d", "go"];
    Language::of(file, None).is_some()
        || extension.is_some_and(|name| other.contains(&name) || HEADERS.contains(&name))
}

fn next_if(
    word: &OsStr,
    name: &str,
    words: &mut impl Iterator<Item = OsString>,
) -> Option<OsString> {
    (word == name).then(|| words.next()).flatten()
}

/// Whether the option's value is the word after it.
pub fn takes_value(option: &OsStr) -> bool {
    let separate = [
        "-A",
        "-B",
        "-D",
        "-I",
        "-L",
        "-MF",
        "-MQ",
        "-MT",
        "-T",
        "-U",
        "-Xassembler",
        "-Xclang",
        "-Xlinker",
        "-Xpreprocessor",
        "-arch",
        "-aux-info",
        "-dumpbase",
        "-dumpbase-ext",
        "-dumpdir",
        "-e",
        "-framework",
        "-idirafter",
        "-imacros",
        "-imultilib",
        "-include",
        "-iprefix",
        "-iquote",
        "-isysroot",
        "-isystem",
        "-iwithprefix",
        "-iwithprefixbefore",
        "-l",
        "-mllvm",
        "-target",
        "-u",
        "-wrapper",
        "-z",
        "--param",
        "--sysroot",
        "-specs",
    ];
    separate.iter().any(|name| option == *name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn line(words: &str) -> CommandLine {
        CommandLine::read(words.split_whitespace().map(OsString::from).collect())
    }

    fn joined(words: &[OsString]) -> String {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn inputs_are_told_from_values() {
        let line = line("-I include -o x.c a.c -D b.c -MF c.d d.o -lm -x c++ e -x none f");
        let sources: Vec<_> = line
            .sources()
            .map(|source| (source.file.to_str().unwrap(), source.named.is_some()))
            .collect();
        assert_eq!(sources, [("a.c", false), ("e", true)]);
        assert_eq!(line.output(), Some(Path::new("x.c")));
    }

    #[test]
    fn stages() {
        let cases = [
            ("a.c -o a", Stage::Link),
            ("a.o -o a", Stage::Link),
            ("-shared a.c", Stage::Link),
            ("-c a.c b.c", Stage::Compile),
            ("a.c -E", Stage::Compile),
            ("-MM a.c", Stage::Compile),
            ("-MD a.c", Stage::Link),
            ("all.hpp", Stage::Compile),
            ("-x c++-header all", Stage::Compile),
            ("--version", Stage::Ask),
            ("-v", Stage::Ask),
            ("-print-prog-name=ld", Stage::Ask),
            ("-x c -", Stage::Link),
        ];
        for (words, stage) in cases {
            assert_eq!(line(words).stage(), stage, "{words}");
        }
    }

    #[test]
    fn languages() {
        let cases = [
            ("-c a.f90 b.F", Some(Language::Fortran)),
            ("-c a.f90 b.c", None),
            ("-c -x f95 a", Some(Language::Fortran)),
            ("-c a.cpp", Some(Language::Cxx)),
            ("-c a.s", None),
            ("a.o", None),
        ];
        for (words, language) in cases {
            assert_eq!(line(words).language(), language, "{words}");
        }
    }

    #[test]
    fn a_static_c_library_is_noticed() {
        assert!(line("a.o -static").links_statically());
        assert!(!line("a.o -static-libstdc++").links_statically());
        assert!(!line("-r a.o -static").links_statically());
    }

    #[test]
    fn the_linker_gets_no_sanitizer_library() {
        let line = line(
            "-fsanitize=thread a.o -fsanitize=thread,undefined -x c -s -MD -MF d -static-libgcc -lm",
        );
        assert_eq!(joined(&line.link_words()), "a.o -fsanitize=undefined -lm");
    }

    #[test]
    fn one_file_gets_the_options_that_are_for_it() {
        let line = line("-O2 a.c b.o -lm -Wl,-s -std=c++20 -DN=1 -o p");
        let words = |language| joined(&line.compile_words(OsStr::new("a.c"), language));
        assert_eq!(words(Some(Language::C)), "-O2 -DN=1");
        assert_eq!(words(Some(Language::Cxx)), "-O2 -std=c++20 -DN=1");
        assert_eq!(words(None), "-O2 -std=c++20 -DN=1");
    }

    /// As gcc 12 does it.
    #[test]
    fn dependencies_are_named_after_the_program() {
        let words = |words: &str| joined(&line(words).compile_words(OsStr::new("d/m.c"), None));
        assert_eq!(words("-MD d/m.c -o bin/p"), "-MD -MF bin/p.d -MQ bin/p");
        assert_eq!(words("-MD d/m.c"), "-MD -MF a-m.d -MQ m.o");
        assert_eq!(words("-MMD -MF f -MT t d/m.c"), "-MMD -MF f -MT t");
    }

    #[test]
    fn response_files_may_name_each_other_and_themselves() {
        let place = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = place.path().join(name);
            fs::write(&path, text).unwrap();
            OsString::from(format!("@{}", path.display()))
        };
        let inner = file("inner", "-DX inner.c");
        let outer = file("outer", &format!("outer.c {}", inner.to_str().unwrap()));
        let line = CommandLine::read(vec![outer, "@nowhere".into()]);
        assert_eq!(joined(&line.words()), "outer.c -DX inner.c @nowhere");
        let own = format!("@{}", place.path().join("own").display());
        let own = file("own", &format!("a.c {own}"));
        assert_eq!(
            CommandLine::read(vec![own]).sources().count(),
            response_file::DEEPEST
        );
    }
}
