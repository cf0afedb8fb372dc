//! Closing descriptors: for `close`, and for those that `exec` closes.

use crate::{
    kernel::{
        descriptor_table::{self, closing},
        file_locks, libc_streams,
        open_description::Closing,
        ordering::alone_in_process,
        os_files,
    },
    real,
    run::{rules, world},
};
use core::ffi::c_int;
use reweave_model::Site;
use reweave_wire::Rule;

/// Where a descriptor is closed that a stream goes through, streams look theirs up as well.
pub(crate) fn note_stream_of(descriptor: c_int) {
    if world::active() && !alone_in_process() && libc_streams::goes_through(descriptor) {
        rules::needs(Rule::Table);
    }
}

/// The running thread closes a descriptor; what `close` returns.
pub(crate) fn close(descriptor: c_int, site: Site) -> c_int {
    closing(descriptor, site);
    note_stream_of(descriptor);
    let locks = file_locks::losing(descriptor);
    let closed = Closing::of(descriptor);
    // SAFETY: a descriptor of the program, which it wants closed.
    let result = unsafe { real!(close: fn(c_int) -> c_int)(descriptor) };
    file_locks::lost(locks, site);
    closed.done(site);
    result
}

/// Closes what the running process is not to have after `exec`, in the order of the numbers.
pub(crate) fn close_on_exec(site: Site) {
    for (number, _) in descriptor_table::all_open() {
        if os_files::closes_on_exec(number) {
            close(number, site);
        }
    }
}
