//! Streams. To read from one or write to one is an operation on its file; standard output and standard error order nothing. A stream is memory as well, which is used
//! by all these calls and given back by `fclose`: who uses one that another thread closes in no order races with it.

use super::{callers, descriptors, disk, files, paths::passes, rules};
use crate::{accesses, hooks::Frame, real, trampoline, world};
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use libc::FILE;
use reweave_model::{Site, ThreadId};
use reweave_shadow::Kind;
use reweave_wire::Rule;

trampoline! {
    fclose => close_stream, "rsi";
    fflush => flush_stream, "rsi";
    fcloseall => close_all_streams, "rdi";
    fdopen => open_descriptor, "rdx";
    fread => stream_read, "r8";
    fwrite => stream_write, "r8";
    fgets => stream_line, "rcx";
    getline => stream_new_line, "rcx";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Those that are open.
    open: Vec<usize>,
    /// Those that go through another descriptor for one call, since theirs was closed after it was looked up.
    lent: Vec<(usize, c_int)>,
    /// Those that are locked: by whom, how often.
    pub(super) locks: Vec<(usize, ThreadId, u32)>,
}

impl State {
    pub fn clear(&mut self) {
        self.open.clear();
        self.lent.clear();
        self.locks.clear();
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.streams
}

fn site(frame: &Frame) -> Site {
    callers::site(&frame.return_address)
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
        let file = self.descriptor > 2 && files::kind(self.descriptor) == libc::S_IFREG;
        file.then(|| disk::number_of_open(self.descriptor))
    }
}

/// How far a stream has read: where it is in its buffer, and where that ends.
pub(super) fn read_of(stream: usize) -> [usize; 2] {
    // SAFETY: a stream of libc's own.
    let stream = unsafe { Stream::of(stream) };
    [stream.read, stream.read_end]
}

/// A call has opened a stream: its descriptor gets the number that it is to have.
pub(super) fn opened(stream: usize, site: Site) {
    if stream == 0 {
        return;
    }
    // SAFETY: libc's layout; nobody else knows of the stream yet.
    let known = unsafe { &mut *(stream as *mut Stream) };
    known.descriptor = descriptors::opened(known.descriptor, site);
    state().open.push(stream);
}

/// The descriptor of a stream is about to stand for something else.
pub(super) fn replacing(stream: usize, from: &usize) {
    if stream == 0 {
        return;
    }
    touch_written(stream, from);
    // SAFETY: the program's own stream. What is in its buffer belongs to this step, its descriptor to the next.
    unsafe { real!(fflush: fn(*mut FILE) -> c_int)(stream as *mut FILE) };
    give_back();
    // SAFETY: as above.
    let descriptor = unsafe { Stream::of(stream) }.descriptor;
    descriptors::replacing(descriptor, callers::site(from));
}

/// Whether some stream that was opened goes through a descriptor.
pub(super) fn goes_through(descriptor: c_int) -> bool {
    // SAFETY: they are open.
    let mut open = state()
        .open
        .iter()
        .map(|stream| unsafe { Stream::of(*stream) });
    open.any(|stream| stream.descriptor == descriptor)
}

/// A call uses the memory of a stream. Those that are always there have none that could be given back.
fn used(stream: usize, from: &usize) {
    if world::heap().around(stream).is_some() {
        accesses::access(stream, 8, Kind::Read, *from);
    }
}

/// Something is read from a stream.
pub(super) fn touch(stream: usize, from: &usize) {
    reach(stream, false, from);
}

/// Something is written to a stream.
fn touch_written(stream: usize, from: &usize) {
    reach(stream, true, from);
}

/// Touches the file of a stream, or the stream itself where it has none, unless it is for output.
fn reach(stream: usize, writes: bool, from: &usize) {
    if stream == 0 {
        return;
    }
    used(stream, from);
    give_back();
    if disk::alone() {
        return;
    }
    let site = callers::site(from);
    // SAFETY: the program's own stream, in libc's layout.
    let known = unsafe { &mut *(stream as *mut Stream) };
    let looks = rules::holds(Rule::Table) && known.descriptor > 2;
    if looks {
        descriptors::look_up(known.descriptor, site);
    }
    match known.file() {
        Some(number) => files::touch(number, site),
        None if writes && (0..=2).contains(&known.descriptor) => {}
        None => files::touch(stream / 8, site),
    }
    if looks {
        let found = descriptors::found(known.descriptor);
        if found != known.descriptor {
            state().lent.push((stream, known.descriptor));
            known.descriptor = found;
        }
    }
}

