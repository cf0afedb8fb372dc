//! Random numbers: what a thread gets is a function of its own past.
//!
//! The first thread has libc's own streams, which every run starts over. In libc other threads share them, so that a number
//! depends on which thread asked before; here each has streams of its own, whose seeds come from its creator's and from the
//! thread's slot.

use crate::{
    core::{families::Birth, modules, per_thread::PerThread, trampoline::Frame},
    real,
    run::{accesses::range, call_sites, spin, world},
    trampoline,
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

/// The streams of a thread.
#[derive(Default)]
struct Streams {
    /// The last seed that it or its creator set, or where it began.
    seed: u64,
    /// Of `rand` and `random`.
    stream: u64,
    /// Of `drand48` and its like: 48 bits.
    stream48: u64,
}

/// The seed of the first thread when a run begins.
static EARLY: AtomicU64 = AtomicU64::new(1);

static STREAMS: PerThread<Streams> = PerThread::new();

/// A new run.
pub fn clear() {
    STREAMS.clear();
}

/// A new thread gets streams of its own; those of the first one are libc's.
pub fn thread_begins(birth: &Birth) {
    if STREAMS.take_over(birth) {
        return;
    }
    let streams = match birth.parent {
        None => Streams {
            seed: EARLY.load(Ordering::Relaxed),
            ..Streams::default()
        },
        Some(parent) => {
            let seed = STREAMS.with(parent, |parent| parent.seed);
            let seed = mixed(&mut (seed ^ (birth.slot as u64) << 32));
            Streams {
                seed,
                stream: seed,
                stream48: seed >> 16,
            }
        }
    };
    STREAMS.with(birth.child, |own| *own = streams);
}

/// The next number of a stream: a counter, its bits mixed well.
fn mixed(stream: &mut u64) -> u64 {
    *stream = stream.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *stream;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Uses the running thread's own streams; `None` if they are libc's.
fn with_own<R>(what: impl FnOnce(&mut Streams) -> R) -> Option<R> {
    // Each call changes a stream, of whichever thread.
    spin::disturbed();
    if !world::active() {
        return None;
    }
    let me = world::borrow().current;
    (me != ThreadId::MAIN).then(|| STREAMS.with(me, what))
}

/// 31 bits.
fn next() -> Option<u32> {
    with_own(|own| (mixed(&mut own.stream) >> 33) as u32)
}

/// 48 bits, by the recurrence that POSIX gives. Threads share the stream in the C library, without a lock.
fn next48(frame: &Frame) -> Option<u64> {
    touched48(frame);
    with_own(|own| {
        let next = own.stream48.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb);
        own.stream48 = next & ((1 << 48) - 1);
        own.stream48
    })
}

extern "C" fn next_int(_: &Frame) -> c_int {
    match next() {
        Some(number) => number as c_int,
        // SAFETY: the function takes no arguments.
        None => unsafe { real!(rand: fn() -> c_int)() },
    }
}

extern "C" fn next_long(_: &Frame) -> c_long {
    match next() {
        Some(number) => number.into(),
        // SAFETY: the function takes no arguments.
        None => unsafe { real!(random: fn() -> c_long)() },
    }
}

extern "C" fn set_seed(seed: c_uint, _: &Frame) {
    let set = with_own(|own| (own.seed, own.stream) = (seed.into(), seed.into()));
    if set.is_none() {
        // SAFETY: `srandom` takes any number, and touches no memory of the program.
        unsafe { real!(srandom: fn(c_uint))(seed) };
        remember(seed.into());
    }
}

/// The first thread's seed, for its children.
fn remember(seed: u64) {
    if world::active() {
        let me = world::borrow().current;
        STREAMS.with(me, |own| own.seed = seed);
    } else {
        EARLY.store(seed, Ordering::Relaxed);
    }
}

/// # Safety
///
/// As `initstate`: `state` points to `bytes` bytes that stay.
unsafe extern "C" fn init_state(
    seed: c_uint,
    state: *mut c_char,
    bytes: usize,
    frame: &Frame,
) -> *mut c_char {
    only_first("initstate", frame);
    remember(seed.into());
    type Text = *mut c_char;
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { real!(initstate: fn(c_uint, Text, usize) -> Text)(seed, state, bytes) }
}

/// # Safety
///
/// As `setstate`: `state` points to what `initstate` has filled.
unsafe extern "C" fn set_state(state: *mut c_char, frame: &Frame) -> *mut c_char {
    only_first("setstate", frame);
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(setstate: fn(*mut c_char) -> *mut c_char)(state) }
}

