//! Random numbers. All threads draw from libc's own streams, which every run starts over, so a number depends on the draws before it.
//!
//! The stream of `rand` and `random` is an object of the model where threads use it in no order ([`Rule::Random`]). That of `drand48`
//! and its like is memory without a lock: such calls race.

use crate::{
    core::{
        cell::{self, RunValue},
        modules,
        trampoline::Frame,
    },
    kernel::file_objects,
    real,
    run::{accesses::range, call_sites, rules, spin, world},
    trampoline,
};
use core::ffi::{c_char, c_int, c_long, c_uint, c_ushort};
use reweave_model::ThreadId;
use reweave_wire::Rule;

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

/// Who used the stream of `rand` last in this run, and in which epoch.
static LAST: RunValue<Option<(ThreadId, u32)>> = RunValue::new(None);

/// A new run.
pub fn clear() {
    LAST.set(None);
}

/// The running thread uses the stream of `rand`.
fn draws(frame: &Frame) {
    spin::disturbed();
    cell::changed();
    if !world::active() {
        return;
    }
    if rules::holds(Rule::Random) {
        file_objects::touch(file_objects::RANDOM, modules::site(frame.return_address));
        return;
    }
    let ordered = {
        let world = world::borrow();
        let me = world.current;
        let before = LAST.get();
        LAST.set(Some((me, world.races.epoch(me))));
        let clock = world.races.clock(me);
        before.is_none_or(|(thread, epoch)| {
            let seen = clock.get(thread.index());
            thread == me || seen.is_some_and(|seen| *seen >= epoch)
        })
    };
    if !ordered {
        rules::needs(Rule::Random);
    }
}

extern "C" fn next_int(frame: &Frame) -> c_int {
    draws(frame);
    // SAFETY: the function takes no arguments.
    unsafe { real!(rand: fn() -> c_int)() }
}

extern "C" fn next_long(frame: &Frame) -> c_long {
    draws(frame);
    // SAFETY: the function takes no arguments.
    unsafe { real!(random: fn() -> c_long)() }
}

extern "C" fn set_seed(seed: c_uint, frame: &Frame) {
    draws(frame);
    // SAFETY: `srandom` takes any number, and touches no memory of the program.
    unsafe { real!(srandom: fn(c_uint))(seed) };
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
    draws(frame);
    type Text = *mut c_char;
    // SAFETY: this function's own arguments, with the same contract.
    unsafe { real!(initstate: fn(c_uint, Text, usize) -> Text)(seed, state, bytes) }
}

/// # Safety
///
/// As `setstate`: `state` points to what `initstate` has filled.
unsafe extern "C" fn set_state(state: *mut c_char, frame: &Frame) -> *mut c_char {
    draws(frame);
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(setstate: fn(*mut c_char) -> *mut c_char)(state) }
}

extern "C" fn next_double(frame: &Frame) -> f64 {
    touched48(frame);
    // SAFETY: the function takes no arguments.
    unsafe { real!(drand48: fn() -> f64)() }
}

extern "C" fn next_unsigned48(frame: &Frame) -> c_long {
    touched48(frame);
    // SAFETY: the function takes no arguments.
    unsafe { real!(lrand48: fn() -> c_long)() }
}

extern "C" fn next_signed48(frame: &Frame) -> c_long {
    touched48(frame);
    // SAFETY: the function takes no arguments.
    unsafe { real!(mrand48: fn() -> c_long)() }
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
    // SAFETY: `srand48` takes any number, and touches no memory of the program.
    unsafe { real!(srand48: fn(c_long))(seed) };
}

/// # Safety
///
/// As `seed48`: `state` points to three numbers.
unsafe extern "C" fn set_state48(state: *mut c_ushort, frame: &Frame) -> *mut c_ushort {
    touched48(frame);
    // SAFETY: this function's own argument, with the same contract.
    unsafe { real!(seed48: fn(*mut c_ushort) -> *mut c_ushort)(state) }
}

/// # Safety
///
/// As `lcong48`: `state` points to seven numbers.
unsafe extern "C" fn set_all48(state: *mut c_ushort, frame: &Frame) {
    touched48(frame);
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
