//! The run at hand: its threads, whose turn it is, and how an operation is done.
//!
//! One OS thread at a time runs what is here, so the world is one value without locks. It is borrowed for a few lines at a time
//! ([`borrow`]), and never across a switch of threads.

mod notes;

pub use super::{
    perform::{Done, perform, poll, poll_access},
    turns::{finish, freeze, leave, spawn, unsupported},
};

use crate::{
    core::{
        cell::{self, ASIDE, Borrow, RunCell, RunValue},
        channel, modules,
        objects::{Found, Known, Objects, Sort},
        per_process::{PerProcess, ProcessChange, ProcessId},
        restore::Snapshot,
        switch, sys,
    },
    run::{
        address_reuse::Addresses,
        atomic_peeks::Stores,
        callers::{FULL, calls_end},
        heap::Heap,
        os_threads::Seat,
        processes,
        racy_units::{Part, Units},
        recording::Watched,
        slots::{Slot, Slots},
        spin::Spin,
        thread_identities::Identity,
        turns,
        wide_values::Values,
    },
};
use alloc::{format, string::String, vec::Vec};
use core::{
    ffi::c_void,
    ptr::{self, NonNull},
    sync::atomic::Ordering,
};
use reweave_conduct::Run;
use reweave_memory::{RaceDetector, Shadow};
use reweave_model::{Choice, End, Object, ObjectId, Site, ThreadId};
use reweave_wire::{Doom, Note, Races};

/// A thread of the program in the run at hand.
pub struct Thread {
    /// Where it goes on.
    pub(super) sp: *mut u8,
    pub(super) own: usize,
    /// The real thread that runs it, where threads are real ones.
    pub seat: Option<&'static Seat>,
    /// Its stack begins here, with the frame of this function.
    pub top: usize,
    pub entry: extern "C" fn() -> !,
    pub slot: usize,
    /// The process that it runs in.
    pub process: ProcessId,
    /// Who created it and waits for its first operation.
    pub(super) starter: Option<ThreadId>,
    pub start: Option<extern "C" fn(*mut c_void) -> *mut c_void>,
    pub argument: *mut c_void,
    pub result: *mut c_void,
    pub handle: usize,
    pub created: u32,
    pub finished: bool,
    pub detached: bool,
    pub joined: bool,
    /// The epoch of its last operation; 0: it made none.
    pub acted: u32,
    /// Its list of callers, and where that ends while it does not run: see [`crate::hooks`].
    pub(super) calls: *mut usize,
    pub(super) calls_end: *mut usize,
    pub spin: Spin,
    /// Its innermost call of the runtime while it does not run: see [`crate::core::trampoline::CALL`].
    pub(super) call: usize,
    /// As [`switch::control_words`] has them, while it does not run and states are recorded.
    pub(super) control: u64,
    /// It has left all functions of the program but those that run at its end; a sum over the operations that it has done since.
    pub(super) leaving: Option<u64>,
    /// The plain access that is the event it has come to.
    pub access: Option<Part>,
    pub identity: Identity,
}

impl Thread {
    /// How far down its stack reaches while it does not run.
    pub fn saved(&self) -> usize {
        self.sp as usize
    }
}

/// Room for a list of callers.
const CALLS_BYTES: usize = 8 << 20;

/// How a run came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Running,
    Ended(End),
    Diverged,
    /// This slot must be made first.
    Grow(usize),
    /// A library must be loaded first, which the driver learns.
    Open,
}

