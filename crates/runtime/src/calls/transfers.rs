//! Reading and writing by descriptors. Each is a step that looks the descriptor up, and one of the file.

use super::{callers, cancel, descriptors, disk, files};
use crate::{accesses, hooks::Frame, real, trampoline, world};
use core::ffi::{c_int, c_void};

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
}

/// Looks a descriptor up and touches its file, unless that is for output; the descriptor to use. Pipes and the like are not under control.
fn reach(descriptor: c_int, call: &str, frame: &Frame) -> c_int {
    if !matches!(call, "lseek" | "ftruncate") {
        cancel::point(frame);
    }
    files::moving();
    let site = callers::site(&frame.return_address);
    descriptors::look_up(descriptor, site);
    if descriptor == 1 || descriptor == 2 {
        return descriptors::found(descriptor);
    }
    match files::kind(descriptor) {
        libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR if !disk::alone() => {
            let file = disk::number_of_open(descriptor);
            match call {
                "pread" => files::look_at(file, site),
                _ => files::touch(file, site),
            }
        }
        libc::S_IFIFO | libc::S_IFSOCK => {
            let what = alloc::format!("{call} of a pipe");
            world::get().unsupported(&what, site);
        }
        _ => {}
    }
    descriptors::found(descriptor)
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
    let descriptor = reach(descriptor, "read", frame);
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
    let mut descriptor = descriptor;
    if world::active() {
        descriptor = reach(descriptor, "write", frame);
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
    let descriptor = reach(descriptor, "pread", frame);
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
    let mut descriptor = descriptor;
    if world::active() {
        descriptor = reach(descriptor, "pwrite", frame);
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
    let descriptor = reach(descriptor, "readv", frame);
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
    let mut descriptor = descriptor;
    // SAFETY: the program's own arguments.
    unsafe {
        if world::active() {
            descriptor = reach(descriptor, "writev", frame);
            each_part(parts, count, |from, bytes| {
                accesses::range(from, bytes, false, frame);
            });
        }
        real(descriptor, parts, count)
    }
}

unsafe extern "C" fn seek(descriptor: c_int, offset: i64, whence: c_int, frame: &Frame) -> i64 {
    let descriptor = match world::active() {
        true => reach(descriptor, "lseek", frame),
        false => descriptor,
    };
    // SAFETY: numbers.
    unsafe { real!(lseek64: fn(c_int, i64, c_int) -> i64)(descriptor, offset, whence) }
}

unsafe extern "C" fn truncate(descriptor: c_int, bytes: i64, frame: &Frame) -> c_int {
    let descriptor = match world::active() {
        true => reach(descriptor, "ftruncate", frame),
        false => descriptor,
    };
    // SAFETY: numbers.
    unsafe { real!(ftruncate64: fn(c_int, i64) -> c_int)(descriptor, bytes) }
}
