//! What the command carries for programs: the runtime and some headers, and where they are put for compilers and loaders.
//!
//! *Called by:* everything that compiles or starts a program. The files stay where they are from run to run, since
//! programs are linked against them: in the user's cache, in a directory that is named after their contents. Several
//! commands may put them there at once, and somebody may damage them: each file is compared before it is used and
//! takes its name only when it is whole.

use reweave_drive::compile::Kit;
use std::{
    env, fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    process,
};

const FILES: [(&str, &[u8]); 4] = [
    (Kit::RUNTIME, include_bytes!(env!("REWEAVE_RUNTIME"))),
    ("reweave.h", include_bytes!(env!("REWEAVE_HEADER"))),
    (Kit::FIRST, include_bytes!(env!("REWEAVE_FIRST"))),
    (
        "std/bits/shared_ptr_atomic.h",
        include_bytes!(env!("REWEAVE_SHARED_POINTERS")),
    ),
];

/// Puts them where compilers and loaders find them, or mends what is there; an error is a sentence.
pub fn unpack() -> Result<Kit, String> {
    let mut refused = Vec::new();
    for place in places() {
        let directory = place.join(env!("REWEAVE_KIT"));
        match claim(&place).and_then(|()| fill(&directory)) {
            Ok(()) => return Ok(Kit { directory }),
            Err(error) => refused.push(format!("{}: {error}", directory.display())),
        }
    }
    Err(format!(
        "the runtime cannot be put anywhere; XDG_CACHE_HOME=<directory> says where ({})",
        refused.join("; ")
    ))
}

/// Where it may be, the best place first. Relative directories in the environment count as unset.
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

/// Makes the place, or sees to it that it is one's own: what lies there will be run.
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

/// Whoever runs the command.
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
            // The error to tell is the first one.
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
