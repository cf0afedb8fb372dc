//! The processes of the run: which there are, whose turn it is, and how the turn is handed on.
//!
//! *Called by:* `turns`, where threads are switched, and the calls that make, end and wait for processes. *Owns:* the list of
//! processes. The first one is the driver's; others are forked in each run, by the plain system call, and gone after it.
//!
//! All that the runtime knows lies in memory that all of them share ([`crate::core::shared_memory`]), so the model, the
//! detector and the plan see one program with many threads. One OS thread of one process runs at a time. A process that
//! hands the turn on does so from a stack of its own (the *port*), since another of its threads may be the next to run: the
//! thread it leaves is saved as by any switch.
//!
//! *Invariant:* between [`ring`] and [`await_turn`] a process touches nothing that is shared but the words of this file.

use crate::{
    core::{
        cell::{RunCell, RunValue},
        channel, families,
        objects::Sort,
        per_process::{ProcessChange, ProcessId},
        switch, sys,
    },
    run::{
        callers::{calls_end, swap_calls},
        entry, faults,
        operations::visible,
        process_end, rules, signal_actions,
        thread_identities::Identity,
        turns::{self, Held},
        world::{self, borrow},
    },
};
use alloc::vec::Vec;
use core::{
    ffi::c_int,
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
};
use reweave_model::{Object, ObjectId, Op, Site, ThreadId};
use reweave_wire::Rule;

/// Processes that a run can have.
pub const MOST: usize = 64;

/// A process of the run.
#[derive(Clone, Copy)]
pub struct Process {
    pub parent: ProcessId,
    /// The thread that it began with.
    pub main: ThreadId,
    /// Its id, as the program knows it.
    pub number: c_int,
    /// How it ended, as `wait` reports it.
    pub status: Option<c_int>,
    /// A `wait` has returned it, or it goes on as another program, as a process with the same number.
    pub reaped: bool,
    /// What it was when it was forked: another one if it has called `exec` since.
    pub forked_as: ProcessId,
}

static ALL: RunCell<Vec<Process>> = RunCell::new(Vec::new());
/// The process that runs.
static CURRENT: RunValue<ProcessId> = RunValue::new(ProcessId::FIRST);
/// The process that has left the turn, and whether it goes on when it gets it back.
static LEFT: RunValue<(ProcessId, bool)> = RunValue::new((ProcessId::FIRST, true));

/// Whose turn it is. A process waits at its bell until it finds its own number here.
static TURN: AtomicU32 = AtomicU32::new(0);
static BELLS: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// The kernel's numbers of the processes.
static NUMBERS: [AtomicU32; MOST] = [const { AtomicU32::new(0) }; MOST];
/// Instead of a number: the process goes by another place in the list.
const MOVED: u32 = u32::MAX;
/// The run is over: the first process goes back to where it began it.
static OVER: AtomicBool = AtomicBool::new(false);

/// Where the stack for handing on begins, which each process has for itself.
static PORT: AtomicUsize = AtomicUsize::new(0);
const PORT_BYTES: usize = 64 << 10;

/// Whether this search has programs of several processes.
#[inline]
pub fn used() -> bool {
    rules::holds(Rule::Processes)
}

/// The process that runs.
#[inline]
pub fn current() -> ProcessId {
    CURRENT.get()
}

/// The thread that the running process began with.
pub fn main_of_current() -> ThreadId {
    of(current()).map_or(ThreadId::MAIN, |process| process.main)
}

/// What is known of a process of the run.
pub fn of(process: ProcessId) -> Option<Process> {
    ALL.borrow().get(process.index()).copied()
}

/// All processes of the run; none if it never forked.
pub fn all() -> Vec<Process> {
    ALL.borrow().clone()
}

/// Whether the running process has forked others.
pub fn has_children() -> bool {
    let me = current();
    let all = ALL.borrow();
    all.iter().skip(1).any(|process| process.parent == me)
}

/// Changes what is known of a process of the run.
pub fn change(process: ProcessId, what: impl FnOnce(&mut Process)) {
    if let Some(process) = ALL.borrow().get_mut(process.index()) {
        what(process);
    }
}

