//! Runs one plan: threads begin, take turns, and end. The only place where threads are switched.
//!
//! Nothing here holds a borrow of the world across a switch: what a switch needs is read first, then the borrow ends.

use crate::{
    core::{
        cell::{self, ASIDE, Borrow, RunValue},
        families::{self, Birth},
        switch,
        trampoline::{CALL, enter_program, forget_below},
    },
    run::{
        accesses::{Mode, set_mode},
        address_reuse,
        callers::swap_calls,
        credentials, debugger, foreign_code,
        os_threads::Seat,
        processes,
        slots::Slot,
        spin, states, thread_end,
        thread_identities::Identity,
        world::{Outcome, Thread, World, borrow, set_active},
    },
};
use core::{ffi::c_void, ptr};
use reweave_conduct::Next;
use reweave_model::{Op, Pending, Site, ThreadId};

/// Reported when a run creates one more thread than there can be.
const TOO_MANY: &str = "more threads than there is room for";

/// Reported when a thread creates more threads than it may make steps: creating one is no step of the model, and a loop has to end.
const BEYOND_STEPS: &str = "more threads of one thread than --max-steps allows";

/// As many threads may be created whatever the limit on steps is.
const FEW_THREADS: u32 = 1000;

/// Where the code stands that began the run.
static ROOT: RunValue<*mut u8> = RunValue::new(ptr::null_mut());

/// Where the code stands that began the run.
pub(super) fn root() -> *mut u8 {
    ROOT.get()
}

/// The first of the real threads, with `--threads os`: between runs it stands where the run was begun.
pub fn first_seat() -> &'static Seat {
    Seat::first(ROOT.as_ptr())
}

/// Runs the plan that the world's run was begun with: the first thread from its entry, until the run has an outcome.
pub fn run_plan(entry: extern "C" fn() -> !) -> Outcome {
    let here = 0_u64;
    // The first thread's stack is what is left of the process's own.
    let main_top = (&raw const here as usize - (128 << 10)) & !4095;
    families::begin_run();
    states::begin();
    // SAFETY: nothing below the frames of this function is in use, and the first thread's stack is far longer.
    unsafe { states::clear_stack(main_top) };
    {
        let mut world = borrow();
        world.forget_run();
        let slot = Slot {
            top: main_top,
            end: main_top,
            frames_end: main_top,
            own: world.root_own,
            seat: world.first_seat,
        };
        world.add(0, slot, entry);
        world.current = ThreadId::MAIN;
        world.mark();
        if world.debugged {
            debugger::name(&world, ThreadId::MAIN);
        }
    }
    families::thread_begins(&Birth {
        parent: None,
        child: ThreadId::MAIN,
        reuses: None,
        forked: false,
        again: false,
    });
    set_active(true);
    let (list, to) = {
        let world = borrow();
        (world.threads[0].calls, world.threads[0].sp)
    };
    swap_calls(list);
    spin::begin(main_top);
    cell::CHANGED.set(false);
    borrow().refresh();
    // SAFETY: `add` prepared the first thread's stack, and `leave` switches back to what is saved in ROOT. No borrow is alive.
    unsafe { switch::switch(ROOT.as_ptr(), to) };
    gather();
    foreign_code::end_run();
    set_active(false);
    states::end();
    set_mode(Mode::Nothing);
    let calls_end = swap_calls(ptr::null_mut());
    let outcome = {
        let mut world = borrow();
        world.me().calls_end = calls_end;
        world.outcome
    };
    processes::end_run();
    outcome
}

/// The first thread is back from a run: with `--threads os`, the other real threads come back too.
fn gather() {
    let (first, outcome) = {
        let world = borrow();
        (world.first_seat, world.outcome)
    };
    let Some(first) = first else {
        return;
    };
    if outcome == Outcome::Running {
        first.wait_for_end();
    }
    let count = borrow().threads.len();
    for index in 1..count {
        let seat = borrow().threads[index].seat;
        if let Some(seat) = seat {
            seat.call_back(first);
        }
    }
}

