//! Keys for values of threads (`pthread_key_create`), and the destructors of these values.
//!
//! The values are libc's own, in the memory of each thread. The destructors are called here, since libc would call them at the end
//! of a real thread.

use crate::{
    core::{
        per_process::{PerProcess, ProcessChange},
        program_start,
        trampoline::Frame,
    },
    kernel::{file_names, file_objects, passed_calls::passes},
    real,
    run::{accesses, call_sites, rules, spin, world},
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int, c_uint, c_void};
use reweave_model::Site;
use reweave_wire::Rule;

trampoline! {
    pthread_key_create => create, "rdx";
    pthread_key_delete => delete, "rsi";
}

passes! {
    pthread_setspecific => set;
    tss_set => set;
    pthread_getspecific => get;
    tss_get => get;
}

pub(crate) type Destructor = unsafe extern "C" fn(*mut c_void);

/// Destructors by key.
type Destructors = Vec<Option<Destructor>>;

/// Of this run.
static DESTRUCTORS: PerProcess<Destructors> = PerProcess::new(Vec::new());
/// As `main` finds them.
static EARLY: PerProcess<Destructors> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    DESTRUCTORS.change(change);
    EARLY.change(change);
}

/// A new run.
pub fn clear() {
    DESTRUCTORS.borrow().clone_from(&EARLY.borrow());
}

/// The destructors as they are now.
fn destructors() -> &'static PerProcess<Destructors> {
    match world::active() {
        true => &DESTRUCTORS,
        false => &EARLY,
    }
}

/// Destroys what the running thread has stored under keys.
pub fn destroy_values() {
    /// As POSIX has it.
    const ROUNDS: usize = 4;
    let ended = Site(world::borrow().me().created);
    for _ in 0..ROUNDS {
        if !destroy_once(ended) {
            return;
        }
    }
}

/// Calls the destructors of all values that are not null; whether there were any.
fn destroy_once(site: Site) -> bool {
    let mut found = false;
    let mut key = 0;
    loop {
        look_at_keys(site);
        let next = destructors().borrow().get(key as usize).copied();
        let Some(destroy) = next else {
            return found;
        };
        let value = value_of(key);
        if let Some(destroy) = destroy
            && !value.is_null()
        {
            found = true;
            // SAFETY: the key exists, since it has a destructor, and null is a value; the program gave the destructor for such
            // values. No borrow is alive.
            unsafe {
                real!(pthread_setspecific: fn(c_uint, usize) -> c_int)(key, 0);
                destroy(value);
            }
        }
        key += 1;
    }
}

/// Where keys are deleted while there are other threads, a thread that uses one looks whether it exists.
fn look_at_keys(site: Site) {
    if rules::holds(Rule::Keys) {
        file_objects::look_at(file_objects::KEYS, site);
    }
}

fn value_of(key: c_uint) -> *mut c_void {
    // SAFETY: `pthread_getspecific` takes any number, and answers null for one that is no key.
    unsafe { real!(pthread_getspecific: fn(c_uint) -> *mut c_void)(key) }
}

/// A thread stores something under a key, which may be the value that it has there already.
fn set(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    look_at_keys(call_sites::site(from));
    if value_of(arguments[0] as c_uint) as usize != arguments[1] {
        spin::disturbed();
    }
}

fn get(_: &'static CStr, _: &[usize; 6], from: &usize) {
    if rules::holds(Rule::Keys) {
        look_at_keys(call_sites::site(from));
    }
}

/// # Safety
///
/// As `pthread_key_create`: `key` points to room for a key, `destroy` can be called with what is stored under it.
pub(super) unsafe extern "C" fn create(
    key: *mut c_uint,
    destroy: Option<Destructor>,
    frame: &Frame,
) -> c_int {
    if world::active() {
        file_objects::touch(file_objects::KEYS, call_sites::site(&frame.return_address));
    }
    let real = real!(pthread_key_create: fn(*mut c_uint, Option<Destructor>) -> c_int);
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(key, destroy) };
    if result == 0 && program_start::driven() {
        // SAFETY: the call went well, so `key` points to a key.
        let index = unsafe { *key } as usize;
        {
            let mut destructors = destructors().borrow();
            if destructors.len() <= index {
                destructors.resize(index + 1, None);
            }
            destructors[index] = destroy;
        }
        accesses::range(key as usize, size_of::<c_uint>(), true, frame);
    }
    result
}

pub(super) extern "C" fn delete(key: c_uint, frame: &Frame) -> c_int {
    if world::active() && !file_names::alone() {
        rules::needs(Rule::Keys);
        file_objects::touch(file_objects::KEYS, call_sites::site(&frame.return_address));
    }
    if program_start::driven()
        && let Some(destroy) = destructors().borrow().get_mut(key as usize)
    {
        *destroy = None;
    }
    // SAFETY: `pthread_key_delete` takes any number, and answers EINVAL for one that is no key.
    unsafe { real!(pthread_key_delete: fn(c_uint) -> c_int)(key) }
}
