//! A directory for the files that a program changes, gone with its process.

use crate::process::room;
use std::{
    env, fs,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::OnceLock,
};

/// A name that nobody has; the program makes the directory when it needs it. Names are all of one length, so that they make no difference
/// between processes.
pub(crate) struct Disk(PathBuf);

impl Disk {
    pub(crate) fn new() -> Disk {
        let number = RandomState::new().hash_one(std::process::id());
        static BESIDE: OnceLock<PathBuf> = OnceLock::new();
        Disk(
            BESIDE
                .get_or_init(beside)
                .join(format!("reweave-disk-{number:016x}")),
        )
    }

    pub(crate) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

/// In memory, where making and removing files is many times as fast, if there is room and nobody asks for another place.
fn beside() -> PathBuf {
    const ENOUGH: u64 = 1 << 30;
    if env::var_os("TMPDIR").is_none() && room(c"/dev/shm") >= ENOUGH {
        return "/dev/shm".into();
    }
    let usual = env::temp_dir();
    // Without links, as the kernel calls it.
    usual.canonicalize().unwrap_or(usual)
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Most programs change no files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
