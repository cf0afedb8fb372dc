//! Cancellation in calls on streams. As in the C library, where the cancellation points are the `read` and `write` behind a stream,
//! a call acts on it if it reads from the file or writes to it. A call that only uses the stream's buffer is no cancellation point.
//!
//! Whether a call will go to the file is predicted from the stream: nothing was read ahead, something waits to be written, there is
//! no buffer. (A line-buffered stream counts as such, whether the text has an end of line or not; POSIX lets all these calls act.)
//! If the buffer turns out to be too small during the call itself, which has then passed the point, the call is unsupported.

use crate::{
    calls::streams::{stream_locks, stream_objects},
    core::trampoline::Frame,
    kernel::{libc_streams::Stream, os_files},
    run::{call_sites, cancellation, rules, world},
};
use reweave_wire::Rule;

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

    /// Whether it goes to the file only when it comes to the end of the buffer.
    fn uses_buffer(self) -> bool {
        use StreamUse::*;
        matches!(self, Reads | Writes | Sets)
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
    // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
    let result = unsafe { attempt(stream, does, locks, frame, call) };
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
    let writes = does.writes();
    if !world::active() || stream == 0 || !cancellation::possible() {
        // SAFETY: the caller promises that a stream lies at `stream`, or that it is 0.
        return Some(unsafe { stream_objects::during(stream, writes, locks, frame, call) });
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
        false => Some(unsafe { stream_objects::during(stream, writes, locks, frame, checked) }),
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
