//! Where calls that name files are sent.
//!
//! This is the only place where it is decided which path the kernel is given. A call that only looks may see the original. One that changes something is sent to a
//! copy, or to a device; it fails here if the program may not do that to the original, and is refused by name if there can be no copy. So nothing that a run does can reach the
//! user's own files.

use crate::{
    core::{call_sites, sys, world},
    kernel::{
        descriptor_table, file_locks, file_mappings,
        file_names::{
            HERE, alone, bytes, enter, is_nameless, is_system, leave, number, refuse, state,
        },
        file_objects,
        overlay::{self, Dead, Real, Where},
    },
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::Site;

/// What a call does with a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Look,
    /// Goes there, which changes where other paths lead.
    Go,
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
    /// Changes what is in it; whether that matters, and whether it makes it.
    Change {
        whole: bool,
        makes: bool,
    },
    /// Changes what is known of it, as its owner may, and sometimes those who may write to it.
    Mark {
        writers: bool,
    },
}

pub(crate) const WHOLE: Use = Use::Change {
    whole: true,
    makes: false,
};

impl Use {
    /// Whether there may be nothing yet.
    fn makes(self) -> bool {
        matches!(
            self,
            Use::Entry | Use::New | Use::Make | Use::Change { makes: true, .. }
        )
    }

    /// Whether nothing is changed.
    fn looks(self) -> bool {
        matches!(self, Use::Look | Use::Go | Use::List)
    }
}

/// Where a path leads now.
fn lead(path: &[u8], follow: bool, how: Use) -> Result<Real, Dead> {
    let disk = &state().disk;
    let slash = path.ends_with(b"/");
    let looks = matches!(how, Use::Look | Use::Mark { .. });
    let real = disk.real(HERE, path, follow || slash && looks)?;
    let dead = match slash && disk.stat(&real).is_none() {
        true if how == Use::Entry => None,
        true if how.makes() => Some(libc::EISDIR),
        true => Some(libc::ENOENT),
        false => None,
    };
    match dead {
        Some(error) => Err(Dead { at: real, error }),
        None => Ok(real),
    }
}

/// Where a path leads; others see what the call does to it from now on, or it sees what they have done. Until [`crate::kernel::file_names::leave`] it
/// leads there. Else an error number.
pub(crate) fn reach(
    directory: c_int,
    path: usize,
    follow: bool,
    how: Use,
    site: Site,
) -> Result<Real, c_int> {
    // SAFETY: the program's own text.
    let mut path = unsafe { bytes(path) }.ok_or(libc::EFAULT)?;
    enter(matches!(how, Use::List | Use::Go | Use::Entry), site);
    let whole;
    if directory != HERE && path.first().is_some_and(|first| *first != b'/') {
        descriptor_table::look_up(directory, site);
        let start = state().disk.directory(descriptor_table::found(directory));
        whole = [&start.ok_or(libc::EBADF)?, &b"/"[..], path].concat();
        path = &whole;
    }
    let mut found = lead(path, follow, how);
    let place = match &found {
        Ok(real) => real,
        Err(dead) => &dead.at,
    };
    if !alone() && !is_system(place) {
        match how {
            // Nobody else names anything.
            Use::List | Use::Go | Use::Entry => {}
            Use::Look | Use::Open | Use::Within => file_objects::look_at(number(place), site),
            _ if found.is_err() => file_objects::look_at(number(place), site),
            _ => file_objects::touch(number(place), site),
        }
        found = lead(path, follow, how);
    }
    found.map_err(|dead| dead.error)
}

/// Exchanges the path of a call for where it is to be made, or has it fail.
pub(crate) fn redirect(
    directory: c_int,
    path: &mut usize,
    follow: bool,
    how: Use,
    from: &usize,
    text: usize,
) {
    state().texts[text].clear();
    state().output = None;
    if how.looks() && alone() && !state().disk.used() {
        return;
    }
    let site = call_sites::site(from);
    let mut place = reach(directory, *path, follow, how, site);
    if matches!(how, Use::Mark { .. })
        && !alone()
        && place.as_ref().is_ok_and(|real| leads_on(real))
    {
        // Who may go through a directory matters to all that lies beneath.
        leave(site);
        enter(true, site);
        place = reach(directory, *path, follow, how, site);
    }
    send(
        place.and_then(|real| place_for(&real, how, site)),
        path,
        text,
    );
}

