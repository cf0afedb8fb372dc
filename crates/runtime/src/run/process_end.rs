//! The end of the process.
//!
//! A thread that ends the process takes a lock that it never releases: of several, the first one counts, and which thread that is
//! gets explored. It runs what is to run at the end as ordinary code ([`Family::process_ends`](crate::core::families::Family)) and then
//! stays where it is. The end takes effect when no other thread can go on: what the others do meanwhile decides which races are
//! seen. The calls that end the process are in `calls/process/process_end.rs`.

use crate::{
    core::{
        cell::ASIDE,
        families, modules,
        per_process::{PerProcess, ProcessChange},
        program_start, sys,
        trampoline::Frame,
    },
    leave_outside_run,
    run::{hidden_objects::Hidden, operations::visible, panics, processes, states, world},
};
use alloc::{format, string::String, vec::Vec};
use core::{ffi::c_int, ptr};
use reweave_model::{Identity, Kind, Op, Site, ThreadId};
use reweave_wire::Note;

/// Reported when a forked process ends while some of its threads have something to do.
const BESIDE_OTHERS: &str = "the end of a forked process beside its other threads";

/// Reported when the run is over and a forked process is not.
const WAITS_ON: &str = "a forked process that waits forever after the first one has ended";

/// How this run's process comes to its end.
#[derive(Clone)]
struct Ending {
    thread: ThreadId,
    status: c_int,
    site: Site,
    /// Where the frames begin that are still there; `None`: `main` has returned.
    frame: Option<usize>,
    /// The clock of the thread: what happens before the end.
    clock: Vec<u32>,
}

static ENDING: PerProcess<Option<Ending>, ASIDE> = PerProcess::new(None);

pub fn process_changes(change: ProcessChange) {
    ENDING.change(change);
}

/// A new run.
pub fn clear() {
    *ENDING.borrow() = None;
}

/// The thread that ends the process, and where its frames begin, if any are left.
pub fn ending() -> Option<(ThreadId, Option<usize>)> {
    let ending = ENDING.borrow();
    ending.as_ref().map(|ending| (ending.thread, ending.frame))
}

/// The program returned from `main`.
pub extern "C" fn end_process(status: c_int) -> ! {
    let site = modules::site(program_start::main_address() + 1);
    states::leave_program();
    leave(status, site, None)
}

/// `exit`, called from this frame.
pub fn exit(status: c_int, frame: &Frame) -> ! {
    leave_outside_run!(exit: fn(status: c_int));
    let site = modules::site(frame.return_address);
    leave(status, site, Some(frame))
}

/// Ends the process, with everything that runs at its end.
pub fn leave(status: c_int, site: Site, frame: Option<&Frame>) -> ! {
    families::process_is_to_end(site);
    claim(status, site, frame);
    families::process_ends(status, site);
    // Handlers and destructors may have waited for threads.
    let clock = own_clock();
    if let Some(ending) = &mut *ENDING.borrow() {
        ending.clock = clock;
    }
    stay(site)
}

fn own_clock() -> Vec<u32> {
    let world = world::borrow();
    world.races.clock(world.current).into()
}

/// From here on the running thread is the one that ends the process. A second one stays here for ever.
pub fn claim(status: c_int, site: Site, frame: Option<&Frame>) {
    let frame = frame.map(|frame| ptr::from_ref(frame) as usize);
    let (me, alone) = {
        let world = world::borrow();
        (world.current, world.races.alone(world.current))
    };
    let forked = !processes::current().is_first();
    if forked && !world::borrow().is_alone_in_process() {
        world::unsupported(BESIDE_OTHERS, site);
    }
    if let Some(ending) = &mut *ENDING.borrow()
        && ending.thread == me
    {
        // From a handler: the rest of them is called, and the status is settled.
        ending.frame = frame;
        return;
    }
    // A single thread has no need to be the first.
    if !alone && !forked {
        visible(Op::Lock(Hidden::Exit.object()), site);
    }
    let status = status & 0xff;
    let clock = own_clock();
    *ENDING.borrow() = Some(Ending {
        thread: me,
        status,
        site,
        frame,
        clock,
    });
    if forked {
        return;
    }
    let panicked = panics::message(status);
    let mut world = world::borrow();
    world.status = Some(status);
    if let Some(message) = panicked {
        world.error(Kind::Assertion, None, message, &[site]);
    } else if status != 0 {
        let message = format!("the program ended with status {status}");
        world.error(Kind::ExitStatus, None, message, &[site]);
    }
}

