//! Streams. To read from one or write to one is an operation on its file; standard output and standard error order nothing. A stream is memory as well, which is used
//! by all these calls and given back by `fclose`: who uses one that another thread closes in no order races with it. The calls are in [`crate::calls::streams::stream_calls`].

use crate::{
    calls::streams::stream_locks,
    core::{call_sites, rules, world},
    hooks::{Frame, accesses},
    kernel::{descriptor_table, file_mappings, file_names, file_objects, offsets},
    real,
};
use alloc::vec::Vec;
use core::ffi::c_int;
use libc::FILE;
use reweave_memory::Kind;
use reweave_model::{Site, ThreadId};
use reweave_wire::Rule;

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Those that are open.
    open: Vec<usize>,
    /// Those that go through another descriptor for one call, since theirs was closed after it was looked up.
    lent: Vec<(usize, c_int)>,
    /// Those that are locked: by whom, how often.
    pub(crate) locks: Vec<(usize, ThreadId, u32)>,
}

impl State {
    pub fn clear(&mut self) {
        self.open.clear();
        self.lent.clear();
        self.locks.clear();
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.streams
}

/// What libc knows of a stream, as it lies there.
#[repr(C)]
pub(crate) struct Stream {
    flags: usize,
    read: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write: usize,
    write_end: usize,
    buffer: usize,
    others: [usize; 6],
    pub(crate) descriptor: c_int,
}

impl Stream {
    /// Whether something waits to be written. Wide characters wait elsewhere.
    pub(crate) fn is_waiting(&self) -> bool {
        /// Where a stream has whether it is for wide characters.
        const MODE: usize = 192;
        // SAFETY: libc's layout.
        let mode = unsafe { *(&raw const *self).byte_add(MODE).cast::<c_int>() };
        mode > 0 || self.write > self.write_base
    }

    /// # Safety
    /// The program's own stream, which is open.
    pub(crate) unsafe fn of<'a>(stream: usize) -> &'a Stream {
        // SAFETY: libc's layout.
        unsafe { &*(stream as *const Stream) }
    }

    /// The object of its file, if that is one that others may read or write.
    fn file(&self) -> Option<usize> {
        let output = descriptor_table::is_output(self.descriptor);
        let input = self.descriptor == 0 && !offsets::are_shared();
        let standard = output || input && descriptor_table::is_standard(0);
        let file = !standard && file_objects::kind(self.descriptor) == libc::S_IFREG;
        let file = file && !file_objects::is_output(self.descriptor);
        file.then(|| file_names::number_of_open(self.descriptor))
    }
}

/// How far a stream has read: where it is in its buffer, and where that ends.
pub(crate) fn read_of(stream: usize) -> [usize; 2] {
    // SAFETY: a stream of libc's own.
    let stream = unsafe { Stream::of(stream) };
    [stream.read, stream.read_end]
}

/// A call has opened a stream: its descriptor gets the number that it is to have.
pub(crate) fn opened(stream: usize, site: Site) {
    if stream == 0 {
        return;
    }
    // SAFETY: libc's layout; nobody else knows of the stream yet.
    let known = unsafe { &mut *(stream as *mut Stream) };
    file_names::made(known.descriptor, site);
    known.descriptor = descriptor_table::opened(known.descriptor, site);
    listed(stream, site);
}

/// A stream is new.
pub(crate) fn listed(stream: usize, site: Site) {
    stream_locks::with_list(site, || state().open.push(stream));
}

/// It is none any more.
pub(crate) fn unlisted(stream: usize) {
    state().open.retain(|open| *open != stream);
}

pub(crate) fn is_listed(stream: usize) -> bool {
    state().open.contains(&stream)
}

/// All that were opened.
pub(crate) fn all() -> Vec<usize> {
    state().open.clone()
}

/// Calls what uses a stream: after others that have locked it, if it locks it itself, and with its file touched.
pub(crate) fn during<T>(
    stream: usize,
    writes: bool,
    locks: bool,
    frame: &Frame,
    call: impl FnOnce() -> T,
) -> T {
    if !world::active() || stream == 0 {
        return call();
    }
    let site = call_sites::site(&frame.return_address);
    let locks = locks && rules::holds(Rule::Streams);
    if locks {
        stream_locks::take(stream, site);
    }
    reach(stream, writes, &frame.return_address);
    let result = call();
    if locks {
        stream_locks::give_back(stream, site);
    }
    result
}

/// The descriptor of a stream is about to stand for something else; whether all was written that is to be.
pub(crate) fn replacing(stream: usize, from: &usize) -> bool {
    if stream == 0 {
        return true;
    }
    // SAFETY: the program's own stream.
    let file = unsafe { Stream::of(stream) }.file();
    reach(stream, file.is_none(), from);
    // SAFETY: the program's own stream. What is in its buffer belongs to this step, its descriptor to the next.
    let written = unsafe { real!(fflush: fn(*mut FILE) -> c_int)(stream as *mut FILE) } == 0;
    give_back();
    // SAFETY: as above.
    let descriptor = unsafe { Stream::of(stream) }.descriptor;
    descriptor_table::replacing(descriptor, call_sites::site(from));
    written
}

/// Whether some stream that was opened goes through a descriptor.
pub(crate) fn goes_through(descriptor: c_int) -> bool {
    // SAFETY: they are open.
    let mut open = state()
        .open
        .iter()
        .map(|stream| unsafe { Stream::of(*stream) });
    open.any(|stream| stream.descriptor == descriptor)
}

/// A call uses the memory of a stream. Those that are always there have none that could be given back.
fn used(stream: usize, from: &usize) {
    if world::heap().around(stream).is_some() {
        accesses::access(stream, 8, Kind::Read, *from);
    }
}

/// Touches the file of a stream, or the stream itself where it has none, unless it is for output.
fn reach(stream: usize, writes: bool, from: &usize) {
    if stream == 0 {
        return;
    }
    used(stream, from);
    give_back();
    let site = call_sites::site(from);
    // SAFETY: the program's own stream, in libc's layout.
    let known = unsafe { &mut *(stream as *mut Stream) };
    if writes && known.descriptor > 2 {
        file_objects::spare(known.descriptor, site);
    }
    if file_names::alone() {
        return;
    }
    let looks = rules::holds(match known.descriptor {
        0..=2 => Rule::Output,
        _ => Rule::Table,
    });
    if looks {
        descriptor_table::look_up(known.descriptor, site);
    }
    let world = world::get();
    let since = world.races.epoch(world.current);
    let writes = writes || known.is_waiting();
    let file = known.file();
    match file {
        Some(number) if writes || offsets::are_shared() => file_objects::touch(number, site),
        Some(number) => file_objects::look_at(number, site),
        None if writes && descriptor_table::is_standard(known.descriptor) => {}
        None => file_objects::touch(stream / 8, site),
    }
    file_mappings::anywhere(known.descriptor, writes, "a stream", site);
    let mut open = offsets::of(known.descriptor);
    if looks {
        let found;
        (found, open) = descriptor_table::found_open(known.descriptor);
        if found != known.descriptor {
            state().lent.push((stream, known.descriptor));
            known.descriptor = found;
        }
    }
    if file.is_some() || known.descriptor == 0 && file_objects::kind(0) == libc::S_IFREG {
        offsets::used(open, since);
    }
}

/// What was lent for a call that is over.
fn give_back() {
    for (stream, descriptor) in state().lent.drain(..) {
        // SAFETY: memory is not given out twice, so it is still the stream's or nobody's.
        unsafe { (*(stream as *mut Stream)).descriptor = descriptor };
    }
}