fn leads_on(real: &[u8]) -> bool {
    let stat = state().disk.stat(real);
    stat.is_some_and(|stat| overlay::kind(&stat) == libc::S_IFDIR)
}

/// Has a call be made there, or fail.
pub(crate) fn send(place: Result<Vec<u8>, c_int>, path: &mut usize, text: usize) {
    let state = state();
    match place {
        Ok(place) => {
            state.texts[text] = overlay::terminated(&place);
            *path = state.texts[text].as_ptr() as usize;
        }
        Err(error) => state.denied = Some(error),
    }
}

/// Makes the call at hand, unless it has failed already.
pub(crate) fn make<T>(failure: T, call: impl FnOnce() -> T) -> T {
    if !world::active() {
        return call();
    }
    match state().denied.take() {
        Some(error) => {
            crate::core::operations::failed(error);
            failure
        }
        None => call(),
    }
}

/// Where a call is to be made that does this to what lies there; or an error number.
pub(crate) fn place_for(real: &[u8], how: Use, site: Site) -> Result<Vec<u8>, c_int> {
    let disk = &mut state().disk;
    let there = disk.stat(real);
    match how {
        Use::Look | Use::Go => {}
        Use::Make if there.is_some() => {}
        Use::List => {
            // What others change from now on is to be seen as well.
            if !alone() && there.is_some() && !is_system(real) {
                disk.copy(real, true);
            }
            disk.list(real);
        }
        Use::Entry | Use::New if there.is_some() => return Err(libc::EEXIST),
        _ => return change(real, how, site),
    }
    Ok(disk.place(real))
}

/// Has a copy made of what is about to be changed: where that is, or an error number.
fn change(real: &[u8], how: Use, site: Site) -> Result<Vec<u8>, c_int> {
    let disk = &mut state().disk;
    let there = disk.stat(real);
    if let Some(stat) = &there
        && is_elsewhere(real, stat)
    {
        return special(real, how, site);
    }
    if is_system(real) {
        return Err(if how.makes() {
            libc::EACCES
        } else {
            libc::ENOENT
        });
    }
    allowed(real, there.as_ref(), how)?;
    let disk = &mut state().disk;
    match there {
        Some(stat) => copy(real, &stat, how, site),
        None => disk.prepare(real),
    }
    Ok(state().disk.copy_of(real))
}

/// Whether something is none that could be copied.
fn is_elsewhere(real: &[u8], stat: &libc::stat) -> bool {
    let kind = overlay::kind(stat);
    is_system(real) || !matches!(kind, libc::S_IFREG | libc::S_IFDIR | libc::S_IFLNK)
}

