//! Accesses memory: for every byte that was accessed, who wrote it last and who has read it since.
//!
//! Granules of 8 bytes in a hash table, each cut into the pieces that the program uses, so two neighbours in one granule
//! never look like one location. A piece keeps its last write and the reads since then that are not ordered before
//! one another (FastTrack, Flanagan and Freund 2009, sections 3 and 4).

use super::clocks::{Clocks, Row};
use alloc::vec::Vec;
use reweave_model::Site;

const NONE: u32 = u32::MAX;

/// Somebody's access. Epoch 0: nobody's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Stamp {
    pub(super) thread: u32,
    pub(super) epoch: u32,
    pub(super) site: Site,
}

/// An earlier access that is not ordered before the present one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clash {
    pub(super) first: Stamp,
    pub(super) write: bool,
    /// Of the first byte both touch.
    pub(super) address: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    granule: usize,
    /// The run it belongs to; one of another run is free.
    run: u32,
    /// First piece.
    head: u32,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Which bytes of the granule. Pieces of a granule do not overlap.
    mask: u8,
    next: u32,
    write: Stamp,
    read: Stamp,
    /// Further reads, in `reads`.
    more: u32,
}

#[derive(Clone, Copy, Debug)]
struct Read {
    stamp: Stamp,
    next: u32,
}

/// The table. Emptying it costs nothing: entries of earlier runs count as free.
#[derive(Clone, Debug)]
pub(super) struct Accesses {
    buckets: Vec<Bucket>,
    used: usize,
    run: u32,
    pieces: Vec<Piece>,
    reads: Vec<Read>,
    /// Unused entries of `reads`, chained.
    free: u32,
}

impl Default for Accesses {
    fn default() -> Accesses {
        Accesses {
            buckets: Vec::new(),
            used: 0,
            run: 1,
            pieces: Vec::new(),
            reads: Vec::new(),
            free: NONE,
        }
    }
}

impl Accesses {
    pub(super) fn clear(&mut self) {
        self.pieces.clear();
        self.reads.clear();
        self.free = NONE;
        self.used = 0;
        self.run = self.run.wrapping_add(1);
        if self.run == 0 {
            // After 2^32 runs the oldest marks would look new again.
            self.buckets.fill(Bucket::default());
            self.run = 1;
        }
    }

    /// Notes an access to a range; the first earlier access it clashes with, if any.
    pub(super) fn access(
        &mut self,
        rows: &Clocks,
        clock: Row,
        stamp: Stamp,
        range: (usize, usize),
        write: bool,
    ) -> Option<Clash> {
        let mut clash = None;
        for (granule, mask) in granules(range) {
            let found = self.access_granule(rows, clock, stamp, granule, mask, write);
            clash = clash.or(found);
        }
        clash
    }

    /// Forgets a range: what comes to lie there later is something else.
    pub(super) fn forget(&mut self, range: (usize, usize)) {
        if self.used == 0 {
            return;
        }
        for (granule, mask) in granules(range) {
            let Some(bucket) = self.find(granule) else {
                continue;
            };
            let mut at = self.buckets[bucket].head;
            while at != NONE {
                let piece = &mut self.pieces[at as usize];
                piece.mask &= !mask;
                at = piece.next;
            }
        }
    }

    fn access_granule(
        &mut self,
        rows: &Clocks,
        clock: Row,
        stamp: Stamp,
        granule: usize,
        mask: u8,
        write: bool,
    ) -> Option<Clash> {
        let bucket = self.entry(granule);
        let mut clash = None;
        let mut left = mask;
        let mut at = self.buckets[bucket].head;
        while at != NONE && left != 0 {
            let piece = self.pieces[at as usize];
            let common = piece.mask & mask;
            if common != 0 {
                if common != piece.mask {
                    self.split(at, common);
                }
                left &= !common;
                let found = if write {
                    self.write(rows, clock, stamp, at)
                } else {
                    self.read(rows, clock, stamp, at)
                };
                clash = clash.or(found.map(|(first, write)| Clash {
                    first,
                    write,
                    address: granule * 8 + common.trailing_zeros() as usize,
                }));
            }
            at = piece.next;
        }
        if left != 0 {
            let mut piece = Piece {
                mask: left,
                next: self.buckets[bucket].head,
                write: Stamp::default(),
                read: Stamp::default(),
                more: NONE,
            };
            *(if write {
                &mut piece.write
            } else {
                &mut piece.read
            }) = stamp;
            self.buckets[bucket].head = self.pieces.len() as u32;
            self.pieces.push(piece);
        }
        clash
    }

