//! Threads: creation, the end of them, what is theirs alone.

use crate::{
    calls::{
        language::unwinding,
        libraries,
        process::{awaited_signals, process_end},
        sync::robust_mutexes,
        threads::cancellation,
    },
    core::{call_sites, entry, hidden_objects::Hidden, operations::visible, rules, spin, world},
    hooks::{Frame, accesses, passed_calls::passes},
    kernel::{file_mappings, file_names, file_objects, waits},
    real, trampoline,
};
use alloc::{boxed::Box, vec::Vec};
use core::{
    cell::UnsafeCell,
    ffi::{CStr, c_int, c_uint, c_void},
};
use libc::pthread_t as Handle;
use reweave_model::{Op, Site, ThreadId};
use reweave_wire::{Note, Rule};

trampoline! {
    pthread_create => create, "r8";
    pthread_exit => exit, "rsi";
    pthread_key_create => key_create, "rdx";
    pthread_key_delete => key_delete, "rsi";
    __cxa_thread_atexit_impl => at_thread_exit, "rcx";
}

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Destructors of keys, by key.
    keys: Vec<Option<Destructor>>,
    /// How many C++ objects of the first thread from before `main` were destroyed.
    early_locals_done: usize,
}

impl State {
    pub fn clear(&mut self) {
        self.keys.clone_from(&early().keys);
        self.early_locals_done = 0;
    }
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// Cleanup handlers of C code that are in place, innermost last.
    pub cleanups: Vec<usize>,
    pub leaving: Option<Box<unwinding::Leaving>>,
    /// C++ objects of the thread that want to be destroyed.
    locals: Vec<Local>,
    pub(crate) name: Vec<u8>,
    /// Where it was joined or detached, 0 if it was not.
    pub settled: u32,
}

type Destructor = unsafe extern "C" fn(*mut c_void);

#[derive(Clone, Copy)]
struct Local {
    destroy: Destructor,
    object: *mut c_void,
    /// Somewhere in the module that it belongs to.
    module: usize,
}

/// What was there before `main`.
struct Early {
    keys: Vec<Option<Destructor>>,
    locals: Vec<Local>,
}

struct Global(UnsafeCell<Early>);
// SAFETY: one OS thread runs what comes before `main`, and runs.
unsafe impl Sync for Global {}
static EARLY: Global = Global(UnsafeCell::new(Early {
    keys: Vec::new(),
    locals: Vec::new(),
}));

fn early() -> &'static mut Early {
    // SAFETY: as above; kept for a line at a time.
    unsafe { &mut *EARLY.0.get() }
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Attributes = libc::pthread_attr_t;

pub(crate) unsafe extern "C" fn create(
    handle: *mut Handle,
    attributes: *const Attributes,
    start: Start,
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        if entry::driven() {
            crate::give_up(format_args!(
                "the program creates a thread before its `main`, which cannot be controlled"
            ));
        }
        let real =
            real!(pthread_create: fn(*mut Handle, *const Attributes, Start, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, attributes, start, argument) };
    }
    let mut detached = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the program's own attributes, which are only read.
        unsafe {
            real!(pthread_attr_getdetachstate: fn(*const Attributes, *mut c_int) -> c_int)(
                attributes,
                &mut detached,
            );
        }
    }
    let site = call_sites::site(&frame.return_address);
    let world = world::get();
    accesses::range(handle as usize, size_of::<Handle>(), true, frame);
    let open = !world.me().own_calls.signals.blocked;
    awaited_signals::opened(open);
    if call_sites::library(frame.return_address, "/libgomp.so") {
        world.unsupported("a thread of libgomp", site);
    }
    file_mappings::spawning(site);
    world.spawn(start, argument, site, None, |thread| {
        thread.detached = detached == libc::PTHREAD_CREATE_DETACHED;
        // SAFETY: the program's own variable.
        unsafe { *handle = thread.handle as Handle };
    });
    0
}

/// The thread with this handle.
pub(crate) fn find(handle: Handle) -> Option<ThreadId> {
    let threads = &world::get().threads;
    let index = threads
        .iter()
        .rposition(|thread| thread.handle == handle as usize)?;
    Some(ThreadId(index as u32))
}

pub(crate) unsafe extern "C" fn exit(result: *mut c_void, _: &Frame) -> ! {
    if !world::active() {
        // SAFETY: the program's own argument.
        unsafe { real!(pthread_exit: fn(*mut c_void))(result) };
    }
    world::get().me().result = result;
    unwinding::unwind()
}

/// The running thread has returned from its start function.
pub fn end_thread(result: *mut c_void) -> ! {
    world::get().me().result = result;
    at_end()
}

/// Nothing is left of the running thread but what was to be destroyed with it.
pub fn at_end() -> ! {
    cancellation::leaving();
    destroy_locals();
    destroy_values();
    robust_mutexes::orphan();
    waits::end();
    let world = world::get();
    if world.current == ThreadId::MAIN {
        end_main();
    }
    world.finish()
}

/// The first thread has left by `pthread_exit`: the process ends with the last thread.
fn end_main() -> ! {
    let site = world::get().site(entry::main_address() + 1);
    visible(Op::SemRelease(Hidden::MainExit.object()), site);
    // Each thread before its children: when it is at its end, all of them are there. The order is that of their paths, whatever
    // the order of the run.
    let mut before: Vec<u32> = Vec::new();
    loop {
        let world = world::get();
        let threads = &world.run.execution().threads;
        let after = threads.iter().enumerate().skip(1);
        let after = after.filter(|(_, thread)| thread.path > before);
        let Some((index, thread)) = after.min_by_key(|(_, thread)| &thread.path) else {
            break;
        };
        before.clone_from(&thread.path);
        visible(Op::Join(ThreadId(index as u32)), site);
    }
    process_end::leave(0, site, None)
}