/// Makes room for what each process has for itself. Once, before the first run.
pub fn prepare() {
    let Some(port) = sys::map_private(PORT_BYTES) else {
        crate::give_up(format_args!("there is no memory for several processes"));
    };
    PORT.store(port as usize + PORT_BYTES, Ordering::Relaxed);
    faults::watch_children();
    match channel::header().core.load(Ordering::Relaxed) {
        0 => {}
        core => stay_on(core as usize - 1),
    }
}

/// Keeps this process, and those that it forks, on one processor: only one of them runs at a time, and handing the turn to another
/// processor takes several times as long. The program does not see it, since runs answer its questions about processors themselves.
fn stay_on(core: usize) {
    let mut set = [0_u64; 16];
    let Some(word) = set.get_mut(core / 64) else {
        return;
    };
    *word = 1 << (core % 64);
    // SAFETY: the kernel reads the set, a live local. If it refuses, processes run where they like.
    unsafe {
        let arguments = [0, size_of_val(&set), set.as_ptr() as usize, 0, 0, 0];
        sys::call(libc::SYS_sched_setaffinity, arguments);
    }
}

/// A thread of another process goes on, and the running one waits where it is.
#[cold]
#[inline(never)]
pub(super) fn switch_to(mut world: Held, thread: ThreadId) {
    let from = world.current.index();
    let (left, to) = (
        world.threads[from].process,
        world.threads[thread.index()].process,
    );
    world.current = thread;
    let record = &world.threads[thread.index()];
    let (top, calls) = (record.top, record.calls_end);
    let wrote = crate::run::spin::switched(top);
    let from = &mut world.threads[from];
    from.calls_end = swap_calls(calls);
    let save = &raw mut from.sp;
    drop(world);
    let goes_on = of(left).is_none_or(|process| process.status.is_none());
    enter(ProcessChange::Switch { from: left, to }, to);
    LEFT.set((left, goes_on));
    // SAFETY: `save` lies in the list of threads, which is not changed before it is written; the port is a stack of this process
    // that nothing is on. No borrow is alive.
    unsafe { switch::switch(save, switch::prepare(port_stack(), port)) };
    crate::run::spin::back(wrote);
    borrow().refresh();
}

/// All that each process has for itself becomes that of another one.
fn enter(change: ProcessChange, to: ProcessId) {
    change_all(change);
    world::snapshot().forked = !to.is_first();
    let mut world = borrow();
    world.objects.process_changes(change, to);
    let world = &mut *world;
    if !world.shadow.enter(to.index()) {
        crate::give_up(format_args!(
            "there is no address space for another process"
        ));
    }
    if let ProcessChange::Fork { from } = change {
        for range in world.objects.shared() {
            let (owner, other) = (from.index(), to.index());
            world
                .shadow
                .share((owner, range.start), (other, range.start), range.len());
        }
    }
    CURRENT.set(to);
}

fn change_all(change: ProcessChange) {
    world::heap_changes(change);
    process_end::process_changes(change);
    signal_actions::process_changes(change);
    families::process_changes(change);
}

fn port_stack() -> *mut u8 {
    PORT.load(Ordering::Relaxed) as *mut u8
}

/// On the stack for that: hands the turn to the process that is current now, and takes it when it comes back.
extern "C" fn port() -> ! {
    let (me, goes_on) = LEFT.get();
    let to = CURRENT.get();
    ring(to);
    if !goes_on {
        sys::exit(0);
    }
    await_turn(me);
    resume()
}

/// The turn goes to a process.
fn ring(to: ProcessId) {
    let number = match to.is_first() {
        true => 0,
        false => NUMBERS[to.index()].load(Ordering::Relaxed),
    };
    channel::header().forked.store(number, Ordering::Relaxed);
    TURN.store(to.0, Ordering::Release);
    let bell = &BELLS[to.index()];
    bell.fetch_add(1, Ordering::Release);
    sys::futex_wake(bell);
}

