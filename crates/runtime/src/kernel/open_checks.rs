//! Files that cannot be opened in a run: they have no end, or no order.

use crate::{
    kernel::{os_files, program_memory::c_text, start_state},
    run::{call_sites, cancellation, world},
};
use core::ffi::CStr;

/// The path that a call opens. A call that opens files is a cancellation point.
pub(crate) fn check_openable(path: usize, call: &CStr, from: &usize) {
    // SAFETY: the C library demands of its caller that a path is null or ends with a nul, and stays until the call returns.
    let Some(path) = (unsafe { c_text(path) }) else {
        return;
    };
    let name = call.to_bytes();
    let name = name.strip_prefix(b"__").unwrap_or(name);
    let opens: [&[u8]; 4] = [b"open", b"creat", b"fopen", b"freopen"];
    if opens.iter().any(|start| name.starts_with(start)) && name != b"opendir" {
        cancellation::point_at(from);
    }
    start_state::descriptors_change();
    let what = match path {
        b"/dev/random" | b"/dev/urandom" => "a file of random numbers",
        _ if is_pipe(path) => "a pipe",
        _ => return,
    };
    let call = call.to_str().unwrap_or("open");
    let reason = alloc::format!("{call} of {what}");
    world::unsupported(&reason, call_sites::site(from));
}

fn is_pipe(path: &[u8]) -> bool {
    // The empty path names nothing.
    let stat = os_files::look_behind(path).filter(|_| !path.is_empty());
    let kind = stat.map_or(0, |stat| os_files::file_type(&stat));
    matches!(kind, libc::S_IFIFO | libc::S_IFSOCK)
}