pub struct World {
    pub run: Run,
    pub races: RaceDetector,
    pub threads: Vec<Thread>,
    /// Lists of threads of earlier runs, for their memory: of callers, and what loops have seen.
    spare: Vec<(*mut usize, Spin)>,
    pub current: ThreadId,
    pub(super) choice: Choice,
    pub(super) root_own: usize,
    /// The first of the real threads, where the program's are such.
    pub first_seat: Option<&'static Seat>,
    pub objects: Objects,
    pub slots: Slots,
    pub outcome: Outcome,
    pub notes: Vec<Note>,
    /// The program's exit status, once it has one.
    pub status: Option<i32>,
    /// A crash may have left anything behind: the process is not used again.
    pub spoilt: bool,
    pub detail: bool,
    /// A debugger wants to know when something happens.
    pub debugged: bool,
    pub shadow: Shadow,
    /// Whether plain accesses are checked.
    pub check_races: bool,
    /// Whether a race is an error.
    pub report_races: bool,
    pub units: Units,
    /// A plain store that is an event and is about to be made: its memory.
    pub unsettled: Option<(usize, usize)>,
    pub stores: Stores,
    /// What became of addresses.
    pub addresses: Addresses,
    /// The program may keep the id of a thread of this run.
    pub keeps_ids: bool,
    pub values: Values,
    /// Places known to ask for less than sequential consistency.
    weak_orders: usize,
    /// Places that look at guards of function-local statics.
    guarded: Vec<Site>,
    /// Whether memory was given back in this run.
    pub freed: bool,
    /// What each error is about, by address; 0: nothing.
    pub about_errors: Vec<usize>,
    /// When a run is to be shown: stacks of events and accesses.
    pub watched: Watched,
    /// Threads of this run that go no further than some step.
    pub dooms: Vec<Doom>,
    /// There is no way to have as many threads as a run wants.
    pub refused: bool,
    /// A thread of this run could not be created.
    pub(super) short: bool,
}

static WORLD: RunCell<World, ASIDE> = RunCell::empty();
static HEAP: PerProcess<Heap, ASIDE> = PerProcess::new(Heap::new());
static SNAPSHOT: RunCell<Snapshot, ASIDE> = RunCell::new(Snapshot::new());
static ACTIVE: RunValue<bool> = RunValue::new(false);

/// Whether a run is going on: otherwise calls go to the real functions.
#[inline]
pub fn active() -> bool {
    ACTIVE.get()
}

pub(crate) fn set_active(active: bool) {
    ACTIVE.set(active);
}

/// The world, for a scope. Never kept across an operation of the running thread or anything else that may switch threads.
#[inline(always)]
#[track_caller]
pub fn borrow() -> Borrow<'static, World, ASIDE> {
    WORLD.borrow()
}

/// As [`borrow`], without a check that costs more than what the fastest hooks do.
///
/// # Safety
///
/// The caller was called by code of the program, and passes no reference on: no borrow is alive while code of the program
/// runs.
#[inline(always)]
pub unsafe fn borrow_in_hook() -> &'static mut World {
    // SAFETY: by the caller, no other reference is alive; the world is made before `main`.
    unsafe { &mut *WORLD.raw() }
}

/// Ends the borrow of code that a fault interrupted.
///
/// # Safety
///
/// The interrupted code never goes on.
pub unsafe fn reclaim() {
    // SAFETY: by the caller, the code that held the borrows never goes on.
    unsafe {
        cell::interrupted();
        WORLD.reclaim();
        HEAP.cell().reclaim();
        SNAPSHOT.reclaim();
    }
}

/// The program's heap, for a scope.
#[track_caller]
pub fn heap() -> Borrow<'static, Heap, ASIDE> {
    HEAP.borrow()
}

/// A process forks, goes on or is gone.
pub fn heap_changes(change: ProcessChange) {
    HEAP.change(change);
}

/// The copies of the program's memory, for a scope.
#[track_caller]
pub fn snapshot() -> Borrow<'static, Snapshot, ASIDE> {
    SNAPSHOT.borrow()
}

/// As [`snapshot`], for the fault handler.
pub fn try_snapshot() -> Option<Borrow<'static, Snapshot, ASIDE>> {
    SNAPSHOT.try_borrow()
}

