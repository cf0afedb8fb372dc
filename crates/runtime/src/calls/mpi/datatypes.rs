//! Data types: what they are made of, and packing.
//!
//! A type is a list of pieces, each so many elements of one basic type at an offset. Numbers of types, their sizes within them included, are
//! those of MPICH.

use super::{
    call::{Answer, Call, invalid},
    state::state,
};
use alloc::{format, vec, vec::Vec};
use core::ffi::c_int;

/// Error classes.
pub(super) const ERR_COUNT: c_int = 2;
pub(super) const ERR_TYPE: c_int = 3;

pub(super) const TYPE_NULL: c_int = 0x0c00_0000;
/// Types that the program makes have these numbers, from here on.
const MADE: c_int = 0x8c00_0100_u32 as c_int;

/// A basic type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Basic {
    Byte,
    Packed,
    Signed(u8),
    Unsigned(u8),
    Float,
    Double,
    LongDouble,
    Bool,
    /// The integers of Fortran's LOGICAL.
    Logical,
    FloatComplex,
    DoubleComplex,
    LongDoubleComplex,
    Char,
}

impl Basic {
    pub(super) fn bytes(self) -> usize {
        match self {
            Basic::Byte | Basic::Packed | Basic::Bool | Basic::Char => 1,
            Basic::Signed(bytes) | Basic::Unsigned(bytes) => bytes.into(),
            Basic::Float | Basic::Logical => 4,
            Basic::Double | Basic::FloatComplex => 8,
            Basic::LongDouble | Basic::DoubleComplex => 16,
            Basic::LongDoubleComplex => 32,
        }
    }
}

/// Basic types by their numbers.
const BASIC: &[(c_int, Basic)] = &[
    (0x4c00_0101, Basic::Char),
    (0x4c00_0118, Basic::Signed(1)),
    (0x4c00_0102, Basic::Unsigned(1)),
    (0x4c00_010d, Basic::Byte),
    (0x4c00_010f, Basic::Packed),
    (0x4c00_040e, Basic::Signed(4)),
    (0x4c00_0203, Basic::Signed(2)),
    (0x4c00_0204, Basic::Unsigned(2)),
    (0x4c00_0405, Basic::Signed(4)),
    (0x4c00_0406, Basic::Unsigned(4)),
    (0x4c00_0807, Basic::Signed(8)),
    (0x4c00_0808, Basic::Unsigned(8)),
    (0x4c00_0809, Basic::Signed(8)),
    (0x4c00_0819, Basic::Unsigned(8)),
    (0x4c00_040a, Basic::Float),
    (0x4c00_080b, Basic::Double),
    (0x4c00_100c, Basic::LongDouble),
    (0x4c00_0137, Basic::Signed(1)),
    (0x4c00_0238, Basic::Signed(2)),
    (0x4c00_0439, Basic::Signed(4)),
    (0x4c00_083a, Basic::Signed(8)),
    (0x4c00_013b, Basic::Unsigned(1)),
    (0x4c00_023c, Basic::Unsigned(2)),
    (0x4c00_043d, Basic::Unsigned(4)),
    (0x4c00_083e, Basic::Unsigned(8)),
    (0x4c00_013f, Basic::Bool),
    (0x4c00_0133, Basic::Bool),
    (0x4c00_0840, Basic::FloatComplex),
    (0x4c00_1041, Basic::DoubleComplex),
    (0x4c00_2042, Basic::LongDoubleComplex),
    (0x4c00_0843, Basic::Signed(8)),
    (0x4c00_0844, Basic::Signed(8)),
    (0x4c00_0845, Basic::Signed(8)),
    (0x4c00_041b, Basic::Signed(4)),
    (0x4c00_041c, Basic::Float),
    (0x4c00_081f, Basic::Double),
    (0x4c00_081e, Basic::FloatComplex),
    (0x4c00_1022, Basic::DoubleComplex),
    (0x4c00_041d, Basic::Logical),
    (0x4c00_011a, Basic::Char),
];

/// Pairs of a value and an `int`, for MINLOC and MAXLOC: number, value, offset of the `int`, size.
const PAIRS: &[(c_int, Basic, usize, usize)] = &[
    (0x8c00_0000_u32 as c_int, Basic::Float, 4, 8),
    (0x8c00_0001_u32 as c_int, Basic::Double, 8, 16),
    (0x8c00_0002_u32 as c_int, Basic::Signed(8), 8, 16),
    (0x8c00_0003_u32 as c_int, Basic::Signed(2), 4, 8),
    (0x8c00_0004_u32 as c_int, Basic::LongDouble, 16, 32),
    (0x4c00_0816, Basic::Signed(4), 4, 8),
];

/// So many elements of a basic type at an offset from where a value begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Piece {
    pub(super) offset: isize,
    pub(super) basic: Basic,
    pub(super) count: usize,
}

