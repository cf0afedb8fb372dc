//! The run at hand: its threads, whose turn it is, and how an operation is done.
//!
//! One OS thread at a time runs what is here, so the world is one value without locks. It is borrowed anew after every switch: [`get`] is
//! called for a few lines at a time and never kept across [`World::turn`].

mod notes;

use crate::{
    calls,
    core::{
        cell::{Borrow, RunCell, RunValue},
        channel, debugger,
        families::{self, Birth},
        heap::Heap,
        objects::{Found, Known, Objects, Sort},
        os_threads::Seat,
        recording::Watched,
        restore::Snapshot,
        slots::{Slot, Slots},
        spin::{self, Spin},
        switch, sys,
        times::{Clock, Times},
    },
    hooks::{
        FULL, Frame,
        accesses::{Mode, set_mode},
        atomic_peeks::Stores,
        calls_end,
        racy_units::{Part, Units},
        swap_calls,
        wide_values::Values,
    },
};
use alloc::{format, string::String, vec::Vec};
use core::{
    cell::UnsafeCell,
    ffi::c_void,
    ptr::{self, NonNull},
    sync::atomic::Ordering,
};
use reweave_model::{
    Choice, Class, End, Event, Gate, Next, Object, ObjectId, Op, Order, Pending, RaceDetector, Run,
    Site, ThreadId,
};
use reweave_shadow::{Kind as Access, Shadow};
use reweave_wire::{Doom, Note, Races};

/// A thread of the program in the run at hand.
pub struct Thread {
    /// Where it goes on.
    sp: *mut u8,
    own: usize,
    /// The real thread that runs it, where threads are real ones.
    pub seat: Option<&'static Seat>,
    /// Its stack begins here, with the frame of this function.
    pub top: usize,
    pub entry: extern "C" fn() -> !,
    pub slot: usize,
    /// Who created it and waits for its first operation.
    starter: Option<ThreadId>,
    pub start: Option<extern "C" fn(*mut c_void) -> *mut c_void>,
    pub argument: *mut c_void,
    pub result: *mut c_void,
    pub handle: usize,
    pub created: u32,
    pub finished: bool,
    pub detached: bool,
    pub joined: bool,
    pub clock: Clock,
    /// The epoch of its last operation; 0: it made none.
    pub acted: u32,
    /// What library calls keep of it.
    pub own_calls: calls::Own,
    /// Its list of callers, and where that ends while it does not run: see [`crate::hooks`].
    calls: *mut usize,
    calls_end: *mut usize,
    pub spin: Spin,
    /// The plain access that is the event it has come to.
    pub access: Option<Part>,
}

impl Thread {
    /// How far down its stack reaches while it does not run.
    pub fn saved(&self) -> usize {
        self.sp as usize
    }
}

/// Creating one more than there can be.
const TOO_MANY: &str = "more threads than there is room for";

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
    /// A library must be loaded first, which the driver is told of.
    Open,
}

/// A module of the program: where it lies, and the number its addresses begin with as sites.
#[derive(Clone)]
pub struct Module {
    pub start: usize,
    pub end: usize,
    pub bias: usize,
    pub path: String,
    /// Not the program's own: the C library and the like.
    pub library: bool,
}

pub struct World {
    pub run: Run,
    pub races: RaceDetector,
    pub threads: Vec<Thread>,
    /// Lists of threads of earlier runs, for their memory: of callers, and what loops have seen.
    spare: Vec<(*mut usize, Spin)>,
    pub current: ThreadId,
    choice: Choice,
    root: *mut u8,
    root_own: usize,
    /// The first of the real threads, where the program's are such.
    pub first_seat: Option<&'static Seat>,
    main_top: usize,
    pub objects: Objects,
    pub slots: Slots,
    pub outcome: Outcome,
    pub notes: Vec<Note>,
    pub modules: Vec<Module>,
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
    /// What library calls keep of a run.
    pub calls: calls::State,
    pub times: Times,
    /// Threads of this run that go no further than some step.
    pub dooms: Vec<Doom>,
    /// There is no way to have as many threads as a run wants.
    pub refused: bool,
    /// A thread of this run could not be created.
    short: bool,
}

