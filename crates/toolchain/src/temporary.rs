//! Temporary directories that do not outlive the command.
//!
//! *Decides:* how they are named, and which of those that it finds are left over. *Called by:* `compile`, and by whoever else
//! needs a place for files. *Owns:* the list of this process's directories.
//!
//! A directory is locked by its process as long as that lives. It is removed when its value is dropped, by [`remove_all`]
//! before a signal ends the process, and, if the process was killed, by the next command that makes one in the same place: it can lock
//! what nobody holds any more. *Invariant:* only a directory whose lock is held is removed by another process than its own.

use std::{
    env,
    fs::{self, File, TryLockError},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What all of them are called first.
const PREFIX: &str = "reweave-tmp-";

/// How often another name is tried if one is taken away again at once.
const ATTEMPTS: usize = 16;

/// A directory for files that nobody needs after the command.
#[derive(Debug)]
pub struct TemporaryDirectory {
    path: PathBuf,
    /// The directory itself, locked; `None`: its file system has no locks, so nobody takes it for left over.
    _lock: Option<File>,
}

/// This process's directories, and the places that were swept.
struct Known {
    directories: Vec<PathBuf>,
    swept: Vec<PathBuf>,
}

static KNOWN: Mutex<Known> = Mutex::new(Known {
    directories: Vec::new(),
    swept: Vec::new(),
});

fn known() -> MutexGuard<'static, Known> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TemporaryDirectory {
    /// One where temporary files belong.
    pub fn new() -> io::Result<TemporaryDirectory> {
        TemporaryDirectory::new_in(&env::temp_dir())
    }

    /// One in this place. The first time, removes what killed commands left there.
    pub fn new_in(place: &Path) -> io::Result<TemporaryDirectory> {
        let mut known = known();
        if !known.swept.iter().any(|it| it == place) {
            known.swept.push(place.into());
            sweep(place);
        }
        for _ in 0..ATTEMPTS {
            let made = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
            let path = made.keep();
            let locked = lock(&path);
            // Another command may take a directory that is not locked yet for one that is left over.
            if matches!(locked, Locked::Held) {
                continue;
            }
            known.directories.push(path.clone());
            return Ok(TemporaryDirectory {
                path,
                _lock: match locked {
                    Locked::Mine(lock) => Some(lock),
                    _ => None,
                },
            });
        }
        Err(io::Error::other("temporary directories disappear at once"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        remove(&self.path);
        known().directories.retain(|path| *path != self.path);
    }
}

/// Removes all directories of this process, which is about to end.
pub fn remove_all() {
    let directories = std::mem::take(&mut known().directories);
    directories.iter().for_each(|path| remove(path));
}

/// A compiler that is still at work may add files meanwhile.
fn remove(path: &Path) {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            // Whatever keeps it there now, the next command tries again.
            _ => return,
        }
    }
}

enum Locked {
    /// By this process.
    Mine(File),
    /// By another process, or gone.
    Held,
    /// It cannot be locked.
    Never,
}

fn lock(path: &Path) -> Locked {
    let Ok(directory) = File::open(path) else {
        return Locked::Held;
    };
    match directory.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Locked::Held,
        Err(TryLockError::Error(_)) => return Locked::Never,
    }
    // The directory that was opened may have been removed before it was locked.
    let number = |found: io::Result<fs::Metadata>| found.map(|it| (it.dev(), it.ino())).ok();
    match number(directory.metadata()) == number(fs::symlink_metadata(path)) {
        true => Locked::Mine(directory),
        false => Locked::Held,
    }
}

/// Removes what commands of this user left behind that were killed.
fn sweep(place: &Path) {
    let Ok(user) = fs::metadata("/proc/self").map(|it| it.uid()) else {
        return;
    };
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let named = entry.file_name().to_string_lossy().starts_with(PREFIX);
        // Links are not followed here.
        let mine = || {
            let found = entry.metadata();
            found.is_ok_and(|found| found.is_dir() && found.uid() == user)
        };
        if !named || !mine() {
            continue;
        }
        if let Locked::Mine(_lock) = lock(&entry.path()) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_holds_is_removed_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let held = TemporaryDirectory::new_in(place.path()).unwrap();
        fs::write(held.path().join("file"), "held").unwrap();
        let stale = place.path().join(format!("{PREFIX}stale"));
        fs::create_dir_all(stale.join("inside")).unwrap();
        fs::write(stale.join("inside/file"), "left over").unwrap();
        let other = place.path().join("reweave-something");
        fs::create_dir(&other).unwrap();
        let link = place.path().join(format!("{PREFIX}link"));
        std::os::unix::fs::symlink(&other, &link).unwrap();
        sweep(place.path());
        assert!(!stale.exists(), "nobody holds it");
        assert!(held.path().join("file").exists(), "it is in use");
        assert!(
            other.exists() && link.exists(),
            "not called like ours, or a link"
        );
        let path = held.path().to_owned();
        drop(held);
        assert!(!path.exists());
    }

    #[test]
    fn a_place_is_swept_when_it_is_first_used() {
        let place = tempfile::tempdir().unwrap();
        let stale = place.path().join(format!("{PREFIX}stale"));
        fs::create_dir(&stale).unwrap();
        let first = TemporaryDirectory::new_in(place.path()).unwrap();
        assert!(!stale.exists());
        assert!(first.path().exists());
    }
}
