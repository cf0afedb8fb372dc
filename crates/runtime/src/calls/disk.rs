//! Calls that name files: what they change lies elsewhere, see [`crate::disk`].
//!
//! A path that another thread may look at or change is an object of the model. Who lists a directory beside other threads would look at all of them at once,
//! which is not under control.

use super::{
    callers, files,
    paths::{openable, redirects},
};
use crate::{
    accesses,
    disk::{self, Disk, Real, Where},
    hooks::Frame,
    real, sys, trampoline, world,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use reweave_model::Site;

trampoline! {
    unlink => remove_file, "rsi";
    rmdir => remove_directory, "rsi";
    remove => remove_either, "rsi";
    unlinkat => remove_at, "rcx";
    rename => rename_here, "rdx";
    renameat => rename_at, "r8";
    renameat2 => rename_with, "r9";
    mkstemp => make_temporary, "rsi";
    mkstemp64 => make_temporary, "rsi";
    mkostemp => make_temporary_with, "rdx";
    mkostemp64 => make_temporary_with, "rdx";
    mkstemps => make_temporary_called, "rdx";
    mkostemps => make_temporary_called_with, "rcx";
    mkdtemp => make_temporary_directory, "rsi";
    realpath => real_path, "rdx";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    disk: Disk,
    /// Paths that calls were given instead of theirs.
    texts: [Vec<u8>; 2],
    /// How many names each thread has asked for, by slot.
    temporary: Vec<(usize, u64)>,
}

fn state() -> &'static mut State {
    &mut world::get().calls.disk
}

pub fn prepare(root: &str) {
    state().disk.at(root);
}

pub fn clean_up() {
    state().disk.forget();
    state().temporary.clear();
}

/// What a call does with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Look,
    /// Changes it or makes it; whether what is in it matters.
    Change {
        whole: bool,
    },
    List,
}

/// What the kernel has files for that are none.
fn is_system(real: &[u8]) -> bool {
    let shared = disk::beneath(real, b"/dev/shm");
    [&b"/proc"[..], b"/sys", b"/dev"]
        .iter()
        .any(|system| disk::beneath(real, system))
        && !shared
}

/// A path as an object: a number for which one it is.
fn number(real: &[u8]) -> usize {
    let hash = real.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash ^ hash >> 44) as usize
}

fn alone() -> bool {
    let world = world::get();
    world.races.alone(world.current)
}

/// # Safety
/// The text is the program's, and ends with a nul.
unsafe fn bytes<'a>(path: usize) -> Option<&'a [u8]> {
    if path == 0 {
        return None;
    }
    // SAFETY: as promised.
    Some(unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes())
}

/// Where a path leads, for one that is under control; others see what the call does to it from now on, or it sees what they have done.
fn reach(directory: c_int, path: usize, follow: bool, how: Use, site: Site) -> Option<Real> {
    // SAFETY: the program's own text.
    let path = unsafe { bytes(path) }?;
    let find = || {
        let real = state().disk.real(directory, path, follow);
        real.filter(|real| !is_system(real))
    };
    let real = find()?;
    if alone() {
        return Some(real);
    }
    match how {
        Use::Look => files::look_at(number(&real), site),
        Use::Change { .. } => files::touch(number(&real), site),
        Use::List => world::get().unsupported("listing a directory beside other threads", site),
    }
    find()
}

/// Exchanges the path of a call for where it is to be looked for.
fn redirect(directory: c_int, path: &mut usize, follow: bool, how: Use, from: &usize, text: usize) {
    state().texts[text].clear();
    if matches!(how, Use::Look | Use::List) && alone() && !state().disk.used() {
        return;
    }
    let site = callers::site(from);
    let Some(real) = reach(directory, *path, follow, how, site) else {
        return;
    };
    let place = match how {
        Use::Look => state().disk.place(&real),
        Use::List => {
            state().disk.list(&real);
            state().disk.place(&real)
        }
        Use::Change { whole } => match change(&real, whole, site) {
            true => state().disk.copy_of(&real),
            false => return,
        },
    };
    let state = state();
    state.texts[text] = disk::terminated(&place);
    *path = state.texts[text].as_ptr() as usize;
}

