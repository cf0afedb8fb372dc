//! Compiles C and C++ with the compiler's own thread-sanitizer instrumentation and links against the runtime.
//!
//! *Decides:* which compiler runs, with which flags, in which steps. *Called by:* `reweave-native` to build a program
//! ([`build`]), the command for `cc` and `c++` ([`run_as_compiler`]) and for `build` ([`Wrappers`]). *Owns:* nothing but
//! temporary directories.
//!
//! For `-fsanitize=thread`, compilers insert hooks when they compile and add the sanitizer's library when they link. So
//! the two are always separate steps here: compiling with the flag, linking without it and with the runtime in place of
//! that library. Added flags are in `flags.rs`; `command_line.rs` parses a compiler's command line.

mod command_line;
mod compiler;
mod error;
mod flags;
mod language;
mod response_file;
mod wrappers;

pub use command_line::{CommandLine, takes_value};
pub use compiler::Compiler;
pub(crate) use compiler::in_path;
pub use error::CompileError;
pub use language::Language;
pub use wrappers::Wrappers;
pub(crate) use wrappers::{quoted, write};

use crate::{Kit, assemble::run_as_assembler, temporary::TemporaryDirectory};
use command_line::{Part, Source, Stage};
use std::{
    env,
    ffi::{OsStr, OsString},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::ExitStatus,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// A program that was compiled to be explored. Dropping this removes it.
#[derive(Debug)]
pub struct Built {
    /// The program.
    pub program: PathBuf,
    _directory: TemporaryDirectory,
}

/// Compiles and links the files of a compiler's command line without `-c` and `-o`, for exploration. The flags of
/// `flags.rs` are added, and `-O1` unless there is another level. Compilers' messages go to standard error.
pub fn build(kit: &Kit, words: Vec<OsString>) -> Result<Built, CompileError> {
    let line = CommandLine::read(words);
    if line.links_statically() {
        return Err(CompileError::Static);
    }
    let mut files = line.files().map(Path::new);
    if let Some(missing) = files.find(|file| !file.exists()) {
        return Err(CompileError::Missing(missing.into()));
    }
    let directory = TemporaryDirectory::new();
    let directory = directory.map_err(|error| CompileError::File(env::temp_dir(), error))?;
    // Each file is compiled by the compiler of its language; C++ needs its libraries, so its compiler links.
    let compiler = |language: Language| {
        let wanted = line.sources().any(|it| it.language() == Some(language));
        wanted.then(|| Compiler::find(language)).transpose()
    };
    let (c, cxx) = (compiler(Language::C)?, compiler(Language::Cxx)?);
    let linker = match cxx.as_ref().or(c.as_ref()) {
        Some(compiler) => compiler.clone(),
        None => Compiler::find(Language::C)?,
    };
    let of = |language: Option<Language>| match (&c, language) {
        (Some(c), Some(Language::C)) => c,
        _ => &linker,
    };
    let stem = line
        .files()
        .next()
        .and_then(|file| Path::new(file).file_stem());
    let program = directory.path().join(stem.unwrap_or(OsStr::new("program")));
    let steps = TwoSteps {
        kit,
        line: &line,
        directory: directory.path(),
        front: flags::defaults(),
        own: true,
    };
    let objects = steps.compile(of)?;
    let status = steps.link(&linker, &objects, &program)?;
    match status.success() {
        true => Ok(Built {
            program,
            _directory: directory,
        }),
        false => Err(CompileError::Unlinked(status)),
    }
}

/// Does what the compiler would do with these arguments, with instrumentation added. Returns the compiler's exit code.
pub fn run_as_compiler(
    kit: &Kit,
    compiler: &Compiler,
    args: Vec<OsString>,
) -> Result<u8, CompileError> {
    let line = CommandLine::read(args);
    let code = |status: ExitStatus| match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => 128 + signal.unwrap_or(0) as u8,
    };
    let plain = match line.stage() {
        Stage::Ask => line.words(),
        Stage::Compile => {
            let mut words = line.words();
            words.extend(flags::compile(kit, compiler, line.language()));
            words.extend(flags::assembler(kit));
            words.extend(
                line.sources()
                    .flat_map(|it| flags::for_source(&it.file, compiler)),
            );
            words
        }
        Stage::Link if line.links_statically() => return Err(CompileError::Static),
        Stage::Link if line.sources().next().is_none() => {
            let mut words = flags::link(kit, line.links_runtime());
            words.extend(line.link_words());
            words
        }
        Stage::Link => {
            let directory = TemporaryDirectory::new();
            let directory =
                directory.map_err(|error| CompileError::File(env::temp_dir(), error))?;
            let steps = TwoSteps {
                kit,
                line: &line,
                directory: directory.path(),
                front: Vec::new(),
                own: false,
            };
            let objects = match steps.compile(|_| compiler) {
                Ok(objects) => objects,
                // The compiler has reported the mistakes.
                Err(CompileError::Refused(_, status)) => return Ok(code(status)),
                Err(error) => return Err(error),
            };
            let output = line.output().unwrap_or(Path::new("a.out"));
            return steps.link(compiler, &objects, output).map(code);
        }
    };
    compiler.run(&plain, false).map(code)
}

/// A file that is written in assembly.
#[derive(Clone, Copy)]
enum Assembly {
    Plain,
    /// The compiler goes over it first.
    Preprocessed,
}

