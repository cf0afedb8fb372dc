//! Entries of directories: what is removed or gets another name. See [`crate::kernel::file_names`].

use crate::{
    core::{call_sites, sys, world},
    hooks::{Frame, accesses},
    kernel::{
        descriptor_table, file_mappings,
        file_names::{HERE, alone, bytes, give, is_system, keep, leave, number, refuse, state},
        file_objects,
        overlay::{self, Real, Where},
        path_resolution::{Use, WHOLE, detach, follow, reach},
    },
    real, trampoline,
};
use core::ffi::{c_char, c_int, c_uint, c_void};
use reweave_model::Site;

trampoline! {
    unlink => remove_file, "rsi";
    rmdir => remove_directory, "rsi";
    remove => remove_either, "rsi";
    unlinkat => remove_at, "rcx";
    rename => rename_here, "rdx";
    renameat => rename_at, "r8";
    renameat2 => rename_with, "r9";
    realpath => real_path, "rdx";
    __realpath_chk => real_path_checked, "rcx";
    canonicalize_file_name => real_path_new, "rsi";
}

/// Where an entry is that is about to be removed. Paths lead through directories and links, so those are nobody else's until [`leave`].
fn entry(directory: c_int, path: usize, directories: bool, site: Site) -> Result<Real, c_int> {
    if !directories {
        let real = reach(directory, path, false, WHOLE, site)?;
        let stat = state().disk.stat(&real);
        let leads_on =
            |stat: &libc::stat| matches!(overlay::kind(stat), libc::S_IFDIR | libc::S_IFLNK);
        if alone() || !stat.as_ref().is_some_and(leads_on) {
            return Ok(real);
        }
        leave(site);
    }
    let real = reach(directory, path, false, Use::Entry, site)?;
    file_objects::touch(number(&real), site);
    Ok(real)
}

/// How a path ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Name,
    /// A name, of a directory for certain.
    Slash,
    Here,
    Above,
}

impl Ending {
    /// # Safety
    /// The program's own text.
    unsafe fn of(path: usize) -> Ending {
        // SAFETY: as promised.
        let path = unsafe { bytes(path) }.unwrap_or_default();
        let end = path.iter().rposition(|byte| *byte != b'/');
        let name = &path[..end.map_or(0, |end| end + 1)];
        match name.rsplit(|byte| *byte == b'/').next() {
            Some(b".") => Ending::Here,
            Some(b"..") => Ending::Above,
            _ if name.len() < path.len() => Ending::Slash,
            _ => Ending::Name,
        }
    }
}

/// Removes an entry; an error number, or 0.
pub(crate) fn take_away(
    directory: c_int,
    path: usize,
    directories: Option<bool>,
    site: Site,
) -> c_int {
    let real = match entry(directory, path, directories == Some(true), site) {
        Ok(real) => real,
        Err(error) => return error,
    };
    let disk = &mut state().disk;
    let Some(stat) = disk.stat(&real) else {
        return libc::ENOENT;
    };
    let is_directory = overlay::kind(&stat) == libc::S_IFDIR;
    // SAFETY: the program's own text.
    let ending = unsafe { Ending::of(path) };
    match directories {
        _ if is_system(&real) => return libc::EPERM,
        _ if ending == Ending::Slash && !is_directory => return libc::ENOTDIR,
        Some(true) if !is_directory => return libc::ENOTDIR,
        Some(false) if is_directory => return libc::EISDIR,
        _ if ending == Ending::Here => return libc::EINVAL,
        _ if ending == Ending::Above => return libc::ENOTEMPTY,
        _ if is_directory && !disk.is_empty(&real) => return libc::ENOTEMPTY,
        _ => {}
    }
    if let Err(error) = disk.writable(overlay::parent(&real)) {
        return error;
    }
    detach(&real, &stat);
    if state().disk.has_failed() {
        refuse("a file that cannot be copied", site);
    }
    let disk = &mut state().disk;
    disk.prepare(&real);
    let flags = if is_directory { libc::AT_REMOVEDIR } else { 0 };
    overlay::at(libc::SYS_unlinkat, &disk.copy_of(&real), flags as usize, 0);
    disk.took(&real);
    0
}

