//! Creating threads, and leaving them. What happens at the end of a thread is in [`crate::run::thread_end`].

use crate::{
    calls::threads::attributes::Wanted,
    core::{cell::RunValue, modules, program_start, trampoline::Frame},
    kernel::{file_mappings, imported_names, signals},
    leave_outside_run, outside_run,
    run::{accesses, call_sites, process_end, thread_identities, unwinding, world},
    trampoline,
};
use core::ffi::{c_int, c_void};
use libc::pthread_t as Handle;
use reweave_model::{Site, ThreadId};
use reweave_wire::Note;

trampoline! {
    pthread_create => create, "r8";
    pthread_exit => exit, "rsi";
}

/// Whether the C++ library is linked into the program, so that threads of C++ are created by the program itself. The library throws
/// exceptions; C programs never do. (They do import `__cxa_atexit`: by `atexit`.)
static HAS_CXX: RunValue<bool> = RunValue::new(false);

pub(super) fn prepare() {
    let names = [
        c"_Unwind_RaiseException",
        c"__cxa_thread_atexit",
        c"__cxa_thread_atexit_impl",
    ];
    // Rust's library imports the last one, but gives threads numbers that never come back.
    HAS_CXX.set(imported_names::names_any(&names) && !program_start::in_rust());
}

type Start = extern "C" fn(*mut c_void) -> *mut c_void;
type Attributes = libc::pthread_attr_t;

/// # Safety
///
/// As `pthread_create`: `handle` points to room for a handle, `attributes` is null or points to attributes, `start` can be called
/// with `argument` by another thread.
pub(super) unsafe extern "C" fn create(
    handle: *mut Handle,
    attributes: *const Attributes,
    start: Start,
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() && program_start::driven() {
        crate::give_up(format_args!(
            "the program creates a thread before its `main`, which cannot be controlled"
        ));
    }
    outside_run!(pthread_create: fn(handle: *mut Handle, attributes: *const Attributes, start: Start, argument: *mut c_void) -> c_int);
    let site = call_sites::site(&frame.return_address);
    let from = frame.return_address;
    accesses::argument(attributes as usize, size_of::<Attributes>(), false, from);
    // SAFETY: `attributes` is null or points to attributes, by this function's contract.
    let wanted = match unsafe { Wanted::by(attributes, site) } {
        Ok(wanted) => wanted,
        Err(error) => return error,
    };
    accesses::range(handle as usize, size_of::<Handle>(), true, frame);
    signals::opened(!wanted.mask.unwrap_or_else(signals::blocked));
    let by_library = modules::is_library(frame.return_address);
    if by_library && call_sites::library(frame.return_address, "/libgomp.so") {
        world::unsupported("a thread of libgomp", site);
    }
    file_mappings::spawning(site);
    // SAFETY: `handle` points to room for a handle, by this function's contract. A pointer that is wrong faults here, where no
    // borrow is alive.
    unsafe { handle.write_volatile(handle.read_volatile()) };
    let child = ThreadId(world::borrow().threads.len() as u32);
    let keeps_ids = by_library || HAS_CXX.get();
    thread_identities::creating(child, core::ptr::from_ref(frame) as usize, keeps_ids);
    wanted.prepare(child);
    signals::begin_with(wanted.mask);
    world::spawn(start, argument, site, None, |thread| {
        thread.detached = wanted.detached;
        if keeps_ids {
            thread.identity.put(handle as usize);
        }
        // SAFETY: `handle` was written to just now.
        unsafe { *handle = thread.handle as Handle };
    });
    0
}

pub(super) extern "C" fn exit(result: *mut c_void, _: &Frame) -> ! {
    leave_outside_run!(pthread_exit: fn(result: *mut c_void));
    world::borrow().me().result = result;
    unwinding::unwind()
}

/// After a run: warns of threads that were neither joined nor detached. Not if another thread than the first has ended the process:
/// the thread that should have joined them may not have come to it.
pub fn conclude() {
    if process_end::ending().map(|(thread, _)| thread) != Some(ThreadId::MAIN) {
        return;
    }
    let mut world = world::borrow();
    let world = &mut *world;
    let left = world.threads.iter().skip(1);
    let left = left.filter(|thread| !thread.joined && !thread.detached);
    world.notes.extend(left.map(|thread| Note::Warning {
        rule: "unjoined".into(),
        site: Site(thread.created),
        address: 0,
    }));
}
