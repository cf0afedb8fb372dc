//! Calls that open files or make names, and are given paths in the overlay instead: see [`crate::kernel::path_resolution`]. Those
//! that remove names are in [`crate::calls::files::directory_entries`], those that change files without opening them in
//! [`crate::calls::files::metadata`], those about directories in [`crate::calls::files::directories`].

use crate::{
    kernel::{
        descriptor_table,
        file_names::HERE,
        nameless_files,
        open_checks::check_openable,
        passed_calls::redirects,
        path_resolution::{PathUse, makes_nameless, redirect},
        start_state,
    },
    run::spin,
};
use core::ffi::{CStr, c_int};
use reweave_model::Site;

redirects! {
    open => opens, opened;
    open64 => opens, opened;
    __open => opens, opened;
    __open64 => opens, opened;
    __open_2 => opens, opened;
    __open64_2 => opens, opened;
    openat => opens_at, opened;
    openat64 => opens_at, opened;
    __openat_2 => opens_at, opened;
    __openat64_2 => opens_at, opened;
    creat => makes_file, opened;
    creat64 => makes_file, opened;
    memfd_create => makes_in_memory, opened;
    access => looks;
    euidaccess => looks;
    eaccess => looks;
    faccessat => looks_at;
    pathconf => looks;
    mkdir => makes::<0>;
    mkdirat => makes_at::<0>;
    symlink => makes::<1>;
    symlinkat => makes_at::<1>;
}

/// Whether `open` makes a file that has no name.
fn is_temporary(flags: c_int) -> bool {
    flags & libc::O_TMPFILE == libc::O_TMPFILE
}

/// What `open` does with these flags, and whether it follows a link.
fn use_of_flags(flags: c_int) -> (PathUse, bool) {
    let has = |flag: c_int| flags & flag != 0;
    let writes = flags & libc::O_ACCMODE != libc::O_RDONLY || has(libc::O_TRUNC);
    let makes = has(libc::O_CREAT);
    let exclusive = makes && has(libc::O_EXCL);
    let how = match () {
        () if is_temporary(flags) => PathUse::Within,
        // A descriptor that neither reads nor writes.
        () if has(libc::O_PATH) => PathUse::Look,
        () if exclusive => PathUse::New,
        () if writes && !makes && !has(libc::O_TRUNC) => PathUse::Open,
        () if writes => PathUse::Change {
            // A file is no directory, so opening it as one fails and leaves it as it is.
            keeps: !has(libc::O_TRUNC) || has(libc::O_DIRECTORY),
            makes,
        },
        () if makes => PathUse::Make,
        () if has(libc::O_DIRECTORY) => PathUse::List,
        () => PathUse::Look,
    };
    (how, !has(libc::O_NOFOLLOW) && !exclusive)
}

pub(crate) fn opens(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    check_openable(arguments[0], name, from);
    let (how, follow) = use_of_flags(arguments[1] as c_int);
    redirect(HERE, &mut arguments[0], follow, how, from);
    if is_temporary(arguments[1] as c_int) {
        makes_nameless();
    }
}

fn opens_at(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    check_openable(arguments[1], name, from);
    let (how, follow) = use_of_flags(arguments[2] as c_int);
    let directory = arguments[0] as c_int;
    redirect(directory, &mut arguments[1], follow, how, from);
    if is_temporary(arguments[2] as c_int) {
        makes_nameless();
    }
}

fn makes_file(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    check_openable(arguments[0], name, from);
    let how = PathUse::Change {
        keeps: false,
        makes: true,
    };
    redirect(HERE, &mut arguments[0], true, how, from);
}

fn makes_in_memory(_: &'static CStr, _: &mut [usize; 6], _: &usize) {
    spin::disturbed();
    start_state::descriptors_change();
    makes_nameless();
}

fn looks(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[0], true, PathUse::Look, from);
}

fn looks_at(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let directory = arguments[0] as c_int;
    redirect(directory, &mut arguments[1], true, PathUse::Look, from);
}

/// The argument with this number is the name that is made.
fn makes<const PATH: usize>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    redirect(HERE, &mut arguments[PATH], false, PathUse::Entry, from);
}

fn makes_at<const DIRECTORY: usize>(_: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    let directory = arguments[DIRECTORY] as c_int;
    let path = &mut arguments[DIRECTORY + 1];
    redirect(directory, path, false, PathUse::Entry, from);
}

/// The result is a new descriptor.
pub(crate) fn opened(result: isize, site: Site) -> isize {
    nameless_files::opened(result as c_int, site);
    descriptor_table::opened(result as c_int, site) as isize
}

#[cfg(test)]
mod tests {
    use super::*;
    use libc::{O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY};

    fn change(keeps: bool, makes: bool) -> PathUse {
        PathUse::Change { keeps, makes }
    }

    #[test]
    fn flags_of_open() {
        let cases = [
            (O_RDONLY, PathUse::Look, true),
            (O_RDONLY | O_NOFOLLOW, PathUse::Look, false),
            (O_RDWR, PathUse::Open, true),
            (O_WRONLY | O_TRUNC, change(false, false), true),
            (O_WRONLY | O_CREAT, change(true, true), true),
            (O_WRONLY | O_CREAT | O_TRUNC, change(false, true), true),
            (O_RDONLY | O_CREAT, PathUse::Make, true),
            (O_RDWR | O_CREAT | O_EXCL, PathUse::New, false),
            (O_RDONLY | O_DIRECTORY, PathUse::List, true),
            (O_RDWR | libc::O_TMPFILE, PathUse::Within, true),
            (libc::O_PATH, PathUse::Look, true),
        ];
        for (flags, how, follow) in cases {
            assert!(use_of_flags(flags) == (how, follow), "flags {flags:o}");
        }
    }
}