/// What a call returns, once others may change names again.
pub(crate) fn answer(error: c_int, frame: &Frame) -> c_int {
    leave(site(frame));
    match error {
        0 => 0,
        error => crate::core::operations::failed(error),
    }
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

unsafe extern "C" fn remove_file(path: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(unlink: fn(usize) -> c_int)(path) };
    }
    answer(take_away(HERE, path, Some(false), site(frame)), frame)
}

unsafe extern "C" fn remove_directory(path: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(rmdir: fn(usize) -> c_int)(path) };
    }
    answer(take_away(HERE, path, Some(true), site(frame)), frame)
}

unsafe extern "C" fn remove_either(path: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(remove: fn(usize) -> c_int)(path) };
    }
    answer(take_away(HERE, path, None, site(frame)), frame)
}

unsafe extern "C" fn remove_at(
    directory: c_int,
    path: usize,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(unlinkat: fn(c_int, usize, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(directory, path, flags) };
    }
    if flags & !libc::AT_REMOVEDIR != 0 {
        return crate::core::operations::failed(libc::EINVAL);
    }
    let directories = flags & libc::AT_REMOVEDIR != 0;
    answer(
        take_away(directory, path, Some(directories), site(frame)),
        frame,
    )
}

/// Why something cannot get another name: what lies there, and where it would lie.
fn unmovable(source: &libc::stat, from: &[u8], to: &[u8]) -> Option<c_int> {
    let disk = &mut state().disk;
    let is_directory = |stat: &libc::stat| overlay::kind(stat) == libc::S_IFDIR;
    let denied = [from, to].map(|name| disk.writable(overlay::parent(name)));
    let error = match disk.stat(to) {
        _ if is_system(from) || is_system(to) => libc::EPERM,
        _ if overlay::beneath(to, from) => libc::EINVAL,
        Some(target) if is_directory(source) && !is_directory(&target) => libc::ENOTDIR,
        Some(target) if !is_directory(source) && is_directory(&target) => libc::EISDIR,
        Some(target) if is_directory(&target) && !disk.is_empty(to) => libc::ENOTEMPTY,
        _ => return denied.into_iter().find_map(Result::err),
    };
    Some(error)
}

/// Gives something another name; an error number, or 0.
fn move_away(old: (c_int, usize), new: (c_int, usize), replaces: bool, site: Site) -> c_int {
    // SAFETY: the program's own texts.
    let endings = unsafe { [Ending::of(old.1), Ending::of(new.1)] };
    if endings.contains(&Ending::Here) || endings.contains(&Ending::Above) {
        return libc::EBUSY;
    }
    let from = reach(old.0, old.1, false, Use::Entry, site);
    let to = reach(new.0, new.1, false, Use::Entry, site);
    let (from, to) = match (from, to) {
        (Ok(from), Ok(to)) => (from, to),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let disk = &mut state().disk;
    let Some(source) = disk.stat(&from) else {
        return libc::ENOENT;
    };
    let is_directory = |stat: &libc::stat| overlay::kind(stat) == libc::S_IFDIR;
    match disk.stat(&to) {
        _ if endings.contains(&Ending::Slash) && !is_directory(&source) => return libc::ENOTDIR,
        Some(_) if !replaces => return libc::EEXIST,
        // Two names of one file stay what they are.
        Some(target) if overlay::identity(&target) == overlay::identity(&source) => return 0,
        _ => {}
    }
    if let Some(error) = unmovable(&source, &from, &to) {
        return error;
    }
    if let Some(target) = state().disk.stat(&to) {
        detach(&to, &target);
    }
    let disk = &mut state().disk;
    let target = disk.stat(&to).filter(|_| !alone());
    match target {
        Some(target) if !is_directory(&target) => {
            // How many names it has is seen by who has it open.
            file_objects::touch(number(&to), site);
            keep(&to, &target, site);
        }
        Some(target) if overlay::is_open(&target, descriptor_table::is_programs) => {
            refuse("rename over a directory that is open", site)
        }
        _ => {}
    }
    let disk = &mut state().disk;
    let original = disk.find(&from) == Where::Original;
    if original && is_directory(&source) && overlay::is_open(&source, descriptor_table::is_programs)
    {
        refuse("rename of a directory that is open", site);
    }
    if overlay::kind(&source) == libc::S_IFDIR
        && disk
            .directory(HERE)
            .is_some_and(|here| overlay::beneath(&here, &from))
    {
        refuse("rename of a directory that the process is in", site);
    }
    if original {
        file_mappings::changing(&source, true, site);
    }
    let disk = &mut state().disk;
    disk.copy_all(&from);
    if disk.has_failed() {
        refuse("rename of what cannot be copied", site);
    }
    if original && overlay::kind(&source) == libc::S_IFREG {
        follow(&source, &from);
    }
    let disk = &mut state().disk;
    disk.prepare(&to);
    let (copy, target) = (
        overlay::terminated(&disk.copy_of(&from)),
        overlay::terminated(&disk.copy_of(&to)),
    );
    let here = HERE as usize;
    let (from_at, to_at) = (copy.as_ptr() as usize, target.as_ptr() as usize);
    // SAFETY: both end with a nul.
    let result = unsafe { sys::call(libc::SYS_renameat, [here, from_at, here, to_at, 0, 0]) };
    if result < 0 {
        return -result as c_int;
    }
    disk.took(&from);
    disk.put(&to);
    give(&from, &to, true);
    0
}

unsafe extern "C" fn rename_here(old: usize, new: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(rename: fn(usize, usize) -> c_int)(old, new) };
    }
    answer(
        move_away((HERE, old), (HERE, new), true, site(frame)),
        frame,
    )
}

