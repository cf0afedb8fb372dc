//! The rules: what a new access finds in a cell, and what it leaves there.
//!
//! A cell is a set of recorded accesses, each with the bytes of the granule that it still stands for. A new access takes the place
//! of an earlier one, for the bytes that both touch, if it comes after it and says at least as much: whoever is not ordered
//! after the earlier one is then not ordered after the new one either. (FastTrack's argument, Flanagan and Freund 2009, section 3;
//! here with atomic accesses too, which say less than plain ones.) What stays of each byte are accesses that nothing
//! orders, mostly one or two.
//!
//! A cell's words: if the first is below the run's first number, the cell is empty. If it has just that number, the rest of it
//! is the place of a block that holds the accesses, and the second word repeats the latest ones for `hot`. Else the
//! words are the accesses themselves, the second one 0 if there is none.

use super::{
    blocks::Blocks,
    segments::Segments,
    table::Cell,
    word::{BYTES, Kind, STEP, Word},
};
use alloc::vec::Vec;
use reweave_model::{Site, ThreadId};

/// An earlier access that the present one clashes with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The first byte that both touch.
    pub address: usize,
    /// How many bytes from there.
    pub bytes: usize,
    /// Where the earlier access was.
    pub site: Site,
    /// Whose it was.
    pub thread: ThreadId,
    /// What it did. [`Kind::Free`]: the memory was given back before the present access, whatever is ordered.
    pub kind: Kind,
}

/// All of a shadow but the cells.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) segments: Segments,
    pub(crate) blocks: Blocks,
    /// What the last access that was written down clashed with.
    pub(crate) found: Vec<Clash>,
}

impl Rules {
    /// Notes an access to bytes of one granule if nothing else is to be done, as in most cases. Whether it did.
    #[inline]
    pub(crate) fn settle(&self, cell: &mut Cell, new: Word) -> bool {
        let [one, two] = cell.map(Word);
        if one.0 < self.segments.first {
            *cell = [new.0, 0];
            return true;
        }
        if one.0 < self.segments.first + STEP || two.meets(new) {
            return false;
        }
        // Giving back the same bytes twice is not alike.
        let left = if !one.meets(new) || one.alike(new) && !new.freed() {
            one
        } else if one.together(new) && new.says(one) && !one.freed() {
            Word::NONE
        } else {
            return false;
        };
        let fits = fit(new, left, two);
        if let Some(fits) = fits {
            *cell = fits;
        }
        fits.is_some()
    }

    /// Notes an access to bytes of the granule at `address`; adds to `found` what it clashes with.
    #[inline(never)]
    pub(crate) fn meet(&mut self, cell: &mut Cell, new: Word, address: usize, clock: &[u32]) {
        let block = self.block(cell);
        let mut meeting = Meeting {
            new,
            clean: true,
            address,
            clock,
            segments: &self.segments,
            found: &mut self.found,
        };
        let Some(block) = block else {
            let one = meeting.with(Word(cell[0]));
            let two = meeting.with(Word(cell[1]));
            let left = meeting.new;
            self.put_words(cell, left, [one, two]);
            return;
        };
        self.blocks.replace(block, |old| meeting.with(old));
        let (left, clean) = (meeting.new, meeting.clean);
        let block = self.blocks.add(block, left);
        let latest = Word(cell[1]);
        self.put_block(cell, block);
        if clean && self.block(cell).is_some() {
            let same = latest.together(new) && latest.kind() == new.kind();
            cell[1] = new.with(if same { latest.bytes() } else { 0 }).0;
        }
    }

    /// Drops what is known of some bytes.
    pub(crate) fn forget(&mut self, cell: &mut Cell, bytes: u64) {
        if cell[0] < self.segments.first {
            return;
        }
        match self.block(cell) {
            Some(block) => {
                self.blocks.replace(block, |old| old.without(bytes));
                self.put_block(cell, block);
            }
            None => {
                let left = cell.map(|word| Word(word).without(bytes));
                self.put_words(cell, Word::NONE, left);
            }
        }
    }

    /// Who gave back some of these bytes of the granule at `address`.
    pub(crate) fn freed(&self, cell: &Cell, bytes: u64, address: usize) -> Option<Clash> {
        if cell[0] < self.segments.first {
            return None;
        }
        let words = match self.block(cell) {
            Some(block) => self.blocks.words(block),
            None => cell,
        };
        let mut words = words.iter().map(|word| Word(*word));
        let word = words.find(|word| word.freed() && word.bytes() & bytes != 0)?;
        clashes(&self.segments, word, word.bytes() & bytes, address).next()
    }

