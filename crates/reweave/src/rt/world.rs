//! What one worker has: the run, and what is kept of each thread while an execution lasts.
//!
//! *Owned by:* [`super::ClosureTarget`]. Fibers find it through a thread-local of their own, which points to their [`Task`].

use super::{
    arcs::{Arcs, Fall},
    habits::Habits,
    local::Locals,
    panics::Panic,
    pointers::Pointers,
    races::Races,
    site::Seen,
    slot::Slot,
    spin::Spin,
    statics::Copies,
    wanted::{Visible, Wanted},
};
use crate::allocator::Watch;
use reweave_conduct::{Next, Round, Run};
use reweave_fiber::Pool;
use reweave_model::{Choice, Edge, Error, ObjectId, Site, ThreadId};
use std::{
    cell::{Cell, RefCell},
    collections::{HashSet, VecDeque},
    panic::Location,
    ptr,
    sync::Arc,
};

/// See the module.
pub(crate) struct World {
    pub(crate) run: RefCell<Run>,
    /// Which execution this is; never 0, never twice in a process (but for 2^32 executions).
    pub(crate) stamp: Cell<u32>,
    /// The execution is over, its threads are being unwound.
    pub(crate) ending: Cell<bool>,
    /// Threads that have not had their first turn.
    pub(crate) newborn: RefCell<VecDeque<(ThreadId, Job)>>,
    /// How many they are.
    pub(crate) newborns: Cell<usize>,
    /// What the run said to the fiber that asked last; for the loop.
    pub(crate) next: Cell<Option<Next>>,
    /// Whose turn it is.
    pub(crate) chosen: Cell<Choice>,
    pub(crate) threads: RefCell<Vec<Thread>>,
    /// In order of time, each with the number of events before it.
    pub(crate) errors: RefCell<Vec<(usize, Error)>>,
    pub(crate) panics: RefCell<Vec<Panic>>,
    /// The crash that is about to end the running fiber is among the errors already.
    pub(crate) crash_told: Cell<bool>,
    pub(crate) habits: Habits,
    pub(crate) races: RefCell<Races>,
    /// Rounds of loops that change nothing are taken back.
    pub(crate) takes_back: Cell<bool>,
    pub(crate) copies: Copies,
    pub(crate) pointers: Pointers,
    /// The execution is to be begun again.
    pub(crate) restart: Cell<bool>,
    /// The ends of threads are events in this execution: see `ends`.
    pub(crate) ends: Cell<bool>,
    /// All that is an event in this execution and not always.
    pub(crate) visible: RefCell<Visible>,
    visible_version: Cell<u32>,
    /// What is to be, from the next one on, for all workers of a search.
    pub(crate) wanted: RefCell<Arc<Wanted>>,
    pub(crate) arcs: Arcs,
    /// Waits on condition variables may end spuriously.
    pub(crate) spurious: Cell<bool>,
    /// What orders the looks at the clock, once a thread has looked.
    pub(crate) clock: Cell<Option<ObjectId>>,
    /// Sites of loops that look endless and are not.
    never: RefCell<HashSet<u32>>,
    /// Cells that had an access so far, in all executions: see `tag`.
    pub(crate) cells: Cell<u32>,
    /// Set: what an execution leaves behind is looked at.
    pub(crate) leaks: Option<Watch>,
    pub(crate) seen: Seen,
    weak_seen: Seen,
    weak: RefCell<HashSet<u32>>,
    pub(crate) pool: RefCell<Pool>,
}

impl Drop for World {
    fn drop(&mut self) {
        let pool = self.pool.replace(Pool::new(0));
        // Where the OS thread is at its end, so are the fibers.
        let _ = SPARE.try_with(|spare| spare.set(Some(pool)));
    }
}

/// What a fiber runs.
pub(crate) type Job = Box<dyn FnOnce()>;

/// A thread of the execution under way.
pub(crate) struct Thread {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) parker: Slot,
    /// Whether it has ended, for those who ask without waiting.
    pub(crate) life: Slot,
    /// Its result was taken by a join, or by the scope it belongs to: a panic is the program's business.
    pub(crate) joined: bool,
    /// Where it was created.
    pub(crate) spawned: Site,
}

/// A panic that has begun.
pub(crate) struct Began {
    pub(crate) message: String,
    pub(crate) site: Site,
    pub(crate) after: Option<Edge>,
}

