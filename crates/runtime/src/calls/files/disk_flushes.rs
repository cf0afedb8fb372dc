//! Calls that wait until data has reached the disk: to the runtime they are cancellation points and uses of a descriptor.

use crate::{
    kernel::{descriptor_table, passed_calls::passes},
    run::{call_sites, cancellation},
};
use core::ffi::{CStr, c_int};

passes! {
    fsync => flush;
    fdatasync => flush;
    tcdrain => flush;
    sync_file_range => flush;
    msync => flush_memory;
}

fn flush(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    cancellation::point_at(from);
    descriptor_table::ask(arguments[0] as c_int, call_sites::site(from));
}

fn flush_memory(_: &'static CStr, _: &[usize; 6], from: &usize) {
    cancellation::point_at(from);
}