    /// The block of a cell, if it has one.
    fn block(&self, cell: &Cell) -> Option<usize> {
        let place = cell[0].wrapping_sub(self.segments.first);
        (place < STEP).then_some(place as usize)
    }

    /// Makes a new word and the two old ones the contents of a cell. Those without bytes count for nothing.
    #[inline]
    fn put_words(&mut self, cell: &mut Cell, new: Word, old: [Word; 2]) {
        let [one, two] = old.map(|word| if word.bytes() == 0 { Word::NONE } else { word });
        *cell = match fit(new, one, two) {
            Some(words) => words,
            None => {
                let block = self.blocks.take([new, one, two]);
                [self.segments.first | block as u64, 0]
            }
        };
    }

    /// Makes a block the contents of a cell, or its words if they fit in.
    fn put_block(&mut self, cell: &mut Cell, block: usize) {
        *cell = match *self.blocks.words(block) {
            [] => [0, 0],
            [one] => [one, 0],
            [one, two] => [one, two],
            _ => {
                *cell = [self.segments.first | block as u64, 0];
                return;
            }
        };
        self.blocks.give(block);
    }
}

/// A cell with a new word, if it has bytes, and the two old ones; `None`: they are too many.
#[inline]
fn fit(new: Word, one: Word, two: Word) -> Option<Cell> {
    if new.bytes() == 0 {
        let gap = one == Word::NONE;
        return Some(if gap { [two.0, 0] } else { [one.0, two.0] });
    }
    if one.alike(new) {
        Some([one.with(new.bytes()).0, two.0])
    } else if two.alike(new) {
        Some([two.with(new.bytes()).0, one.0])
    } else if one == Word::NONE {
        Some([new.0, two.0])
    } else if two == Word::NONE {
        Some([new.0, one.0])
    } else {
        None
    }
}

/// A new access among those that are there already.
struct Meeting<'a> {
    /// What of it remains to be written down.
    new: Word,
    /// Whether it met nothing that it clashes with.
    clean: bool,
    address: usize,
    clock: &'a [u32],
    segments: &'a Segments,
    found: &'a mut Vec<Clash>,
}

impl Meeting<'_> {
    /// Reports a clash with an earlier access; what stays of that one.
    #[inline(always)]
    fn with(&mut self, old: Word) -> Word {
        let common = old.bytes() & self.new.bytes();
        if common == 0 {
            return old;
        }
        if old.freed() {
            self.report(old, common);
            self.new = self.new.without(common);
            return old;
        }
        let own = old.together(self.new);
        if own && old.says_kind_of(self.new) {
            self.new = self.new.without(common);
            return old;
        }
        let before = own || self.before(old);
        if !before && old.clashes(self.new) {
            self.report(old, common);
        }
        // The clash of a plain write is already reported for the byte; later accesses are compared with that write.
        if self.new.clashes_with_all() || before && self.new.says_kind_of(old) {
            old.without(common)
        } else {
            old
        }
    }

    /// Whether an earlier access happens before the present one.
    fn before(&self, old: Word) -> bool {
        let stamp = self.segments.stamp(old);
        let known = self.clock.get(stamp.thread.index());
        known.is_some_and(|epoch| stamp.epoch <= *epoch)
    }

    #[cold]
    fn report(&mut self, old: Word, common: u64) {
        self.clean = false;
        for clash in clashes(self.segments, old, common, self.address) {
            match self.found.last_mut() {
                // The same earlier access in the granule before.
                Some(last) if last.goes_on_with(&clash) => last.bytes += clash.bytes,
                _ => self.found.push(clash),
            }
        }
    }
}

impl Clash {
    fn goes_on_with(&self, next: &Clash) -> bool {
        let same = Clash {
            address: self.address,
            bytes: self.bytes,
            ..*next
        };
        *self == same && self.address + self.bytes == next.address
    }
}

/// Clashes with an access on some bytes of the granule at `address`, one for each stretch of them.
fn clashes(
    segments: &Segments,
    old: Word,
    mut bytes: u64,
    address: usize,
) -> impl Iterator<Item = Clash> {
    debug_assert!(bytes & !BYTES == 0, "bytes of one granule");
    let (site, thread, kind) = (segments.site(old), segments.stamp(old).thread, old.kind());
    core::iter::from_fn(move || {
        if bytes == 0 {
            return None;
        }
        let from = bytes.trailing_zeros();
        let count = (bytes >> from).trailing_ones();
        bytes &= !(((1 << count) - 1) << from);
        Some(Clash {
            address: address + from as usize,
            bytes: count as usize,
            site,
            thread,
            kind,
        })
    })
}
