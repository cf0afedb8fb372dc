//! `rename` and its like.

use crate::{
    calls::files::directory_entries::answer,
    core::trampoline::Frame,
    kernel::{
        descriptor_table, file_mappings,
        file_names::{HERE, note_rename, number, refuse},
        file_objects, nameless_files,
        ordering::alone,
        os_files::{self, FileIdentity, file_type},
        overlay::{Where, overlay},
        path_resolution::{PathUse, detach, move_open, reach},
        paths::{Ending, beneath, is_system, parent},
        program_memory::c_text,
    },
    outside_run,
    run::call_sites,
    trampoline,
};
use core::ffi::{c_int, c_uint};
use reweave_model::Site;

trampoline! {
    rename => rename_here, "rdx";
    renameat => rename_at, "r8";
    renameat2 => rename_with, "r9";
}

/// A directory, and the address of a path from there.
type Named = (c_int, usize);

fn is_directory(stat: &libc::stat) -> bool {
    file_type(stat) == libc::S_IFDIR
}

/// Gives a file another name; an error number, or 0.
///
/// # Safety
///
/// Both paths are null or point to a text that ends with a nul.
unsafe fn rename_entry(old: Named, new: Named, replaces: bool, site: Site) -> c_int {
    // SAFETY: the caller promises that both paths are null or end with a nul.
    let endings =
        [old, new].map(|(_, path)| Ending::of(unsafe { c_text(path) }.unwrap_or_default()));
    if endings.contains(&Ending::Current) || endings.contains(&Ending::Parent) {
        return libc::EBUSY;
    }
    let from = reach(old.0, old.1, false, PathUse::Entry, site);
    let to = reach(new.0, new.1, false, PathUse::Entry, site);
    let (from, to) = match (from, to) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let (source, target) = {
        let disk = overlay();
        (disk.stat(&from), disk.stat(&to))
    };
    let Some(source) = source else {
        return libc::ENOENT;
    };
    match &target {
        _ if endings.contains(&Ending::Slash) && !is_directory(&source) => return libc::ENOTDIR,
        Some(_) if !replaces => return libc::EEXIST,
        // Two names of one file stay what they are.
        Some(target) if FileIdentity::of(target) == FileIdentity::of(&source) => return 0,
        _ => {}
    }
    if let Some(error) = refusal(&source, &from, &to) {
        return error;
    }
    if let Some(target) = target {
        replace_target(&to, &target, site);
    }
    move_copy(&source, &from, &to, site)
}

/// Why a file cannot get another name.
fn refusal(source: &libc::stat, from: &[u8], to: &[u8]) -> Option<c_int> {
    let mut disk = overlay();
    let denied = [from, to].map(|name| disk.writable(parent(name)));
    let error = match disk.stat(to) {
        _ if is_system(from) || is_system(to) => libc::EPERM,
        _ if beneath(to, from) => libc::EINVAL,
        Some(target) if is_directory(source) && !is_directory(&target) => libc::ENOTDIR,
        Some(target) if !is_directory(source) && is_directory(&target) => libc::EISDIR,
        Some(target) if is_directory(&target) && !disk.is_empty(to) => libc::ENOTEMPTY,
        _ => return denied.into_iter().find_map(Result::err),
    };
    Some(error)
}

/// The file that has the new name is about to lose it.
fn replace_target(to: &[u8], target: &libc::stat, site: Site) {
    detach(to, target);
    // `detach` may have made a copy.
    let target = overlay().stat(to).filter(|_| !alone());
    match target {
        Some(target) if !is_directory(&target) => {
            // A thread that has it open sees how many names it has.
            file_objects::touch(number(to), site);
            nameless_files::keep(to, &target, site);
        }
        Some(target) if os_files::is_open_somewhere(&target, descriptor_table::is_programs) => {
            refuse("rename over a directory that is open", site)
        }
        _ => {}
    }
}

/// Renames in the overlay; an error number, or 0.
fn move_copy(source: &libc::stat, from: &[u8], to: &[u8], site: Site) -> c_int {
    let original = overlay().find(from) == Where::Original;
    if is_directory(source) {
        if original && os_files::is_open_somewhere(source, descriptor_table::is_programs) {
            refuse("rename of a directory that is open", site);
        }
        let here = overlay().directory(HERE);
        if here.is_some_and(|here| beneath(&here, from)) {
            refuse("rename of a directory that the process is in", site);
        }
    }
    if original {
        file_mappings::changing(source, true, site);
    }
    overlay().copy_tree(from);
    let failed = overlay().has_failed();
    if failed {
        refuse("rename of what cannot be copied", site);
    }
    if original && file_type(source) == libc::S_IFREG {
        move_open(source, from);
    }
    let mut disk = overlay();
    disk.prepare(to);
    let result = os_files::rename(&disk.copy_of(from), &disk.copy_of(to));
    if result < 0 {
        return -result as c_int;
    }
    disk.note_removed(from);
    disk.note_replaced(to);
    note_rename(from, to, true);
    0
}

/// `rename`.
///
/// # Safety
///
/// As POSIX demands of the caller: both paths point to texts that end with a nul.
unsafe extern "C" fn rename_here(old: usize, new: usize, frame: &Frame) -> c_int {
    outside_run!(rename: fn(old: usize, new: usize) -> c_int);
    let site = call_sites::site(&frame.return_address);
    // SAFETY: the paths are as the caller promises.
    answer(
        unsafe { rename_entry((HERE, old), (HERE, new), true, site) },
        frame,
    )
}

/// `renameat`.
///
/// # Safety
///
/// As [`rename_here`].
unsafe extern "C" fn rename_at(
    old: c_int,
    from: usize,
    new: c_int,
    to: usize,
    frame: &Frame,
) -> c_int {
    outside_run!(renameat: fn(old: c_int, from: usize, new: c_int, to: usize) -> c_int);
    let site = call_sites::site(&frame.return_address);
    // SAFETY: the paths are as the caller promises.
    answer(
        unsafe { rename_entry((old, from), (new, to), true, site) },
        frame,
    )
}

/// `renameat2`.
///
/// # Safety
///
/// As [`rename_here`].
unsafe extern "C" fn rename_with(
    old: c_int,
    from: usize,
    new: c_int,
    to: usize,
    flags: c_uint,
    frame: &Frame,
) -> c_int {
    outside_run!(renameat2: fn(old: c_int, from: usize, new: c_int, to: usize, flags: c_uint) -> c_int);
    let site = call_sites::site(&frame.return_address);
    if flags & !libc::RENAME_NOREPLACE != 0 {
        refuse("renameat2 that exchanges files", site);
    }
    // SAFETY: the paths are as the caller promises.
    answer(
        unsafe { rename_entry((old, from), (new, to), flags == 0, site) },
        frame,
    )
}
