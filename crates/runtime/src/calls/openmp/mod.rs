//! OpenMP, by the entry points of libgomp that compiled code calls: libgomp itself waits by system calls that are not seen.
//!
//! A region has a team: its first thread is the one that came to the region, the others are created for it and joined at its end
//! ([`regions`]). The parts of a loop go to the threads of a team by tries for locks that are never released ([`worksharing`]), so
//! that nothing is ordered by that. The `omp_...` functions and variables are in [`settings`], OpenMP's locks in [`locks`],
//! deferred work in [`tasks`].
//!
//! May import `core`, `hooks` and `kernel`, and no other family.

mod entry_points;
mod locks;
mod regions;
mod settings;
mod tasks;
mod worksharing;

use crate::{
    core::{
        cell::RunCell,
        families::{Birth, Family},
        objects::Sort,
        per_thread::PerThread,
    },
    run::{call_sites, world},
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use reweave_model::{Object, ObjectId, ThreadId};
use settings::Settings;
use tasks::Tasks;
use worksharing::{Share, Sharing};

pub(crate) static FAMILY: Family = Family {
    prepare: |_| prepare(),
    begin_run: || {
        TEAMS.borrow().clear();
        MEMBERS.clear();
        *NEXT.borrow() = None;
    },
    thread_begins,
    ..Family::QUIET
};

/// What a region runs.
type Body = unsafe extern "C" fn(*mut c_void);

/// All teams of this run. The world may be borrowed while this is, and never the other way round.
static TEAMS: RunCell<Vec<Team>> = RunCell::new(Vec::new());

/// What OpenMP keeps of a thread.
#[derive(Default)]
struct Member {
    /// The regions that it is in, outermost first.
    places: Vec<Place>,
    /// Once it has asked for them.
    settings: Option<Settings>,
    /// The other threads of its last outermost region: those of the next one take their places.
    pool: Vec<ThreadId>,
}

static MEMBERS: PerThread<Member> = PerThread::new();

/// What the thread that is created next begins with, if it is created for a region.
static NEXT: RunCell<Option<Member>> = RunCell::new(None);

/// The threads of a region.
struct Team {
    size: u32,
    body: Body,
    data: *mut c_void,
    /// All but the first.
    others: Vec<ThreadId>,
    barrier: Option<ObjectId>,
    shares: Vec<Share>,
    tasks: Option<Tasks>,
}

/// A thread's part in a team.
#[derive(Clone, Copy, Default)]
struct Place {
    /// `None`: a team of one that no region has made.
    team: Option<usize>,
    number: u32,
    /// How many worksharing constructs it has come to.
    shares: usize,
    /// The last of them, while it is one with parts.
    sharing: Option<Sharing>,
    /// The task that it does, if that is not just its part in the team.
    task: Option<usize>,
}

/// Once: a program that contains its own copy of libgomp would call that.
fn prepare() {
    settings::prepare();
    tasks::prepare();
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"GOMP_parallel".as_ptr()) };
    if !call_sites::library(found as usize, "/libreweave_runtime.so") {
        crate::give_up(format_args!(
            "the program is linked with libgomp.a, which cannot be controlled; link it with libgomp.so (-fopenmp)"
        ));
    }
}

fn thread_begins(birth: &Birth) {
    if birth.again {
        MEMBERS.with(birth.child, |own| *own = Member::default());
    }
    let joins = NEXT.borrow().is_some();
    if let Some(member) = joins.then(|| NEXT.borrow().take()).flatten() {
        MEMBERS.with(birth.child, |own| *own = member);
    }
}

/// Addresses of objects that no memory of the program stands for.
const NOWHERE: usize = 0x7200_0000_0000;

/// A new object that no memory of the program stands for.
fn hidden(sort: Sort, object: Object) -> ObjectId {
    world::borrow().make_beside(NOWHERE, sort, object)
}

/// Uses what is kept of the running thread. The closure must not switch threads.
fn with_own<R>(what: impl FnOnce(&mut Member) -> R) -> R {
    let me = world::borrow().current;
    MEMBERS.with(me, what)
}

/// Changes the running thread's place in its innermost region.
fn change_place<R>(what: impl FnOnce(&mut Place) -> R) -> R {
    with_own(|own| {
        if own.places.is_empty() {
            own.places.push(Place::default());
        }
        what(own.places.last_mut().expect("there is one"))
    })
}

/// The running thread's place in its innermost region.
fn place() -> Place {
    change_place(|place| *place)
}

/// Uses the team of a place, if it is one of a region. The closure must not switch threads.
fn with_team<R>(place: &Place, what: impl FnOnce(&mut Team) -> R) -> Option<R> {
    let team = place.team?;
    Some(what(&mut TEAMS.borrow()[team]))
}

fn size_of_team(place: &Place) -> u32 {
    with_team(place, |team| team.size).unwrap_or(1)
}

/// A number as calls return it.
fn answer(number: impl Into<c_int>) -> usize {
    number.into() as usize
}
