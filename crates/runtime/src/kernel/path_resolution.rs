//! Where calls that name files are sent.
//!
//! This is the only place that decides which path the operating system is given. A call that only looks may see the original. A
//! call that changes something is sent to a copy, or to a device; it fails here if the program may not do that to the original, and
//! is refused by name if there can be no copy. So nothing that a run does can reach the user's own files.
//!
//! Between [`redirect`] and [`make`] the thread performs no operation, so what the call at hand needs is kept in one place.

use crate::{
    core::cell::{ASIDE, RunCell, RunValue},
    kernel::{
        descriptor_table, file_locks, file_mappings,
        file_names::{HERE, enter, leave, number, refuse},
        file_objects, imported_names,
        nameless_files::is_nameless,
        ordering::alone,
        os_files::{self, file_type},
        overlay::{DeadEnd, Where, overlay},
        paths::{self, RealPath, beneath, descriptor_in_proc, is_system, parent},
        program_memory::c_text,
        start_state,
    },
    run::{accesses, call_sites, operations::failed, world},
};
use alloc::{format, vec::Vec};
use core::{
    ffi::{CStr, c_char, c_int},
    sync::atomic::{AtomicBool, Ordering},
};
use reweave_model::Site;
use reweave_wire::Note;

/// What a call does with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathUse {
    Look,
    /// Makes it the current directory, which changes where other paths lead.
    Enter,
    List,
    /// Makes, renames or removes it, and other paths with it.
    Entry,
    /// Makes a file where nothing may be.
    New,
    /// Makes a file if there is none, and looks at it.
    Make,
    /// Makes a file without a name in that directory.
    Within,
    /// Opens it for changes, and makes none.
    Open,
    /// Changes its contents; whether the old ones matter, and whether it makes the file.
    Change {
        keeps: bool,
        makes: bool,
    },
    /// Changes its attributes, as its owner may, and sometimes those who may write to it.
    Attributes {
        writers: bool,
    },
}

/// Changes contents that matter, of a file that there is.
pub(crate) const CHANGE: PathUse = PathUse::Change {
    keeps: true,
    makes: false,
};

impl PathUse {
    /// Whether there may be nothing yet.
    fn makes(self) -> bool {
        use PathUse::*;
        matches!(self, Entry | New | Make | Change { makes: true, .. })
    }

    /// Whether nothing is changed.
    fn only_looks(self) -> bool {
        matches!(self, PathUse::Look | PathUse::Enter | PathUse::List)
    }

    /// Whether it needs the lock of all names exclusively.
    fn excludes(self) -> bool {
        matches!(self, PathUse::List | PathUse::Enter | PathUse::Entry)
    }
}

/// Paths that the call at hand is given instead of its own.
static TEXTS: RunCell<[Vec<u8>; 2], ASIDE> = RunCell::new([Vec::new(), Vec::new()]);

/// What else is known about the call at hand.
#[derive(Clone, Copy)]
struct CallAtHand {
    /// It fails with this number.
    denied: Option<c_int>,
    /// It opens what this descriptor is open on, which goes to the driver.
    output: Option<c_int>,
    /// It makes a file that has no name.
    makes_nameless: bool,
}

impl CallAtHand {
    const NONE: CallAtHand = CallAtHand {
        denied: None,
        output: None,
        makes_nameless: false,
    };
}

static CALL: RunValue<CallAtHand> = RunValue::new(CallAtHand::NONE);

/// Functions of the C and C++ libraries that read files by themselves.
const READERS: [&CStr; 34] = [
    c"getaddrinfo",
    c"getgrent",
    c"getgrgid",
    c"getgrgid_r",
    c"getgrnam",
    c"getgrnam_r",
    c"getgrouplist",
    c"gethostbyname",
    c"getlogin",
    c"getlogin_r",
    c"getmntent",
    c"getnameinfo",
    c"getprotobyname",
    c"getprotobynumber",
    c"getpwent",
    c"getpwnam",
    c"getpwnam_r",
    c"getpwuid",
    c"getpwuid_r",
    c"getservbyname",
    c"getservbyport",
    c"getutent",
    c"gettext",
    c"dcgettext",
    c"dgettext",
    c"iconv_open",
    c"localtime",
    c"localtime_r",
    c"mktime",
    c"newlocale",
    c"setlocale",
    c"strftime",
    c"tzset",
    c"_ZNSt6localeC1EPKc",
];

