//! Calls that copy from one file to another. Reading and writing are two steps, as in the operating system; what was read waits in
//! between.

use crate::{
    core::{cell::RunCell, sys, trampoline::Frame},
    kernel::{
        open_description::{self, Access, Place, Reached},
        ordering::alone,
        os_files::{self, FileIdentity},
        start_state,
    },
    real,
    run::{accesses, call_sites, operations::failed, spin, world},
    trampoline,
};
use alloc::{format, vec::Vec};
use core::ffi::{c_int, c_long, c_uint};
use reweave_model::ThreadId;

// Where there is no register left for it, the frame is the argument on the stack.
trampoline! {
    sendfile => send, "r8";
    sendfile64 => send, "r8";
    copy_file_range => copy_range, "rax";
}

/// What threads have read and not written yet.
static READ: RunCell<Vec<(ThreadId, Vec<u8>)>> = RunCell::new(Vec::new());

/// A new run.
pub(crate) fn begin_run() {
    READ.borrow().clear();
}

/// One of the two files: a descriptor, and a variable with the place to begin at, unless that is the offset of the descriptor.
///
/// *Invariant:* the pointer is null or points to a variable of the program, as the call demands.
#[derive(Clone, Copy)]
struct End {
    descriptor: c_int,
    variable: *mut i64,
}

impl End {
    fn place(self) -> Place {
        match self.variable.is_null() {
            true => Place::Offset,
            // SAFETY: not null, so it points to a variable of the program.
            false => Place::At(unsafe { *self.variable }),
        }
    }

    /// So many bytes were copied.
    fn advance(self, bytes: isize, frame: &Frame) {
        if !self.variable.is_null() {
            accesses::range(self.variable as usize, size_of::<i64>(), true, frame);
            // SAFETY: not null, so it points to a variable of the program; `touch_range` has made its page writable.
            unsafe { *self.variable += bytes as i64 };
        }
    }
}

/// Reads or writes, by the system calls with and without an offset.
fn transfer(file: &Reached, place: Place, calls: [c_long; 2], bytes: &mut [u8]) -> isize {
    let (call, offset) = match place {
        Place::Offset => (calls[0], 0),
        Place::At(offset) => (calls[1], offset as usize),
    };
    let (memory, length) = (bytes.as_mut_ptr() as usize, bytes.len());
    let arguments = [file.descriptor as usize, memory, length, offset, 0, 0];
    // SAFETY: one of `read`, `pread`, `write` and `pwrite`, with memory of the runtime that is so large.
    let done = unsafe { sys::call(call, arguments) };
    file.accessed(place, done);
    done
}

/// Why the files cannot be copied, before anything is read. `append` is what the call says to a file that is only appended to.
fn refusal(source: c_int, target: c_int, append: c_int) -> Option<c_int> {
    let [read, written] = [source, target].map(os_files::flags);
    let wrong = |flags: c_int, access| flags < 0 || flags & libc::O_ACCMODE == access;
    match () {
        () if wrong(read, libc::O_WRONLY) || wrong(written, libc::O_RDONLY) => Some(libc::EBADF),
        () if written & libc::O_APPEND != 0 => Some(append),
        () => None,
    }
}

/// Copies beside other threads; a count, or an error number below zero.
fn copy(
    [from, to]: [End; 2],
    bytes: usize,
    (call, append): (&'static str, c_int),
    frame: &Frame,
) -> isize {
    let reads: Access = from.place().reading(call);
    let writes: Access = to.place().writing(call);
    let source = open_description::look_up(from.descriptor, reads, frame);
    let target = open_description::look_up(to.descriptor, writes, frame);
    if let Some(error) = refusal(from.descriptor, to.descriptor, append) {
        return -error as isize;
    }
    if FileIdentity::of_open(from.descriptor) == FileIdentity::of_open(to.descriptor) {
        let what = format!("{call} within one file");
        world::unsupported(&what, call_sites::site(&frame.return_address));
    }
    let source = source.reach(reads);
    let length = os_files::status(source.descriptor).map_or(0, |stat| stat.st_size as usize);
    let mut room = alloc::vec![0; bytes.min(length)];
    let calls = [libc::SYS_read, libc::SYS_pread64];
    let got = transfer(&source, from.place(), calls, &mut room);
    if got <= 0 {
        return got;
    }
    room.truncate(got as usize);
    let me = world::borrow().current;
    READ.borrow().push((me, room));
    let target = target.reach(writes);
    let mut read = take_read(me);
    let calls = [libc::SYS_write, libc::SYS_pwrite64];
    let put = transfer(&target, to.place(), calls, &mut read);
    if put != got {
        let what = format!("{call} that copies less than it has read");
        world::unsupported(&what, target.by.site);
    }
    from.advance(put, frame);
    to.advance(put, frame);
    put
}

/// What a thread has read last.
fn take_read(thread: ThreadId) -> Vec<u8> {
    let mut all = READ.borrow();
    let own = all.iter().rposition(|(reader, _)| *reader == thread);
    own.map_or_else(Vec::new, |own| all.swap_remove(own).1)
}

/// Whether the C library is to do it, since no other thread runs.
fn is_libcs(ends: [End; 2]) -> bool {
    if !world::active() {
        return true;
    }
    spin::disturbed();
    start_state::descriptors_change();
    start_state::offsets_change();
    for end in ends.iter().filter(|end| !end.variable.is_null()) {
        world::snapshot().touch_range(end.variable as usize, size_of::<i64>());
    }
    alone()
}

fn answer(result: isize) -> isize {
    match result {
        ..0 => failed(-result as c_int) as isize,
        result => result,
    }
}

/// `sendfile`.
///
/// # Safety
///
/// As the C library demands of the caller: `offset` is null or points to a variable.
unsafe extern "C" fn send(
    to: c_int,
    from: c_int,
    offset: *mut i64,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let end = |descriptor, variable| End {
        descriptor,
        variable,
    };
    let ends = [end(from, offset), end(to, core::ptr::null_mut())];
    if is_libcs(ends) {
        let real = real!(sendfile: fn(c_int, c_int, *mut i64, usize) -> isize);
        // SAFETY: passed on as the caller promises.
        return unsafe { real(to, from, offset, bytes) };
    }
    answer(copy(ends, bytes, ("sendfile", libc::EINVAL), frame))
}

/// `copy_file_range`.
///
/// # Safety
///
/// As the C library demands of the caller: each offset is null or points to a variable.
unsafe extern "C" fn copy_range(
    from: c_int,
    from_at: *mut i64,
    to: c_int,
    to_at: *mut i64,
    bytes: usize,
    flags: c_uint,
    frame: &Frame,
) -> isize {
    let end = |descriptor, variable| End {
        descriptor,
        variable,
    };
    let ends = [end(from, from_at), end(to, to_at)];
    if is_libcs(ends) {
        let real =
            real!(copy_file_range: fn(c_int, *mut i64, c_int, *mut i64, usize, c_uint) -> isize);
        // SAFETY: passed on as the caller promises; `errno` of the running thread is always there.
        let (copied, error) = unsafe {
            let copied = real(from, from_at, to, to_at, bytes, flags);
            (copied, *libc::__errno_location())
        };
        // What a run has changed lies on another disk than the rest.
        let elsewhere = copied < 0 && error == libc::EXDEV && world::active();
        if !elsewhere {
            return copied;
        }
    }
    answer(match flags {
        0 => copy(ends, bytes, ("copy_file_range", libc::EBADF), frame),
        _ => -libc::EINVAL as isize,
    })
}
