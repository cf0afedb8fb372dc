//! What a call on a stream touches. Reading from a stream or writing to it is an operation on its file; standard output and
//! standard error have none. A stream is also memory, which all calls use and `fclose` frees: a call on a stream that another
//! thread closes in no order races with that. The calls are in [`crate::calls::streams::stream_calls`].

use crate::{
    calls::streams::stream_locks,
    core::{
        per_process::{PerProcess, ProcessChange},
        trampoline::Frame,
    },
    kernel::{
        descriptor_table, file_mappings, file_names, file_objects,
        libc_streams::{self, Stream},
        nameless_files,
        open_description::{offsets_are_shared, refuse_modelled},
        ordering::{Moment, alone},
        os_files, start_state,
    },
    real,
    run::{accesses, call_sites, rules, world},
};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::FILE;
use reweave_memory::Kind;
use reweave_model::Site;
use reweave_wire::Rule;

/// Streams that go through another descriptor for one call, since theirs was closed after it was looked up: with their own one.
static DIVERTED: PerProcess<Vec<(usize, c_int)>> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    DIVERTED.change(change);
}

/// A new run.
pub(crate) fn begin_run() {
    DIVERTED.borrow().clear();
}

/// The object of the file that a descriptor of a stream is open on, if other threads may read or write it.
fn file_of(descriptor: c_int) -> Option<usize> {
    let output = descriptor_table::is_output(descriptor);
    let input = descriptor == 0 && !offsets_are_shared();
    let standard = output || input && descriptor_table::is_standard(0);
    let is_file = !standard && os_files::file_type_of_open(descriptor) == libc::S_IFREG;
    let is_file = is_file && !start_state::is_output(descriptor);
    is_file.then(|| file_names::number_of_open(descriptor))
}

/// A call has opened a stream: its descriptor gets the number that it is to have.
///
/// # Safety
///
/// `stream` is 0, or a stream that was just opened lies there.
pub(crate) unsafe fn opened(stream: usize, site: Site) {
    if stream == 0 {
        return;
    }
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
    let descriptor = unsafe { Stream::descriptor_of(stream) };
    nameless_files::opened(descriptor, site);
    let number = descriptor_table::opened(descriptor, site);
    // SAFETY: the caller promises that a stream lies there that was just opened, so no other thread knows it.
    unsafe { Stream::set_descriptor(stream, number) };
    list(stream, site);
}

/// Puts a new stream on the list of all streams.
pub(crate) fn list(stream: usize, site: Site) {
    stream_locks::with_list(site, || libc_streams::add(stream));
}

/// What a call does to the file of a stream.
#[derive(Clone, Copy)]
pub(crate) struct FileUse {
    /// It writes.
    pub(crate) writes: bool,
    /// It writes what waits in the buffer, if there is something. What is there may depend on the order of the run, so the operation on the
    /// file does not: it is that of a call that writes, unless the stream is for reading only.
    pub(crate) may_write: bool,
}

/// Makes a call on a stream: takes its lock, if the call does that itself and other threads may hold it, and touches its file.
///
/// # Safety
///
/// `stream` is 0, or a stream lies there.
pub(crate) unsafe fn during<T>(
    stream: usize,
    does: FileUse,
    locks: bool,
    frame: &Frame,
    call: impl FnOnce() -> T,
) -> T {
    if !world::active() || stream == 0 {
        return call();
    }
    let site = call_sites::site(&frame.return_address);
    if !locks && !alone() {
        rules::needs(Rule::Streams);
    }
    let exclusive = rules::holds(Rule::Streams);
    let locks = locks && exclusive;
    if locks {
        stream_locks::take(stream, site);
    }
    if exclusive {
        note_buffer_use(stream, does, &frame.return_address);
    }
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
    unsafe { reach(stream, does, &frame.return_address) };
    let result = call();
    if locks {
        stream_locks::give_back(stream, site);
    }
    result
}