struct Global<T>(UnsafeCell<T>);
// SAFETY: one OS thread at a time runs code that comes here.
unsafe impl<T> Sync for Global<T> {}

static WORLD: RunCell<World> = RunCell::empty();
static HEAP: Global<Heap> = Global(UnsafeCell::new(Heap::new()));
static SNAPSHOT: Global<Snapshot> = Global(UnsafeCell::new(Snapshot::new()));
static ACTIVE: RunValue<bool> = RunValue::new(false);

/// Whether a run is going on: otherwise calls go to the real functions.
#[inline]
pub fn active() -> bool {
    ACTIVE.get()
}

pub fn set_active(active: bool) {
    ACTIVE.set(active);
}

/// The world; see the module about how long it may be kept.
#[inline]
pub fn get() -> &'static mut World {
    // SAFETY: one thread; callers keep it for a few lines. It is there since `start`.
    unsafe { &mut *WORLD.raw() }
}

/// The world, for a scope. Never kept across an operation of the running thread or anything else that may switch threads.
#[inline(always)]
#[track_caller]
pub fn borrow() -> Borrow<'static, World> {
    WORLD.borrow()
}

/// The world, while a run is going on.
#[inline]
pub fn get_if_active() -> Option<&'static mut World> {
    active().then(get)
}

pub fn heap() -> &'static mut Heap {
    // SAFETY: as above.
    unsafe { &mut *HEAP.0.get() }
}

pub fn snapshot() -> &'static mut Snapshot {
    // SAFETY: as above.
    unsafe { &mut *SNAPSHOT.0.get() }
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
        root: ptr::null_mut(),
        root_own: switch::own_memory(),
        first_seat: None,
        main_top: 0,
        objects: Objects::new(),
        slots: Slots::new(),
        outcome: Outcome::Running,
        notes: Vec::new(),
        modules: Vec::new(),
        status: None,
        spoilt: false,
        detail: false,
        debugged: false,
        shadow: Shadow::new(|bytes| sys::map_own(bytes).and_then(NonNull::new))
            .unwrap_or_else(|| crate::give_up(format_args!("there is no address space"))),
        check_races: races != Races::Ignore as u32,
        report_races: races != Races::Interleave as u32,
        units: Units::default(),
        unsettled: None,
        stores: Stores::default(),
        values: Values::default(),
        weak_orders: 0,
        guarded: Vec::new(),
        freed: false,
        about_errors: Vec::new(),
        watched: Watched::new(),
        calls: calls::State::default(),
        times: Times::new(),
        dooms: Vec::new(),
        refused: false,
        short: false,
    });
    if seated {
        let world = get();
        world.first_seat = Some(Seat::first(&raw mut world.root));
    }
}

impl World {
    /// A return address as a site.
    #[inline]
    pub fn site(&self, address: usize) -> Site {
        let first = &self.modules[0];
        let offset = address.wrapping_sub(first.start);
        if offset < first.end - first.start {
            return Site(offset as u32);
        }
        self.other_site(address)
    }

    /// Whether a site is in the program itself.
    pub fn is_program(&self, site: Site) -> bool {
        (site.0 as usize) < self.modules[0].end - self.modules[0].start
    }

