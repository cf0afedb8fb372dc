//! Calls that open streams, and are given paths in the overlay instead: see [`crate::kernel::path_resolution`].

use crate::{
    calls::streams::stream_objects,
    kernel::{
        file_names::{HERE, refuse},
        open_checks::check_openable,
        ordering::alone,
        overlay::overlay,
        passed_calls::redirects,
        path_resolution::{PathUse, makes_nameless, redirect},
        paths::is_system,
        program_memory::c_text,
        start_state,
    },
    run::{call_sites, spin},
};
use alloc::format;
use core::ffi::CStr;
use reweave_model::Site;

redirects! {
    fopen => opens, opened;
    fopen64 => opens, opened;
    _IO_fopen => opens, opened;
    freopen => reopens;
    freopen64 => reopens;
    tmpfile => makes_temporary, opened;
    tmpfile64 => makes_temporary, opened;
    fmemopen => opens_memory, opened;
    open_memstream => opens_memory, opened;
    open_wmemstream => opens_memory, opened;
}

/// What `fopen` does with a mode, and whether it follows a link.
fn use_of_mode(mode: &[u8]) -> (PathUse, bool) {
    let mode = mode.split(|byte| *byte == b',').next().unwrap_or(b"r");
    let change = |keeps, makes| PathUse::Change { keeps, makes };
    let exclusive = mode.contains(&b'x');
    let how = match mode.first() {
        Some(b'w' | b'a') if exclusive => PathUse::New,
        Some(b'w') => change(false, true),
        Some(b'a') => change(true, true),
        _ if mode.contains(&b'+') => PathUse::Open,
        _ => PathUse::Look,
    };
    (how, how != PathUse::New)
}

fn opens(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    check_openable(arguments[0], name, from);
    // SAFETY: the argument is a mode, so it is null or ends with a nul, as the C library demands of its caller.
    let (how, follow) = use_of_mode(unsafe { c_text(arguments[1]) }.unwrap_or(b"r"));
    redirect(HERE, &mut arguments[0], follow, how, from);
}

fn opens_memory(_: &'static CStr, _: &mut [usize; 6], _: &usize) {
    spin::disturbed();
    start_state::descriptors_change();
}

fn makes_temporary(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    opens_memory(name, arguments, from);
    makes_nameless();
}

/// The result is a new stream.
fn opened(stream: isize, site: Site) -> isize {
    // SAFETY: null, or a stream that the C library has just opened.
    unsafe { stream_objects::opened(stream as usize, site) };
    stream
}

/// A stream gets another file; its descriptor stays. Beside other threads that is one step, so the file can only be one that is no
/// object.
fn reopens(name: &'static CStr, arguments: &mut [usize; 6], from: &usize) {
    // SAFETY: the argument is a path, so it is null or ends with a nul, as the C library demands of its caller.
    let path = unsafe { c_text(arguments[0]) };
    let real = path.and_then(|path| overlay().resolve(HERE, path, true).ok());
    if !alone() && path.is_some() && !real.is_some_and(|real| is_system(&real)) {
        let what = format!("{} beside other threads", name.to_str().unwrap_or("?"));
        refuse(&what, call_sites::site(from));
    }
    // SAFETY: the argument is a stream, as the C library demands of its caller.
    unsafe { stream_objects::replacing(arguments[2], from) };
    if path.is_some() {
        opens(name, arguments, from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_fopen() {
        let change = |keeps, makes| PathUse::Change { keeps, makes };
        assert!(use_of_mode(b"r") == (PathUse::Look, true));
        assert!(use_of_mode(b"rb+") == (PathUse::Open, true));
        assert!(use_of_mode(b"w+") == (change(false, true), true));
        assert!(use_of_mode(b"a") == (change(true, true), true));
        assert!(use_of_mode(b"wx") == (PathUse::New, false));
        assert!(use_of_mode(b"r,ccs=x+") == (PathUse::Look, true));
    }
}
