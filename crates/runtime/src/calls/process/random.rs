//! Random numbers: what a thread gets is a function of its own past.
//!
//! The first thread has libc's own streams, which begin anew with every run. In libc other threads share them, so that a number
//! depends on who asked before; here each has streams of its own, whose seeds come from its creator's and from the thread's path.

use crate::{
    calls::memory::static_buffers,
    core::{call_sites, spin, world},
    hooks::{Frame, accesses::range},
    real, trampoline,
};
use core::{
    ffi::{c_char, c_int, c_long, c_uint, c_ushort},
    sync::atomic::{AtomicU64, Ordering},
};
use reweave_model::ThreadId;

trampoline! {
    rand => next_int, "rdi";
    random => next_long, "rdi";
    srand => set_seed, "rsi";
    srandom => set_seed, "rsi";
    initstate => init_state, "rcx";
    setstate => set_state, "rsi";
    drand48 => next_double, "rdi";
    lrand48 => next_unsigned48, "rdi";
    mrand48 => next_signed48, "rdi";
    srand48 => set_seed48, "rsi";
    seed48 => set_state48, "rsi";
    lcong48 => set_all48, "rsi";
    erand48 => next_double_of, "rsi";
    nrand48 => next_unsigned_of, "rsi";
    jrand48 => next_signed_of, "rsi";
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// What it or its creator gave last, or where it began.
    seed: u64,
    /// Of `rand` and `random`.
    stream: u64,
    /// Of `drand48` and its like: 48 bits.
    stream48: u64,
}

/// The seed of the first thread when a run begins.
static EARLY: AtomicU64 = AtomicU64::new(1);

impl Own {
    /// Of the first thread, whose streams are libc's.
    pub fn first() -> Own {
        Own {
            seed: EARLY.load(Ordering::Relaxed),
            ..Own::default()
        }
    }

    /// Of a new thread.
    pub fn child(&self, slot: usize) -> Own {
        let mut seed = self.seed ^ (slot as u64) << 32;
        let seed = mixed(&mut seed);
        Own {
            seed,
            stream: seed,
            stream48: seed >> 16,
        }
    }
}

/// The next number of a stream: a counter, its bits mixed well.
fn mixed(stream: &mut u64) -> u64 {
    *stream = stream.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *stream;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The running thread's own streams; `None` if they are libc's.
fn own() -> Option<&'static mut Own> {
    // Each call changes a stream, whoever has it.
    spin::disturbed();
    let theirs = !world::active() || world::get().current == ThreadId::MAIN;
    (!theirs).then(|| &mut world::get().me().own_calls.random)
}

/// 31 bits.
fn next() -> Option<u32> {
    own().map(|own| (mixed(&mut own.stream) >> 33) as u32)
}

/// 48 bits, by the recurrence that POSIX gives. Threads share the stream in the C library, without a lock.
fn next48(frame: &Frame) -> Option<u64> {
    touched48(frame);
    own().map(|own| {
        let next = own.stream48.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb);
        own.stream48 = next & ((1 << 48) - 1);
        own.stream48
    })
}

unsafe extern "C" fn next_int(_: &Frame) -> c_int {
    match next() {
        Some(number) => number as c_int,
        // SAFETY: no arguments.
        None => unsafe { real!(rand: fn() -> c_int)() },
    }
}

unsafe extern "C" fn next_long(_: &Frame) -> c_long {
    match next() {
        Some(number) => number.into(),
        // SAFETY: no arguments.
        None => unsafe { real!(random: fn() -> c_long)() },
    }
}

unsafe extern "C" fn set_seed(seed: c_uint, _: &Frame) {
    match own() {
        Some(own) => (own.seed, own.stream) = (seed.into(), seed.into()),
        None => {
            // SAFETY: a number.
            unsafe { real!(srandom: fn(c_uint))(seed) };
            remember(seed.into());
        }
    }
}

/// The first thread's seed, for its children.
fn remember(seed: u64) {
    match world::active() {
        true => world::get().me().own_calls.random.seed = seed,
        false => EARLY.store(seed, Ordering::Relaxed),
    }
}

unsafe extern "C" fn init_state(
    seed: c_uint,
    state: *mut c_char,
    bytes: usize,
    frame: &Frame,
) -> *mut c_char {
    only_first("initstate", frame);
    remember(seed.into());
    type Text = *mut c_char;
    // SAFETY: the program's own arguments.
    unsafe { real!(initstate: fn(c_uint, Text, usize) -> Text)(seed, state, bytes) }
}

unsafe extern "C" fn set_state(state: *mut c_char, frame: &Frame) -> *mut c_char {
    only_first("setstate", frame);
    // SAFETY: the program's own argument.
    unsafe { real!(setstate: fn(*mut c_char) -> *mut c_char)(state) }
}

/// Calls that only make sense for libc's streams.
fn only_first(call: &str, frame: &Frame) {
    if own().is_some() {
        let world = world::get();
        let site = world.site(frame.return_address);
        world.unsupported(call, site);
    }
}

unsafe extern "C" fn next_double(frame: &Frame) -> f64 {
    match next48(frame) {
        Some(number) => number as f64 / (1_u64 << 48) as f64,
        // SAFETY: no arguments.
        None => unsafe { real!(drand48: fn() -> f64)() },
    }
}

unsafe extern "C" fn next_unsigned48(frame: &Frame) -> c_long {
    match next48(frame) {
        Some(number) => (number >> 17) as c_long,
        // SAFETY: no arguments.
        None => unsafe { real!(lrand48: fn() -> c_long)() },
    }
}

unsafe extern "C" fn next_signed48(frame: &Frame) -> c_long {
    match next48(frame) {
        Some(number) => ((number >> 16) as i32).into(),
        // SAFETY: no arguments.
        None => unsafe { real!(mrand48: fn() -> c_long)() },
    }
}

/// A call that uses or sets it.
fn touched48(frame: &Frame) {
    if world::active() {
        static_buffers::touched(static_buffers::random48, true, &call_sites::frame(frame));
    }
}

unsafe extern "C" fn set_seed48(seed: c_long, frame: &Frame) {
    touched48(frame);
    match own() {
        Some(own) => own.stream48 = (seed as u64 & 0xffff_ffff) << 16 | 0x330e,
        None => {
            // SAFETY: a number.
            unsafe { real!(srand48: fn(c_long))(seed) };
            remember(seed as u64);
        }
    }
}

unsafe extern "C" fn set_state48(state: *mut c_ushort, frame: &Frame) -> *mut c_ushort {
    touched48(frame);
    only_first("seed48", frame);
    // SAFETY: the program's own argument.
    unsafe { real!(seed48: fn(*mut c_ushort) -> *mut c_ushort)(state) }
}

unsafe extern "C" fn set_all48(state: *mut c_ushort, frame: &Frame) {
    touched48(frame);
    only_first("lcong48", frame);
    // SAFETY: the program's own argument.
    unsafe { real!(lcong48: fn(*mut c_ushort))(state) };
}

/// Those whose stream is the program's own memory.
macro_rules! of_own {
    ($($name:ident => $real:ident, $result:ty;)*) => {$(
        unsafe extern "C" fn $name(stream: *mut [c_ushort; 3], frame: &Frame) -> $result {
            range(stream as usize, size_of::<[c_ushort; 3]>(), true, frame);
            // SAFETY: the program's own argument.
            unsafe { real!($real: fn(*mut [c_ushort; 3]) -> $result)(stream) }
        }
    )*};
}

of_own! {
    next_double_of => erand48, f64;
    next_unsigned_of => nrand48, c_long;
    next_signed_of => jrand48, c_long;
}
