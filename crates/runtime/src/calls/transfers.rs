//! Reading and writing by descriptors. Each is a step that looks the descriptor up, and one of the file.

use super::{
    callers, cancel, descriptors, disk, files,
    texts::{List, variadic},
};
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
    preadv => read_parts_at, "r8";
    preadv64 => read_parts_at, "r8";
    pwritev => write_parts_at, "r8";
    pwritev64 => write_parts_at, "r8";
    preadv2 => read_parts_with, "r9";
    preadv64v2 => read_parts_with, "r9";
    pwritev2 => write_parts_with, "r9";
    pwritev64v2 => write_parts_with, "r9";
    vdprintf => print, "rcx";
    __vdprintf_chk => print_checked, "r8";
    __read_chk => read_checked, "r8";
    __pread_chk => read_checked_at, "r9";
    __pread64_chk => read_checked_at, "r9";
    lseek => seek, "rcx";
    lseek64 => seek, "rcx";
    ftruncate => truncate, "rdx";
    ftruncate64 => truncate, "rdx";
    fallocate => allocate, "r8";
    fallocate64 => allocate, "r8";
    posix_fallocate => allocate_all, "rcx";
    posix_fallocate64 => allocate_all, "rcx";
}

/// Looks a descriptor up and touches its file, unless that is for output; the descriptor to use. Pipes and the like are not under control.
fn reach(descriptor: c_int, call: &str, frame: &Frame) -> c_int {
    if !world::active() {
        return descriptor;
    }
    if !matches!(call, "lseek" | "ftruncate" | "fallocate") {
        cancel::point(frame);
    }
    files::moving();
    let site = callers::site(&frame.return_address);
    descriptors::look_up(descriptor, site);
    if descriptors::is_output(descriptor) {
        return descriptors::found(descriptor);
    }
    match files::kind(descriptor) {
        libc::S_IFREG if files::is_output(descriptor) => {}
        libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR if !disk::alone() => {
            let file = disk::number_of_open(descriptor);
            match call {
                "pread" | "preadv" => files::look_at(file, site),
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
        accesses::range(from as usize, bytes, false, frame);
        descriptor = reach(descriptor, "write", frame);
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
        accesses::range(from as usize, bytes, false, frame);
        descriptor = reach(descriptor, "pwrite", frame);
    }
    // SAFETY: the program's own arguments.
    unsafe { real(descriptor, from, bytes, offset) }
}

type Parts = *const libc::iovec;

unsafe fn each_part(parts: Parts, count: c_int, mut each: impl FnMut(usize, usize)) {
    for index in 0..count.max(0) as usize {
        // SAFETY: the program's own list.
        let part = unsafe { &*parts.add(index) };
        each(part.iov_base as usize, part.iov_len);
    }
}

/// Reads into several places, by `real`.
unsafe fn scatter(
    descriptor: c_int,
    parts: Parts,
    count: c_int,
    call: &str,
    frame: &Frame,
    real: impl FnOnce(c_int) -> isize,
) -> isize {
    if !world::active() {
        return real(descriptor);
    }
    let descriptor = reach(descriptor, call, frame);
    // SAFETY: the program's own list.
    unsafe {
        each_part(parts, count, |into, bytes| {
            world::snapshot().touch_range(into, bytes);
        });
        let got = real(descriptor);
        let mut left = got.max(0) as usize;
        each_part(parts, count, |into, bytes| {
            accesses::range(into, bytes.min(left), true, frame);
            left -= bytes.min(left);
        });
        got
    }
}

/// Writes from several places, by `real`.
unsafe fn gather(
    descriptor: c_int,
    parts: Parts,
    count: c_int,
    call: &str,
    frame: &Frame,
    real: impl FnOnce(c_int) -> isize,
) -> isize {
    if !world::active() {
        return real(descriptor);
    }
    // SAFETY: the program's own list.
    unsafe {
        each_part(parts, count, |from, bytes| {
            accesses::range(from, bytes, false, frame);
        });
    }
    real(reach(descriptor, call, frame))
}

/// Defines both ways for calls with these further arguments.
macro_rules! in_parts {
    ($($name:ident => $way:ident, $real:ident, $call:literal $(, $argument:ident: $type:ty)*;)*) => {$(
        unsafe extern "C" fn $name(
            descriptor: c_int,
            parts: Parts,
            count: c_int,
            $($argument: $type,)*
            frame: &Frame,
        ) -> isize {
            // SAFETY: the program's own arguments.
            unsafe {
                $way(descriptor, parts, count, $call, frame, |descriptor| {
                    real!($real: fn(c_int, Parts, c_int $(, $type)*) -> isize)(descriptor, parts, count $(, $argument)*)
                })
            }
        }
    )*};
}

in_parts! {
    read_parts => scatter, readv, "readv";
    write_parts => gather, writev, "writev";
    read_parts_at => scatter, preadv64, "preadv", offset: i64;
    write_parts_at => gather, pwritev64, "pwritev", offset: i64;
    read_parts_with => scatter, preadv64v2, "preadv2", offset: i64, flags: c_int;
    write_parts_with => gather, pwritev64v2, "pwritev2", offset: i64, flags: c_int;
}

variadic! {
    dprintf => print, "2", "rdx", "rcx";
    __dprintf_chk => print_checked, "3", "rcx", "r8";
}

unsafe extern "C" fn print(descriptor: c_int, format: usize, list: List, frame: &Frame) -> c_int {
    let descriptor = reach(descriptor, "dprintf", frame);
    // SAFETY: the program's own arguments.
    unsafe { real!(vdprintf: fn(c_int, usize, List) -> c_int)(descriptor, format, list) }
}

unsafe extern "C" fn print_checked(
    descriptor: c_int,
    flag: c_int,
    format: usize,
    list: List,
    frame: &Frame,
) -> c_int {
    let descriptor = reach(descriptor, "dprintf", frame);
    let real = real!(__vdprintf_chk: fn(c_int, c_int, usize, List) -> c_int);
    // SAFETY: the program's own arguments.
    unsafe { real(descriptor, flag, format, list) }
}

/// What the compiler knows of the room there is is checked before anything is read.
unsafe extern "C" fn read_checked(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    room: usize,
    frame: &Frame,
) -> isize {
    // SAFETY: as the call itself.
    unsafe {
        match bytes > room {
            true => real!(__read_chk: fn(c_int, *mut c_void, usize, usize) -> isize)(
                descriptor, into, bytes, room,
            ),
            false => read_some(descriptor, into, bytes, frame),
        }
    }
}

unsafe extern "C" fn read_checked_at(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    offset: i64,
    room: usize,
    frame: &Frame,
) -> isize {
    // SAFETY: as the call itself.
    unsafe {
        match bytes > room {
            true => real!(__pread_chk: fn(c_int, *mut c_void, usize, i64, usize) -> isize)(
                descriptor, into, bytes, offset, room,
            ),
            false => read_at(descriptor, into, bytes, offset, frame),
        }
    }
}

unsafe extern "C" fn seek(descriptor: c_int, offset: i64, whence: c_int, frame: &Frame) -> i64 {
    let descriptor = reach(descriptor, "lseek", frame);
    // SAFETY: numbers.
    unsafe { real!(lseek64: fn(c_int, i64, c_int) -> i64)(descriptor, offset, whence) }
}

unsafe extern "C" fn truncate(descriptor: c_int, bytes: i64, frame: &Frame) -> c_int {
    let descriptor = reach(descriptor, "ftruncate", frame);
    // SAFETY: numbers.
    unsafe { real!(ftruncate64: fn(c_int, i64) -> c_int)(descriptor, bytes) }
}

unsafe extern "C" fn allocate(
    descriptor: c_int,
    mode: c_int,
    offset: i64,
    bytes: i64,
    frame: &Frame,
) -> c_int {
    cancel::point(frame);
    let descriptor = reach(descriptor, "fallocate", frame);
    let real = real!(fallocate64: fn(c_int, c_int, i64, i64) -> c_int);
    // SAFETY: numbers.
    unsafe { real(descriptor, mode, offset, bytes) }
}

unsafe extern "C" fn allocate_all(
    descriptor: c_int,
    offset: i64,
    bytes: i64,
    frame: &Frame,
) -> c_int {
    let descriptor = reach(descriptor, "fallocate", frame);
    // SAFETY: numbers.
    unsafe { real!(posix_fallocate64: fn(c_int, i64, i64) -> c_int)(descriptor, offset, bytes) }
}
