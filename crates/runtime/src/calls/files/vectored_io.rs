//! Reading and writing by descriptors, into and from several pieces of memory.

use crate::{
    core::{operations::failed, world},
    hooks::{Frame, accesses},
    kernel::{
        descriptor_arguments,
        file_mappings::At,
        open_description::{READS, READS_AT, WRITES, WRITES_AT, Way, reach},
    },
    real, trampoline,
};
use core::ffi::c_int;

trampoline! {
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
}

type Parts = *const libc::iovec;

unsafe fn each_part(parts: Parts, count: c_int, mut each: impl FnMut(usize, usize)) {
    for index in 0..count.max(0) as usize {
        // SAFETY: the program's own list.
        let part = unsafe { &*parts.add(index) };
        each(part.iov_base as usize, part.iov_len);
    }
}

/// The list itself is read.
fn note_list(parts: Parts, count: c_int, frame: &Frame) {
    let bytes = count.max(0) as usize * size_of::<libc::iovec>();
    accesses::range(parts as usize, bytes, false, frame);
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
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    let way = match at {
        At::Position => READS,
        At::Offset(_) => READS_AT,
    };
    let file = reach(descriptor, Way { call, ..way }, frame);
    if file.output {
        return failed(match way.moves {
            true => libc::EBADF,
            false => libc::ESPIPE,
        }) as isize;
    }
    note_list(parts, count, frame);
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
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        return real(descriptor);
    }
    note_list(parts, count, frame);
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
    if file.output && !way.moves {
        return failed(libc::ESPIPE) as isize;
    }
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
