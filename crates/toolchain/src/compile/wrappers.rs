//! Instrumenting compilers for a user's build: a directory of small scripts, first in `PATH`, with the names of
//! compilers, which call the instrumenting one.
//!
//! *Called by:* `reweave build`. *Owns:* the directory, which lies in the kit and is named after its contents: a build that
//! is configured once and run often remembers where its compilers are. Each script names the compiler it replaces.

use super::{CompileError, Compiler, Language, compiler::in_path};
use crate::Kit;
use std::{
    collections::{BTreeMap, hash_map::DefaultHasher},
    env,
    ffi::{OsStr, OsString},
    fs,
    hash::{Hash, Hasher},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
    process::Command,
};

/// Says where the scripts are, to the compilers that they call.
const VARIABLE: &str = "REWEAVE_WRAPPERS";

/// The scripts.
#[derive(Debug)]
pub struct Wrappers {
    directory: PathBuf,
}

impl Wrappers {
    /// Makes a script for each compiler that is there. `command` is what it calls, with `cc` or `c++` and the arguments.
    pub fn new(kit: &Kit, command: &Path) -> Result<Wrappers, CompileError> {
        let mut scripts = BTreeMap::new();
        for language in Language::ALL {
            for name in language.names() {
                if let Some(place) = in_path(name) {
                    scripts.insert(name, script(command, language, &[place.into()]));
                }
            }
            // MPI's compilers are the usual ones: its functions are in the runtime, its header in the kit.
            if let Ok(own) = Compiler::find(language) {
                let text = script(command, language, &own.command);
                scripts.extend(mpi_names(language).iter().map(|name| (*name, text.clone())));
            }
            // What the user's variable names need not have the name of a compiler.
            match Compiler::find(language) {
                Ok(own) => {
                    scripts.insert(own_name(language), script(command, language, &own.command));
                }
                Err(CompileError::NoCompiler(_)) => {}
                Err(error) => return Err(error),
            }
        }
        if scripts.is_empty() {
            return Err(CompileError::NoCompiler(Language::C));
        }
        let mut contents = DefaultHasher::new();
        scripts.hash(&mut contents);
        let name = format!("compilers-{:016x}", contents.finish());
        let directory = kit.directory.join(name);
        let failed = |error| CompileError::File(directory.clone(), error);
        fs::create_dir_all(&directory).map_err(failed)?;
        for (name, text) in &scripts {
            write(&directory, name, text).map_err(failed)?;
        }
        Ok(Wrappers { directory })
    }

    /// Has a build use them.
    pub fn enter(&self, build: &mut Command) {
        let mut path = OsString::from(&self.directory);
        if let Some(others) = env::var_os("PATH") {
            path.push(":");
            path.push(others);
        }
        build.env("PATH", path).env(VARIABLE, &self.directory);
        for language in Language::ALL {
            let script = self.directory.join(own_name(language));
            if script.exists() {
                build.env(language.variable(), script);
            }
        }
        let fortran = self.directory.join(own_name(Language::Fortran));
        if fortran.exists() {
            // As older builds call it.
            build.env("F77", fortran);
        }
    }

    /// Where they are, when this process was called by one.
    pub(super) fn directory() -> Option<PathBuf> {
        env::var_os(VARIABLE).map(PathBuf::from)
    }

    /// Lets a compiler find what it calls, and not the scripts again.
    pub(super) fn leave(compiler: &mut Command) {
        let (Some(directory), Some(path)) = (Wrappers::directory(), env::var_os("PATH")) else {
            return;
        };
        let others = env::split_paths(&path).filter(|entry| *entry != directory);
        if let Ok(path) = env::join_paths(others) {
            compiler.env("PATH", path);
        }
    }
}

fn mpi_names(language: Language) -> &'static [&'static str] {
    match language {
        Language::C => &["mpicc"],
        Language::Cxx => &["mpicxx", "mpic++", "mpiCC"],
        Language::Fortran => &[],
    }
}

fn own_name(language: Language) -> &'static str {
    match language {
        Language::C => "reweave-cc",
        Language::Cxx => "reweave-c++",
        Language::Fortran => "reweave-fc",
    }
}

fn script(command: &Path, language: Language, compiler: &[OsString]) -> Vec<u8> {
    // What the compiler makes of a file is the compiler's business: `cc` runs any.
    let (variable, verb) = match language {
        Language::C | Language::Fortran => ("CC", "cc"),
        Language::Cxx => ("CXX", "c++"),
    };
    let mut text = format!("#!/bin/sh\n{VARIABLE}=\"${{0%/*}}\" {variable}=").into_bytes();
    text.extend(quoted(&compiler.join(OsStr::new(" "))));
    text.extend(b" exec ");
    text.extend(quoted(command.as_os_str()));
    text.extend(format!(" {verb} \"$@\"\n").into_bytes());
    text
}

pub(crate) fn quoted(word: &OsStr) -> Vec<u8> {
    let mut text = vec![b'\''];
    for byte in word.as_bytes() {
        match byte {
            b'\'' => text.extend(br"'\''"),
            byte => text.push(*byte),
        }
    }
    text.push(b'\'');
    text
}

/// Writes a script whole or not at all, unless it is there: another build may be using it.
pub(crate) fn write(directory: &Path, name: &str, text: &[u8]) -> io::Result<()> {
    let path = directory.join(name);
    if fs::read(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let mut part = tempfile::NamedTempFile::new_in(directory)?;
    part.write_all(text)?;
    part.as_file()
        .set_permissions(fs::Permissions::from_mode(0o755))?;
    part.persist(path)?;
    Ok(())
}
