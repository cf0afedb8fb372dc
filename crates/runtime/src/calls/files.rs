//! Files and streams: descriptors and offsets are as they were at `main` before every run; what lies on the disk is [`super::disk`]'s.
//!
//! Writing to standard output and standard error orders nothing. What is read from a file or a stream, or written to a file, by
//! calls that name its descriptor or stream, is an operation on that file, which goes by its path: who comes first may matter. A stream
//! touches its file when it is read, and when what was written is flushed, is too much for its buffer, or the stream is closed. What threads write to one stream
//! in no order is not explored. `flockfile` is a mutex.

use super::{callers, cancel, disk, visible};
use crate::{
    accesses, channel,
    hooks::Frame,
    objects::Sort,
    real, sys, trampoline,
    world::{self, World},
};
use alloc::vec::Vec;
use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_char, c_int, c_long, c_uint, c_void},
    mem::MaybeUninit,
};
use libc::FILE;
use reweave_model::{Object, ObjectId, Op, Rmw, RmwKind, Site, ThreadId};

trampoline! {
    read => read_some, "rcx";
    write => write_some, "rcx";
    pread => read_at, "r8";
    pread64 => read_at, "r8";
    pwrite => write_at, "r8";
    pwrite64 => write_at, "r8";
    readv => read_parts, "rcx";
    writev => write_parts, "rcx";
    lseek => seek, "rcx";
    lseek64 => seek, "rcx";
    ftruncate => truncate, "rdx";
    ftruncate64 => truncate, "rdx";
    close => close_one, "rsi";
    dup2 => duplicate_to, "rdx";
    dup3 => duplicate_with, "rcx";
    closefrom => close_from, "rsi";
    close_range => close_several, "rcx";
    fclose => close_stream, "rsi";
    fflush => flush_stream, "rsi";
    fcloseall => close_all_streams, "rdi";
    fread => stream_read, "r8";
    fwrite => stream_write, "r8";
    fgets => stream_line, "rcx";
    getline => stream_new_line, "rcx";
    flockfile => lock_stream, "rsi";
    ftrylockfile => try_lock_stream, "rsi";
    funlockfile => unlock_stream, "rsi";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Whether there may be descriptors that were not there at `main`, or some of those may be closed or changed.
    changed: bool,
    /// Whether the process may be in another directory, or have another mask for new files.
    elsewhere: bool,
    /// Whether some may stand elsewhere.
    moved: bool,
    /// Streams that are locked: by whom, how often.
    locks: Vec<(usize, ThreadId, u32)>,
}

impl State {
    pub fn clear(&mut self) {
        self.changed = false;
        self.elsewhere = false;
        self.moved = false;
        self.locks.clear();
    }
}