impl Piece {
    fn bytes(self) -> usize {
        self.count * self.basic.bytes()
    }
}

/// A type.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Type {
    pub(super) pieces: Vec<Piece>,
    pub(super) lower: isize,
    pub(super) extent: isize,
    pub(super) committed: bool,
    /// Where it was made; 0: it is built in.
    pub(super) made: u32,
}

/// The basic types of a message in order, with how many of each.
pub(super) type Signature = Vec<(Basic, usize)>;

impl Type {
    fn basic(basic: Basic) -> Type {
        Type {
            pieces: vec![Piece {
                offset: 0,
                basic,
                count: 1,
            }],
            lower: 0,
            extent: basic.bytes() as isize,
            committed: true,
            made: 0,
        }
    }

    /// Of a list of values of other types, each with how many and where; its bounds are those of all.
    pub(super) fn of(parts: &[(usize, isize, &Type)]) -> Type {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut bounds: Option<(isize, isize)> = None;
        for (count, at, part) in parts {
            for place in 0..*count {
                let start = at + place as isize * part.extent;
                part.pieces.iter().for_each(|piece| {
                    let offset = start + piece.offset;
                    push(&mut pieces, Piece { offset, ..*piece });
                });
                let (lower, upper) = (start + part.lower, start + part.lower + part.extent);
                let (low, high) = bounds.unwrap_or((lower, upper));
                bounds = Some((low.min(lower), high.max(upper)));
            }
        }
        let (lower, upper) = bounds.unwrap_or((0, 0));
        Type {
            pieces,
            lower,
            extent: upper - lower,
            committed: false,
            made: 0,
        }
    }

    /// Bytes of its values, without gaps.
    pub(super) fn size(&self) -> usize {
        self.pieces.iter().map(|piece| piece.bytes()).sum()
    }

    /// The first and the last byte of its values, from where one begins.
    pub(super) fn true_bounds(&self) -> (isize, isize) {
        let lower = self.pieces.iter().map(|piece| piece.offset).min();
        let end = |piece: &Piece| piece.offset + piece.bytes() as isize;
        let upper = self.pieces.iter().map(end).max();
        (lower.unwrap_or(0), upper.unwrap_or(0))
    }

    pub(super) fn signature(&self, count: usize) -> Signature {
        let mut all = Signature::new();
        let simple = self.pieces.len() == 1;
        for _ in 0..if simple { count.min(1) } else { count } {
            for piece in &self.pieces {
                let many = if simple {
                    piece.count * count
                } else {
                    piece.count
                };
                match all.last_mut().filter(|last| last.0 == piece.basic) {
                    Some(last) => last.1 += many,
                    None => all.push((piece.basic, many)),
                }
            }
        }
        all
    }

    /// The parts of memory that so many values at an address are, in order.
    fn ranges(&self, address: usize, count: usize) -> Vec<(usize, usize)> {
        let mut all: Vec<(usize, usize)> = Vec::new();
        for place in 0..count {
            let start = address.wrapping_add_signed(place as isize * self.extent);
            for piece in &self.pieces {
                let (at, bytes) = (start.wrapping_add_signed(piece.offset), piece.bytes());
                match all.last_mut().filter(|(last, length)| last + length == at) {
                    Some(last) => last.1 += bytes,
                    None => all.push((at, bytes)),
                }
            }
        }
        all
    }

    /// The bytes of so many values.
    pub(super) fn pack(&self, address: usize, count: usize, call: &Call) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size() * count);
        for (at, length) in self.ranges(address, count) {
            call.reads(at, length);
            // SAFETY: the program promises that its buffer has so many values of this type.
            bytes
                .extend_from_slice(unsafe { core::slice::from_raw_parts(at as *const u8, length) });
        }
        bytes
    }

    /// Writes bytes as values, at most so many; how many bytes were not written.
    pub(super) fn unpack(&self, mut bytes: &[u8], address: usize, count: usize, call: &Call) {
        for (at, length) in self.ranges(address, count) {
            let now = length.min(bytes.len());
            if now == 0 {
                return;
            }
            call.writes(at, now);
            let (part, rest) = bytes.split_at(now);
            // SAFETY: the program promises that its buffer has room for so many values of this type.
            unsafe { core::ptr::copy_nonoverlapping(part.as_ptr(), at as *mut u8, now) };
            bytes = rest;
        }
    }
}

/// Adds a piece, or makes the last one longer.
fn push(pieces: &mut Vec<Piece>, piece: Piece) {
    match pieces.last_mut() {
        Some(last)
            if last.basic == piece.basic && last.offset + last.bytes() as isize == piece.offset =>
        {
            last.count += piece.count;
        }
        _ => pieces.push(piece),
    }
}

