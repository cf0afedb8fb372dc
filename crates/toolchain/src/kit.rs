//! The kit: the runtime and the headers that programs are compiled and linked against.
//!
//! *Decides:* where the kit lies. *Called by:* everything that compiles or starts a program. *Owns:* the embedded files
//! and their unpacked copies in the user's cache, in a directory named after their contents. *Invariants:* copies stay
//! from run to run, since programs are linked against them. Several commands may unpack at once, and copies may be
//! damaged: each file is compared before use and gets its name only when it is complete.

use crate::compile::{quoted, write};
use std::{
    collections::hash_map::DefaultHasher,
    env, fmt, fs,
    hash::{Hash, Hasher},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    process,
};

/// A directory with the runtime, [`Kit::STABLE`], `reweave.h`, [`Kit::FIRST`] and [`Kit::STD`].
#[derive(Clone, Debug)]
pub struct Kit {
    /// Absolute: programs remember it.
    pub directory: PathBuf,
    /// A directory with an assembler for compilers that call one, a script of the name `as`, with a slash at its end; see
    /// [`Kit::with_assembler`].
    pub assembler: Option<PathBuf>,
}

const FILES: [(&str, &[u8]); 6] = [
    (Kit::RUNTIME, include_bytes!(env!("REWEAVE_RUNTIME"))),
    (Kit::STABLE, include_bytes!(env!("REWEAVE_STABLE"))),
    ("reweave.h", include_bytes!(env!("REWEAVE_HEADER"))),
    ("mpi.h", include_bytes!(env!("REWEAVE_MPI_HEADER"))),
    (Kit::FIRST, include_bytes!(env!("REWEAVE_FIRST"))),
    (
        "std/bits/shared_ptr_atomic.h",
        include_bytes!(env!("REWEAVE_SHARED_POINTERS")),
    ),
];

impl Kit {
    /// The name of the runtime's file.
    pub const RUNTIME: &'static str = "libreweave_runtime.so";

    /// The name of the shared object that `reweave run` loads into programs.
    pub const STABLE: &'static str = "libreweave_stable.so";

    /// The name of the header that is included before everything else.
    pub const FIRST: &'static str = "reweave-std.h";

    /// The name of the directory with headers that replace some of C++'s library.
    pub const STD: &'static str = "std";

    /// A hash of the kit's contents: programs linked against another kit behave differently.
    pub const FINGERPRINT: &'static str = env!("REWEAVE_KIT");

    /// Unpacks the embedded kit where compilers and loaders find it, or repairs the copy that is there.
    pub fn unpack() -> Result<Kit, KitError> {
        let mut refused = Vec::new();
        for place in places() {
            let directory = place.join(Kit::FINGERPRINT);
            match claim(&place).and_then(|()| fill(&directory)) {
                Ok(()) => {
                    return Ok(Kit {
                        directory,
                        assembler: None,
                    });
                }
                Err(error) => refused.push((directory, error)),
            }
        }
        Err(KitError { refused })
    }

    /// A directory of the user's own, for what may be lost.
    pub fn user_directory() -> io::Result<PathBuf> {
        let place = places().into_iter().find(|place| claim(place).is_ok());
        place.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Makes a script that calls a command as an assembler, with `as` and the arguments; see [`crate::assemble`]. Builds remember
    /// where it is.
    pub fn with_assembler(mut self, command: &Path) -> Result<Kit, KitError> {
        let mut script = b"#!/bin/sh\nexec ".to_vec();
        script.extend(quoted(command.as_os_str()));
        script.extend(b" as \"$@\"\n");
        let mut contents = DefaultHasher::new();
        script.hash(&mut contents);
        // Compilers take what follows `-B` for a prefix.
        let name = format!("assembler-{:016x}/", contents.finish());
        let directory = self.directory.join(name);
        let made = fs::create_dir_all(&directory);
        match made.and_then(|()| write(&directory, "as", &script)) {
            Ok(()) => self.assembler = Some(directory),
            Err(error) => {
                return Err(KitError {
                    refused: vec![(directory, error)],
                });
            }
        }
        Ok(self)
    }

    /// The shared object that `reweave run` loads into programs.
    pub fn stable(&self) -> PathBuf {
        self.directory.join(Kit::STABLE)
    }

    /// The runtime itself.
    pub fn runtime(&self) -> PathBuf {
        self.directory.join(Kit::RUNTIME)
    }
}

/// The kit could be unpacked nowhere.
#[derive(Debug)]
pub struct KitError {
    /// The directories that were tried, and why each is unusable.
    pub refused: Vec<(PathBuf, io::Error)>,
}

impl fmt::Display for KitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused = self.refused.iter();
        let refused = refused.map(|(place, error)| format!("{}: {error}", place.display()));
        let refused: Vec<String> = refused.collect();
        write!(
            f,
            "the runtime cannot be put anywhere; set XDG_CACHE_HOME to a directory of yours ({})",
            refused.join("; ")
        )
    }
}