/// Sleeps until it is this process's turn.
fn await_turn(me: ProcessId) {
    let bell = &BELLS[me.index()];
    loop {
        let seen = bell.load(Ordering::Acquire);
        let turn = TURN.load(Ordering::Acquire);
        if turn == me.0 {
            return;
        }
        if me.is_first() {
            look_after(turn);
        }
        sys::futex_wait(bell, seen);
    }
}

/// A child of the first process has ended: it looks whether that was the one that runs.
pub fn child_ended() {
    BELLS[0].fetch_add(1, Ordering::Release);
    sys::futex_wake(&BELLS[0]);
}

/// If the process whose turn it is has ended without handing it on, so does this one: the driver sees it, and has the run
/// repeated up to there.
fn look_after(turn: u32) {
    let number = NUMBERS[turn as usize].load(Ordering::Acquire);
    if number == 0 || number == MOVED {
        return;
    }
    let mut status = 0_i32;
    let (place, options) = (&raw mut status as usize, libc::WNOHANG | libc::__WALL);
    // SAFETY: the kernel writes `status`, a live local; the number is that of a process that was not waited for.
    let ended = unsafe {
        let arguments = [number as usize, place, options as usize, 0, 0, 0];
        sys::call(libc::SYS_wait4, arguments)
    };
    if ended == number as isize {
        NUMBERS[turn as usize].store(0, Ordering::Relaxed);
        if TURN.load(Ordering::Acquire) != turn {
            // It had handed the turn on before.
            return;
        }
        channel::header()
            .lost
            .store(status as u32, Ordering::Relaxed);
        sys::exit(71);
    }
}

/// Goes on with the thread whose turn it is, which is one of this process; or with what follows the run.
fn resume() -> ! {
    let (own, to) = {
        let world = borrow();
        let thread = &world.threads[world.current.index()];
        match OVER.load(Ordering::Relaxed) {
            true => (world.root_own, turns::root()),
            false => (thread.own, thread.sp),
        }
    };
    let mut nowhere = ptr::null_mut();
    // SAFETY: the stack was saved by a switch of this process, or a thread of this process is about to begin there, and its
    // thread-local memory is that of its parked thread. Nothing comes back to the port: it is prepared for each use.
    unsafe {
        switch::set_own_memory(own);
        switch::switch(&raw mut nowhere, to);
    }
    unreachable!("the port is left for good")
}

/// The run ends in a process that is not the first: the first goes on.
pub(super) fn leave_run() -> ! {
    let (left, to) = (current(), ProcessId::FIRST);
    enter(ProcessChange::Switch { from: left, to }, to);
    OVER.store(true, Ordering::Relaxed);
    ring(to);
    await_turn(left);
    unreachable!("a process that has left the run gets no turn")
}

/// What `fork` returns in which process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forked {
    Parent(c_int),
    Child,
}

/// The running thread forks its process. `number` gives the new one its id, by the path of its thread.
pub fn fork(site: Site, number: impl FnOnce(&[u32]) -> c_int) -> Forked {
    let (me, id) = turns::begin_thread(site);
    let from = current();
    let to = {
        let mut all = ALL.borrow();
        if all.is_empty() {
            all.push(Process {
                parent: ProcessId::FIRST,
                main: ThreadId::MAIN,
                number: number_of_first(),
                status: None,
                reaped: false,
                forked_as: ProcessId::FIRST,
            });
        }
        ProcessId(all.len() as u32)
    };
    let number = {
        let world = borrow();
        number(&world.run.execution().threads[id.index()].path)
    };
    ALL.borrow().push(Process {
        parent: from,
        main: id,
        number,
        status: None,
        reaped: false,
        forked_as: to,
    });
    borrow().add_forked(me, id, to, site);
    families::thread_begins(&families::Birth {
        parent: Some(me),
        child: id,
        reuses: None,
        forked: true,
        again: false,
    });
    enter(ProcessChange::Fork { from }, to);
    borrow().copy_objects(from, to, (me, id));
    borrow().freed_before_fork(id);
    clone_process(from, to, (me, id));
    let world = borrow();
    match world.current == id {
        true => Forked::Child,
        false => Forked::Parent(number),
    }
}

/// The id of the driver's process.
pub fn number_of_first() -> c_int {
    1000
}