/// Has a copy made of what is about to be changed; `false`: it cannot be changed, and the call says why.
fn change(real: &[u8], whole: bool, site: Site) -> bool {
    let disk = &mut state().disk;
    let there = disk.stat(real);
    let writable = match there {
        Some(_) => disk.writable(real),
        None => disk.writable(disk::parent(real)),
    };
    let special = there.is_some_and(|stat| {
        !matches!(
            disk::kind(&stat),
            libc::S_IFREG | libc::S_IFDIR | libc::S_IFLNK
        )
    });
    if special || !writable {
        // Among the copies it is found as well.
        return disk.find(real) != Where::Original;
    }
    match there {
        Some(stat) if disk.find(real) == Where::Original => {
            if disk::kind(&stat) == libc::S_IFREG && disk::is_open(&stat, files::OURS) {
                world::get().unsupported("a change of a file that is open for reading", site);
            }
            disk.copy(real, whole);
        }
        Some(_) => {}
        None => disk.prepare(real),
    }
    true
}

/// How `open` is to be taken.
fn of_flags(flags: c_int) -> (Use, bool) {
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    let exclusive = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
    let follow = flags & libc::O_NOFOLLOW == 0 && !exclusive;
    let how = match () {
        // A file without a name.
        () if flags & libc::O_TMPFILE == libc::O_TMPFILE => Use::Look,
        () if writes || flags & (libc::O_CREAT | libc::O_TRUNC) != 0 => Use::Change {
            whole: flags & libc::O_TRUNC == 0 || exclusive,
        },
        () if flags & libc::O_DIRECTORY != 0 => Use::List,
        () => Use::Look,
    };
    (how, follow)
}

/// How `fopen` is.
fn of_mode(mode: usize) -> Use {
    // SAFETY: the program's own text.
    let mode = unsafe { bytes(mode) }.unwrap_or(b"r");
    match mode.first() {
        Some(b'w') => Use::Change {
            whole: mode.contains(&b'x'),
        },
        Some(b'a') => Use::Change { whole: true },
        _ if mode.contains(&b'+') => Use::Change { whole: true },
        _ => Use::Look,
    }
}

const HERE: c_int = libc::AT_FDCWD;

fn checked(name: &'static CStr, path: usize, from: &usize) {
    if path != 0 {
        // SAFETY: the program's own text.
        openable(unsafe { CStr::from_ptr(path as *const c_char) }, name, from);
    }
}

fn opens(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let (how, follow) = of_flags(arguments[1] as c_int);
    redirect(HERE, &mut arguments[0], follow, how, from, 0);
}

fn opens_at(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[1], from);
    let (how, follow) = of_flags(arguments[2] as c_int);
    redirect(
        arguments[0] as c_int,
        &mut arguments[1],
        follow,
        how,
        from,
        0,
    );
}

fn makes_file(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let how = Use::Change { whole: false };
    redirect(HERE, &mut arguments[0], true, how, from, 0);
}

fn opens_stream(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let how = of_mode(arguments[1]);
    redirect(HERE, &mut arguments[0], true, how, from, 0);
}

fn lists(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    redirect(HERE, &mut arguments[0], true, Use::List, from, 0);
}

fn goes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    crate::spin::disturbed();
    files::moving();
    redirect(HERE, &mut arguments[0], true, Use::Look, from, 0);
}

fn looks(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, Use::Look, from, 0);
}

fn looks_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(
        arguments[0] as c_int,
        &mut arguments[1],
        true,
        Use::Look,
        from,
        0,
    );
}

const WHOLE: Use = Use::Change { whole: true };

fn changes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, WHOLE, from, 0);
}

fn changes_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(
        arguments[0] as c_int,
        &mut arguments[1],
        true,
        WHOLE,
        from,
        0,
    );
}

/// The new name, or the entry itself, is this argument.
fn makes<const PATH: usize>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], false, WHOLE, from, 0);
}

fn makes_at<const DIRECTORY: usize>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let directory = arguments[DIRECTORY] as c_int;
    redirect(
        directory,
        &mut arguments[DIRECTORY + 1],
        false,
        WHOLE,
        from,
        0,
    );
}

/// Both names are of one file, so it has to be among the copies.
fn links(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], false, WHOLE, from, 0);
    redirect(HERE, &mut arguments[1], false, WHOLE, from, 1);
}

fn links_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let (old, new) = (arguments[0] as c_int, arguments[2] as c_int);
    redirect(old, &mut arguments[1], false, WHOLE, from, 0);
    redirect(new, &mut arguments[3], false, WHOLE, from, 1);
}

/// They walk through directories by themselves.
fn walks(name: &'static CStr, _: &mut [usize; 6], from: &usize) {
    files::changing();
    if state().disk.used() || !alone() {
        let name = name.to_str().unwrap_or("?");
        let what = alloc::format!("{name} beside other threads, or after files were changed");
        world::get().unsupported(&what, callers::site(from));
    }
}

