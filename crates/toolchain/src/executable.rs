//! Inspects the file of a program before it is started.
//!
//! *Decides:* whether the runtime can run the program at all, and if not, what the user can do about it. *Called by:*
//! `reweave-native`, before it starts a program that it did not build. *Owns:* nothing.

use crate::Kit;
use object::{
    Endianness, Object,
    elf::{EM_X86_64, PT_INTERP},
    read::elf::{ElfFile64, FileHeader, ProgramHeader},
};
use std::{
    fmt, fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What the file of a program that can be run contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Executable {
    /// Whether it has debug information; without, places are functions and addresses.
    pub has_debug_info: bool,
}

/// A program that cannot be explored. [`fmt::Display`] is a sentence with the remedy.
#[derive(Debug)]
pub struct ExecutableError {
    /// The program.
    pub path: PathBuf,
    /// Why.
    pub problem: Problem,
}

/// Why a program cannot be explored.
#[derive(Debug)]
pub enum Problem {
    /// There is no such file, or it cannot be looked up.
    Missing(io::Error),
    /// It is a directory or a device.
    NoFile,
    /// Its mode does not allow to execute it.
    NotExecutable,
    /// It runs as another user or group.
    SetUserId,
    /// It cannot be read.
    Unreadable(io::Error),
    /// It is a script.
    Script {
        /// The line that names its interpreter.
        first_line: String,
        /// The program that libtool hides behind such a script, if it is there.
        likely: Option<PathBuf>,
    },
    /// It is neither a binary nor a script.
    NoProgram,
    /// It is a binary for another machine, or damaged.
    OtherMachine {
        /// Whether it could be damaged.
        or_damaged: bool,
    },
    /// The C library is a part of it.
    Static,
    /// It was built without the instrumenting compilers.
    NotInstrumented,
    /// It was built with them, and is to be explored as if it was not.
    Instrumented,
}

impl ExecutableError {
    fn new(path: &Path, problem: Problem) -> ExecutableError {
        ExecutableError {
            path: path.into(),
            problem,
        }
    }
}

impl fmt::Display for ExecutableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.problem {
            Problem::NotInstrumented => write!(
                f,
                "{path} is not instrumented: build it with `reweave build -- make` or `reweave cc`, or explore its library calls alone: `--granularity calls`"
            ),
            Problem::Instrumented => write!(
                f,
                "{path} is instrumented: leave out `--granularity calls`, which is for programs that are not"
            ),
            problem => write!(f, "{path}: cannot be started: {problem}"),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Problem::Missing(error) => return error.fmt(f),
            Problem::Unreadable(error) => return write!(f, "it cannot be read: {error}"),
            Problem::Script { first_line, likely } => {
                write!(f, "it is a script ({first_line}), and only programs are explored; ")?;
                return match likely {
                    Some(program) => {
                        write!(f, "the program that it starts is likely {}", program.display())
                    }
                    None => f.write_str("name the program that it starts, with its arguments"),
                };
            }
            Problem::NoFile => "it is no file",
            Problem::NotExecutable => {
                "it is not executable; `chmod +x` makes it so, if it is a program"
            }
            Problem::SetUserId => {
                "it runs as another user or group (set-uid), which keeps the runtime out; copy it without that bit"
            }
            Problem::NoProgram => "it is no program: neither a binary nor a script",
            Problem::OtherMachine { or_damaged: true } => {
                "it is for another kind of machine, or damaged; only x86-64 programs can be explored"
            }
            Problem::OtherMachine { or_damaged: false } => {
                "it is for another kind of machine; only x86-64 programs can be explored"
            }
            Problem::Static => {
                "it is linked statically, so the runtime cannot be loaded before its C library; link it without -static"
            }
            Problem::NotInstrumented => "it is not instrumented",
            Problem::Instrumented => "it is instrumented",
        })
    }
}

impl std::error::Error for ExecutableError {}

impl Executable {
    /// Reads the file of a program.
    pub fn inspect(path: &Path) -> Result<Executable, ExecutableError> {
        read(path).map_err(|problem| ExecutableError::new(path, problem))
    }
}

fn read(path: &Path) -> Result<Executable, Problem> {
    let about = fs::metadata(path).map_err(Problem::Missing)?;
    let mode = about.permissions().mode();
    if !about.is_file() {
        return Err(Problem::NoFile);
    }
    if mode & 0o111 == 0 {
        return Err(Problem::NotExecutable);
    }
    if mode & 0o6000 != 0 {
        return Err(Problem::SetUserId);
    }
    let bytes = fs::read(path).map_err(Problem::Unreadable)?;
    if bytes.starts_with(b"#!") {
        return Err(script(path, &bytes));
    }
    if !bytes.starts_with(b"\x7fELF") {
        return Err(Problem::NoProgram);
    }
    let other = |or_damaged| Problem::OtherMachine { or_damaged };
    let file = ElfFile64::<Endianness>::parse(&*bytes).map_err(|_| other(true))?;
    let endian = file.endian();
    if file.elf_header().e_machine(endian) != EM_X86_64 || !file.is_little_endian() {
        return Err(other(false));
    }
    let mut headers = file.elf_program_headers().iter();
    if !headers.any(|header| header.p_type(endian) == PT_INTERP) {
        return Err(Problem::Static);
    }
    Ok(Executable {
        has_debug_info: file.section_by_name(".debug_info").is_some(),
    })
}

/// Fails unless the program loads the runtime. If the loader has no answer, the program counts as instrumented.
pub fn require_runtime(path: &Path) -> Result<(), ExecutableError> {
    match loads_runtime(path) {
        Some(false) => Err(ExecutableError::new(path, Problem::NotInstrumented)),
        _ => Ok(()),
    }
}

/// Fails if the program loads the runtime by itself. If the loader has no answer, the program counts as not instrumented.
pub fn require_no_runtime(path: &Path) -> Result<(), ExecutableError> {
    match loads_runtime(path) {
        Some(true) => Err(ExecutableError::new(path, Problem::Instrumented)),
        _ => Ok(()),
    }
}

/// Whether a program loads the runtime.
///
/// The loader is asked, since a library of the program may load the runtime; no code of the program runs.
fn loads_runtime(path: &Path) -> Option<bool> {
    let mut loader = Command::new(path);
    loader.env("LD_TRACE_LOADED_OBJECTS", "1");
    loader.stdin(Stdio::null()).stderr(Stdio::null());
    let listed = loader.output().ok()?;
    let libraries = String::from_utf8_lossy(&listed.stdout);
    let known = listed.status.success() && !libraries.contains("=> not found");
    known.then(|| libraries.contains(Kit::RUNTIME))
}

fn script(path: &Path, bytes: &[u8]) -> Problem {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let first_line = lines.next().unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    // Where libtool puts the program that its script starts.
    let hidden = path.with_file_name(".libs").join(name);
    Problem::Script {
        first_line: String::from_utf8_lossy(first_line).into_owned(),
        likely: hidden.is_file().then_some(hidden),
    }
}