/// The process is made, and goes on first. Returns in both.
fn clone_process(from: ProcessId, to: ProcessId, (me, id): (ThreadId, ThreadId)) {
    let mut world = borrow();
    world.current = id;
    let calls = world.threads[id.index()].calls_end;
    let top = world.threads[id.index()].top;
    let wrote = crate::run::spin::switched(top);
    let parent = &mut world.threads[me.index()];
    parent.calls_end = swap_calls(calls);
    let save = &raw mut parent.sp;
    drop(world);
    LEFT.set((from, true));
    TURN.store(to.0, Ordering::Release);
    // SAFETY: as in `switch_to`; the new process has a copy of this stack and goes on there as well.
    unsafe { switch::switch(save, switch::prepare(port_stack(), port_of_fork)) };
    crate::run::spin::back(wrote);
    let mut world = borrow();
    world.refresh();
    world.mark();
}

/// On the stack for handing on: forks. The new process goes on where the thread called `fork`; this one waits.
extern "C" fn port_of_fork() -> ! {
    let (me, _) = LEFT.get();
    let to = CURRENT.get();
    // Children of all processes are children of the first, which waits for them.
    let parent = if me.is_first() { 0 } else { libc::CLONE_PARENT };
    let flags = (parent | libc::SIGCHLD) as usize;
    // SAFETY: without CLONE_VM and a stack this is a plain fork. libc's own would touch threads that it believes to be running.
    let child = unsafe { sys::call(libc::SYS_clone, [flags, 0, 0, 0, 0, 0]) };
    if child == 0 {
        begin_in_child(to);
        resume()
    }
    if child < 0 {
        crate::give_up(format_args!("the operating system gives no more processes"));
    }
    // The child may have said so itself, and may go by another place by now.
    let known = &NUMBERS[to.index()];
    let _ = known.compare_exchange(0, child as u32, Ordering::AcqRel, Ordering::Acquire);
    await_turn(me);
    resume()
}

/// The first that a new process does.
fn begin_in_child(process: ProcessId) {
    // SAFETY: `getpid` takes nothing; `prctl` with these numbers only asks for a signal when the parent ends.
    unsafe {
        let number = sys::call(libc::SYS_getpid, [0; 6]) as u32;
        NUMBERS[process.index()].store(number, Ordering::Release);
        channel::header().forked.store(number, Ordering::Relaxed);
        let (option, signal) = (libc::PR_SET_PDEATHSIG as usize, libc::SIGKILL as usize);
        sys::call(libc::SYS_prctl, [option, signal, 0, 0, 0, 0]);
    }
    // Its memory is not put back, so no page needs to be protected.
    world::snapshot().thaw();
    let mut world = borrow();
    let parent = world.threads[world.current.index()].starter;
    let sp = parent.map(|parent| world.threads[parent.index()].sp);
    world.me().sp = sp.expect("a fork has a parent");
}

/// What a process is now: another one if it has called `exec`.
pub fn now(process: ProcessId) -> ProcessId {
    let Some(known) = of(process) else {
        return process;
    };
    let all = ALL.borrow();
    let last = all
        .iter()
        .rposition(|other| other.forked_as == known.forked_as);
    last.map_or(process, |last| ProcessId(last as u32))
}

/// The running process, which was forked and has one thread, begins again at `main`, with these arguments and environment, each with
/// its nul.
///
/// It gets a new place in the list of processes, so that nothing that is known of its memory is taken for true of what lies there now.
/// For all others it is the same process, with the same thread.
pub fn begin_again(texts: Texts) -> ! {
    // Robust mutexes that the thread holds have no owner any more.
    families::forked_process_ends();
    let from = current();
    let to = {
        let mut all = ALL.borrow();
        let to = ProcessId(all.len() as u32);
        let own = all[from.index()];
        all[from.index()].reaped = true;
        all.push(own);
        for process in all.iter_mut().filter(|process| process.parent == from) {
            process.parent = to;
        }
        to
    };
    let number = NUMBERS[from.index()].load(Ordering::Relaxed);
    NUMBERS[to.index()].store(number, Ordering::Release);
    TURN.store(to.0, Ordering::Release);
    NUMBERS[from.index()].store(MOVED, Ordering::Release);
    let me = {
        let mut world = borrow();
        world.settle();
        world.me().process = to;
        world.current
    };
    enter(ProcessChange::Exec, to);
    families::thread_begins(&families::Birth {
        parent: None,
        child: me,
        reuses: None,
        forked: false,
        again: true,
    });
    *PROGRAM.borrow() = texts;
    let mut nowhere = ptr::null_mut();
    // SAFETY: as in `switch_to`. Nothing comes back to this stack, which is about to be overwritten.
    unsafe {
        switch::switch(
            &raw mut nowhere,
            switch::prepare(port_stack(), port_of_exec),
        );
    }
    unreachable!("a process that begins again has left its stack")
}