/// Once in each process.
pub(crate) fn prepare() {
    if imported_names::names_any(&READERS) {
        names_file();
    }
}

/// Whether this process has named a file, also before its runs.
static NAMED: AtomicBool = AtomicBool::new(false);

/// A call of the program names a file.
pub(crate) fn names_file() {
    NAMED.store(true, Ordering::Relaxed);
}

/// With each report.
pub(crate) fn conclude() {
    if NAMED.load(Ordering::Relaxed) {
        world::borrow().note(Note::NamesFiles);
    }
}

/// After a run.
pub(crate) fn clean_up() {
    CALL.set(CallAtHand::NONE);
}

fn change_call(change: impl FnOnce(&mut CallAtHand)) {
    let mut call = CALL.get();
    change(&mut call);
    CALL.set(call);
}

/// The call at hand fails with this number.
pub(crate) fn deny(error: c_int) {
    change_call(|call| call.denied = Some(error));
}

/// The call at hand makes a file that has no name.
pub(crate) fn makes_nameless() {
    change_call(|call| call.makes_nameless = true);
}

/// Whether the call at hand has made a file that has no name.
pub(crate) fn take_makes_nameless() -> bool {
    let taken = CALL.get().makes_nameless;
    change_call(|call| call.makes_nameless = false);
    taken
}

/// The descriptor for which the call at hand has opened another one.
pub(crate) fn take_output() -> Option<c_int> {
    let taken = CALL.get().output;
    change_call(|call| call.output = None);
    taken
}

/// The path that the call at hand is given instead of its own, without the nul; empty: its own.
pub(crate) fn replaced_path() -> Vec<u8> {
    let texts = TEXTS.borrow();
    texts[0].strip_suffix(b"\0").unwrap_or(&texts[0]).to_vec()
}

/// Remembers a path for what comes after the call at hand, which is not given to it.
pub(crate) fn remember_path(path: Vec<u8>) {
    TEXTS.borrow()[0] = path;
}

/// Where a path leads now.
fn lead(path: &[u8], follow: bool, how: PathUse) -> Result<RealPath, DeadEnd> {
    let disk = overlay();
    let slash = path.ends_with(b"/");
    let looks = matches!(how, PathUse::Look | PathUse::Attributes { .. });
    let real = disk.resolve(HERE, path, follow || slash && looks)?;
    let dead = match slash && disk.stat(&real).is_none() {
        true if how == PathUse::Entry => None,
        true if how.makes() => Some(libc::EISDIR),
        true => Some(libc::ENOENT),
        false => None,
    };
    match dead {
        Some(error) => Err(DeadEnd { at: real, error }),
        None => Ok(real),
    }
}

/// Where a path leads; or an error number. Performs the operation of the call on it, so that other threads see what the call does, or
/// it sees what they did. The path leads there until [`leave`].
///
/// `path` is the address that the program passed for a path to a function of the C library.
pub(crate) fn reach(
    directory: c_int,
    path: usize,
    follow: bool,
    how: PathUse,
    site: Site,
) -> Result<RealPath, c_int> {
    // SAFETY: the C library demands of its caller that a path is null or ends with a nul, and stays until the call returns.
    let mut path = unsafe { c_text(path) }.ok_or(libc::EFAULT)?;
    names_file();
    enter(how.excludes(), site);
    let whole;
    if directory != HERE && path.first().is_some_and(|first| *first != b'/') {
        descriptor_table::look_up(directory, site);
        let found = descriptor_table::found(directory);
        let start = overlay().directory(found).ok_or(libc::EBADF)?;
        whole = paths::entry(&start, path);
        path = &whole;
    }
    let own = paths::of_own_process(path);
    path = own.as_deref().unwrap_or(path);
    let mut found = lead(path, follow, how);
    let place = match &found {
        Ok(real) => real,
        Err(dead) => &dead.at,
    };
    if !alone() && !is_system(place) {
        match how {
            // No other thread names anything.
            _ if how.excludes() => {}
            PathUse::Look | PathUse::Open | PathUse::Within => {
                file_objects::look_at(number(place), site);
            }
            _ if found.is_err() => file_objects::look_at(number(place), site),
            _ => file_objects::touch(number(place), site),
        }
        found = lead(path, follow, how);
    }
    found.map_err(|dead| dead.error)
}

