//! What a program asks of OpenMP and tells it, beside locks.

use super::{Arguments, openmp, own, usual_threads};
use crate::{hooks::Frame, real, trampoline, world};
use core::ffi::c_int;

openmp! {
    omp_get_thread_num => number;
    omp_get_thread_num_ => number;
    omp_get_num_threads => size;
    omp_get_num_threads_ => size;
    omp_get_max_threads => most;
    omp_get_max_threads_ => most;
    omp_set_num_threads => set_most;
    omp_set_num_threads_ => set_most_by_reference;
    omp_get_num_procs => processors;
    omp_get_num_procs_ => processors;
    omp_in_parallel => in_parallel;
    omp_in_parallel_ => in_parallel;
    omp_get_level => levels;
    omp_get_level_ => levels;
    omp_get_active_level => active_levels;
    omp_get_active_level_ => active_levels;
    omp_get_ancestor_thread_num => ancestor;
    omp_get_team_size => size_at;
    omp_set_dynamic => ignored;
    omp_set_nested => ignored;
    omp_get_dynamic => ignored;
    omp_get_nested => ignored;
    omp_get_cancellation => ignored;
    omp_in_final => ignored;
}

trampoline! {
    omp_get_wtime => time, "rdi";
    omp_get_wtime_ => time, "rdi";
    omp_get_wtick => resolution, "rdi";
}

/// The sizes of the regions that the running thread is in, outermost first.
fn sizes() -> impl DoubleEndedIterator<Item = (u32, u32)> {
    let teams = &world::get().calls.openmp.teams;
    let regions = own().inside.iter().filter(|inside| inside.region);
    regions.map(|inside| (inside.number, teams[inside.team].size))
}

/// How many regions of more than one thread it is in.
pub fn level() -> usize {
    sizes().filter(|(_, size)| *size > 1).count()
}

extern "C" fn number(_: &Arguments, _: &Frame) -> usize {
    sizes().next_back().map_or(0, |(number, _)| number as usize)
}

extern "C" fn size(_: &Arguments, _: &Frame) -> usize {
    sizes().next_back().map_or(1, |(_, size)| size as usize)
}

extern "C" fn most(_: &Arguments, _: &Frame) -> usize {
    usual_threads() as usize
}

extern "C" fn set_most(arguments: &Arguments, _: &Frame) -> usize {
    if let Ok(threads @ 1..) = u32::try_from(arguments[0] as c_int) {
        own().threads = Some(threads);
    }
    0
}

extern "C" fn set_most_by_reference(arguments: &Arguments, frame: &Frame) -> usize {
    // SAFETY: the program's own variable.
    let threads = unsafe { *(arguments[0] as *const c_int) };
    set_most(&[threads as usize, 0, 0, 0, 0, 0], frame)
}

/// As many as the machine is said to have.
extern "C" fn processors(_: &Arguments, _: &Frame) -> usize {
    crate::calls::machine::PROCESSORS
}

extern "C" fn in_parallel(_: &Arguments, _: &Frame) -> usize {
    usize::from(level() > 0)
}

extern "C" fn levels(_: &Arguments, _: &Frame) -> usize {
    sizes().count()
}

extern "C" fn active_levels(_: &Arguments, _: &Frame) -> usize {
    level()
}

/// Number and size at a level, 0 being outside of all regions.
fn at(level: c_int) -> Option<(u32, u32)> {
    match level {
        0 => Some((0, 1)),
        level => sizes().nth(usize::try_from(level - 1).ok()?),
    }
}

extern "C" fn ancestor(arguments: &Arguments, _: &Frame) -> usize {
    let found = at(arguments[0] as c_int);
    found.map_or(-1, |(number, _)| number as isize) as usize
}

extern "C" fn size_at(arguments: &Arguments, _: &Frame) -> usize {
    let found = at(arguments[0] as c_int);
    found.map_or(-1, |(_, size)| size as isize) as usize
}

extern "C" fn ignored(_: &Arguments, _: &Frame) -> usize {
    0
}

unsafe extern "C" fn time(_: &Frame) -> f64 {
    if !world::active() {
        // SAFETY: it takes nothing.
        return unsafe { real!(omp_get_wtime: fn() -> f64)() };
    }
    world::get().look_at_clock() as f64 * 1e-9
}

unsafe extern "C" fn resolution(_: &Frame) -> f64 {
    1e-9
}
