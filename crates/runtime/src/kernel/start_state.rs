//! What the process had at `main`: descriptors, offsets, directory, mask, standard streams. It is put back after each run.
//!
//! System calls are slow, so a run notes what it may have changed ([`descriptors_change`], [`offsets_change`],
//! [`directory_changes`]), and only that is put back.

use crate::{
    core::{
        cell::{self, RunCell, RunValue},
        channel, sys,
    },
    kernel::{
        libc_streams::Stream,
        os_files::{self, FileIdentity},
    },
    real,
    run::world,
};
use alloc::vec::Vec;
use core::ffi::{c_char, c_int};
use libc::FILE;

/// Descriptors from this number on belong to the runtime.
pub(crate) const RUNTIME_DESCRIPTORS: c_int = channel::CHANNEL;
/// The runtime's copies of the program's descriptors have numbers from here on.
pub(crate) const COPIES: c_int = RUNTIME_DESCRIPTORS + 10;

/// See the module.
struct StartState {
    open: Vec<OpenAtStart>,
    /// Standard input, and how far it had read.
    input: usize,
    input_read: [usize; 2],
    /// Where the C library has the pointers to standard output and standard error.
    outputs: [usize; 2],
    /// Runs so far.
    runs: u32,
    /// A descriptor of the directory.
    directory: c_int,
    mask: usize,
    /// When the process began, in seconds of the calendar.
    began: i64,
}

struct OpenAtStart {
    descriptor: c_int,
    /// A copy with a number of the runtime.
    copy: c_int,
    /// Of a file that is not output.
    offset: Option<isize>,
    flags: c_int,
}

static START: RunCell<StartState> = RunCell::new(StartState {
    open: Vec::new(),
    input: 0,
    input_read: [0; 2],
    outputs: [0; 2],
    runs: 0,
    directory: -1,
    mask: 0,
    began: 0,
});

/// What a run may have changed.
#[derive(Clone, Copy)]
struct Changes {
    /// Descriptors were opened or closed, or what they are open on was changed.
    descriptors: bool,
    /// The directory of the process, or its mask for new files.
    directory: bool,
    offsets: bool,
}

impl Changes {
    const NONE: Changes = Changes {
        descriptors: false,
        directory: false,
        offsets: false,
    };
}

static CHANGES: RunValue<Changes> = RunValue::new(Changes::NONE);

/// Descriptors are about to be opened or closed.
pub(crate) fn descriptors_change() {
    if world::active() {
        cell::changed();
        CHANGES.set(Changes {
            descriptors: true,
            ..CHANGES.get()
        });
    }
}

/// The process is about to go to another directory, or to have another mask for new files.
pub(crate) fn directory_changes() {
    cell::changed();
    CHANGES.set(Changes {
        directory: true,
        ..CHANGES.get()
    });
}

/// Offsets are about to change.
pub(crate) fn offsets_change() {
    cell::changed();
    CHANGES.set(Changes {
        offsets: true,
        ..CHANGES.get()
    });
}

/// A new run.
pub(crate) fn begin_run() {
    CHANGES.set(Changes::NONE);
}

/// Notes what there is, and gives standard streams their buffers: allocated by the first call that uses a stream, they would make
/// addresses depend on the order of the run.
pub(crate) fn prepare() {
    let open = (0..RUNTIME_DESCRIPTORS)
        .filter(|descriptor| os_files::is_open(*descriptor))
        .map(|descriptor| {
            let copy = os_files::duplicate_above(descriptor, COPIES);
            let offset = os_files::offset(descriptor);
            let is_file = os_files::file_type_of_open(descriptor) == libc::S_IFREG;
            let is_output = descriptor == 1 || descriptor == 2;
            OpenAtStart {
                descriptor,
                copy,
                offset: (is_file && !is_output && offset >= 0).then_some(offset),
                flags: os_files::flags(descriptor),
            }
        })
        .collect();
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let low = os_files::open(b".", flags, 0);
    let directory = os_files::duplicate_above(low, COPIES);
    os_files::close(low);
    let mask = os_files::set_mask(0);
    os_files::set_mask(mask);
    let [input, ..] = [c"stdin", c"stdout"].map(prepare_stream);
    let input_read = match input {
        0 => [0; 2],
        // SAFETY: standard input, which is always there, and no other thread runs yet.
        input => unsafe { Stream::at(input) }.read_position(),
    };
    *START.borrow() = StartState {
        open,
        input,
        input_read,
        outputs: [c"stdout", c"stderr"].map(variable),
        runs: 0,
        directory,
        mask,
        began: os_files::seconds(),
    };
}

/// Where a variable of the C library lies; 0: there is none.
fn variable(name: &core::ffi::CStr) -> usize {
    // SAFETY: the name ends with a nul; `dlsym` only looks.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as usize }
}

