//! Runs plan after plan for the driver: warm in this process, or in a fork of it for each.

use crate::{
    core::{channel, families, switch, sys},
    run::{
        address_reuse, captured_output, debugger, entry, faults, leaks, leftovers, os_threads,
        processes, slots, snapshot, thread_identities, turns,
        world::{self, Outcome},
    },
};
use alloc::{string::String, vec::Vec};
use core::sync::atomic::{AtomicU32, Ordering};
use reweave_model::{End, Kind, Site};
use reweave_wire::{FORKING, Parts, Reader, Request, Restart, Writer, read_request, write_report};

/// How the next run begins.
fn restart() -> u32 {
    channel::header().restart.load(Ordering::Relaxed)
}

/// Plan after plan, for ever; the driver ends the process.
pub fn serve() -> ! {
    let mut batch = 0;
    let mut request = Request::default();
    channel::reply(1);
    let header = channel::header();
    // Batch 1 is the greeting.
    batch = channel::wait(batch.max(1));
    loop {
        let plans = header.plans.load(Ordering::Relaxed);
        let mut reader = Reader::new(channel::plans());
        header.next.store(0, Ordering::Relaxed);
        for _ in 0..plans {
            if read_request(&mut reader, &mut request).is_err() {
                crate::give_up(format_args!("a plan makes no sense"));
            }
            let whole = match restart() == Restart::Fork as u32 {
                _ if debugger::wanted() => run_debugged(&request),
                true if processes::used() => run_and_leave(&request),
                true => run_forked(&request),
                false => run(&request),
            };
            if !whole {
                break;
            }
            header.done.fetch_add(1, Ordering::Release);
            let spoilt = world::borrow().spoilt;
            if spoilt {
                header.spoilt.store(1, Ordering::Release);
                channel::reply(batch);
                sys::exit(0);
            }
        }
        channel::reply(batch);
        batch = channel::wait(batch);
    }
}

/// As [`run`], in a process that is not used again: a forked one would share what processes of the program share.
fn run_and_leave(request: &Request) -> bool {
    let whole = run(request);
    world::borrow().spoilt = true;
    whole
}

/// As [`run`], with a debugger; nothing else is run in this process.
fn run_debugged(request: &Request) -> bool {
    let header = channel::header();
    // So that all the threads are there, without a run that is broken off for that.
    if switch::supported() && !processes::used() {
        run_forked(request);
        header.next.store(0, Ordering::Relaxed);
    }
    debugger::wait();
    world::borrow().debugged = true;
    let whole = run(request);
    let mut world = world::borrow();
    world.debugged = false;
    world.spoilt = true;
    whole
}

/// How a forked process says that its report is written, that there was no room, that a slot is missing.
const WHOLE: i32 = 0;
const NO_ROOM: i32 = 1;
const WANTS: i32 = 2;

/// As [`run`], in a process of its own that begins with this one's memory.
fn run_forked(request: &Request) -> bool {
    let header = channel::header();
    loop {
        header.forked.store(FORKING, Ordering::Relaxed);
        // SAFETY: a plain fork. libc's own would touch the threads that it believes to be running.
        let child = unsafe { sys::call(libc::SYS_fork, [0; 6]) };
        if child < 0 {
            crate::give_up(format_args!("the operating system gives no more processes"));
        }
        if child == 0 {
            run_as_child(request);
        }
        header.forked.store(child as u32, Ordering::Relaxed);
        let (ended, status) = wait_for(child);
        header.forked.store(0, Ordering::Relaxed);
        let code = match ended == child && libc::WIFEXITED(status) {
            true => libc::WEXITSTATUS(status),
            false => -1,
        };
        match code {
            WHOLE => return true,
            NO_ROOM => return false,
            WANTS => {
                world::snapshot().thaw();
                grow(header.wanted.load(Ordering::Relaxed) as usize);
                // SAFETY: between runs no thread of the program goes on from where it is.
                unsafe { world::snapshot().retake() };
                snapshot::cover();
            }
            // Whatever happened to it happens to this one, so that the driver sees it.
            _ => {
                header.lost.store(status as u32, Ordering::Relaxed);
                sys::exit(71);
            }
        }
    }
}

/// Makes the run in the forked process and ends it.
fn run_as_child(request: &Request) -> ! {
    let header = channel::header();
    // SAFETY: `prctl` with these numbers only asks for a signal when the parent ends.
    unsafe {
        let (option, signal) = (libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize);
        sys::call(libc::SYS_prctl, [option, signal, 0, 0, 0, 0]);
    }
    // It has no other threads than the one that forked.
    world::borrow().first_seat = None;
    os_threads::alone();
    header.wanted.store(0, Ordering::Relaxed);
    let whole = run_here(request, true);
    let wants = header.wanted.load(Ordering::Relaxed) != 0;
    sys::exit(match (wants, whole) {
        (true, _) => WANTS,
        (_, true) => WHOLE,
        (_, false) => NO_ROOM,
    })
}

