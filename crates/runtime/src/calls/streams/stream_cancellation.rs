//! Cancellation in calls on streams. As in the C library, where the cancellation points are the `read` and `write` behind a stream,
//! a call acts on it if it reads from the file or writes to it. A call that only uses the stream's buffer is no cancellation point.
//!
//! Whether a call will go to the file is predicted from the stream: nothing was read ahead, something waits to be written, there is
//! no buffer. (A line-buffered stream counts as such, whether the text has an end of line or not; POSIX lets all these calls act.)
//! If the buffer turns out to be too small during the call itself, which has then passed the point, the call is unsupported.

use crate::{
    calls::streams::{
        stream_locks,
        stream_objects::{self, FileUse},
    },
    core::{
        per_process::{PerProcess, ProcessChange},
        trampoline::Frame,
    },
    kernel::{libc_streams::Stream, open_description::Kind, ordering::alone, os_files},
    run::{call_sites, cancellation, rules, spin, world},
};
use alloc::vec::Vec;
use reweave_model::ThreadId;
use reweave_wire::Rule;

/// Streams of the run that were used while there were other threads, with the thread that did so first.
static USERS: PerProcess<Vec<(usize, ThreadId)>> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    USERS.change(change);
}

/// A new run.
pub(crate) fn begin_run() {
    USERS.borrow().clear();
}

/// The running thread uses a stream. What the stream shows depends on the order in which several threads use it. So calls on it take its lock
/// first, once there are two such threads.
fn note_user(stream: usize) {
    if alone() {
        return;
    }
    let me = world::borrow().current;
    let first = {
        let mut users = USERS.borrow();
        let known = users.iter().find(|(known, _)| *known == stream);
        let first = known.map(|(_, user)| *user);
        if first.is_none() {
            users.push((stream, me));
        }
        first
    };
    if first.is_some_and(|first| first != me) {
        rules::needs(Rule::Streams);
    }
}

/// What a call does to a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamUse {
    /// Asks something, or puts a character back.
    Looks,
    Reads,
    /// Changes the position: writes what is in the buffer, and reads ahead.
    Moves,
    /// Goes to the beginning, and reads nothing ahead.
    Rewinds,
    Writes,
    /// Writes what is in the buffer.
    Flushes,
    /// Sets the buffer.
    Sets,
}

impl StreamUse {
    fn writes(self) -> bool {
        use StreamUse::*;
        matches!(self, Writes | Flushes | Sets)
    }

    /// What it does to the file of a stream.
    fn file_use(self) -> FileUse {
        use StreamUse::*;
        FileUse {
            writes: self.writes(),
            may_write: matches!(self, Reads | Moves | Rewinds),
        }
    }

    /// Whether it goes to the file only when it comes to the end of the buffer.
    fn uses_buffer(self) -> bool {
        use StreamUse::*;
        matches!(self, Reads | Writes | Sets)
    }

    /// Whether it depends on what other calls have left in the buffer whether it goes to the file.
    fn shows_order(self) -> bool {
        use StreamUse::*;
        matches!(self, Reads | Flushes | Rewinds)
    }

    /// Whether a later call on the stream at an address, or on its file, may have another result because of it. What is written to standard
    /// output is never read again.
    ///
    /// # Safety
    ///
    /// A stream lies at the address.
    unsafe fn changes(self, stream: usize) -> bool {
        match self {
            StreamUse::Looks => false,
            // SAFETY: the caller promises that a stream lies there.
            _ if self.writes() => unsafe {
                Kind::of(Stream::descriptor_of(stream)) != Kind::Output
            },
            _ => true,
        }
    }

    /// Whether it reads from the file behind a stream or writes to it, as far as the stream shows.
    fn goes_to_file(self, stream: &Stream) -> bool {
        match self {
            StreamUse::Looks | StreamUse::Sets => false,
            StreamUse::Moves => true,
            StreamUse::Reads => stream.is_read_out(),
            StreamUse::Writes => stream.writes_early(),
            StreamUse::Flushes | StreamUse::Rewinds => stream.has_unwritten(),
        }
    }
}

/// Whether the running thread, which has locked a stream, is cancelled instead of writing what is in the buffer.
///
/// # Safety
///
/// A stream lies at the address.
pub(crate) unsafe fn is_cancelled_at(stream: usize, frame: &Frame) -> bool {
    // SAFETY: the caller promises that a stream lies there; the reference ends with the statement.
    let goes = || StreamUse::Flushes.goes_to_file(unsafe { Stream::at(stream) });
    cancellation::possible() && goes() && cancellation::asked_at(frame)
}

/// As [`stream_objects::during`], for a call that may be a cancellation point.
///
/// # Safety
///
/// `stream` is 0, or a stream lies there.
pub(crate) unsafe fn during<T>(
    stream: usize,
    does: StreamUse,
    locks: bool,
    frame: &Frame,
    call: impl FnOnce() -> T,
) -> T {
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0; a call that closes the stream does not come here.
    let (result, changes) = unsafe {
        let result = attempt(stream, does, locks, frame, call);
        (
            result,
            world::active() && stream != 0 && does.changes(stream),
        )
    };
    if changes {
        spin::disturbed();
    }
    result.unwrap_or_else(|| cancellation::go())
}

/// As [`during`]; `None`: the running thread is cancelled instead.
///
/// # Safety
///
/// `stream` is 0, or a stream lies there.
pub(crate) unsafe fn attempt<T>(
    stream: usize,
    does: StreamUse,
    locks: bool,
    frame: &Frame,
    call: impl FnOnce() -> T,
) -> Option<T> {
    let file_use = does.file_use();
    if !world::active() || stream == 0 || !cancellation::possible() {
        // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
        return Some(unsafe { stream_objects::during(stream, file_use, locks, frame, call) });
    }
    // SAFETY: the caller promises that a stream lies at `stream` if it is not 0, and it is not.
    if does.shows_order() && unsafe { does.changes(stream) } {
        note_user(stream);
    }
    let site = call_sites::site(&frame.return_address);
    let waits = locks && rules::holds(Rule::Streams);
    if waits {
        stream_locks::take(stream, site);
    }
    // SAFETY: the caller promises that a stream lies at `stream` if it is not 0, and it is not; the reference ends with the statement.
    let predicted = does.goes_to_file(unsafe { Stream::at(stream) });
    let checked = || {
        // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
        let before = unsafe { position(stream) };
        let result = call();
        // SAFETY: the caller promises that a stream lies there; a call that closes the stream does not come here.
        if !predicted && does.uses_buffer() && unsafe { position(stream) } != before {
            let what = "cancellation in a call that fills or empties a buffer";
            world::unsupported(what, site);
        }
        result
    };
    let result = match predicted && cancellation::asked_at(frame) {
        true => None,
        // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
        false => Some(unsafe { stream_objects::during(stream, file_use, locks, frame, checked) }),
    };
    if waits {
        stream_locks::give_back(stream, site);
    }
    result
}

/// The offset of the file behind a stream.
///
/// # Safety
///
/// A stream lies at the address.
unsafe fn position(stream: usize) -> isize {
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
    os_files::offset(unsafe { Stream::descriptor_of(stream) })
}
