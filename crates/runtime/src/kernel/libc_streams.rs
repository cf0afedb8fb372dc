//! Streams of stdio: how the C library lays them out in memory (glibc, 64 bits), and which are open.

use crate::core::per_process::{PerProcess, ProcessChange};
use alloc::vec::Vec;
use core::ffi::c_int;

/// The beginning of a `FILE`.
#[repr(C)]
pub(crate) struct Stream {
    flags: c_int,
    read: usize,
    read_end: usize,
    read_base: usize,
    write_base: usize,
    write: usize,
    write_end: usize,
    pub(crate) buffer: usize,
    others: [usize; 6],
    pub(crate) descriptor: c_int,
}

const UNBUFFERED: c_int = 0x2;
const NO_WRITES: c_int = 0x8;
const LINE_BUFFERED: c_int = 0x200;

impl Stream {
    /// The stream at an address.
    ///
    /// # Safety
    ///
    /// A stream of the C library lies there for as long as the result is used, and nothing writes to it in that time.
    pub(crate) unsafe fn at<'a>(stream: usize) -> &'a Stream {
        // SAFETY: the caller promises that a stream of the C library lies there, and that nothing writes to it meanwhile.
        unsafe { &*(stream as *const Stream) }
    }

    /// The descriptor of the stream at an address.
    ///
    /// # Safety
    ///
    /// A stream of the C library lies there.
    pub(crate) unsafe fn descriptor_of(stream: usize) -> c_int {
        // SAFETY: the caller promises that a stream lies there; the reference ends with the statement.
        unsafe { Stream::at(stream) }.descriptor
    }

    /// Gives the stream at an address another descriptor.
    ///
    /// # Safety
    ///
    /// A stream of the C library lies or lay there: memory that the program can no longer reach, if it is closed.
    pub(crate) unsafe fn set_descriptor(stream: usize, descriptor: c_int) {
        // SAFETY: the caller promises that a stream lies or lay there; the field is written through a raw pointer, and no reference
        // to it is alive.
        unsafe { (&raw mut (*(stream as *mut Stream)).descriptor).write(descriptor) };
    }

    /// Whether something waits in the buffer to be written. Wide characters have a buffer elsewhere, so they may.
    pub(crate) fn has_unwritten(&self) -> bool {
        /// Where a stream says whether it is for wide characters.
        const MODE_AT: usize = 192;
        // SAFETY: a `FILE` has 216 bytes, and its mode is an `int` at this offset.
        let mode = unsafe { *(&raw const *self).byte_add(MODE_AT).cast::<c_int>() };
        mode > 0 || self.write > self.write_base
    }

    /// Whether it was opened for writing. Unlike what is in the buffer, that does not change.
    pub(crate) fn is_writable(&self) -> bool {
        self.flags & NO_WRITES == 0
    }

    /// How far the stream has read: the next byte of its buffer, and where the buffer ends.
    pub(crate) fn read_position(&self) -> [usize; 2] {
        [self.read, self.read_end]
    }

    /// Whether everything that was read ahead is used up.
    pub(crate) fn is_read_out(&self) -> bool {
        self.read >= self.read_end
    }

    /// Whether what is written goes to the file at once, or with the end of each line.
    pub(crate) fn writes_early(&self) -> bool {
        self.flags & (UNBUFFERED | LINE_BUFFERED) != 0
    }
}

/// Streams that the program has opened in this run, and not closed.
static OPEN: PerProcess<Vec<usize>> = PerProcess::new(Vec::new());

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    OPEN.change(change);
}

/// A new run.
pub(crate) fn begin_run() {
    OPEN.borrow().clear();
}

/// A stream was opened.
pub(crate) fn add(stream: usize) {
    OPEN.borrow().push(stream);
}

/// A stream is about to be closed.
pub(crate) fn remove(stream: usize) {
    OPEN.borrow().retain(|open| *open != stream);
}

pub(crate) fn is_open(stream: usize) -> bool {
    OPEN.borrow().contains(&stream)
}

/// All that were opened.
pub(crate) fn all() -> Vec<usize> {
    OPEN.borrow().clone()
}

/// Whether a stream that was opened goes through a descriptor.
pub(crate) fn goes_through(descriptor: c_int) -> bool {
    let open = OPEN.borrow();
    // SAFETY: streams on the list are open, so they lie there.
    let mut descriptors = open
        .iter()
        .map(|stream| unsafe { Stream::descriptor_of(*stream) });
    descriptors.any(|known| known == descriptor)
}