/// Replaces the path of a call by the one that the operating system is to be given, or has the call fail. See [`reach`].
pub(crate) fn redirect(
    directory: c_int,
    path: &mut usize,
    follow: bool,
    how: PathUse,
    from: &usize,
) {
    TEXTS.borrow()[0].clear();
    take_output();
    if how.only_looks() && alone() && !overlay().is_used() && !names_own_process(*path) {
        return;
    }
    // SAFETY: the C library demands of its caller that a path is null or ends with a nul.
    unsafe { accesses::text_argument(*path as *const c_char, *from) };
    let site = call_sites::site(from);
    let address = *path;
    let mut place = reach(directory, address, follow, how, site);
    let attributes = matches!(how, PathUse::Attributes { .. });
    if attributes && !alone() && place.as_ref().is_ok_and(|real| is_directory(real)) {
        // The rights of a directory matter to everything beneath.
        leave(site);
        enter(true, site);
        place = reach(directory, address, follow, how, site);
    }
    let place = place.and_then(|real| place_for(&real, how, site));
    send(place, path, 0);
}

/// Whether a path names the process by the number that the program knows.
fn names_own_process(path: usize) -> bool {
    // SAFETY: the C library demands of its caller that a path is null or ends with a nul, and stays until the call returns.
    let path = unsafe { c_text(path) };
    path.is_some_and(|path| paths::of_own_process(path).is_some())
}

fn is_directory(real: &[u8]) -> bool {
    overlay().file_type(real) == Some(libc::S_IFDIR)
}

/// Gives the call at hand this path, or has it fail.
pub(crate) fn send(place: Result<Vec<u8>, c_int>, path: &mut usize, text: usize) {
    match place {
        Ok(place) => {
            let mut texts = TEXTS.borrow();
            texts[text] = paths::terminated(&place);
            *path = texts[text].as_ptr() as usize;
        }
        Err(error) => deny(error),
    }
}

/// Makes the call at hand, unless it has failed already.
pub(crate) fn make<T>(failure: T, call: impl FnOnce() -> T) -> T {
    if !world::active() {
        return call();
    }
    let denied = CALL.get().denied;
    change_call(|call| call.denied = None);
    match denied {
        Some(error) => {
            failed(error);
            failure
        }
        None => call(),
    }
}

/// The path that a call is to be given which does this to what lies there; or an error number.
pub(crate) fn place_for(real: &[u8], how: PathUse, site: Site) -> Result<Vec<u8>, c_int> {
    let there = overlay().stat(real);
    match how {
        PathUse::Look | PathUse::Enter => {}
        PathUse::Make if there.is_some() => {}
        PathUse::List => {
            // What other threads change from now on is to be seen as well.
            let copies = !alone() && there.is_some() && !is_system(real);
            let mut disk = overlay();
            if copies {
                disk.copy(real, true);
            }
            disk.complete_listing(real);
        }
        PathUse::Entry | PathUse::New if there.is_some() => return Err(libc::EEXIST),
        _ => return change(real, there.as_ref(), how, site),
    }
    Ok(overlay().place(real))
}

/// Makes a copy of what is about to be changed: its path, or an error number.
fn change(
    real: &[u8],
    there: Option<&libc::stat>,
    how: PathUse,
    site: Site,
) -> Result<Vec<u8>, c_int> {
    if let Some(stat) = there
        && !can_be_copied(real, stat)
    {
        return change_special(real, how, site);
    }
    if is_system(real) {
        return Err(if how.makes() {
            libc::EACCES
        } else {
            libc::ENOENT
        });
    }
    allowed(real, there, how)?;
    match there {
        Some(stat) => copy(real, stat, how, site),
        None => overlay().prepare(real),
    }
    Ok(overlay().copy_of(real))
}

fn can_be_copied(real: &[u8], stat: &libc::stat) -> bool {
    let copied = [libc::S_IFREG, libc::S_IFDIR, libc::S_IFLNK];
    !is_system(real) && copied.contains(&file_type(stat))
}

