//! Files as objects of the model; and what there was at `main`: descriptors and offsets are as they were before every run.
//!
//! What is read from a file or written to it, by calls that name its path ([`crate::kernel::file_names`]), its descriptor ([`crate::calls::files::read_write`]) or its stream
//! ([`crate::calls::streams::stream_objects`]), is an operation on that file: who comes first may matter. So is what is done to descriptors ([`crate::kernel::descriptor_table`]),
//! and to what belongs to the process as a whole. Writing to standard output and standard error orders nothing.

use crate::{
    calls::streams::stream_objects,
    core::{
        call_sites, channel,
        hidden_objects::Hidden,
        objects::Sort,
        operations::visible,
        sys,
        world::{self, World},
    },
    kernel::{file_names, waits},
    real,
};
use alloc::{format, string::String, vec::Vec};
use core::{
    cell::UnsafeCell,
    ffi::{c_char, c_int, c_long},
    mem::MaybeUninit,
};
use libc::FILE;
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, Site};

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Whether there may be descriptors that were not there at `main`, or some of those may be closed or changed.
    changed: bool,
    /// Whether the process may be in another directory, or have another mask for new files.
    elsewhere: bool,
    /// Whether some may stand elsewhere.
    moved: bool,
    /// When a run is to be shown: files by their numbers, with their paths.
    paths: Vec<(usize, String)>,
}

impl State {
    pub fn clear(&mut self) {
        self.changed = false;
        self.elsewhere = false;
        self.moved = false;
        self.paths.clear();
    }
}

/// What there was at `main`.
struct Before {
    open: Vec<Open>,
    /// The stream of standard input, and what it had read.
    input: usize,
    input_read: [usize; 2],
    /// Where it is said which streams are standard output and standard error.
    outputs: [usize; 2],
    /// Runs so far.
    runs: u32,
    /// A descriptor of the directory that the process was in.
    directory: c_int,
    mask: usize,
}

struct Open {
    descriptor: c_int,
    /// Another one for the same file, out of the program's reach.
    copy: c_int,
    /// Where it stands, if it is a file that can be read from elsewhere.
    offset: Option<isize>,
    flags: isize,
}

struct Global(UnsafeCell<Before>);
// SAFETY: one OS thread.
unsafe impl Sync for Global {}
static BEFORE: Global = Global(UnsafeCell::new(Before {
    open: Vec::new(),
    input: 0,
    input_read: [0; 2],
    outputs: [0; 2],
    runs: 0,
    directory: -1,
    mask: 0,
}));

fn before() -> &'static mut Before {
    // SAFETY: as above; kept for a line at a time.
    unsafe { &mut *BEFORE.0.get() }
}

/// Descriptors from here on are the runtime's.
pub const OURS: c_int = channel::CHANNEL;
/// Where copies of the program's begin.
pub(crate) const COPIES: usize = OURS as usize + 10;

/// # Safety
/// As the system call.
unsafe fn call(number: c_long, a: c_int, b: usize, c: usize) -> isize {
    // SAFETY: as promised.
    unsafe { sys::call(number, [a as usize, b, c, 0, 0, 0]) }
}

