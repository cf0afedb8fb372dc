//! Reading and writing by descriptors. Each is a step that looks the descriptor up, and one of the file.

use super::{
    callers, cancel, descriptors, disk, files,
    mapped::{self, At, By},
    positions,
    texts::{List, variadic},
};
use crate::{accesses, disk as kernel, hooks::Frame, real, trampoline, world};
use core::ffi::{c_int, c_void};
use reweave_model::Site;
use reweave_shadow::Kind;

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
    __lseek => seek, "rcx";
    lseek64 => seek, "rcx";
    ftruncate => truncate, "rdx";
    ftruncate64 => truncate, "rdx";
    fallocate => allocate, "r8";
    fallocate64 => allocate, "r8";
    posix_fallocate => allocate_all, "rcx";
    posix_fallocate64 => allocate_all, "rcx";
}

/// What a call does with an open file.
#[derive(Clone, Copy)]
struct Way {
    call: &'static str,
    /// It changes what is in it.
    writes: bool,
    /// It begins where that stands, and moves it.
    moves: bool,
    /// It sees what is in it.
    looks: bool,
}

/// From where it stands.
const READS: Way = Way {
    call: "read",
    writes: false,
    moves: true,
    looks: true,
};
const WRITES: Way = Way {
    call: "write",
    writes: true,
    ..READS
};
/// From where the call says.
const READS_AT: Way = Way {
    call: "pread",
    moves: false,
    ..READS
};
const WRITES_AT: Way = Way {
    call: "pwrite",
    moves: false,
    ..WRITES
};

/// A file that a call has reached.
struct Reached {
    descriptor: c_int,
    writes: bool,
    by: By,
}

impl Reached {
    /// It was read or written.
    fn accessed(&self, at: At, bytes: isize) {
        let kind = match self.writes {
            true => Kind::Write,
            false => Kind::Read,
        };
        mapped::accessed(self.descriptor, at, bytes, kind, &self.by);
    }
}

/// Looks a descriptor up and touches its file, unless that is for output. Pipes and the like are not under control.
fn reach(descriptor: c_int, way: Way, frame: &Frame) -> Reached {
    if !matches!(way.call, "lseek" | "ftruncate" | "fallocate") {
        cancel::point(frame);
    }
    files::moving();
    let site = callers::site(&frame.return_address);
    descriptors::look_up(descriptor, site);
    let world = world::get();
    let since = world.races.epoch(world.current);
    if !descriptors::is_output(descriptor) {
        step(descriptor, way, site);
    }
    let (descriptor, open) = descriptors::found_open(descriptor);
    if way.moves {
        positions::used(open, since);
    }
    Reached {
        descriptor,
        writes: way.writes,
        by: By {
            pc: frame.return_address,
            site,
            since,
        },
    }
}

