//! Where lines begin in the program's code, one word for each place: traps that the target puts there and takes away when they are run.

/// One place. In the shared memory it is an atomic word: the driver writes the offset, the target the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineStart(pub u64);

/// A trap was put there.
const SET: u64 = 1 << 32;
/// The code there was run.
const REACHED: u64 = 1 << 33;
/// Where the byte begins that the trap replaced.
const BYTE_AT: u32 = 40;

impl LineStart {
    /// At this distance from where the program was loaded.
    pub fn new(offset: u32) -> LineStart {
        LineStart(offset.into())
    }

    /// See [`LineStart::new`].
    pub fn offset(self) -> u32 {
        self.0 as u32
    }

    /// With a trap in the place of this byte.
    #[must_use]
    pub fn set(self, byte: u8) -> LineStart {
        LineStart(self.0 | SET | u64::from(byte) << BYTE_AT)
    }

    /// Whether there is or was a trap.
    pub fn is_set(self) -> bool {
        self.0 & SET != 0
    }

    /// The byte that the trap replaced.
    pub fn byte(self) -> u8 {
        (self.0 >> BYTE_AT) as u8
    }

    /// After its code was run.
    #[must_use]
    pub fn reach(self) -> LineStart {
        LineStart(self.0 | REACHED)
    }

    /// Whether its code was run.
    pub fn is_reached(self) -> bool {
        self.0 & REACHED != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_all_that_is_known() {
        let start = LineStart::new(u32::MAX).set(0xc3);
        assert_eq!((start.offset(), start.byte()), (u32::MAX, 0xc3));
        assert!(start.is_set() && !start.is_reached());
        let reached = start.reach();
        assert_eq!((reached.offset(), reached.byte()), (u32::MAX, 0xc3));
        assert!(reached.is_set() && reached.is_reached());
        assert!(!LineStart::new(7).is_set());
    }
}
