//! Vector clocks of one run in one block of memory, all of one width: joining two is a straight loop over a few words.

use alloc::vec::Vec;

/// Names a row of [`Clocks`]; [`Row::NONE`] is no row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row(u32);

impl Row {
    pub(super) const NONE: Row = Row(u32::MAX);
}

/// The clocks. Clocks are never given back one by one, only all at once.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    words: Vec<u32>,
    /// Words in a row: at least the number of threads.
    width: usize,
    used: usize,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks {
            words: Vec::new(),
            // Two vector registers of 16 bytes; doubles when a program has more threads.
            width: 8,
            used: 0,
        }
    }
}

impl Clocks {
    /// Forgets all rows and keeps memory and width.
    pub(super) fn clear(&mut self) {
        self.used = 0;
    }

    /// Makes rows wide enough for so many threads.
    pub(super) fn widen(&mut self, threads: usize) {
        if threads <= self.width {
            return;
        }
        let width = threads.next_power_of_two();
        let mut words = alloc::vec![0; self.used * width];
        for (new, old) in words
            .chunks_exact_mut(width)
            .zip(self.words.chunks_exact(self.width))
        {
            new[..self.width].copy_from_slice(old);
        }
        self.words = words;
        self.width = width;
    }

    fn add(&mut self) -> Row {
        let row = Row(self.used as u32);
        self.used += 1;
        if self.words.len() < self.used * self.width {
            self.words.resize(self.used * self.width, 0);
        }
        row
    }

    /// A new row that holds nothing.
    pub(super) fn empty(&mut self) -> Row {
        let row = self.add();
        let start = self.start(row);
        self.words[start..start + self.width].fill(0);
        row
    }

    /// A new row with the contents of another.
    pub(super) fn copy(&mut self, source: Row) -> Row {
        let row = self.add();
        self.assign(row, source);
        row
    }

    fn start(&self, row: Row) -> usize {
        row.0 as usize * self.width
    }

    /// What a row says of each thread; it may have room for more than there are.
    pub(super) fn words(&self, row: Row) -> &[u32] {
        let start = self.start(row);
        &self.words[start..start + self.width]
    }

    /// What a row says of one thread.
    pub(super) fn get(&self, row: Row, thread: usize) -> u32 {
        self.words[self.start(row) + thread]
    }

    /// Sets it.
    pub(super) fn set(&mut self, row: Row, thread: usize, epoch: u32) {
        let at = self.start(row) + thread;
        self.words[at] = epoch;
    }

    /// `target = source`
    pub(super) fn assign(&mut self, target: Row, source: Row) {
        let (target, source) = (self.start(target), self.start(source));
        self.words.copy_within(source..source + self.width, target);
    }

    /// `target = target ∪ source`
    pub(super) fn join(&mut self, target: Row, source: Row) {
        if target == source {
            return;
        }
        let (target, source, width) = (self.start(target), self.start(source), self.width);
        let (low, high) = self.words.split_at_mut(target.max(source));
        let (mine, theirs) = if target < source {
            (&mut low[target..target + width], &high[..width])
        } else {
            (&mut high[..width], &low[source..source + width])
        };
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = (*mine).max(*theirs);
        }
    }
}
