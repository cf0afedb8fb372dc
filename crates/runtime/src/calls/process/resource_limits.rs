//! What the process may use, as far as the program says so itself. The kernel hears nothing of it: its limits would be the runtime's as well. One on
//! memory is kept by the allocator.

use crate::{
    core::{channel, heap, spin, world},
    hooks::{Frame, accesses},
    kernel::file_objects::Whole,
    real, trampoline,
};
use alloc::vec::Vec;
use core::{ffi::c_int, sync::atomic::Ordering};
use libc::rlimit;

trampoline! {
    getrlimit => get_limit, "rdx";
    getrlimit64 => get_limit, "rdx";
    setrlimit => set_limit, "rdx";
    setrlimit64 => set_limit, "rdx";
    prlimit => exchange_limit, "r8";
    prlimit64 => exchange_limit, "r8";
}

/// Of a run: limits that it has set.
#[derive(Default)]
pub struct State(Vec<(c_int, rlimit)>);

impl State {
    pub fn clear(&mut self) {
        self.0.clear();
        heap::LIMIT.set(usize::MAX);
    }

    /// Bytes that a thread can have.
    pub fn memory(&self) -> usize {
        let of_memory = |(resource, _): &&(c_int, rlimit)| {
            matches!(*resource as u32, libc::RLIMIT_AS | libc::RLIMIT_DATA)
        };
        let set = self.0.iter().filter(of_memory);
        let least = set.map(|(_, limit)| limit.rlim_cur as usize).min();
        least.unwrap_or(usize::MAX).min(heap::most())
    }

    /// How many descriptors the program can have.
    pub fn descriptors(&self) -> u64 {
        let of_descriptors =
            |(resource, _): &&(c_int, rlimit)| *resource as u32 == libc::RLIMIT_NOFILE;
        let set = self.0.iter().find(of_descriptors);
        let before = || channel::header().max_descriptors.load(Ordering::Relaxed);
        set.map_or_else(before, |(_, limit)| limit.rlim_cur)
    }
}

type Limit = unsafe extern "C" fn(c_int, *mut rlimit) -> c_int;

/// What holds now; `None`: there is no such limit.
fn limit(resource: c_int) -> Option<rlimit> {
    let set = &world::get().calls.limits.0;
    if let Some((_, limit)) = set.iter().find(|(known, _)| *known == resource) {
        return Some(*limit);
    }
    let mut limit = rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    let real: Limit = real!(getrlimit: fn(c_int, *mut rlimit) -> c_int);
    // SAFETY: writes a local.
    let known = unsafe { real(resource, &mut limit) } == 0;
    if resource as u32 == libc::RLIMIT_NOFILE {
        limit.rlim_cur = world::get().calls.limits.descriptors();
    }
    known.then_some(limit)
}

unsafe extern "C" fn get_limit(resource: c_int, into: *mut rlimit, frame: &Frame) -> c_int {
    if !world::active() {
        let real: Limit = real!(getrlimit: fn(c_int, *mut rlimit) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(resource, into) };
    }
    // SAFETY: as the call itself.
    unsafe { exchange(resource, core::ptr::null(), into, frame) }
}

unsafe extern "C" fn set_limit(resource: c_int, new: *const rlimit, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(setrlimit: fn(c_int, *const rlimit) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(resource, new) };
    }
    // SAFETY: as the call itself.
    unsafe { exchange(resource, new, core::ptr::null_mut(), frame) }
}

unsafe extern "C" fn exchange_limit(
    process: c_int,
    resource: c_int,
    new: *const rlimit,
    old: *mut rlimit,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(prlimit: fn(c_int, c_int, *const rlimit, *mut rlimit) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(process, resource, new, old) };
    }
    if process != 0 && process != crate::calls::process::system_info::PROCESS {
        let site = crate::core::call_sites::site(&frame.return_address);
        world::get().unsupported("prlimit of another process", site);
    }
    // SAFETY: as the call itself.
    unsafe { exchange(resource, new, old, frame) }
}

unsafe fn exchange(resource: c_int, new: *const rlimit, old: *mut rlimit, frame: &Frame) -> c_int {
    let site = crate::core::call_sites::site(&frame.return_address);
    match new.is_null() {
        true => Whole::Limits.look(site),
        false => Whole::Limits.change(site),
    }
    let Some(before) = limit(resource) else {
        return crate::core::operations::failed(libc::EINVAL);
    };
    spin::disturbed();
    if !old.is_null() {
        accesses::range(old as usize, size_of::<rlimit>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { *old = before };
    }
    if new.is_null() {
        return 0;
    }
    // SAFETY: the program's own variable.
    let new = unsafe { *new };
    if new.rlim_cur > new.rlim_max {
        return crate::core::operations::failed(libc::EINVAL);
    }
    if new.rlim_max > before.rlim_max {
        return crate::core::operations::failed(libc::EPERM);
    }
    let limits = &mut world::get().calls.limits;
    limits.0.retain(|(known, _)| *known != resource);
    limits.0.push((resource, new));
    heap::LIMIT.set(limits.memory());
    0
}
