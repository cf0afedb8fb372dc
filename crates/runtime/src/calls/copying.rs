//! `copy_file_range`: what a run has changed lies on another disk than the rest, and not every kernel copies from one to another.

use super::{descriptors, numbers, paths::called_with};
use crate::{accesses, hooks::Frame, real::Real, sys, world};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_long};

const NAME: &CStr = c"copy_file_range";
static CALL: Real = Real::new(NAME);

called_with!(copy_file_range, CALL, copy_range);

type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize;

/// How much is copied at once.
const PIECE: usize = 1 << 16;

extern "C" fn copy_range(real: &Real, arguments: &[usize; 6], frame: &Frame) -> isize {
    // SAFETY: as the type says.
    let real: Function = unsafe { core::mem::transmute(real.get()) };
    let [mut from, from_at, mut to, to_at, bytes, flags] = *arguments;
    if world::active() {
        numbers::refused(NAME, arguments, &frame.return_address);
        (from, to) = (own(from), own(to));
        for offset in [from_at, to_at].into_iter().filter(|offset| *offset != 0) {
            world::snapshot().touch_range(offset, size_of::<i64>());
            accesses::range(offset, size_of::<i64>(), true, frame);
        }
    }
    // SAFETY: the program's own arguments.
    let copied = unsafe { real(from, from_at, to, to_at, bytes, flags) };
    // SAFETY: the running thread's own.
    let elsewhere = copied < 0 && unsafe { *libc::__errno_location() } == libc::EXDEV;
    if !elsewhere || !world::active() {
        return copied;
    }
    match piece_by_piece([from, from_at], [to, to_at], bytes) {
        error @ ..0 => super::failed(-error as c_int) as isize,
        copied => copied,
    }
}

/// What the program's own descriptor stands for.
fn own(descriptor: usize) -> usize {
    descriptors::found(descriptor as c_int) as usize
}

/// The same by reading and writing: how many bytes that were, or an error number.
fn piece_by_piece(from: [usize; 2], to: [usize; 2], bytes: usize) -> isize {
    let mut room: Vec<u8> = alloc::vec![0; bytes.min(PIECE)];
    let mut all = 0;
    while all < bytes {
        let part = room.len().min(bytes - all);
        let got = transfer([libc::SYS_read, libc::SYS_pread64], from, &mut room[..part]);
        let got = match usize::try_from(got) {
            Ok(0) => break,
            Ok(got) => got,
            Err(_) if all > 0 => break,
            Err(_) => return got,
        };
        let put = transfer([libc::SYS_write, libc::SYS_pwrite64], to, &mut room[..got]);
        if put < 0 && all == 0 {
            return put;
        }
        all += put.max(0) as usize;
        if put < got as isize {
            break;
        }
    }
    all as isize
}

/// From where it stands, or from an offset, which moves on.
fn transfer(calls: [c_long; 2], [descriptor, offset]: [usize; 2], room: &mut [u8]) -> isize {
    let (place, length) = (room.as_mut_ptr() as usize, room.len());
    if offset == 0 {
        // SAFETY: as much as there is.
        return unsafe { sys::call(calls[0], [descriptor, place, length, 0, 0, 0]) };
    }
    // SAFETY: the program's own variable.
    let offset = unsafe { &mut *(offset as *mut i64) };
    // SAFETY: as much as there is.
    let moved = unsafe {
        sys::call(
            calls[1],
            [descriptor, place, length, *offset as usize, 0, 0],
        )
    };
    *offset += moved.max(0) as i64;
    moved
}
