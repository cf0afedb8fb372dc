//! `posix_spawn`: a fork and an `exec`, with changes of descriptors and signals in between.
//!
//! The C library has no calls that say what actions and attributes hold, so they are read where it keeps them. A program that is
//! not there is an error before anything is forked. What else can go wrong in the new process is refused.

use crate::{
    calls::process::{exec, forks},
    core::trampoline::Frame,
    kernel::signals,
    outside_run,
    run::{accesses, call_sites, processes::Forked, signal_actions, world},
    trampoline,
};
use core::{
    ffi::{c_char, c_int, c_short},
    slice,
};
use libc::pid_t;
use reweave_model::Site;

trampoline! {
    posix_spawn => spawn, "rax";
    posix_spawnp => spawn_found, "rax";
}

/// `posix_spawn_file_actions_t` in the C library.
#[repr(C)]
struct Actions {
    room: c_int,
    used: c_int,
    actions: *const Action,
}

/// One of them: which, and its arguments.
#[repr(C)]
struct Action {
    tag: c_int,
    arguments: Arguments,
}

#[repr(C)]
union Arguments {
    numbers: [c_int; 2],
    path: *const c_char,
    open: Open,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Open {
    number: c_int,
    path: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
}

/// The beginning of `posix_spawnattr_t`.
#[repr(C)]
struct Attributes {
    flags: c_short,
    group: pid_t,
    defaults: [u64; 16],
    mask: [u64; 16],
}

const _: () = assert!(size_of::<Action>() == 32, "as the C library has it");

/// # Safety
///
/// As `posix_spawn`: actions and attributes are null or were made by their calls, paths and lists end as they should.
unsafe extern "C" fn spawn(
    number: *mut pid_t,
    path: usize,
    actions: *const Actions,
    attributes: *const Attributes,
    arguments: exec::Texts,
    environment: exec::Texts,
    frame: &Frame,
) -> c_int {
    outside_run!(posix_spawn: fn(number: *mut pid_t, path: usize, actions: *const Actions, attributes: *const Attributes, arguments: exec::Texts, environment: exec::Texts) -> c_int);
    // SAFETY: paths, lists, actions and attributes are as this function's contract says.
    unsafe {
        let found = exec::find(path, frame);
        let texts = (arguments, environment);
        begin(number, found, (actions, attributes), texts, frame)
    }
}

/// # Safety
///
/// As [`spawn`].
unsafe extern "C" fn spawn_found(
    number: *mut pid_t,
    name: usize,
    actions: *const Actions,
    attributes: *const Attributes,
    arguments: exec::Texts,
    environment: exec::Texts,
    frame: &Frame,
) -> c_int {
    outside_run!(posix_spawnp: fn(number: *mut pid_t, name: usize, actions: *const Actions, attributes: *const Attributes, arguments: exec::Texts, environment: exec::Texts) -> c_int);
    // SAFETY: paths, lists, actions and attributes are as this function's contract says.
    unsafe {
        let found = exec::search(name, frame);
        let texts = (arguments, environment);
        begin(number, found, (actions, attributes), texts, frame)
    }
}

/// # Safety
///
/// As [`spawn`].
unsafe fn begin(
    number: *mut pid_t,
    found: Result<(), c_int>,
    (actions, attributes): (*const Actions, *const Attributes),
    (arguments, environment): (exec::Texts, exec::Texts),
    frame: &Frame,
) -> c_int {
    if let Err(error) = found {
        return error;
    }
    let site = call_sites::site(&frame.return_address);
    forks::check(site);
    match forks::fork_here(site) {
        Forked::Parent(child) => {
            if !number.is_null() {
                accesses::range(number as usize, size_of::<pid_t>(), true, frame);
                // SAFETY: not null, so there is room for a number, by this function's contract.
                unsafe { *number = child };
            }
            0
        }
        // SAFETY: by this function's contract; the new process has a copy of the memory.
        Forked::Child => unsafe {
            if let Some(attributes) = attributes.as_ref() {
                attributes.apply(site);
            }
            if let Some(actions) = actions.as_ref().filter(|actions| actions.used > 0) {
                let actions = slice::from_raw_parts(actions.actions, actions.used as usize);
                actions.iter().for_each(|action| action.perform(site));
            }
            exec::begin(found, arguments, environment, frame)
        },
    }
}

impl Attributes {
    /// Changes the signals of the running process.
    fn apply(&self, site: Site) {
        const MASK: c_int = libc::POSIX_SPAWN_SETSIGMASK;
        const DEFAULTS: c_int = libc::POSIX_SPAWN_SETSIGDEF;
        const USEVFORK: c_int = 0x40;
        let flags = c_int::from(self.flags);
        if flags & !(MASK | DEFAULTS | USEVFORK) != 0 {
            world::unsupported(
                "posix_spawn with a group, a session, users or scheduling",
                site,
            );
        }
        if flags & DEFAULTS != 0 {
            let wanted = |signal: &c_int| self.defaults[0] & signals::bit(*signal) != 0;
            for signal in (1..=signal_actions::MOST).filter(wanted) {
                signal_actions::set(signal, signal_actions::default_action());
            }
        }
        if flags & MASK != 0 {
            signals::set_mask(self.mask[0], site);
        }
    }
}

impl Action {
    /// Performs it in the running process, by the calls that the program could make itself.
    ///
    /// # Safety
    ///
    /// It was made by the C library, and its path is still there.
    unsafe fn perform(&self, site: Site) {
        // SAFETY: the tag says which arguments there are; paths end with a nul.
        let done = unsafe {
            let [first, second] = self.arguments.numbers;
            match self.tag {
                // One that is not open may be closed.
                0 => {
                    (libc::close(first) == 0 || *libc::__errno_location() == libc::EBADF)
                        && first >= 0
                }
                1 if first == second => {
                    let flags = libc::fcntl(first, libc::F_GETFD);
                    flags >= 0 && libc::fcntl(first, libc::F_SETFD, flags & !libc::FD_CLOEXEC) == 0
                }
                1 => libc::dup2(first, second) == second,
                2 => open_as(self.arguments.open),
                3 => libc::chdir(self.arguments.path) == 0,
                4 => libc::fchdir(first) == 0,
                _ => world::unsupported("posix_spawn with an action of this kind", site),
            }
        };
        if !done {
            world::unsupported("posix_spawn with an action that fails", site);
        }
    }
}

/// Opens a file under a number; whether that was possible.
///
/// # Safety
///
/// The path ends with a nul.
unsafe fn open_as(wanted: Open) -> bool {
    // SAFETY: the path ends with a nul, by this function's contract.
    unsafe {
        libc::close(wanted.number);
        let opened = libc::open(wanted.path, wanted.flags, wanted.mode);
        if opened < 0 || opened == wanted.number {
            return opened >= 0;
        }
        libc::dup2(opened, wanted.number) == wanted.number && libc::close(opened) == 0
    }
}
