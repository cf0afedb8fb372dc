//! Functions that run at the end of the process: `atexit` and its family, destructors of C++ globals, functions with the attribute
//! `destructor`.
//!
//! The function that was registered last is called first. Where several threads register functions in no order, each order is
//! explored, once a run has shown two threads at it.

use crate::{
    core::{
        cell::{ASIDE, RunCell},
        families::PointerVisitor,
        modules,
        per_process::{PerProcess, ProcessChange},
        program_start,
        trampoline::Frame,
    },
    kernel::file_objects,
    outside_run, real,
    run::{call_sites, rules, world},
    trampoline,
};
use alloc::vec::Vec;
use core::{
    ffi::{c_int, c_void},
    ptr,
};
use reweave_model::{Identity, Site, ThreadId};
use reweave_wire::Rule;

trampoline! {
    __cxa_atexit => at_exit, "rcx";
    on_exit => at_exit_with_status, "rdx";
    __cxa_at_quick_exit => at_quick_exit, "rdx";
    __cxa_finalize => finalize, "rsi";
}

type CxaFunction = unsafe extern "C" fn(*mut c_void, c_int);
type OnExitFunction = unsafe extern "C" fn(c_int, *mut c_void);

/// A function to be called at the end.
#[derive(Clone, Copy)]
enum Handler {
    /// With its argument, and the module that it belongs to.
    Cxa(CxaFunction, *mut c_void, *mut c_void),
    On(OnExitFunction, *mut c_void),
}

impl Handler {
    fn call(self, status: c_int) {
        // SAFETY: the program registered the function for this, with this argument. No borrow is alive.
        unsafe {
            match self {
                Handler::Cxa(function, argument, _) => function(argument, status),
                Handler::On(function, argument) => function(status, argument),
            }
        }
    }
}

/// What a state holds of the handlers that are still to be called.
pub fn identify(out: &mut Identity) {
    let registered = REGISTERED.borrow();
    for handler in registered.handlers.iter().chain(&registered.quick) {
        let (function, argument) = match *handler {
            Handler::Cxa(function, argument, _) => (function as usize, argument),
            Handler::On(function, argument) => (function as usize, argument),
        };
        out.word(function as u64);
        out.word(argument as u64);
    }
    out.word((registered.handlers.len() as u64) << 32 | registered.early_done as u64);
    for thread in &registered.threads {
        out.word(u64::from(thread.0));
    }
    out.word(registered.threads.len() as u64);
}

/// Passes the arguments of handlers that are still to be called.
pub fn each_kept(each: &mut PointerVisitor<'_>) {
    let registered = REGISTERED.borrow();
    for handler in registered.handlers.iter().chain(&registered.quick) {
        let (Handler::Cxa(_, argument, _) | Handler::On(_, argument)) = handler;
        each(*argument as usize);
    }
}

/// Handlers of this run.
#[derive(Clone)]
struct Registered {
    handlers: Vec<Handler>,
    quick: Vec<Handler>,
    /// How many of those from before `main` were called.
    early_done: usize,
    /// Threads that registered or called handlers while there were others.
    threads: Vec<ThreadId>,
}

static REGISTERED: PerProcess<Registered, ASIDE> = PerProcess::new(Registered {
    handlers: Vec::new(),
    quick: Vec::new(),
    early_done: 0,
    threads: Vec::new(),
});

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    REGISTERED.change(change);
}

/// What was there before `main`.
struct Early {
    /// Oldest first: destructors of C++ globals, of the program and its libraries.
    handlers: Vec<Handler>,
    /// Functions of the program with the attribute `destructor`, in the order in which they are called.
    finishers: Vec<unsafe extern "C" fn()>,
}

static EARLY: RunCell<Early> = RunCell::new(Early {
    handlers: Vec::new(),
    finishers: Vec::new(),
});

/// A new run.
pub fn clear() {
    let mut registered = REGISTERED.borrow();
    registered.handlers.clear();
    registered.quick.clear();
    registered.early_done = 0;
    registered.threads.clear();
}

/// Finds the functions that the loader would call at the end. Once in each process.
pub fn prepare() {
    /// # Safety
    ///
    /// `info` is the loader's entry for a loaded module.
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, _: *mut c_void) -> c_int {
        // SAFETY: `info` is the entry of a loaded module, whose program headers and dynamic section are mapped.
        unsafe {
            let info = &*info;
            let start = info.dlpi_addr as usize;
            let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            let is_dynamic = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_DYNAMIC;
            let Some(dynamic) = headers.iter().find(is_dynamic) else {
                return 0;
            };
            let dynamic = start + dynamic.p_vaddr as usize;
            let of_library = modules::is_library(dynamic);
            if !of_library {
                add_finishers(dynamic as *const [usize; 2], start);
            }
        }
        0
    }
    EARLY.borrow().finishers.clear();
    // SAFETY: `add` has the type that is asked for, and no borrow is alive.
    unsafe { libc::dl_iterate_phdr(Some(add), ptr::null_mut()) };
}