/// What is changed through a descriptor that was not opened for that.
fn changes_open(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let path = alloc::format!("/proc/self/fd/{}", arguments[0] as c_int);
    let path = disk::read_link(path.as_bytes()).unwrap_or_default();
    let copies = state().disk.copy_of(b"");
    if path.first() == Some(&b'/') && !disk::beneath(&path, &copies) && !is_system(&path) {
        let name = name.to_str().unwrap_or("?");
        let what = alloc::format!("{name} of a file that is open for reading");
        world::get().unsupported(&what, callers::site(from));
    }
}

redirects! {
    open => opens;
    open64 => opens;
    openat => opens_at;
    openat64 => opens_at;
    creat => makes_file;
    creat64 => makes_file;
    fopen => opens_stream;
    fopen64 => opens_stream;
    freopen => opens_stream;
    freopen64 => opens_stream;
    opendir => lists;
    scandir => lists;
    scandir64 => lists;
    chdir => goes;
    access => looks;
    euidaccess => looks;
    eaccess => looks;
    faccessat => looks_at;
    pathconf => looks;
    truncate => changes;
    truncate64 => changes;
    chmod => changes;
    chown => changes;
    utime => changes;
    utimes => changes;
    setxattr => changes;
    removexattr => changes;
    lchown => makes::<0>;
    lutimes => makes::<0>;
    fchmodat => changes_at;
    fchownat => changes_at;
    utimensat => changes_at;
    futimesat => changes_at;
    mkdir => makes::<0>;
    mkdirat => makes_at::<0>;
    symlink => makes::<1>;
    symlinkat => makes_at::<1>;
    link => links;
    linkat => links_at;
    fchmod => changes_open;
    fchown => changes_open;
    futimens => changes_open;
    futimes => changes_open;
    fsetxattr => changes_open;
    nftw => walks;
    nftw64 => walks;
    ftw => walks;
    ftw64 => walks;
    fts_open => walks;
    glob => walks;
    glob64 => walks;
}

// For calls that answer by writing to memory.

pub fn path<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], true, Use::Look, from, 0);
}

pub fn link<const PATH: usize>(arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], false, Use::Look, from, 0);
}

pub fn link_at(arguments: &mut [usize; 6], from: &usize) {
    redirect(
        arguments[0] as c_int,
        &mut arguments[1],
        false,
        Use::Look,
        from,
        0,
    );
}

pub fn path_at<const DIRECTORY: usize, const PATH: usize, const FLAGS: usize>(
    arguments: &mut [usize; 6],
    from: &usize,
) {
    let follow = arguments[FLAGS] as c_int & libc::AT_SYMLINK_NOFOLLOW == 0;
    let directory = arguments[DIRECTORY] as c_int;
    redirect(directory, &mut arguments[PATH], follow, Use::Look, from, 0);
}

/// When files were last changed, in a run that changes them: as long ago as the run began.
const THEN: i64 = 1_767_225_600;

unsafe fn smoothed(stat: usize) {
    // SAFETY: the kernel has filled it in.
    let stat = unsafe { &mut *(stat as *mut libc::stat) };
    (stat.st_atime, stat.st_mtime, stat.st_ctime) = (THEN, THEN, THEN);
    (stat.st_atime_nsec, stat.st_mtime_nsec, stat.st_ctime_nsec) = (0, 0, 0);
}

fn is_copy(path: &[u8]) -> bool {
    state().disk.used() && disk::beneath(path, &state().disk.copy_of(b""))
}

/// The path was exchanged for that of a copy.
fn was_copy() -> bool {
    is_copy(&state().texts[0])
}

pub fn smooth<const STAT: usize>(arguments: &[usize; 6]) {
    if was_copy() {
        // SAFETY: as above.
        unsafe { smoothed(arguments[STAT]) };
    }
}

pub fn smooth_open<const DESCRIPTOR: usize, const STAT: usize>(arguments: &[usize; 6]) {
    if !state().disk.used() {
        return;
    }
    let path = alloc::format!("/proc/self/fd/{}", arguments[DESCRIPTOR] as c_int);
    if is_copy(&disk::read_link(path.as_bytes()).unwrap_or_default()) {
        // SAFETY: as above.
        unsafe { smoothed(arguments[STAT]) };
    }
}

pub fn smooth_extended(arguments: &[usize; 6]) {
    if !was_copy() {
        return;
    }
    // SAFETY: the kernel has filled it in.
    let stat = unsafe { &mut *(arguments[4] as *mut libc::statx) };
    for time in [
        &mut stat.stx_atime,
        &mut stat.stx_mtime,
        &mut stat.stx_ctime,
        &mut stat.stx_btime,
    ] {
        (time.tv_sec, time.tv_nsec) = (THEN, 0);
    }
}

