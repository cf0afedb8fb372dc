//! Calls that name files: what they change lies elsewhere, see [`crate::disk`].
//!
//! A file is an object of the model, whether it is reached by a path, a descriptor or a stream, and whether it is there at all. What changes where several paths lead
//! is not under control beside other threads: an operation touches one object.

use super::{
    callers, files,
    paths::{openable, redirects},
};
use crate::{
    disk::{self, Disk, Real, Where},
    world,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use reweave_model::Site;

/// Of a run.
#[derive(Default)]
pub struct State {
    pub(super) disk: Disk,
    /// Paths that calls were given instead of theirs.
    texts: [Vec<u8>; 2],
    /// How many names each thread has asked for, by slot.
    pub(super) temporary: Vec<(usize, u64)>,
}

pub(super) fn state() -> &'static mut State {
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
pub(super) enum Use {
    Look,
    /// Goes there, which changes where other paths lead.
    Go,
    /// Makes, renames or removes it, and other paths with it.
    Entry,
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

/// The path of an open file as an object, the same as for calls that name the path.
pub(super) fn number_of_open(descriptor: c_int) -> usize {
    let link = alloc::format!("/proc/self/fd/{descriptor}");
    let path = disk::read_link(link.as_bytes()).unwrap_or_default();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(&path);
    match disk::beneath(path, &state().disk.copy_of(b"")) {
        true => number(&state().disk.original_of(path)),
        false => number(path),
    }
}

pub(super) fn alone() -> bool {
    let world = world::get();
    world.races.alone(world.current)
}

/// # Safety
/// The text is the program's, and ends with a nul.
pub(super) unsafe fn bytes<'a>(path: usize) -> Option<&'a [u8]> {
    if path == 0 {
        return None;
    }
    // SAFETY: as promised.
    Some(unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes())
}

/// Where a path leads, for one that is under control; others see what the call does to it from now on, or it sees what they have done.
pub(super) fn reach(
    directory: c_int,
    path: usize,
    follow: bool,
    how: Use,
    site: Site,
) -> Option<Real> {
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
    let file = number(&real);
    match how {
        Use::Look => files::look_at(file, site),
        Use::Change { .. } => files::touch(file, site),
        Use::List | Use::Go | Use::Entry => {
            let what = match how {
                Use::List => "listing a directory beside other threads",
                Use::Go => "going to another directory beside other threads",
                _ => {
                    "making, renaming or removing a directory, a link or a name beside other threads"
                }
            };
            world::get().unsupported(what, site);
        }
    }
    find()
}

/// Exchanges the path of a call for where it is to be looked for.
fn redirect(directory: c_int, path: &mut usize, follow: bool, how: Use, from: &usize, text: usize) {
    state().texts[text].clear();
    if matches!(how, Use::Look | Use::Go | Use::List) && alone() && !state().disk.used() {
        return;
    }
    let site = callers::site(from);
    let Some(real) = reach(directory, *path, follow, how, site) else {
        return;
    };
    let place = match how {
        Use::Look | Use::Go => state().disk.place(&real),
        Use::List => {
            state().disk.list(&real);
            state().disk.place(&real)
        }
        Use::Entry | Use::Change { .. } => {
            if !change(&real, how != Use::Change { whole: false }, site) {
                return;
            }
            state().disk.copy_of(&real)
        }
    };
    let state = state();
    state.texts[text] = disk::terminated(&place);
    *path = state.texts[text].as_ptr() as usize;
}

/// Has a copy made of what is about to be changed; `false`: it cannot be changed, and the call says why.
pub(super) fn change(real: &[u8], whole: bool, site: Site) -> bool {
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
    let original = disk.find(real) == Where::Original;
    let plain = |stat: &libc::stat| disk::kind(stat) == libc::S_IFREG;
    let several = there.is_some_and(|stat| plain(&stat) && stat.st_nlink > 1);
    if several && (original || !alone()) {
        world::get().unsupported("a change of a file that has several names", site);
    }
    match there {
        Some(stat) if original => {
            disk.copy(real, whole);
            if plain(&stat) {
                files::changing();
                disk::follow(&stat, &disk.copy_of(real), files::OURS);
            }
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

pub(super) const HERE: c_int = libc::AT_FDCWD;

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
    redirect(HERE, &mut arguments[0], true, Use::Go, from, 0);
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

pub(super) const WHOLE: Use = Use::Change { whole: true };

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
    redirect(HERE, &mut arguments[PATH], false, Use::Entry, from, 0);
}

fn makes_at<const DIRECTORY: usize>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let directory = arguments[DIRECTORY] as c_int;
    redirect(
        directory,
        &mut arguments[DIRECTORY + 1],
        false,
        Use::Entry,
        from,
        0,
    );
}

/// Both names are of one file, so it has to be among the copies.
fn links(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], false, Use::Entry, from, 0);
    redirect(HERE, &mut arguments[1], false, Use::Entry, from, 1);
}

fn links_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let (old, new) = (arguments[0] as c_int, arguments[2] as c_int);
    redirect(old, &mut arguments[1], false, Use::Entry, from, 0);
    redirect(new, &mut arguments[3], false, Use::Entry, from, 1);
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

/// For calls that look at an open file.
pub fn open_file(arguments: &mut [usize; 6], from: &usize) {
    files::look_at_open(arguments[0] as c_int, from);
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
