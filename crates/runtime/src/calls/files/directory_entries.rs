//! Removing entries of directories. Renaming is in [`crate::calls::files::renames`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        file_names::{HERE, leave, number, refuse},
        file_objects,
        ordering::alone,
        os_files::{self, file_type},
        overlay::overlay,
        path_resolution::{CHANGE, PathUse, detach, reach},
        paths::{Ending, RealPath, is_system, parent},
        program_memory::c_text,
    },
    outside_run,
    run::{call_sites, operations::failed},
    trampoline,
};
use core::ffi::c_int;
use reweave_model::Site;

trampoline! {
    unlink => remove_file, "rsi";
    rmdir => remove_directory, "rsi";
    remove => remove_either, "rsi";
    unlinkat => remove_at, "rcx";
}

/// Where an entry is that is about to be removed. Paths lead through directories and links, so for those the lock of all names is
/// held exclusively until [`leave`].
fn entry(directory: c_int, path: usize, directories: bool, site: Site) -> Result<RealPath, c_int> {
    if !directories {
        let real = reach(directory, path, false, CHANGE, site)?;
        let there = overlay().file_type(&real);
        if alone() || !matches!(there, Some(libc::S_IFDIR | libc::S_IFLNK)) {
            return Ok(real);
        }
        leave(site);
    }
    let real = reach(directory, path, false, PathUse::Entry, site)?;
    file_objects::touch(number(&real), site);
    Ok(real)
}

/// Which entries a call removes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removes {
    Files,
    Directories,
    Both,
}

/// Removes an entry; an error number, or 0.
///
/// # Safety
///
/// `path` is null or points to a text that ends with a nul.
pub(crate) unsafe fn remove_entry(
    directory: c_int,
    path: usize,
    removes: Removes,
    site: Site,
) -> c_int {
    let directories = removes == Removes::Directories;
    let real = match entry(directory, path, directories, site) {
        Ok(real) => real,
        Err(error) => return error,
    };
    let there = overlay().stat(&real);
    let Some(stat) = there else {
        return libc::ENOENT;
    };
    // SAFETY: the caller promises that `path` is null or ends with a nul.
    let ending = Ending::of(unsafe { c_text(path) }.unwrap_or_default());
    if let Some(error) = refusal(&real, &stat, ending, removes) {
        return error;
    }
    detach(&real, &stat);
    let failed = overlay().has_failed();
    if failed {
        refuse("a file that cannot be copied", site);
    }
    let mut disk = overlay();
    disk.prepare(&real);
    let is_directory = file_type(&stat) == libc::S_IFDIR;
    os_files::remove(&disk.copy_of(&real), is_directory);
    disk.note_removed(&real);
    0
}

/// Why an entry cannot be removed.
fn refusal(real: &[u8], stat: &libc::stat, ending: Ending, removes: Removes) -> Option<c_int> {
    let is_directory = file_type(stat) == libc::S_IFDIR;
    let mut disk = overlay();
    match removes {
        _ if is_system(real) => Some(libc::EPERM),
        _ if ending == Ending::Slash && !is_directory => Some(libc::ENOTDIR),
        Removes::Directories if !is_directory => Some(libc::ENOTDIR),
        Removes::Files if is_directory => Some(libc::EISDIR),
        _ if ending == Ending::Current => Some(libc::EINVAL),
        _ if ending == Ending::Parent => Some(libc::ENOTEMPTY),
        _ if is_directory && !disk.is_empty(real) => Some(libc::ENOTEMPTY),
        _ => disk.writable(parent(real)).err(),
    }
}

/// What a call returns, once other threads may change names again.
pub(crate) fn answer(error: c_int, frame: &Frame) -> c_int {
    leave(call_sites::site(&frame.return_address));
    match error {
        0 => 0,
        error => failed(error),
    }
}

/// Defines calls that remove the entry that a path names.
macro_rules! removes {
    ($($name:ident => $call:ident, $removes:expr;)*) => {$(
        #[doc = concat!("`", stringify!($call), "`.")]
        ///
        /// # Safety
        ///
        /// As POSIX demands of the caller: `path` points to a text that ends with a nul.
        unsafe extern "C" fn $name(path: usize, frame: &Frame) -> c_int {
            outside_run!($call: fn(path: usize) -> c_int);
            let site = call_sites::site(&frame.return_address);
            // SAFETY: the path is as the caller promises.
            answer(unsafe { remove_entry(HERE, path, $removes, site) }, frame)
        }
    )*};
}

removes! {
    remove_file => unlink, Removes::Files;
    remove_directory => rmdir, Removes::Directories;
    remove_either => remove, Removes::Both;
}

/// `unlinkat`.
///
/// # Safety
///
/// As POSIX demands of the caller: `path` points to a text that ends with a nul.
unsafe extern "C" fn remove_at(
    directory: c_int,
    path: usize,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    outside_run!(unlinkat: fn(directory: c_int, path: usize, flags: c_int) -> c_int);
    let removes = match flags {
        0 => Removes::Files,
        libc::AT_REMOVEDIR => Removes::Directories,
        _ => return failed(libc::EINVAL),
    };
    let site = call_sites::site(&frame.return_address);
    // SAFETY: the path is as the caller promises.
    answer(
        unsafe { remove_entry(directory, path, removes, site) },
        frame,
    )
}