/// Whether a receive of this signature can take a message of that one, which may be shorter.
pub(super) fn fits(message: &Signature, receive: &Signature) -> bool {
    let raw = |signature: &Signature| {
        let mut basics = signature.iter();
        basics.any(|(basic, _)| *basic == Basic::Packed)
    };
    if raw(message) || raw(receive) {
        return true;
    }
    let mut receive = receive.iter().copied();
    let mut open: Option<(Basic, usize)> = None;
    for (basic, mut count) in message.iter().copied() {
        while count > 0 {
            let Some((wanted, room)) = open
                .take()
                .filter(|open| open.1 > 0)
                .or_else(|| receive.next())
            else {
                return true;
            };
            if wanted != basic {
                return false;
            }
            let now = count.min(room);
            count -= now;
            open = Some((wanted, room - now));
        }
    }
    true
}

/// The type with this number.
pub(super) fn find(rank: usize, number: c_int) -> Answer<Type> {
    if let Some((_, basic)) = BASIC.iter().find(|(known, _)| *known == number) {
        return Ok(Type::basic(*basic));
    }
    if let Some((_, value, at, size)) = PAIRS.iter().find(|pair| pair.0 == number) {
        let (value, int) = (Type::basic(*value), Type::basic(Basic::Signed(4)));
        let mut pair = Type::of(&[(1, 0, &value), (1, *at as isize, &int)]);
        pair.extent = *size as isize;
        pair.committed = true;
        return Ok(pair);
    }
    let known = usize::try_from(number.wrapping_sub(MADE)).ok();
    let known = known.and_then(|index| state().ranks[rank].types.get(index)?.clone());
    match known {
        Some(known) => Ok(known),
        None if number == TYPE_NULL => invalid(ERR_TYPE, "the data type is MPI_DATATYPE_NULL"),
        None => invalid(ERR_TYPE, format!("there is no data type {number:#x}")),
    }
}

/// The type with this number, for communication.
pub(super) fn committed(rank: usize, number: c_int) -> Answer<Type> {
    match find(rank, number)? {
        known if known.committed => Ok(known),
        _ => invalid(ERR_TYPE, "the data type is not committed"),
    }
}

/// Whether a number stands for a pair of MINLOC and MAXLOC.
pub(super) fn is_pair(number: c_int) -> bool {
    PAIRS.iter().any(|pair| pair.0 == number)
}

/// Keeps a new type; its number.
pub(super) fn keep(rank: usize, made: Type) -> c_int {
    let types = &mut state().ranks[rank].types;
    let free = types.iter().position(Option::is_none);
    let index = free.unwrap_or(types.len());
    if index == types.len() {
        types.push(None);
    }
    types[index] = Some(made);
    MADE + index as c_int
}

/// Changes a type that the program has made; whether there is one.
pub(super) fn change(rank: usize, number: c_int, what: impl FnOnce(&mut Option<Type>)) -> Answer {
    let index = usize::try_from(number.wrapping_sub(MADE)).ok();
    let mut state = state();
    let types = &mut state.ranks[rank].types;
    match index.and_then(|index| types.get_mut(index)) {
        Some(known) if known.is_some() => {
            what(known);
            Ok(())
        }
        _ => invalid(
            ERR_TYPE,
            format!("{number:#x} is no data type that the program has made"),
        ),
    }
}

/// A count of values that is an argument.
pub(super) fn count(call: &Call, index: usize) -> Answer<usize> {
    match usize::try_from(call.int(index)) {
        Ok(count) => Ok(count),
        Err(_) => invalid(
            ERR_COUNT,
            format!("the count {} is negative", call.int(index)),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_and_structures_have_gaps_and_bounds() {
        let int = Type::basic(Basic::Signed(4));
        let column = Type::of(&[(1, 0, &int), (1, 12, &int), (1, 24, &int)]);
        assert_eq!(
            (column.size(), column.extent, column.pieces.len()),
            (12, 28, 3)
        );
        let row = Type::of(&[(5, 0, &int)]);
        assert_eq!((row.size(), row.extent, row.pieces.len()), (20, 20, 1));
        assert_eq!(row.signature(3), vec![(Basic::Signed(4), 15)]);
        let double = Type::basic(Basic::Double);
        let both = Type::of(&[(1, 0, &int), (2, 8, &double)]);
        assert_eq!(both.true_bounds(), (0, 24));
        assert_eq!(both.signature(2).len(), 4);
    }

    #[test]
    fn shorter_messages_fit_and_others_do_not() {
        let int = (Basic::Signed(4), 3);
        let double = (Basic::Double, 1);
        assert!(fits(&vec![int], &vec![(Basic::Signed(4), 5)]));
        assert!(fits(
            &vec![int, double],
            &vec![(Basic::Signed(4), 2), (Basic::Signed(4), 1), double]
        ));
        assert!(!fits(&vec![int], &vec![double]));
        assert!(!fits(&vec![int], &vec![(Basic::Byte, 12)]));
        assert!(fits(&vec![int], &vec![(Basic::Packed, 12)]));
    }
}