/// What a running thread needs at each operation. It lives on the fiber's stack for as long as the thread does.
pub(crate) struct Task {
    world: *const World,
    pub(crate) thread: ThreadId,
    /// The lowest address of the stack where an operation may begin.
    stack_low: usize,
    pub(crate) locals: RefCell<Locals>,
    /// The last panic that began in it, for the case that it ends by it.
    pub(crate) panic: RefCell<Option<Began>>,
    /// Std is about to abort the process because of it.
    pub(crate) aborting: Cell<bool>,
    pub(crate) spin: RefCell<Spin>,
    /// Values of `Arc`s that it is destroying, the outermost first.
    pub(crate) falls: RefCell<Vec<Fall>>,
    /// How many of them have done nothing visible so far.
    pub(crate) silent_falls: Cell<u32>,
}

thread_local! {
    /// The fibers of the last check on this OS thread, for the next one: making a fiber takes longer than a small check.
    static SPARE: Cell<Option<Pool>> = const { Cell::new(None) };
    /// The task of the fiber whose thread-local it is; null elsewhere.
    static TASK: Cell<*const Task> = const { Cell::new(ptr::null()) };
    /// Where the stack of the fiber ends; 0 until asked for.
    static STACK_LOW: Cell<usize> = const { Cell::new(0) };
}

/// The running thread, on a fiber of a check.
#[inline]
pub(crate) fn task<'a>() -> Option<&'a Task> {
    // SAFETY: set by `Task::enter` to a task on the stack below, and reset before that is gone.
    unsafe { TASK.get().as_ref() }
}

/// Room for the model's work at an operation, far more than it needs: an overflow in the middle of it would leave it broken.
const ROOM_BYTES: usize = 24 << 10;

impl Task {
    /// Runs the life of a thread with its task in place.
    pub(crate) fn enter(world: &World, thread: ThreadId, life: impl FnOnce(&Task)) {
        let task = Task {
            world,
            thread,
            stack_low: stack_low(),
            locals: RefCell::default(),
            panic: RefCell::new(None),
            aborting: Cell::new(false),
            spin: RefCell::default(),
            falls: RefCell::default(),
            silent_falls: Cell::new(0),
        };
        TASK.set(&task);
        let _reset = Reset;
        life(&task);
    }

    #[inline]
    pub(crate) fn world(&self) -> &World {
        // SAFETY: a world outlives its fibers: the target unwinds them before it hands back the execution. A leaked fiber never runs.
        unsafe { &*self.world }
    }

    /// Ends the fiber by an overflow now, when there is no room for an operation.
    #[inline]
    pub(crate) fn check_stack(&self) {
        let here = 0_u8;
        if (&raw const here as usize) < self.stack_low + ROOM_BYTES {
            self.end_by_fault();
        }
    }

    /// Touches the guard page below the stack, which ends the fiber.
    #[cold]
    pub(crate) fn end_by_fault(&self) {
        // SAFETY: not safe at all, and meant so: the page is a guard page, and the fiber's signal handler ends the fiber here.
        unsafe { ptr::write_volatile((self.stack_low - 64) as *mut u8, 0) };
    }
}

struct Reset;

impl Drop for Reset {
    fn drop(&mut self) {
        TASK.set(ptr::null());
    }
}

