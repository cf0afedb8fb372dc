//! Compilers for somebody else's build: a directory of small scripts, first in `PATH`, that are called like compilers and
//! call the instrumenting one.
//!
//! *Called by:* `reweave build`. Each script names the compiler that it stands for by its place, so that it is never found again.

use super::{Compiler, Error, Language, in_path};
use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
    process::Command,
};
use tempfile::TempDir;

/// Where wrappers are, for the compilers that they call.
const VARIABLE: &str = "REWEAVE_WRAPPERS";

/// The scripts; gone when this is dropped.
#[derive(Debug)]
pub struct Wrappers {
    directory: TempDir,
}

impl Wrappers {
    /// Makes a script for each compiler that is there. `command` is what it calls, with `cc` or `c++` and the arguments.
    pub fn new(command: &Path) -> Result<Wrappers, Error> {
        let directory = tempfile::Builder::new().prefix("reweave-").tempdir();
        let directory = directory.map_err(|error| Error::File(env::temp_dir(), error))?;
        let mut any = false;
        for language in [Language::C, Language::Cxx] {
            // What the user set counts for the variable; names stand for the compilers that they name.
            let own = Compiler::find(language).map(|compiler| compiler.command);
            let named = language.names().map(|name| Some((name, in_path(name)?)));
            let named = named.into_iter().flatten();
            let named = named.map(|(name, place)| (name, vec![place.into_os_string()]));
            for (name, compiler) in own
                .into_iter()
                .map(|own| (own_name(language), own))
                .chain(named)
            {
                any = true;
                let path = directory.path().join(name);
                let text = script(command, language, &compiler);
                write(&path, &text).map_err(|error| Error::File(path, error))?;
            }
        }
        match any {
            true => Ok(Wrappers { directory }),
            false => Err(Error::NoCompiler(Language::C)),
        }
    }

    /// Has a build use them.
    pub fn enter(&self, build: &mut Command) {
        let directory = self.directory.path();
        let path = env::var_os("PATH").unwrap_or_default();
        let mut first = OsString::from(directory);
        first.push(":");
        first.push(path);
        build.env("PATH", first).env(VARIABLE, directory);
        for language in [Language::C, Language::Cxx] {
            let script = directory.join(own_name(language));
            if script.exists() {
                build.env(language.variable(), script);
            }
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

/// The script for what `CC` or `CXX` names, which need not have the name of a compiler.
fn own_name(language: Language) -> &'static str {
    match language {
        Language::C => "reweave-cc",
        Language::Cxx => "reweave-c++",
    }
}

fn script(command: &Path, language: Language, compiler: &[OsString]) -> Vec<u8> {
    let mut text = b"#!/bin/sh\n".to_vec();
    text.extend(language.variable().bytes());
    text.push(b'=');
    text.extend(quoted(&compiler.join(OsStr::new(" "))));
    text.extend(b" exec ");
    text.extend(quoted(command.as_os_str()));
    text.extend(match language {
        Language::C => b" cc \"$@\"\n".as_slice(),
        Language::Cxx => b" c++ \"$@\"\n",
    });
    text
}

fn quoted(word: &OsStr) -> Vec<u8> {
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

fn write(path: &Path, text: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o755)
        .open(path)?;
    file.write_all(text)
}
