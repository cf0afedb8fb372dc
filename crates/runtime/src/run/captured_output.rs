//! What the program writes to standard output and standard error. It goes to a file that the driver opened, from the same offset
//! on in every run.
//!
//! System calls are slow, so whether a run wrote anything is seen in memory: the next bytes of the file, mapped, hold a mark that
//! the first write covers.

use crate::core::{channel, sys};
use alloc::{vec, vec::Vec};
use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicPtr, AtomicUsize, Ordering},
};

/// Bytes that no text has.
const MARK: u64 = u64::from_ne_bytes([0xff, 0xfe, 0xff, 0xfd, 0xfb, 0xff, 0xfe, 0xff]);
/// A larger file is cut.
const LARGE: usize = 1 << 20;

/// Bytes that the file had at `main`.
static START: AtomicUsize = AtomicUsize::new(0);
/// Where the mark lies; null: it could not be mapped.
static MARKED: AtomicPtr<u64> = AtomicPtr::new(ptr::null_mut());
/// libc's variable `stdout`, which a program may set.
static STDOUT: AtomicPtr<*mut c_void> = AtomicPtr::new(ptr::null_mut());

fn call(number: i64, a: usize, b: usize) -> isize {
    let file = channel::OUTPUT as usize;
    // SAFETY: these calls move the offset of the runtime's own file, or set its length; they touch no memory.
    unsafe { sys::call(number, [file, a, b, 0, 0, 0]) }
}

fn position() -> usize {
    call(libc::SYS_lseek, 0, libc::SEEK_CUR as usize).max(0) as usize
}

/// Before the first run.
pub fn prepare() {
    const PAGE: usize = 4096;
    // SAFETY: the name ends with a nul.
    let stdout = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"stdout".as_ptr()) };
    STDOUT.store(stdout.cast(), Ordering::Relaxed);
    let start = position();
    START.store(start, Ordering::Relaxed);
    call(libc::SYS_ftruncate, start + 2 * PAGE, 0);
    let access = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let shared = libc::MAP_SHARED as usize;
    let (file, page) = (channel::OUTPUT as usize, start & !(PAGE - 1));
    // SAFETY: a new mapping of the runtime's own file, which was just made that large; the mark lies within its two pages.
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
    // SAFETY: not null, so `prepare` mapped it, and it is never unmapped.
    if !mark.is_null() && unsafe { mark.read_unaligned() } == MARK {
        return;
    }
    let start = START.load(Ordering::Relaxed);
    if position() > LARGE {
        call(libc::SYS_ftruncate, start + 8192, 0);
    }
    call(libc::SYS_lseek, start, libc::SEEK_SET as usize);
    if !mark.is_null() {
        // SAFETY: not null, so `prepare` mapped it, and it is never unmapped.
        unsafe { mark.write_unaligned(MARK) };
    }
}

/// What was written up to now, with what is still in the buffer of standard output; at most [`LARGE`] bytes.
pub fn written() -> Vec<u8> {
    let stdout = STDOUT.load(Ordering::Relaxed);
    // SAFETY: not null, so it is libc's variable, which holds null or a stream. The running thread is the only one that uses the
    // stream: the others stand at an operation, outside of libc.
    unsafe {
        if !stdout.is_null() && !(*stdout).is_null() {
            crate::real!(fflush_unlocked: fn(*mut c_void) -> i32)(*stdout);
        }
    }
    let mut bytes = vec![0_u8; position().min(LARGE)];
    let file = channel::OUTPUT as usize;
    // SAFETY: the kernel writes at most `bytes.len()` bytes into `bytes`.
    let length = unsafe {
        let into = bytes.as_mut_ptr() as usize;
        sys::call(libc::SYS_pread64, [file, into, bytes.len(), 0, 0, 0])
    };
    bytes.truncate(length.max(0) as usize);
    bytes
}
