//! One-time initialisation: `pthread_once`, and the guards of C++'s function-local statics.
//!
//! An initialiser that throws, or whose thread ends in it, has not initialised anything; the next one tries again. Rust frames let
//! exceptions pass but do not notice them, so the initialiser is called by a frame whose personality does.

use crate::{
    core::{
        call_sites,
        objects::{Found, Sort},
        operations::misuse,
        spin,
        world::{self, World, perform},
    },
    hooks::Frame,
    real, trampoline,
};
use alloc::vec::Vec;
use core::{
    arch::naked_asm,
    ffi::{c_int, c_void},
};
use reweave_model::{Gate, Object, ObjectId, OnceState, Op, Order, Site};

trampoline! {
    pthread_once => once, "rdx";
    __cxa_guard_acquire => acquire, "rsi";
    __cxa_guard_release => release, "rsi";
    __cxa_guard_abort => abort, "rsi";
}

/// What is kept of a thread.
#[derive(Default)]
pub struct Own {
    /// The initialisations that it is in, by their variables.
    under_way: Vec<(ObjectId, *mut c_int, Site)>,
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
    perform(op, Gate::Open, site, Order::SeqCst, None).result != ALREADY
}

fn end(object: ObjectId, done: bool, site: Site) {
    let op = Op::OnceEnd(object, done);
    perform(op, Gate::Open, site, Order::SeqCst, None);
}

/// The object at an address whose memory says whether it was done; one that was done and is new again is another one. Memory says so before
/// the last event of an initialisation: one that is under way stays what it is.
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

pub(crate) unsafe extern "C" fn once(
    control: *mut c_int,
    routine: Initialiser,
    frame: &Frame,
) -> c_int {
    if !world::active() || by_unwinder(frame.return_address) {
        let real = real!(pthread_once: fn(*mut c_int, Initialiser) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(control, routine) };
    }
    let world = world::get();
    let site = world.site(frame.return_address);
    // SAFETY: the program's own variable.
    let word = unsafe { *control };
    // Higher bits count forks.
    if !matches!(word, NEW | RUNNING) && word & 3 != DONE {
        let message = "{0} is used and was never initialised";
        misuse("uninitialised", message, control as usize, site);
    }
    let object = object(world, control as usize, word & 3 == DONE);
    if !begin(object, site) {
        return 0;
    }
    let own = &mut world::get().me().own_calls.once;
    own.under_way.push((object, control, site));
    // SAFETY: the program's own variable and function.
    unsafe {
        set(control, RUNNING);
        call(routine);
        set(control, DONE);
    }
    world::get().me().own_calls.once.under_way.pop();
    end(object, true, site);
    0
}

/// # Safety
/// It is the program's own variable.
unsafe fn set(control: *mut c_int, word: c_int) {
    spin::foreign(control as usize, size_of::<c_int>());
    // SAFETY: as promised.
    unsafe { *control = word };
}

/// Whether the unwinder of exceptions calls from there. It initialises tables of its own, at the first exception of a run; nobody can tell by whom.
fn by_unwinder(address: usize) -> bool {
    call_sites::library(address, "/libgcc_s.so")
}

/// Calls an initialiser, which may throw.
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
    let under_way = &mut world::get().me().own_calls.once.under_way;
    let left = under_way.pop_if(|_| phase & CLEANING != 0);
    if let Some((object, control, site)) = left {
        // SAFETY: the program's own variable.
        unsafe { set(control, NEW) };
        end(object, false, site);
    }
    GO_ON
}

/// A guard is eight bytes: compiled code looks at the first, which is 1 when all is done. The second half is where the model's object is.
fn guarded(guard: *mut u8) -> ObjectId {
    let world = world::get();
    if let Found::Object(byte) = world.objects.find(guard as usize, 1, Sort::Atomic) {
        world.about(byte).guard = true;
    }
    // SAFETY: the program's own variable.
    let done = unsafe { *guard } != 0;
    object(world, guard as usize + 4, done)
}

unsafe extern "C" fn acquire(guard: *mut u8, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(__cxa_guard_acquire: fn(*mut u8) -> c_int)(guard) };
    }
    let site = world::get().site(frame.return_address);
    begin(guarded(guard), site).into()
}

unsafe extern "C" fn release(guard: *mut u8, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(__cxa_guard_release: fn(*mut u8))(guard) };
    }
    let world = world::get();
    let site = world.site(frame.return_address);
    let object = guarded(guard);
    // SAFETY: the program's own variable.
    let before = unsafe { *guard };
    let byte = world.atomic(guard as usize, 1, before.into(), site);
    perform(Op::Store(byte, 1), Gate::Open, site, Order::SeqCst, None);
    // SAFETY: as above.
    unsafe { *guard = 1 };
    end(object, true, site);
}

unsafe extern "C" fn abort(guard: *mut u8, frame: &Frame) {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(__cxa_guard_abort: fn(*mut u8))(guard) };
    }
    let site = world::get().site(frame.return_address);
    end(guarded(guard), false, site);
}