    /// Keeps only some bytes in a piece; a copy right behind it has the others.
    fn split(&mut self, at: u32, keep: u8) {
        let mut rest = self.pieces[at as usize];
        rest.mask &= !keep;
        let mut from = rest.more;
        rest.more = NONE;
        while from != NONE {
            let read = self.reads[from as usize];
            rest.more = self.add_read(read.stamp, rest.more);
            from = read.next;
        }
        let place = self.pieces.len() as u32;
        self.pieces.push(rest);
        let piece = &mut self.pieces[at as usize];
        piece.mask = keep;
        piece.next = place;
    }

    fn write(&mut self, rows: &Clocks, clock: Row, stamp: Stamp, at: u32) -> Option<(Stamp, bool)> {
        let piece = self.pieces[at as usize];
        let mut clash = (!before(rows, clock, piece.write)).then_some((piece.write, true));
        if !before(rows, clock, piece.read) {
            clash = clash.or(Some((piece.read, false)));
        }
        let mut from = piece.more;
        while from != NONE {
            let read = self.reads[from as usize];
            if !before(rows, clock, read.stamp) {
                clash = clash.or(Some((read.stamp, false)));
            }
            self.reads[from as usize].next = self.free;
            self.free = from;
            from = read.next;
        }
        let piece = &mut self.pieces[at as usize];
        piece.write = stamp;
        piece.read = Stamp::default();
        piece.more = NONE;
        clash
    }

    fn read(&mut self, rows: &Clocks, clock: Row, stamp: Stamp, at: u32) -> Option<(Stamp, bool)> {
        let piece = &mut self.pieces[at as usize];
        let clash = (!before(rows, clock, piece.write)).then_some((piece.write, true));
        // An earlier read that is ordered before this one says nothing more: whoever comes after this one comes after both.
        if before(rows, clock, piece.read) {
            piece.read = stamp;
            return clash;
        }
        let more = piece.more;
        let mut from = more;
        while from != NONE {
            let read = &mut self.reads[from as usize];
            if before(rows, clock, read.stamp) {
                read.stamp = stamp;
                return clash;
            }
            from = read.next;
        }
        let head = self.add_read(stamp, more);
        self.pieces[at as usize].more = head;
        clash
    }

    fn add_read(&mut self, stamp: Stamp, next: u32) -> u32 {
        let read = Read { stamp, next };
        let at = self.free;
        if at == NONE {
            self.reads.push(read);
            return self.reads.len() as u32 - 1;
        }
        self.free = self.reads[at as usize].next;
        self.reads[at as usize] = read;
        at
    }

    fn slot(&self, granule: usize) -> usize {
        // Fibonacci hashing: the upper bits of the product are the well-mixed ones.
        let product = (granule as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product >> (64 - self.buckets.len().trailing_zeros())) as usize
    }

    fn find(&self, granule: usize) -> Option<usize> {
        let mut at = self.slot(granule);
        loop {
            let bucket = &self.buckets[at];
            if bucket.run != self.run {
                return None;
            }
            if bucket.granule == granule {
                return Some(at);
            }
            at = (at + 1) % self.buckets.len();
        }
    }

    fn entry(&mut self, granule: usize) -> usize {
        // At most half full, so that searches are short and end.
        if self.buckets.len() < 2 * (self.used + 1) {
            self.grow();
        }
        if let Some(found) = self.find(granule) {
            return found;
        }
        self.used += 1;
        self.insert(Bucket {
            granule,
            run: self.run,
            head: NONE,
        })
    }

    fn insert(&mut self, bucket: Bucket) -> usize {
        let mut at = self.slot(bucket.granule);
        while self.buckets[at].run == self.run {
            at = (at + 1) % self.buckets.len();
        }
        self.buckets[at] = bucket;
        at
    }

    fn grow(&mut self) {
        let size = (self.buckets.len() * 2).max(64);
        let old = core::mem::replace(&mut self.buckets, alloc::vec![Bucket::default(); size]);
        for bucket in old {
            if bucket.run == self.run {
                self.insert(bucket);
            }
        }
    }
}

/// Whether an access lies in the past that a clock holds.
fn before(rows: &Clocks, clock: Row, stamp: Stamp) -> bool {
    stamp.epoch <= rows.get(clock, stamp.thread as usize)
}

/// The granules of a range of bytes, each with the bytes of it that lie in the range.
fn granules((address, bytes): (usize, usize)) -> impl Iterator<Item = (usize, u8)> {
    let end = address.saturating_add(bytes);
    let granules = if bytes == 0 {
        0..0
    } else {
        address / 8..(end - 1) / 8 + 1
    };
    granules.map(move |granule| {
        let from = address.max(granule * 8) - granule * 8;
        let to = (end - granule * 8).min(8);
        (granule, (0xff_u8 << from) & (0xff_u8 >> (8 - to)))
    })
}
