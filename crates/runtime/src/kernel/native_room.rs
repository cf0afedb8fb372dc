//! How much room Linux takes for what is in a pipe or a socket.
//!
//! The model counts bytes or messages. Linux keeps a pipe in 16 pages, which writes of odd sizes fill only in part, and charges each
//! write to a socket with the memory that it takes. So it may have no room any more where the model has some: a write that would
//! wait there goes on here.
//!
//! *Decides:* whether that can be. *Called by:* `pipes`, for each put and get. *Owns:* the pages and charges of one pipe. *May
//! miss* differences between versions of Linux: sizes are those of Linux 6.18 on x86-64.

use super::pipes::SOCKET_CAPACITY;
use alloc::collections::VecDeque;

const PAGE: usize = 4096;
const PAGES: usize = 16;

/// What is in a pipe or in one direction of a socket.
pub(crate) enum NativeRoom {
    /// Pages: where what is unread begins and ends in each.
    Pages(VecDeque<(usize, usize)>),
    /// Writes: the bytes that are unread, and what the whole is charged with.
    Charges(VecDeque<(usize, u64)>),
    /// What is counted elsewhere.
    Any,
}

impl NativeRoom {
    pub(crate) const fn of_pipe() -> NativeRoom {
        NativeRoom::Pages(VecDeque::new())
    }

    pub(crate) const fn of_socket() -> NativeRoom {
        NativeRoom::Charges(VecDeque::new())
    }

    /// Bytes were put, by a call that begins with them or one that has waited in between; whether Linux would have had room.
    pub(crate) fn put(&mut self, bytes: usize, begins: bool) -> bool {
        match self {
            NativeRoom::Pages(pages) => {
                let mut left = bytes;
                let rest = bytes % PAGE;
                // A last piece that is no whole page goes first, to what is in the last page.
                if let Some((_, end)) = pages.back_mut().filter(|_| begins && rest > 0)
                    && *end + rest <= PAGE
                {
                    *end += rest;
                    left -= rest;
                }
                while left > 0 {
                    let part = left.min(PAGE);
                    pages.push_back((0, part));
                    left -= part;
                }
                pages.len() <= PAGES
            }
            NativeRoom::Any => true,
            NativeRoom::Charges(_) => {
                // A long write is charged piece by piece, and may wait between two.
                const PIECE: usize = 48_832;
                let mut fits = true;
                for start in (0..bytes).step_by(PIECE) {
                    fits &= self.put_message(PIECE.min(bytes - start));
                }
                fits
            }
        }
    }

    /// A message was put; whether Linux would have had room.
    pub(crate) fn put_message(&mut self, bytes: usize) -> bool {
        let NativeRoom::Charges(writes) = self else {
            return true;
        };
        let taken: u64 = writes.iter().map(|(_, charge)| charge).sum();
        writes.push_back((bytes, charge(bytes)));
        taken < SOCKET_CAPACITY
    }

    /// Bytes were taken.
    pub(crate) fn take(&mut self, bytes: usize) {
        let mut left = bytes;
        match self {
            NativeRoom::Pages(pages) => {
                while let Some((start, end)) = pages.front_mut().filter(|_| left > 0) {
                    let part = left.min(*end - *start);
                    *start += part;
                    left -= part;
                    if start == end {
                        pages.pop_front();
                    }
                }
            }
            NativeRoom::Charges(writes) => {
                while let Some((unread, _)) = writes.front_mut().filter(|_| left > 0) {
                    let part = left.min(*unread);
                    *unread -= part;
                    left -= part;
                    if *unread == 0 {
                        writes.pop_front();
                    }
                }
            }
            NativeRoom::Any => {}
        }
    }

    /// A message was taken.
    pub(crate) fn take_message(&mut self) {
        if let NativeRoom::Charges(writes) = self {
            writes.pop_front();
        }
    }

    /// Whether Linux would find no room for a write of a byte, of those that find some here. Sockets are looked at when they are
    /// written to.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, NativeRoom::Pages(pages) if pages.len() >= PAGES)
    }
}

/// What a write to a socket is charged with: the memory of a buffer, in powers of two or, above that, in pages, and its header.
fn charge(bytes: usize) -> u64 {
    const HEADER: usize = 256;
    const WITHIN: usize = 320;
    const LINEAR: usize = 4 * PAGE;
    let all = bytes + WITHIN;
    let memory = match all <= LINEAR {
        true => all.next_power_of_two(),
        false => LINEAR + (all - LINEAR).next_multiple_of(PAGE),
    };
    (HEADER + memory) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_sizes_fill_pages_in_part() {
        let mut room = NativeRoom::of_pipe();
        // Two of them do not fit into one page.
        assert!((0..PAGES).all(|_| room.put(PAGE / 2 + 1, true)));
        assert!(!room.put(PAGE / 2 + 1, true));
        let mut room = NativeRoom::of_pipe();
        assert!((0..PAGES * PAGE).all(|_| room.put(1, true)));
        room.take(1);
        // The first page is in use until all of it is read.
        assert!(!room.put(1, true));
        let mut room = NativeRoom::of_pipe();
        assert!(room.put(PAGES * PAGE, true));
        room.take(PAGE);
        assert!(!room.is_full() && room.put(PAGE, true) && room.is_full());
    }

    #[test]
    fn small_writes_to_a_socket_are_charged_with_their_headers() {
        let mut room = NativeRoom::of_socket();
        assert!((0..278).all(|_| room.put(1, true)));
        assert!(!room.put(1, true));
        let mut room = NativeRoom::of_socket();
        assert!((0..278).all(|_| room.put(1, true)));
        room.take(2);
        assert!(room.put(1, true));
        // So many whole writes fit, by the system calls of Linux 6.18.
        for (bytes, fit) in [
            (192, 278),
            (704, 167),
            (1728, 93),
            (16_064, 13),
            (50_000, 4),
            (100_000, 2),
        ] {
            let mut room = NativeRoom::of_socket();
            assert!((0..fit).all(|_| room.put(bytes, true)), "{bytes}");
            assert!(!room.put(bytes, true), "{bytes}");
        }
    }
}
