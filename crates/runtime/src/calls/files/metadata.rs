//! Calls that change files or their attributes without opening them, by name or by descriptor: see
//! [`crate::kernel::path_resolution`].

use crate::{
    kernel::{
        descriptor_table, file_mappings,
        file_names::{HERE, number_of_open, refuse},
        file_objects,
        ordering::alone,
        os_files,
        passed_calls::redirects,
        path_resolution::{CHANGE, PathUse, deny, is_gone_with_run, redirect},
        program_memory::c_text,
    },
    run::call_sites,
};
use alloc::format;
use core::ffi::{CStr, c_int};

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
    fchmod => changes_open;
    fchown => changes_open;
    futimens => changes_open;
    futimes => changes_open;
    fsetxattr => changes_open;
    fremovexattr => changes_open;
}

const BY_OWNER: PathUse = PathUse::Attributes { writers: false };
const BY_WRITERS: PathUse = PathUse::Attributes { writers: true };

/// Attributes that only the owner may change.
fn changes(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, BY_OWNER, from);
}

fn changes_link(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], false, BY_OWNER, from);
}

/// Times. Those who may write to a file may also set them to the present.
fn dates<const FOLLOW: bool>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let how = PathUse::Attributes {
        writers: arguments[1] == 0,
    };
    redirect(HERE, &mut arguments[0], FOLLOW, how, from);
}

fn attaches<const FOLLOW: bool>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], FOLLOW, BY_WRITERS, from);
}

fn truncates(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, CHANGE, from);
    // SAFETY: the argument is a path of the program or the one that replaces it: null, or a text that ends with a nul.
    let path = unsafe { c_text(arguments[0]) };
    if let Some(file) = path.and_then(os_files::look) {
        file_mappings::changing(&file, false, call_sites::site(from));
    }
}

/// By a path from a directory, with these flags; or by the descriptor itself.
fn changes_from(
    name: &'static CStr,
    arguments: &mut [usize; 6],
    (how, flags): (PathUse, usize),
    from: &usize,
) {
    // SAFETY: the argument is a path, so it is null or ends with a nul, as the C library demands of its caller.
    let path = unsafe { c_text(arguments[1]) };
    let empty = path.is_some_and(<[u8]>::is_empty) && flags as c_int & libc::AT_EMPTY_PATH != 0;
    match name.to_bytes() {
        // The C library has another call for that.
        b"utimensat" if path.is_none() => return deny(libc::EINVAL),
        _ if empty || path.is_none() => return changes_open(name, arguments, from),
        _ => {}
    }
    let follow = flags as c_int & libc::AT_SYMLINK_NOFOLLOW == 0;
    let directory = arguments[0] as c_int;
    redirect(directory, &mut arguments[1], follow, how, from);
}

fn changes_at<const FLAGS: usize>(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let flags = arguments[FLAGS];
    changes_from(name, arguments, (BY_OWNER, flags), from);
}

fn dates_at(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let how = PathUse::Attributes {
        writers: arguments[2] == 0,
    };
    let flags = match name.to_bytes() {
        b"utimensat" => arguments[3],
        _ => 0,
    };
    changes_from(name, arguments, (how, flags), from);
}

/// By a descriptor, which may have been opened for reading only.
fn changes_open(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let (descriptor, site) = (arguments[0] as c_int, call_sites::site(from));
    descriptor_table::look_up(descriptor, site);
    let path = os_files::path_of_open(descriptor).unwrap_or_default();
    if path.first() == Some(&b'/') && !is_gone_with_run(descriptor) {
        let name = name.to_str().unwrap_or("?");
        let what = format!("{name} of a file that is open for reading");
        refuse(&what, site);
    }
    if !alone() && os_files::file_type_of_open(descriptor) != 0 {
        file_objects::touch(number_of_open(descriptor), site);
    }
    arguments[0] = descriptor_table::found(descriptor) as usize;
}
