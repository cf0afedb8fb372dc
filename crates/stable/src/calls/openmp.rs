//! OpenMP by gcc's libgomp, whose threads wait for each other in ways that cannot be seen from outside.
//!
//! The library keeps its threads and its work sharing. Its waits are replaced: a team's threads enter the rotation together when the
//! region begins, in the order of their numbers, and leave it together when it ends. Barriers, critical sections and locks are queues of
//! the rotation; who gets the next piece of a loop, and who runs a `single`, is decided in turns. Tasks are run at once by the thread that
//! creates them. `ordered` and `doacross` waits are outside of the rotation.

use crate::{
    real,
    rotation::Member,
    schedule::Op,
    turn::{self, Step, active, outside, synchronise},
};
use core::{
    cell::Cell,
    ffi::c_void,
    hint, ptr,
    sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering},
};
use libc::{c_int, c_long, c_uint, c_ulonglong};

type Body = extern "C-unwind" fn(*mut c_void);

/// The largest team.
const LARGEST: usize = 1024;

/// A parallel region under way. It lives on the stack of the thread that began it.
struct Team {
    body: Body,
    data: *mut c_void,
    members: [AtomicU16; LARGEST],
    /// Threads that have come, besides the first.
    arrived: AtomicU32,
    /// Whether all of them are in the rotation.
    begun: AtomicBool,
    /// Threads at the barrier, and at the end. Only steps change these.
    waiting: Cell<u32>,
    ended: Cell<u32>,
    /// What the thread of a `single` copies to the others.
    copied: Cell<*mut c_void>,
}

thread_local! {
    static TEAM: Cell<*const Team> = const { Cell::new(ptr::null()) };
    static CREATES: Cell<bool> = const { Cell::new(false) };
}

/// Whether the calling thread is making a team, so that the threads it creates are OpenMP's.
pub(super) fn creates_team() -> bool {
    CREATES.get()
}

fn team_size() -> u32 {
    // SAFETY: the call takes no pointers and has no conditions.
    unsafe { real!(omp_get_num_threads: fn() -> c_int)() as u32 }
}

fn thread_number() -> usize {
    // SAFETY: the call takes no pointers and has no conditions.
    unsafe { real!(omp_get_thread_num: fn() -> c_int)() as usize }
}

fn key<T>(of: &T) -> usize {
    ptr::from_ref(of).addr()
}

/// Runs a parallel region. `library` is called with a body and its data in place of the program's.
fn region(body: Body, data: *mut c_void, library: impl FnOnce(Body, *mut c_void)) {
    if !active() {
        return library(body, data);
    }
    let team = Team {
        body,
        data,
        members: [const { AtomicU16::new(0) }; LARGEST],
        arrived: AtomicU32::new(0),
        begun: AtomicBool::new(false),
        waiting: Cell::new(0),
        ended: Cell::new(0),
        copied: Cell::new(ptr::null_mut()),
    };
    let outer = TEAM.get();
    CREATES.set(true);
    library(member, ptr::from_ref(&team).cast_mut().cast());
    CREATES.set(false);
    TEAM.set(outer);
}

/// What each thread of a team runs.
extern "C-unwind" fn member(team: *mut c_void) {
    CREATES.set(false);
    // SAFETY: the region's thread keeps the team until all of its threads have left this function.
    let team = unsafe { &*team.cast_const().cast::<Team>() };
    let outer = TEAM.replace(team);
    let (size, number) = (team_size() as usize, thread_number());
    if size == 1 {
        (team.body)(team.data);
    } else if size > LARGEST {
        crate::messages::give_up(format_args!(
            "an OpenMP team has {size} threads, and {LARGEST} is the most"
        ));
    } else {
        begin(team, size, number);
        (team.body)(team.data);
        end(team, size as u32, number);
    }
    TEAM.set(outer);
}

/// All threads of the team enter the rotation, in the order of their numbers. The first one is in it and has kept its place.
fn begin(team: &Team, size: usize, number: usize) {
    if number > 0 {
        team.members[number].store(turn::number(), Ordering::Relaxed);
        team.arrived.fetch_add(1, Ordering::Release);
        wait_until(|| team.begun.load(Ordering::Acquire));
        return;
    }
    wait_until(|| team.arrived.load(Ordering::Acquire) as usize == size - 1);
    synchronise(Op::Team, |turn| {
        for member in &team.members[1..size] {
            turn.rejoin(Member::of(member.load(Ordering::Relaxed)));
        }
        team.begun.store(true, Ordering::Release);
        Step::Done(())
    });
}

