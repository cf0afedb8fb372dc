//! Compiles C and C++ with the compiler's own thread-sanitizer instrumentation, linked against our runtime.
//!
//! *Decides:* which compiler runs, with which flags, in which steps. *Called by:* the command, for `check FILE` ([`build`]), for
//! `cc` and `c++` ([`stand_in`]) and for `build` ([`Wrappers`]). *Owns:* nothing but temporary directories.
//!
//! Compilers insert calls for `-fsanitize=thread` while they compile, and add their sanitizer's library when they link. So both are always
//! separate steps here: the first one with the flag, the second one without it and with the runtime in that library's place. What
//! else is needed is in `flags.rs`, how a compiler's command line is read in `line.rs`.

mod flags;
mod line;
mod wrappers;

pub use line::{Language, Line, takes_value};
pub use wrappers::Wrappers;

use line::{Part, Stage};
use std::{
    env,
    ffi::{OsStr, OsString},
    fmt, fs, io,
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};
use tempfile::TempDir;

/// What programs are compiled and linked against: a directory with the runtime, `reweave.h`, [`Kit::FIRST`] and [`Kit::STD`].
#[derive(Clone, Debug)]
pub struct Kit {
    /// Absolute: programs remember it.
    pub directory: PathBuf,
}

impl Kit {
    /// The name of the runtime's file.
    pub const RUNTIME: &'static str = "libreweave_runtime.so";

    /// The name of the header that comes before everything else.
    pub const FIRST: &'static str = "reweave-std.h";

    /// The name of the directory with headers that stand in for some of C++'s library.
    pub const STD: &'static str = "std";

    /// The runtime itself.
    pub fn runtime(&self) -> PathBuf {
        self.directory.join(Kit::RUNTIME)
    }
}

/// Why there is no program. [`fmt::Display`] is a sentence; a compiler that was run has said more on standard error.
#[derive(Debug)]
pub enum Error {
    /// No compiler for this language.
    NoCompiler(Language),
    /// The compiler could not be run.
    Unusable(String, io::Error),
    /// A file that is not there.
    Missing(PathBuf),
    /// Files that do not compile, and how the compiler ended for the first of them.
    Refused(Vec<PathBuf>, ExitStatus),
    /// All files compile, but do not make a program.
    Unlinked(ExitStatus),
    /// The C library is to be a part of the program.
    Static,
    /// Something on the way could not be written or read.
    File(PathBuf, io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NoCompiler(language) => {
                let names = language.names().join(", ");
                let (name, variable) = (language.name(), language.variable());
                write!(
                    f,
                    "no {name} compiler: none of {names} is in PATH; install gcc or clang, or set {variable}"
                )
            }
            Error::Unusable(command, error) => write!(f, "{command}: cannot be run: {error}"),
            Error::Missing(file) => write!(f, "{}: no such file", file.display()),
            Error::Refused(files, _) => {
                let names: Vec<_> = files
                    .iter()
                    .map(|file| file.display().to_string())
                    .collect();
                let verb = if names.len() == 1 { "does" } else { "do" };
                write!(f, "{} {verb} not compile", names.join(", "))
            }
            Error::Unlinked(status) => write!(f, "the program could not be linked ({status})"),
            Error::Static => write!(
                f,
                "a program that is linked with -static cannot be explored: its calls of the C library go past the runtime; \
                 link it without (-static-libgcc and -static-libstdc++ may stay)"
            ),
            Error::File(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for Error {}

/// A compiler driver of this machine.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The command and its first arguments: `CC` may be `ccache gcc`.
    command: Vec<OsString>,
    clang: bool,
}

impl Compiler {
    /// The one that `CC` or `CXX` names, or else the first one in `PATH`.
    pub fn find(language: Language) -> Result<Compiler, Error> {
        let named = env::var_os(language.variable()).unwrap_or_default();
        let words = named.as_bytes().split(u8::is_ascii_whitespace);
        let words = words.filter(|word| !word.is_empty());
        let mut command: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).into()).collect();
        if command.is_empty() {
            let found = language.names().into_iter().find_map(in_path);
            command.push(found.ok_or(Error::NoCompiler(language))?.into());
        }
        Compiler::of(command)
    }

    /// The one that is called like this.
    pub fn of(command: Vec<OsString>) -> Result<Compiler, Error> {
        let mut compiler = Compiler {
            command,
            clang: false,
        };
        compiler.clang = match is_clang_by_name(&compiler.command[0]) {
            Some(clang) => clang,
            None => compiler.says_clang()?,
        };
        Ok(compiler)
    }

