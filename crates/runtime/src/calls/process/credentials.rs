//! The user and the groups of the process: [`crate::run::credentials`] says how they are changed.
//!
//! They belong to the process as a whole, so to change them and to ask for them are operations on one object. What a user may do with files is
//! decided by the kernel. A change beside other threads makes the search incomplete, since their calls on files do not look at the object.

use crate::{
    core::{modules, sys, trampoline::Frame},
    kernel::{file_objects, ordering::alone},
    outside_run, real,
    run::{
        accesses, call_sites,
        credentials::{self, Change},
        operations::failed,
        spin, world,
    },
    trampoline,
};
use alloc::{format, vec::Vec};
use core::ffi::{c_char, c_int};
use libc::{gid_t as Group, uid_t as User};

trampoline! {
    setuid => set_user, "rsi";
    seteuid => set_effective_user, "rsi";
    setreuid => set_two_users, "rdx";
    setresuid => set_users, "rcx";
    setgid => set_group, "rsi";
    setegid => set_effective_group, "rsi";
    setregid => set_two_groups, "rdx";
    setresgid => set_all_groups, "rcx";
    setgroups => set_groups, "rdx";
    initgroups => begin_groups, "rdx";
    getuid => user, "rdi";
    geteuid => effective_user, "rdi";
    getgid => group, "rdi";
    getegid => effective_group, "rdi";
    getresuid => users, "rcx";
    getresgid => groups, "rcx";
}

/// Stands for a user or a group that stays.
const SAME: u32 = u32::MAX;

/// Who the process is: users and groups that are in effect. (Supplementary groups are not compared: they have their own call.)
fn identity() -> [isize; 4] {
    let asks = [
        libc::SYS_getuid,
        libc::SYS_geteuid,
        libc::SYS_getgid,
        libc::SYS_getegid,
    ];
    // SAFETY: these take nothing and only answer.
    asks.map(|number| unsafe { sys::call(number, [0; 6]) })
}

/// Makes a change.
fn change(call: &str, change: Change, frame: &Frame) -> c_int {
    let site = call_sites::site(&frame.return_address);
    file_objects::touch(file_objects::IDENTITY, site);
    spin::disturbed();
    let (before, sets_groups) = (identity(), change.groups.is_some());
    let result = credentials::change(change);
    if result < 0 {
        return failed(-result as c_int);
    }
    if !alone() && (sets_groups || identity() != before) {
        let what = format!("{call} beside other threads");
        world::borrow().note_unsupported(&what, site);
    }
    0
}

/// Makes a change that takes numbers.
fn set(call: &str, number: i64, arguments: [u32; 3], frame: &Frame) -> c_int {
    let to = Change {
        number,
        arguments: arguments.map(|argument| argument as usize),
        groups: None,
    };
    change(call, to, frame)
}

extern "C" fn set_user(user: User, frame: &Frame) -> c_int {
    outside_run!(setuid: fn(user: User) -> c_int);
    set("setuid", libc::SYS_setuid, [user, 0, 0], frame)
}

extern "C" fn set_effective_user(user: User, frame: &Frame) -> c_int {
    outside_run!(seteuid: fn(user: User) -> c_int);
    match user {
        SAME => failed(libc::EINVAL),
        _ => set("seteuid", libc::SYS_setresuid, [SAME, user, SAME], frame),
    }
}

extern "C" fn set_two_users(real: User, effective: User, frame: &Frame) -> c_int {
    outside_run!(setreuid: fn(real: User, effective: User) -> c_int);
    set("setreuid", libc::SYS_setreuid, [real, effective, 0], frame)
}

extern "C" fn set_users(real: User, effective: User, saved: User, frame: &Frame) -> c_int {
    outside_run!(setresuid: fn(real: User, effective: User, saved: User) -> c_int);
    let users = [real, effective, saved];
    set("setresuid", libc::SYS_setresuid, users, frame)
}

extern "C" fn set_group(group: Group, frame: &Frame) -> c_int {
    outside_run!(setgid: fn(group: Group) -> c_int);
    set("setgid", libc::SYS_setgid, [group, 0, 0], frame)
}

extern "C" fn set_effective_group(group: Group, frame: &Frame) -> c_int {
    outside_run!(setegid: fn(group: Group) -> c_int);
    match group {
        SAME => failed(libc::EINVAL),
        _ => set("setegid", libc::SYS_setresgid, [SAME, group, SAME], frame),
    }
}

extern "C" fn set_two_groups(real: Group, effective: Group, frame: &Frame) -> c_int {
    outside_run!(setregid: fn(real: Group, effective: Group) -> c_int);
    set("setregid", libc::SYS_setregid, [real, effective, 0], frame)
}

extern "C" fn set_all_groups(real: Group, effective: Group, saved: Group, frame: &Frame) -> c_int {
    outside_run!(setresgid: fn(real: Group, effective: Group, saved: Group) -> c_int);
    let groups = [real, effective, saved];
    set("setresgid", libc::SYS_setresgid, groups, frame)
}