/// A change of something else than a file: what is the process's own, or leads out of it.
fn special(real: &[u8], how: Use, site: Site) -> Result<Vec<u8>, c_int> {
    let place = state().disk.place(real);
    let opens = matches!(how, Use::Open | Use::Change { .. });
    let kind = overlay::look_behind(&place).map_or(0, |stat| overlay::kind(&stat));
    let output = descriptor_behind(real).filter(|open| file_objects::is_output(*open));
    if opens && output.is_some() {
        // The driver reads what is there: nobody may begin anew.
        state().output = output;
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

/// Whether it belongs to the process: what is known of it, and what it has open and nobody else can.
fn is_own(real: &[u8]) -> bool {
    // SAFETY: asks for a number.
    let own = alloc::format!("/proc/{}", unsafe { sys::call(libc::SYS_getpid, [0; 6]) });
    match descriptor_behind(real) {
        Some(descriptor) => is_thrown_away(descriptor),
        None => {
            let device = |path: &[u8]| Some(overlay::look_behind(path)?.st_dev);
            overlay::beneath(real, own.as_bytes()) && device(real) == device(b"/proc")
        }
    }
}

/// The descriptor that a path of `/proc` is for.
pub(crate) fn descriptor_behind(real: &[u8]) -> Option<c_int> {
    let number = real
        .strip_prefix(overlay::parent(real))?
        .strip_prefix(b"/")?;
    let within = overlay::parent(real).ends_with(b"/fd") && overlay::beneath(real, b"/proc");
    let number = core::str::from_utf8(number).ok().filter(|_| within);
    number?.parse().ok()
}

/// Whether what is open is gone with the run.
pub(crate) fn is_thrown_away(descriptor: c_int) -> bool {
    let link = alloc::format!("/proc/self/fd/{descriptor}");
    let path = overlay::read_link(link.as_bytes()).unwrap_or_default();
    let copies = state().disk.copy_of(b"");
    let copy = state().disk.used() && overlay::beneath(&path, &copies);
    copy || is_nameless(descriptor) || file_objects::is_output(descriptor)
}

/// Whether the program may do this to the original; else an error number.
fn allowed(real: &[u8], there: Option<&libc::stat>, how: Use) -> Result<(), c_int> {
    let disk = &state().disk;
    let Some(stat) = there else {
        return match how.makes() {
            true => disk.writable(overlay::parent(real)),
            false => Err(libc::ENOENT),
        };
    };
    // SAFETY: asks for a number.
    let user = unsafe { sys::call(libc::SYS_geteuid, [0; 6]) } as u32;
    let owner = user == 0 || user == stat.st_uid;
    match (how, overlay::kind(stat)) {
        (Use::Mark { .. }, _) if owner => Ok(()),
        (Use::Mark { writers: true }, libc::S_IFREG | libc::S_IFDIR) => disk.writable(real),
        (Use::Mark { .. }, _) => Err(libc::EPERM),
        (Use::Within, libc::S_IFDIR) => disk.writable(real),
        (Use::Within, _) => Err(libc::ENOTDIR),
        (_, libc::S_IFDIR) => Err(libc::EISDIR),
        (_, libc::S_IFLNK) => Err(libc::ELOOP),
        _ => disk.writable(real),
    }
}

/// A file is about to lose its name. If it is open it is the run's own from now on, so that who asks how many names it has is told.
pub(crate) fn detach(real: &[u8], stat: &libc::stat) {
    let alone = overlay::kind(stat) == libc::S_IFREG && stat.st_nlink == 1;
    let disk = &mut state().disk;
    let original = disk.find(real) == Where::Original;
    if alone
        && original
        && !file_mappings::is_mapped(stat)
        && overlay::is_open(stat, descriptor_table::is_programs)
    {
        disk.copy(real, true);
        follow(stat, real);
    }
}

/// Who has a file open that was copied has the copy from now on.
pub(crate) fn follow(file: &libc::stat, real: &[u8]) {
    file_objects::changing();
    let disk = &mut state().disk;
    overlay::follow(file, &disk.copy_of(real), descriptor_table::is_programs);
    if let Some(copy) = disk.stat(real) {
        file_locks::moved(file, &copy);
    }
}

/// Sees to it that there is a copy, and that what is open stands for it.
fn copy(real: &[u8], stat: &libc::stat, how: Use, site: Site) {
    let original = state().disk.find(real) == Where::Original;
    let plain = overlay::kind(stat) == libc::S_IFREG;
    if original && plain && stat.st_nlink > 1 {
        refuse("a change of a file that has several names", site);
    }
    let empties = matches!(how, Use::Change { whole: false, .. });
    if original || empties {
        file_mappings::changing(stat, original, site);
    }
    if original {
        let disk = &mut state().disk;
        disk.copy(real, !empties);
        if disk.has_failed() {
            refuse("a change of a file that cannot be copied", site);
        }
        if plain {
            follow(stat, real);
        }
    }
}