/// Makes the world, once; with threads that are real ones if they are to be `seated`.
pub fn start(seated: bool) {
    let races = channel::header().races.load(Ordering::Relaxed);
    WORLD.fill(World {
        run: Run::default(),
        races: RaceDetector::default(),
        threads: Vec::new(),
        spare: Vec::new(),
        current: ThreadId::MAIN,
        choice: Choice {
            thread: ThreadId::MAIN,
            outcome: 0,
        },
        root_own: switch::own_memory(),
        first_seat: None,
        objects: Objects::new(),
        slots: Slots::new(),
        outcome: Outcome::Running,
        notes: Vec::new(),
        status: None,
        spoilt: false,
        detail: false,
        debugged: false,
        shadow: new_shadow()
            .unwrap_or_else(|| crate::give_up(format_args!("there is no address space"))),
        check_races: races != Races::Ignore as u32,
        report_races: races != Races::Interleave as u32,
        units: Units::default(),
        unsettled: None,
        stores: Stores::default(),
        addresses: Addresses::default(),
        keeps_ids: false,
        values: Values::default(),
        weak_orders: 0,
        guarded: Vec::new(),
        freed: false,
        about_errors: Vec::new(),
        watched: Watched::new(),
        dooms: Vec::new(),
        refused: false,
        short: false,
    });
    if seated {
        borrow().first_seat = Some(turns::first_seat());
    }
}

fn new_shadow() -> Option<Shadow> {
    let memory = |bytes| sys::map_own(bytes).and_then(NonNull::new);
    match sys::shares() {
        true => Shadow::shared(memory),
        false => Shadow::new(memory),
    }
}

impl World {
    /// A return address as a site.
    #[inline]
    pub fn site(&self, address: usize) -> Site {
        modules::site(address)
    }

    /// Whether a site is in the program itself.
    pub fn is_program(&self, site: Site) -> bool {
        modules::is_program(site)
    }

    /// Forgets the run before, keeping memory.
    pub(super) fn forget_run(&mut self) {
        let spare = self.threads.drain(..).rev();
        self.spare
            .extend(spare.map(|thread| (thread.calls, thread.spin)));
        self.objects.clear();
        self.races.clear();
        self.shadow.clear();
        self.freed = false;
        self.about_errors.clear();
        self.watched.clear();
        self.unsettled = None;
        self.stores.clear();
        self.addresses.clear();
        self.keeps_ids = false;
        self.values.clear();
        self.notes.clear();
        self.status = None;
        self.short = false;
        self.outcome = Outcome::Running;
    }

    #[inline]
    pub fn me(&mut self) -> &mut Thread {
        let current = self.current.index();
        &mut self.threads[current]
    }

    /// The functions that a thread is in, by return address, outermost first.
    pub fn callers(&self, thread: ThreadId) -> &[usize] {
        let record = &self.threads[thread.index()];
        let running = thread == self.current && !calls_end().is_null();
        let end = if running {
            calls_end()
        } else {
            record.calls_end
        };
        // SAFETY: the list lies between the two pointers, in memory that belongs to the thread, and no code
        // of the program runs while it is borrowed.
        unsafe {
            let length = end.offset_from(record.calls).max(0) as usize;
            core::slice::from_raw_parts(record.calls, length)
        }
    }

    pub fn slot(&self) -> usize {
        self.threads[self.current.index()].slot
    }

    /// Whether a thread has run any function of the program that does something.
    pub fn ran(&self, index: usize) -> bool {
        // SAFETY: `calls` points to the first entry of the thread's list, which was 0 when the thread began.
        unsafe { *self.threads[index].calls != 0 }
    }

    /// A thread's name: the one that the program gave it, or its path.
    pub fn name_of(&self, thread: ThreadId) -> String {
        let record = &self.run.execution().threads[thread.index()];
        let path = record.path.iter();
        match &record.name {
            Some(name) => name.clone(),
            None => path.fold("main".into(), |name, step| format!("{name}.{step}")),
        }
    }

