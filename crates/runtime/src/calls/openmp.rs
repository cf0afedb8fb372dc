//! OpenMP, by the entry points of libgomp that compiled code calls: libgomp itself waits by system calls that nobody sees.
//!
//! A region is a team: its first thread is the one that came to it, the others are created for it and joined at its end ([`regions`]). Who of a
//! team gets what of a loop is settled by tries for locks that are never given back ([`shares`]), so that nothing is ordered by that. What is
//! said by `omp_...` functions and variables is in [`settings`], their locks in [`locks`], work for later in [`tasks`].

mod call;
mod locks;
mod regions;
mod settings;
mod shares;
mod tasks;

use crate::core::{call_sites, families::Family, objects::Sort, world};
use alloc::vec::Vec;
use core::ffi::{c_int, c_void};
use reweave_model::{Object, ObjectId, ThreadId};
use settings::Settings;
use shares::{Share, Sharing};
use tasks::Tasks;

pub(crate) static FAMILY: Family = Family {
    prepare: |_| prepare(),
    ..Family::QUIET
};

/// What a region runs.
type Body = unsafe extern "C" fn(*mut c_void);

/// Of a run.
#[derive(Default)]
pub struct State {
    teams: Vec<Team>,
}

impl State {
    pub fn clear(&mut self) {
        self.teams.clear();
    }
}

/// Where objects are that no memory of the program stands for.
const NOWHERE: usize = 0x7200_0000_0000;

/// A new object that no memory of the program stands for.
fn hidden(sort: Sort, object: Object) -> ObjectId {
    world::get().make_beside(NOWHERE, sort, object)
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// The regions that it is in, outermost first.
    places: Vec<Place>,
    /// Once it has asked for them.
    settings: Option<Settings>,
    /// The other threads of its last outermost region: the next one goes on with their stacks and thread-local memory.
    pool: Vec<ThreadId>,
}

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
    /// How many loops and the like it has come to.
    shares: usize,
    /// The last of them, while it is one with parts.
    sharing: Option<Sharing>,
    /// The task that it does, if that is not just its part in the team.
    task: Option<usize>,
}

/// Once: a program that brings its own copy of libgomp along would call that.
pub fn prepare() {
    settings::prepare();
    tasks::prepare();
    // SAFETY: a valid name.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"GOMP_parallel".as_ptr()) };
    if !call_sites::library(found as usize, "/libreweave_runtime.so") {
        crate::give_up(format_args!(
            "the program is linked with libgomp.a, which cannot be controlled; link it with libgomp.so (-fopenmp)"
        ));
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.openmp
}

fn own() -> &'static mut Own {
    &mut world::get().me().own_calls.openmp
}

/// The running thread's place in its innermost region.
fn place() -> &'static mut Place {
    let places = &mut own().places;
    if places.is_empty() {
        places.push(Place::default());
    }
    places.last_mut().expect("there is one")
}

/// The team of a place, if it is one of a region.
fn team_of(place: &Place) -> Option<&'static mut Team> {
    Some(&mut state().teams[place.team?])
}

fn size_of_team(place: &Place) -> u32 {
    team_of(place).map_or(1, |team| team.size)
}

/// A number as calls return it.
fn answer(number: impl Into<c_int>) -> usize {
    number.into() as usize
}
