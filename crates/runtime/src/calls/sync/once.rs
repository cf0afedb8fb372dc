//! One-time initialisation: `pthread_once`, and the guards of C++'s function-local statics.
//!
//! An initialiser that throws, or whose thread ends in it, has not initialised anything; the next one tries again. Rust frames let
//! exceptions pass but do not notice them, so a frame with a personality of its own calls the initialiser.

use crate::{
    core::{
        families::Birth,
        modules,
        objects::{Found, Sort},
        per_thread::PerThread,
        trampoline::Frame,
    },
    outside_run, real,
    run::{
        atomic_objects, call_sites,
        operations::{misuse, visible},
        spin,
        world::{self, World},
    },
    trampoline,
};
use alloc::vec::Vec;
use core::{
    arch::naked_asm,
    ffi::{c_int, c_void},
};
use reweave_model::{Object, ObjectId, OnceState, Op, Site};

trampoline! {
    pthread_once => once, "rdx";
    __cxa_guard_acquire => acquire, "rsi";
    __cxa_guard_release => release, "rsi";
    __cxa_guard_abort => abort, "rsi";
}

/// The initialisations that each thread is in, with their variables, innermost last.
static UNDER_WAY: PerThread<Vec<(ObjectId, *mut c_int, Site)>> = PerThread::new();

/// A new run.
pub fn clear() {
    UNDER_WAY.clear();
}

pub fn thread_begins(birth: &Birth) {
    UNDER_WAY.take_over(birth);
}

type Initialiser = extern "C" fn();

/// What the variable of `pthread_once` holds.
const NEW: c_int = 0;
const RUNNING: c_int = 1;
const DONE: c_int = 2;

/// What [`Op::OnceBegin`] returns when it was done before.
const ALREADY: u64 = 1;

fn begin(object: ObjectId, site: Site) -> bool {
    let op = Op::OnceBegin {
        object,
        force: true,
    };
    visible(op, site).result != ALREADY
}

fn end(object: ObjectId, done: bool, site: Site) {
    visible(Op::OnceEnd(object, done), site);
}

/// The object at an address, whose memory says whether the initialisation is `done`. If the object was done and its memory is new
/// again, it is another object. Memory says so before the last event of an initialisation, so an object under way stays the same.
fn object(world: &mut World, address: usize, done: bool) -> ObjectId {
    if let Found::Object(object) = world.objects.find(address, 4, Sort::Once) {
        let same = match world.run.state().object(object) {
            Object::Once(OnceState::Running(_)) => true,
            state => done == (*state == Object::Once(OnceState::Done)),
        };
        if same {
            return object;
        }
    }
    let state = if done {
        OnceState::Done
    } else {
        OnceState::New
    };
    world.make(address, 4, Sort::Once, Object::Once(state))
}

/// # Safety
///
/// As `pthread_once`: `control` points to a variable for this, `routine` can be called.
pub(super) unsafe extern "C" fn once(
    control: *mut c_int,
    routine: Initialiser,
    frame: &Frame,
) -> c_int {
    if !world::active() || by_unwinder(frame.return_address) {
        let real = real!(pthread_once: fn(*mut c_int, Initialiser) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(control, routine) };
    }
    let site = modules::site(frame.return_address);
    // SAFETY: `control` points to a variable, by this function's contract.
    let word = unsafe { *control };
    // Higher bits count forks.
    if !matches!(word, NEW | RUNNING) && word & 3 != DONE {
        let message = "{0} is used and was never initialised";
        misuse("uninitialised", message, control as usize, site);
    }
    let object = object(&mut world::borrow(), control as usize, word & 3 == DONE);
    if !begin(object, site) {
        return 0;
    }
    let me = world::borrow().current;
    UNDER_WAY.with(me, |all| all.push((object, control, site)));
    // SAFETY: `control` points to a variable and `routine` can be called, by this function's contract. No borrow is alive.
    unsafe {
        set(control, RUNNING);
        call(routine);
        set(control, DONE);
    }
    UNDER_WAY.with(me, Vec::pop);
    end(object, true, site);
    0
}

