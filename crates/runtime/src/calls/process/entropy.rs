//! Random numbers that come from outside: `getrandom` and its like, `std::random_device`.
//!
//! They are input of the program, and every run has the same: what a thread gets is a function of its path and of how much it has drawn
//! before. So draws order nothing, and programs that seed themselves (hash tables, interpreters) behave the same in every run.

use crate::{
    core::{families::Birth, per_thread::PerThread, trampoline::Frame},
    outside_run,
    run::{accesses::range, operations::failed, spin, world},
    trampoline,
};
use core::{
    ffi::{c_int, c_uint, c_void},
    slice,
};

trampoline! {
    getrandom => fill, "rcx";
    getentropy => fill_little, "rdx";
    arc4random => number, "rdi";
    arc4random_buf => fill_buffer, "rdx";
    arc4random_uniform => number_below, "rsi";
    _ZNSt13random_device9_M_getvalEv => number_of_device, "rsi";
    _ZNSt13random_device16_M_getval_pretr1Ev => number_of_device, "rsi";
}

/// How many words each thread has drawn.
static DRAWN: PerThread<u64> = PerThread::new();

/// A new run.
pub fn clear() {
    DRAWN.clear();
}

pub fn thread_begins(birth: &Birth) {
    DRAWN.take_over_or_copy(birth);
}

/// The next word of the running thread (splitmix64, from a place of its own for each slot).
fn draw() -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    let (current, slot) = {
        let world = world::borrow();
        (world.current, world.slot() as u64)
    };
    let drawn = DRAWN.with(current, |drawn| {
        *drawn += 1;
        *drawn
    });
    spin::disturbed();
    let mut word = (slot << 32 | drawn).wrapping_mul(STEP);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// # Safety
///
/// `buffer` points to so many bytes that can be written.
unsafe fn fill_bytes(buffer: *mut c_void, bytes: usize, frame: &Frame) {
    range(buffer as usize, bytes, true, frame);
    // SAFETY: by the caller. No other thread runs meanwhile.
    let buffer = unsafe { slice::from_raw_parts_mut(buffer.cast::<u8>(), bytes) };
    for part in buffer.chunks_mut(size_of::<u64>()) {
        let word = draw().to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
}

/// # Safety
///
/// As `getrandom`: `buffer` points to `bytes` bytes.
unsafe extern "C" fn fill(
    buffer: *mut c_void,
    bytes: usize,
    flags: c_uint,
    frame: &Frame,
) -> isize {
    /// What the kernel gives at most by one call.
    const MOST: usize = (1 << 25) - 1;
    const KNOWN: c_uint = libc::GRND_NONBLOCK | libc::GRND_RANDOM | libc::GRND_INSECURE;
    outside_run!(getrandom: fn(buffer: *mut c_void, bytes: usize, flags: c_uint) -> isize);
    let both = libc::GRND_RANDOM | libc::GRND_INSECURE;
    if flags & !KNOWN != 0 || flags & both == both {
        return failed(libc::EINVAL) as isize;
    }
    let bytes = bytes.min(MOST);
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { fill_bytes(buffer, bytes, frame) };
    bytes as isize
}

/// # Safety
///
/// As `getentropy`: `buffer` points to `bytes` bytes.
unsafe extern "C" fn fill_little(buffer: *mut c_void, bytes: usize, frame: &Frame) -> c_int {
    const MOST: usize = 256;
    outside_run!(getentropy: fn(buffer: *mut c_void, bytes: usize) -> c_int);
    if bytes > MOST {
        return failed(libc::EIO);
    }
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { fill_bytes(buffer, bytes, frame) };
    0
}

/// # Safety
///
/// As `arc4random_buf`: `buffer` points to `bytes` bytes.
unsafe extern "C" fn fill_buffer(buffer: *mut c_void, bytes: usize, frame: &Frame) {
    outside_run!(arc4random_buf: fn(buffer: *mut c_void, bytes: usize));
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { fill_bytes(buffer, bytes, frame) };
}

extern "C" fn number(_: &Frame) -> c_uint {
    outside_run!(arc4random: fn() -> c_uint);
    draw() as c_uint
}

extern "C" fn number_below(end: c_uint, _: &Frame) -> c_uint {
    outside_run!(arc4random_uniform: fn(end: c_uint) -> c_uint);
    (((draw() >> 32) * u64::from(end)) >> 32) as c_uint
}

/// # Safety
///
/// As the member of `std::random_device`, whose object is the argument.
unsafe extern "C" fn number_of_device(device: *mut c_void, _: &Frame) -> c_uint {
    outside_run!(_ZNSt13random_device9_M_getvalEv: fn(device: *mut c_void) -> c_uint);
    draw() as c_uint
}