unsafe extern "C" fn rename_at(
    old: c_int,
    from: usize,
    new: c_int,
    to: usize,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(renameat: fn(c_int, usize, c_int, usize) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(old, from, new, to) };
    }
    answer(move_away((old, from), (new, to), true, site(frame)), frame)
}

unsafe extern "C" fn rename_with(
    old: c_int,
    from: usize,
    new: c_int,
    to: usize,
    flags: c_uint,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(renameat2: fn(c_int, usize, c_int, usize, c_uint) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(old, from, new, to, flags) };
    }
    if flags & !libc::RENAME_NOREPLACE != 0 {
        refuse("renameat2 that exchanges files", site(frame));
    }
    answer(
        move_away((old, from), (new, to), flags == 0, site(frame)),
        frame,
    )
}

unsafe extern "C" fn real_path_checked(
    path: usize,
    into: *mut c_char,
    _room: usize,
    frame: &Frame,
) -> *mut c_char {
    // SAFETY: as the call itself.
    unsafe { real_path(path, into, frame) }
}

unsafe extern "C" fn real_path_new(path: usize, frame: &Frame) -> *mut c_char {
    // SAFETY: as the call itself.
    unsafe { real_path(path, core::ptr::null_mut(), frame) }
}

unsafe extern "C" fn real_path(path: usize, into: *mut c_char, frame: &Frame) -> *mut c_char {
    if !world::active() || !state().disk.used() && alone() {
        let real = real!(realpath: fn(usize, *mut c_char) -> *mut c_char);
        // SAFETY: the program's own arguments.
        return unsafe { real(path, into) };
    }
    let real = match reach(HERE, path, true, Use::Look, site(frame)) {
        Ok(real) if state().disk.stat(&real).is_none() => Err(libc::ENOENT),
        real => real,
    };
    leave(site(frame));
    let real = match real {
        Ok(real) => real,
        Err(error) => {
            crate::core::operations::failed(error);
            return core::ptr::null_mut();
        }
    };
    let text = overlay::terminated(&real);
    let into = match into.is_null() {
        false => into.cast::<u8>(),
        true => crate::core::heap::allocate(text.len(), 16, site(frame).0).cast::<u8>(),
    };
    if !into.is_null() {
        accesses::range(into as usize, text.len(), true, frame);
        // SAFETY: room for a path, or for this one.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), into, text.len()) };
    }
    into.cast::<c_void>().cast()
}