fn step(descriptor: c_int, way: Way, site: Site) {
    match files::kind(descriptor) {
        libc::S_IFREG if files::is_output(descriptor) => {}
        kind @ (libc::S_IFREG | libc::S_IFBLK | libc::S_IFDIR) if !disk::alone() => {
            let file = disk::number_of_open(descriptor);
            let shared = kind != libc::S_IFREG || positions::are_shared();
            if way.writes || way.moves && shared {
                files::touch(file, site);
            } else if way.looks {
                files::look_at(file, site);
            }
        }
        libc::S_IFIFO | libc::S_IFSOCK => {
            let what = alloc::format!("{} of a pipe", way.call);
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
    let file = reach(descriptor, READS, frame);
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
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, into, bytes, offset) };
    }
    let file = reach(descriptor, READS_AT, frame);
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
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, from, bytes, offset) };
    }
    accesses::range(from as usize, bytes, false, frame);
    let file = reach(descriptor, WRITES_AT, frame);
    // SAFETY: as above.
    let put = unsafe { real(file.descriptor, from, bytes, offset) };
    file.accessed(At::Offset(offset), put);
    put
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
    (call, at): (&'static str, At),
    frame: &Frame,
    real: impl FnOnce(c_int) -> isize,
) -> isize {
    if !world::active() {
        return real(descriptor);
    }
    let way = match at {
        At::Position => READS,
        At::Offset(_) => READS_AT,
    };
    let file = reach(descriptor, Way { call, ..way }, frame);
    // SAFETY: the program's own list.
    unsafe {
        each_part(parts, count, |into, bytes| {
            world::snapshot().touch_range(into, bytes);
        });
        let got = real(file.descriptor);
        file.accessed(at, got);
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
    (call, at): (&'static str, At),
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
    let way = match at {
        At::Position => WRITES,
        At::Offset(_) => WRITES_AT,
    };
    let file = reach(descriptor, Way { call, ..way }, frame);
    let put = real(file.descriptor);
    file.accessed(at, put);
    put
}

/// Where a call begins: without an offset, where the file stands.
fn from(offset: i64) -> At {
    match offset {
        -1 => At::Position,
        offset => At::Offset(offset),
    }
}

/// Defines both ways for calls with these further arguments.
macro_rules! in_parts {
    ($($name:ident => $way:ident, $real:ident, $call:literal, $at:expr $(, $argument:ident: $type:ty)*;)*) => {$(
        unsafe extern "C" fn $name(
            descriptor: c_int,
            parts: Parts,
            count: c_int,
            $($argument: $type,)*
            frame: &Frame,
        ) -> isize {
            let at: fn($($type),*) -> At = $at;
            // SAFETY: the program's own arguments.
            unsafe {
                $way(descriptor, parts, count, ($call, at($($argument),*)), frame, |descriptor| {
                    real!($real: fn(c_int, Parts, c_int $(, $type)*) -> isize)(descriptor, parts, count $(, $argument)*)
                })
            }
        }
    )*};
}

in_parts! {
    read_parts => scatter, readv, "readv", || At::Position;
    write_parts => gather, writev, "writev", || At::Position;
    read_parts_at => scatter, preadv64, "preadv", At::Offset, offset: i64;
    write_parts_at => gather, pwritev64, "pwritev", At::Offset, offset: i64;
    read_parts_with => scatter, preadv64v2, "preadv2", |offset, _| from(offset), offset: i64, flags: c_int;
    write_parts_with => gather, pwritev64v2, "pwritev2", |offset, _| from(offset), offset: i64, flags: c_int;
}

variadic! {
    dprintf => print, "2", "rdx", "rcx";
    __dprintf_chk => print_checked, "3", "rcx", "r8";
}

fn printed(descriptor: c_int, frame: &Frame, real: impl FnOnce(c_int) -> c_int) -> c_int {
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
    let mut descriptor = descriptor;
    if world::active() {
        let way = Way {
            call: "lseek",
            looks: !matches!(whence, libc::SEEK_SET | libc::SEEK_CUR),
            ..READS
        };
        descriptor = reach(descriptor, way, frame).descriptor;
    }
    // SAFETY: numbers.
    unsafe { real(descriptor, offset, whence) }
}

unsafe extern "C" fn truncate(descriptor: c_int, bytes: i64, frame: &Frame) -> c_int {
    let real = real!(ftruncate64: fn(c_int, i64) -> c_int);
    if !world::active() {
        // SAFETY: numbers.
        return unsafe { real(descriptor, bytes) };
    }
    let call = "ftruncate";
    let file = reach(descriptor, Way { call, ..WRITES_AT }, frame);
    if files::is_output(file.descriptor) {
        // What the driver takes as output is no file for the program.
        return super::failed(libc::EINVAL);
    }
    let before = kernel::look_at_open(file.descriptor).map_or(0, |stat| stat.st_size);
    // SAFETY: numbers.
    let result = unsafe { real(file.descriptor, bytes) };
    if result == 0 {
        mapped::resized(file.descriptor, [before, bytes], &file.by);
    }
    result
}

/// Has room made in a file, or given back, by `real`.
fn allocated(descriptor: c_int, frame: &Frame, real: impl FnOnce(c_int) -> c_int) -> c_int {
    if !world::active() {
        return real(descriptor);
    }
    let call = "fallocate";
    let file = reach(descriptor, Way { call, ..WRITES_AT }, frame);
    mapped::anywhere(file.descriptor, true, call, file.by.site);
    match files::is_output(file.descriptor) {
        true => real(-1),
        false => real(file.descriptor),
    }
}

unsafe extern "C" fn allocate(
    descriptor: c_int,
    mode: c_int,
    offset: i64,
    bytes: i64,
    frame: &Frame,
) -> c_int {
    let real = real!(fallocate64: fn(c_int, c_int, i64, i64) -> c_int);
    // SAFETY: numbers.
    allocated(descriptor, frame, |file| unsafe {
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
    allocated(descriptor, frame, |file| unsafe {
        real(file, offset, bytes)
    })
}
