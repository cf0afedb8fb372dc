//! Lists of recorded accesses, for granules where two are not enough. All of a run in one piece of memory, which the next run
//! uses again.

use super::word::Word;
use alloc::vec::Vec;

/// A block is a header and room for words, together a power of two. The header has the class of the size above and the number of
/// words in use below. A free block uses none, and has the next free one of its class in place of its first word.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    memory: Vec<u64>,
    /// The first free block of each class; 0: none.
    free: [usize; CLASSES],
}

/// Blocks of 4 to 2^33 words.
const CLASSES: usize = 32;

fn size(class: usize) -> usize {
    4 << class
}

impl Blocks {
    /// Forgets all blocks and keeps the memory.
    pub(crate) fn clear(&mut self) {
        if !self.memory.is_empty() {
            self.memory.clear();
            self.free = [0; CLASSES];
        }
    }

    /// A new block with these words.
    pub(crate) fn take(&mut self, words: [Word; 3]) -> usize {
        let at = self.take_class(0);
        let block = [3, words[0].0, words[1].0, words[2].0];
        self.memory[at..at + size(0)].copy_from_slice(&block);
        at
    }

    fn take_class(&mut self, class: usize) -> usize {
        let at = self.free[class];
        if at != 0 {
            self.free[class] = self.memory[at + 1] as usize;
            return at;
        }
        // Nothing is at 0, which stands for none.
        let at = self.memory.len().max(1);
        self.memory.resize(at + size(class), 0);
        self.memory[at] = (class as u64) << 32;
        at
    }

    /// Gives a block back.
    pub(crate) fn give(&mut self, at: usize) {
        let class = self.class(at);
        self.set_len(at, 0);
        self.memory[at + 1] = self.free[class] as u64;
        self.free[class] = at;
    }

    fn class(&self, at: usize) -> usize {
        (self.memory[at] >> 32) as usize
    }

    fn len(&self, at: usize) -> usize {
        self.memory[at] as u32 as usize
    }

    fn set_len(&mut self, at: usize, len: usize) {
        self.memory[at] = (self.class(at) as u64) << 32 | len as u64;
    }

    fn slice(&mut self, at: usize) -> &mut [u64] {
        let end = at + 1 + self.len(at);
        &mut self.memory[at + 1..end]
    }

    /// The words of a block, as numbers.
    pub(crate) fn words(&self, at: usize) -> &[u64] {
        let end = at + 1 + self.len(at);
        &self.memory[at + 1..end]
    }

    /// Adds the bytes of a word to one that is like it, or else the word; nothing if it has no bytes. Where the block is from now on.
    pub(crate) fn add(&mut self, mut at: usize, word: Word) -> usize {
        if word.bytes() == 0 {
            return at;
        }
        let like = |old: &&mut u64| Word(**old).alike(word);
        if let Some(same) = self.slice(at).iter_mut().find(like) {
            *same |= word.bytes();
            return at;
        }
        let (len, class) = (self.len(at), self.class(at));
        if len + 1 == size(class) {
            let larger = self.take_class(class + 1);
            self.memory.copy_within(at + 1..at + 1 + len, larger + 1);
            self.give(at);
            at = larger;
        }
        self.memory[at + 1 + len] = word.0;
        self.set_len(at, len + 1);
        at
    }

    /// Puts another word in the place of each; those without bytes go.
    pub(crate) fn replace(&mut self, at: usize, mut with: impl FnMut(Word) -> Word) {
        let words = self.slice(at);
        let mut kept = 0;
        for index in 0..words.len() {
            let word = with(Word(words[index]));
            if word.bytes() != 0 {
                words[kept] = word.0;
                kept += 1;
            }
        }
        self.set_len(at, kept);
    }

    /// All words of all blocks.
    pub(crate) fn each(&mut self, mut with: impl FnMut(&mut u64)) {
        let mut at = 1;
        while at < self.memory.len() {
            self.slice(at).iter_mut().for_each(&mut with);
            at += size(self.class(at));
        }
    }
}