impl std::error::Error for KitError {}

/// Where it may lie, the best place first. Relative directories in the environment count as unset.
fn places() -> Vec<PathBuf> {
    let absolute = |name: &str| {
        let path = env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let home = || Some(absolute("HOME")?.join(".cache"));
    let cache = absolute("XDG_CACHE_HOME").or_else(home);
    let cache = cache.map(|cache| cache.join("reweave"));
    let user = user().unwrap_or_default();
    let last = env::temp_dir().join(format!("reweave-{user}"));
    cache.into_iter().chain([last]).collect()
}

/// Creates the directory, or verifies that only the user can write to it: its contents will be executed.
fn claim(place: &Path) -> io::Result<()> {
    let mut new = fs::DirBuilder::new();
    new.recursive(true).mode(0o700).create(place)?;
    let there = fs::metadata(place)?;
    if there.uid() == user()? && there.mode() & 0o022 == 0 {
        return Ok(());
    }
    let why = "others can write there";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// The user who runs the command.
fn user() -> io::Result<u32> {
    Ok(fs::metadata("/proc/self")?.uid())
}

fn fill(directory: &Path) -> io::Result<()> {
    for (name, contents) in FILES {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("it lies in the directory"))?;
        if fs::read(&path).is_ok_and(|there| there == contents) {
            continue;
        }
        let part = directory.join(format!("{name}.{}.part", process::id()));
        let written = fs::write(&part, contents).and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&part);
        }
        written?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn damage_is_mended() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("kit");
        fill(&directory).unwrap();
        let runtime = directory.join(Kit::RUNTIME);
        let header = directory.join("reweave.h");
        let before = fs::metadata(&header).unwrap().modified().unwrap();
        let length = FILES[0].1.len() as u64;
        fs::File::options()
            .write(true)
            .open(&runtime)
            .and_then(|file| file.set_len(length / 2))
            .unwrap();
        fill(&directory).unwrap();
        for (name, contents) in FILES {
            assert!(fs::read(directory.join(name)).unwrap() == contents);
        }
        // What was right is left alone: a program may be running on it.
        assert_eq!(fs::metadata(&header).unwrap().modified().unwrap(), before);
        let mut changed = FILES[0].1.to_vec();
        changed[100] ^= 1;
        fs::write(&runtime, &changed).unwrap();
        fill(&directory).unwrap();
        assert!(fs::read(&runtime).unwrap() == FILES[0].1);
        assert_eq!(fs::read_dir(&directory).unwrap().count(), FILES.len());
    }

    #[test]
    fn a_place_that_cannot_be_written_is_no_place() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(fill(&file.join("kit")).is_err());
    }

    #[test]
    fn a_place_that_others_can_write_is_refused() {
        let place = tempfile::tempdir().unwrap();
        claim(place.path()).unwrap();
        let open = fs::Permissions::from_mode(0o777);
        fs::set_permissions(place.path(), open).unwrap();
        assert!(claim(place.path()).is_err());
    }

    #[test]
    fn what_is_carried_is_a_shared_object() {
        assert!(FILES[0].1.starts_with(b"\x7fELF"));
    }
}
