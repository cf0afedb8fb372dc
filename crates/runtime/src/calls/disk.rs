//! What calls do that name files ([`super::naming`], [`super::entries`]): what they change lies elsewhere, see [`crate::disk`].
//!
//! A file is an object of the model, whether it is reached by a path, a descriptor or a stream, and whether it is there at all. An operation touches one object, but
//! directories, links, new names, and another place to start from change where many paths lead. So there is a lock of all names ([`Rule::Names`]): who changes some,
//! or lists them, has it alone; who names a file has it together with others, and still touches the file.

use super::{Hidden, callers, descriptors, file_locks, files, mapped, positions, rules, visible};
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
    pub(super) texts: [Vec<u8>; 2],
    /// How many names each thread has asked for, by slot.
    pub(super) temporary: Vec<(usize, u64)>,
    /// New names, in the order in which they were given.
    given: Vec<Given>,
    /// Files that are open and have no name: another file got it, or they never had one.
    nameless: Vec<Nameless>,
    /// The call at hand makes one.
    makes_nameless: bool,
}

struct Nameless {
    device: u64,
    inode: u64,
    number: usize,
    /// Keeps it, so that no other file can be taken for it.
    open: c_int,
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
    state().makes_nameless = false;
    for file in state().nameless.drain(..) {
        descriptors::shut(file.open);
    }
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
    /// Opens it for changes, and makes none.
    Open,
    /// Changes it or makes it; whether what is in it matters.
    Change {
        whole: bool,
    },
    List,
}

pub(super) const WHOLE: Use = Use::Change { whole: true };

/// Where the process is.
pub(super) const HERE: c_int = libc::AT_FDCWD;

/// What the kernel has files for that are none.
pub(super) fn is_system(real: &[u8]) -> bool {
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

/// How many names the running thread has asked for, with this one.
pub(super) fn next_temporary() -> u64 {
    let slot = world::get().slot();
    let known = &mut state().temporary;
    let index = known.iter().position(|(known, _)| *known == slot);
    let index = index.unwrap_or_else(|| {
        known.push((slot, 0));
        known.len() - 1
    });
    known[index].1 += 1;
    known[index].1
}

/// The call at hand makes a file that has no name.
pub(super) fn makes_nameless() {
    state().makes_nameless = true;
}

/// Something was opened by the call at hand: a file without a name is known by who made it, since its inode differs from run to run.
pub(super) fn made(descriptor: c_int, site: Site) {
    if !core::mem::take(&mut state().makes_nameless) || descriptor < 0 {
        return;
    }
    let Some(stat) = disk::look_at_open(descriptor) else {
        return;
    };
    let (slot, count) = (world::get().slot(), next_temporary());
    let name = alloc::format!("(temporary {slot}.{count})");
    let number = hash(name.as_bytes());
    files::is_called(number, name.as_bytes());
    let link = alloc::format!("/proc/self/fd/{descriptor}");
    remember(link.as_bytes(), 0, number, &stat, site);
}

/// An open file is about to lose its name to another one, and stays the object that it is.
pub(super) fn keep(real: &[u8], stat: &libc::stat, site: Site) {
    let (place, number) = (state().disk.place(real), number(real));
    remember(&place, libc::O_NOFOLLOW, number, stat, site);
}

fn remember(place: &[u8], flags: c_int, number: usize, stat: &libc::stat, site: Site) {
    let flags = (libc::O_PATH | libc::O_CLOEXEC | flags) as usize;
    let low = disk::at(libc::SYS_openat, place, flags, 0) as c_int;
    let open = descriptors::copy(low, site);
    descriptors::shut(low);
    if open < 0 {
        refuse("a file without a name", site);
    }
    state().nameless.push(Nameless {
        device: stat.st_dev,
        inode: stat.st_ino,
        number,
        open,
    });
}

/// The object of an open file that has lost its name.
fn number_of_nameless(descriptor: c_int) -> Option<usize> {
    let nameless = &state().nameless;
    if nameless.is_empty() {
        return None;
    }
    let stat = disk::look_at_open(descriptor)?;
    let found = nameless
        .iter()
        .find(|file| (file.device, file.inode) == (stat.st_dev, stat.st_ino));
    found.map(|file| file.number)
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
pub(super) fn number(real: &[u8]) -> usize {
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
    if let Some(number) = number_of_nameless(descriptor) {
        return number;
    }
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
        Use::Look | Use::Open => files::look_at(number(&real), site),
        Use::Change { .. } => files::touch(number(&real), site),
        Use::List | Use::Go | Use::Entry => {}
    }
    find()
}

/// Exchanges the path of a call for where it is to be looked for.
pub(super) fn redirect(
    directory: c_int,
    path: &mut usize,
    follow: bool,
    how: Use,
    from: &usize,
    text: usize,
) {
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
        Use::Entry | Use::Open | Use::Change { .. } => {
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

/// Who has a file open that was copied has the copy from now on.
pub(super) fn follow(file: &libc::stat, real: &[u8]) {
    files::changing();
    let disk = &mut state().disk;
    disk::follow(file, &disk.copy_of(real), files::OURS, positions::are_same);
    if let Some(copy) = disk.stat(real) {
        file_locks::moved(file, &copy);
    }
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
    if let Some(stat) = there.filter(|_| original || !whole) {
        mapped::changing(&stat, original, site);
    }
    let disk = &mut state().disk;
    match there {
        Some(stat) if original => {
            disk.copy(real, whole);
            if plain(&stat) {
                follow(&stat, real);
            }
        }
        Some(_) => {}
        None => disk.prepare(real),
    }
    true
}