    #[cold]
    fn other_site(&self, address: usize) -> Site {
        let within = |module: &&Module| module.start <= address && address < module.end;
        let module = self.modules.iter().find(within);
        module.map_or(Site(1), |module| {
            Site((module.bias + address - module.start) as u32)
        })
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
        // SAFETY: the list lies between, and is not changed while it is looked at.
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
        // SAFETY: the list has a first entry, which was 0 when the thread began.
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

    /// Whether an address is of a library, and not of the program itself.
    pub fn is_library(&self, address: usize) -> bool {
        let within = |module: &&Module| module.start <= address && address < module.end;
        let module = self.modules.iter().find(within);
        module.is_none_or(|module| module.library)
    }

    /// Runs the plan that `run` was begun with: the first thread from its entry, until the run has an outcome.
    pub fn conduct(&mut self, entry: extern "C" fn() -> !) -> Outcome {
        calls::erase(self);
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
        self.values.clear();
        self.times.clear();
        self.notes.clear();
        self.calls.clear();
        families::begin_run();
        self.status = None;
        self.short = false;
        self.outcome = Outcome::Running;
        let here = 0_u64;
        // The first thread's stack is what is left of the process's own.
        self.main_top = (&raw const here as usize - (128 << 10)) & !4095;
        let slot = Slot {
            top: self.main_top,
            end: self.main_top,
            own: self.root_own,
            seat: self.first_seat,
        };
        self.add(0, slot, entry).own_calls = calls::Own::first();
        families::thread_begins(&Birth {
            parent: None,
            child: ThreadId::MAIN,
            slot: 0,
        });
        self.current = ThreadId::MAIN;
        self.mark();
        if self.debugged {
            debugger::name(self, ThreadId::MAIN);
        }
        set_active(true);
        swap_calls(self.threads[0].calls);
        spin::begin(self.main_top);
        self.refresh();
        let to = self.threads[0].sp;
        // SAFETY: prepared by `add`; comes back by `leave`.
        unsafe { switch::switch(&raw mut self.root, to) };
        get().gather();
        set_active(false);
        set_mode(Mode::Nothing);
        let world = get();
        world.me().calls_end = swap_calls(ptr::null_mut());
        world.outcome
    }

    /// The first thread is back from a run: where the others are real ones, they come back too.
    fn gather(&mut self) {
        let Some(first) = self.first_seat else {
            return;
        };
        if self.outcome == Outcome::Running {
            first.wait_for_end();
        }
        let others = get().threads.iter().skip(1);
        for seat in others.filter_map(|thread| thread.seat) {
            seat.call_back(first);
        }
    }

    /// Adds the next thread, about to begin.
    fn add(&mut self, number: usize, slot: Slot, entry: extern "C" fn() -> !) -> &mut Thread {
        let (calls, mut spin) = self.spare.pop().unwrap_or_else(|| {
            let Some(room) = sys::map_own(CALLS_BYTES) else {
                crate::give_up(format_args!("there is no memory for another thread"));
            };
            let room = room.cast::<usize>();
            // SAFETY: just mapped; the first entry stays 0, the last one FULL.
            unsafe {
                room.add(CALLS_BYTES / 8 - 1).write(FULL);
                (room.add(1), Spin::default())
            }
        });
        spin.reset();
        // SAFETY: the first entry of the list, see `ran`.
        unsafe { calls.write(0) };
        self.threads.push(Thread {
            // SAFETY: nobody uses the slot's stack, or what is left of the first one.
            sp: unsafe { switch::prepare(slot.top as *mut u8, entry) },
            own: slot.own,
            seat: self.first_seat.and(slot.seat),
            top: slot.top,
            entry,
            slot: number,
            starter: None,
            start: None,
            argument: ptr::null_mut(),
            result: ptr::null_mut(),
            handle: slot.own,
            created: 0,
            finished: false,
            detached: false,
            joined: false,
            clock: Clock::default(),
            acted: 0,
            own_calls: calls::Own::default(),
            calls,
            calls_end: calls,
            spin,
            access: None,
        });
        self.threads.last_mut().expect("just added")
    }

    /// The running thread creates another, which runs to its first operation before this one goes on. `ready` is told of it before. It has the `slot` of
    /// a thread that has ended, or one of its own.
    pub fn spawn(
        &mut self,
        start: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
        site: Site,
        slot: Option<usize>,
        ready: impl FnOnce(&mut Thread),
    ) -> ThreadId {
        let me = self.current;
        self.me().acted = self.races.epoch(me);
        if self.short {
            self.unsupported(TOO_MANY, site);
        }
        let id = self.run.spawn(me);
        self.races.spawn(me, id);
        let path = &self.run.execution().threads[id.index()].path;
        let number = slot.or_else(|| self.slots.number(path));
        let slot = match number.map(|number| (number, self.slots.get(number))) {
            Some((number, Some(slot))) => Some((number, slot)),
            Some((number, None)) if !self.refused => self.leave(Outcome::Grow(number)),
            _ => None,
        };
        let Some((number, slot)) = slot else {
            // Nobody is created any more, so numbers of threads stay right.
            self.short = true;
            self.run.finish(id);
            self.unsupported(TOO_MANY, site);
        };
        let now = self.me().clock.ns;
        let own_calls = self.me().own_calls.child(number);
        let thread = self.add(number, slot, thread_entry);
        thread.own_calls = own_calls;
        families::thread_begins(&Birth {
            parent: Some(me),
            child: id,
            slot: number,
        });
        let thread = &mut self.threads[id.index()];
        thread.clock.ns = now;
        thread.start = Some(start);
        thread.argument = argument;
        thread.starter = Some(me);
        thread.created = site.0;
        ready(thread);
        if self.debugged {
            debugger::name(self, id);
        }
        self.switch_to(id);
        self.mark();
        id
    }

    /// Leaves the running thread where it is and goes on with another.
    #[inline(always)]
    fn switch_to(&mut self, thread: ThreadId) {
        let from: *mut Thread = self.me();
        self.current = thread;
        let to = self.me();
        let wrote = spin::switched(to.top);
        let calls_end = swap_calls(to.calls_end);
        // SAFETY: the thread that runs is one of this run.
        unsafe { (*from).calls_end = calls_end };
        // SAFETY: both threads are of this run; the other was saved by a switch or is about to begin. Its own memory is that of
        // its parked thread.
        unsafe {
            match (*from).seat.zip(to.seat) {
                None => {
                    switch::set_own_memory(to.own);
                    switch::switch(&raw mut (*from).sp, to.sp);
                }
                Some((here, there)) if (*from).finished => here.end(&raw mut (*from).sp, there),
                Some((here, there)) => here.hand(&raw mut (*from).sp, there),
            }
        }
        // Back again: accesses are this thread's.
        spin::back(wrote);
        get().refresh();
    }

    /// Ends the run here: the running thread does not go on.
    pub fn leave(&mut self, outcome: Outcome) -> ! {
        self.settle();
        if self.debugged {
            debugger::at_end(outcome);
        }
        self.outcome = outcome;
        let is_first = self.current == ThreadId::MAIN;
        let me: *mut Thread = self.me();
        // SAFETY: saved by `conduct`, which waits for this.
        unsafe {
            match (*me).seat.zip(self.first_seat) {
                Some((here, first)) if !is_first => here.end_run(&raw mut (*me).sp, first),
                Some(_) => {}
                None => switch::set_own_memory(self.root_own),
            }
            switch::switch(&raw mut (*me).sp, self.root);
        }
        unreachable!("a run that has ended does not go on")
    }

    /// Waits until the announced operation of the running thread is to go.
    #[inline(always)]
    fn turn(&mut self) {
        let me = self.current;
        match self.me().starter.take() {
            Some(starter) => self.switch_to(starter),
            None => self.next(Some(me)),
        }
    }

    /// Goes on with whoever's turn it is.
    #[inline(always)]
    fn next(&mut self, me: Option<ThreadId>) {
        match self.run.next() {
            Next::Go(choice) => {
                self.choice = choice;
                if Some(choice.thread) != me {
                    self.switch_to(choice.thread);
                }
            }
            Next::End(end) => self.leave(Outcome::Ended(end)),
            Next::Diverged => self.leave(Outcome::Diverged),
        }
    }

    /// The running thread comes to its end.
    pub fn finish(&mut self) -> ! {
        self.settle();
        let me = self.current;
        self.me().finished = true;
        self.run.finish(me);
        if self.debugged {
            debugger::name(self, me);
        }
        match self.me().starter.take() {
            Some(starter) => self.switch_to(starter),
            None => self.next(None),
        }
        unreachable!("a thread that has ended does not go on")
    }

    /// The running thread goes no further.
    pub fn freeze(&mut self, site: Site) -> ! {
        self.settle();
        let me = self.current;
        self.run.announce(
            me,
            Pending {
                op: Op::Assume(false),
                gate: Gate::Open,
                site,
            },
        );
        self.turn();
        unreachable!("a frozen thread does not go on")
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

    /// A new object at an address.
    pub fn make(&mut self, address: usize, bytes: usize, sort: Sort, object: Object) -> ObjectId {
        let id = self.run.object(object);
        self.objects.put(address, bytes, sort, id);
        id
    }

    /// A new object of the runtime's own that goes by an address and does not lie there.
    pub fn make_beside(&mut self, address: usize, sort: Sort, object: Object) -> ObjectId {
        let id = self.run.object(object);
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

/// The running thread goes no further.
pub fn freeze(site: Site) -> ! {
    get().freeze(site)
}

/// The running thread comes to its end.
pub fn finish() -> ! {
    get().finish()
}

/// Ends the run here: the running thread does not go on.
pub fn leave(outcome: Outcome) -> ! {
    get().leave(outcome)
}

/// A call that is not under control: the thread goes no further, and the search reports it.
pub fn unsupported(call: &str, site: Site) -> ! {
    get().unsupported(call, site)
}

/// As [`World::spawn`].
pub fn spawn(
    start: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    site: Site,
    slot: Option<usize>,
    ready: impl FnOnce(&mut Thread),
) -> ThreadId {
    get().spawn(start, argument, site, slot, ready)
}

/// What came of an operation.
#[derive(Clone, Copy)]
pub struct Done {
    pub ok: bool,
    pub result: u64,
}

/// As [`perform`], for an operation that a loop may wait with.
#[inline]
pub fn poll(op: Op, frame: &Frame, site: Site, order: Order, failure: Option<Order>) -> Done {
    let gate = spin::before(op, site, Some(frame));
    done(op, gate, site, order, failure)
}

/// As [`poll`], for a plain access.
pub fn poll_access(op: Op, frame: &Frame, site: Site, part: Part) {
    let gate = spin::before(op, site, Some(frame));
    get().me().access = Some(part);
    done(op, gate, site, Order::SeqCst, None);
}

/// Announces an operation of the running thread, waits for its turn and does it.
#[inline]
pub fn perform(op: Op, gate: Gate, site: Site, order: Order, failure: Option<Order>) -> Done {
    spin::before(op, site, None);
    done(op, gate, site, order, failure)
}

#[inline]
fn done(op: Op, gate: Gate, site: Site, order: Order, failure: Option<Order>) -> Done {
    let world = get();
    world.settle();
    let me = world.current;
    world.run.announce(me, Pending { op, gate, site });
    world.turn();
    let world = get();
    if world.debugged {
        debugger::at_step(world);
    }
    // It stays where it is until the next operation: a copy costs as much as all the rest.
    let event: &Event = get().run.go(world.choice);
    let epoch = world.races.epoch(me);
    world.me().acted = epoch;
    if let Op::Store(object, _) = event.op {
        world.stored(object, epoch);
    }
    let access = world.me().access.take();
    let object = event.op.object();
    let quiet = object.is_some_and(|object| world.objects.about(object).sort == Sort::Quiet);
    match quiet || access.is_some_and(|part| part.races) {
        true => world.races.plain(me),
        false => world.races.event(event, order, failure),
    }
    if world.times.used() {
        world.carry_time(event);
    }
    // Who leaves a wait does not come to the object any more: it may be gone by then.
    let leaves = matches!(event.op, Op::Wake { .. } | Op::Leave(_));
    if let Some(part) = access {
        let kind = part.kind();
        world.touch(part.address, part.bytes, kind, site);
    } else if let Some(object) = object.filter(|_| !leaves && !quiet) {
        let known = world.objects.about(object);
        let most = if known.sort == Sort::Wide {
            u32::MAX
        } else {
            8
        };
        let (address, bytes) = (known.address, known.bytes.min(most) as usize);
        let looks = event.access[0].is_some_and(|access| access.class == Class::Read);
        let kind = match looks {
            true => Access::AtomicRead,
            false => Access::AtomicWrite,
        };
        if kind == Access::AtomicWrite {
            spin::foreign(address, known.bytes as usize);
        }
        if known.sort != Sort::Futex && bytes > 0 {
            world.touch(address, bytes, kind, site);
        }
    }
    spin::after(event);
    world.refresh();
    if world.detail {
        world.watch_event(site);
    }
    let steps = &channel::header().steps;
    steps.store(steps.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    world.mark();
    if !world.dooms.is_empty() {
        world.meet_doom(Some(event.op), site);
    }
    Done {
        ok: event.ok,
        result: event.result,
    }
}

extern "C" fn thread_entry() -> ! {
    get().refresh();
    get().mark();
    let created = Site(get().me().created);
    get().meet_doom(None, created);
    let me = get().me();
    let start = me.start.expect("set when it was created");
    let argument = me.argument;
    let result = start(argument);
    calls::end_thread(result)
}
