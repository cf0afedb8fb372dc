//! Why compiling or linking failed.

use super::Language;
use crate::assemble::AssembleError;
use std::{fmt, io, path::PathBuf, process::ExitStatus};

/// Why there is no program. [`fmt::Display`] is a sentence; a compiler that ran has reported details on standard error.
#[derive(Debug)]
pub enum CompileError {
    /// No compiler for this language.
    NoCompiler(Language),
    /// The compiler could not be run.
    Unusable(String, io::Error),
    /// A file that is not there.
    Missing(PathBuf),
    /// Files that do not compile, and how the compiler ended for the first of them.
    Refused(Vec<PathBuf>, ExitStatus),
    /// What the compiler wrote could not be assembled.
    Assemble(AssembleError),
    /// All files compile, but do not make a program.
    Unlinked(ExitStatus),
    /// The C library is to be a part of the program.
    Static,
    /// Something on the way could not be written or read.
    File(PathBuf, io::Error),
}

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompileError::NoCompiler(language) => {
                let names = language.names().join(", ");
                let (name, variable) = (language.name(), language.variable());
                write!(
                    f,
                    "no {name} compiler: none of {names} is in PATH; install gcc or clang, or set {variable}"
                )
            }
            CompileError::Unusable(command, error) => {
                write!(f, "{command}: cannot be run: {error}")
            }
            CompileError::Missing(file) => write!(f, "{}: no such file", file.display()),
            CompileError::Refused(files, _) => {
                let names: Vec<_> = files
                    .iter()
                    .map(|file| file.display().to_string())
                    .collect();
                let verb = if names.len() == 1 { "does" } else { "do" };
                write!(f, "{} {verb} not compile", names.join(", "))
            }
            CompileError::Assemble(error) => error.fmt(f),
            CompileError::Unlinked(status) => {
                write!(f, "the program could not be linked ({status})")
            }
            CompileError::Static => write!(
                f,
                "a program that is linked with -static cannot be explored: its calls of the C library bypass the runtime; \
                 link it without (-static-libgcc and -static-libstdc++ may stay)"
            ),
            CompileError::File(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for CompileError {}
