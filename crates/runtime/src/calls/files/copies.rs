//! Calls that copy from one file to another. To read and to write are two steps, as in the kernel; what was read waits in between.

use crate::{
    core::{call_sites, sys, world},
    hooks::{Frame, accesses},
    kernel::{
        descriptor_table,
        file_mappings::At,
        file_names, file_objects,
        open_description::{self, READS, READS_AT, Reached, WRITES, WRITES_AT, Way},
        overlay as kernel,
    },
    real, trampoline,
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_long, c_uint};
use reweave_model::ThreadId;

// Where there is no register left for it, the frame is the argument on the stack.
trampoline! {
    sendfile => send, "r8";
    sendfile64 => send, "r8";
    copy_file_range => copy_range, "rax";
}

/// Of a run: what threads have read and not written.
#[derive(Default)]
pub struct State {
    read: Vec<(ThreadId, Vec<u8>)>,
}

impl State {
    pub fn clear(&mut self) {
        self.read.clear();
    }
}

/// One of the two files: a descriptor, and where to begin if that is not where the file stands.
#[derive(Clone, Copy)]
struct End {
    descriptor: c_int,
    offset: *mut i64,
}

impl End {
    fn at(self) -> At {
        match self.offset.is_null() {
            true => At::Position,
            // SAFETY: the program's own variable.
            false => At::Offset(unsafe { *self.offset }),
        }
    }

    fn way(self, call: &'static str, moving: Way, still: Way) -> Way {
        let way = match self.offset.is_null() {
            true => moving,
            false => still,
        };
        Way { call, ..way }
    }

    /// So many bytes were copied.
    fn advance(self, bytes: isize, frame: &Frame) {
        if !self.offset.is_null() {
            accesses::range(self.offset as usize, size_of::<i64>(), true, frame);
            // SAFETY: as above.
            unsafe { *self.offset += bytes as i64 };
        }
    }
}

/// Reads or writes, by the calls with and without an offset.
fn transfer(file: &Reached, at: At, calls: [c_long; 2], bytes: &mut [u8]) -> isize {
    let (call, offset) = match at {
        At::Position => (calls[0], 0),
        At::Offset(offset) => (calls[1], offset as usize),
    };
    let (place, length) = (bytes.as_mut_ptr() as usize, bytes.len());
    let arguments = [file.descriptor as usize, place, length, offset, 0, 0];
    // SAFETY: memory of ours.
    let done = unsafe { sys::call(call, arguments) };
    file.accessed(at, done);
    done
}

/// Why a file cannot be written, before anything is read; `appends`: what the call says to a file that is only appended to.
fn refusal(source: c_int, target: c_int, appends: c_int) -> Option<c_int> {
    let [read, written] = [source, target].map(descriptor_table::flags);
    let wrong = |flags: c_int, access| flags < 0 || flags & libc::O_ACCMODE == access;
    match () {
        () if wrong(read, libc::O_WRONLY) || wrong(written, libc::O_RDONLY) => Some(libc::EBADF),
        () if written & libc::O_APPEND != 0 => Some(appends),
        () => None,
    }
}

fn are_one(one: c_int, other: c_int) -> bool {
    let file = |descriptor| {
        let stat = kernel::look_at_open(descriptor)?;
        Some((stat.st_dev, stat.st_ino))
    };
    file(one) == file(other)
}

/// Copies beside other threads; a count, or an error number below zero.
fn copy(
    from: End,
    to: End,
    bytes: usize,
    (call, appends): (&'static str, c_int),
    frame: &Frame,
) -> isize {
    let reads = from.way(call, READS, READS_AT);
    let writes = to.way(call, WRITES, WRITES_AT);
    let source = open_description::look_up(from.descriptor, reads, frame);
    let target = open_description::look_up(to.descriptor, writes, frame);
    if let Some(error) = refusal(from.descriptor, to.descriptor, appends) {
        return -error as isize;
    }
    if are_one(from.descriptor, to.descriptor) {
        let what = alloc::format!("{call} within one file");
        world::get().unsupported(&what, call_sites::site(&frame.return_address));
    }
    let source = source.reach(reads);
    let length = kernel::look_at_open(source.descriptor).map_or(0, |stat| stat.st_size as usize);
    let mut room = alloc::vec![0; bytes.min(length)];
    let got = transfer(
        &source,
        from.at(),
        [libc::SYS_read, libc::SYS_pread64],
        &mut room,
    );
    if got <= 0 {
        return got;
    }
    room.truncate(got as usize);
    let me = world::get().current;
    let state = || &mut world::get().calls.copies;
    state().read.push((me, room));
    let target = target.reach(writes);
    let mine = state().read.iter().rposition(|(thread, _)| *thread == me);
    let Some(mine) = mine else { return 0 };
    let mut read = state().read.swap_remove(mine).1;
    let put = transfer(
        &target,
        to.at(),
        [libc::SYS_write, libc::SYS_pwrite64],
        &mut read,
    );
    if put != got {
        let what = alloc::format!("{call} that copies less than it has read");
        world::get().unsupported(&what, target.by.site);
    }
    from.advance(put, frame);
    to.advance(put, frame);
    put
}

/// Whether libc is to do it: the thread is alone.
fn is_alone(ends: [End; 2]) -> bool {
    if !world::active() {
        return true;
    }
    crate::core::spin::disturbed();
    file_objects::changing();
    file_objects::moving();
    for end in ends.iter().filter(|end| !end.offset.is_null()) {
        world::snapshot().touch_range(end.offset as usize, size_of::<i64>());
    }
    file_names::alone()
}

fn answer(result: isize) -> isize {
    match result {
        ..0 => crate::core::operations::failed(-result as c_int) as isize,
        result => result,
    }
}

unsafe extern "C" fn send(
    to: c_int,
    from: c_int,
    offset: *mut i64,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let end = |descriptor, offset| End { descriptor, offset };
    let ends = [end(from, offset), end(to, core::ptr::null_mut())];
    if is_alone(ends) {
        let real = real!(sendfile: fn(c_int, c_int, *mut i64, usize) -> isize);
        // SAFETY: the program's own arguments.
        return unsafe { real(to, from, offset, bytes) };
    }
    let call = "sendfile";
    answer(copy(ends[0], ends[1], bytes, (call, libc::EINVAL), frame))
}

unsafe extern "C" fn copy_range(
    from: c_int,
    from_at: *mut i64,
    to: c_int,
    to_at: *mut i64,
    bytes: usize,
    flags: c_uint,
    frame: &Frame,
) -> isize {
    let end = |descriptor, offset| End { descriptor, offset };
    let ends = [end(from, from_at), end(to, to_at)];
    if is_alone(ends) {
        let real =
            real!(copy_file_range: fn(c_int, *mut i64, c_int, *mut i64, usize, c_uint) -> isize);
        // SAFETY: the program's own arguments, and the running thread's own number.
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
    let call = "copy_file_range";
    answer(match flags {
        0 => copy(ends[0], ends[1], bytes, (call, libc::EBADF), frame),
        _ => -libc::EINVAL as isize,
    })
}
