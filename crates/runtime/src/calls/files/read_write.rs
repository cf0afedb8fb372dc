//! Reading and writing by descriptors: see [`crate::kernel::open_description`]. Calls with several pieces of memory are in [`crate::calls::files::vectored_io`].

use crate::{
    core::{cancellation, operations::failed, world},
    hooks::{
        Frame, accesses,
        variadic::{List, variadic},
    },
    kernel::{
        descriptor_arguments,
        file_mappings::{self, At},
        open_description::{READS, READS_AT, WRITES, WRITES_AT, Way, reach},
        overlay as kernel,
    },
    real, trampoline,
};
use core::ffi::{c_int, c_void};

trampoline! {
    read => read_some, "rcx";
    __read => read_some, "rcx";
    write => write_some, "rcx";
    __write => write_some, "rcx";
    pread => read_at, "r8";
    pread64 => read_at, "r8";
    __pread64 => read_at, "r8";
    pwrite => write_at, "r8";
    pwrite64 => write_at, "r8";
    __pwrite64 => write_at, "r8";
    vdprintf => print, "rcx";
    __vdprintf_chk => print_checked, "r8";
    __read_chk => read_checked, "r8";
    __pread_chk => read_checked_at, "r9";
    __pread64_chk => read_checked_at, "r9";
    lseek => seek, "rcx";
    __lseek => seek, "rcx";
    lseek64 => seek, "rcx";
    ftruncate => truncate, "rdx";
    ftruncate64 => truncate, "rdx";
    fallocate => allocate, "r8";
    fallocate64 => allocate, "r8";
    posix_fallocate => allocate_all, "rcx";
    posix_fallocate64 => allocate_all, "rcx";
}

unsafe extern "C" fn read_some(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    frame: &Frame,
) -> isize {
    let real = real!(read: fn(c_int, *mut c_void, usize) -> isize);
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, into, bytes) };
    }
    let file = reach(descriptor, READS, frame);
    if file.output {
        return failed(libc::EBADF) as isize;
    }
    world::snapshot().touch_range(into as usize, bytes);
    // SAFETY: as above.
    let got = unsafe { real(file.descriptor, into, bytes) };
    file.accessed(At::Position, got);
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
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, from, bytes) };
    }
    accesses::range(from as usize, bytes, false, frame);
    let file = reach(descriptor, WRITES, frame);
    // SAFETY: as above.
    let put = unsafe { real(file.descriptor, from, bytes) };
    file.accessed(At::Position, put);
    put
}

unsafe extern "C" fn read_at(
    descriptor: c_int,
    into: *mut c_void,
    bytes: usize,
    offset: i64,
    frame: &Frame,
) -> isize {
    let real = real!(pread64: fn(c_int, *mut c_void, usize, i64) -> isize);
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, into, bytes, offset) };
    }
    let file = reach(descriptor, READS_AT, frame);
    if file.output {
        return failed(libc::ESPIPE) as isize;
    }
    world::snapshot().touch_range(into as usize, bytes);
    // SAFETY: as above.
    let got = unsafe { real(file.descriptor, into, bytes, offset) };
    file.accessed(At::Offset(offset), got);
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
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, from, bytes, offset) };
    }
    accesses::range(from as usize, bytes, false, frame);
    let file = reach(descriptor, WRITES_AT, frame);
    if file.output {
        return failed(libc::ESPIPE) as isize;
    }
    // SAFETY: as above.
    let put = unsafe { real(file.descriptor, from, bytes, offset) };
    file.accessed(At::Offset(offset), put);
    put
}

variadic! {
    dprintf => print, "2", "rdx", "rcx";
    __dprintf_chk => print_checked, "3", "rcx", "r8";
}

fn printed(descriptor: c_int, frame: &Frame, real: impl FnOnce(c_int) -> c_int) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    let call = "dprintf";
    let file = reach(descriptor, Way { call, ..WRITES }, frame);
    let put = real(file.descriptor);
    file.accessed(At::Position, put as isize);
    put
}

unsafe extern "C" fn print(descriptor: c_int, format: usize, list: List, frame: &Frame) -> c_int {
    let real = real!(vdprintf: fn(c_int, usize, List) -> c_int);
    // SAFETY: the program's own arguments.
    printed(descriptor, frame, |to| unsafe { real(to, format, list) })
}

unsafe extern "C" fn print_checked(
    descriptor: c_int,
    flag: c_int,
    format: usize,
    list: List,
    frame: &Frame,
) -> c_int {
    let real = real!(__vdprintf_chk: fn(c_int, c_int, usize, List) -> c_int);
    // SAFETY: the program's own arguments.
    printed(descriptor, frame, |to| unsafe {
        real(to, flag, format, list)
    })
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
    let real = real!(lseek64: fn(c_int, i64, c_int) -> i64);
    let mut descriptor = descriptor_arguments::own(descriptor);
    if world::active() {
        let way = Way {
            call: "lseek",
            looks: !matches!(whence, libc::SEEK_SET | libc::SEEK_CUR),
            ..READS
        };
        let file = reach(descriptor, way, frame);
        if file.output {
            return failed(libc::ESPIPE).into();
        }
        descriptor = file.descriptor;
    }
    // SAFETY: numbers.
    unsafe { real(descriptor, offset, whence) }
}

unsafe extern "C" fn truncate(descriptor: c_int, bytes: i64, frame: &Frame) -> c_int {
    let real = real!(ftruncate64: fn(c_int, i64) -> c_int);
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: numbers.
        return unsafe { real(descriptor, bytes) };
    }
    let call = "ftruncate";
    let file = reach(descriptor, Way { call, ..WRITES_AT }, frame);
    if file.output {
        return failed(libc::EINVAL);
    }
    let before = kernel::look_at_open(file.descriptor).map_or(0, |stat| stat.st_size);
    // SAFETY: numbers.
    let result = unsafe { real(file.descriptor, bytes) };
    if result == 0 {
        file_mappings::resized(file.descriptor, [before, bytes], &file.by);
    }
    result
}

/// Has room made in a file, or given back, by `real`.
fn allocated(
    descriptor: c_int,
    frame: &Frame,
    refuse: fn(c_int) -> c_int,
    real: impl FnOnce(c_int) -> c_int,
) -> c_int {
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    let call = "fallocate";
    let file = reach(descriptor, Way { call, ..WRITES_AT }, frame);
    if file.output {
        return refuse(libc::ESPIPE);
    }
    file_mappings::anywhere(file.descriptor, true, call, file.by.site);
    real(file.descriptor)
}

unsafe extern "C" fn allocate(
    descriptor: c_int,
    mode: c_int,
    offset: i64,
    bytes: i64,
    frame: &Frame,
) -> c_int {
    cancellation::point(frame);
    let real = real!(fallocate64: fn(c_int, c_int, i64, i64) -> c_int);
    // SAFETY: numbers.
    allocated(descriptor, frame, failed, |file| unsafe {
        real(file, mode, offset, bytes)
    })
}

unsafe extern "C" fn allocate_all(
    descriptor: c_int,
    offset: i64,
    bytes: i64,
    frame: &Frame,
) -> c_int {
    let real = real!(posix_fallocate64: fn(c_int, i64, i64) -> c_int);
    // SAFETY: numbers.
    allocated(
        descriptor,
        frame,
        |error| error,
        |file| unsafe { real(file, offset, bytes) },
    )
}