/// The thread has ended the process and goes no further. It is not at its end, though: it cannot be joined.
pub fn stay(site: Site) -> ! {
    if !processes::current().is_first() {
        let status = ENDING.borrow().as_ref().map_or(0, |ending| ending.status);
        processes::end_process(status << 8, site);
    }
    let alone = {
        let world = world::borrow();
        world.races.alone(world.current)
    };
    if alone {
        world::finish();
    }
    leave_others(site);
    visible(Op::Lock(Hidden::Exit.object()), site);
    unreachable!("a lock that is never released")
}

/// The first process ends, and those that it has forked go on without it.
fn leave_others(site: Site) {
    if !processes::all().is_empty() {
        families::one_of_several_ends(site);
    }
}

/// After a run: whether the first thread ended the process while others had something to do: operations that do not happen before
/// that, or anything at all if it never heard of them.
pub fn conclude() {
    let ending = ENDING.borrow();
    let Some(end) = &*ending else {
        return;
    };
    let mut world = world::borrow();
    let waits = |thread: &world::Thread| !thread.process.is_first() && !thread.finished;
    if let Some(index) = world.threads.iter().position(waits) {
        let pending = world.run.execution().threads[index].pending;
        let site = pending.map_or(end.site, |pending| pending.site);
        world.note_unsupported(WAITS_ON, site);
    }
    if end.thread != ThreadId::MAIN || !world.run.execution().errors.is_empty() {
        return;
    }
    // The end of `main` is what ends detached threads in Rust, and every handle that is dropped detaches one.
    if program_start::in_rust() {
        return;
    }
    let busy = |index: &usize| {
        let thread = &world.threads[*index];
        match end.clock.get(*index).copied().unwrap_or(0) {
            0 => {
                thread.acted > 0 || world.ran(*index) || world.shadow.knows(ThreadId(*index as u32))
            }
            known => thread.acted > known,
        }
    };
    let own = |index: &usize| world.threads[*index].process.is_first();
    let others = (1..world.threads.len()).filter(own).filter(busy);
    let path = |index: &usize| world.run.execution().threads[*index].path.clone();
    let Some(first) = others.min_by_key(path) else {
        return;
    };
    // Of an unmodified program the language is not known: in some, the end of `main` is what ends the other threads.
    if program_start::calls_only() {
        world.note(Note::Warning {
            rule: "main-returned-early".into(),
            site: end.site,
            address: 0,
        });
        return;
    }
    let sites = [end.site, Site(world.threads[first].created)];
    let message = format!(
        "main ends the program while {} still has something to do",
        world.name_of(ThreadId(first as u32))
    );
    world.error(Kind::Misuse, Some("main-returned-early"), message, &sites);
}

/// Adds to a state what the end of the process depends on beyond memory: the status, and which other threads had something to do.
pub fn identify(world: &world::World, out: &mut Identity) {
    let ending = ENDING.borrow();
    let Some(end) = &*ending else {
        return;
    };
    out.word(u64::from(end.thread.0) << 32 | u64::from(end.status as u32));
    for (index, thread) in world.threads.iter().enumerate() {
        let known = end.clock.get(index).copied().unwrap_or(0);
        let ran = known == 0 && (world.ran(index) || world.shadow.knows(ThreadId(index as u32)));
        out.word(u64::from(thread.acted > known || ran));
    }
}

/// A signal ends the running process. The first one is only left by its thread: what the others do is seen.
pub fn die(signal: c_int, site: Site) -> ! {
    if processes::current().is_first() {
        leave_others(site);
        world::freeze(site);
    }
    if !world::borrow().is_alone_in_process() {
        world::unsupported(BESIDE_OTHERS, site);
    }
    processes::end_process(signal, site)
}

/// The running thread fails and goes no further.
pub fn fail(kind: Kind, message: String, site: Site) -> ! {
    let detail = world::borrow().detail;
    if detail {
        // As libc would print it.
        let text = format!("{message}\n");
        let arguments = [2, text.as_ptr() as usize, text.len(), 0, 0, 0];
        // SAFETY: the kernel reads `text.len()` bytes of `text`, which lives until after the call.
        unsafe { sys::call(libc::SYS_write, arguments) };
    }
    {
        let mut world = world::borrow();
        world.error(kind, None, message, &[site]);
        if world.detail {
            world.watch_memory(site);
        }
    }
    die(libc::SIGABRT, site)
}