/// Where the process is, as the program calls it.
pub fn smooth_directory(arguments: &[usize; 6]) {
    // SAFETY: filled in by the call before.
    let Some(path) = (unsafe { bytes(arguments[0]) }).filter(|path| is_copy(path)) else {
        return;
    };
    let original = disk::terminated(&state().disk.original_of(path));
    // SAFETY: shorter than what is there.
    unsafe { core::ptr::copy(original.as_ptr(), arguments[0] as *mut u8, original.len()) };
}

/// Removes an entry; an error number, or 0.
fn take_away(directory: c_int, path: usize, directories: Option<bool>, site: Site) -> c_int {
    let Some(real) = reach(directory, path, false, WHOLE, site) else {
        return libc::EPERM;
    };
    let disk = &mut state().disk;
    let Some(stat) = disk.stat(&real) else {
        return libc::ENOENT;
    };
    let is_directory = disk::kind(&stat) == libc::S_IFDIR;
    match directories {
        Some(true) if !is_directory => return libc::ENOTDIR,
        Some(false) if is_directory => return libc::EISDIR,
        _ if !disk.writable(disk::parent(&real)) => return libc::EACCES,
        _ if is_directory && !disk.is_empty(&real) => return libc::ENOTEMPTY,
        _ => {}
    }
    disk.prepare(&real);
    let flags = if is_directory { libc::AT_REMOVEDIR } else { 0 };
    disk::at(libc::SYS_unlinkat, &disk.copy_of(&real), flags as usize, 0);
    disk.took(&real);
    0
}

fn answer(error: c_int) -> c_int {
    match error {
        0 => 0,
        error => super::failed(error),
    }
}

fn site(frame: &Frame) -> Site {
    callers::site(&frame.return_address)
}

unsafe extern "C" fn remove_file(path: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(unlink: fn(usize) -> c_int)(path) };
    }
    answer(take_away(HERE, path, Some(false), site(frame)))
}

unsafe extern "C" fn remove_directory(path: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(rmdir: fn(usize) -> c_int)(path) };
    }
    answer(take_away(HERE, path, Some(true), site(frame)))
}

unsafe extern "C" fn remove_either(path: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(remove: fn(usize) -> c_int)(path) };
    }
    answer(take_away(HERE, path, None, site(frame)))
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
    let directories = flags & libc::AT_REMOVEDIR != 0;
    answer(take_away(directory, path, Some(directories), site(frame)))
}

/// Gives something another name; an error number, or 0.
fn move_away(old: (c_int, usize), new: (c_int, usize), replaces: bool, site: Site) -> c_int {
    let from = reach(old.0, old.1, false, WHOLE, site);
    let to = reach(new.0, new.1, false, WHOLE, site);
    let (Some(from), Some(to)) = (from, to) else {
        return libc::EPERM;
    };
    let disk = &mut state().disk;
    let Some(source) = disk.stat(&from) else {
        return libc::ENOENT;
    };
    let is_directory = |stat: &libc::stat| disk::kind(stat) == libc::S_IFDIR;
    if !disk.writable(disk::parent(&from)) || !disk.writable(disk::parent(&to)) {
        return match disk.stat(disk::parent(&to)) {
            Some(_) => libc::EACCES,
            None => libc::ENOENT,
        };
    }
    match disk.stat(&to) {
        Some(_) if from == to => return 0,
        _ if disk::beneath(&to, &from) => return libc::EINVAL,
        Some(_) if !replaces => return libc::EEXIST,
        Some(target) if is_directory(&source) && !is_directory(&target) => return libc::ENOTDIR,
        Some(target) if !is_directory(&source) && is_directory(&target) => return libc::EISDIR,
        Some(target) if is_directory(&target) && !disk.is_empty(&to) => return libc::ENOTEMPTY,
        _ => {}
    }
    if disk.find(&from) == Where::Original && disk::is_open(&source, files::OURS) {
        world::get().unsupported("rename of a file that is open for reading", site);
    }
    disk.copy_all(&from);
    disk.prepare(&to);
    let (copy, target) = (
        disk::terminated(&disk.copy_of(&from)),
        disk::terminated(&disk.copy_of(&to)),
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
    0
}

unsafe extern "C" fn rename_here(old: usize, new: usize, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(rename: fn(usize, usize) -> c_int)(old, new) };
    }
    answer(move_away((HERE, old), (HERE, new), true, site(frame)))
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
    answer(move_away((old, from), (new, to), true, site(frame)))
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
        world::get().unsupported("renameat2 that exchanges files", site(frame));
    }
    answer(move_away((old, from), (new, to), flags == 0, site(frame)))
}

