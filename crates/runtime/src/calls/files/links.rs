//! `link` and `linkat`: a second name for a file. Both names are of one file, so it has to be in the overlay.

use crate::{
    kernel::{
        file_names::{HERE, note_rename, number},
        file_objects, nameless_files,
        overlay::overlay,
        passed_calls::redirects,
        path_resolution::{PathUse, place_for, reach, send},
        paths::descriptor_in_proc,
        program_memory::c_text,
    },
    run::call_sites,
};
use alloc::{format, vec::Vec};
use core::ffi::{CStr, c_int};
use reweave_model::Site;

redirects! {
    link => links;
    linkat => links_at;
}

/// A directory, and the address of a path from there.
type Named = (c_int, usize);

fn links(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let [old, new, ..] = *arguments;
    let [known, named] = link_both((HERE, old), (HERE, new), false, from);
    (arguments[0], arguments[1]) = (known, named);
}

fn links_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let [from_at, mut old, to_at, new, flags, _] = *arguments;
    let has = |flag: c_int| flags as c_int & flag != 0;
    let mut follow = has(libc::AT_SYMLINK_FOLLOW);
    // SAFETY: the argument is a path, so it is null or ends with a nul, as the C library demands of its caller.
    let open = unsafe { c_text(old) }.is_some_and(<[u8]>::is_empty) && has(libc::AT_EMPTY_PATH);
    let path = format!("/proc/self/fd/{}\0", from_at as c_int);
    if open {
        (old, follow) = (path.as_ptr() as usize, true);
        arguments[4] = libc::AT_SYMLINK_FOLLOW as usize;
    }
    let (old, new) = ((from_at as c_int, old), (to_at as c_int, new));
    let [known, named] = link_both(old, new, follow, from);
    (arguments[1], arguments[3]) = (known, named);
}

/// The paths that the operating system is given.
fn link_both(old: Named, new: Named, follow: bool, from: &usize) -> [usize; 2] {
    let site = call_sites::site(from);
    let [mut known, mut named] = [old.1, new.1];
    let place = reach(old.0, old.1, follow, PathUse::Entry, site);
    let target = reach(new.0, new.1, false, PathUse::Entry, site);
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

/// Prepares a second name for a file: the paths of both, or an error number.
fn second_name(known: &[u8], named: &[u8], site: Site) -> Result<[Vec<u8>; 2], c_int> {
    let there = overlay().file_type(known).ok_or(libc::ENOENT)?;
    if there == libc::S_IFDIR {
        return Err(libc::EPERM);
    }
    let target = place_for(named, PathUse::Entry, site)?;
    let open = descriptor_in_proc(known);
    if let Some(open) = open.filter(|open| nameless_files::is_nameless(*open)) {
        nameless_files::name(open, named);
        return Ok([known.into(), target]);
    }
    // A thread that has the file open sees how many names it has.
    file_objects::touch(number(known), site);
    let place = place_for(known, PathUse::Attributes { writers: true }, site)?;
    note_rename(known, named, false);
    Ok([place, target])
}
