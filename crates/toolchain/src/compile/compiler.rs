//! Compilers of this machine: which one is used for a language, what kind it is, and how it is run.
//!
//! *Called by:* `compile` and `wrappers`. *Owns:* nothing.

use super::{CompileError, Language, Wrappers, response_file};
use crate::temporary::TemporaryDirectory;
use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    process::{Command, ExitStatus, Stdio},
};

/// A compiler driver of this machine.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// The command and its first arguments: `CC` may be `ccache gcc`.
    pub(super) command: Vec<OsString>,
    clang: bool,
}

impl Compiler {
    /// The compiler that `CC` or `CXX` names, or else the first one in `PATH`.
    pub fn find(language: Language) -> Result<Compiler, CompileError> {
        let named = env::var_os(language.variable()).unwrap_or_default();
        let words = named.as_bytes().split(u8::is_ascii_whitespace);
        let words = words.filter(|word| !word.is_empty());
        let mut command: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).into()).collect();
        if command.is_empty() {
            let found = language.names().into_iter().find_map(in_path);
            command.push(found.ok_or(CompileError::NoCompiler(language))?.into());
        }
        Compiler::of(command)
    }

    /// The compiler with this command.
    pub fn of(command: Vec<OsString>) -> Result<Compiler, CompileError> {
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
    fn says_clang(&self) -> Result<bool, CompileError> {
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
    pub(super) fn run(&self, args: &[OsString], quiet: bool) -> Result<ExitStatus, CompileError> {
        let mut command = self.start();
        if quiet {
            // Standard output is for results.
            command.stdout(io::stderr());
        }
        let mut long = None;
        if args.iter().map(|arg| arg.len() + 1).sum::<usize>() > LONGEST_LINE {
            let place = TemporaryDirectory::new();
            let place = place.map_err(|error| CompileError::File(env::temp_dir(), error))?;
            let file = place.path().join("arguments");
            let written = fs::write(&file, response_file::write(args));
            written.map_err(|error| CompileError::File(file.clone(), error))?;
            let mut arg = OsString::from("@");
            arg.push(file);
            command.arg(arg);
            long = Some(place);
        } else {
            command.args(args);
        }
        let status = command.status().map_err(|error| self.unusable(error));
        drop(long);
        status
    }

    fn unusable(&self, error: io::Error) -> CompileError {
        CompileError::Unusable(self.command[0].to_string_lossy().into_owned(), error)
    }
}

/// Bytes of arguments above which they are passed in a file. The system accepts at least 128 KiB, environment included.
const LONGEST_LINE: usize = 64 << 10;

/// Whether a compiler is clang, if the name of its file says so: `cc` is usually a link to `gcc-12` or the like. Asking the
/// compiler costs a process.
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
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
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