/// The threads leave the rotation; the first one goes on when all have.
fn end(team: &Team, size: u32, number: usize) {
    let mut waits = false;
    synchronise(Op::Team, |turn| {
        if waits {
            return Step::Done(());
        }
        team.ended.set(team.ended.get() + 1);
        let last = team.ended.get() == size;
        if number > 0 {
            if last {
                turn.wake_one(key(&team.ended));
            }
            turn.leave(turn.me());
            return Step::Done(());
        }
        if last {
            return Step::Done(());
        }
        waits = true;
        Step::Wait(key(&team.ended), None)
    });
}

/// Waits for threads that are on their way and need no turn to come.
fn wait_until(come: impl Fn() -> bool) {
    for round in 0u32.. {
        if come() {
            return;
        }
        match round {
            0..200 => hint::spin_loop(),
            // SAFETY: the call takes no pointers and has no conditions.
            _ => _ = unsafe { real!(sched_yield: fn() -> c_int)() },
        }
    }
}

/// The barrier of the calling thread's team.
fn barrier() {
    // SAFETY: the team lives as long as its threads run its body.
    let team = unsafe { TEAM.get().as_ref() };
    let (Some(team), size @ 2..) = (team, team_size()) else {
        return;
    };
    let mut waits = false;
    synchronise(Op::Arrive, |turn| {
        if waits {
            return Step::Done(());
        }
        team.waiting.set(team.waiting.get() + 1);
        if team.waiting.get() == size {
            team.waiting.set(0);
            turn.wake_all(key(&team.waiting));
            return Step::Done(());
        }
        waits = true;
        Step::Wait(key(&team.waiting), None)
    });
}

macro_rules! regions {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => { $(
        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, reason = "libgomp's name")]
        pub unsafe extern "C-unwind" fn $name(body: Body, data: *mut c_void, $($argument: $type),*) {
            let real = real!($name: fn(Body, *mut c_void, $($type),*));
            // SAFETY: the caller's arguments, and a body that passes its data on.
            region(body, data, |body, data| unsafe { real(body, data, $($argument),*) });
        }
    )* };
}

