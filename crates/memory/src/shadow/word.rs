//! One recorded access in 64 bits, so that a hook compares it in one step.
//!
//! From the top: the number of the segment (28 bits), the place (25), freed (1), plain (1), write (1), which bytes of the granule
//! (8). A *segment* is one thread in one epoch of one run. Numbers only grow, from run to run too, so a word of an
//! earlier run is recognised by being less than the first number of this one, and emptying the shadow costs nothing.
//!
//! An access with more of the bits plain, write and bytes says more: whatever clashes with one clashes with the other.

pub(crate) const BYTES: u64 = 0xff;
const WRITE: u64 = 1 << 8;
const PLAIN: u64 = 1 << 9;
pub(crate) const FREED: u64 = 1 << 10;
const KIND: u64 = WRITE | PLAIN | FREED;

const PLACE_SHIFT: u32 = 11;
const PLACE_BITS: u32 = 25;

const SEGMENT_SHIFT: u32 = PLACE_SHIFT + PLACE_BITS;
/// All bits of the segment's number.
pub(crate) const SEGMENT: u64 = !0 << SEGMENT_SHIFT;
/// The step from one number to the next.
pub(crate) const STEP: u64 = 1 << SEGMENT_SHIFT;
/// How many numbers there are.
pub(crate) const NUMBERS: u64 = 1 << (64 - SEGMENT_SHIFT);

/// Sites below are stored as they are, others by their place in a table.
pub(crate) const NEAR: u32 = 1 << (PLACE_BITS - 1);

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum Kind {
    /// An atomic load, a failed compare-exchange, a failed trylock.
    AtomicRead = 0,
    /// Any atomic operation that writes, operations on locks.
    AtomicWrite = WRITE,
    /// A plain load.
    Read = PLAIN,
    /// A plain store.
    Write = PLAIN | WRITE,
    /// The memory is given back.
    Free = PLAIN | WRITE | FREED,
}

/// A recorded access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word(pub(crate) u64);

impl Word {
    pub(crate) const NONE: Word = Word(0);

    /// Without bytes. `segment` is where it belongs already.
    pub(crate) fn new(segment: u64, place: u32, kind: Kind) -> Word {
        Word(segment | u64::from(place) << PLACE_SHIFT | kind as u64)
    }

    /// Which bytes of the granule.
    #[inline]
    pub(crate) fn bytes(self) -> u64 {
        self.0 & BYTES
    }

    #[inline]
    pub(crate) fn with(self, bytes: u64) -> Word {
        Word(self.0 | bytes)
    }

    #[inline]
    pub(crate) fn without(self, bytes: u64) -> Word {
        Word(self.0 & !bytes)
    }

    /// Whether it holds an access of this segment, in place, that says at least what these bits of bytes and kind say.
    #[inline]
    pub(crate) fn covers(self, segment: u64, says: u64) -> bool {
        (self.0 ^ (segment | says)) & (SEGMENT | FREED | says) == 0
    }

    /// Whether both are alike but for the bytes.
    #[inline]
    pub(crate) fn alike(self, other: Word) -> bool {
        (self.0 ^ other.0) & !BYTES == 0
    }

    /// Whether both touch some byte.
    #[inline]
    pub(crate) fn meets(self, other: Word) -> bool {
        self.0 & other.0 & BYTES != 0
    }

    /// Whether what clashes with the other access, on any byte, would clash with this one as well.
    #[inline]
    pub(crate) fn says(self, other: Word) -> bool {
        other.0 & !self.0 & (KIND | BYTES) == 0
    }

    /// Whether both are of one segment.
    pub(crate) fn together(self, other: Word) -> bool {
        (self.0 ^ other.0) & SEGMENT == 0
    }

    /// Whether what clashes with the other access would clash with this one as well.
    pub(crate) fn says_kind_of(self, other: Word) -> bool {
        other.0 & !self.0 & KIND == 0
    }

    /// Whether two accesses of different threads that nothing orders clash: one writes, one is plain.
    pub(crate) fn clashes(self, other: Word) -> bool {
        (self.0 | other.0) & (PLAIN | WRITE) == PLAIN | WRITE
    }

    /// Whether it clashes with everything that is not ordered.
    pub(crate) fn clashes_with_all(self) -> bool {
        self.0 & (PLAIN | WRITE) == PLAIN | WRITE
    }

    pub(crate) fn freed(self) -> bool {
        self.0 & FREED != 0
    }

    pub(crate) fn kind(self) -> Kind {
        let write = self.0 & WRITE != 0;
        match (self.0 & PLAIN != 0, write) {
            _ if self.freed() => Kind::Free,
            (false, false) => Kind::AtomicRead,
            (false, true) => Kind::AtomicWrite,
            (true, false) => Kind::Read,
            (true, true) => Kind::Write,
        }
    }

    /// Where it was, as [`super::segments::Segments`] stores it.
    pub(crate) fn place(self) -> u32 {
        ((self.0 & !SEGMENT) >> PLACE_SHIFT) as u32
    }

    /// The index of its segment when `first` is that of the first one.
    pub(crate) fn segment(self, first: u64) -> usize {
        ((self.0 - first) >> SEGMENT_SHIFT) as usize
    }

    /// The same access when its segment gets another number.
    pub(crate) fn renumbered(self, segment: u64) -> Word {
        Word(self.0 & !SEGMENT | segment)
    }
}

/// The bits of an access that lies within one granule; `None`: it does not.
#[inline]
pub(crate) fn within(address: usize, bytes: usize) -> Option<u64> {
    if bytes > 8 {
        return None;
    }
    let mask = ((1_u64 << bytes) - 1) << (address & 7);
    (mask <= BYTES).then_some(mask)
}