/// What was lent for a call that is over.
fn give_back() {
    for (stream, descriptor) in state().lent.drain(..) {
        // SAFETY: memory is not given out twice, so it is still the stream's or nobody's.
        unsafe { (*(stream as *mut Stream)).descriptor = descriptor };
    }
}

/// Something is read from the stream that is this argument, or from standard input.
fn reads<const ARGUMENT: usize>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    touch(arguments[ARGUMENT], from);
}

fn reads_input(_: &'static CStr, _: &[usize; 6], from: &usize) {
    touch(files::input(), from);
}

fn writes<const ARGUMENT: usize>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    touch_written(arguments[ARGUMENT], from);
}

passes! {
    fgetc => reads::<0>;
    getc => reads::<0>;
    ungetc => reads::<1>;
    getdelim => reads::<3>;
    __getdelim => reads::<3>;
    fscanf => reads::<0>;
    __isoc99_fscanf => reads::<0>;
    __isoc23_fscanf => reads::<0>;
    vfscanf => reads::<0>;
    __isoc99_vfscanf => reads::<0>;
    __isoc23_vfscanf => reads::<0>;
    fseek => reads::<0>;
    fseeko => reads::<0>;
    fseeko64 => reads::<0>;
    rewind => reads::<0>;
    ftell => reads::<0>;
    ftello => reads::<0>;
    fgetpos => reads::<0>;
    fgetpos64 => reads::<0>;
    fsetpos => reads::<0>;
    fsetpos64 => reads::<0>;
    feof => reads::<0>;
    ferror => reads::<0>;
    clearerr => reads::<0>;
    fgetc_unlocked => reads::<0>;
    getc_unlocked => reads::<0>;
    fgets_unlocked => reads::<2>;
    fread_unlocked => reads::<3>;
    fgetwc => reads::<0>;
    fgetws => reads::<2>;
    getchar => reads_input;
    scanf => reads_input;
    __isoc99_scanf => reads_input;
    __isoc23_scanf => reads_input;
    vscanf => reads_input;
    __isoc99_vscanf => reads_input;
    __isoc23_vscanf => reads_input;
    fputs => writes::<1>;
    fputc => writes::<1>;
    putc => writes::<1>;
    fprintf => writes::<0>;
    vfprintf => writes::<0>;
    __fprintf_chk => writes::<0>;
    __vfprintf_chk => writes::<0>;
    fputc_unlocked => writes::<1>;
    putc_unlocked => writes::<1>;
    fputs_unlocked => writes::<1>;
    fwrite_unlocked => writes::<3>;
    fputwc => writes::<1>;
    fputws => writes::<1>;
    fwprintf => writes::<0>;
}

unsafe extern "C" fn open_descriptor(descriptor: c_int, mode: usize, frame: &Frame) -> usize {
    let real = real!(fdopen: fn(c_int, usize) -> usize);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, mode) };
    }
    crate::spin::disturbed();
    files::changing();
    descriptors::look_up(descriptor, site(frame));
    let found = descriptors::found(descriptor);
    // SAFETY: as above.
    let stream = unsafe { real(found, mode) };
    if stream != 0 {
        // SAFETY: libc's layout.
        unsafe { (*(stream as *mut Stream)).descriptor = descriptor };
        state().open.push(stream);
    }
    stream
}

unsafe extern "C" fn flush_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    let real = real!(fflush: fn(*mut FILE) -> c_int);
    if world::active() {
        let all = match stream.is_null() {
            true => state().open.clone(),
            false => alloc::vec![stream as usize],
        };
        for stream in all {
            touch_written(stream, &frame.return_address);
            // SAFETY: one that is open.
            let result = unsafe { real(stream as *mut FILE) };
            if result != 0 {
                return result;
            }
        }
        if !stream.is_null() {
            return 0;
        }
    }
    // SAFETY: the program's own stream, or null.
    unsafe { real(stream) }
}

unsafe extern "C" fn close_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    if world::active() && !stream.is_null() {
        replacing(stream as usize, &frame.return_address);
        state().open.retain(|open| *open != stream as usize);
    }
    // SAFETY: as above.
    unsafe { real!(fclose: fn(*mut FILE) -> c_int)(stream) }
}

unsafe extern "C" fn close_all_streams(frame: &Frame) -> c_int {
    if world::active() && !disk::alone() {
        world::get().unsupported("fcloseall beside other threads", site(frame));
    }
    files::changing();
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
    touch(stream as usize, &frame.return_address);
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
    if world::active() {
        accesses::range(from as usize, bytes.saturating_mul(count), false, frame);
        touch_written(stream as usize, &frame.return_address);
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
    touch(stream as usize, &frame.return_address);
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
    touch(stream as usize, &frame.return_address);
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