/// Adds a module's functions. One of them is the compiler's own, which has nothing to do in a run.
///
/// # Safety
///
/// `entry` is the first entry of the dynamic section of a module that is loaded at `start`.
unsafe fn add_finishers(mut entry: *const [usize; 2], start: usize) {
    const FINI_ARRAY: usize = 26;
    const FINI_ARRAY_BYTES: usize = 28;
    let (mut list, mut bytes) = (0, 0);
    // SAFETY: an entry with tag 0 is the last of the section; the list that it names holds functions of the module.
    unsafe {
        loop {
            match *entry {
                [0, _] => break,
                [FINI_ARRAY, value] => list = start + value,
                [FINI_ARRAY_BYTES, value] => bytes = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if bytes > 8 {
            let list =
                core::slice::from_raw_parts(list as *const unsafe extern "C" fn(), bytes / 8);
            EARLY.borrow().finishers.extend(list.iter().rev());
        }
    }
}

/// The running thread is about to register a handler, or to call the next one.
fn order_with_others(site: Site) {
    let me = {
        let world = world::borrow();
        if world.races.alone(world.current) {
            return;
        }
        world.current
    };
    let others = {
        let threads = &mut REGISTERED.borrow().threads;
        let others = threads.iter().any(|thread| *thread != me);
        if !threads.contains(&me) {
            threads.push(me);
        }
        others
    };
    if others {
        rules::needs(Rule::Handlers);
    }
    if rules::holds(Rule::Handlers) {
        file_objects::touch(file_objects::HANDLERS, site);
    }
}

fn register(handler: Handler, frame: &Frame) -> c_int {
    if world::active() {
        order_with_others(call_sites::site(&frame.return_address));
        REGISTERED.borrow().handlers.push(handler);
    } else {
        EARLY.borrow().handlers.push(handler);
    }
    0
}

/// # Safety
///
/// As `__cxa_atexit`: `function` can be called with `argument` until the module `object` is unloaded.
unsafe extern "C" fn at_exit(
    function: CxaFunction,
    argument: *mut c_void,
    object: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !program_start::driven() {
        let real = real!(__cxa_atexit: fn(CxaFunction, *mut c_void, *mut c_void) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(function, argument, object) };
    }
    register(Handler::Cxa(function, argument, object), frame)
}

/// # Safety
///
/// As `on_exit`: `function` can be called with `argument`.
unsafe extern "C" fn at_exit_with_status(
    function: OnExitFunction,
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !program_start::driven() {
        let real = real!(on_exit: fn(OnExitFunction, *mut c_void) -> c_int);
        // SAFETY: this function's own arguments, with the same contract.
        return unsafe { real(function, argument) };
    }
    register(Handler::On(function, argument), frame)
}

/// # Safety
///
/// As `__cxa_at_quick_exit`: `function` can be called until the module `object` is unloaded.
unsafe extern "C" fn at_quick_exit(
    function: CxaFunction,
    object: *mut c_void,
    frame: &Frame,
) -> c_int {
    outside_run!(__cxa_at_quick_exit: fn(function: CxaFunction, object: *mut c_void) -> c_int);
    order_with_others(call_sites::site(&frame.return_address));
    let handler = Handler::Cxa(function, ptr::null_mut(), object);
    REGISTERED.borrow().quick.push(handler);
    0
}

/// Called by a module's own destructor. At the end of the process its handlers were called already.
///
/// # Safety
///
/// As `__cxa_finalize`: `object` is null or the handle of a module.
unsafe extern "C" fn finalize(object: *mut c_void, _: &Frame) {
    if !program_start::driven() {
        // SAFETY: this function's own argument, with the same contract.
        unsafe { real!(__cxa_finalize: fn(*mut c_void))(object) };
    }
    let of_it =
        |handler: &Handler| matches!(handler, Handler::Cxa(.., module) if *module == object);
    let next = || {
        if !world::active() {
            return None;
        }
        let handlers = &mut REGISTERED.borrow().handlers;
        let index = handlers.iter().rposition(of_it)?;
        Some(handlers.remove(index))
    };
    while let Some(handler) = next() {
        handler.call(0);
    }
}

/// The process ends: calls all handlers, and then what the loader would call.
pub fn run_all(status: c_int, site: Site) {
    while let Some(handler) = next_handler(site) {
        handler.call(status);
    }
    let finishers = EARLY.borrow().finishers.len();
    for index in 0..finishers {
        let function = EARLY.borrow().finishers[index];
        // SAFETY: one of the functions that the loader would call now. No borrow is alive.
        unsafe { function() };
    }
}

/// `quick_exit` ends the process: calls the handlers for that.
pub fn run_quick(status: c_int, site: Site) {
    let next = || {
        order_with_others(site);
        REGISTERED.borrow().quick.pop()
    };
    while let Some(handler) = next() {
        handler.call(status);
    }
}

fn next_handler(site: Site) -> Option<Handler> {
    order_with_others(site);
    let mut registered = REGISTERED.borrow();
    if let Some(handler) = registered.handlers.pop() {
        return Some(handler);
    }
    let early = EARLY.borrow();
    let left = early.handlers.len() - registered.early_done;
    let handler = *early.handlers[..left].last()?;
    registered.early_done += 1;
    Some(handler)
}
