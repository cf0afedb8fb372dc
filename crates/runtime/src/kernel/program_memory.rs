//! Memory of the program that a call hands to the operating system: one block, or several (`iovec`).

use crate::{
    core::trampoline::Frame,
    run::{accesses, world},
};
use alloc::vec::Vec;
use core::{
    ffi::{CStr, c_char, c_int},
    ops::Range,
};

/// See the module.
pub(crate) enum ProgramMemory {
    Block {
        address: usize,
        bytes: usize,
    },
    /// *Invariant:* the list has as many entries as `count` says, see [`ProgramMemory::blocks`].
    Blocks(BlockList),
    /// No memory: a value that the call was given in a register, to be written.
    Register(u64),
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

    /// How many bytes there are.
    pub(crate) fn length(&self) -> usize {
        if let ProgramMemory::Register(value) = self {
            return size_of_val(value);
        }
        let mut length = 0_usize;
        self.each(|_, bytes| length = length.saturating_add(bytes));
        length
    }

    /// How many blocks have bytes.
    pub(crate) fn block_count(&self) -> usize {
        let mut count = 0;
        self.each(|_, bytes| count += usize::from(bytes > 0));
        count
    }

    /// The first bytes; `None`: they are not all there, or one is where no memory can be.
    pub(crate) fn load<const N: usize>(&self) -> Option<[u8; N]> {
        let mut loaded = [0; N];
        if let ProgramMemory::Register(value) = self {
            let bytes = value.to_ne_bytes();
            loaded.copy_from_slice(bytes.get(..N)?);
            return Some(loaded);
        }
        let copied = self.each_part(N, |address, part| {
            let into = loaded[part.clone()].as_mut_ptr();
            // SAFETY: the program gives the call this memory to read, and `part` lies within `loaded`.
            unsafe { core::ptr::copy(address as *const u8, into, part.len()) };
        });
        copied.then_some(loaded)
    }

    /// All of them; `None`: one is where no memory can be.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        if let ProgramMemory::Register(value) = self {
            return Some(value.to_ne_bytes().to_vec());
        }
        let mut loaded = Vec::new();
        let copied = self.each_part(self.length(), |address, part| {
            // SAFETY: the program gives the call this memory to read.
            let bytes = unsafe { core::slice::from_raw_parts(address as *const u8, part.len()) };
            loaded.extend_from_slice(bytes);
        });
        copied.then_some(loaded)
    }

    /// Writes bytes there, as the operating system would; whether there is memory for all of them.
    pub(crate) fn store(&self, bytes: &[u8], frame: &Frame) -> bool {
        self.prepare_for_writes();
        let stored = self.each_part(bytes.len(), |address, part| {
            let from = bytes[part.clone()].as_ptr();
            // SAFETY: the program gives the call this memory to write to, and `part` lies within `bytes`.
            unsafe { core::ptr::copy(from, address as *mut u8, part.len()) };
        });
        if stored {
            self.note_written(bytes.len(), frame);
        }
        stored
    }

    /// The first `wanted` bytes, block by block: where each part lies, and which of the bytes it is. Whether all are there.
    fn each_part(&self, wanted: usize, mut then: impl FnMut(usize, Range<usize>)) -> bool {
        const FIRST_PAGE: usize = 4096;
        let (mut done, mut there) = (0, true);
        self.each(|address, bytes| {
            let part = done..done + bytes.min(wanted - done);
            there &= part.is_empty() || address >= FIRST_PAGE;
            if there && !part.is_empty() {
                done = part.end;
                then(address, part);
            }
        });
        there && done == wanted
    }

    /// Each block: its address and its length.
    fn each(&self, mut then: impl FnMut(usize, usize)) {
        match self {
            ProgramMemory::Register(_) => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_loaded_across_blocks() {
        let parts = [[1_u8, 2, 3], [4, 5, 6]];
        let list = parts.each_ref().map(|part| libc::iovec {
            iov_base: part.as_ptr() as *mut _,
            iov_len: part.len(),
        });
        // SAFETY: the list has two entries, and outlives the value.
        let memory = unsafe { ProgramMemory::blocks(list.as_ptr(), 2) };
        assert_eq!((memory.length(), memory.block_count()), (6, 2));
        assert_eq!(memory.load(), Some([1, 2, 3, 4, 5]));
        assert_eq!(memory.load::<7>(), None);
    }

    #[test]
    fn nothing_is_loaded_from_the_first_page() {
        assert_eq!(ProgramMemory::block(0, 8).load::<8>(), None);
        let value = ProgramMemory::Register(7);
        assert_eq!(value.load(), Some(7_u64.to_ne_bytes()));
        assert_eq!((value.length(), value.block_count()), (8, 0));
    }
}
