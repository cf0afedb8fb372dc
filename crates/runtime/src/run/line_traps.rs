//! Which lines are run: a trap stands where each one begins until it is run for the first time.
//!
//! *Decides:* when a trap is taken away. *Called by:* `entry`, before the program's own constructors, and the fault handler. *Owns:*
//! the bytes that the traps replaced, in the memory shared with the driver, which chose the places. *Invariants:* code can be
//! written only while a trap is put there or taken away; without a wish of the driver nothing is changed.

use crate::core::{channel, modules, restore::PAGE, sys};
use core::{
    ffi::{c_int, c_void},
    mem::MaybeUninit,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};
use reweave_wire::LineStart;

const TRAP: u8 = 0xcc;
const WRITABLE: c_int = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
const RUNNABLE: c_int = libc::PROT_READ | libc::PROT_EXEC;

/// Where the program was loaded.
static BASE: AtomicUsize = AtomicUsize::new(0);

/// Puts the traps there that the driver wants.
pub fn set() {
    if !channel::open() || channel::lines().is_empty() {
        return;
    }
    BASE.store(modules::loaded_at(), Relaxed);
    // SAFETY: `sigaction` reads `action`, a live local; zeros are a valid `sigaction`, and `before_main` has the signature that
    // SA_SIGINFO asks for.
    unsafe {
        let mut action = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        action.sa_sigaction = before_main as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        crate::real!(sigaction: fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int)(
            libc::SIGTRAP,
            &action,
            core::ptr::null_mut(),
        );
    }
    for word in channel::lines() {
        let start = LineStart(word.load(Relaxed));
        let place = (BASE.load(Relaxed) + start.offset() as usize) as *mut u8;
        // SAFETY: the driver names places where instructions of the program begin, by its line table.
        let byte = unsafe { place.read_volatile() };
        if !put(place, TRAP) {
            return;
        }
        word.store(start.set(byte).0, Relaxed);
    }
}

/// Changes a byte of code; whether that was allowed.
fn put(place: *mut u8, byte: u8) -> bool {
    let page = place as usize & !(PAGE - 1);
    // SAFETY: the byte is the first one of an instruction of the program, which no other thread runs meanwhile: one runs at a time, and
    // it is in this library now.
    unsafe {
        if !sys::protect(page, PAGE, WRITABLE) {
            return false;
        }
        place.write_volatile(byte);
        sys::protect(page, PAGE, RUNNABLE)
    }
}

/// The processor came to a trap that ends at an address. If it is one of these, its line counts as run, and the instruction that was
/// there is to be run: at the address that is returned.
pub fn reached(end: usize) -> Option<usize> {
    let place = end.checked_sub(1)?;
    let offset = place.checked_sub(BASE.load(Relaxed))?;
    let lines = channel::lines();
    let offset_of = |index: usize| LineStart(lines[index].load(Relaxed)).offset() as usize;
    let (mut low, mut high) = (0, lines.len());
    while low < high {
        let middle = low.midpoint(high);
        match offset_of(middle) < offset {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let word = lines.get(low)?;
    let start = LineStart(word.load(Relaxed));
    if start.offset() as usize != offset || !start.is_set() {
        return None;
    }
    // Forked processes share the words and have traps of their own, so it may have been reached before.
    word.store(start.reach().0, Relaxed);
    // A trap of the program's own stays one.
    let goes_on = start.byte() != TRAP && put(place as *mut u8, start.byte());
    goes_on.then_some(place)
}

/// # Safety
///
/// Called by the kernel as a signal handler with SA_SIGINFO.
unsafe extern "C" fn before_main(_: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a `ucontext_t` that belongs to this call of the handler alone.
    let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    let end = registers[libc::REG_RIP as usize] as usize;
    match reached(end) {
        Some(place) => registers[libc::REG_RIP as usize] = place as i64,
        None => crate::give_up(format_args!("a trap at {end:#x} before main")),
    }
}