    /// Whether it says that it is clang.
    fn says_clang(&self) -> Result<bool, Error> {
        let mut asked = self.start();
        let said = asked.arg("--version").stderr(Stdio::null()).output();
        let said = said.map_err(|error| self.unusable(error))?.stdout;
        Ok(String::from_utf8_lossy(&said).contains("clang"))
    }

    /// Whether it is clang, which wants other flags than gcc.
    pub fn is_clang(&self) -> bool {
        self.clang
    }

    fn start(&self) -> Command {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        Wrappers::leave(&mut command);
        command
    }

    /// Runs it to its end with these arguments.
    fn run(&self, args: &[OsString], quiet: bool) -> Result<ExitStatus, Error> {
        let mut command = self.start();
        if quiet {
            // Standard output is for results.
            command.stdout(io::stderr());
        }
        let mut long = None;
        if args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_LINE {
            let file = tempfile::NamedTempFile::new();
            let file = file.map_err(|error| Error::File(env::temp_dir(), error))?;
            let written = fs::write(file.path(), line::to_response(args));
            written.map_err(|error| Error::File(file.path().into(), error))?;
            let mut arg = OsString::from("@");
            arg.push(file.path());
            command.arg(arg);
            long = Some(file);
        } else {
            command.args(args);
        }
        let status = command.status().map_err(|error| self.unusable(error));
        drop(long);
        status
    }

    fn unusable(&self, error: io::Error) -> Error {
        Error::Unusable(self.command[0].to_string_lossy().into_owned(), error)
    }
}

/// Bytes of arguments above which they go through a file. The system takes at least 128 KiB, environment included.
const LONGEST_LINE: usize = 64 << 10;

/// Whether a compiler is clang, if the file that its name leads to says so: `cc` is mostly a link to `gcc-12` or the like. To ask
/// costs a process.
fn is_clang_by_name(command: &OsStr) -> Option<bool> {
    let file = match command.as_bytes().contains(&b'/') {
        true => PathBuf::from(command),
        false => in_path(command.to_str()?)?,
    };
    let file = fs::canonicalize(file).ok()?;
    // A script may be called anything.
    let binary = fs::File::open(&file).and_then(|mut file| {
        let mut magic = [0; 4];
        io::Read::read_exact(&mut file, &mut magic)?;
        Ok(magic == *b"\x7fELF")
    });
    let name = file.file_name()?.to_str()?;
    let (clang, gcc) = (
        name.contains("clang"),
        name.contains("gcc") || name.contains("g++"),
    );
    (binary.unwrap_or(false) && clang != gcc).then_some(clang)
}

/// A program of that name.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let candidates = env::split_paths(&path).map(|directory| directory.join(name));
    let avoided = Wrappers::directory();
    candidates
        .filter(|file| avoided.is_none() || file.parent() != avoided.as_deref())
        .find(|file| {
            use std::os::unix::fs::PermissionsExt;
            fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
        })
}

/// A program that was compiled to be explored; gone when this is dropped.
#[derive(Debug)]
pub struct Built {
    /// The program.
    pub program: PathBuf,
    _directory: TempDir,
}

/// Compiles and links what a command line without `-c` and `-o` names: what `reweave check FILE...` explores. Options without which
/// nothing would be explored are added, `-O1` is unless there is another level. What compilers say goes to standard error.
pub fn build(kit: &Kit, words: Vec<OsString>) -> Result<Built, Error> {
    let line = Line::read(words);
    if line.links_statically() {
        return Err(Error::Static);
    }
    let mut files = line.files().map(Path::new);
    if let Some(missing) = files.find(|file| !file.exists()) {
        return Err(Error::Missing(missing.into()));
    }
    let directory = tempfile::Builder::new().prefix("reweave-").tempdir();
    let directory = directory.map_err(|error| Error::File(env::temp_dir(), error))?;
    // Each file is compiled by the compiler of its language; C++ brings libraries along and has to link.
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
    let work = Work {
        kit,
        line: &line,
        directory: directory.path(),
        front: flags::defaults(),
        own: true,
    };
    let objects = work.compile(of)?;
    let status = work.link(&linker, &objects, &program)?;
    match status.success() {
        true => Ok(Built {
            program,
            _directory: directory,
        }),
        false => Err(Error::Unlinked(status)),
    }
}