    /// Adds the next thread, about to begin.
    pub(super) fn add(
        &mut self,
        number: usize,
        slot: Slot,
        entry: extern "C" fn() -> !,
    ) -> &mut Thread {
        let list = self.take_calls();
        // SAFETY: the stack below `slot.top` is not in use: the slot's thread has not begun in this run,
        // and of the first thread's stack nothing below the running frames is.
        let sp = unsafe { switch::prepare(slot.top as *mut u8, entry) };
        self.push_thread(number, slot, entry, sp, list)
    }

    /// An empty list of callers, and what a loop has seen: nothing.
    pub(super) fn take_calls(&mut self) -> (*mut usize, Spin) {
        let (calls, mut spin) = self.spare.pop().unwrap_or_else(|| {
            let Some(room) = sys::map_own(CALLS_BYTES) else {
                crate::give_up(format_args!("there is no memory for another thread"));
            };
            let room = room.cast::<usize>();
            // SAFETY: `room` is new memory of CALLS_BYTES, so its first and last word are within it; the
            // first entry stays 0, the last one FULL.
            unsafe {
                room.add(CALLS_BYTES / 8 - 1).write(FULL);
                (room.add(1), Spin::default())
            }
        });
        spin.reset();
        // SAFETY: `calls` is the first entry of a list of CALLS_BYTES that is mapped and belongs to this
        // thread alone.
        unsafe { calls.write(0) };
        (calls, spin)
    }

    /// Adds the next thread, of the running process, which goes on at `sp`.
    pub(super) fn push_thread(
        &mut self,
        number: usize,
        slot: Slot,
        entry: extern "C" fn() -> !,
        sp: *mut u8,
        (calls, spin): (*mut usize, Spin),
    ) -> &mut Thread {
        self.threads.push(Thread {
            sp,
            own: slot.own,
            seat: self.first_seat.and(slot.seat),
            top: slot.top,
            entry,
            slot: number,
            process: processes::current(),
            starter: None,
            start: None,
            argument: ptr::null_mut(),
            result: ptr::null_mut(),
            handle: slot.own,
            created: 0,
            finished: false,
            detached: false,
            joined: false,
            acted: 0,
            calls,
            calls_end: calls,
            spin,
            call: 0,
            control: 0,
            leaving: None,
            access: None,
            identity: Identity::default(),
        });
        self.threads.last_mut().expect("just added")
    }

    /// The object of this sort at an address, made as `fresh` says if there is none.
    pub fn object(
        &mut self,
        address: usize,
        bytes: usize,
        sort: Sort,
        fresh: impl FnOnce() -> Object,
    ) -> ObjectId {
        match self.objects.find(address, bytes, sort) {
            Found::Object(object) => object,
            Found::Nothing | Found::Overlap => self.make(address, bytes, sort, fresh()),
        }
    }

    /// Makes an object known to the run.
    fn introduce(&mut self, sort: Sort, object: Object) -> ObjectId {
        match sort {
            Sort::Quiet => self.run.hidden_object(object),
            _ => self.run.object(object),
        }
    }

    /// A new object at an address.
    pub fn make(&mut self, address: usize, bytes: usize, sort: Sort, object: Object) -> ObjectId {
        let id = self.introduce(sort, object);
        self.objects.put(address, bytes, sort, id);
        id
    }

    /// A new object of the runtime's own that goes by an address and does not lie there.
    pub fn make_beside(&mut self, address: usize, sort: Sort, object: Object) -> ObjectId {
        let id = self.introduce(sort, object);
        self.objects.note(address, 0, sort, id);
        id
    }

    /// The same, of one that orders no memory.
    pub fn make_quiet(&mut self, address: usize, object: Object) -> ObjectId {
        self.make_beside(address, Sort::Quiet, object)
    }

    pub fn about(&mut self, object: ObjectId) -> &mut Known {
        self.objects.about(object)
    }
}
