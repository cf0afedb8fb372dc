//! OpenMP's internal control variables: what its environment variables and functions set and return. A team has two threads unless the program or `OMP_NUM_THREADS` says otherwise: enough for most
//! mistakes, and fewer orders than a thread for each processor.

use crate::{
    calls::openmp::{
        Member, Place, answer,
        entry_points::{Call, entries},
        place, size_of_team, with_own,
    },
    core::cell::RunValue,
    run::{accesses, spin, world},
    shared::process_identity,
};
use core::ffi::{CStr, c_int};

entries! {
    omp_get_thread_num => |_: &Call| place().number as usize;
    omp_get_num_threads => |_: &Call| size_of_team(&place()) as usize;
    omp_get_max_threads => |_: &Call| settings().threads as usize;
    omp_get_num_procs => |_: &Call| process_identity::PROCESSORS;
    omp_get_thread_limit => |_: &Call| settings().limit as usize;
    omp_in_parallel => |_: &Call| answer(active_levels() > 0);
    omp_get_level => |_: &Call| levels();
    omp_get_active_level => |_: &Call| active_levels();
    omp_get_ancestor_thread_num => |call: &Call| ancestor(call.argument(0) as c_int);
    omp_get_team_size => |call: &Call| ancestor_team(call.argument(0) as c_int);
    omp_get_dynamic => |_: &Call| answer(settings().dynamic);
    omp_get_nested => |_: &Call| answer(settings().levels > 1);
    omp_get_max_active_levels => |_: &Call| settings().levels as usize;
    omp_get_schedule => get_schedule;
    omp_get_schedule_ => get_schedule;
    omp_get_cancellation => |_: &Call| answer(settings().cancels);
    omp_set_num_threads => |call: &Call| set_threads(call.argument(0) as c_int);
    omp_set_dynamic => |call: &Call| set_dynamic(call.argument(0) as c_int);
    omp_set_nested => |call: &Call| set_nested(call.argument(0) as c_int);
    omp_set_max_active_levels => |call: &Call| set_levels(call.argument(0) as c_int);
    omp_set_schedule => |call: &Call| set_schedule(call.argument(0) as u32, call.argument(1) as c_int);
    GOMP_cancel => cancel;
    GOMP_cancellation_point => |_: &Call| 0;
}

// Fortran's names for them; its arguments are variables.
entries! {
    omp_get_thread_num_ => |_: &Call| place().number as usize;
    omp_get_num_threads_ => |_: &Call| size_of_team(&place()) as usize;
    omp_get_max_threads_ => |_: &Call| settings().threads as usize;
    omp_get_num_procs_ => |_: &Call| process_identity::PROCESSORS;
    omp_get_thread_limit_ => |_: &Call| settings().limit as usize;
    omp_in_parallel_ => |_: &Call| answer(active_levels() > 0);
    omp_get_level_ => |_: &Call| levels();
    omp_get_active_level_ => |_: &Call| active_levels();
    omp_get_ancestor_thread_num_ => |call: &Call| ancestor(variable(call, 0));
    omp_get_ancestor_thread_num_8_ => |call: &Call| ancestor(variable(call, 0));
    omp_get_team_size_ => |call: &Call| ancestor_team(variable(call, 0));
    omp_get_team_size_8_ => |call: &Call| ancestor_team(variable(call, 0));
    omp_get_dynamic_ => |_: &Call| answer(settings().dynamic);
    omp_get_nested_ => |_: &Call| answer(settings().levels > 1);
    omp_get_max_active_levels_ => |_: &Call| settings().levels as usize;
    omp_get_cancellation_ => |_: &Call| answer(settings().cancels);
    omp_set_num_threads_ => |call: &Call| set_threads(variable(call, 0));
    omp_set_num_threads_8_ => |call: &Call| set_threads(variable(call, 0));
    omp_set_dynamic_ => |call: &Call| set_dynamic(variable(call, 0));
    omp_set_dynamic_8_ => |call: &Call| set_dynamic(variable(call, 0));
    omp_set_nested_ => |call: &Call| set_nested(variable(call, 0));
    omp_set_nested_8_ => |call: &Call| set_nested(variable(call, 0));
    omp_set_max_active_levels_ => |call: &Call| set_levels(variable(call, 0));
    omp_set_max_active_levels_8_ => |call: &Call| set_levels(variable(call, 0));
    omp_set_schedule_ => |call: &Call| set_schedule(variable(call, 0) as u32, variable(call, 1));
}

/// How a loop is shared out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Schedule {
    Static,
    Dynamic,
    Guided,
}

/// Of a thread; those of its team begin with the same.
#[derive(Clone, Copy)]
pub struct Settings {
    /// How many threads a region has that does not say so.
    threads: u32,
    /// How many it has at most.
    limit: u32,
    /// How many regions of several threads there are inside of each other.
    levels: u32,
    dynamic: bool,
    /// Whether regions and loops can be cancelled.
    cancels: bool,
    /// Of loops that leave it open, with the size of parts.
    pub schedule: (Schedule, u64),
}

/// The settings of the first thread: what the environment says.
static FIRST: RunValue<Settings> = RunValue::new(Settings {
    threads: 2,
    limit: i32::MAX as u32,
    levels: 1,
    dynamic: false,
    cancels: false,
    schedule: (Schedule::Dynamic, 1),
});

impl Member {
    pub fn settings(&mut self) -> &mut Settings {
        self.settings.get_or_insert_with(|| FIRST.get())
    }
}

/// The settings of the running thread.
pub fn settings() -> Settings {
    with_own(|own| *own.settings())
}

