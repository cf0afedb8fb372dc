//! Regions: their teams of threads, their barriers, and critical sections.

use crate::{
    calls::openmp::{
        Body, Member, NEXT, Place, TEAMS, Team,
        entry_points::{Call, entries},
        hidden, place,
        settings::{self, Schedule},
        tasks::{self, Tasks},
        with_own, with_team,
        worksharing::{self, Sharing},
    },
    core::objects::Sort,
    kernel::file_mappings,
    run::{
        hidden_objects::Hidden,
        operations::{misuse, visible},
        spin,
        world::{self, poll},
    },
    shared::held_mutexes::held,
};
use alloc::vec::Vec;
use core::ffi::c_void;
use reweave_model::{Object, ObjectId, Op, Order, Site, ThreadId};

entries! {
    GOMP_parallel => |call: &Call| region(call, None);
    GOMP_parallel_loop_static => |call: &Call| region(call, Some(worksharing::combined(call, Schedule::Static)));
    GOMP_parallel_loop_dynamic => |call: &Call| region(call, Some(worksharing::combined(call, Schedule::Dynamic)));
    GOMP_parallel_loop_nonmonotonic_dynamic => |call: &Call| region(call, Some(worksharing::combined(call, Schedule::Dynamic)));
    GOMP_parallel_loop_guided => |call: &Call| region(call, Some(worksharing::combined(call, Schedule::Guided)));
    GOMP_parallel_loop_nonmonotonic_guided => |call: &Call| region(call, Some(worksharing::combined(call, Schedule::Guided)));
    GOMP_parallel_loop_runtime => |call: &Call| region(call, Some(worksharing::combined_runtime(call)));
    GOMP_parallel_loop_nonmonotonic_runtime => |call: &Call| region(call, Some(worksharing::combined_runtime(call)));
    GOMP_parallel_loop_maybe_nonmonotonic_runtime => |call: &Call| region(call, Some(worksharing::combined_runtime(call)));
    GOMP_parallel_sections => |call: &Call| region(call, Some(worksharing::sections(call.argument(3))));
    GOMP_barrier => barrier;
    GOMP_barrier_cancel => barrier;
    GOMP_critical_start => |call: &Call| lock(Hidden::Critical.object(), call);
    GOMP_critical_end => |call: &Call| unlock(Hidden::Critical.object(), call);
    GOMP_critical_name_start => |call: &Call| lock(named(call), call);
    GOMP_critical_name_end => |call: &Call| unlock(named(call), call);
    GOMP_atomic_start => |call: &Call| lock(Hidden::Atomic.object(), call);
    GOMP_atomic_end => |call: &Call| unlock(Hidden::Atomic.object(), call);
}

/// A region: the function, its argument and the wanted number of threads come first. A worksharing construct may begin with it.
fn region(call: &Call, sharing: Option<Sharing>) -> usize {
    let site = call.site();
    let size = settings::team_size(call.argument(2) as u32);
    let team = new_team(call, size);
    let nested = with_own(|own| own.places.iter().any(|place| place.team.is_some()));
    let first = Place {
        team: Some(team),
        number: 0,
        shares: usize::from(sharing.is_some()),
        sharing,
        task: None,
    };
    for number in 1..size {
        let thread = begin(Place { number, ..first }, nested, site);
        TEAMS.borrow()[team].others.push(thread);
    }
    with_own(|own| own.places.push(first));
    run_body(team);
    tasks::finish(site);
    with_own(|own| own.places.pop());
    for index in 0..size as usize - 1 {
        let thread = TEAMS.borrow()[team].others[index];
        visible(Op::Join(thread), site);
        world::borrow().threads[thread.index()].joined = true;
    }
    0
}

/// Makes the team of a region; its number.
fn new_team(call: &Call, size: u32) -> usize {
    let tasks = Tasks::new(size);
    let mut teams = TEAMS.borrow();
    teams.push(Team {
        size,
        // SAFETY: the compiler passes the function of the region, which has this type.
        body: unsafe { core::mem::transmute::<usize, Body>(call.argument(0)) },
        data: call.argument(1) as *mut c_void,
        others: Vec::new(),
        barrier: None,
        shares: Vec::new(),
        tasks,
    });
    teams.len() - 1
}

/// Runs the function of a team's region.
fn run_body(team: usize) {
    let (body, data) = {
        let teams = TEAMS.borrow();
        (teams[team].body, teams[team].data)
    };
    // SAFETY: the compiler passed the function with this argument, which stays until the region ends. No borrow is alive.
    unsafe { body(data) };
}

/// Creates a thread for a place in a team of the running thread's. A thread of an outermost region takes the place of one of the
/// region before: what is in thread-local memory stays.
fn begin(place: Place, nested: bool, site: Site) -> ThreadId {
    let index = place.number as usize - 1;
    let (member, before) = with_own(|own| {
        let mut places = own.places.clone();
        places.push(place);
        let member = Member {
            places,
            settings: Some(*own.settings()),
            pool: Vec::new(),
        };
        let before = own.pool.get(index).copied().filter(|_| !nested);
        (member, before)
    });
    let start = if nested {
        run_member
    } else {
        run_lasting_member
    };
    file_mappings::spawning(site);
    *NEXT.borrow() = Some(member);
    let thread = world::spawn(start, core::ptr::null_mut(), site, before, |_| {});
    if !nested {
        with_own(|own| match own.pool.get_mut(index) {
            Some(before) => *before = thread,
            None => own.pool.push(thread),
        });
    }
    thread
}

extern "C" fn run_member(_: *mut c_void) -> *mut c_void {
    run_body(place().team.expect("created for a team"));
    let created = world::borrow().me().created;
    tasks::finish(Site(created));
    core::ptr::null_mut()
}

/// As [`run_member`], but nothing of the thread is destroyed yet.
extern "C" fn run_lasting_member(argument: *mut c_void) -> *mut c_void {
    run_member(argument);
    world::finish()
}

fn barrier(call: &Call) -> usize {
    wait(call.site());
    0
}

/// Waits for all of the team.
pub fn wait(site: Site) {
    tasks::finish(site);
    let barrier = with_team(&place(), |team| {
        let size = team.size;
        let made = || hidden(Sort::Barrier, Object::barrier_without_leader(size));
        (size > 1).then(|| *team.barrier.get_or_insert_with(made))
    });
    if let Some(barrier) = barrier.flatten() {
        visible(Op::Arrive(barrier), site);
        visible(Op::Leave(barrier), site);
    }
}

/// The lock of a critical section with a name, which a variable of the program stands for.
fn named(call: &Call) -> ObjectId {
    world::borrow().object(call.argument(0), 8, Sort::Mutex, Object::mutex)
}

fn lock(object: ObjectId, call: &Call) -> usize {
    let site = call.site();
    if held(object) {
        let address = world::borrow().about(object).address;
        let message = "{0} is locked again by the thread that has it";
        misuse("relock", message, address, site);
    }
    poll(Op::Lock(object), &call.frame, site, Order::SeqCst, None);
    0
}

fn unlock(object: ObjectId, call: &Call) -> usize {
    release(object, call);
    0
}

/// Releases a lock that the running thread holds.
pub fn release(object: ObjectId, call: &Call) {
    let site = call.site();
    let op = match spin::clean(object, site, &call.frame) {
        true => Op::UnlockClean(object),
        false => Op::Unlock(object),
    };
    visible(op, site);
}