/// Sets the supplementary groups.
fn set_list(call: &str, groups: Vec<Group>, frame: &Frame) -> c_int {
    let to = Change {
        number: libc::SYS_setgroups,
        arguments: [groups.len(), 0, 0],
        groups: Some(groups),
    };
    change(call, to, frame)
}

/// # Safety
///
/// As `setgroups`: `list` points to `count` groups.
unsafe extern "C" fn set_groups(count: usize, list: *const Group, frame: &Frame) -> c_int {
    outside_run!(setgroups: fn(count: usize, list: *const Group) -> c_int);
    /// The kernel takes no more.
    const MOST: usize = 65536;
    if count > MOST {
        return failed(libc::EINVAL);
    }
    accesses::range(list as usize, count * size_of::<Group>(), false, frame);
    let groups = match count {
        0 => Vec::new(),
        // SAFETY: `list` points to `count` groups, by this function's contract.
        _ => unsafe { core::slice::from_raw_parts(list, count) }.to_vec(),
    };
    set_list("setgroups", groups, frame)
}

/// `initgroups`: sets the groups that the system has for a user.
///
/// # Safety
///
/// As `initgroups`: `name` ends with a nul.
unsafe extern "C" fn begin_groups(name: *const c_char, group: Group, frame: &Frame) -> c_int {
    outside_run!(initgroups: fn(name: *const c_char, group: Group) -> c_int);
    type List = unsafe extern "C" fn(*const c_char, Group, *mut Group, *mut c_int) -> c_int;
    let real: List = real!(getgrouplist: fn(*const c_char, Group, *mut Group, *mut c_int) -> c_int);
    crate::kernel::passed_calls::prepares();
    let mut groups: Vec<Group> = alloc::vec![0; 64];
    loop {
        let mut count = groups.len() as c_int;
        // SAFETY: `name` ends with a nul, by this function's contract; there is room for `count` groups.
        let fits = unsafe { real(name, group, groups.as_mut_ptr(), &mut count) } >= 0;
        groups.resize(count.max(0) as usize, 0);
        if fits {
            return set_list("initgroups", groups, frame);
        }
    }
}

/// Asks for the user and the groups of the process.
fn ask(number: i64, frame: &Frame) -> u32 {
    let site = modules::site(frame.return_address);
    file_objects::look_at(file_objects::IDENTITY, site);
    // SAFETY: the calls that are passed here take nothing and only answer.
    unsafe { sys::call(number, [0; 6]) as u32 }
}

extern "C" fn user(frame: &Frame) -> User {
    outside_run!(getuid: fn() -> User);
    ask(libc::SYS_getuid, frame)
}

extern "C" fn effective_user(frame: &Frame) -> User {
    outside_run!(geteuid: fn() -> User);
    ask(libc::SYS_geteuid, frame)
}

extern "C" fn group(frame: &Frame) -> Group {
    outside_run!(getgid: fn() -> Group);
    ask(libc::SYS_getgid, frame)
}

extern "C" fn effective_group(frame: &Frame) -> Group {
    outside_run!(getegid: fn() -> Group);
    ask(libc::SYS_getegid, frame)
}

/// Asks for three numbers.
///
/// # Safety
///
/// The pointers point to room for a number each.
unsafe fn ask_three(number: i64, into: [*mut u32; 3], frame: &Frame) -> c_int {
    let site = call_sites::site(&frame.return_address);
    file_objects::look_at(file_objects::IDENTITY, site);
    let mut answers = [0_u32; 3];
    let [a, b, c] = answers.each_mut().map(|answer| &raw mut *answer as usize);
    // SAFETY: the kernel writes three numbers, to three locals.
    unsafe { sys::call(number, [a, b, c, 0, 0, 0]) };
    for (place, answer) in into.into_iter().zip(answers) {
        accesses::range(place as usize, size_of::<u32>(), true, frame);
        // SAFETY: `place` points to room for a number, by this function's contract.
        unsafe { place.write(answer) };
    }
    0
}

/// # Safety
///
/// As `getresuid`: the pointers point to room for a user each.
unsafe extern "C" fn users(
    real: *mut User,
    effective: *mut User,
    saved: *mut User,
    frame: &Frame,
) -> c_int {
    outside_run!(getresuid: fn(real: *mut User, effective: *mut User, saved: *mut User) -> c_int);
    let into = [real, effective, saved];
    // SAFETY: the pointers are what `ask_three` asks for, by this function's contract.
    unsafe { ask_three(libc::SYS_getresuid, into, frame) }
}

/// # Safety
///
/// As `getresgid`: the pointers point to room for a group each.
unsafe extern "C" fn groups(
    real: *mut Group,
    effective: *mut Group,
    saved: *mut Group,
    frame: &Frame,
) -> c_int {
    outside_run!(getresgid: fn(real: *mut Group, effective: *mut Group, saved: *mut Group) -> c_int);
    let into = [real, effective, saved];
    // SAFETY: the pointers are what `ask_three` asks for, by this function's contract.
    unsafe { ask_three(libc::SYS_getresgid, into, frame) }
}