/// Waits until the forked process ends: what `wait4` returned, and the status.
fn wait_for(child: isize) -> (isize, i32) {
    let mut status = 0_i32;
    loop {
        // SAFETY: `wait4` writes `status`, a live local, and waits for a child of this process.
        let ended = unsafe {
            let status = &raw mut status as usize;
            sys::call(libc::SYS_wait4, [child as usize, status, 0, 0, 0, 0])
        };
        if ended != -(libc::EINTR as isize) {
            return (ended, status);
        }
        // The driver asks whether it loops for ever.
        // SAFETY: a signal to our own child, which has not been waited for.
        unsafe {
            let signal = faults::ENDLESS as usize;
            sys::call(libc::SYS_kill, [child as usize, signal, 0, 0, 0, 0]);
        }
    }
}

/// Makes one run and writes its report; whether there was room for it.
fn run(request: &Request) -> bool {
    run_here(request, false)
}

/// As [`run`]. In a `forked` process, threads cannot be made.
fn run_here(request: &Request, forked: bool) -> bool {
    let header = channel::header();
    let measure = header.measure.load(Ordering::Relaxed) != 0;
    let clock = || if measure { sys::now() } else { 0 };
    let mut start;
    let outcome = loop {
        start = clock();
        {
            let mut world = world::borrow();
            world.run.begin(&request.plan);
            world.detail = request.detail;
            world.dooms.clone_from(&request.dooms);
        }
        match turns::run_plan(entry::main_entry) {
            Outcome::Grow(number) if forked || restart() == Restart::Exec as u32 => {
                header.wanted.store(number as u32, Ordering::Relaxed);
                // Offsets of files are shared with the process that forked.
                clean_up();
                return false;
            }
            Outcome::Open => {
                clean_up();
                return false;
            }
            Outcome::Grow(number) => {
                clean_up();
                world::snapshot().thaw();
                grow(number);
                // SAFETY: between runs no thread of the program goes on from where it is.
                unsafe { world::snapshot().retake() };
                snapshot::cover();
            }
            outcome => break outcome,
        }
    };
    let ran = clock();
    conclude(outcome);
    families::before_report();
    let fits = report(request.detail);
    let written = clock();
    clean_up();
    if measure {
        let restored = clock();
        header.spent[0].fetch_add(ran - start, Ordering::Relaxed);
        header.spent[1].fetch_add(restored - written, Ordering::Relaxed);
        header.spent[2].fetch_add(written - ran, Ordering::Relaxed);
    }
    fits
}

/// Writes down what came of the run; whether there was room for it.
fn report(detail: bool) -> bool {
    let output = detail.then(captured_output::written);
    let mut world = world::borrow();
    world.note_weak_orders();
    let detail = output.map(|output| world.detail(output));
    let parts = Parts {
        execution: world.run.execution(),
        divergence: world.run.divergence(),
        notes: &world.notes,
        detail: detail.as_ref(),
    };
    let header = channel::header();
    let next = header.next.load(Ordering::Relaxed) as usize;
    let room = channel::reports();
    let mut writer = Writer::new(&mut room[next..]);
    write_report(&mut writer, &parts);
    let fits = !writer.overflowed();
    if !fits && next == 0 {
        crate::give_up(format_args!("an execution is too long to be written down"));
    }
    header
        .next
        .store((next + writer.len()) as u64, Ordering::Relaxed);
    fits
}

/// Closes the execution: how it ended, and what is wrong with that.
fn conclude(outcome: Outcome) {
    let end = match outcome {
        Outcome::Ended(end) => end,
        _ => End::Redundant,
    };
    // The end of the process ends threads that wait.
    let end = match end {
        End::Deadlock | End::Livelock if world::borrow().status.is_some() => End::Done,
        end => end,
    };
    families::conclude(end);
    address_reuse::conclude();
    thread_identities::conclude();
    let clean = world::borrow().run.execution().errors.is_empty();
    if end == End::Done && clean {
        leaks::conclude();
    }
    let kind = match end {
        End::Deadlock => Some(Kind::Deadlock),
        End::Livelock => Some(Kind::Livelock),
        _ => None,
    };
    let mut world = world::borrow();
    if world.detail {
        world.watch_memory(Site(0));
    }
    let failed = !world.run.execution().errors.is_empty();
    world.run.end(end);
    if let Some(kind) = kind.filter(|_| !failed) {
        let threads = &world.run.execution().threads;
        let waiting = threads.iter().filter_map(|thread| thread.pending);
        let mut waiting: Vec<_> = waiting.collect();
        waiting.sort_by_key(reweave_model::Pending::joins);
        let sites = waiting.iter().map(|pending| pending.site).collect();
        world.run.error(reweave_model::Error {
            kind,
            rule: None,
            message: String::new(),
            sites,
            after: None,
        });
    }
}

/// Everything as it was at `main`.
fn clean_up() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    families::clean_up();
    // SAFETY: the run is over: no thread of the program goes on from where it is.
    unsafe { world::snapshot().restore() };
    world::heap().reset();
    if restart() == Restart::Warm as u32 {
        leftovers::look(RUNS.fetch_add(1, Ordering::Relaxed));
    }
}

pub fn grow(number: usize) {
    let mut world = world::borrow();
    let world = &mut *world;
    for more in number..=slots::Slots::ahead(number) {
        let refused =
            more >= slots::MOST || world.slots.grow(more, world.first_seat.is_some()).is_err();
        if refused {
            world.refused |= more == number;
            return;
        }
        // It makes progress.
        channel::header().steps.fetch_add(1, Ordering::Relaxed);
    }
}