/// Reads the variables of the environment, once.
pub fn prepare() {
    let mut first = FIRST.get();
    let number = |name| first_number(variable_text(name)?).filter(|number| *number > 0);
    if let Some(threads) = number(c"OMP_NUM_THREADS") {
        first.threads = threads;
    }
    if let Some(limit) = number(c"OMP_THREAD_LIMIT") {
        first.limit = limit;
    }
    let is_true = |name| variable_text(name).is_some_and(|text| text.eq_ignore_ascii_case("true"));
    first.cancels = is_true(c"OMP_CANCELLATION");
    if is_true(c"OMP_NESTED") {
        first.levels = u32::MAX >> 1;
    }
    if let Some(levels) = variable_text(c"OMP_MAX_ACTIVE_LEVELS").and_then(first_number) {
        first.levels = levels;
    }
    if let Some(schedule) = variable_text(c"OMP_SCHEDULE").and_then(read_schedule) {
        first.schedule = schedule;
    }
    FIRST.set(first);
}

fn variable_text(name: &CStr) -> Option<&'static str> {
    // SAFETY: the name is a C string; the result stays, since no code of the program has run that could change the environment.
    let found = unsafe { libc::getenv(name.as_ptr()) };
    if found.is_null() {
        return None;
    }
    // SAFETY: not null, so it is a C string of the environment.
    let text = unsafe { CStr::from_ptr(found) };
    text.to_str().ok().map(str::trim)
}

/// The first of a list of numbers.
fn first_number(text: &str) -> Option<u32> {
    text.split(',').next()?.trim().parse().ok()
}

/// Such as `dynamic,4` or `nonmonotonic:guided`.
fn read_schedule(text: &str) -> Option<(Schedule, u64)> {
    let text = text.rsplit(':').next()?;
    let (name, chunk) = text.split_once(',').unwrap_or((text, ""));
    let name = name.trim();
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    let schedule = match () {
        () if is("static") || is("auto") => Schedule::Static,
        () if is("dynamic") => Schedule::Dynamic,
        () if is("guided") => Schedule::Guided,
        () => return None,
    };
    Some((schedule, chunk.trim().parse().unwrap_or(0)))
}

/// How many threads a region gets that wants so many; 0: as many as are set.
pub fn team_size(wanted: u32) -> u32 {
    let settings = settings();
    if active_levels() >= settings.levels as usize {
        return 1;
    }
    let wanted = if wanted == 0 {
        settings.threads
    } else {
        wanted
    };
    wanted.min(settings.limit).max(1)
}

fn levels() -> usize {
    with_own(|own| {
        let places = own.places.iter();
        places.filter(|place| place.team.is_some()).count()
    })
}

fn active_levels() -> usize {
    with_own(|own| {
        let places = own.places.iter();
        places.filter(|place| size_of_team(place) > 1).count()
    })
}

/// The place of the running thread, or of the one that its region comes from, at this level.
fn at_level(level: c_int) -> Option<Place> {
    if level == 0 {
        return Some(Place::default());
    }
    let index = usize::try_from(level).ok()? - 1;
    with_own(|own| {
        let mut places = own.places.iter().filter(|place| place.team.is_some());
        places.nth(index).copied()
    })
}

fn ancestor(level: c_int) -> usize {
    at_level(level).map_or(answer(-1), |place| place.number as usize)
}

fn ancestor_team(level: c_int) -> usize {
    at_level(level).map_or(answer(-1), |place| size_of_team(&place) as usize)
}

/// Cancels what the running thread is in, unless that is not to be: then nothing happens.
fn cancel(call: &Call) -> usize {
    if settings().cancels {
        world::unsupported("GOMP_cancel", call.site());
    }
    answer(false)
}

fn change(what: impl FnOnce(&mut Settings)) -> usize {
    spin::disturbed();
    with_own(|own| what(own.settings()));
    0
}

fn set_threads(threads: c_int) -> usize {
    change(|settings| settings.threads = threads.max(1) as u32)
}

fn set_dynamic(dynamic: c_int) -> usize {
    change(|settings| settings.dynamic = dynamic != 0)
}

fn set_nested(nested: c_int) -> usize {
    change(|settings| settings.levels = if nested == 0 { 1 } else { u32::MAX >> 1 })
}

fn set_levels(levels: c_int) -> usize {
    if let Ok(levels) = u32::try_from(levels) {
        change(|settings| settings.levels = levels);
    }
    0
}

/// The numbers of `omp_sched_t`; the highest bit asks for parts in rising order, which all are in.
fn set_schedule(kind: u32, chunk: c_int) -> usize {
    let chunk = chunk.max(0) as u64;
    let schedule = match kind & 0x7fff_ffff {
        1 => (Schedule::Static, chunk),
        2 => (Schedule::Dynamic, chunk.max(1)),
        3 => (Schedule::Guided, chunk.max(1)),
        _ => (Schedule::Static, 0),
    };
    change(|settings| settings.schedule = schedule)
}

fn get_schedule(call: &Call) -> usize {
    let (schedule, chunk) = settings().schedule;
    let kind = match schedule {
        Schedule::Static => 1,
        Schedule::Dynamic => 2,
        Schedule::Guided => 3,
    };
    for (index, value) in [kind, chunk as c_int].into_iter().enumerate() {
        let variable = call.argument(index);
        accesses::range(variable, size_of::<c_int>(), true, &call.frame);
        // SAFETY: the program passes the addresses of two variables of this type.
        unsafe { *(variable as *mut c_int) = value };
    }
    0
}

/// A number that an argument points to. (Numbers of eight bytes begin with their lower half.)
fn variable(call: &Call, index: usize) -> c_int {
    // SAFETY: Fortran passes the addresses of variables of four or eight bytes.
    unsafe { *(call.argument(index) as *const c_int) }
}