/// The lowest usable address of the running fiber's stack, which is its thread's.
fn stack_low() -> usize {
    let known = STACK_LOW.get();
    if known != 0 {
        return known;
    }
    let mut attributes = std::mem::MaybeUninit::uninit();
    let (mut low, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: asks for the attributes of the running thread, reads two of them, destroys them.
    let low = unsafe {
        let result = libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr());
        assert_eq!(result, 0, "pthread_getattr_np");
        libc::pthread_attr_getstack(attributes.as_ptr(), &mut low, &mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        low as usize
    };
    STACK_LOW.set(low);
    low
}

impl World {
    pub(crate) fn new(stack_bytes: usize) -> World {
        World {
            run: RefCell::default(),
            stamp: Cell::new(0),
            ending: Cell::new(false),
            newborn: RefCell::default(),
            newborns: Cell::new(0),
            next: Cell::new(None),
            chosen: Cell::new(Choice {
                thread: ThreadId::MAIN,
                outcome: 0,
            }),
            threads: RefCell::default(),
            errors: RefCell::default(),
            panics: RefCell::default(),
            crash_told: Cell::new(false),
            habits: Habits::default(),
            races: RefCell::default(),
            takes_back: Cell::new(false),
            copies: Copies::default(),
            pointers: Pointers::default(),
            restart: Cell::new(false),
            ends: Cell::new(false),
            visible: RefCell::default(),
            visible_version: Cell::new(0),
            wanted: RefCell::default(),
            arcs: Arcs::default(),
            spurious: Cell::new(false),
            clock: Cell::new(None),
            never: RefCell::default(),
            cells: Cell::new(0),
            leaks: None,
            seen: Seen::new(),
            weak_seen: Seen::new(),
            weak: RefCell::default(),
            pool: RefCell::new(SPARE.take().unwrap_or_else(|| Pool::new(stack_bytes))),
        }
    }

    /// An execution begins: it shows what is wanted by now.
    pub(crate) fn show_wanted(&self) {
        let wanted = self.wanted.borrow();
        if self.visible_version.replace(wanted.version()) != wanted.version() {
            self.visible.replace(wanted.visible());
        }
        let visible = self.visible.borrow();
        self.ends.set(visible.ends);
        self.arcs.begin(visible.shows_counts());
    }

    /// A thread of the execution creates another one, which must be given to [`World::start`].
    pub(crate) fn spawn(
        &self,
        parent: ThreadId,
        name: Option<Arc<str>>,
        place: &'static Location<'static>,
    ) -> ThreadId {
        let mut run = self.run.borrow_mut();
        let id = run.spawn(parent);
        if let Some(name) = &name {
            run.name(id, name);
        }
        self.races.borrow_mut().spawn(parent, id);
        let mut threads = self.threads.borrow_mut();
        threads.push(Thread::new(name, self.seen.site(place)));
        id
    }

    /// A thread comes to an operation that may turn out to be the first of a round which is taken back.
    pub(crate) fn round_may_begin(&self, thread: ThreadId, begins: bool) {
        self.run.borrow_mut().round_may_begin(thread);
        let mut races = self.races.borrow_mut();
        races.round_may_begin(thread, begins);
    }

    /// The last operations of a thread are a round that changed nothing.
    pub(crate) fn take_back(&self, thread: ThreadId, count: usize) -> Round {
        let round = self.run.borrow_mut().take_back(thread, count);
        if round == Round::TakenBack {
            let mut races = self.races.borrow_mut();
            races.take_back(thread, count as u32);
        }
        round
    }

    /// It will have its first turn before anybody's next operation.
    pub(crate) fn start(&self, thread: ThreadId, job: Job) {
        self.newborn.borrow_mut().push_back((thread, job));
        self.newborns.set(self.newborns.get() + 1);
    }

    /// The next thread to have its first turn.
    pub(crate) fn newborn(&self) -> Option<(ThreadId, Job)> {
        if self.newborns.get() == 0 {
            return None;
        }
        self.newborns.set(self.newborns.get() - 1);
        self.newborn.borrow_mut().pop_front()
    }

    /// Records an error of a thread at this moment of the execution.
    pub(crate) fn error(&self, thread: ThreadId, mut error: Error) {
        let run = self.run.borrow();
        let place = run.execution().events.len();
        error.after.get_or_insert_with(|| run.moment(thread));
        self.errors.borrow_mut().push((place, error));
    }

    /// The runtime's own state is in use: what is allocated now is not the program's.
    pub(crate) fn busy(&self) -> bool {
        self.run.try_borrow().is_err()
            || self.threads.try_borrow().is_err()
            || self.races.try_borrow().is_err()
            || self.newborn.try_borrow().is_err()
            || self.arcs.busy()
    }

    /// Whether a loop at this site was found not to be endless.
    pub(crate) fn never_parks(&self, site: Site) -> bool {
        self.never.borrow().contains(&site.0)
    }

    /// From now on.
    pub(crate) fn never_park(&self, site: Site) {
        self.never.borrow_mut().insert(site.0);
    }

    /// A place asks for less than sequential consistency.
    #[inline]
    pub(crate) fn weak_order(&self, site: Site) {
        if self.weak_seen.add(site) {
            self.weak.borrow_mut().insert(site.0);
        }
    }

    /// These places so far.
    pub(crate) fn weak_sites(&self) -> Vec<Site> {
        self.weak.borrow().iter().copied().map(Site).collect()
    }
}

impl Thread {
    pub(crate) fn new(name: Option<Arc<str>>, spawned: Site) -> Thread {
        Thread {
            name,
            parker: Slot::new(),
            life: Slot::new(),
            joined: false,
            spawned,
        }
    }
}
