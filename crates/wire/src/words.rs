//! Streams of words.

use alloc::{string::String, vec::Vec};

/// What was read is not what a target writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed;

/// Appends words; once there is no room left it only counts.
#[derive(Debug)]
pub struct Writer<'a> {
    words: &'a mut [u64],
    at: usize,
}

impl<'a> Writer<'a> {
    /// Writes from the beginning of a room.
    pub fn new(words: &'a mut [u64]) -> Writer<'a> {
        Writer { words, at: 0 }
    }

    /// How many words were written.
    pub fn len(&self) -> usize {
        self.at
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Whether there was not room for all of them.
    pub fn overflowed(&self) -> bool {
        self.at > self.words.len()
    }

    #[inline]
    pub(crate) fn word(&mut self, word: u64) {
        if let Some(place) = self.words.get_mut(self.at) {
            *place = word;
        }
        self.at += 1;
    }

    #[inline]
    pub(crate) fn pair(&mut self, low: u32, high: u32) {
        self.word(u64::from(low) | u64::from(high) << 32);
    }

    /// Leaves a place to be filled in by [`Writer::patch`].
    pub(crate) fn reserve(&mut self) -> usize {
        self.word(0);
        self.at - 1
    }

    pub(crate) fn patch(&mut self, at: usize, word: u64) {
        if let Some(place) = self.words.get_mut(at) {
            *place = word;
        }
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }
}

/// Takes words.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    words: &'a [u64],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Reads from the beginning of a room.
    pub fn new(words: &'a [u64]) -> Reader<'a> {
        Reader { words, at: 0 }
    }

    #[inline]
    pub(crate) fn word(&mut self) -> Result<u64, Malformed> {
        let word = *self.words.get(self.at).ok_or(Malformed)?;
        self.at += 1;
        Ok(word)
    }

    #[inline]
    pub(crate) fn pair(&mut self) -> Result<(u32, u32), Malformed> {
        let word = self.word()?;
        Ok((word as u32, (word >> 32) as u32))
    }

    /// What was not read yet.
    #[inline]
    pub(crate) fn rest(&self) -> &'a [u64] {
        &self.words[self.at..]
    }

    /// Passes by so many words of the rest.
    pub(crate) fn skip(&mut self, words: usize) {
        self.at += words;
    }

    /// A length: so many entries of at least one word each follow.
    pub(crate) fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.word()?;
        let left = (self.words.len() - self.at) as u64;
        if count > left {
            return Err(Malformed);
        }
        Ok(count as usize)
    }

    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Malformed> {
        let length = self.word()? as usize;
        let words = length.div_ceil(8);
        let end = self.at.checked_add(words).ok_or(Malformed)?;
        let source = self.words.get(self.at..end).ok_or(Malformed)?;
        self.at = end;
        let mut bytes = Vec::with_capacity(words * 8);
        for word in source {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        Ok(String::from_utf8_lossy(&self.bytes()?).into_owned())
    }
}
