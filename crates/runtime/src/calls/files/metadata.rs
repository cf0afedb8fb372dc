//! Calls that change files or what is known of them without opening them, by their names or by descriptors: see [`crate::kernel::path_resolution`]. To give one a second name is to change it.

use crate::{
    core::call_sites,
    hooks::passed_calls::redirects,
    kernel::{
        descriptor_table, file_mappings,
        file_names::{
            HERE, alone, bytes, christen, give, is_nameless, number, number_of_open, refuse, state,
        },
        file_objects, overlay,
        path_resolution::{
            Use, WHOLE, descriptor_behind, is_thrown_away, place_for, reach, redirect, send,
        },
    },
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int};
use reweave_model::Site;

const OWNER: Use = Use::Mark { writers: false };
const WRITERS: Use = Use::Mark { writers: true };

/// What is known of a file is changed, by who owns it.
fn changes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, OWNER, from, 0);
}

fn changes_link(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], false, OWNER, from, 0);
}

/// When it was changed: who may write to it, too, says that this is now.
fn dates<const FOLLOW: bool>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let how = Use::Mark {
        writers: arguments[1] == 0,
    };
    redirect(HERE, &mut arguments[0], FOLLOW, how, from, 0);
}

fn attaches<const FOLLOW: bool>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], FOLLOW, WRITERS, from, 0);
}

fn truncates(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, WHOLE, from, 0);
    // SAFETY: the program's own text, or ours.
    let path = unsafe { bytes(arguments[0]) };
    if let Some(file) = path.and_then(overlay::look) {
        file_mappings::changing(&file, false, call_sites::site(from));
    }
}

/// From a directory, with these flags; or of what is open itself.
fn changes_from(
    name: &'static CStr,
    arguments: &mut [usize; 6],
    (how, flags): (Use, usize),
    from: &usize,
) {
    // SAFETY: the program's own text.
    let path = unsafe { bytes(arguments[1]) };
    let empty = path.is_some_and(<[u8]>::is_empty) && flags as c_int & libc::AT_EMPTY_PATH != 0;
    match name.to_bytes() {
        // The C library has another call for that.
        b"utimensat" if path.is_none() => return state().denied = Some(libc::EINVAL),
        _ if empty || path.is_none() => return changes_open(name, arguments, from),
        _ => {}
    }
    let follow = flags as c_int & libc::AT_SYMLINK_NOFOLLOW == 0;
    let directory = arguments[0] as c_int;
    redirect(directory, &mut arguments[1], follow, how, from, 0);
}

fn changes_at<const FLAGS: usize>(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let flags = arguments[FLAGS];
    changes_from(name, arguments, (OWNER, flags), from);
}

fn dates_at(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let how = Use::Mark {
        writers: arguments[2] == 0,
    };
    let flags = match name.to_bytes() {
        b"utimensat" => arguments[3],
        _ => 0,
    };
    changes_from(name, arguments, (how, flags), from);
}

/// Both names are of one file, so it has to be among the copies.
fn links(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let [old, new, ..] = *arguments;
    let [known, named] = link_both((HERE, old), (HERE, new), false, from);
    (arguments[0], arguments[1]) = (known, named);
}

fn links_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let [from_at, mut old, to_at, new, flags, _] = *arguments;
    let has = |flag: c_int| flags as c_int & flag != 0;
    let mut follow = has(libc::AT_SYMLINK_FOLLOW);
    // SAFETY: the program's own text.
    let open = unsafe { bytes(old) }.is_some_and(<[u8]>::is_empty) && has(libc::AT_EMPTY_PATH);
    let path = alloc::format!("/proc/self/fd/{}\0", from_at as c_int);
    if open {
        (old, follow) = (path.as_ptr() as usize, true);
        arguments[4] = libc::AT_SYMLINK_FOLLOW as usize;
    }
    let (old, new) = ((from_at as c_int, old), (to_at as c_int, new));
    let [known, named] = link_both(old, new, follow, from);
    (arguments[1], arguments[3]) = (known, named);
}

/// Where both are.
fn link_both(old: (c_int, usize), new: (c_int, usize), follow: bool, from: &usize) -> [usize; 2] {
    let site = call_sites::site(from);
    let [mut known, mut named] = [old.1, new.1];
    let place = reach(old.0, old.1, follow, Use::Entry, site);
    let target = reach(new.0, new.1, false, Use::Entry, site);
    let places = place.and_then(|place| second_name(&place, &target?, site));
    match places {
        Ok([place, target]) => {
            send(Ok(place), &mut known, 0);
            send(Ok(target), &mut named, 1);
        }
        Err(error) => send(Err(error), &mut known, 0),
    }
    [known, named]
}

/// Has something be called otherwise as well: where both names are, or an error number.
fn second_name(known: &[u8], named: &[u8], site: Site) -> Result<[Vec<u8>; 2], c_int> {
    let stat = state().disk.stat(known).ok_or(libc::ENOENT)?;
    if overlay::kind(&stat) == libc::S_IFDIR {
        return Err(libc::EPERM);
    }
    let target = place_for(named, Use::Entry, site)?;
    if let Some(open) = descriptor_behind(known).filter(|open| is_nameless(*open)) {
        christen(open, named);
        return Ok([known.into(), target]);
    }
    // How many names it has is seen by who has it open.
    file_objects::touch(number(known), site);
    let place = place_for(known, WRITERS, site)?;
    give(known, named, false);
    Ok([place, target])
}

/// What is changed through a descriptor that was not opened for that.
fn changes_open(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let (descriptor, site) = (arguments[0] as c_int, call_sites::site(from));
    descriptor_table::look_up(descriptor, site);
    let path = alloc::format!("/proc/self/fd/{descriptor}");
    let path = overlay::read_link(path.as_bytes()).unwrap_or_default();
    if path.first() == Some(&b'/') && !is_thrown_away(descriptor) {
        let name = name.to_str().unwrap_or("?");
        let what = alloc::format!("{name} of a file that is open for reading");
        refuse(&what, site);
    }
    if !alone() && file_objects::kind(descriptor) != 0 {
        file_objects::touch(number_of_open(descriptor), site);
    }
    arguments[0] = descriptor_table::found(descriptor) as usize;
}

redirects! {
    truncate => truncates;
    truncate64 => truncates;
    chmod => changes;
    chown => changes;
    utime => dates::<true>;
    utimes => dates::<true>;
    setxattr => attaches::<true>;
    removexattr => attaches::<true>;
    lsetxattr => attaches::<false>;
    lremovexattr => attaches::<false>;
    lchown => changes_link;
    lutimes => dates::<false>;
    lchmod => changes_link;
    fchmodat => changes_at::<3>;
    fchownat => changes_at::<4>;
    utimensat => dates_at;
    futimesat => dates_at;
    link => links;
    linkat => links_at;
    fchmod => changes_open;
    fchown => changes_open;
    futimens => changes_open;
    futimes => changes_open;
    fsetxattr => changes_open;
    fremovexattr => changes_open;
}
