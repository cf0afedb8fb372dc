//! Calls that name files, and are given the paths of copies instead: see [`crate::kernel::file_names`]. Those that make and remove names are in [`crate::calls::files::directory_entries`] as well, those that change files without opening them in [`crate::calls::files::metadata`].

use crate::{
    calls::{files::file_status, streams::stream_objects},
    core::{call_sites, world},
    hooks::{
        accesses,
        passed_calls::{openable, redirects},
    },
    kernel::{
        descriptor_table, file_locks,
        file_names::{HERE, alone, bytes, enter, is_system, made, makes_nameless, refuse, state},
        file_objects, overlay,
        path_resolution::{Use, redirect},
    },
};
use core::ffi::{CStr, c_char, c_int};
use reweave_memory::Kind;
use reweave_model::Site;

/// Whether `open` makes a file that has no name.
fn is_temporary(flags: c_int) -> bool {
    flags & libc::O_TMPFILE == libc::O_TMPFILE
}

/// How `open` is to be taken.
fn of_flags(flags: c_int) -> (Use, bool) {
    let has = |flag: c_int| flags & flag != 0;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || has(libc::O_TRUNC);
    let makes = has(libc::O_CREAT);
    let exclusive = makes && has(libc::O_EXCL);
    let how = match () {
        () if is_temporary(flags) => Use::Within,
        // Another descriptor of what is there, which is good for nothing else.
        () if has(libc::O_PATH) => Use::Look,
        () if exclusive => Use::New,
        () if writes && !makes && !has(libc::O_TRUNC) => Use::Open,
        () if writes => Use::Change {
            // It may be no directory, and stays what it is.
            whole: !has(libc::O_TRUNC) || has(libc::O_DIRECTORY),
            makes,
        },
        () if makes => Use::Make,
        () if has(libc::O_DIRECTORY) => Use::List,
        () => Use::Look,
    };
    (how, !has(libc::O_NOFOLLOW) && !exclusive)
}

/// How `fopen` is.
fn of_mode(mode: usize) -> (Use, bool) {
    // SAFETY: the program's own text.
    let mode = unsafe { bytes(mode) }.unwrap_or(b"r");
    let mode = mode.split(|byte| *byte == b',').next().unwrap_or(b"r");
    let change = |whole, makes| Use::Change { whole, makes };
    let exclusive = mode.contains(&b'x');
    let how = match mode.first() {
        Some(b'w' | b'a') if exclusive => Use::New,
        Some(b'w') => change(false, true),
        Some(b'a') => change(true, true),
        _ if mode.contains(&b'+') => Use::Open,
        _ => Use::Look,
    };
    (how, how != Use::New)
}

fn checked(name: &'static CStr, path: usize, from: &usize) {
    if path != 0 {
        // SAFETY: the program's own text.
        openable(unsafe { CStr::from_ptr(path as *const c_char) }, name, from);
    }
}

pub(crate) fn opens(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let (how, follow) = of_flags(arguments[1] as c_int);
    redirect(HERE, &mut arguments[0], follow, how, from, 0);
    if is_temporary(arguments[1] as c_int) {
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
    if is_temporary(arguments[2] as c_int) {
        makes_nameless();
    }
}

fn makes_file(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let how = Use::Change {
        whole: false,
        makes: true,
    };
    redirect(HERE, &mut arguments[0], true, how, from, 0);
}

fn opens_stream(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    let (how, follow) = of_mode(arguments[1]);
    redirect(HERE, &mut arguments[0], follow, how, from, 0);
}

pub(crate) fn lists(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    checked(name, arguments[0], from);
    redirect(HERE, &mut arguments[0], true, Use::List, from, 0);
}

fn refuse_beside(name: &'static CStr, from: &usize) -> ! {
    let what = alloc::format!("{} beside other threads", name.to_str().unwrap_or("?"));
    refuse(&what, call_sites::site(from))
}

/// Several threads may go through one directory. Like a stream it is memory that is given back when it is closed.
fn uses_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        accesses::access(arguments[0], 8, Kind::Read, *from);
        file_objects::touch(arguments[0] / 8, call_sites::site(from));
    }
}

