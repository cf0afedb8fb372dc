//! Streams that are made of descriptors, flushed and closed: see [`crate::calls::streams::stream_objects`].

use crate::{
    calls::streams::{
        stream_cancellation::{StreamUse, attempt, during, is_cancelled_at},
        stream_locks, stream_objects,
    },
    core::trampoline::Frame,
    kernel::{
        descriptor_arguments, descriptor_table, file_locks,
        libc_streams::{self, Stream},
        ordering::alone,
        start_state,
    },
    outside_run, real,
    run::{call_sites, cancellation, operations::failed, rules, spin, world},
    trampoline,
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

/// `fdopen`.
///
/// # Safety
///
/// As POSIX demands of the caller: `mode` points to a text that ends with a nul.
unsafe extern "C" fn open_descriptor(descriptor: c_int, mode: usize, frame: &Frame) -> usize {
    let descriptor = descriptor_arguments::own(descriptor);
    outside_run!(fdopen: fn(descriptor: c_int, mode: usize) -> usize);
    spin::disturbed();
    start_state::descriptors_change();
    descriptor_table::look_up(descriptor, site(frame));
    let found = descriptor_table::found(descriptor);
    // SAFETY: the mode is as the caller promises; a descriptor that is not open is an error of the call.
    let stream = unsafe { real!(fdopen: fn(c_int, usize) -> usize)(found, mode) };
    if stream != 0 {
        // SAFETY: the C library has just made the stream, and no other thread knows it.
        unsafe { Stream::set_descriptor(stream, descriptor) };
        stream_objects::list(stream, site(frame));
    }
    stream
}

/// The C library's own `fflush`.
///
/// # Safety
///
/// `stream` is 0, or an open stream lies there.
unsafe fn flush(stream: usize) -> c_int {
    // SAFETY: the caller promises that an open stream lies at `stream`, or that it is 0, which flushes all.
    unsafe { real!(fflush: fn(*mut FILE) -> c_int)(stream as *mut FILE) }
}

/// `fflush`.
///
/// # Safety
///
/// As the C standard demands of the caller: `stream` is null or an open stream.
unsafe extern "C" fn flush_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    let stream = stream as usize;
    let by_others = || !alone() || rules::holds(Rule::Streams);
    if stream == 0 && world::active() && by_others() {
        return flush_all(frame);
    }
    // SAFETY: null or a stream, as the caller promises.
    unsafe { during(stream, StreamUse::Flushes, true, frame, || flush(stream)) }
}

/// Flushes all streams, one after the other, while no other thread opens or closes one.
fn flush_all(frame: &Frame) -> c_int {
    rules::needs(Rule::Streams);
    let written = stream_locks::with_list(site(frame), || {
        let mut result = 0;
        for stream in libc_streams::all() {
            if libc_streams::is_open(stream) {
                let flushes = || flush_if_open(stream);
                // SAFETY: it is on the list, so it is open, and a stream lies there.
                let written = unsafe { attempt(stream, StreamUse::Flushes, true, frame, flushes) }?;
                result = result.min(written);
            }
        }
        for stream in start_state::outputs() {
            // SAFETY: standard output and standard error are always there.
            let written =
                unsafe { attempt(stream, StreamUse::Flushes, true, frame, || flush(stream)) }?;
            result = result.min(written);
        }
        Some(result)
    });
    written.unwrap_or_else(|| cancellation::go())
}

/// Writes what is in the buffer of a stream; what was read ahead stays.
fn flush_if_open(stream: usize) -> c_int {
    // Without the rule another thread may have closed it since.
    if !libc_streams::is_open(stream) {
        return 0;
    }
    // SAFETY: it is on the list, so it is open, and a stream lies there.
    unsafe {
        match Stream::at(stream).has_unwritten() {
            true => flush(stream),
            false => 0,
        }
    }
}

/// `fclose`.
///
/// # Safety
///
/// As the C standard demands of the caller: `stream` is an open stream.
unsafe extern "C" fn close_stream(stream: *mut FILE, frame: &Frame) -> c_int {
    if !world::active() || stream.is_null() {
        // SAFETY: passed on as the caller promises.
        return unsafe { real!(fclose: fn(*mut FILE) -> c_int)(stream) };
    }
    let (place, site) = (stream as usize, site(frame));
    let locks = rules::holds(Rule::Streams);
    let closed = stream_locks::with_list(site, || {
        if locks {
            stream_locks::take(place, site);
        }
        // SAFETY: an open stream, as the caller promises.
        let cancelled = unsafe { is_cancelled_at(place, frame) };
        // SAFETY: as before: it was not closed here yet.
        let result = (!cancelled).then(|| unsafe { close_now(stream, frame) });
        if locks {
            stream_locks::give_back(place, site);
        }
        result
    });
    closed.unwrap_or_else(|| cancellation::go())
}

/// Closes a stream whose lock is held.
///
/// # Safety
///
/// `stream` is an open stream, and is not used afterwards.
unsafe fn close_now(stream: *mut FILE, frame: &Frame) -> c_int {
    let place = stream as usize;
    // SAFETY: an open stream, as the caller promises; `errno` of the running thread is always there.
    let (written, error) = unsafe {
        let written = stream_objects::replacing(place, &frame.return_address);
        (written, *libc::__errno_location())
    };
    libc_streams::remove(place);
    // SAFETY: the stream is not closed yet.
    let held = file_locks::losing(unsafe { Stream::descriptor_of(place) });
    // SAFETY: an open stream, which is not used afterwards, as the caller promises.
    let result = unsafe { real!(fclose: fn(*mut FILE) -> c_int)(stream) };
    file_locks::lost(held, site(frame));
    match written {
        true => result,
        false => failed(error),
    }
}

/// `fcloseall`.
extern "C" fn close_all_streams(frame: &Frame) -> c_int {
    if world::active() && !alone() {
        world::unsupported("fcloseall beside other threads", site(frame));
    }
    start_state::descriptors_change();
    // SAFETY: `fcloseall` takes nothing; that the program does not use its streams afterwards is its own promise.
    unsafe { real!(fcloseall: fn() -> c_int)() }
}