/// Destroys the running thread's C++ objects, latest first.
pub fn destroy_locals() {
    loop {
        let world = world::get();
        let main = world.current == ThreadId::MAIN;
        let own = &mut world.me().own_calls.threads;
        let local = own.locals.pop();
        let Some(local) = local.or_else(|| if main { early_local() } else { None }) else {
            return;
        };
        // SAFETY: registered by the program for this.
        unsafe { (local.destroy)(local.object) };
        libraries::let_go(local.module, Site(world::get().me().created));
    }
}

/// The latest one of those from before `main` that is not destroyed in this run.
fn early_local() -> Option<Local> {
    let done = &mut world::get().calls.threads.early_locals_done;
    let locals = &early().locals;
    let local = *locals[..locals.len() - *done].last()?;
    *done += 1;
    Some(local)
}

/// Destroys what the running thread has stored under keys.
fn destroy_values() {
    /// As POSIX has it.
    const ROUNDS: usize = 4;
    let ended = Site(world::get().me().created);
    for _ in 0..ROUNDS {
        let mut found = false;
        let mut key = 0;
        loop {
            look_at_keys(ended);
            let Some(destroy) = keys().get(key as usize).copied() else {
                break;
            };
            if let Some(destroy) = destroy {
                // SAFETY: a key that exists; its destructor is for such values.
                unsafe {
                    let value = value_of(key);
                    if !value.is_null() {
                        found = true;
                        real!(pthread_setspecific: fn(c_uint, usize) -> c_int)(key, 0);
                        destroy(value);
                    }
                }
            }
            key += 1;
        }
        if !found {
            return;
        }
    }
}

/// Where keys are deleted beside other threads, who uses one looks whether it is there.
fn look_at_keys(site: Site) {
    if rules::holds(Rule::Keys) {
        file_objects::look_at(file_objects::KEYS, site);
    }
}

fn value_of(key: c_uint) -> *mut c_void {
    // SAFETY: a key of the program's, or a number that is none.
    unsafe { real!(pthread_getspecific: fn(c_uint) -> *mut c_void)(key) }
}

passes! {
    pthread_setspecific => keeps;
    tss_set => keeps;
    pthread_getspecific => has;
    tss_get => has;
}

/// A thread keeps something under a key, which may be what it has there already.
fn keeps(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    look_at_keys(call_sites::site(from));
    if value_of(arguments[0] as c_uint) as usize != arguments[1] {
        spin::disturbed();
    }
}

fn has(_: &'static CStr, _: &[usize; 6], from: &usize) {
    if rules::holds(Rule::Keys) {
        look_at_keys(call_sites::site(from));
    }
}

pub(crate) unsafe extern "C" fn key_create(
    key: *mut c_uint,
    destroy: Option<Destructor>,
    frame: &Frame,
) -> c_int {
    if world::active() {
        file_objects::touch(file_objects::KEYS, call_sites::site(&frame.return_address));
    }
    // SAFETY: the program's own arguments.
    let result = unsafe {
        real!(pthread_key_create: fn(*mut c_uint, Option<Destructor>) -> c_int)(key, destroy)
    };
    if result == 0 && entry::driven() {
        // SAFETY: just set.
        let index = unsafe { *key } as usize;
        let keys = keys();
        if keys.len() <= index {
            keys.resize(index + 1, None);
        }
        keys[index] = destroy;
        accesses::range(key as usize, size_of::<c_uint>(), true, frame);
    }
    result
}

pub(crate) unsafe extern "C" fn key_delete(key: c_uint, frame: &Frame) -> c_int {
    if world::active() && !file_names::alone() {
        rules::needs(Rule::Keys);
        file_objects::touch(file_objects::KEYS, call_sites::site(&frame.return_address));
    }
    if entry::driven()
        && let Some(destroy) = keys().get_mut(key as usize)
    {
        *destroy = None;
    }
    // SAFETY: the program's own argument.
    unsafe { real!(pthread_key_delete: fn(c_uint) -> c_int)(key) }
}

fn keys() -> &'static mut Vec<Option<Destructor>> {
    match world::active() {
        true => &mut world::get().calls.threads.keys,
        false => &mut early().keys,
    }
}

unsafe extern "C" fn at_thread_exit(
    destroy: Destructor,
    object: *mut c_void,
    module: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !entry::driven() {
        let real =
            real!(__cxa_thread_atexit_impl: fn(Destructor, *mut c_void, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(destroy, object, module) };
    }
    let local = Local {
        destroy,
        object,
        module: module as usize,
    };
    if !world::active() {
        early().locals.push(local);
        return 0;
    }
    libraries::keep(local.module, call_sites::site(&frame.return_address));
    world::get().me().own_calls.threads.locals.push(local);
    0
}

/// Threads that nobody joined or detached are worth a word, unless another one than the first has ended the process: who should have joined
/// them may not have come to it.
pub fn conclude() {
    let world = world::get();
    if world.calls.process.end().map(|(thread, _)| thread) != Some(ThreadId::MAIN) {
        return;
    }
    let left = world.threads.iter().skip(1);
    let left = left.filter(|thread| !thread.joined && !thread.detached);
    for thread in left {
        world.notes.push(Note::Warning {
            rule: "unjoined".into(),
            site: Site(thread.created),
            address: 0,
        });
    }
}
