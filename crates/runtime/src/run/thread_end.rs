//! The end of a thread: it returns from its start function, calls `pthread_exit` or is cancelled.
//!
//! What belongs to the thread is destroyed by the families of calls ([`Family::thread_ends`](crate::core::families::Family)). The first
//! thread's end is not that of the process, which ends with its last thread.

use crate::{
    core::{families, modules, program_start},
    run::{
        cancellation, hidden_objects::Hidden, operations::visible, process_end, processes, states,
        world,
    },
};
use alloc::vec::Vec;
use core::ffi::c_void;
use libc::pthread_t as Handle;
use reweave_model::{Op, ThreadId};

/// The thread with this handle: the last one, since the handle of a thread that has ended may be given to another.
pub fn find(handle: Handle) -> Option<ThreadId> {
    let world = world::borrow();
    let mut threads = world.threads.iter();
    let process = processes::current();
    let index = threads
        .rposition(|thread| thread.handle == handle as usize && thread.process == process)?;
    Some(ThreadId(index as u32))
}

/// The running thread has returned from its start function.
pub extern "C" fn end_thread(result: *mut c_void) -> ! {
    world::borrow().me().result = result;
    at_end()
}

/// The running thread has left all functions of the program. What belongs to it is destroyed, and it ends.
pub fn at_end() -> ! {
    cancellation::leaving();
    states::leave_program();
    families::thread_ends();
    let me = world::borrow().current;
    if me == processes::main_of_current() {
        end_main();
    }
    world::finish()
}

/// The first thread has left by `pthread_exit`: the process ends with the last thread.
fn end_main() -> ! {
    let site = modules::site(program_start::main_address() + 1);
    visible(Op::SemRelease(Hidden::MainExit.object()), site);
    // Each thread before its children: when it is at its end, all of them exist. The order is that of their paths, whatever
    // the order of the run.
    let me = processes::main_of_current();
    let mut before: Vec<u32> = path_of(me);
    while let Some(thread) = next_by_path(&mut before) {
        visible(Op::Join(thread), site);
    }
    process_end::leave(0, site, None)
}

fn path_of(thread: ThreadId) -> Vec<u32> {
    let world = world::borrow();
    world.run.execution().threads[thread.index()].path.clone()
}

/// The thread with the next path after this one, which becomes its path.
fn next_by_path(before: &mut Vec<u32>) -> Option<ThreadId> {
    let world = world::borrow();
    let threads = &world.run.execution().threads;
    let after = threads.iter().enumerate().skip(1);
    let own = |index: usize| world.threads[index].process == processes::current();
    let after = after.filter(|(index, thread)| own(*index) && thread.path > *before);
    let (index, thread) = after.min_by_key(|(_, thread)| &thread.path)?;
    before.clone_from(&thread.path);
    Some(ThreadId(index as u32))
}
