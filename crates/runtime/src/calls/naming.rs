//! Calls that name files, and are given the paths of copies instead: see [`super::disk`]. Those that make and remove names are in [`super::entries`] as well.

use super::{
    answers, callers, descriptors,
    disk::{
        HERE, Use, WHOLE, alone, bytes, enter, give, is_system, made, makes_nameless, number,
        number_of_open, reach, redirect, refuse, state,
    },
    file_locks, files, mapped,
    paths::{openable, redirects},
    streams,
};
use crate::{accesses, disk, world};
use core::ffi::{CStr, c_char, c_int};
use reweave_model::Site;
use reweave_shadow::Kind;

/// Whether `open` makes a file that has no name.
fn is_nameless(flags: c_int) -> bool {
    flags & libc::O_TMPFILE == libc::O_TMPFILE
}

/// How `open` is to be taken.
fn of_flags(flags: c_int) -> (Use, bool) {
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
    let exclusive = flags & libc::O_CREAT != 0 && flags & libc::O_EXCL != 0;
    let follow = flags & libc::O_NOFOLLOW == 0 && !exclusive;
    let how = match () {
        // A file without a name.
        () if is_nameless(flags) => Use::Look,
        () if flags & (libc::O_CREAT | libc::O_TRUNC) != 0 => Use::Change {
            whole: flags & libc::O_TRUNC == 0 || exclusive,
        },
        () if writes => Use::Open,
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
        _ if mode.contains(&b'+') => Use::Open,
        _ => Use::Look,
    }
}

fn checked(name: &'static CStr, path: usize, from: &usize) {
    if path != 0 {
        // SAFETY: the program's own text.
        openable(unsafe { CStr::from_ptr(path as *const c_char) }, name, from);
    }
}

pub(super) fn opens(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let (how, follow) = of_flags(arguments[1] as c_int);
    redirect(HERE, &mut arguments[0], follow, how, from, 0);
    if is_nameless(arguments[1] as c_int) {
        makes_nameless();
    }
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
    if is_nameless(arguments[2] as c_int) {
        makes_nameless();
    }
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

pub(super) fn lists(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    redirect(HERE, &mut arguments[0], true, Use::List, from, 0);
}

fn refuse_beside(name: &'static CStr, from: &usize) -> ! {
    let what = alloc::format!("{} beside other threads", name.to_str().unwrap_or("?"));
    refuse(&what, callers::site(from))
}

/// Several threads may go through one directory. Like a stream it is memory that is given back when it is closed.
fn uses_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        accesses::access(arguments[0], 8, Kind::Read, *from);
        files::touch(arguments[0] / 8, callers::site(from));
    }
}

/// A directory that is open is read. The kernel is asked when all that it said was passed on.
fn reads_entries(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    /// What libc keeps of a directory.
    #[repr(C)]
    struct Directory {
        descriptor: c_int,
        lock: c_int,
        room: usize,
        said: usize,
        passed_on: usize,
    }
    // SAFETY: the program's own directory, in libc's layout.
    let directory = unsafe { &*(arguments[0] as *const Directory) };
    uses_directory(name, arguments, from);
    if directory.passed_on >= directory.said {
        crate::spin::disturbed();
        enter(true, callers::site(from));
        // Another thread may have gone on in the meantime.
        uses_directory(name, arguments, from);
    }
}

/// The same, into the program's own memory.
fn reads_entry(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    world::snapshot().touch_range(arguments[1], size_of::<libc::dirent64>());
    world::snapshot().touch_range(arguments[2], size_of::<usize>());
    reads_entries(name, arguments, from);
}

fn asks_where(_: &'static CStr, _: &mut [usize; 6], from: &usize) {
    enter(false, callers::site(from));
}

/// As the program calls it.
fn told_where(result: isize, _: Site) -> isize {
    answers::smooth_directory(&[result as usize, 0, 0, 0, 0, 0]);
    result
}

fn closes_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        // SAFETY: as above; its descriptor is the first of all.
        let descriptor = unsafe { *(arguments[0] as *const c_int) };
        file_locks::refuse_held([descriptor], callers::site(from));
        descriptors::closing(descriptor, callers::site(from));
    }
}

/// The process goes elsewhere, until the run is over.
fn goes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    crate::spin::disturbed();
    files::going();
    redirect(HERE, &mut arguments[0], true, Use::Go, from, 0);
}

fn goes_to_open(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    crate::spin::disturbed();
    files::going();
    let site = callers::site(from);
    enter(true, site);
    descriptors::look_up(arguments[0] as c_int, site);
    arguments[0] = descriptors::found(arguments[0] as c_int) as usize;
}

fn masks(_: &'static CStr, _: &mut [usize; 6], from: &usize) {
    crate::spin::disturbed();
    files::going();
    enter(true, callers::site(from));
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

fn changes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, WHOLE, from, 0);
}

fn truncates(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    changes(name, arguments, from);
    // SAFETY: the program's own text, or ours.
    let path = unsafe { bytes(arguments[0]) };
    if let Some(file) = path.and_then(disk::look) {
        mapped::changing(&file, false, callers::site(from));
    }
}

fn changes_link(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], false, WHOLE, from, 0);
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
    let [mut old, mut new, ..] = *arguments;
    link_both((HERE, &mut old), (HERE, &mut new), from);
    (arguments[0], arguments[1]) = (old, new);
}