/// The descriptor of a stream is about to be closed or replaced; whether everything could be written that was in the buffer.
///
/// # Safety
///
/// `stream` is 0, or a stream lies there.
pub(crate) unsafe fn replacing(stream: usize, from: &usize) -> bool {
    if stream == 0 {
        return true;
    }
    // SAFETY: the caller promises that a stream lies at `stream`, and it is not 0. What is in the buffer belongs to this step, the descriptor to the next one.
    let written = unsafe {
        let file = file_of(Stream::descriptor_of(stream));
        let does = FileUse {
            writes: file.is_none(),
            may_write: true,
        };
        reach(stream, does, from);
        real!(fflush: fn(*mut FILE) -> c_int)(stream as *mut FILE) == 0
    };
    end_diversions();
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
    let descriptor = unsafe { Stream::descriptor_of(stream) };
    descriptor_table::replacing(descriptor, call_sites::site(from));
    written
}

/// A call uses the buffer of a stream, with its lock or without: without it may race. Compilers make some of the calls that take no
/// lock plain accesses to the same place.
fn note_buffer_use(stream: usize, does: FileUse, from: &usize) {
    const NEXT_TO_WRITE: usize = 40;
    let kind = match does.writes || does.may_write {
        true => Kind::Write,
        false => Kind::Read,
    };
    accesses::access(stream + NEXT_TO_WRITE, 8, kind, *from);
}

/// A call uses the memory of a stream. Standard streams are always there.
fn note_use(stream: usize, from: &usize) {
    let allocated = world::heap().around(stream).is_some();
    if allocated {
        accesses::access(stream, 8, Kind::Read, *from);
    }
}

/// Touches the file of a stream, or the stream itself if it has none, unless it is for output.
///
/// # Safety
///
/// `stream` is 0, or a stream lies there.
unsafe fn reach(stream: usize, does: FileUse, from: &usize) {
    if stream == 0 {
        return;
    }
    note_use(stream, from);
    end_diversions();
    let site = call_sites::site(from);
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
    let descriptor = unsafe { Stream::descriptor_of(stream) };
    refuse_modelled(descriptor, "a stream", site);
    if does.writes && descriptor > 2 {
        start_state::protect(descriptor, site);
    }
    if alone() {
        return;
    }
    let looks_up = rules::holds(match descriptor {
        0..=2 => Rule::Output,
        _ => Rule::Table,
    });
    if looks_up {
        descriptor_table::look_up(descriptor, site);
    }
    let since = Moment::now().epoch();
    // SAFETY: the caller promises that a stream lies there; the reference ends with the statement.
    let writes = does.writes || does.may_write && unsafe { Stream::at(stream) }.is_writable();
    let file = file_of(descriptor);
    match file {
        Some(number) if writes || offsets_are_shared() => file_objects::touch(number, site),
        Some(number) => file_objects::look_at(number, site),
        None if writes && descriptor_table::is_standard(descriptor) => {}
        None => file_objects::touch(stream / 8, site),
    }
    // SAFETY: as before. What is in the buffer now follows from the operations so far.
    let writes = does.writes || does.may_write && unsafe { Stream::at(stream) }.has_unwritten();
    file_mappings::anywhere(descriptor, writes, "a stream", site);
    let (mut found, mut description) = (descriptor, descriptor_table::description(descriptor));
    if looks_up {
        (found, description) = descriptor_table::take_found(descriptor);
    }
    if found != descriptor {
        DIVERTED.borrow().push((stream, descriptor));
        // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
        unsafe { Stream::set_descriptor(stream, found) };
    }
    if file.is_some() || found == 0 && os_files::file_type_of_open(0) == libc::S_IFREG {
        description.use_offset(since);
    }
}

/// Calls that went through another descriptor are over: their streams get their own ones back.
fn end_diversions() {
    for (stream, descriptor) in DIVERTED.borrow().drain(..) {
        // SAFETY: a stream lay there, and memory is not given out twice in a run, so it is still the stream's or unused.
        unsafe { Stream::set_descriptor(stream, descriptor) };
    }
}