/// Notes what there is, and gives streams their buffers: allocated by whoever is the first to use them they would make addresses depend on
/// the order of the run.
pub fn prepare() {
    let found = before();
    // SAFETY: asks about descriptors and makes copies of them.
    unsafe {
        for descriptor in 0..OURS {
            if call(libc::SYS_fcntl, descriptor, libc::F_GETFD as usize, 0) < 0 {
                continue;
            }
            let flag = libc::F_DUPFD_CLOEXEC as usize;
            let copy = call(libc::SYS_fcntl, descriptor, flag, COPIES) as c_int;
            let offset = call(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR as usize);
            let file = kind(descriptor) == libc::S_IFREG && descriptor != 1 && descriptor != 2;
            found.open.push(Open {
                descriptor,
                copy,
                offset: (file && offset >= 0).then_some(offset),
                flags: call(libc::SYS_fcntl, descriptor, libc::F_GETFL as usize, 0),
            });
        }
        let flags = (libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
        let here = c".".as_ptr() as usize;
        let low = call(libc::SYS_openat, libc::AT_FDCWD, here, flags) as c_int;
        let flag = libc::F_DUPFD_CLOEXEC as usize;
        found.directory = call(libc::SYS_fcntl, low, flag, COPIES) as c_int;
        call(libc::SYS_close, low, 0, 0);
        found.mask = call(libc::SYS_umask, 0, 0, 0) as usize;
        call(libc::SYS_umask, found.mask as c_int, 0, 0);
        found.outputs = [c"stdout", c"stderr"]
            .map(|name| libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize);
        for (place, name) in [c"stdin", c"stdout"].into_iter().enumerate() {
            let stream = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<*mut FILE>();
            let memory = sys::map(BUFFERS_AT + place * BUFFER, BUFFER);
            if let (false, Some(memory)) = (stream.is_null(), memory) {
                give_buffer(*stream, memory.cast());
                if name == c"stdin" {
                    found.input = *stream as usize;
                    found.input_read = stream_objects::read_of(found.input);
                }
            }
        }
    }
}

const BUFFER: usize = 4096;
/// Not among the runtime's own memory: compiled code of the program writes there, too.
const BUFFERS_AT: usize = 0x3080_0000_0000;

unsafe fn give_buffer(stream: *mut FILE, memory: *mut c_char) {
    /// Where a stream has the beginning of its buffer, in words.
    const BUFFER_AT: usize = 7;
    // SAFETY: libc's layout; the memory is the stream's from now on.
    unsafe {
        if stream.cast::<usize>().add(BUFFER_AT).read() == 0 {
            real!(setvbuf: fn(*mut FILE, *mut c_char, c_int, usize) -> c_int)(
                stream,
                memory,
                libc::_IOFBF,
                BUFFER,
            );
        }
    }
}

/// The kind of file behind a descriptor; 0: none.
pub(crate) fn kind(descriptor: c_int) -> u32 {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: writes a local.
    unsafe {
        if call(libc::SYS_fstat, descriptor, stat.as_mut_ptr() as usize, 0) < 0 {
            return 0;
        }
        stat.assume_init().st_mode & libc::S_IFMT
    }
}

/// Runs after which descriptors are looked at in any case: some call may have opened one that is not known to.
const EACH: u32 = 1024;

/// After a run: descriptors and offsets as they were. System calls are dear, so there are none unless a call was made that can change
/// something.
pub fn clean_up() {
    let found = before();
    let state = &world::get().calls.files;
    found.runs = found.runs.wrapping_add(1);
    // SAFETY: closes what the program has opened, and opens what it has closed.
    unsafe {
        if state.changed || found.runs.is_multiple_of(EACH) {
            reopen(found);
        }
        if state.elsewhere {
            call(libc::SYS_fchdir, found.directory, 0, 0);
            call(libc::SYS_umask, found.mask as c_int, 0, 0);
        }
        let read = found.input != 0 && stream_objects::read_of(found.input) != found.input_read;
        if state.moved || state.changed || read {
            for open in &found.open {
                if let Some(offset) = open.offset {
                    let from = libc::SEEK_SET as usize;
                    call(libc::SYS_lseek, open.descriptor, offset as usize, from);
                }
            }
        }
    }
}

#[cold]
unsafe fn reopen(found: &Before) {
    let mut from = 0;
    // SAFETY: as in `clean_up`.
    unsafe {
        for open in &found.open {
            if from < open.descriptor {
                call(libc::SYS_close_range, from, open.descriptor as usize - 1, 0);
            }
            call(libc::SYS_dup2, open.copy, open.descriptor as usize, 0);
            let flags = open.flags as usize;
            call(libc::SYS_fcntl, open.copy, libc::F_SETFL as usize, flags);
            from = open.descriptor + 1;
        }
        call(libc::SYS_close_range, from, OURS as usize - 1, 0);
    }
}

/// What was open at `main`.
pub(crate) fn open_at_start() -> impl Iterator<Item = c_int> {
    before().open.iter().map(|open| open.descriptor)
}

/// Whether a file was open at `main`: it is not put back.
pub(crate) fn is_from_before(device: u64, inode: u64) -> bool {
    let mut open = before().open.iter();
    open.any(|open| which(open.copy) == Some((device, inode)))
}

/// A call is about to write to a file. One that was open for that before `main` is the user's own: no run writes to it.
pub(crate) fn spare(descriptor: c_int, site: Site) {
    let writable = |open: &&Open| open.flags as c_int & libc::O_ACCMODE != libc::O_RDONLY;
    let mut early = before().open.iter().filter(writable);
    if early.any(|open| open.offset.is_some() && which(open.copy) == which(descriptor)) {
        world::get().unsupported("a write to a file that was open before main", site);
    }
}

/// Standard input.
pub fn input() -> usize {
    before().input
}

/// Whether a descriptor is for what the driver takes as output, a file that is another one in every process.
pub(crate) fn is_output(descriptor: c_int) -> bool {
    which(descriptor) == which(channel::OUTPUT)
}

/// Which file is open.
fn which(descriptor: c_int) -> Option<(u64, u64)> {
    let stat = crate::kernel::overlay::look_at_open(descriptor)?;
    Some((stat.st_dev, stat.st_ino))
}

/// Standard output, and standard error.
pub(crate) fn outputs() -> [usize; 2] {
    // SAFETY: libc's own variables, which a program may set.
    before().outputs.map(|place| match place {
        0 => 0,
        place => unsafe { *(place as *const usize) },
    })
}

pub(crate) fn output() -> usize {
    outputs()[0]
}

/// Descriptors are about to be opened or closed.
pub fn changing() {
    if world::active() {
        world::get().calls.files.changed = true;
    }
}

/// The process is about to go to another directory, or to have another mask for new files.
pub fn going() {
    world::get().calls.files.elsewhere = true;
}

/// Descriptors are about to stand elsewhere in their files.
pub(crate) fn moving() {
    world::get().calls.files.moved = true;
}

/// An operation on what has this number; of a thread that is alone it cannot matter.
pub fn touch(number: usize, site: Site) {
    let world = world::get();
    if world.races.alone(world.current) {
        return;
    }
    let object = object(world, number);
    let rmw = Rmw {
        kind: RmwKind::Add,
        operand: 1,
        bits: 64,
    };
    visible(Op::Rmw(object, rmw), site);
}

/// As [`touch`], of who only looks.
pub fn look_at(number: usize, site: Site) {
    let world = world::get();
    if !world.races.alone(world.current) {
        let object = object(world, number);
        visible(Op::Load(object), site);
    }
}

/// What belongs to the process as a whole: numbers that no path has.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Whole {
    Limits = 1,
    /// What is done about a signal, one for each.
    Actions,
}

