//! Named semaphores, of this process alone: none is there when a run begins.
//!
//! Opening, closing and unlinking are steps of one hidden atomic, so what they find follows from their order.

use crate::{
    calls::{
        process::process_end::text,
        sync::semaphores::{self, SHAPE, model},
        time::clocks::fail,
    },
    core::{call_sites, hidden_objects::Hidden, operations::visible, sys, world},
    hooks::Frame,
    real, trampoline,
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

/// Of a run.
#[derive(Default)]
pub struct State {
    /// In the order of their memory; what is closed and unlinked stays.
    all: Vec<Named>,
}

impl State {
    pub fn clear(&mut self) {
        self.all.clear();
    }
}

struct Named {
    /// `None`: it was unlinked.
    name: Option<String>,
    /// How often it was opened and not closed.
    opened: u32,
}

/// How many a run can have.
const MOST: usize = 256;
/// The longest name.
const LONGEST: usize = 251;
const LARGEST: c_uint = i32::MAX as c_uint;

/// Memory of the program's, as it were, that nothing else uses.
const ROOM_AT: usize = 0x30c0_0000_0000;
/// Where they lie. What a run leaves there is written over by the next one that opens so many.
static ROOM: AtomicPtr<Semaphore> = AtomicPtr::new(ptr::null_mut());

/// Once, before memory is copied.
pub fn prepare() {
    let room = sys::map(ROOM_AT, MOST * size_of::<Semaphore>());
    let room = room.unwrap_or_else(|| crate::give_up(format_args!("there is no memory")));
    ROOM.store(room.cast(), Ordering::Relaxed);
}

fn place(index: usize) -> *mut Semaphore {
    ROOM.load(Ordering::Relaxed).wrapping_add(index)
}

fn all() -> &'static mut Vec<Named> {
    &mut world::get().calls.named.all
}

/// Comes before or after what others do with names.
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
    all().iter().position(named)
}

unsafe extern "C" fn open(
    name: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
    count: c_uint,
    frame: &Frame,
) -> *mut Semaphore {
    if !world::active() {
        let real =
            real!(sem_open: fn(*const c_char, c_int, libc::mode_t, c_uint) -> *mut Semaphore);
        // SAFETY: the program's own arguments; what was not passed is not looked at.
        return unsafe { real(name, flags, mode, count) };
    }
    // SAFETY: the program's own text.
    let name = unsafe { text(name) };
    step(call_sites::site(&frame.return_address));
    match open_named(name.trim_start_matches('/'), flags, count) {
        Ok(index) => place(index),
        Err(error) => {
            fail(error);
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
            all()[index].opened += 1;
            Ok(index)
        }
        None if flags & libc::O_CREAT == 0 => Err(libc::ENOENT),
        None if count > LARGEST => Err(libc::EINVAL),
        None if all().len() == MOST => Err(libc::EMFILE),
        None => Ok(make(name, count)),
    }
}

fn make(name: &str, count: c_uint) -> usize {
    let index = all().len();
    all().push(Named {
        name: Some(name.into()),
        opened: 1,
    });
    let semaphore = place(index);
    // SAFETY: nobody uses that place yet in this run.
    unsafe {
        ptr::write_bytes(semaphore, 0, 1);
        real!(sem_init: fn(*mut Semaphore, c_int, c_uint) -> c_int)(semaphore, 0, count);
    }
    SHAPE.appeared(semaphore as usize, model(semaphore));
    index
}

unsafe extern "C" fn close(semaphore: *mut Semaphore, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sem_close: fn(*mut Semaphore) -> c_int)(semaphore) };
    }
    let site = call_sites::site(&frame.return_address);
    step(site);
    let index = (0..all().len()).find(|index| place(*index) == semaphore);
    let Some(known) = index.map(|index| &mut all()[index]) else {
        return fail(libc::EINVAL);
    };
    if known.opened == 0 {
        return fail(libc::EINVAL);
    }
    known.opened -= 1;
    if known.opened == 0 && known.name.is_none() {
        // Who closes it last is after all who have closed it before.
        SHAPE.disappeared(semaphores::find(semaphore, site), site);
    }
    0
}

unsafe extern "C" fn unlink(name: *const c_char, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(sem_unlink: fn(*const c_char) -> c_int)(name) };
    }
    // SAFETY: the program's own text.
    let name = unsafe { text(name) };
    step(call_sites::site(&frame.return_address));
    let Some(index) = find(name.trim_start_matches('/')) else {
        return fail(libc::ENOENT);
    };
    all()[index].name = None;
    0
}