/// Calls that only make sense for libc's streams.
fn only_first(call: &str, frame: &Frame) {
    if with_own(|_| {}).is_some() {
        let site = modules::site(frame.return_address);
        world::unsupported(call, site);
    }
}

extern "C" fn next_double(frame: &Frame) -> f64 {
    match next48(frame) {
        Some(number) => number as f64 / (1_u64 << 48) as f64,
        // SAFETY: the function takes no arguments.
        None => unsafe { real!(drand48: fn() -> f64)() },
    }
}

extern "C" fn next_unsigned48(frame: &Frame) -> c_long {
    match next48(frame) {
        Some(number) => (number >> 17) as c_long,
        // SAFETY: the function takes no arguments.
        None => unsafe { real!(lrand48: fn() -> c_long)() },
    }
}

extern "C" fn next_signed48(frame: &Frame) -> c_long {
    match next48(frame) {
        Some(number) => ((number >> 16) as i32).into(),
        // SAFETY: the function takes no arguments.
        None => unsafe { real!(mrand48: fn() -> c_long)() },
    }
}

/// A call uses or sets the stream of 48 bits. A variable stands for it, by a name that no variable of a program can have.
fn touched48(frame: &Frame) {
    #[cfg_attr(not(test), unsafe(export_name = "drand48.state"))]
    static STATE48: u64 = 0;
    if world::active() {
        spin::disturbed();
        let place = &raw const STATE48 as usize;
        range(place, size_of::<u64>(), true, &call_sites::frame(frame));
    }
}

extern "C" fn set_seed48(seed: c_long, frame: &Frame) {
    touched48(frame);
    let set = with_own(|own| own.stream48 = (seed as u64 & 0xffff_ffff) << 16 | 0x330e);
    if set.is_none() {
        // SAFETY: `srand48` takes any number, and touches no memory of the program.
        unsafe { real!(srand48: fn(c_long))(seed) };
        remember(seed as u64);
    }
}

/// # Safety
///
/// As `seed48`: `state` points to three numbers.
unsafe extern "C" fn set_state48(state: *mut c_ushort, frame: &Frame) -> *mut c_ushort {
    touched48(frame);
    only_first("seed48", frame);
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(seed48: fn(*mut c_ushort) -> *mut c_ushort)(state) }
}

/// # Safety
///
/// As `lcong48`: `state` points to seven numbers.
unsafe extern "C" fn set_all48(state: *mut c_ushort, frame: &Frame) {
    touched48(frame);
    only_first("lcong48", frame);
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(lcong48: fn(*mut c_ushort))(state) };
}

/// Those whose stream is the program's own memory.
macro_rules! of_own {
    ($($name:ident => $real:ident, $result:ty;)*) => {$(
        /// # Safety
        ///
        /// As the function that it stands for: `stream` points to three numbers.
        unsafe extern "C" fn $name(stream: *mut [c_ushort; 3], frame: &Frame) -> $result {
            range(stream as usize, size_of::<[c_ushort; 3]>(), true, frame);
            // SAFETY: this function's own argument, with the same contract.
            unsafe { real!($real: fn(*mut [c_ushort; 3]) -> $result)(stream) }
        }
    )*};
}

of_own! {
    next_double_of => erand48, f64;
    next_unsigned_of => nrand48, c_long;
    next_signed_of => jrand48, c_long;
}
