//! How the program was started: by the driver or by itself, and with which arguments.

use crate::core::sys;
use core::{
    ffi::{c_char, c_int, c_void},
    sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering},
};

pub(crate) static MAIN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
pub(crate) static ARGC: AtomicUsize = AtomicUsize::new(0);
pub(crate) static ARGV: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());
pub(crate) static ENVP: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());

/// How the program came to run.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Start {
    /// Not known yet.
    Unknown,
    /// By itself.
    Alone,
    /// By the driver, with hooks in its code.
    Hooked,
    /// By the driver, which loads this library into a program that was built without hooks.
    Unmodified,
}

/// Whether the driver started this process. Asked by the first allocation, before libc has its own environment.
#[inline]
pub fn driven() -> bool {
    start() > Start::Alone as u32
}

/// Whether the program's code has no hooks: its library calls are all that is seen of it.
#[inline]
pub fn calls_only() -> bool {
    start() == Start::Unmodified as u32
}

/// A [`Start`].
static KNOWN: AtomicU32 = AtomicU32::new(Start::Unknown as u32);

#[inline]
fn start() -> u32 {
    match KNOWN.load(Ordering::Relaxed) {
        0 => find_out(),
        known => known,
    }
}

#[cold]
fn find_out() -> u32 {
    let start = named_in_environment() as u32;
    KNOWN.store(start, Ordering::Relaxed);
    start
}

fn named_in_environment() -> Start {
    const NAME: &[u8] = b"REWEAVE_CHANNEL=";
    const ROOM: usize = 4 << 20;
    let Some(memory) = sys::map_own(ROOM) else {
        return Start::Alone;
    };
    // SAFETY: `map_own` returned ROOM bytes of new memory that nothing else refers to.
    let text = unsafe { core::slice::from_raw_parts_mut(memory, ROOM) };
    let length = sys::read_file(c"/proc/self/environ", text);
    let mut entries = text[..length].split(|byte| *byte == 0);
    let start = match entries.find_map(|entry| entry.strip_prefix(NAME)) {
        None => Start::Alone,
        Some(b"calls") => Start::Unmodified,
        Some(_) => Start::Hooked,
    };
    // SAFETY: the bytes were mapped above, and `text` is not used after this.
    unsafe { sys::discard(memory as usize, ROOM) };
    start
}

/// 0: not known yet; 1: in another language; 2: in Rust.
static LANGUAGE: AtomicU32 = AtomicU32::new(0);

/// Whether the program is written in Rust: what it is linked with says so.
pub fn in_rust() -> bool {
    if LANGUAGE.load(Ordering::Relaxed) == 0 {
        // SAFETY: the name ends with a nul.
        let mark = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__reweave_rust".as_ptr()) };
        LANGUAGE.store(1 + u32::from(!mark.is_null()), Ordering::Relaxed);
    }
    LANGUAGE.load(Ordering::Relaxed) == 2
}

/// What `main` is called with.
pub fn arguments() -> (c_int, *const *mut c_char, *const *mut c_char) {
    (
        ARGC.load(Ordering::Relaxed) as c_int,
        ARGV.load(Ordering::Relaxed),
        ENVP.load(Ordering::Relaxed),
    )
}

/// Where the program's `main` is.
pub fn main_address() -> usize {
    MAIN.load(Ordering::Relaxed) as usize
}
