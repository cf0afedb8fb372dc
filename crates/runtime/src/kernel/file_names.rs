//! What calls do that name files ([`crate::calls::files::named_files`], [`crate::calls::files::directory_entries`]): what they change lies elsewhere, see [`crate::kernel::overlay`]. Where they are sent is decided in
//! [`crate::kernel::path_resolution`].
//!
//! A file is an object of the model, whether it is reached by a path, a descriptor or a stream, and whether it is there at all. An operation touches one object, but
//! directories, links, new names, and another place to start from change where many paths lead. So there is a lock of all names ([`Rule::Names`]): who changes some,
//! or lists them, has it alone; who names a file has it together with others, and still touches the file.

use crate::{
    core::{hidden_objects::Hidden, operations::visible, rules, sys, world},
    kernel::{
        descriptor_table, file_objects,
        overlay::{self, Disk, Real},
    },
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int};
use reweave_model::{Op, Site};
use reweave_wire::Rule;

/// Of a run.
#[derive(Default)]
pub struct State {
    pub(crate) disk: Disk,
    /// Paths that calls were given instead of theirs.
    pub(crate) texts: [Vec<u8>; 2],
    /// How many names each thread has asked for, by slot.
    pub(crate) temporary: Vec<(usize, u64)>,
    /// New names, in the order in which they were given.
    given: Vec<Given>,
    /// Files that are open and have no name: another file got it, or they never had one.
    nameless: Vec<Nameless>,
    /// The call at hand makes one.
    makes_nameless: bool,
    /// The call at hand opens once more what this descriptor stands for, which goes to the driver.
    pub(crate) output: Option<c_int>,
    /// The call at hand fails with this number.
    pub(crate) denied: Option<c_int>,
    /// When the process was about to begin, in seconds.
    pub(crate) began: i64,
}

struct Nameless {
    device: u64,
    inode: u64,
    number: usize,
    /// What goes for a name, if it never had one.
    name: Option<Real>,
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

pub(crate) fn state() -> &'static mut State {
    &mut world::get().calls.disk
}

