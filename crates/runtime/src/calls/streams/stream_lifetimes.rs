//! Streams that are opened, written out and closed: see [`crate::calls::streams::stream_objects`].

use crate::{
    calls::streams::{
        stream_cancellation::{Does, asked_to_go, attempt, during},
        stream_locks,
        stream_objects::{self, Stream},
    },
    core::{call_sites, cancellation, rules, world},
    hooks::Frame,
    kernel::{descriptor_arguments, descriptor_table, file_locks, file_names, file_objects},
    real, trampoline,
};
use core::ffi::c_int;
use libc::FILE;
use reweave_model::Site;
use reweave_wire::Rule;

trampoline! {
    fclose => close_stream, "rsi";
    fflush => flush_stream, "rsi";
    fcloseall => close_all_streams, "rdi";
    fdopen => open_descriptor, "rdx";
}

fn site(frame: &Frame) -> Site {
    call_sites::site(&frame.return_address)
}

unsafe extern "C" fn open_descriptor(descriptor: c_int, mode: usize, frame: &Frame) -> usize {
    let real = real!(fdopen: fn(c_int, usize) -> usize);
    let descriptor = descriptor_arguments::own(descriptor);
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real(descriptor, mode) };
    }
    crate::core::spin::disturbed();
    file_objects::changing();
    descriptor_table::look_up(descriptor, site(frame));
    let found = descriptor_table::found(descriptor);
    // SAFETY: as above.
    let stream = unsafe { real(found, mode) };
    if stream != 0 {
        // SAFETY: libc's layout.
        unsafe { (*(stream as *mut Stream)).descriptor = descriptor };
        stream_objects::listed(stream, site(frame));
    }
    stream
}

unsafe fn flush(stream: usize) -> c_int {
    // SAFETY: one that is open.
    unsafe { real!(fflush: fn(*mut FILE) -> c_int)(stream as *mut FILE) }
}

unsafe extern "C" fn flush_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    let stream = stream as usize;
    let by_others = || !file_names::alone() || rules::holds(Rule::Streams);
    if stream == 0 && world::active() && by_others() {
        return flush_all(frame);
    }
    // SAFETY: the program's own stream, or null.
    during(stream, Does::Flushes, true, frame, || unsafe {
        flush(stream)
    })
}

/// One after the other, while no other thread opens or closes one.
fn flush_all(frame: &Frame) -> c_int {
    rules::needs(Rule::Streams);
    let written = stream_locks::with_list(site(frame), || {
        let mut result = 0;
        for stream in stream_objects::all() {
            if stream_objects::is_listed(stream) {
                let flushes = || write_out(stream);
                let written = attempt(stream, Does::Flushes, true, frame, flushes)?;
                result = result.min(written);
            }
        }
        for stream in file_objects::outputs() {
            // SAFETY: always there.
            let flushes = || unsafe { flush(stream) };
            let written = attempt(stream, Does::Flushes, true, frame, flushes)?;
            result = result.min(written);
        }
        Some(result)
    });
    written.unwrap_or_else(|| cancellation::go())
}

/// Writes out what waits for that; what was read ahead stays.
fn write_out(stream: usize) -> c_int {
    // Without the rule somebody may have closed it since.
    if !stream_objects::is_listed(stream) {
        return 0;
    }
    // SAFETY: it is open.
    unsafe {
        match Stream::of(stream).is_waiting() {
            true => flush(stream),
            false => 0,
        }
    }
}

unsafe extern "C" fn close_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    let real = real!(fclose: fn(*mut FILE) -> c_int);
    if !world::active() || stream.is_null() {
        // SAFETY: the program's own stream.
        return unsafe { real(stream) };
    }
    let (place, site) = (stream as usize, site(frame));
    let locks = rules::holds(Rule::Streams);
    let closed = stream_locks::with_list(site, || {
        if locks {
            stream_locks::take(place, site);
        }
        let closes = !asked_to_go(place, frame);
        // SAFETY: the program's own stream.
        let result = closes.then(|| unsafe { close_now(stream, frame) });
        if locks {
            stream_locks::give_back(place, site);
        }
        result
    });
    closed.unwrap_or_else(|| cancellation::go())
}

unsafe fn close_now(stream: *mut FILE, frame: &Frame) -> c_int {
    let place = stream as usize;
    let written = stream_objects::replacing(place, &frame.return_address);
    // SAFETY: the running thread's own.
    let error = unsafe { *libc::__errno_location() };
    stream_objects::unlisted(place);
    // SAFETY: the program's own stream.
    let held = file_locks::losing(unsafe { Stream::of(place) }.descriptor);
    // SAFETY: as above.
    let result = unsafe { real!(fclose: fn(*mut FILE) -> c_int)(stream) };
    file_locks::lost(held, site(frame));
    match written {
        true => result,
        false => crate::core::operations::failed(error),
    }
}

unsafe extern "C" fn close_all_streams(frame: &Frame) -> c_int {
    if world::active() && !file_names::alone() {
        world::get().unsupported("fcloseall beside other threads", site(frame));
    }
    file_objects::changing();
    // SAFETY: no arguments.
    unsafe { real!(fcloseall: fn() -> c_int)() }
}