/// Arguments and environment of a program, each text with its nul.
pub type Texts = [Vec<Vec<u8>>; 2];

/// Those of the process that calls `exec`.
static PROGRAM: RunCell<Texts> = RunCell::new([Vec::new(), Vec::new()]);

/// On the stack for handing on: memory becomes what it was at `main`, and the first thread begins there.
extern "C" fn port_of_exec() -> ! {
    let texts = core::mem::take(&mut *PROGRAM.borrow());
    // SAFETY: the process has one thread, which does not go on from where it is, and none of its pages is protected.
    unsafe { world::snapshot().restore_all() };
    families::program_begins();
    world::heap().reset();
    let top = borrow().threads[0].top;
    let top = entry::place_texts(top, &texts);
    borrow().begin_thread_again(top);
    resume()
}

/// The children of a process that have ended and that no wait has returned, by their ids.
pub fn ended_children(process: ProcessId) -> ObjectId {
    const NOWHERE: usize = 0x7200_0000_0000;
    let forked_as = of(process).map_or(process, |process| process.forked_as);
    let address = NOWHERE + 8 * forked_as.index();
    borrow().object(address, 8, Sort::Quiet, Object::pool)
}

/// The running process ends, with its last thread. `site` is where.
pub fn end_process(status: c_int, site: Site) -> ! {
    families::forked_process_ends();
    families::one_of_several_ends(site);
    if rules::holds(Rule::Children) {
        let own = of(current()).expect("it was forked");
        let pool = ended_children(own.parent);
        visible(Op::Free(pool, own.number as u64), site);
    }
    change(current(), |process| process.status = Some(status));
    world::finish()
}

/// After a run, in the first process: ends the others and waits until they are gone.
pub fn end_run() {
    let count = ALL.borrow().len();
    if count == 0 {
        return;
    }
    let living =
        || (1..count).filter(|index| !matches!(NUMBERS[*index].load(Ordering::Relaxed), 0 | MOVED));
    for index in living() {
        let number = NUMBERS[index].load(Ordering::Relaxed) as usize;
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { sys::call(libc::SYS_kill, [number, libc::SIGKILL as usize, 0, 0, 0, 0]) };
    }
    for index in living() {
        let number = NUMBERS[index].swap(0, Ordering::Relaxed) as usize;
        let arguments = [number, 0, libc::__WALL as usize, 0, 0, 0];
        // SAFETY: waits for a child of this process; a null status is not written.
        while unsafe { sys::call(libc::SYS_wait4, arguments) } == -(libc::EINTR as isize) {}
    }
    (1..count).for_each(|index| NUMBERS[index].store(0, Ordering::Relaxed));
    channel::header().forked.store(0, Ordering::Relaxed);
    ALL.borrow().clear();
    change_all(ProcessChange::Over);
    world::snapshot().forked = false;
    CURRENT.set(ProcessId::FIRST);
    TURN.store(0, Ordering::Relaxed);
    OVER.store(false, Ordering::Relaxed);
}

/// A signal for the process that runs has come to the first one, which waits for its turn. Whether it was passed on.
pub fn pass_on(signal: c_int) -> bool {
    let turn = TURN.load(Ordering::Acquire);
    let number = NUMBERS[turn as usize % MOST].load(Ordering::Acquire);
    // SAFETY: `getpid` takes nothing and has no effect.
    let here = unsafe { sys::call(libc::SYS_getpid, [0; 6]) } as u32;
    if turn == 0 || number == 0 || number == here {
        return false;
    }
    // SAFETY: a signal to a process of the run that has not been waited for.
    unsafe {
        sys::call(
            libc::SYS_kill,
            [number as usize, signal as usize, 0, 0, 0, 0],
        )
    };
    true
}