regions! {
    GOMP_parallel(threads: c_uint, flags: c_uint);
    GOMP_parallel_sections(threads: c_uint, count: c_uint, flags: c_uint);
    GOMP_parallel_loop_static(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_dynamic(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_guided(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_dynamic(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_guided(threads: c_uint, start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint);
    GOMP_parallel_loop_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_nonmonotonic_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint);
    GOMP_parallel_loop_maybe_nonmonotonic_runtime(threads: c_uint, start: c_long, end: c_long, step: c_long, flags: c_uint);
}

/// # Safety
///
/// As libgomp's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case, reason = "libgomp's name")]
pub unsafe extern "C-unwind" fn GOMP_parallel_reductions(
    body: Body,
    data: *mut c_void,
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    type Function = unsafe extern "C-unwind" fn(*mut c_void);
    // The library reads and writes the program's data itself, so they cannot be exchanged. Its threads are outside of the rotation then.
    let real = real!(GOMP_parallel_reductions: fn(Function, *mut c_void, c_uint, c_uint) -> c_uint);
    CREATES.set(true);
    let threads = match active() {
        // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
        true => outside(|| unsafe { real(body, data, threads, flags) }),
        // SAFETY: as for the call before, the caller keeps the library's conditions.
        false => unsafe { real(body, data, threads, flags) },
    };
    CREATES.set(false);
    threads
}

/// Functions that take a piece of work or decide which thread does it: done in a turn.
macro_rules! decides {
    ($op:ident; $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => { $(
        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, reason = "libgomp's name")]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            let real = real!($name: fn($($type),*) -> $result);
            // SAFETY: the caller's arguments. The library waits only for threads inside of such functions, and there are none.
            unsafe {
                match active() {
                    true => synchronise(Op::$op, |_| Step::Done(real($($argument),*))),
                    false => real($($argument),*),
                }
            }
        }
    )* };
}

macro_rules! loops {
    ($($start:ident $next:ident $wide_start:ident $wide_next:ident;)*) => { decides! { Chunk; $(
        $start(start: c_long, end: c_long, step: c_long, chunk: c_long, from: *mut c_long, to: *mut c_long) -> bool;
        $next(from: *mut c_long, to: *mut c_long) -> bool;
        $wide_start(up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, chunk: c_ulonglong, from: *mut c_ulonglong, to: *mut c_ulonglong) -> bool;
        $wide_next(from: *mut c_ulonglong, to: *mut c_ulonglong) -> bool;
    )* } };
}

macro_rules! runtime_loops {
    ($($start:ident $next:ident $wide_start:ident $wide_next:ident;)*) => { decides! { Chunk; $(
        $start(start: c_long, end: c_long, step: c_long, from: *mut c_long, to: *mut c_long) -> bool;
        $next(from: *mut c_long, to: *mut c_long) -> bool;
        $wide_start(up: bool, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong, from: *mut c_ulonglong, to: *mut c_ulonglong) -> bool;
        $wide_next(from: *mut c_ulonglong, to: *mut c_ulonglong) -> bool;
    )* } };
}

loops! {
    GOMP_loop_dynamic_start GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next;
    GOMP_loop_guided_start GOMP_loop_guided_next GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next;
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next
        GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next;
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next
        GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next;
}

runtime_loops! {
    GOMP_loop_runtime_start GOMP_loop_runtime_next GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next;
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next
        GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next;
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next
        GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next;
}

decides! { Chunk;
    GOMP_sections_start(count: c_uint) -> c_uint;
    GOMP_sections_next() -> c_uint;
}

decides! { Single;
    GOMP_single_start() -> bool;
}

/// # Safety
///
/// As libgomp's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case, reason = "libgomp's name")]
pub unsafe extern "C-unwind" fn GOMP_single_copy_start() -> *mut c_void {
    // SAFETY: as this function; the team lives as long as its threads run its body.
    unsafe {
        let Some(team) = TEAM.get().as_ref().filter(|_| active()) else {
            return real!(GOMP_single_copy_start: fn() -> *mut c_void)();
        };
        if GOMP_single_start() {
            return ptr::null_mut();
        }
        barrier();
        team.copied.get()
    }
}

/// # Safety
///
/// As libgomp's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case, reason = "libgomp's name")]
pub unsafe extern "C-unwind" fn GOMP_single_copy_end(data: *mut c_void) {
    // SAFETY: as in `GOMP_single_copy_start`, the team lives as long as its threads run.
    unsafe {
        let Some(team) = TEAM.get().as_ref().filter(|_| active()) else {
            return real!(GOMP_single_copy_end: fn(*mut c_void))(data);
        };
        team.copied.set(data);
    }
    // The others read it only behind this.
    barrier();
}

/// Functions that end with a barrier: the library's variant without, and a barrier of the rotation.
macro_rules! ends {
    ($($name:ident $quick:ident;)*) => { $(
        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, reason = "libgomp's name")]
        pub unsafe extern "C-unwind" fn $name() {
            // SAFETY: the library's function has the conditions that this one has.
            unsafe {
                if !active() || TEAM.get().is_null() {
                    return real!($name: fn())();
                }
                real!($quick: fn())();
            }
            barrier();
        }
    )* };
}

ends! {
    GOMP_loop_end GOMP_loop_end_nowait;
    GOMP_sections_end GOMP_sections_end_nowait;
}

/// # Safety
///
/// As libgomp's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case, reason = "libgomp's name")]
pub unsafe extern "C-unwind" fn GOMP_barrier() {
    match active() && !TEAM.get().is_null() {
        true => barrier(),
        // SAFETY: the library's function has the conditions that this one has.
        false => unsafe { real!(GOMP_barrier: fn())() },
    }
}

/// Takes a word: 0 is free.
fn acquire(word: *mut u8) {
    synchronise(Op::Critical, |_| {
        // SAFETY: the word belongs to a critical section, and only steps use it.
        unsafe {
            match *word {
                0 => {
                    *word = 1;
                    Step::Done(())
                }
                _ => Step::Wait(word.addr(), None),
            }
        }
    });
}

fn release(word: *mut u8) {
    synchronise(Op::CriticalEnd, |turn| {
        // SAFETY: as in `acquire`, the word belongs to a critical section.
        unsafe { *word = 0 };
        turn.wake_one(word.addr());
        Step::Done(())
    });
}

static CRITICAL: AtomicBool = AtomicBool::new(false);
static ATOMIC: AtomicBool = AtomicBool::new(false);

macro_rules! sections {
    ($($name:ident($($argument:ident: $type:ty)?) = $with:ident($word:expr);)*) => { $(
        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, reason = "libgomp's name")]
        pub unsafe extern "C-unwind" fn $name($($argument: $type)?) {
            $with($word);
        }
    )* };
}

