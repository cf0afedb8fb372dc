//! What the program writes to standard output and standard error goes to a file that the driver gave, from the same place on in every run.
//!
//! System calls are dear, so whether a run wrote anything is seen in memory: the next bytes of the file, mapped, hold a mark that the first write covers.

use crate::core::{channel, sys};
use alloc::{vec, vec::Vec};
use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicPtr, AtomicUsize, Ordering},
};

/// No text has such bytes.
const MARK: u64 = u64::from_ne_bytes([0xff, 0xfe, 0xff, 0xfd, 0xfb, 0xff, 0xfe, 0xff]);
/// A larger file is cut.
const LARGE: usize = 1 << 20;

/// How much was there at `main`.
static START: AtomicUsize = AtomicUsize::new(0);
/// Where the mark lies; null: it could not be mapped.
static MARKED: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());

fn call(number: i64, a: usize, b: usize) -> isize {
    let file = channel::OUTPUT as usize;
    // SAFETY: moves in our own file, or cuts it.
    unsafe { sys::call(number, [file, a, b, 0, 0, 0]) }
}

fn position() -> usize {
    call(libc::SYS_lseek, 0, libc::SEEK_CUR as usize).max(0) as usize
}

/// Before the first run.
pub fn prepare() {
    const PAGE: usize = 4096;
    let start = position();
    START.store(start, Ordering::Relaxed);
    call(libc::SYS_ftruncate, start + 2 * PAGE, 0);
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let shared = libc::MAP_SHARED as usize;
    let (file, page) = (channel::OUTPUT as usize, start & !(PAGE - 1));
    // SAFETY: a new mapping of our own file, which is that large; the mark lies within.
    unsafe {
        let memory = sys::call(libc::SYS_mmap, [0, 2 * PAGE, access, shared, file, page]);
        if memory > 0 {
            let mark = (memory as usize + start - page) as *mut u64;
            mark.write_unaligned(MARK);
            MARKED.store(mark, Ordering::Relaxed);
        }
    }
}

/// After a run: as if nothing had been written.
pub fn clean_up() {
    let mark = MARKED.load(Ordering::Relaxed);
    // SAFETY: mapped for good.
    if !mark.is_null() && unsafe { mark.read_unaligned() } == MARK {
        return;
    }
    let start = START.load(Ordering::Relaxed);
    if position() > LARGE {
        call(libc::SYS_ftruncate, start + 8192, 0);
    }
    call(libc::SYS_lseek, start, libc::SEEK_SET as usize);
    if !mark.is_null() {
        // SAFETY: as above.
        unsafe { mark.write_unaligned(MARK) };
    }
}

/// What was written up to now, with what is still in the buffer of standard output; not more than anybody reads.
pub fn written() -> Vec<u8> {
    // SAFETY: flushes libc's own stream, which nobody uses at the same time.
    unsafe {
        let flush = crate::real!(fflush_unlocked: fn(*mut c_void) -> i32);
        let stdout = crate::kernel::file_objects::output();
        if stdout != 0 {
            flush(stdout as *mut c_void);
        }
    }
    let mut bytes = vec![0_u8; position().min(LARGE)];
    let file = channel::OUTPUT as usize;
    // SAFETY: reads into `bytes`.
    let length = unsafe {
        let into = bytes.as_mut_ptr() as usize;
        sys::call(libc::SYS_pread64, [file, into, bytes.len(), 0, 0, 0])
    };
    bytes.truncate(length.max(0) as usize);
    bytes
}
