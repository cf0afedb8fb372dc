//! Files that are open while they are changed: their descriptors stand for the copy from then on.

use crate::{
    core::sys,
    kernel::overlay::{at, close, identity, look_at_open, names},
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_long};

/// The descriptors that stand for a file, of those that are asked for.
fn open_for(file: &libc::stat, of: impl Fn(c_int) -> bool) -> impl Iterator<Item = c_int> {
    let wanted = identity(file);
    let open = names(b"/proc/self/fd").into_iter();
    let open = open.filter_map(|name| core::str::from_utf8(&name).ok()?.parse().ok());
    open.filter(move |descriptor: &c_int| {
        let stat = look_at_open(*descriptor);
        of(*descriptor) && stat.is_some_and(|stat| identity(&stat) == wanted)
    })
}

/// Whether one of these descriptors stands for a file.
pub fn is_open(file: &libc::stat, of: impl Fn(c_int) -> bool) -> bool {
    open_for(file, of).next().is_some()
}

fn ask(call: c_long, descriptor: c_int, a: usize, b: c_int) -> isize {
    let arguments = [descriptor as usize, a, b as usize, 0, 0, 0];
    // SAFETY: asks about a descriptor, or moves it.
    unsafe { sys::call(call, arguments) }
}

fn stands(descriptor: c_int) -> isize {
    ask(libc::SYS_lseek, descriptor, 0, libc::SEEK_CUR)
}

fn move_to(descriptor: c_int, offset: isize) {
    ask(libc::SYS_lseek, descriptor, offset as usize, libc::SEEK_SET);
}

/// Whether two descriptors are copies of each other: one moves with the other.
fn stand_together(one: c_int, other: c_int) -> bool {
    let offset = stands(one);
    if offset < 0 || stands(other) != offset {
        return false;
    }
    move_to(one, offset + 1);
    let together = stands(other) == offset + 1;
    move_to(one, offset);
    together
}

/// Has these descriptors of a file stand for its copy from now on, each where it stood.
pub fn follow(file: &libc::stat, copy: &[u8], of: impl Fn(c_int) -> bool) {
    let mut open: Vec<c_int> = open_for(file, of).collect();
    while let Some(first) = open.pop() {
        let offset = stands(first);
        let together = open.extract_if(.., |other| stand_together(first, *other));
        let together: Vec<c_int> = together.collect();
        if !replace(first, copy) {
            continue;
        }
        move_to(first, offset);
        for other in together {
            stand_for(other, first);
        }
    }
}

/// Has a descriptor stand for what lies there, opened anew; whether that succeeds.
pub fn replace(descriptor: c_int, path: &[u8]) -> bool {
    let flags = ask(libc::SYS_fcntl, descriptor, libc::F_GETFL as usize, 0);
    let new = at(libc::SYS_openat, path, flags as usize, 0);
    if new >= 0 {
        stand_for(descriptor, new as c_int);
        close(new);
    }
    new >= 0
}

/// Has a descriptor stand for what another one stands for.
pub fn stand_for(descriptor: c_int, other: c_int) {
    let closes = match ask(libc::SYS_fcntl, descriptor, libc::F_GETFD as usize, 0) {
        0 => 0,
        _ => libc::O_CLOEXEC,
    };
    ask(libc::SYS_dup3, other, descriptor as usize, closes);
}