/// What there was at `main`.
struct Before {
    open: Vec<Open>,
    /// The stream of standard input, and what it had read.
    input: usize,
    input_read: [usize; 2],
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
const COPIES: usize = OURS as usize + 10;

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
        for (place, name) in [c"stdin", c"stdout"].into_iter().enumerate() {
            let stream = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()).cast::<*mut FILE>();
            let memory = sys::map(BUFFERS_AT + place * BUFFER, BUFFER);
            if let (false, Some(memory)) = (stream.is_null(), memory) {
                give_buffer(*stream, memory.cast());
                if name == c"stdin" {
                    found.input = *stream as usize;
                    found.input_read = read_of(found.input);
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
fn kind(descriptor: c_int) -> u32 {
    let mut stat = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: writes a local.
    unsafe {
        if call(libc::SYS_fstat, descriptor, stat.as_mut_ptr() as usize, 0) < 0 {
            return 0;
        }
        stat.assume_init().st_mode & libc::S_IFMT
    }
}

/// What libc knows of a stream, as it lies there.
#[repr(C)]
struct Stream {
    flags: usize,
    read: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write: usize,
    write_end: usize,
    buffer: usize,
    others: [usize; 6],
    descriptor: c_int,
}

impl Stream {
    /// # Safety
    /// The program's own stream, which is open.
    unsafe fn of<'a>(stream: usize) -> &'a Stream {
        // SAFETY: libc's layout.
        unsafe { &*(stream as *const Stream) }
    }

    /// The object of its file, if that is one that others may read or write.
    fn file(&self) -> Option<usize> {
        let file = self.descriptor > 2 && kind(self.descriptor) == libc::S_IFREG;
        file.then(|| disk::number_of_open(self.descriptor))
    }
}

/// How far a stream has read: where it is in its buffer, and where that ends.
fn read_of(stream: usize) -> [usize; 2] {
    // SAFETY: a stream of libc's own.
    let stream = unsafe { Stream::of(stream) };
    [stream.read, stream.read_end]
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
        let read = found.input != 0 && read_of(found.input) != found.input_read;
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

fn site(frame: &Frame) -> Site {
    callers::site(&frame.return_address)
}

/// An operation on the file or stream with this number; of a thread that is alone it cannot matter.
pub fn touch(number: usize, site: Site) {
    let world = world::get();
    if world.races.alone(world.current) {
        return;
    }
    let object = file(world, number);
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
        let object = file(world, number);
        visible(Op::Load(object), site);
    }
}

/// What belongs to the process as a whole: numbers that no path has.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Whole {
    Environment = 1,
    Limits,
    /// What is done about a signal, one for each.
    Actions,
}

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
    if disk::alone() || kind(descriptor) != libc::S_IFREG {
        return;
    }
    look_at(disk::number_of_open(descriptor), callers::site(from));
}

/// Files have numbers, and no addresses: they go by some in a place where nothing lies.
fn file(world: &mut World, number: usize) -> ObjectId {
    const NOWHERE: usize = 0x7000_0000_0000;
    let address = NOWHERE | (number & 0xfff_ffff_ffff) << 3 & 0xfff_ffff_ffff;
    world.object(address, 8, Sort::File, || Object::Atomic(0))
}

/// Something is read from a stream.
pub fn touch_stream(stream: usize, from: &usize) {
    if disk::alone() {
        return;
    }
    // SAFETY: the program's own stream.
    let known = unsafe { Stream::of(stream) };
    let number = known.file().unwrap_or(stream / 8);
    touch(number, callers::site(from));
}

/// A stream is about to write what it has in its buffer, if there is something, and `more`.
fn touch_written(stream: *mut FILE, more: usize, frame: &Frame) {
    if !world::active() || stream.is_null() || disk::alone() {
        return;
    }
    // SAFETY: the program's own stream.
    let known = unsafe { Stream::of(stream as usize) };
    if known.write + more > known.write_base
        && let Some(file) = known.file()
    {
        touch(file, site(frame));
    }
}

/// Standard input.
pub fn input() -> usize {
    before().input
}

/// An operation on the file behind a descriptor, unless that is for output; pipes and the like are not under control.
fn touch_descriptor(descriptor: c_int, call: &str, frame: &Frame) {
    if !matches!(call, "lseek" | "ftruncate") {
        cancel::point(frame);
    }
    world::get().calls.files.moved = true;
    if descriptor == 1 || descriptor == 2 {
        return;
    }
    match kind(descriptor) {
        libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR if !disk::alone() => {
            touch(disk::number_of_open(descriptor), site(frame));
        }
        libc::S_IFIFO | libc::S_IFSOCK => {
            let site = site(frame);
            let what = alloc::format!("{call} of a pipe");
            world::get().unsupported(&what, site);
        }
        _ => {}
    }
}

unsafe extern "C" fn read_some(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let real = real!(read: fn(c_int, *mut c_void, usize) -> isize);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, into, bytes) };
    }
    touch_descriptor(descriptor, "read", frame);
    world::snapshot().touch_range(into as usize, bytes);
    // SAFETY: as above.
    let got = unsafe { real(descriptor, into, bytes) };
    accesses::range(into as usize, got.max(0) as usize, true, frame);
    got
}

unsafe extern "C" fn write_some(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let real = real!(write: fn(c_int, *const c_void, usize) -> isize);
    if world::active() {
        touch_descriptor(descriptor, "write", frame);
        accesses::range(from as usize, bytes, false, frame);
    }
    // SAFETY: the program's own arguments.
    unsafe { real(descriptor, from, bytes) }
}

unsafe extern "C" fn read_at(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    offset: i64,
    frame: &Frame,
) -> isize {
    let real = real!(pread64: fn(c_int, *mut c_void, usize, i64) -> isize);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, into, bytes, offset) };
    }
    touch_descriptor(descriptor, "pread", frame);
    world::snapshot().touch_range(into as usize, bytes);
    // SAFETY: as above.
    let got = unsafe { real(descriptor, into, bytes, offset) };
    accesses::range(into as usize, got.max(0) as usize, true, frame);
    got
}

unsafe extern "C" fn write_at(
    descriptor: c_int,
    from: *const c_void,
    bytes: usize,
    offset: i64,
    frame: &Frame,
) -> isize {
    let real = real!(pwrite64: fn(c_int, *const c_void, usize, i64) -> isize);
    if world::active() {
        touch_descriptor(descriptor, "pwrite", frame);
        accesses::range(from as usize, bytes, false, frame);
    }
    // SAFETY: the program's own arguments.
    unsafe { real(descriptor, from, bytes, offset) }
}

unsafe fn each_part(parts: *const libc::iovec, count: c_int, mut each: impl FnMut(usize, usize)) {
    for index in 0..count.max(0) as usize {
        // SAFETY: the program's own list.
        let part = unsafe { &*parts.add(index) };
        each(part.iov_base as usize, part.iov_len);
    }
}