/// A change of something that is no file on a disk: what belongs to the process, or leads out of it.
fn change_special(real: &[u8], how: PathUse, site: Site) -> Result<Vec<u8>, c_int> {
    let place = overlay().place(real);
    let opens = matches!(how, PathUse::Open | PathUse::Change { .. });
    let kind = os_files::look_behind(&place).map_or(0, |stat| file_type(&stat));
    let output = descriptor_in_proc(real).filter(|open| start_state::is_output(*open));
    if opens && output.is_some() {
        // The driver reads what is there, so it must not be truncated.
        change_call(|call| call.output = output);
        return Ok(b"/dev/null".to_vec());
    }
    match kind {
        libc::S_IFCHR if opens => Ok(place),
        libc::S_IFDIR if opens => Err(libc::EISDIR),
        libc::S_IFREG if is_own(real) => Ok(place),
        libc::S_IFCHR | libc::S_IFBLK => refuse("a change of a device", site),
        libc::S_IFIFO | libc::S_IFSOCK => refuse("a change of a pipe", site),
        _ => refuse("a change of what belongs to the system", site),
    }
}

/// Whether something of `/proc` belongs to the process and to no other: its settings, and what it alone can have open.
fn is_own(real: &[u8]) -> bool {
    match descriptor_in_proc(real) {
        Some(descriptor) => is_gone_with_run(descriptor),
        None => {
            let own = format!("/proc/{}", os_files::process_id());
            beneath(real, own.as_bytes()) && os_files::same_device(real, b"/proc")
        }
    }
}

/// Whether what is open is gone when the run is over.
pub(crate) fn is_gone_with_run(descriptor: c_int) -> bool {
    let path = os_files::path_of_open(descriptor).unwrap_or_default();
    let copy = overlay().holds(&path);
    copy || is_nameless(descriptor) || start_state::is_output(descriptor)
}

/// Whether the program may do this to the original; else an error number.
fn allowed(real: &[u8], there: Option<&libc::stat>, how: PathUse) -> Result<(), c_int> {
    let disk = overlay();
    let Some(stat) = there else {
        return match how.makes() {
            true => disk.writable(parent(real)),
            false => Err(libc::ENOENT),
        };
    };
    use PathUse::{Attributes, Within};
    match (how, file_type(stat)) {
        (Attributes { .. }, _) if os_files::owns(stat) => Ok(()),
        (Attributes { writers: true }, libc::S_IFREG | libc::S_IFDIR) => disk.writable(real),
        (Attributes { .. }, _) => Err(libc::EPERM),
        (Within, libc::S_IFDIR) => disk.writable(real),
        (Within, _) => Err(libc::ENOTDIR),
        (_, libc::S_IFDIR) => Err(libc::EISDIR),
        (_, libc::S_IFLNK) => Err(libc::ELOOP),
        _ => disk.writable(real),
    }
}

/// A file is about to lose its name. If it is open it becomes the run's own, so that its number of names is right.
pub(crate) fn detach(real: &[u8], stat: &libc::stat) {
    let only_name = file_type(stat) == libc::S_IFREG && stat.st_nlink == 1;
    let original = overlay().find(real) == Where::Original;
    if only_name
        && original
        && !file_mappings::is_mapped(stat)
        && os_files::is_open_somewhere(stat, descriptor_table::is_programs)
    {
        overlay().copy(real, true);
        move_open(stat, real);
    }
}

/// Descriptors that are open on a file that was copied are open on the copy from now on.
pub(crate) fn move_open(file: &libc::stat, real: &[u8]) {
    start_state::descriptors_change();
    let copy = overlay().copy_of(real);
    os_files::move_to_copy(file, &copy, descriptor_table::is_programs);
    let copied = overlay().stat(real);
    if let Some(copied) = copied {
        file_locks::moved(file, &copied);
    }
}

/// Makes a copy unless there is one, and has what is open be open on it.
fn copy(real: &[u8], stat: &libc::stat, how: PathUse, site: Site) {
    let original = overlay().find(real) == Where::Original;
    let plain = file_type(stat) == libc::S_IFREG;
    if original && plain && stat.st_nlink > 1 {
        refuse("a change of a file that has several names", site);
    }
    let truncates = matches!(how, PathUse::Change { keeps: false, .. });
    if original || truncates {
        file_mappings::changing(stat, original, site);
    }
    if original {
        overlay().copy(real, !truncates);
        let failed = overlay().has_failed();
        if failed {
            refuse("a change of a file that cannot be copied", site);
        }
        if plain {
            move_open(stat, real);
        }
    }
}
