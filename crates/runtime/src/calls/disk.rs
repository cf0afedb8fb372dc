//! Calls that name files: what they change lies elsewhere, see [`crate::disk`].
//!
//! A file is an object of the model, whether it is reached by a path, a descriptor or a stream, and whether it is there at all. An operation touches one object, but
//! directories, links, new names, and another place to start from change where many paths lead. So there is a lock of all names ([`Rule::Names`]): who changes some,
//! or lists them, has it alone; who names a file has it together with others, and still touches the file.

use super::{
    Hidden, callers, descriptors, files,
    paths::{openable, redirects},
    rules, streams, visible,
};
use crate::{
    disk::{self, Disk, Real, Where},
    world,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use reweave_model::{Op, Site};
use reweave_wire::Rule;

/// Of a run.
#[derive(Default)]
pub struct State {
    pub(super) disk: Disk,
    /// Paths that calls were given instead of theirs.
    texts: [Vec<u8>; 2],
    /// How many names each thread has asked for, by slot.
    pub(super) temporary: Vec<(usize, u64)>,
    /// New names, in the order in which they were given.
    given: Vec<Given>,
}

/// Another name for what is called so already.
struct Given {
    old: Real,
    new: Real,
    /// The old one is none any more.
    moved: bool,
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// What gives back the lock of all names, while it has that.
    held: Option<Op>,
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
    state().given.clear();
}

/// Takes the lock of all names until [`leave`]: alone, for those who change some, or with others.
pub(super) fn enter(changes: bool, site: Site) {
    let held = || &mut world::get().me().own_calls.disk.held;
    if alone() || held().is_some() || changes && !rules::needs(Rule::Names) {
        return;
    }
    if !rules::holds(Rule::Names) {
        return;
    }
    let lock = Hidden::Disk.object();
    let (steps, back) = match changes {
        true => (
            &[Op::WriteBegin(lock), Op::WriteAcquire(lock)][..],
            Op::WriteUnlock(lock),
        ),
        false => (&[Op::ReadLock(lock)][..], Op::ReadUnlock(lock)),
    };
    for step in steps {
        visible(*step, site);
    }
    *held() = Some(back);
}

pub(super) fn leave(site: Site) {
    if let Some(back) = world::get().me().own_calls.disk.held.take() {
        visible(back, site);
    }
}

/// Not under control. Nobody is kept from names by a thread that goes no further.
pub(super) fn refuse(what: &str, site: Site) -> ! {
    leave(site);
    world::get().unsupported(what, site)
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

/// A new name for what had another one, or has.
pub(super) fn give(old: &[u8], new: &[u8], moved: bool) {
    let (old, new) = (old.into(), new.into());
    state().given.push(Given { old, new, moved });
}

/// What a path was called at first: a file stays the same object under all its names.
fn first_name(real: &[u8]) -> Real {
    let mut name: Real = real.into();
    for (index, given) in state().given.iter().enumerate().rev() {
        if disk::beneath(&name, &given.new) {
            name = [&given.old, &name[given.new.len()..]].concat();
        } else if given.moved && disk::beneath(&name, &given.old) {
            // Something else, since.
            name = [alloc::format!("//{index}").as_bytes(), &name].concat();
        }
    }
    name
}

/// A path as an object: a number for which one it is.
fn number(real: &[u8]) -> usize {
    let number = hash(&first_name(real));
    files::is_called(number, real);
    number
}

fn hash(path: &[u8]) -> usize {
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
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

/// Where a path leads, for one that is under control; others see what the call does to it from now on, or it sees what they have done. Until [`leave`] it
/// leads there.
pub(super) fn reach(
    directory: c_int,
    path: usize,
    follow: bool,
    how: Use,
    site: Site,
) -> Option<Real> {
    // SAFETY: the program's own text.
    let mut path = unsafe { bytes(path) }?;
    enter(matches!(how, Use::List | Use::Go | Use::Entry), site);
    let whole;
    if directory != HERE && path.first().is_some_and(|first| *first != b'/') {
        descriptors::look_up(directory, site);
        let start = state().disk.directory(descriptors::found(directory))?;
        whole = [&start, &b"/"[..], path].concat();
        path = &whole;
    }
    let find = || {
        let real = state().disk.real(HERE, path, follow);
        real.filter(|real| !is_system(real))
    };
    let real = find()?;
    if alone() {
        return Some(real);
    }
    match how {
        Use::Look => files::look_at(number(&real), site),
        Use::Change { .. } => files::touch(number(&real), site),
        Use::List | Use::Go | Use::Entry => {}
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
            // What others change from now on is to be seen as well.
            if !alone() && state().disk.stat(&real).is_some() {
                state().disk.copy(&real, true);
            }
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
    if several && original {
        refuse("a change of a file that has several names", site);
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

/// They have the program look at each entry while they are at it.
fn lists_at_once(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if !alone() {
        refuse_beside(name, from);
    }
    lists(name, arguments, from);
}

fn refuse_beside(name: &'static CStr, from: &usize) -> ! {
    let what = alloc::format!("{} beside other threads", name.to_str().unwrap_or("?"));
    refuse(&what, callers::site(from))
}

/// A directory that is open is read. The kernel is asked when all that it said was passed on.
fn reads_entries(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
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
    if directory.passed_on >= directory.said {
        crate::spin::disturbed();
        enter(true, callers::site(from));
    }
}

fn closes_directory(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    if arguments[0] != 0 {
        // SAFETY: as above; its descriptor is the first of all.
        let descriptor = unsafe { *(arguments[0] as *const c_int) };
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

pub(super) const WHOLE: Use = Use::Change { whole: true };

fn changes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, WHOLE, from, 0);
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

fn nothing(_: &'static CStr, _: &mut [usize; 6], _: &usize) {
    crate::spin::disturbed();
    files::changing();
}

/// The result is a new descriptor.
fn opened(result: isize, site: Site) -> isize {
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
        return streams::replacing(arguments[2], from);
    }
    opens_stream(name, arguments, from);
}

redirects! {
    open => opens, opened;
    open64 => opens, opened;
    openat => opens_at, opened;
    openat64 => opens_at, opened;
    creat => makes_file, opened;
    creat64 => makes_file, opened;
    fopen => opens_stream, opened_stream;
    fopen64 => opens_stream, opened_stream;
    freopen => reopens_stream;
    freopen64 => reopens_stream;
    tmpfile => nothing, opened_stream;
    tmpfile64 => nothing, opened_stream;
    opendir => lists, opened_directory;
    fdopendir => nothing;
    readdir => reads_entries;
    readdir64 => reads_entries;
    closedir => closes_directory;
    scandir => lists_at_once;
    scandir64 => lists_at_once;
    chdir => goes;
    fchdir => goes_to_open;
    umask => masks;
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
pub fn open_file<const DESCRIPTOR: usize>(arguments: &mut [usize; 6], from: &usize) {
    let descriptor = arguments[DESCRIPTOR] as c_int;
    descriptors::look_up(descriptor, callers::site(from));
    files::look_at_open(descriptor, from);
    arguments[DESCRIPTOR] = descriptors::found(descriptor) as usize;
}

/// For calls that look where the process is.
pub fn here(_: &mut [usize; 6], from: &usize) {
    enter(false, callers::site(from));
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
