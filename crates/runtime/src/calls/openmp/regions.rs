//! Regions, and how their threads wait for each other.

use crate::{
    calls::openmp::{
        Body, Own, Place, Team,
        call::{Call, entries},
        hidden, own, place,
        settings::{self, Schedule},
        shares::{self, Sharing},
        state,
        tasks::{self, Tasks},
        team_of,
    },
    core::{
        held_mutexes::held,
        hidden_objects::Hidden,
        objects::Sort,
        operations::{misuse, visible},
        spin,
        world::{self, poll},
    },
    kernel::file_mappings,
};
use alloc::vec::Vec;
use core::ffi::c_void;
use reweave_model::{Object, ObjectId, Op, Order, Site, ThreadId};

entries! {
    GOMP_parallel => |call: &Call| region(call, None);
    GOMP_parallel_loop_static => |call: &Call| region(call, Some(shares::combined(call, Schedule::Static)));
    GOMP_parallel_loop_dynamic => |call: &Call| region(call, Some(shares::combined(call, Schedule::Dynamic)));
    GOMP_parallel_loop_nonmonotonic_dynamic => |call: &Call| region(call, Some(shares::combined(call, Schedule::Dynamic)));
    GOMP_parallel_loop_guided => |call: &Call| region(call, Some(shares::combined(call, Schedule::Guided)));
    GOMP_parallel_loop_nonmonotonic_guided => |call: &Call| region(call, Some(shares::combined(call, Schedule::Guided)));
    GOMP_parallel_loop_runtime => |call: &Call| region(call, Some(shares::combined_runtime(call)));
    GOMP_parallel_loop_nonmonotonic_runtime => |call: &Call| region(call, Some(shares::combined_runtime(call)));
    GOMP_parallel_loop_maybe_nonmonotonic_runtime => |call: &Call| region(call, Some(shares::combined_runtime(call)));
    GOMP_parallel_sections => |call: &Call| region(call, Some(shares::sections(call.argument(3))));
    GOMP_barrier => barrier;
    GOMP_barrier_cancel => barrier;
    GOMP_critical_start => |call: &Call| lock(Hidden::Critical.object(), call);
    GOMP_critical_end => |call: &Call| unlock(Hidden::Critical.object(), call);
    GOMP_critical_name_start => |call: &Call| lock(named(call), call);
    GOMP_critical_name_end => |call: &Call| unlock(named(call), call);
    GOMP_atomic_start => |call: &Call| lock(Hidden::Atomic.object(), call);
    GOMP_atomic_end => |call: &Call| unlock(Hidden::Atomic.object(), call);
}

/// A region: the function, its argument and the wanted number of threads come first. Its first loop or the like may begin with it.
fn region(call: &Call, sharing: Option<Sharing>) -> usize {
    let site = call.site();
    let size = settings::team_size(call.argument(2) as u32);
    let (body, data) = (call.argument(0), call.argument(1) as *mut c_void);
    let team = state().teams.len();
    let tasks = Tasks::new(size);
    state().teams.push(Team {
        size,
        // SAFETY: the compiler passes a function of this type.
        body: unsafe { core::mem::transmute::<usize, Body>(body) },
        data,
        others: Vec::new(),
        barrier: None,
        shares: Vec::new(),
        tasks,
    });
    let nested = own().places.iter().any(|place| place.team.is_some());
    let first = Place {
        team: Some(team),
        number: 0,
        shares: usize::from(sharing.is_some()),
        sharing,
        task: None,
    };
    for number in 1..size {
        let thread = begin(Place { number, ..first }, nested, site);
        state().teams[team].others.push(thread);
    }
    own().places.push(first);
    // SAFETY: the compiler's own function and argument.
    unsafe { (state().teams[team].body)(data) };
    tasks::finish(site);
    own().places.pop();
    for index in 0..size as usize - 1 {
        let thread = state().teams[team].others[index];
        visible(Op::Join(thread), site);
        world::get().threads[thread.index()].joined = true;
    }
    0
}

/// Creates a thread for a place in a team of the running thread's. The threads of outermost regions are the same ones in the next: what is in their
/// thread-local memory stays.
fn begin(place: Place, nested: bool, site: Site) -> ThreadId {
    let index = place.number as usize - 1;
    let world = world::get();
    let own = &mut world.me().own_calls.openmp;
    let mut places = own.places.clone();
    places.push(place);
    let openmp = Own {
        places,
        settings: Some(*own.settings()),
        pool: Vec::new(),
    };
    let before = own.pool.get(index).copied().filter(|_| !nested);
    let before = before.map(|thread| &mut world.threads[thread.index()]);
    let before = before.map(|thread| (thread.slot, core::mem::take(&mut thread.own_calls)));
    let (slot, kept) = before.unzip();
    let start = if nested { member } else { lasting_member };
    let argument = core::ptr::null_mut();
    file_mappings::spawning(site);
    let thread = world::get().spawn(start, argument, site, slot, |thread| {
        if let Some(kept) = kept {
            thread.own_calls = kept;
        }
        thread.own_calls.openmp = openmp;
    });
    if !nested {
        let pool = &mut crate::calls::openmp::own().pool;
        match pool.get_mut(index) {
            Some(before) => *before = thread,
            None => pool.push(thread),
        }
    }
    thread
}

extern "C" fn member(_: *mut c_void) -> *mut c_void {
    let team = team_of(place()).expect("created for one");
    // SAFETY: the compiler's own function and argument.
    unsafe { (team.body)(team.data) };
    tasks::finish(Site(world::get().me().created));
    core::ptr::null_mut()
}

/// As [`member`], but nothing of the thread is destroyed yet.
extern "C" fn lasting_member(argument: *mut c_void) -> *mut c_void {
    member(argument);
    world::get().finish()
}

fn barrier(call: &Call) -> usize {
    wait(call.site());
    0
}

/// Waits for all of the team.
pub fn wait(site: Site) {
    tasks::finish(site);
    let Some(team) = team_of(place()).filter(|team| team.size > 1) else {
        return;
    };
    let object = *team.barrier.get_or_insert_with(|| {
        let object = Object::barrier_without_leader(team.size);
        hidden(Sort::Barrier, object)
    });
    visible(Op::Arrive(object), site);
    visible(Op::Leave(object), site);
}

/// The lock of a critical section with a name, which a variable of the program stands for.
fn named(call: &Call) -> ObjectId {
    world::get().object(call.argument(0), 8, Sort::Mutex, Object::mutex)
}

fn lock(object: ObjectId, call: &Call) -> usize {
    let site = call.site();
    if held(object) {
        let address = world::get().about(object).address;
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

/// Gives a lock back that the running thread has.
pub fn release(object: ObjectId, call: &Call) {
    let site = call.site();
    let op = match spin::clean(object, site, &call.frame) {
        true => Op::UnlockClean(object),
        false => Op::Unlock(object),
    };
    visible(op, site);
}