/// All descriptors as one.
pub(crate) const TABLE: usize = 0x100;
/// Keys for what threads keep for themselves.
pub(crate) const KEYS: usize = 0x101;
/// The flags of whatever is open and no file.
pub(crate) const FLAGS: usize = 0x102;
/// The list of all streams.
pub(crate) const STREAMS: usize = 0x103;
/// What is called at the end of the process.
pub(crate) const HANDLERS: usize = 0x104;
/// From here on: a descriptor each.
pub(crate) const DESCRIPTORS: usize = 0x1000;
/// From here on: the name of a thread each, by slot.
pub(crate) const THREADS: usize = 0x2000;
/// From here on: how a thread is to be scheduled, by slot.
pub(crate) const SCHEDULING: usize = 0x8_0000;
/// The last of these numbers is below.
const SPECIAL: usize = 0x10_0000;

impl Whole {
    /// Is about to be changed.
    pub fn change(self, site: Site) {
        touch(self as usize, site);
    }

    /// Is about to be looked at.
    pub fn look(self, site: Site) {
        look_at(self as usize, site);
    }
}

/// Looks at the file behind a descriptor.
pub fn look_at_open(descriptor: c_int, from: &usize) {
    if !file_names::alone() && kind(descriptor) == libc::S_IFREG {
        look_at(
            file_names::number_of_open(descriptor),
            call_sites::site(from),
        );
    }
}

/// Files have numbers, and no addresses: they go by some in a place where nothing lies.
const NOWHERE: usize = 0x7000_0000_0000;
const ROOM: usize = 0xfff_ffff_ffff;

pub(crate) fn address(number: usize) -> usize {
    NOWHERE | number << 3 & ROOM
}

/// Nothing that is done to descriptors, keys and names orders memory.
fn object(world: &mut World, number: usize) -> ObjectId {
    let sort = match number {
        TABLE..SPECIAL => Sort::Quiet,
        _ => Sort::File,
    };
    world.object(address(number), 8, sort, || Object::Atomic(0))
}

/// The lock of what has this number.
pub(crate) fn lock_of(number: usize) -> ObjectId {
    world::get().object(address(number), 8, Sort::Mutex, Object::mutex)
}

/// A file has this number: what to call it.
pub(crate) fn is_called(number: usize, path: &[u8]) {
    let world = world::get();
    if !world.detail {
        return;
    }
    let here = format!("/proc/self/fd/{}", before().directory);
    let here = crate::kernel::overlay::read_link(here.as_bytes()).unwrap_or_default();
    let within = path.strip_prefix(&here[..]);
    let within = within.and_then(|rest| rest.strip_prefix(b"/"));
    let path = String::from_utf8_lossy(within.unwrap_or(path));
    // SAFETY: asks for a number.
    let own = format!("/proc/{}/", unsafe { sys::call(libc::SYS_getpid, [0; 6]) });
    let path = path.replace(&own, "/proc/self/");
    let place = address(number);
    let paths = &mut world.calls.files.paths;
    if !paths.iter().any(|(known, _)| *known == place) {
        paths.push((place, path));
    }
}

/// What goes by an address where nothing of the program lies.
pub fn named(world: &World, place: usize) -> Option<String> {
    if place == Hidden::Disk.address() {
        return Some("the names of files".into());
    }
    if let Some(name) = waits::named(world, place) {
        return Some(name);
    }
    if place & !ROOM != NOWHERE {
        return None;
    }
    let mut paths = world.calls.files.paths.iter();
    if let Some((_, path)) = paths.find(|(known, _)| *known == place) {
        return Some(format!("file {path}"));
    }
    Some(match (place & ROOM) >> 3 {
        1 => "the limits".into(),
        number @ 2..TABLE => format!("the action for signal {}", number - Whole::Actions as usize),
        TABLE => "the descriptors".into(),
        KEYS => "the keys".into(),
        STREAMS => "the streams".into(),
        HANDLERS => "what is called at the end".into(),
        FLAGS => "the flags of what is open".into(),
        number @ DESCRIPTORS..THREADS => format!("descriptor {}", number - DESCRIPTORS),
        number @ THREADS..SCHEDULING => format!("the name of thread {}", number - THREADS),
        number @ SCHEDULING..SPECIAL => format!("the scheduling of thread {}", number - SCHEDULING),
        _ => return None,
    })
}
