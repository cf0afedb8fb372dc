//! Shadow memory for native programs: which thread accessed each byte of a run, and whether a new access races with that.
//!
//! *Called by:* the runtime, for every access that the compiler's hooks report, plain or atomic, and for freed memory. [`Shadow`]
//! answers at once which earlier accesses the new one races with. Happens-before comes from [`RaceDetector`](crate::RaceDetector):
//! each access brings a clock of its thread.
//!
//! Two accesses of one byte clash when they are of different threads, at least one of them writes, at least one is not
//! atomic, and neither happens before the other. Freeing memory is a plain write to all of it; any access after that,
//! ordered or not, is an access of freed memory.
//!
//! Never reports two accesses that are ordered (but for freed memory). Misses nothing within a run in this sense: the first
//! access that makes a byte racy is reported at once, for exactly this byte. Later races on the same byte may go
//! unreported. Accesses that are not reported to it cannot be judged.
//!
//! The path of an access: [`Shadow::hot`] in the hook itself, a look at one cell that suffices when the thread has just done
//! the same; else [`Shadow::access`], for each granule of 8 bytes `Rules::settle` or, if other accesses are recorded there, `Rules::meet`.
//!
//! * `word`: one recorded access in 64 bits
//! * `table`: cells of two words, found by address; the only unsafe code
//! * `blocks`: lists of words for granules that need more than two
//! * `segments`: whose access a word is
//! * `rules`: what a new access finds in a cell and leaves there

mod blocks;
mod rules;
mod segments;
mod table;
#[cfg(test)]
mod tests;
mod word;

pub use rules::Clash;
pub use table::{Memory, SHARED_UNIT, fresh};
pub use word::Kind;

use core::fmt;
use reweave_model::{Site, ThreadId};
use rules::Rules;
use segments::Stamp;
use table::{Cell, END, Table, next_chunk};
use word::{BYTES, Word, within};

/// All accesses of a run. A target owns one and uses it from run to run.
///
/// In a run: [`turn`](Shadow::turn) whenever another thread goes on, and after every event of the race detector, which may begin
/// an epoch. Then [`hot`](Shadow::hot) and, if that does not suffice, [`access`](Shadow::access) for each access, with the clock
/// of the thread ([`RaceDetector::clock`](crate::RaceDetector::clock)).
///
/// An atomic operation is recorded between the detector's event and the turn after it: its own epoch is the one before the
/// event, but what it learned by the event happens before it.
pub struct Shadow {
    table: Table,
    rules: Rules,
}

impl Shadow {
    /// An empty one, before the first run. It lives as long as the process. `None`: there are no 16 GB of address space.
    pub fn new(memory: Memory) -> Option<Shadow> {
        Shadow::with(memory, false)
    }

    /// As [`Shadow::new`], in memory that several processes share. Each has addresses of its own: see [`Shadow::enter`].
    pub fn shared(memory: Memory) -> Option<Shadow> {
        Shadow::with(memory, true)
    }

    fn with(memory: Memory, shared: bool) -> Option<Shadow> {
        Some(Shadow {
            table: Table::new(memory, shared)?,
            rules: Rules::default(),
        })
    }

    /// From now on addresses are those of this process; 0 is the first, where each run begins. Whether there is address space for it
    /// (16 GB each).
    #[must_use]
    pub fn enter(&mut self, process: usize) -> bool {
        self.table.enter(process)
    }

    /// Until the end of the run, memory of one process is the same as memory of another: each given by process and address. They are
    /// multiples of [`SHARED_UNIT`], as is the number of bytes. Both processes were entered before.
    pub fn share(&mut self, owner: (usize, usize), other: (usize, usize), bytes: usize) {
        self.table.share(owner, other, bytes);
    }

    /// Begins a run, with nothing recorded. A turn must follow.
    pub fn clear(&mut self) {
        self.table.part();
        self.rules.segments.clear(&mut self.table);
        self.rules.blocks.clear();
        self.rules.found.clear();
    }

    /// From now on accesses are this thread's, in its present epoch.
    #[inline]
    pub fn turn(&mut self, thread: ThreadId, epoch: u32) {
        self.rules.segments.turn(Stamp { thread, epoch });
    }

    /// Whether the present segment has accessed these bytes in this way already, so that nothing is to be done. Often
    /// `false` though it has; always for accesses across granules of 8 bytes.
    #[inline]
    pub fn hot(&self, address: usize, bytes: usize, kind: Kind) -> bool {
        let Some(bytes) = within(address, bytes) else {
            return false;
        };
        let Some(cell) = self.table.get(address) else {
            return false;
        };
        covered(cell, self.rules.segments.now, bytes, kind)
    }

    /// Notes an access of any size; the first clash that it completes, if any. [`Shadow::clashes`] has all of them.
    #[inline]
    pub fn access(
        &mut self,
        clock: &[u32],
        address: usize,
        bytes: usize,
        kind: Kind,
        site: Site,
    ) -> Option<Clash> {
        if self.hot(address, bytes, kind) {
            return None;
        }
        self.record(clock, address, bytes, kind, site)
    }