fn assembly(file: &OsStr) -> Option<Assembly> {
    match Path::new(file).extension()?.to_str()? {
        "s" => Some(Assembly::Plain),
        "S" | "sx" => Some(Assembly::Preprocessed),
        _ => None,
    }
}

/// Assembles what a compiler has written, with hooks added.
fn assemble(text: &Path, object: &Path, words: &[OsString]) -> Result<ExitStatus, CompileError> {
    let mut args: Vec<OsString> = ["--64".into(), "-o".into(), object.into()].into();
    // Options of the user's for the assembler.
    let options = words
        .iter()
        .filter_map(|word| word.to_str()?.strip_prefix("-Wa,"));
    args.extend(options.flat_map(|it| it.split(',')).map(OsString::from));
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "-I" {
            args.extend([word.clone()].into_iter().chain(words.next().cloned()));
        } else if word.as_encoded_bytes().starts_with(b"-I") {
            args.push(word.clone());
        }
    }
    args.push(text.into());
    let code = run_as_assembler(&args).map_err(CompileError::Assemble)?;
    Ok(ExitStatus::from_raw(i32::from(code) << 8))
}

/// A command line that compiles and links, in two steps.
struct TwoSteps<'a> {
    kit: &'a Kit,
    line: &'a CommandLine,
    /// For object files.
    directory: &'a Path,
    /// Flags that the user's may override.
    front: Vec<OsString>,
    /// Whether the program is for exploration only, and not the product of a user's build.
    own: bool,
}

impl TwoSteps<'_> {
    /// Compiles all sources, as many at a time as there are cores.
    fn compile<'c>(
        &self,
        compiler: impl Fn(Option<Language>) -> &'c Compiler + Sync,
    ) -> Result<Vec<PathBuf>, CompileError> {
        let sources: Vec<_> = self.line.sources().collect();
        let objects: Vec<PathBuf> = (0..sources.len())
            .map(|index| self.directory.join(format!("{index}.o")))
            .collect();
        let next = AtomicUsize::new(0);
        let failed: Mutex<Vec<(usize, Result<ExitStatus, CompileError>)>> = Mutex::default();
        let compile_next = || {
            loop {
                let index = next.fetch_add(1, Relaxed);
                let Some(source) = sources.get(index) else {
                    return;
                };
                let outcome = self.compile_one(source, &objects[index], &compiler);
                if !matches!(&outcome, Ok(status) if status.success()) {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.push((index, outcome));
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..cores.min(sources.len()) {
                scope.spawn(compile_next);
            }
            compile_next();
        });
        let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        failed.sort_by_key(|(index, _)| *index);
        let mut refused = Vec::new();
        let mut first = None;
        for (index, outcome) in failed {
            first.get_or_insert(outcome?);
            refused.push(PathBuf::from(&sources[index].file));
        }
        match first {
            None => Ok(objects),
            Some(status) => Err(CompileError::Refused(refused, status)),
        }
    }

    /// Compiles a source, or assembles it. Files of assembly have no language; our assembler looks at what they access.
    fn compile_one<'c>(
        &self,
        source: &Source,
        object: &Path,
        compiler: impl Fn(Option<Language>) -> &'c Compiler,
    ) -> Result<ExitStatus, CompileError> {
        let language = source.language();
        let compiler = compiler(language);
        let mut words = self.front.clone();
        let only = language.filter(|_| self.own);
        words.extend(self.line.compile_words(&source.file, only));
        words.extend(flags::compile(self.kit, compiler, language));
        words.extend(flags::for_source(&source.file, compiler));
        let by_hand = assembly(&source.file).filter(|_| language.is_none());
        if let Some(Assembly::Plain) = by_hand {
            return assemble(Path::new(&source.file), object, &words);
        }
        let text = (language.is_some() || by_hand.is_some()).then(|| object.with_extension("s"));
        let until = match by_hand {
            Some(_) => "-E",
            None if text.is_some() => "-S",
            None => "-c",
        };
        let output = text.as_deref().unwrap_or(object);
        words.extend([until.into(), "-o".into(), output.into()]);
        if let Some(named) = &source.named {
            words.extend(["-x".into(), named.clone()]);
        }
        words.push(source.file.clone());
        let status = compiler.run(&words, self.own)?;
        match text.filter(|_| status.success()) {
            Some(text) => assemble(&text, object, &words),
            None => Ok(status),
        }
    }

    /// Links the objects, each in its source's place.
    fn link(
        &self,
        compiler: &Compiler,
        objects: &[PathBuf],
        output: &Path,
    ) -> Result<ExitStatus, CompileError> {
        let mut words = flags::link(self.kit, self.line.links_runtime());
        if self.own {
            words.push("-pie".into());
        }
        if compiler.is_clang() {
            words.push("-Qunused-arguments".into());
        }
        let mut objects = objects.iter();
        let mut libraries = Vec::new();
        for part in self.line.parts() {
            match part {
                Part::Source(_) => words.extend(objects.next().map(OsString::from)),
                Part::Output(_) => {}
                // Linkers care about the position of libraries; users of `check` need not.
                part if self.own && part.is_library() => libraries.extend(part.link_words()),
                part => words.extend(part.link_words()),
            }
        }
        words.extend(libraries);
        words.extend(["-o".into(), output.into()]);
        compiler.run(&words, self.own)
    }
}