/// # Safety
///
/// `control` points to a variable of `pthread_once`.
unsafe fn set(control: *mut c_int, word: c_int) {
    spin::foreign(control as usize, size_of::<c_int>());
    // SAFETY: `control` points to a variable, by this function's contract.
    unsafe { *control = word };
}

/// Whether the unwinder of exceptions calls from there. It initialises tables of its own at the first exception of a run, which the
/// program cannot observe.
fn by_unwinder(address: usize) -> bool {
    call_sites::library(address, "/libgcc_s.so")
}

/// Calls an initialiser, which may throw.
///
/// # Safety
///
/// `routine` can be called.
#[unsafe(naked)]
unsafe extern "C" fn call(routine: Initialiser) {
    naked_asm!(
        ".cfi_startproc",
        // Relative to where it stands, four bytes.
        ".cfi_personality 0x1b, {noticed}",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call rdi",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        noticed = sym noticed,
    )
}

/// Something is thrown through [`call`], or its thread ends: called for the frame, first to look for a handler, then to clean up.
extern "C" fn noticed(_: c_int, phase: c_int, _: u64, _: *mut c_void, _: *mut c_void) -> c_int {
    const CLEANING: c_int = 2;
    const GO_ON: c_int = 8;
    if phase & CLEANING == 0 {
        return GO_ON;
    }
    let me = world::borrow().current;
    if let Some((object, control, site)) = UNDER_WAY.with(me, Vec::pop) {
        // SAFETY: the call of `pthread_once` with this variable has not returned.
        unsafe { set(control, NEW) };
        end(object, false, site);
    }
    GO_ON
}

/// The object of a guard. A guard is eight bytes: compiled code looks at the first, which is 1 when all is done. The object of the
/// model lies in the second half.
///
/// # Safety
///
/// `guard` points to a guard.
unsafe fn guarded(guard: *mut u8) -> ObjectId {
    // SAFETY: `guard` points to a guard, by this function's contract.
    let done = unsafe { *guard } != 0;
    let mut world = world::borrow();
    if let Found::Object(byte) = world.objects.find(guard as usize, 1, Sort::Atomic) {
        world.about(byte).guard = true;
    }
    object(&mut world, guard as usize + 4, done)
}

/// # Safety
///
/// As `__cxa_guard_acquire`: `guard` points to a guard.
unsafe extern "C" fn acquire(guard: *mut u8, frame: &Frame) -> c_int {
    outside_run!(__cxa_guard_acquire: fn(guard: *mut u8) -> c_int);
    let site = modules::site(frame.return_address);
    // SAFETY: `guard` points to a guard, by this function's contract.
    begin(unsafe { guarded(guard) }, site).into()
}

/// # Safety
///
/// As `__cxa_guard_release`: `guard` points to a guard that the running thread has acquired.
unsafe extern "C" fn release(guard: *mut u8, frame: &Frame) {
    outside_run!(__cxa_guard_release: fn(guard: *mut u8));
    let site = modules::site(frame.return_address);
    // SAFETY: `guard` points to a guard, by this function's contract.
    let (object, before) = unsafe { (guarded(guard), *guard) };
    let byte = atomic_objects::atomic(guard as usize, 1, before.into(), site);
    visible(Op::Store(byte, 1), site);
    // SAFETY: `guard` points to a guard, by this function's contract.
    unsafe { *guard = 1 };
    end(object, true, site);
}

/// # Safety
///
/// As `__cxa_guard_abort`: `guard` points to a guard that the running thread has acquired.
unsafe extern "C" fn abort(guard: *mut u8, frame: &Frame) {
    outside_run!(__cxa_guard_abort: fn(guard: *mut u8));
    let site = modules::site(frame.return_address);
    // SAFETY: `guard` points to a guard, by this function's contract.
    end(unsafe { guarded(guard) }, false, site);
}