/// From the beginning once more, with all that was made since it was opened.
fn rewinds(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    uses_directory(name, arguments, from);
    enter(true, call_sites::site(from));
    if arguments[0] == 0 || !state().disk.used() {
        return;
    }
    // SAFETY: libc has the descriptor in front.
    let descriptor = unsafe { *(arguments[0] as *const c_int) };
    let disk = &mut state().disk;
    if let Some(real) = disk.directory(descriptor) {
        disk.list(&real);
        overlay::replace_open(descriptor, &disk.place(&real));
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
        crate::core::spin::disturbed();
        enter(true, call_sites::site(from));
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
    enter(false, call_sites::site(from));
}

/// As the program calls it.
fn told_where(result: isize, _: Site) -> isize {
    file_status::smooth_directory(&[result as usize, 0, 0, 0, 0, 0], result)
}

fn closes_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        // SAFETY: as above; its descriptor is the first of all.
        let descriptor = unsafe { *(arguments[0] as *const c_int) };
        file_locks::refuse_held([descriptor], call_sites::site(from));
        descriptor_table::closing(descriptor, call_sites::site(from));
    }
}

/// The process goes elsewhere, until the run is over.
fn goes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    crate::core::spin::disturbed();
    file_objects::going();
    redirect(HERE, &mut arguments[0], true, Use::Go, from, 0);
}

fn goes_to_open(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    crate::core::spin::disturbed();
    file_objects::going();
    let site = call_sites::site(from);
    enter(true, site);
    descriptor_table::look_up(arguments[0] as c_int, site);
    arguments[0] = descriptor_table::found(arguments[0] as c_int) as usize;
}

fn masks(_: &'static CStr, _: &mut [usize; 6], from: &usize) {
    crate::core::spin::disturbed();
    file_objects::going();
    enter(true, call_sites::site(from));
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

/// They walk through directories by themselves.
fn walks(name: &'static CStr, _: &mut [usize; 6], from: &usize) {
    file_objects::changing();
    if state().disk.used() || !alone() {
        let name = name.to_str().unwrap_or("?");
        let what = alloc::format!("{name} beside other threads, or after files were changed");
        refuse(&what, call_sites::site(from));
    }
}

fn makes_temporary(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    nothing(name, arguments, from);
    makes_nameless();
}

fn nothing(_: &'static CStr, _: &mut [usize; 6], _: &usize) {
    crate::core::spin::disturbed();
    file_objects::changing();
}

/// The result is a new descriptor.
pub(crate) fn opened(result: isize, site: Site) -> isize {
    made(result as c_int, site);
    descriptor_table::opened(result as c_int, site) as isize
}

fn opened_stream(stream: isize, site: Site) -> isize {
    stream_objects::opened(stream as usize, site);
    stream
}

fn opened_directory(directory: isize, site: Site) -> isize {
    if directory != 0 {
        // SAFETY: libc has the descriptor in front.
        let descriptor = unsafe { &mut *(directory as *mut c_int) };
        *descriptor = descriptor_table::opened(*descriptor, site);
    }
    directory
}

/// A stream gets another file; its descriptor stays. Beside other threads that is one step, so it can only be one that is no object.
fn reopens_stream(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    // SAFETY: the program's own text.
    let path = unsafe { bytes(arguments[0]) };
    let real = path.and_then(|path| state().disk.real(HERE, path, true).ok());
    if !alone() && path.is_some() && !real.is_some_and(|real| is_system(&real)) {
        refuse_beside(name, from);
    }
    stream_objects::replacing(arguments[2], from);
    if path.is_some() {
        opens_stream(name, arguments, from);
    }
}

redirects! {
    open => opens, opened;
    open64 => opens, opened;
    __open => opens, opened;
    __open64 => opens, opened;
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
    _IO_fopen => opens_stream, opened_stream;
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
    rewinddir => rewinds;
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
    mkdir => makes::<0>;
    mkdirat => makes_at::<0>;
    symlink => makes::<1>;
    symlinkat => makes_at::<1>;
    nftw => walks;
    nftw64 => walks;
    ftw => walks;
    ftw64 => walks;
    fts_open => walks;
    fts64_open => walks;
    glob => walks;
    glob64 => walks;
}
