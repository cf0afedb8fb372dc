//! Named semaphores, of this process alone: none exists when a run begins.
//!
//! Opening, closing and unlinking are steps of one hidden atomic, so what they find follows from their order.

use crate::{
    calls::sync::semaphores::{self, SHAPE, model},
    core::{cell::RunCell, per_process::ProcessChange, sys, trampoline::Frame},
    outside_run, real,
    run::{
        call_sites,
        hidden_objects::Hidden,
        operations::{failed, visible},
    },
    shared::c_text::text,
    trampoline,
};
use alloc::{string::String, vec::Vec};
use core::{
    ffi::{c_char, c_int, c_uint},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use libc::sem_t as Semaphore;
use reweave_model::{Op, Rmw, RmwKind, Site};

trampoline! {
    sem_open => open, "r8";
    sem_close => close, "rsi";
    sem_unlink => unlink, "rsi";
}

/// Those of this run, in the order of their memory; what is closed and unlinked stays.
static ALL: RunCell<Vec<Named>> = RunCell::new(Vec::new());

/// A new run.
pub fn clear() {
    ALL.borrow().clear();
}

struct Named {
    /// `None`: it was unlinked.
    name: Option<String>,
    /// How often it was opened and not closed.
    opened: u32,
}

/// A forked process has open what its parent has.
pub fn process_changes(change: ProcessChange) {
    if matches!(change, ProcessChange::Fork { .. }) {
        ALL.borrow().iter_mut().for_each(|named| named.opened *= 2);
    }
}

/// How many a run can have.
const MOST: usize = 256;
/// The longest name.
const LONGEST: usize = 251;
const LARGEST: c_uint = i32::MAX as c_uint;

/// Where they lie: memory that counts as the program's, and that nothing else uses.
const ROOM_AT: usize = sys::FOR_ALL.start;
/// Their memory. What a run leaves there is overwritten by the next run that opens so many.
static ROOM: AtomicPtr<Semaphore> = AtomicPtr::new(ptr::null_mut());

/// Once, before memory is copied.
pub fn prepare() {
    let room = sys::map_for_all(ROOM_AT, MOST * size_of::<Semaphore>());
    let room = room.unwrap_or_else(|| crate::give_up(format_args!("there is no memory")));
    ROOM.store(room.cast(), Ordering::Relaxed);
}

fn place(index: usize) -> *mut Semaphore {
    ROOM.load(Ordering::Relaxed).wrapping_add(index)
}

/// The running thread is about to do something with names, before or after what others do.
fn step(site: Site) {
    let next = Rmw {
        kind: RmwKind::Add,
        operand: 1,
        bits: 64,
    };
    visible(Op::Rmw(Hidden::Names.object(), next), site);
}

fn find(name: &str) -> Option<usize> {
    let named = |known: &Named| known.name.as_deref() == Some(name);
    ALL.borrow().iter().position(named)
}

/// # Safety
///
/// As `sem_open`: `name` ends with a nul.
unsafe extern "C" fn open(
    name: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
    count: c_uint,
    frame: &Frame,
) -> *mut Semaphore {
    outside_run!(sem_open: fn(name: *const c_char, flags: c_int, mode: libc::mode_t, count: c_uint) -> *mut Semaphore);
    // SAFETY: `name` ends with a nul, by this function's contract.
    let name = unsafe { text(name) };
    step(call_sites::site(&frame.return_address));
    match open_named(name.trim_start_matches('/'), flags, count) {
        Ok(index) => place(index),
        Err(error) => {
            failed(error);
            ptr::null_mut()
        }
    }
}

/// Which one it is, or an error number.
fn open_named(name: &str, flags: c_int, count: c_uint) -> Result<usize, c_int> {
    if name.is_empty() || name.contains('/') {
        return Err(libc::EINVAL);
    }
    if name.len() > LONGEST {
        return Err(libc::ENAMETOOLONG);
    }
    let only_new = libc::O_CREAT | libc::O_EXCL;
    match find(name) {
        Some(_) if flags & only_new == only_new => Err(libc::EEXIST),
        Some(index) => {
            ALL.borrow()[index].opened += 1;
            Ok(index)
        }
        None if flags & libc::O_CREAT == 0 => Err(libc::ENOENT),
        None if count > LARGEST => Err(libc::EINVAL),
        None if ALL.borrow().len() == MOST => Err(libc::EMFILE),
        None => Ok(make(name, count)),
    }
}

fn make(name: &str, count: c_uint) -> usize {
    let index = {
        let mut all = ALL.borrow();
        all.push(Named {
            name: Some(name.into()),
            opened: 1,
        });
        all.len() - 1
    };
    let semaphore = place(index);
    // SAFETY: the place lies in the room that `prepare` mapped, and no semaphore of this run lies there yet.
    unsafe {
        ptr::write_bytes(semaphore, 0, 1);
        real!(sem_init: fn(*mut Semaphore, c_int, c_uint) -> c_int)(semaphore, 0, count);
    }
    SHAPE.appeared(semaphore as usize, model(semaphore));
    index
}

/// # Safety
///
/// As `sem_close`: outside of runs, `semaphore` points to a semaphore.
unsafe extern "C" fn close(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    outside_run!(sem_close: fn(semaphore: *mut Semaphore) -> c_int);
    let site = call_sites::site(&frame.return_address);
    step(site);
    let count = ALL.borrow().len();
    let Some(index) = (0..count).find(|index| place(*index) == semaphore) else {
        return failed(libc::EINVAL);
    };
    let gone = {
        let known = &mut ALL.borrow()[index];
        if known.opened == 0 {
            return failed(libc::EINVAL);
        }
        known.opened -= 1;
        known.opened == 0 && known.name.is_none()
    };
    if gone {
        // The last thread that closes it comes after all that have closed it before.
        SHAPE.disappeared(semaphores::find(semaphore, site), site);
    }
    0
}

/// # Safety
///
/// As `sem_unlink`: `name` ends with a nul.
unsafe extern "C" fn unlink(name: *const c_char, frame: &Frame) -> c_int {
    outside_run!(sem_unlink: fn(name: *const c_char) -> c_int);
    // SAFETY: `name` ends with a nul, by this function's contract.
    let name = unsafe { text(name) };
    step(call_sites::site(&frame.return_address));
    let Some(index) = find(name.trim_start_matches('/')) else {
        return failed(libc::ENOENT);
    };
    ALL.borrow()[index].name = None;
    0
}