unsafe extern "C" fn read_parts(
    descriptor: c_int,
    parts: *const libc::iovec,
    count: c_int,
    frame: &Frame,
) -> isize {
    let real = real!(readv: fn(c_int, *const libc::iovec, c_int) -> isize);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, parts, count) };
    }
    touch_descriptor(descriptor, "readv", frame);
    // SAFETY: as above.
    unsafe {
        each_part(parts, count, |into, bytes| {
            world::snapshot().touch_range(into, bytes);
        });
        let got = real(descriptor, parts, count);
        let mut left = got.max(0) as usize;
        each_part(parts, count, |into, bytes| {
            accesses::range(into, bytes.min(left), true, frame);
            left -= bytes.min(left);
        });
        got
    }
}

unsafe extern "C" fn write_parts(
    descriptor: c_int,
    parts: *const libc::iovec,
    count: c_int,
    frame: &Frame,
) -> isize {
    let real = real!(writev: fn(c_int, *const libc::iovec, c_int) -> isize);
    // SAFETY: the program's own arguments.
    unsafe {
        if world::active() {
            touch_descriptor(descriptor, "writev", frame);
            each_part(parts, count, |from, bytes| {
                accesses::range(from, bytes, false, frame);
            });
        }
        real(descriptor, parts, count)
    }
}

unsafe extern "C" fn seek(descriptor: c_int, offset: i64, whence: c_int, frame: &Frame) -> i64 {
    if world::active() {
        touch_descriptor(descriptor, "lseek", frame);
    }
    // SAFETY: numbers.
    unsafe { real!(lseek64: fn(c_int, i64, c_int) -> i64)(descriptor, offset, whence) }
}

unsafe extern "C" fn truncate(descriptor: c_int, bytes: i64, frame: &Frame) -> c_int {
    if world::active() {
        touch_descriptor(descriptor, "ftruncate", frame);
    }
    // SAFETY: numbers.
    unsafe { real!(ftruncate64: fn(c_int, i64) -> c_int)(descriptor, bytes) }
}

/// Descriptors are about to be opened or closed.
pub fn changing() {
    if world::active() {
        world::get().calls.files.changed = true;
    }
}

/// The process is about to go to another directory, or to have another mask for new files.
pub fn moving() {
    world::get().calls.files.elsewhere = true;
}

/// Whether a descriptor is the runtime's, of a driven program.
fn ours(descriptor: c_int) -> bool {
    descriptor >= OURS && crate::entry::driven()
}

unsafe extern "C" fn close_one(descriptor: c_int, frame: &Frame) -> c_int {
    cancel::point(frame);
    if ours(descriptor) {
        return super::failed(libc::EBADF);
    }
    changing();
    // SAFETY: the program's own descriptor.
    unsafe { real!(close: fn(c_int) -> c_int)(descriptor) }
}

unsafe extern "C" fn duplicate_to(from: c_int, to: c_int, _: &Frame) -> c_int {
    if ours(from) || ours(to) {
        return super::failed(libc::EBADF);
    }
    changing();
    // SAFETY: the program's own descriptors.
    unsafe { real!(dup2: fn(c_int, c_int) -> c_int)(from, to) }
}

unsafe extern "C" fn duplicate_with(from: c_int, to: c_int, flags: c_int, _: &Frame) -> c_int {
    if ours(from) || ours(to) {
        return super::failed(libc::EBADF);
    }
    changing();
    // SAFETY: the program's own descriptors.
    unsafe { real!(dup3: fn(c_int, c_int, c_int) -> c_int)(from, to, flags) }
}

unsafe extern "C" fn close_from(lowest: c_int, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { close_several(lowest.max(0) as c_uint, c_uint::MAX, 0, frame) };
}

unsafe extern "C" fn close_several(first: c_uint, last: c_uint, flags: c_int, _: &Frame) -> c_int {
    let last = match crate::entry::driven() {
        true => last.min(OURS as c_uint - 1),
        false => last,
    };
    changing();
    // SAFETY: the program's own descriptors.
    unsafe { real!(close_range: fn(c_uint, c_uint, c_int) -> c_int)(first, last, flags) }
}

unsafe extern "C" fn flush_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    touch_written(stream, 0, frame);
    // SAFETY: the program's own stream.
    unsafe { real!(fflush: fn(*mut FILE) -> c_int)(stream) }
}

unsafe extern "C" fn close_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    touch_written(stream, 0, frame);
    changing();
    // SAFETY: the program's own stream.
    unsafe { real!(fclose: fn(*mut FILE) -> c_int)(stream) }
}

unsafe extern "C" fn close_all_streams(_: &Frame) -> c_int {
    changing();
    // SAFETY: no arguments.
    unsafe { real!(fcloseall: fn() -> c_int)() }
}

