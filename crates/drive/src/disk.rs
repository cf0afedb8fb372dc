//! A directory for the files that a program changes, gone with its process.

use std::{
    env, fs,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
};

/// A name that nobody has; the program makes the directory when it needs it. Names are all of one length, so that they make no difference
/// between processes.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn new() -> Disk {
        let number = RandomState::new().hash_one(std::process::id());
        let beside = env::temp_dir();
        // Without links, as the kernel calls it.
        let beside = beside.canonicalize().unwrap_or(beside);
        Disk(beside.join(format!("reweave-disk-{number:016x}")))
    }

    pub(crate) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Most programs change no files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