/// The running thread creates another, which runs to its first operation before this one goes on. `ready` sees its record before
/// that. It takes the place of a thread that has ended, with its slot and what families keep of it, or gets a slot of its own.
pub fn spawn(
    start: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    site: Site,
    reuses: Option<ThreadId>,
    ready: impl FnOnce(&mut Thread),
) -> ThreadId {
    let identity = Identity::born(address_reuse::born());
    let (me, id) = begin_thread(site);
    let wanted = reuses.map(|before| borrow().threads[before.index()].slot);
    let (number, slot) = slot_for(id, wanted, site);
    // SAFETY: the thread whose stack it is has not begun, or has ended.
    unsafe { states::clear_stack(slot.top) };
    {
        let mut world = borrow();
        let thread = world.add(number, slot, thread_entry);
        thread.start = Some(start);
        thread.argument = argument;
        thread.starter = Some(me);
        thread.created = site.0;
        thread.identity = identity;
    }
    families::thread_begins(&Birth {
        parent: Some(me),
        child: id,
        reuses,
        forked: false,
        again: false,
    });
    {
        let mut world = borrow();
        ready(&mut world.threads[id.index()]);
        if world.debugged {
            debugger::name(&world, id);
        }
        switch_to(world, id);
    }
    borrow().mark();
    id
}

/// The model learns of a new thread.
pub(super) fn begin_thread(site: Site) -> (ThreadId, ThreadId) {
    let mut world = borrow();
    let me = world.current;
    let epoch = world.races.epoch(me);
    world.me().acted = epoch;
    if world.short {
        drop(world);
        unsupported(TOO_MANY, site);
    }
    let most = world.run.state().max_steps.max(FEW_THREADS);
    if world.run.state().children(me) >= most {
        drop(world);
        unsupported(BEYOND_STEPS, site);
    }
    let id = world.run.spawn(me);
    world.races.spawn(me, id);
    (me, id)
}

/// The slot of a new thread. Where there is none yet the run ends, and is repeated with it.
fn slot_for(id: ThreadId, wanted: Option<usize>, site: Site) -> (usize, Slot) {
    let mut world = borrow();
    let number = wanted.or_else(|| {
        let World { run, slots, .. } = &mut *world;
        slots.number(&run.execution().threads[id.index()].path)
    });
    match number.map(|number| (number, world.slots.get(number))) {
        Some((number, Some(slot))) => (number, slot),
        Some((number, None)) if !world.refused => {
            drop(world);
            leave(Outcome::Grow(number))
        }
        _ => {
            // No more threads are created, so the numbers of threads stay right.
            world.short = true;
            world.run.finish(id);
            drop(world);
            unsupported(TOO_MANY, site)
        }
    }
}

/// The world, borrowed before a switch and given back by it.
pub(super) type Held = Borrow<'static, World, ASIDE>;

/// Leaves the running thread where it is and goes on with another.
#[inline(always)]
fn switch_to(mut world: Held, thread: ThreadId) {
    let from = world.current.index();
    let to = &world.threads[thread.index()];
    if to.process != processes::current() {
        return processes::switch_to(world, thread);
    }
    world.current = thread;
    let to = &world.threads[thread.index()];
    let (to_sp, to_own, to_seat) = (to.sp, to.own, to.seat);
    let wrote = spin::switched(to.top);
    let calls_end = swap_calls(to.calls_end);
    let call = CALL.get();
    CALL.set(to.call);
    let from = &mut world.threads[from];
    from.calls_end = calls_end;
    from.call = call;
    states::note_control_words(from);
    let (seat, finished, save) = (from.seat, from.finished, &raw mut from.sp);
    drop(world);
    // SAFETY: both threads are of this run; the other was saved by a switch or is about to begin, and its thread-local memory
    // is that of its parked thread. `save` lies in the list of threads, which is not changed before it is written. No borrow
    // is alive.
    unsafe {
        match seat.zip(to_seat) {
            None => {
                switch::set_own_memory(to_own);
                switch::switch(save, to_sp);
            }
            Some((here, there)) if finished => here.end(save, there),
            Some((here, there)) => here.hand(save, there),
        }
    }
    // Back again: accesses are this thread's.
    if seat.is_some() {
        credentials::catch_up();
    }
    spin::back(wrote);
    borrow().refresh();
}

