//! A directory for the copies of files that a program changes. It disappears with the program's process.
//!
//! *Decides:* where the directory lies. *Called by:* `process`. *Owns:* the directory, which the program creates on demand.

use std::{
    env,
    ffi::CStr,
    fs,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::OnceLock,
};

/// An unused path. All paths have the same length, so that they make no difference between processes.
pub(crate) struct ScratchDisk(PathBuf);

impl ScratchDisk {
    pub(crate) fn new() -> ScratchDisk {
        let number = RandomState::new().hash_one(std::process::id());
        static BESIDE: OnceLock<PathBuf> = OnceLock::new();
        ScratchDisk(
            BESIDE
                .get_or_init(beside)
                .join(format!("reweave-disk-{number:016x}")),
        )
    }

    pub(crate) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

/// In memory, where creating and removing files is many times as fast, if there is room and `TMPDIR` is not set.
fn beside() -> PathBuf {
    const ENOUGH: u64 = 1 << 30;
    if env::var_os("TMPDIR").is_none() && room(c"/dev/shm") >= ENOUGH {
        return "/dev/shm".into();
    }
    let usual = env::temp_dir();
    // Without links, as the kernel reports it.
    usual.canonicalize().unwrap_or(usual)
}

impl Drop for ScratchDisk {
    fn drop(&mut self) {
        // Most programs change no files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The free bytes of a directory's file system; none if the directory cannot be written to.
fn room(directory: &CStr) -> u64 {
    // SAFETY: the text ends with a nul; the other pointer is to a local, and a statvfs may be all zeros.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        let writable = libc::access(directory.as_ptr(), libc::W_OK | libc::X_OK) == 0;
        match writable && libc::statvfs(directory.as_ptr(), &mut found) == 0 {
            true => found.f_bavail.saturating_mul(found.f_frsize),
            false => 0,
        }
    }
}
