//! Pointers as numbers.
//!
//! *Decides:* by which number the model and the trace files know an address: addresses differ from run to run, numbers do not.
//! *Called by:* `AtomicPtr`, on the way in and out of each operation. *Owns:* the table of the execution under way.
//!
//! Blocks of eight bytes are numbered in the order in which they are met; null is 0. The word of a pointer is the number of its block,
//! followed by its low three bits: pointers are equal when their words are, and tags in the low bits work as they do on addresses. An
//! address that is freed and allocated again keeps its number, so a compare-exchange that mistakes the new for the old is seen.
//!
//! *Limit:* whether memory that is freed within an execution is given out again in it is the allocator's business. Numbers of such
//! programs may differ from run to run, so they are no part of what a replay compares; a program whose course depends on it is not
//! deterministic.

use super::task;
use reweave_model::ObjectId;
use std::{cell::RefCell, collections::HashMap};

/// Bits of a pointer that are kept as they are.
pub(crate) const LOW_BITS: usize = 7;

/// See the module.
#[derive(Default)]
pub(crate) struct Pointers(RefCell<Table>);

#[derive(Default)]
struct Table {
    /// Blocks in order of first appearance: the first one has number 1.
    blocks: Vec<usize>,
    /// The way back, for as long as looking through all of them is no faster.
    numbers: HashMap<usize, u64>,
}

/// Up to so many blocks are looked through.
const FEW: usize = 16;

impl Pointers {
    /// An execution begins.
    #[inline]
    pub(crate) fn begin(&self) {
        let mut table = self.0.borrow_mut();
        if !table.blocks.is_empty() {
            table.blocks.clear();
            table.numbers.clear();
        }
    }

    fn word(&self, address: usize) -> u64 {
        let low = (address & LOW_BITS) as u64;
        self.0.borrow_mut().number(address & !LOW_BITS) << 3 | low
    }

    fn address(&self, word: u64) -> usize {
        let table = self.0.borrow();
        let block = match (word >> 3).checked_sub(1) {
            None => 0,
            Some(place) => table.blocks[place as usize],
        };
        block | word as usize & LOW_BITS
    }
}

impl Table {
    fn number(&mut self, block: usize) -> u64 {
        if block == 0 {
            return 0;
        }
        let count = self.blocks.len();
        let known = if count <= FEW {
            let place = self.blocks.iter().position(|known| *known == block);
            place.map(|place| place as u64 + 1)
        } else {
            self.numbers.get(&block).copied()
        };
        known.unwrap_or_else(|| self.add(block))
    }

    #[cold]
    fn add(&mut self, block: usize) -> u64 {
        self.blocks.push(block);
        let number = self.blocks.len() as u64;
        if self.blocks.len() == FEW + 1 {
            self.numbers.extend(self.blocks.iter().copied().zip(1..));
        } else if self.blocks.len() > FEW {
            self.numbers.insert(block, number);
        }
        number
    }
}

/// The values of an atomic are pointers.
#[cold]
pub(crate) fn note(object: ObjectId) {
    let task = task().expect("objects are known only in a check");
    task.world().run.borrow_mut().pointer(object);
}

/// The word by which the model knows an address. Only in a check.
#[inline(never)]
pub(crate) fn word_of(address: usize) -> u64 {
    let task = task().expect("pointers have numbers only in a check");
    task.world().pointers.word(address)
}

/// The address behind a word. Only in a check.
#[inline(never)]
pub(crate) fn address_of(word: u64) -> usize {
    let task = task().expect("pointers have numbers only in a check");
    task.world().pointers.address(word)
}

#[cfg(test)]
mod tests {
    use super::Pointers;

    #[test]
    fn words_are_small_equal_when_the_pointers_are_and_lead_back() {
        let pointers = Pointers::default();
        assert_eq!((pointers.word(0), pointers.word(1)), (0, 1));
        let addresses: Vec<usize> = (0..100)
            .map(|n| 0x7f00_0000_0000 + n * 24 + n % 3)
            .collect();
        for round in 0..2 {
            for (place, address) in addresses.iter().enumerate() {
                let word = pointers.word(*address);
                assert_eq!(word >> 3, place as u64 + 1, "round {round}");
                assert_eq!(pointers.address(word), *address);
            }
        }
        pointers.begin();
        assert_eq!(pointers.word(addresses[50]), 1 << 3 | 2);
        assert_eq!(pointers.address(0), 0);
    }
}