/// Ends the run here: the running thread does not go on.
pub fn leave(outcome: Outcome) -> ! {
    let mut world = borrow();
    world.settle();
    world.outcome = outcome;
    if world.debugged {
        drop(world);
        debugger::at_end(outcome);
        world = borrow();
    }
    if !processes::current().is_first() {
        drop(world);
        processes::leave_run();
    }
    let is_first = world.current == ThreadId::MAIN;
    let (first, own) = (world.first_seat, world.root_own);
    let me = world.me();
    let (seat, save) = (me.seat, &raw mut me.sp);
    drop(world);
    // SAFETY: `run_plan` saved ROOT and waits there. `save` lies in the list of threads, which is not changed before it is
    // written. No borrow is alive.
    unsafe {
        match seat.zip(first) {
            Some((here, first)) if !is_first => here.end_run(save, first),
            Some(_) => {}
            None => switch::set_own_memory(own),
        }
        switch::switch(save, ROOT.get());
    }
    unreachable!("a run that has ended does not go on")
}

/// Waits until the announced operation of the running thread is to go.
#[inline(always)]
pub(super) fn turn(mut world: Held) {
    let me = world.current;
    match world.me().starter.take() {
        Some(starter) => switch_to(world, starter),
        None => next(world, Some(me)),
    }
}

/// Goes on with the thread whose turn it is.
#[inline(always)]
fn next(mut world: Held, me: Option<ThreadId>) {
    if world.run.records_states() {
        states::enter(&mut world);
    }
    match world.run.next() {
        Next::Go(choice) => {
            world.choice = choice;
            if Some(choice.thread) != me {
                switch_to(world, choice.thread);
            }
        }
        Next::End(end) => {
            drop(world);
            leave(Outcome::Ended(end));
        }
        Next::Diverged => {
            drop(world);
            leave(Outcome::Diverged);
        }
    }
}

/// The running thread comes to its end.
pub fn finish() -> ! {
    let mut world = borrow();
    world.settle();
    let me = world.current;
    world.me().finished = true;
    world.run.finish(me);
    if world.debugged {
        debugger::name(&world, me);
    }
    match world.me().starter.take() {
        Some(starter) => switch_to(world, starter),
        None => next(world, None),
    }
    unreachable!("a thread that has ended does not go on")
}

/// The running thread goes no further.
pub fn freeze(site: Site) -> ! {
    let mut world = borrow();
    world.settle();
    let me = world.current;
    world
        .run
        .announce(me, Pending::new(Op::Assume(false), site));
    turn(world);
    unreachable!("a frozen thread does not go on")
}

/// A call that is not under control: the thread goes no further, and the search reports it.
pub fn unsupported(call: &str, site: Site) -> ! {
    borrow().note_unsupported(call, site);
    freeze(site)
}

extern "C" fn thread_entry() -> ! {
    let seat = borrow().me().seat;
    if seat.is_some() {
        credentials::catch_up();
    }
    let mut world = borrow();
    world.refresh();
    world.mark();
    let created = Site(world.me().created);
    drop(world);
    crate::run::dooms::meet(None, created);
    let mut world = borrow();
    let me = world.me();
    let start = me.start.expect("set when it was created");
    let argument = me.argument;
    drop(world);
    let end = thread_end::end_thread as extern "C" fn(*mut c_void) -> !;
    forget_below();
    // SAFETY: `start` takes one argument, and what it returns is what `end` takes.
    unsafe { enter_program(start as usize, end as usize, argument as usize, 0, 0) }
}
