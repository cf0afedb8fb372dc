//! Directories for the copies of files that a program changes. Each disappears with its process, all with the program.
//!
//! *Decides:* where they lie. *Called by:* `process`. *Owns:* a directory of this command, and in it those of the processes, which the
//! program creates on demand.

use reweave_toolchain::temporary::TemporaryDirectory;
use std::{
    env,
    ffi::CStr,
    fs,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    sync::{Arc, OnceLock},
};

/// Where the directories of one program's processes lie. Made when the first process starts.
#[derive(Clone, Debug, Default)]
pub struct ScratchDisks(Arc<OnceLock<Option<TemporaryDirectory>>>);

/// An unused path. All paths have the same length, so that they make no difference between processes.
pub(crate) struct ScratchDisk(PathBuf);

impl ScratchDisks {
    pub(crate) fn next(&self) -> ScratchDisk {
        let place = beside();
        // Where no directory can be made, the program cannot make one either, and hears of it when it changes a file.
        let ours = self
            .0
            .get_or_init(|| TemporaryDirectory::new_in(&place).ok());
        let place = ours.as_ref().map_or(place, |it| it.path().into());
        let number = RandomState::new().hash_one(std::process::id());
        ScratchDisk(place.join(format!("reweave-disk-{number:016x}")))
    }
}

impl ScratchDisk {
    pub(crate) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

/// In memory, where creating and removing files is many times as fast, if there is room and `TMPDIR` is not set.
fn beside() -> PathBuf {
    const ENOUGH: u64 = 1 << 30;
    static BESIDE: OnceLock<PathBuf> = OnceLock::new();
    let found = BESIDE.get_or_init(|| {
        if env::var_os("TMPDIR").is_none() && room(c"/dev/shm") >= ENOUGH {
            return "/dev/shm".into();
        }
        let usual = env::temp_dir();
        // Without links, as the kernel reports it.
        usual.canonicalize().unwrap_or(usual)
    });
    found.clone()
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