const BUFFER: usize = 4096;
/// Not in the runtime's own memory, since compiled code of the program writes to buffers of streams, too.
const BUFFERS_AT: usize = 0x3080_0000_0000;

/// Gives a standard stream its buffer; the stream, or 0.
fn prepare_stream(name: &core::ffi::CStr) -> usize {
    let place = if name == c"stdin" { 0 } else { 1 };
    let memory = sys::map(BUFFERS_AT + place * BUFFER, BUFFER);
    let (variable, Some(memory)) = (variable(name), memory) else {
        return 0;
    };
    if variable == 0 {
        return 0;
    }
    // SAFETY: the variable of that name points to a stream of the C library; no other thread runs yet.
    let stream = unsafe { *(variable as *const usize) };
    // SAFETY: it is a stream, as above.
    if unsafe { Stream::at(stream) }.buffer == 0 {
        let set = real!(setvbuf: fn(*mut FILE, *mut c_char, c_int, usize) -> c_int);
        // SAFETY: a stream without a buffer; the memory was just mapped, is that large, and stays.
        unsafe { set(stream as *mut FILE, memory.cast(), libc::_IOFBF, BUFFER) };
    }
    stream
}

/// Runs after which descriptors are put back in any case: there may be calls that open one and are not known to.
const EACH: u32 = 1024;

/// After a run: descriptors, offsets, directory and mask as they were.
pub(crate) fn clean_up() {
    let changes = CHANGES.get();
    let mut start = START.borrow();
    start.runs = start.runs.wrapping_add(1);
    if changes.descriptors || start.runs.is_multiple_of(EACH) {
        reopen(&start.open);
    }
    if changes.directory {
        os_files::change_directory(start.directory);
        os_files::set_mask(start.mask);
    }
    // SAFETY: standard input, which is always there; no thread of the program runs.
    let read =
        start.input != 0 && unsafe { Stream::at(start.input) }.read_position() != start.input_read;
    if changes.offsets || changes.descriptors || read {
        for open in &start.open {
            if let Some(offset) = open.offset {
                os_files::set_offset(open.descriptor, offset);
            }
        }
    }
}

/// Closes what the run has opened, and opens what it has closed.
#[cold]
fn reopen(at_start: &[OpenAtStart]) {
    let mut from = 0;
    for open in at_start {
        if from < open.descriptor {
            os_files::close_range(from, open.descriptor - 1);
        }
        os_files::duplicate_to(open.copy, open.descriptor, false);
        os_files::control(open.copy, libc::F_SETFL, open.flags as usize);
        from = open.descriptor + 1;
    }
    os_files::close_range(from, RUNTIME_DESCRIPTORS - 1);
}

/// The descriptors that were open at `main`.
pub(crate) fn descriptors() -> Vec<c_int> {
    let start = START.borrow();
    start.open.iter().map(|open| open.descriptor).collect()
}

/// Whether a file was open at `main`: its contents are not put back.
pub(crate) fn was_open(file: FileIdentity) -> bool {
    let start = START.borrow();
    let mut open = start.open.iter();
    open.any(|open| FileIdentity::of_open(open.copy) == Some(file))
}

/// Stops the thread if it is about to write to a file that was open for writing before `main`: that is the user's own.
pub(crate) fn protect(descriptor: c_int, site: reweave_model::Site) {
    let is_same = |copy| FileIdentity::of_open(copy) == FileIdentity::of_open(descriptor);
    let protected = {
        let start = START.borrow();
        let writable = |open: &&OpenAtStart| open.flags & libc::O_ACCMODE != libc::O_RDONLY;
        let mut early = start.open.iter().filter(writable);
        early.any(|open| open.offset.is_some() && is_same(open.copy))
    };
    if protected {
        world::unsupported("a write to a file that was open before main", site);
    }
}

/// Standard input.
pub(crate) fn input() -> usize {
    START.borrow().input
}

/// Standard output and standard error.
pub(crate) fn outputs() -> [usize; 2] {
    let places = START.borrow().outputs;
    places.map(|place| match place {
        0 => 0,
        // SAFETY: a variable of the C library that holds a pointer; the program may set it, so it is read each time.
        place => unsafe { *(place as *const usize) },
    })
}

/// Standard output.
pub(crate) fn output() -> usize {
    outputs()[0]
}

/// Whether a descriptor is open on the file that the driver takes output from. It is another file in every process.
pub(crate) fn is_output(descriptor: c_int) -> bool {
    FileIdentity::of_open(descriptor) == FileIdentity::of_open(channel::OUTPUT)
}

/// The path of the directory that the process was in.
pub(crate) fn directory() -> Vec<u8> {
    let descriptor = START.borrow().directory;
    os_files::path_of_open(descriptor).unwrap_or_default()
}

/// When the process began, in seconds of the calendar.
pub(crate) fn began() -> i64 {
    START.borrow().began
}