unsafe extern "C" fn stream_read(
    into: *mut c_void,
    bytes: usize,
    count: usize,
    stream: *mut FILE,
    frame: &Frame,
) -> usize {
    let real = real!(fread: fn(*mut c_void, usize, usize, *mut FILE) -> usize);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(into, bytes, count, stream) };
    }
    touch_stream(stream as usize, &frame.return_address);
    world::snapshot().touch_range(into as usize, bytes.saturating_mul(count));
    // SAFETY: as above.
    let got = unsafe { real(into, bytes, count, stream) };
    accesses::range(into as usize, got * bytes, true, frame);
    got
}

unsafe extern "C" fn stream_write(
    from: *const c_void,
    bytes: usize,
    count: usize,
    stream: *mut FILE,
    frame: &Frame,
) -> usize {
    let whole = bytes.saturating_mul(count);
    if world::active() {
        accesses::range(from as usize, whole, false, frame);
        // SAFETY: the program's own stream.
        let known = unsafe { Stream::of(stream as usize) };
        let room = match known.buffer {
            0 => BUFFER,
            _ => known.write_end.saturating_sub(known.write),
        };
        if whole > room {
            touch_written(stream, whole, frame);
        }
    }
    let real = real!(fwrite: fn(*const c_void, usize, usize, *mut FILE) -> usize);
    // SAFETY: the program's own arguments.
    unsafe { real(from, bytes, count, stream) }
}

unsafe extern "C" fn stream_line(
    into: *mut c_char,
    bytes: c_int,
    stream: *mut FILE,
    frame: &Frame,
) -> *mut c_char {
    let real = real!(fgets: fn(*mut c_char, c_int, *mut FILE) -> *mut c_char);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(into, bytes, stream) };
    }
    touch_stream(stream as usize, &frame.return_address);
    // SAFETY: as above; what was read ends with a nul.
    unsafe {
        let got = real(into, bytes, stream);
        if !got.is_null() {
            let length = CStr::from_ptr(got).count_bytes();
            accesses::range(into as usize, length + 1, true, frame);
        }
        got
    }
}

unsafe extern "C" fn stream_new_line(
    line: *mut *mut c_char,
    bytes: *mut usize,
    stream: *mut FILE,
    frame: &Frame,
) -> isize {
    let real = real!(getline: fn(*mut *mut c_char, *mut usize, *mut FILE) -> isize);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(line, bytes, stream) };
    }
    touch_stream(stream as usize, &frame.return_address);
    accesses::range(line as usize, size_of::<usize>(), true, frame);
    accesses::range(bytes as usize, size_of::<usize>(), true, frame);
    // SAFETY: as above; what was read ends with a nul.
    unsafe {
        let got = real(line, bytes, stream);
        if got >= 0 {
            accesses::range(*line as usize, got as usize + 1, true, frame);
        }
        got
    }
}

/// The lock of a stream.
fn stream_lock(stream: *mut FILE) -> ObjectId {
    world::get().object(stream as usize, 8, Sort::Mutex, Object::mutex)
}

/// How often the running thread holds the lock of a stream.
fn held(stream: *mut FILE) -> Option<&'static mut u32> {
    let world = world::get();
    let me = world.current;
    let mut locks = world.calls.files.locks.iter_mut();
    let mine = locks.find(|(locked, holder, _)| (*locked, *holder) == (stream as usize, me));
    mine.map(|(_, _, depth)| depth)
}

fn holds_now(stream: *mut FILE) {
    let world = world::get();
    let me = world.current;
    world.calls.files.locks.push((stream as usize, me, 1));
}

unsafe extern "C" fn lock_stream(stream: *mut FILE, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(flockfile: fn(*mut FILE))(stream) };
    }
    if let Some(depth) = held(stream) {
        *depth += 1;
        return;
    }
    visible(Op::Lock(stream_lock(stream)), site(frame));
    holds_now(stream);
}

unsafe extern "C" fn try_lock_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(ftrylockfile: fn(*mut FILE) -> c_int)(stream) };
    }
    if let Some(depth) = held(stream) {
        *depth += 1;
        return 0;
    }
    if !visible(Op::TryLock(stream_lock(stream)), site(frame)).ok {
        return -1;
    }
    holds_now(stream);
    0
}

unsafe extern "C" fn unlock_stream(stream: *mut FILE, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own stream.
        return unsafe { real!(funlockfile: fn(*mut FILE))(stream) };
    }
    let Some(depth) = held(stream) else {
        return;
    };
    *depth -= 1;
    if *depth == 0 {
        let world = world::get();
        let me = world.current;
        let locks = &mut world.calls.files.locks;
        locks.retain(|(locked, holder, _)| (*locked, *holder) != (stream as usize, me));
        visible(Op::Unlock(stream_lock(stream)), site(frame));
    }
}