impl world::World {
    /// Whether the running thread's process has no other thread that has not ended.
    pub fn is_alone_in_process(&self) -> bool {
        let me = self.current.index();
        let mut threads = self.threads.iter().enumerate();
        !threads.any(|(index, other)| index != me && !other.finished && other.process == current())
    }

    /// Whether all other threads of the process have ended, and all that they did happens before now.
    pub fn forks_alone(&self) -> bool {
        let clock = self.races.clock(self.current);
        let me = self.current.index();
        let mut threads = self.threads.iter().enumerate();
        threads.all(|(index, other)| {
            let known = clock.get(index).copied().unwrap_or(0);
            index == me
                || other.process != current()
                || other.finished && other.joined && known >= other.acted.max(1)
        })
    }

    /// A new process has copies of the objects in its parent's memory, as they are now, held by its one thread where the thread that
    /// forked holds them. Atomics have their values in memory.
    fn copy_objects(&mut self, from: ProcessId, to: ProcessId, (me, id): (ThreadId, ThreadId)) {
        debug_assert_eq!(to, current());
        for index in 0..self.objects.known().len() {
            let known = self.objects.known()[index];
            let private = known.process == from && !self.objects.is_shared(known.address);
            if !private || known.destroyed != 0 || !known.sort.has_state() {
                continue;
            }
            let original = ObjectId(index as u32);
            let copy = self.run.state().object(original).inherited(me, id);
            let copy = self.make(known.address, known.bytes as usize, known.sort, copy);
            let about = self.objects.about(copy);
            about.origin = known.origin;
            (about.depth, about.health, about.guard) = (known.depth, known.health, known.guard);
        }
    }

    /// The running thread is about to begin again, as the first one of its process, below this address of the first stack.
    fn begin_thread_again(&mut self, top: usize) {
        let own = self.root_own;
        let me = self.me();
        // SAFETY: nothing below `top` is in use: memory of the process is what it was before its first thread began.
        me.sp = unsafe { switch::prepare(top as *mut u8, entry::begin_again) };
        (me.own, me.handle, me.top, me.slot) = (own, own, top, 0);
        me.entry = entry::begin_again;
        me.access = None;
        me.identity = Identity::default();
        me.spin.reset();
        // SAFETY: the list of callers belongs to the thread and has a first entry.
        unsafe { me.calls.write(0) };
        me.calls_end = me.calls;
        swap_calls(me.calls);
        crate::run::spin::switched(top);
        crate::run::spin::back(Default::default());
    }

    /// The one thread of a new process: it has the stack, the thread-local memory and the callers of the thread that forks.
    fn add_forked(&mut self, parent: ThreadId, id: ThreadId, process: ProcessId, site: Site) {
        let list = self.take_calls();
        let calls = self.callers(parent).len();
        let from = self.threads[parent.index()].calls;
        // SAFETY: both lists have room for as many calls as a stack can hold, and do not overlap.
        unsafe { ptr::copy_nonoverlapping(from, list.0, calls) };
        debug_assert!(self.current != parent || !calls_end().is_null());
        let parent_record = &self.threads[parent.index()];
        let slot = crate::run::slots::Slot {
            top: parent_record.top,
            end: parent_record.top,
            frames_end: parent_record.top,
            own: parent_record.own,
            seat: None,
        };
        let (number, entry, handle) = (
            parent_record.slot,
            parent_record.entry,
            parent_record.handle,
        );
        debug_assert_eq!(id.index(), self.threads.len());
        let child = self.push_thread(number, slot, entry, ptr::null_mut(), list);
        // SAFETY: the list was filled with so many calls above.
        child.calls_end = unsafe { child.calls.add(calls) };
        child.starter = Some(parent);
        child.handle = handle;
        child.created = site.0;
        child.detached = true;
        child.process = process;
    }
}