pub fn prepare(root: &str) {
    state().disk.at(root);
    let mut now = [0; 2];
    let arguments = [
        libc::CLOCK_REALTIME as usize,
        now.as_mut_ptr() as usize,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: writes a local.
    unsafe { sys::call(libc::SYS_clock_gettime, arguments) };
    state().began = now[0];
}

pub fn clean_up() {
    state().disk.forget();
    state().temporary.clear();
    state().given.clear();
    state().makes_nameless = false;
    state().denied = None;
    state().output = None;
    for file in state().nameless.drain(..) {
        descriptor_table::shut(file.open);
    }
}

/// Takes the lock of all names until [`leave`]: alone, for those who change some, or with others.
pub(crate) fn enter(changes: bool, site: Site) {
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

pub(crate) fn leave(site: Site) {
    if let Some(back) = world::get().me().own_calls.disk.held.take() {
        visible(back, site);
    }
}

/// Not under control. Nobody is kept from names by a thread that goes no further.
pub(crate) fn refuse(what: &str, site: Site) -> ! {
    leave(site);
    world::get().unsupported(what, site)
}

/// Where the process is.
pub(crate) const HERE: c_int = libc::AT_FDCWD;

/// What the kernel has files for that are none.
pub(crate) fn is_system(real: &[u8]) -> bool {
    let shared = overlay::beneath(real, b"/dev/shm");
    [&b"/proc"[..], b"/sys", b"/dev"]
        .iter()
        .any(|system| overlay::beneath(real, system))
        && !shared
}

/// A new name for what had another one, or has.
pub(crate) fn give(old: &[u8], new: &[u8], moved: bool) {
    let (old, new) = (old.into(), new.into());
    state().given.push(Given { old, new, moved });
}

/// How many names the running thread has asked for, with this one.
pub(crate) fn next_temporary() -> u64 {
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
pub(crate) fn makes_nameless() {
    state().makes_nameless = true;
}

/// Something was opened by the call at hand: a file without a name is known by who made it, since its inode differs from run to run.
pub(crate) fn made(descriptor: c_int, site: Site) {
    if let Some(output) = state().output.take()
        && descriptor >= 0
    {
        overlay::stand_for(descriptor, output);
    }
    if !core::mem::take(&mut state().makes_nameless) || descriptor < 0 {
        return;
    }
    let Some(stat) = overlay::look_at_open(descriptor) else {
        return;
    };
    let (slot, count) = (world::get().slot(), next_temporary());
    let name = alloc::format!("(temporary {slot}.{count})");
    let number = hash(name.as_bytes());
    file_objects::is_called(number, name.as_bytes());
    let link = alloc::format!("/proc/self/fd/{descriptor}");
    remember(link.as_bytes(), 0, number, &stat, site);
    if let Some(file) = state().nameless.last_mut() {
        file.name = Some(name.into_bytes());
    }
}

/// An open file is about to lose its name to another one, and stays the object that it is.
pub(crate) fn keep(real: &[u8], stat: &libc::stat, site: Site) {
    let (place, number) = (state().disk.place(real), number(real));
    remember(&place, libc::O_NOFOLLOW, number, stat, site);
}

fn remember(place: &[u8], flags: c_int, number: usize, stat: &libc::stat, site: Site) {
    let flags = (libc::O_PATH | libc::O_CLOEXEC | flags) as usize;
    let low = overlay::at(libc::SYS_openat, place, flags, 0) as c_int;
    let open = descriptor_table::copy(low, site);
    descriptor_table::shut(low);
    if open < 0 {
        refuse("a file without a name", site);
    }
    state().nameless.push(Nameless {
        device: stat.st_dev,
        inode: stat.st_ino,
        number,
        name: None,
        open,
    });
}

/// Whether an open file has no name.
pub(crate) fn is_nameless(descriptor: c_int) -> bool {
    number_of_nameless(descriptor).is_some()
}

/// A file without a name gets one.
pub(crate) fn christen(descriptor: c_int, new: &[u8]) {
    let number = number_of_nameless(descriptor);
    let nameless = state().nameless.iter();
    let mut known = nameless.filter(|file| Some(file.number) == number);
    if let Some(name) = known.find_map(|file| file.name.clone()) {
        give(&name, new, false);
    }
}

/// The object of an open file that has lost its name.
fn number_of_nameless(descriptor: c_int) -> Option<usize> {
    let nameless = &state().nameless;
    if nameless.is_empty() {
        return None;
    }
    let stat = overlay::look_at_open(descriptor)?;
    let found = nameless
        .iter()
        .find(|file| (file.device, file.inode) == (stat.st_dev, stat.st_ino));
    found.map(|file| file.number)
}

/// What a path was called at first: a file stays the same object under all its names.
fn first_name(real: &[u8]) -> Real {
    let mut name: Real = real.into();
    for (index, given) in state().given.iter().enumerate().rev() {
        if overlay::beneath(&name, &given.new) {
            name = [&given.old, &name[given.new.len()..]].concat();
        } else if given.moved && overlay::beneath(&name, &given.old) {
            // Something else, since.
            name = [alloc::format!("//{index}").as_bytes(), &name].concat();
        }
    }
    name
}

/// A path as an object: a number for which one it is.
pub(crate) fn number(real: &[u8]) -> usize {
    let number = hash(&first_name(real));
    file_objects::is_called(number, real);
    number
}

fn hash(path: &[u8]) -> usize {
    let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    });
    (hash ^ hash >> 44) as usize
}

/// The path of an open file as an object, the same as for calls that name the path.
pub(crate) fn number_of_open(descriptor: c_int) -> usize {
    if let Some(number) = number_of_nameless(descriptor) {
        return number;
    }
    let link = alloc::format!("/proc/self/fd/{descriptor}");
    let path = overlay::read_link(link.as_bytes()).unwrap_or_default();
    let path = match path.strip_suffix(b" (deleted)") {
        Some(name) if !is_called(descriptor, &path) => name,
        _ => &path,
    };
    number(&state().disk.original_of(path))
}

/// Whether an open file has this very path.
fn is_called(descriptor: c_int, path: &[u8]) -> bool {
    let files = (overlay::look(path), overlay::look_at_open(descriptor));
    matches!(files, (Some(one), Some(other)) if overlay::identity(&one) == overlay::identity(&other))
}

pub(crate) fn alone() -> bool {
    let world = world::get();
    world.races.alone(world.current)
}

/// # Safety
/// The text is the program's, and ends with a nul.
pub(crate) unsafe fn bytes<'a>(path: usize) -> Option<&'a [u8]> {
    if path == 0 {
        return None;
    }
    // SAFETY: as promised.
    Some(unsafe { CStr::from_ptr(path as *const c_char) }.to_bytes())
}