sections! {
    GOMP_critical_start() = acquire(CRITICAL.as_ptr().cast());
    GOMP_critical_end() = release(CRITICAL.as_ptr().cast());
    GOMP_atomic_start() = acquire(ATOMIC.as_ptr().cast());
    GOMP_atomic_end() = release(ATOMIC.as_ptr().cast());
    GOMP_critical_name_start(name: *mut *mut c_void) = acquire(name.cast());
    GOMP_critical_name_end(name: *mut *mut c_void) = release(name.cast());
}

macro_rules! locks {
    ($($set:ident $unset:ident $test:ident;)*) => { $(
        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $set(lock: *mut c_void) {
            // SAFETY: the caller passes a valid lock, as the library's function requires.
            unsafe {
                if !active() {
                    return real!($set: fn(*mut c_void))(lock);
                }
                let take = real!($test: fn(*mut c_void) -> c_int);
                synchronise(Op::Lock, |_| match take(lock) {
                    0 => Step::Wait(lock.addr(), None),
                    _ => Step::Done(()),
                });
            }
        }

        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $unset(lock: *mut c_void) {
            let release = real!($unset: fn(*mut c_void));
            // SAFETY: the caller passes a valid lock, as the library's function requires.
            unsafe {
                if !active() {
                    return release(lock);
                }
                synchronise(Op::Unlock, |turn| {
                    release(lock);
                    turn.wake_one(lock.addr());
                    Step::Done(())
                });
            }
        }

        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $test(lock: *mut c_void) -> c_int {
            let take = real!($test: fn(*mut c_void) -> c_int);
            // SAFETY: the caller passes a valid lock, as the library's function requires.
            unsafe {
                match active() {
                    true => synchronise(Op::TryLock, |_| Step::Done(take(lock))),
                    false => take(lock),
                }
            }
        }
    )* };
}

locks! {
    omp_set_lock omp_unset_lock omp_test_lock;
    omp_set_nest_lock omp_unset_nest_lock omp_test_nest_lock;
}

/// # Safety
///
/// As libgomp's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case, reason = "libgomp's name")]
pub unsafe extern "C-unwind" fn GOMP_ordered_start() {
    let real = real!(GOMP_ordered_start: fn());
    match active() {
        // SAFETY: the library's function has the conditions that this one has.
        true => outside(|| unsafe { real() }),
        // SAFETY: the library's function has the conditions that this one has.
        false => unsafe { real() },
    }
}

type Copy = Option<extern "C-unwind" fn(*mut c_void, *mut c_void)>;

/// # Safety
///
/// As libgomp's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
#[allow(non_snake_case, reason = "libgomp's name")]
#[allow(clippy::too_many_arguments, reason = "libgomp's function")]
pub unsafe extern "C-unwind" fn GOMP_task(
    body: Body,
    data: *mut c_void,
    copy: Copy,
    size: c_long,
    align: c_long,
    deferred: bool,
    flags: c_uint,
    depend: *mut *mut c_void,
    priority: c_int,
    detach: *mut c_void,
) {
    let real = real!(GOMP_task: fn(Body, *mut c_void, Copy, c_long, c_long, bool, c_uint, *mut *mut c_void, c_int, *mut c_void));
    let deferred = deferred && !active();
    // SAFETY: the caller's arguments. A task may be run at once.
    unsafe {
        real(
            body, data, copy, size, align, deferred, flags, depend, priority, detach,
        )
    }
}

/// That tasks of a loop may be deferred.
const DEFERRED: c_uint = 1 << 10;

macro_rules! task_loops {
    ($($name:ident $number:ty;)*) => { $(
        /// # Safety
        ///
        /// As libgomp's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        #[allow(non_snake_case, reason = "libgomp's name")]
        #[allow(clippy::too_many_arguments, reason = "libgomp's function")]
        pub unsafe extern "C-unwind" fn $name(
            body: Body, data: *mut c_void, copy: Copy, size: c_long, align: c_long, flags: c_uint, tasks: libc::c_ulong, priority: c_int,
            start: $number, end: $number, step: $number,
        ) {
            let real = real!($name: fn(Body, *mut c_void, Copy, c_long, c_long, c_uint, libc::c_ulong, c_int, $number, $number, $number));
            let flags = if active() { flags & !DEFERRED } else { flags };
            // SAFETY: the caller's arguments. Tasks may be run at once.
            unsafe { real(body, data, copy, size, align, flags, tasks, priority, start, end, step) }
        }
    )* };
}

task_loops! {
    GOMP_taskloop c_long;
    GOMP_taskloop_ull c_ulonglong;
}