/// Does what the compiler would do with these arguments, with instrumentation added, and says with which code to exit.
pub fn stand_in(kit: &Kit, compiler: &Compiler, args: Vec<OsString>) -> Result<u8, Error> {
    let line = Line::read(args);
    let code = |status: ExitStatus| match (status.code(), status.signal()) {
        (Some(code), _) => code as u8,
        (None, signal) => 128 + signal.unwrap_or(0) as u8,
    };
    let plain = match line.stage() {
        Stage::Ask => line.words(),
        Stage::Compile => {
            let mut words = line.words();
            words.extend(flags::compile(kit, compiler, line.language()));
            words.extend(
                line.sources()
                    .flat_map(|it| flags::for_source(&it.file, compiler)),
            );
            words
        }
        Stage::Link if line.links_statically() => return Err(Error::Static),
        Stage::Link if line.sources().next().is_none() => {
            let mut words = flags::link(kit, line.links_runtime());
            words.extend(line.link_words());
            words
        }
        Stage::Link => {
            let directory = tempfile::tempdir();
            let directory = directory.map_err(|error| Error::File(env::temp_dir(), error))?;
            let work = Work {
                kit,
                line: &line,
                directory: directory.path(),
                front: Vec::new(),
                own: false,
            };
            let objects = match work.compile(|_| compiler) {
                Ok(objects) => objects,
                // The compiler has said all that there is to say.
                Err(Error::Refused(_, status)) => return Ok(code(status)),
                Err(error) => return Err(error),
            };
            let output = line.output().unwrap_or(Path::new("a.out"));
            return work.link(compiler, &objects, output).map(code);
        }
    };
    compiler.run(&plain, false).map(code)
}

/// One command line, in two steps.
struct Work<'a> {
    kit: &'a Kit,
    line: &'a Line,
    /// For object files.
    directory: &'a Path,
    /// Flags that the user's may override.
    front: Vec<OsString>,
    /// For a program of our own, and not for somebody's build.
    own: bool,
}

impl Work<'_> {
    /// Compiles all sources, as many at a time as there are cores.
    fn compile<'c>(
        &self,
        compiler: impl Fn(Option<Language>) -> &'c Compiler + Sync,
    ) -> Result<Vec<PathBuf>, Error> {
        let sources: Vec<_> = self.line.sources().collect();
        let objects: Vec<PathBuf> = (0..sources.len())
            .map(|index| self.directory.join(format!("{index}.o")))
            .collect();
        let next = AtomicUsize::new(0);
        let failed: Mutex<Vec<(usize, Result<ExitStatus, Error>)>> = Mutex::default();
        let work = || {
            loop {
                let index = next.fetch_add(1, Relaxed);
                let Some(source) = sources.get(index) else {
                    return;
                };
                let language = source.language();
                let compiler = compiler(language);
                let mut words = self.front.clone();
                let only = language.filter(|_| self.own);
                words.extend(self.line.compile_words(&source.file, only));
                words.extend(flags::compile(self.kit, compiler, language));
                words.extend(flags::for_source(&source.file, compiler));
                words.extend(["-c".into(), "-o".into(), objects[index].clone().into()]);
                if let Some(named) = &source.named {
                    words.extend(["-x".into(), named.clone()]);
                }
                words.push(source.file.clone());
                let outcome = compiler.run(&words, self.own);
                if !matches!(&outcome, Ok(status) if status.success()) {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.push((index, outcome));
                }
            }
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..cores.min(sources.len()) {
                scope.spawn(work);
            }
            work();
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
            Some(status) => Err(Error::Refused(refused, status)),
        }
    }

    /// Links the objects, each in its source's place.
    fn link(
        &self,
        compiler: &Compiler,
        objects: &[PathBuf],
        output: &Path,
    ) -> Result<ExitStatus, Error> {
        let mut words = flags::link(self.kit, self.line.links_runtime());
        if self.own {
            words.push("-pie".into());
        }
        if compiler.clang {
            words.push("-Qunused-arguments".into());
        }
        let mut objects = objects.iter();
        let mut libraries = Vec::new();
        for part in self.line.parts() {
            match part {
                Part::Source(_) => words.extend(objects.next().map(OsString::from)),
                Part::Output(_) => {}
                // Where they stand matters to linkers, but should not to a user of ours.
                part if self.own && part.is_library() => libraries.extend(part.link_words()),
                part => words.extend(part.link_words()),
            }
        }
        words.extend(libraries);
        words.extend(["-o".into(), output.into()]);
        compiler.run(&words, self.own)
    }
}
