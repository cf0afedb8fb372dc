//! Segments and their numbers: who is meant by the number in a word.
//!
//! A segment is one thread in one epoch of one run. It gets a number at its first access that is written down. Numbers grow from run
//! to run; when they run out, all segments are renumbered.

use super::{
    blocks::Blocks,
    table::Table,
    word::{Kind, NEAR, NUMBERS, STEP, Word},
};
use alloc::{collections::BTreeMap, vec::Vec};
use reweave_model::{Site, ThreadId};

/// A segment of this run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub(crate) thread: ThreadId,
    pub(crate) epoch: u32,
}

#[derive(Debug)]
pub(crate) struct Segments {
    /// The number of the present segment, in place; 0: it has none yet.
    pub(crate) now: u64,
    who: Stamp,
    /// The first number of this run, in place. No segment has it: it marks cells that refer to blocks.
    pub(crate) first: u64,
    /// In order of their numbers, from the one after `first`.
    stamps: Vec<Stamp>,
    /// For each thread the epoch that was numbered last, and its number; of this run only if that is above `first`.
    latest: Vec<(u32, u64)>,
    /// Places in the program that a word has no room for.
    far: Vec<Site>,
    far_index: BTreeMap<Site, u32>,
    /// All numbers are below. Tests have fewer than a word has room for.
    numbers: u64,
    /// How many segments a run may have before those that no cell names any more are thrown out.
    crowd: usize,
}

/// 32 MB of stamps.
const CROWD: usize = 1 << 22;

impl Default for Segments {
    fn default() -> Segments {
        Segments {
            now: 0,
            who: Stamp {
                thread: ThreadId::MAIN,
                epoch: 0,
            },
            first: STEP,
            stamps: Vec::new(),
            latest: Vec::new(),
            far: Vec::new(),
            far_index: BTreeMap::new(),
            numbers: NUMBERS,
            crowd: CROWD,
        }
    }
}

impl Segments {
    /// Makes numbers and memory for segments scarce.
    #[cfg(test)]
    pub(crate) fn limit(&mut self, numbers: u64, crowd: usize) {
        (self.numbers, self.crowd) = (numbers, crowd);
    }

    /// What the next segment gets, not in place.
    fn next(&self) -> u64 {
        self.first / STEP + 1 + self.stamps.len() as u64
    }

    /// Begins a run: all words so far are of earlier ones.
    pub(crate) fn clear(&mut self, table: &mut Table) {
        let mut first = self.next();
        if first + 1 >= self.numbers {
            table.wipe();
            self.latest.clear();
            first = 1;
        }
        self.first = first * STEP;
        self.stamps.clear();
        self.now = 0;
    }

    #[inline]
    pub(crate) fn turn(&mut self, who: Stamp) {
        self.who = who;
        self.now = match self.latest.get(who.thread.index()) {
            Some((epoch, number)) if *epoch == who.epoch && *number > self.first => *number,
            _ => 0,
        };
    }

    /// Whether a thread has a segment in this run.
    pub(crate) fn knows(&self, thread: ThreadId) -> bool {
        let latest = self.latest.get(thread.index());
        latest.is_some_and(|(_, number)| *number > self.first)
    }

    /// Gives the present segment its number.
    #[inline]
    pub(crate) fn begin(&mut self, table: &mut Table, blocks: &mut Blocks) {
        if self.next() >= self.numbers || self.stamps.len() >= self.crowd {
            self.renumber(table, blocks);
            self.crowd = self.crowd.max(2 * self.stamps.len());
        }
        self.now = self.next() * STEP;
        self.stamps.push(self.who);
        let thread = self.who.thread.index();
        if thread >= self.latest.len() {
            self.latest.resize(thread + 1, (0, 0));
        }
        self.latest[thread] = (self.who.epoch, self.now);
    }

    /// Throws out the segments that nothing names and numbers the others from the beginning, in the same order.
    #[cold]
    fn renumber(&mut self, table: &mut Table, blocks: &mut Blocks) {
        // What `first` and the number after it were.
        let (zero, one) = (self.first, self.first + STEP);
        let mut numbers = alloc::vec![0; self.stamps.len()];
        let mut mark = |word: &mut u64| {
            if *word >= one {
                numbers[Word(*word).segment(one)] = 1;
            }
        };
        table.each(&mut mark);
        blocks.each(&mut mark);
        self.first = STEP;
        let mut kept = 0;
        for (index, number) in numbers.iter_mut().enumerate() {
            if *number != 0 {
                self.stamps[kept] = self.stamps[index];
                kept += 1;
                *number = self.first + kept as u64 * STEP;
            }
        }
        self.stamps.truncate(kept);
        let mut change = |word: &mut u64| {
            let old = Word(*word);
            if old.0 >= one {
                *word = old.renumbered(numbers[old.segment(one)]).0;
            } else if old.0 >= zero {
                *word = old.renumbered(STEP).0;
            } else if old.0 != 0 {
                *word = 0;
            }
        };
        table.each(&mut change);
        blocks.each(&mut change);
        for (_, number) in &mut self.latest {
            let current = *number >= one;
            *number = if current {
                numbers[Word(*number).segment(one)]
            } else {
                0
            };
        }
        assert!(self.next() < self.numbers, "more segments than memory");
    }

    /// What to write down for an access of the present segment; the bytes are missing. The segment has a number.
    pub(crate) fn word(&mut self, kind: Kind, site: Site) -> Word {
        let place = if site.0 < NEAR {
            site.0
        } else {
            self.far_place(site)
        };
        Word::new(self.now, place, kind)
    }

    /// The same, if it is at hand.
    #[inline]
    pub(crate) fn ready_word(&self, kind: Kind, site: Site) -> Option<Word> {
        (self.now != 0 && site.0 < NEAR).then(|| Word::new(self.now, site.0, kind))
    }

    #[cold]
    fn far_place(&mut self, site: Site) -> u32 {
        let next = self.far.len() as u32;
        if next == NEAR {
            // No program has so many. The access is judged all the same, only its place is lost.
            return Site::ANY.0;
        }
        let index = *self.far_index.entry(site).or_insert(next);
        if index == next {
            self.far.push(site);
        }
        NEAR + index
    }

    pub(crate) fn site(&self, word: Word) -> Site {
        let place = word.place();
        if place < NEAR {
            return Site(place);
        }
        self.far[(place - NEAR) as usize]
    }

    pub(crate) fn stamp(&self, word: Word) -> Stamp {
        self.stamps[word.segment(self.first + STEP)]
    }
}