/// Fills in a name that nobody has, the same in every run, and makes it by `make`.
unsafe fn temporary(
    template: *mut c_char,
    suffix: c_int,
    frame: &Frame,
    make: impl FnOnce(&[u8]) -> isize,
) -> c_int {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    // SAFETY: the program's own text.
    let length = unsafe { CStr::from_ptr(template) }.count_bytes();
    let end = length.checked_sub(suffix.max(0) as usize);
    let Some(start) = end.and_then(|end| end.checked_sub(6)) else {
        return super::failed(libc::EINVAL);
    };
    // SAFETY: within the text.
    let place = unsafe { core::slice::from_raw_parts_mut(template.add(start).cast::<u8>(), 6) };
    if place != b"XXXXXX" {
        return super::failed(libc::EINVAL);
    }
    accesses::range(place.as_ptr() as usize, 6, true, frame);
    let site = site(frame);
    files::changing();
    let slot = world::get().slot();
    loop {
        let known = &mut state().temporary;
        let index = known.iter().position(|(known, _)| *known == slot);
        let index = index.unwrap_or_else(|| {
            known.push((slot, 0));
            known.len() - 1
        });
        known[index].1 += 1;
        let mut bits = (slot as u64) << 15 | known[index].1;
        for letter in place.iter_mut() {
            *letter = LETTERS[bits as usize % 32];
            bits /= 32;
        }
        let Some(real) = reach(HERE, template as usize, false, WHOLE, site) else {
            return super::failed(libc::ENOENT);
        };
        if state().disk.stat(&real).is_some() {
            continue;
        }
        let place = match change(&real, true, site) {
            true => state().disk.copy_of(&real),
            false => real,
        };
        return match make(&place) {
            error @ ..0 => super::failed(-error as c_int),
            made => made as c_int,
        };
    }
}

fn make_file(path: &[u8], flags: c_int) -> isize {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | flags & !libc::O_ACCMODE;
    disk::at(libc::SYS_openat, path, flags as usize, 0o600)
}

unsafe extern "C" fn make_temporary(template: *mut c_char, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(mkstemp: fn(*mut c_char) -> c_int)(template) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, 0, frame, |path| make_file(path, 0)) }
}

unsafe extern "C" fn make_temporary_with(
    template: *mut c_char,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(mkostemp: fn(*mut c_char, c_int) -> c_int)(template, flags) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, 0, frame, |path| make_file(path, flags)) }
}

unsafe extern "C" fn make_temporary_called(
    template: *mut c_char,
    suffix: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(mkstemps: fn(*mut c_char, c_int) -> c_int)(template, suffix) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, suffix, frame, |path| make_file(path, 0)) }
}

unsafe extern "C" fn make_temporary_called_with(
    template: *mut c_char,
    suffix: c_int,
    flags: c_int,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(mkostemps: fn(*mut c_char, c_int, c_int) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(template, suffix, flags) };
    }
    // SAFETY: as the call itself.
    unsafe { temporary(template, suffix, frame, |path| make_file(path, flags)) }
}

unsafe extern "C" fn make_temporary_directory(template: *mut c_char, frame: &Frame) -> *mut c_char {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(mkdtemp: fn(*mut c_char) -> *mut c_char)(template) };
    }
    let make = |path: &[u8]| disk::at(libc::SYS_mkdirat, path, 0o700, 0);
    // SAFETY: as the call itself.
    match unsafe { temporary(template, 0, frame, make) } {
        0 => template,
        _ => core::ptr::null_mut(),
    }
}

unsafe extern "C" fn real_path(path: usize, into: *mut c_char, frame: &Frame) -> *mut c_char {
    if !world::active() || !state().disk.used() && alone() {
        let real = real!(realpath: fn(usize, *mut c_char) -> *mut c_char);
        // SAFETY: the program's own arguments.
        return unsafe { real(path, into) };
    }
    let real = reach(HERE, path, true, Use::Look, site(frame));
    let real = real.filter(|real| state().disk.stat(real).is_some());
    let Some(real) = real else {
        super::failed(libc::ENOENT);
        return core::ptr::null_mut();
    };
    let text = disk::terminated(&real);
    let into = match into.is_null() {
        false => into.cast::<u8>(),
        true => crate::heap::allocate(text.len(), 16, site(frame).0).cast::<u8>(),
    };
    if !into.is_null() {
        accesses::range(into as usize, text.len(), true, frame);
        // SAFETY: room for a path, or for this one.
        unsafe { core::ptr::copy_nonoverlapping(text.as_ptr(), into, text.len()) };
    }
    into.cast::<c_void>().cast()
}