fn links_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let [from_at, mut old, to_at, mut new, ..] = *arguments;
    link_both(
        (from_at as c_int, &mut old),
        (to_at as c_int, &mut new),
        from,
    );
    (arguments[1], arguments[3]) = (old, new);
}

fn link_both(old: (c_int, &mut usize), new: (c_int, &mut usize), from: &usize) {
    let site = callers::site(from);
    let known = reach(old.0, *old.1, false, Use::Entry, site);
    let named = reach(new.0, *new.1, false, Use::Entry, site);
    if let (Some(known), Some(named)) = (known, named)
        && state().disk.stat(&known).is_some()
        && state().disk.stat(&named).is_none()
    {
        // How many names it has is seen by who has it open.
        files::touch(number(&known), site);
        give(&known, &named, false);
    }
    redirect(old.0, old.1, false, Use::Entry, from, 0);
    redirect(new.0, new.1, false, Use::Entry, from, 1);
}

/// They walk through directories by themselves.
fn walks(name: &'static CStr, _: &mut [usize; 6], from: &usize) {
    files::changing();
    if state().disk.used() || !alone() {
        let name = name.to_str().unwrap_or("?");
        let what = alloc::format!("{name} beside other threads, or after files were changed");
        refuse(&what, callers::site(from));
    }
}

/// What is changed through a descriptor that was not opened for that.
fn changes_open(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let (descriptor, site) = (arguments[0] as c_int, callers::site(from));
    descriptors::look_up(descriptor, site);
    let path = alloc::format!("/proc/self/fd/{}", arguments[0] as c_int);
    let path = disk::read_link(path.as_bytes()).unwrap_or_default();
    let copies = state().disk.copy_of(b"");
    if path.first() == Some(&b'/') && !disk::beneath(&path, &copies) && !is_system(&path) {
        let name = name.to_str().unwrap_or("?");
        let what = alloc::format!("{name} of a file that is open for reading");
        refuse(&what, site);
    }
    if !alone() && files::kind(descriptor) != 0 {
        files::touch(number_of_open(descriptor), site);
    }
    arguments[0] = descriptors::found(descriptor) as usize;
}

fn makes_temporary(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    nothing(name, arguments, from);
    makes_nameless();
}

fn nothing(_: &'static CStr, _: &mut [usize; 6], _: &usize) {
    crate::spin::disturbed();
    files::changing();
}

/// The result is a new descriptor.
pub(super) fn opened(result: isize, site: Site) -> isize {
    made(result as c_int, site);
    descriptors::opened(result as c_int, site) as isize
}

fn opened_stream(stream: isize, site: Site) -> isize {
    streams::opened(stream as usize, site);
    stream
}

fn opened_directory(directory: isize, site: Site) -> isize {
    if directory != 0 {
        // SAFETY: libc has the descriptor in front.
        let descriptor = unsafe { &mut *(directory as *mut c_int) };
        *descriptor = descriptors::opened(*descriptor, site);
    }
    directory
}

/// A stream gets another file; its descriptor stays. Beside other threads that is one step, so it can only be one that is no object.
fn reopens_stream(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if !alone() {
        // SAFETY: the program's own text.
        let path = unsafe { bytes(arguments[0]) };
        let real = path.and_then(|path| state().disk.real(HERE, path, true));
        if real.is_some_and(|real| !is_system(&real)) {
            refuse_beside(name, from);
        }
        streams::replacing(arguments[2], from);
        return;
    }
    streams::replacing(arguments[2], from);
    opens_stream(name, arguments, from);
}

redirects! {
    open => opens, opened;
    open64 => opens, opened;
    __open_2 => opens, opened;
    __open64_2 => opens, opened;
    openat => opens_at, opened;
    openat64 => opens_at, opened;
    __openat_2 => opens_at, opened;
    __openat64_2 => opens_at, opened;
    creat => makes_file, opened;
    creat64 => makes_file, opened;
    fopen => opens_stream, opened_stream;
    fopen64 => opens_stream, opened_stream;
    freopen => reopens_stream;
    freopen64 => reopens_stream;
    tmpfile => makes_temporary, opened_stream;
    tmpfile64 => makes_temporary, opened_stream;
    memfd_create => makes_temporary, opened;
    fmemopen => nothing, opened_stream;
    open_memstream => nothing, opened_stream;
    open_wmemstream => nothing, opened_stream;
    opendir => lists, opened_directory;
    fdopendir => nothing;
    readdir => reads_entries;
    readdir64 => reads_entries;
    readdir_r => reads_entry;
    readdir64_r => reads_entry;
    rewinddir => uses_directory;
    seekdir => uses_directory;
    telldir => uses_directory;
    closedir => closes_directory;
    scandirat => walks;
    scandirat64 => walks;
    get_current_dir_name => asks_where, told_where;
    chdir => goes;
    fchdir => goes_to_open;
    umask => masks;
    access => looks;
    euidaccess => looks;
    eaccess => looks;
    faccessat => looks_at;
    pathconf => looks;
    truncate => truncates;
    truncate64 => truncates;
    chmod => changes;
    chown => changes;
    utime => changes;
    utimes => changes;
    setxattr => changes;
    removexattr => changes;
    lsetxattr => changes_link;
    lremovexattr => changes_link;
    lchown => changes_link;
    lutimes => changes_link;
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
    fremovexattr => changes_open;
    nftw => walks;
    nftw64 => walks;
    ftw => walks;
    ftw64 => walks;
    fts_open => walks;
    glob => walks;
    glob64 => walks;
}