    /// As [`Shadow::access`], when [`Shadow::hot`] was asked already.
    #[inline]
    pub fn record(
        &mut self,
        clock: &[u32],
        address: usize,
        bytes: usize,
        kind: Kind,
        site: Site,
    ) -> Option<Clash> {
        if let Some(bytes) = within(address, bytes) {
            if self.table.find_mut(address).is_some() {
                self.begin();
            }
            if let Some(word) = self.rules.segments.ready_word(kind, site) {
                if let Some(cell) = self.table.find_mut(address) {
                    let word = word.with(bytes);
                    if self.rules.settle(cell, word) {
                        return None;
                    }
                    self.rules.found.clear();
                    self.rules.meet(cell, word, address & !7, clock);
                    return self.rules.found.first().copied();
                }
            }
        }
        self.record_all(clock, (address, bytes), kind, site)
    }

    /// Gives the present segment a number, if it has none.
    #[inline]
    fn begin(&mut self) {
        if self.rules.segments.now == 0 {
            let Shadow { table, rules } = self;
            rules.segments.begin(table, &mut rules.blocks);
        }
    }

    #[inline(never)]
    fn record_all(
        &mut self,
        clock: &[u32],
        (address, bytes): (usize, usize),
        kind: Kind,
        site: Site,
    ) -> Option<Clash> {
        self.rules.found.clear();
        if !possible(address, bytes) {
            return None;
        }
        self.begin();
        let Shadow { table, rules } = self;
        let (now, word) = (rules.segments.now, rules.segments.word(kind, site));
        for (granule, bytes) in granules(address, bytes) {
            let (cell, word) = (table.get_mut(granule), word.with(bytes));
            if !covered(cell, now, bytes, kind) && !rules.settle(cell, word) {
                rules.meet(cell, word, granule, clock);
            }
        }
        rules.found.first().copied()
    }

    /// Memory is given back: clashes with every access of it, plain or atomic, that does not happen before. From now on an access
    /// of it is one of freed memory, until it is forgotten.
    pub fn free(
        &mut self,
        clock: &[u32],
        address: usize,
        bytes: usize,
        site: Site,
    ) -> Option<Clash> {
        self.record(clock, address, bytes, Kind::Free, site)
    }

    /// Everything that the last access clashed with, if it had a clash: for each byte that it made racy at least one.
    pub fn clashes(&self) -> &[Clash] {
        &self.rules.found
    }

    /// Whether some of the bytes were given back, and by whom; asks only. For accesses of a thread that is alone
    /// ([`RaceDetector::alone`](crate::RaceDetector::alone)): they race with nothing and need not be recorded, but the
    /// memory may be gone. Giving back and forgetting are recorded always.
    #[inline]
    pub fn freed(&self, address: usize, bytes: usize) -> Option<Clash> {
        if within(address, bytes).is_some() {
            let empty = |cell: &Cell| cell[0] < self.rules.segments.first;
            if self.table.get(address).is_none_or(empty) {
                return None;
            }
        }
        self.freed_all(address, bytes)
    }

    #[inline(never)]
    fn freed_all(&self, address: usize, bytes: usize) -> Option<Clash> {
        if !possible(address, bytes) {
            return None;
        }
        granules(address, bytes).find_map(|(granule, bytes)| {
            let cell = self.table.get(granule)?;
            self.rules.freed(cell, bytes, granule)
        })
    }

    /// Whether any access of a thread was written down in this run.
    pub fn knows(&self, thread: ThreadId) -> bool {
        self.rules.segments.knows(thread)
    }

    /// Drops all that is known of the memory: what comes to lie there is something else.
    pub fn forget(&mut self, address: usize, bytes: usize) {
        if !possible(address, bytes) {
            return;
        }
        let end = address + bytes;
        let mut at = address;
        while at < end {
            let next = next_chunk(at).min(end);
            if self.table.get(at).is_some() {
                for (granule, bytes) in granules(at, next - at) {
                    self.rules.forget(self.table.get_mut(granule), bytes);
                }
            }
            at = next;
        }
    }

    /// Makes numbers of segments scarce.
    #[cfg(test)]
    pub(crate) fn limit(&mut self, numbers: u64, crowd: usize) {
        self.rules.segments.limit(numbers, crowd);
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shadow = formatter.debug_struct("Shadow");
        shadow.field("segments", &self.rules.segments);
        shadow.finish_non_exhaustive()
    }
}

/// Whether one word of a cell has the access already. Giving back is never done already.
#[inline]
fn covered(cell: &Cell, segment: u64, bytes: u64, kind: Kind) -> bool {
    let says = bytes | kind as u64;
    let [one, two] = cell.map(Word);
    kind != Kind::Free && (one.covers(segment, says) || two.covers(segment, says))
}

/// Whether it is memory, and some. Other accesses crash by themselves.
fn possible(address: usize, bytes: usize) -> bool {
    let end = address.checked_add(bytes);
    bytes != 0 && end.is_some_and(|end| end <= END)
}

/// The granules of a range of bytes, each with those of its bytes that lie in the range.
fn granules(address: usize, bytes: usize) -> impl Iterator<Item = (usize, u64)> {
    let end = address + bytes;
    let first = address & !7;
    (first..end).step_by(8).map(move |granule| {
        let from = address.saturating_sub(granule);
        let over = (granule + 8).saturating_sub(end);
        (granule, (BYTES << from) & (BYTES >> over) & BYTES)
    })
}
