//! Cancellation in calls on streams: those act on it that read from a file or write to one, as in the C library, where what is behind a stream
//! are the cancellation points `read` and `write`. A call that goes to its stream's buffer only is none.
//!
//! Whether a call will go further is told from the stream before it: nothing was read ahead, something waits to be written out, nothing is kept back. (A stream that is
//! written out at every end of a line counts as one of those, whether the text has one or not; POSIX lets all these calls act.) Where a buffer turns out to have been
//! too small only by the call itself, which has then passed the point, the run ends there as unsupported.

use crate::{
    calls::streams::{stream_locks, stream_objects},
    core::{call_sites, cancellation, rules, sys, world},
    hooks::Frame,
};
use core::ffi::c_int;
use reweave_wire::Rule;

/// What a call does to a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Asks something, or puts something back.
    Looks,
    Reads,
    /// Goes elsewhere: writes out what waits, and reads ahead.
    Moves,
    /// Goes to the beginning, where it reads nothing ahead.
    Rewinds,
    Writes,
    /// Writes out what waits.
    Flushes,
    /// Sets how it is kept.
    Sets,
}

impl Does {
    fn writes(self) -> bool {
        matches!(self, Does::Writes | Does::Flushes | Does::Sets)
    }

    /// Whether it reads and writes until the buffer is empty or full, and no further unless that comes to its end.
    fn uses_buffer(self) -> bool {
        matches!(self, Does::Reads | Does::Writes | Does::Sets)
    }

    /// Whether it reads from the file behind the stream or writes to it, as far as the stream tells.
    fn goes_further(self, stream: usize) -> bool {
        const UNBUFFERED: c_int = 0x2;
        const BY_LINES: c_int = 0x200;
        // SAFETY: the program's own stream, in libc's layout: its flags come first.
        let flags = unsafe { *(stream as *const c_int) };
        match self {
            Does::Looks | Does::Sets => false,
            Does::Moves => true,
            Does::Reads => {
                let [next, end] = stream_objects::read_of(stream);
                next >= end
            }
            Does::Writes => flags & (UNBUFFERED | BY_LINES) != 0,
            // SAFETY: as above.
            Does::Flushes | Does::Rewinds => {
                unsafe { stream_objects::Stream::of(stream) }.is_waiting()
            }
        }
    }
}

/// Whether the running thread, which has locked a stream, is to go instead of writing out what waits there.
pub(crate) fn asked_to_go(stream: usize, frame: &Frame) -> bool {
    cancellation::possible() && Does::Flushes.goes_further(stream) && cancellation::asked_at(frame)
}

/// As [`stream_objects::during`], of a call that may be a cancellation point.
pub(crate) fn during<T>(
    stream: usize,
    does: Does,
    locks: bool,
    frame: &Frame,
    call: impl FnOnce() -> T,
) -> T {
    attempt(stream, does, locks, frame, call).unwrap_or_else(|| cancellation::go())
}

/// The same, if the running thread is not to go instead.
pub(crate) fn attempt<T>(
    stream: usize,
    does: Does,
    locks: bool,
    frame: &Frame,
    call: impl FnOnce() -> T,
) -> Option<T> {
    let writes = does.writes();
    if !world::active() || stream == 0 || !cancellation::possible() {
        return Some(stream_objects::during(stream, writes, locks, frame, call));
    }
    let site = call_sites::site(&frame.return_address);
    let waits = locks && rules::holds(Rule::Streams);
    if waits {
        stream_locks::take(stream, site);
    }
    let told = does.goes_further(stream);
    let result = match told && cancellation::asked_at(frame) {
        true => None,
        false => Some(stream_objects::during(stream, writes, locks, frame, || {
            let before = position(stream);
            let result = call();
            if !told && does.uses_buffer() && position(stream) != before {
                let what = "cancellation in a call that fills or empties a buffer";
                world::get().unsupported(what, site);
            }
            result
        })),
    };
    if waits {
        stream_locks::give_back(stream, site);
    }
    result
}

/// How far the file behind a stream was read or written.
fn position(stream: usize) -> isize {
    // SAFETY: an open stream; its descriptor is only asked.
    unsafe {
        let descriptor = stream_objects::Stream::of(stream).descriptor as usize;
        let arguments = [descriptor, 0, libc::SEEK_CUR as usize, 0, 0, 0];
        sys::call(libc::SYS_lseek, arguments)
    }
}
