//! Memory of the program that a call hands to the operating system: one block, or several (`iovec`).

use crate::{
    core::trampoline::Frame,
    run::{accesses, world},
};
use core::ffi::{CStr, c_char, c_int};

/// See the module.
pub(crate) enum ProgramMemory {
    Block {
        address: usize,
        bytes: usize,
    },
    /// *Invariant:* the list has as many entries as `count` says, see [`ProgramMemory::blocks`].
    Blocks(BlockList),
}

/// A list of blocks in memory of the program.
pub(crate) struct BlockList {
    list: *const libc::iovec,
    count: usize,
}

impl ProgramMemory {
    pub(crate) fn block(address: usize, bytes: usize) -> ProgramMemory {
        ProgramMemory::Block { address, bytes }
    }

    /// Several blocks.
    ///
    /// # Safety
    ///
    /// `list` points to `count` entries (none if it is negative), which stay for as long as the value is used.
    pub(crate) unsafe fn blocks(list: *const libc::iovec, count: c_int) -> ProgramMemory {
        ProgramMemory::Blocks(BlockList {
            list,
            count: count.max(0) as usize,
        })
    }

    /// Each block: its address and its length.
    fn each(&self, mut then: impl FnMut(usize, usize)) {
        match self {
            ProgramMemory::Block { address, bytes } => then(*address, *bytes),
            ProgramMemory::Blocks(BlockList { list, count }) => {
                for index in 0..*count {
                    // SAFETY: `index` is below `count`, and the list has so many entries, as promised when the value was made.
                    let block = unsafe { list.add(index).read() };
                    then(block.iov_base as usize, block.iov_len);
                }
            }
        }
    }

    /// The call reads the list of blocks.
    pub(crate) fn note_list(&self, frame: &Frame) {
        if let ProgramMemory::Blocks(BlockList { list, count }) = self {
            let bytes = count * size_of::<libc::iovec>();
            accesses::range(*list as usize, bytes, false, frame);
        }
    }

    /// The operating system is about to write there. It fails at pages that are protected, so they are made writable first.
    pub(crate) fn prepare_for_writes(&self) {
        self.each(|address, bytes| world::snapshot().touch_range(address, bytes));
    }

    /// The call has written so many bytes there.
    pub(crate) fn note_written(&self, written: usize, frame: &Frame) {
        let mut left = written;
        self.each(|address, bytes| {
            accesses::range(address, bytes.min(left), true, frame);
            left -= bytes.min(left);
        });
    }

    /// The call reads all of it.
    pub(crate) fn note_read(&self, frame: &Frame) {
        self.each(|address, bytes| accesses::range(address, bytes, false, frame));
    }
}

/// A text of the program, such as a path; `None`: null.
///
/// # Safety
///
/// The address is 0, or a text lies there that ends with a nul and stays for as long as the result is used.
pub(crate) unsafe fn c_text<'a>(address: usize) -> Option<&'a [u8]> {
    if address == 0 {
        return None;
    }
    // SAFETY: not null, so a text lies there, as promised by the caller.
    Some(unsafe { CStr::from_ptr(address as *const c_char) }.to_bytes())
}
