//! Operations of reductions, built in and of the program.

use super::{
    call::{Answer, Call, invalid, mpi},
    datatypes::{self, Basic, Type},
    state::state,
};
use alloc::{format, vec::Vec};
use core::ffi::{c_int, c_void};

const ERR_OP: c_int = 9;
const OP_NULL: c_int = 0x1800_0000;
/// Built-in operations have these numbers, and their kinds beyond.
const FIRST: c_int = 0x5800_0000;
/// Operations that the program makes, from here on.
const MADE: c_int = 0x9800_0000_u32 as c_int;

mpi! {
    MPI_Op_create => create;
    MPI_Op_free => free;
    MPI_Op_commutative => commutes;
    MPI_Reduce_local => reduce_here;
}

/// A function of the program that reduces.
type Function = extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_int);

#[derive(Clone, Copy)]
pub(super) struct UserOperation {
    function: Function,
    commutes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BuiltIn {
    Max,
    Min,
    Sum,
    Product,
    LogicalAnd,
    BitAnd,
    LogicalOr,
    BitOr,
    LogicalXor,
    BitXor,
    MinAt,
    MaxAt,
}

const BUILT_IN: [BuiltIn; 12] = [
    BuiltIn::Max,
    BuiltIn::Min,
    BuiltIn::Sum,
    BuiltIn::Product,
    BuiltIn::LogicalAnd,
    BuiltIn::BitAnd,
    BuiltIn::LogicalOr,
    BuiltIn::BitOr,
    BuiltIn::LogicalXor,
    BuiltIn::BitXor,
    BuiltIn::MinAt,
    BuiltIn::MaxAt,
];

/// The operation of a reduction, with the number of its type.
#[derive(Clone)]
pub(super) struct Operation {
    what: What,
    number: c_int,
}

#[derive(Clone)]
enum What {
    BuiltIn(BuiltIn),
    User(UserOperation),
}

impl Operation {
    /// Whether another rank means the same. Functions of the program have the same addresses in all ranks.
    pub(super) fn same(&self, other: &Operation) -> bool {
        match (&self.what, &other.what) {
            (What::BuiltIn(one), What::BuiltIn(other)) => one == other,
            (What::User(one), What::User(other)) => {
                one.function as usize == other.function as usize
            }
            _ => false,
        }
    }
}

/// The operation with this number, for values of this type.
pub(super) fn find(call: &Call, operation: c_int, number: c_int) -> Answer<Operation> {
    let built_in = operation
        .checked_sub(FIRST + 1)
        .and_then(|kind| BUILT_IN.get(kind as usize));
    if let Some(kind) = built_in.filter(|_| operation > FIRST) {
        let of = datatypes::committed(call.rank(), number)?;
        check(*kind, &of, datatypes::is_pair(number))?;
        let what = What::BuiltIn(*kind);
        return Ok(Operation { what, number });
    }
    let index = usize::try_from(operation.wrapping_sub(MADE)).ok();
    let known = index.and_then(|index| *state().ranks[call.rank()].operations.get(index)?);
    match known {
        Some(known) => Ok(Operation {
            what: What::User(known),
            number,
        }),
        None if operation == OP_NULL => invalid(ERR_OP, "the operation is MPI_OP_NULL"),
        None => invalid(ERR_OP, format!("there is no operation {operation:#x}")),
    }
}

/// Whether an operation is defined for a type.
fn check(kind: BuiltIn, of: &Type, pair: bool) -> Answer {
    use BuiltIn::{
        BitAnd, BitOr, BitXor, LogicalAnd, LogicalOr, LogicalXor, Max, MaxAt, Min, MinAt,
    };
    let at = matches!(kind, MinAt | MaxAt);
    let fits = |basic: Basic| match basic {
        Basic::Packed | Basic::Char => false,
        Basic::Byte => matches!(kind, BitAnd | BitOr | BitXor),
        Basic::Signed(_) | Basic::Unsigned(_) => true,
        Basic::Bool | Basic::Logical => matches!(kind, LogicalAnd | LogicalOr | LogicalXor),
        Basic::Float | Basic::Double | Basic::LongDouble => !matches!(
            kind,
            BitAnd | BitOr | BitXor | LogicalAnd | LogicalOr | LogicalXor
        ),
        _ => matches!(kind, BuiltIn::Sum | BuiltIn::Product),
    };
    let built_in = of.made == 0;
    let good = built_in && at == pair && of.pieces.iter().all(|piece| fits(piece.basic));
    if !good || matches!(kind, Max | Min) && pair {
        return invalid(ERR_OP, "the operation is not defined for the data type");
    }
    Ok(())
}

/// `sum` becomes the reduction of it with more values, of which it has as many.
pub(super) fn apply(
    operation: &Operation,
    sum: &mut [u8],
    more: &[u8],
    of: &Type,
    call: &Call,
) -> Answer {
    match &operation.what {
        What::User(user) => {
            by_user(user, operation.number, sum, more, of, call);
            Ok(())
        }
        What::BuiltIn(kind @ (BuiltIn::MinAt | BuiltIn::MaxAt)) => {
            by_pair(*kind, sum, more, of, call);
            Ok(())
        }
        What::BuiltIn(kind) => {
            let basic = of.pieces.first().map_or(Basic::Byte, |piece| piece.basic);
            each(*kind, basic, sum, more, call);
            Ok(())
        }
    }
}

/// Bytes of the memory on the stack in which functions of the program reduce values: they may write to no memory of the runtime.
const ROOM: usize = 8192;

/// The program's function gets values as they lie in memory, with gaps, some at a time.
fn by_user(
    user: &UserOperation,
    number: c_int,
    sum: &mut [u8],
    more: &[u8],
    of: &Type,
    call: &Call,
) {
    let size = of.size();
    let (lower, upper) = of.true_bounds();
    let span = (upper - lower).unsigned_abs();
    if size == 0 {
        return;
    }
    if span > ROOM || of.extent < 0 {
        call.unsupported(" of a type of more than 8,192 bytes");
    }
    let most = 1 + (ROOM - span) / of.extent.unsigned_abs().max(1);
    for (sum, more) in sum.chunks_mut(most * size).zip(more.chunks(most * size)) {
        let count = sum.len() / size;
        let (mut first, mut second) = ([0_u128; ROOM / 16], [0_u128; ROOM / 16]);
        let at = |memory: &mut [u128]| (memory.as_mut_ptr() as usize).wrapping_add_signed(-lower);
        let (first, second) = (at(&mut first), at(&mut second));
        scatter(of, sum, first, count);
        scatter(of, more, second, count);
        let (mut length, mut number) = (count as c_int, number);
        // The values of lower ranks come first, and the result takes the place of the second. No borrow is alive: the function is
        // ordinary code of the program.
        (user.function)(
            first as *mut c_void,
            second as *mut c_void,
            &raw mut length,
            &raw mut number,
        );
        sum.copy_from_slice(&gather(of, second, count));
    }
}

/// Writes values, without a note of the accesses: the memory is the runtime's.
fn scatter(of: &Type, bytes: &[u8], at: usize, count: usize) {
    let mut bytes = bytes;
    for place in 0..count {
        for piece in &of.pieces {
            let to = at.wrapping_add_signed(place as isize * of.extent + piece.offset);
            let (now, rest) = bytes.split_at(piece.count * piece.basic.bytes());
            // SAFETY: the memory at `at` has room for so many values of the type.
            unsafe { core::ptr::copy_nonoverlapping(now.as_ptr(), to as *mut u8, now.len()) };
            bytes = rest;
        }
    }
}

fn gather(of: &Type, at: usize, count: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(of.size() * count);
    for place in 0..count {
        for piece in &of.pieces {
            let from = at.wrapping_add_signed(place as isize * of.extent + piece.offset);
            let length = piece.count * piece.basic.bytes();
            // SAFETY: the memory at `at` has so many values of the type.
            bytes.extend_from_slice(unsafe {
                core::slice::from_raw_parts(from as *const u8, length)
            });
        }
    }
    bytes
}

/// Applies a function to each element of a type of Rust.
fn elements<T: Copy, const N: usize>(
    sum: &mut [u8],
    more: &[u8],
    read: fn([u8; N]) -> T,
    write: fn(T) -> [u8; N],
    function: impl Fn(T, T) -> T,
) {
    for (sum, more) in sum.chunks_exact_mut(N).zip(more.chunks_exact(N)) {
        let bytes = |bytes: &[u8]| read(bytes.try_into().expect("chunks have N bytes"));
        sum.copy_from_slice(&write(function(bytes(sum), bytes(more))));
    }
}

macro_rules! integers {
    ($type:ty, $kind:expr, $sum:expr, $more:expr) => {{
        let function: fn($type, $type) -> $type = match $kind {
            BuiltIn::Max => |a, b| a.max(b),
            BuiltIn::Min => |a, b| a.min(b),
            BuiltIn::Sum => <$type>::wrapping_add,
            BuiltIn::Product => <$type>::wrapping_mul,
            BuiltIn::LogicalAnd => |a, b| <$type>::from(a != 0 && b != 0),
            BuiltIn::LogicalOr => |a, b| <$type>::from(a != 0 || b != 0),
            BuiltIn::LogicalXor => |a, b| <$type>::from((a != 0) != (b != 0)),
            BuiltIn::BitAnd => |a, b| a & b,
            BuiltIn::BitOr => |a, b| a | b,
            _ => |a, b| a ^ b,
        };
        elements(
            $sum,
            $more,
            <$type>::from_ne_bytes,
            <$type>::to_ne_bytes,
            function,
        )
    }};
}

macro_rules! floats {
    ($type:ty, $kind:expr, $sum:expr, $more:expr) => {{
        let function: fn($type, $type) -> $type = match $kind {
            BuiltIn::Max => |a, b| if b > a { b } else { a },
            BuiltIn::Min => |a, b| if b < a { b } else { a },
            BuiltIn::Sum => |a, b| a + b,
            _ => |a, b| a * b,
        };
        elements(
            $sum,
            $more,
            <$type>::from_ne_bytes,
            <$type>::to_ne_bytes,
            function,
        )
    }};
}

macro_rules! complex {
    ($type:ty, $bytes:literal, $kind:expr, $sum:expr, $more:expr) => {{
        let read = |bytes: [u8; 2 * $bytes]| {
            let (real, other) = bytes.split_at($bytes);
            let part =
                |part: &[u8]| <$type>::from_ne_bytes(part.try_into().expect("half of the bytes"));
            [part(real), part(other)]
        };
        let write = |[real, other]: [$type; 2]| {
            let mut bytes = [0; 2 * $bytes];
            bytes[..$bytes].copy_from_slice(&real.to_ne_bytes());
            bytes[$bytes..].copy_from_slice(&other.to_ne_bytes());
            bytes
        };
        let function: fn([$type; 2], [$type; 2]) -> [$type; 2] = match $kind {
            BuiltIn::Sum => |a, b| [a[0] + b[0], a[1] + b[1]],
            _ => |a, b| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]],
        };
        elements($sum, $more, read, write, function)
    }};
}

/// Applies a built-in operation to values of a basic type.
fn each(kind: BuiltIn, basic: Basic, sum: &mut [u8], more: &[u8], call: &Call) {
    match basic {
        Basic::Signed(1) => integers!(i8, kind, sum, more),
        Basic::Signed(2) => integers!(i16, kind, sum, more),
        Basic::Signed(4) | Basic::Logical => integers!(i32, kind, sum, more),
        Basic::Signed(_) => integers!(i64, kind, sum, more),
        Basic::Unsigned(1) | Basic::Byte | Basic::Bool => integers!(u8, kind, sum, more),
        Basic::Unsigned(2) => integers!(u16, kind, sum, more),
        Basic::Unsigned(4) => integers!(u32, kind, sum, more),
        Basic::Unsigned(_) => integers!(u64, kind, sum, more),
        Basic::Float => floats!(f32, kind, sum, more),
        Basic::Double => floats!(f64, kind, sum, more),
        Basic::FloatComplex => complex!(f32, 4, kind, sum, more),
        Basic::DoubleComplex => complex!(f64, 8, kind, sum, more),
        _ => call.unsupported(" of long double"),
    }
}

/// MINLOC and MAXLOC, on values each followed by an `int`.
fn by_pair(kind: BuiltIn, sum: &mut [u8], more: &[u8], of: &Type, call: &Call) {
    let basic = of.pieces[0].basic;
    let value = basic.bytes();
    let take = |sum: &[u8], more: &[u8]| {
        let better = match kind {
            BuiltIn::MinAt => BuiltIn::Min,
            _ => BuiltIn::Max,
        };
        if sum[..value] == more[..value] {
            let index = |bytes: &[u8]| {
                c_int::from_ne_bytes(bytes[value..value + 4].try_into().expect("an int follows"))
            };
            return index(more) < index(sum);
        }
        let mut best: Vec<u8> = sum[..value].into();
        each(better, basic, &mut best, &more[..value], call);
        best == more[..value]
    };
    for (sum, more) in sum
        .chunks_exact_mut(value + 4)
        .zip(more.chunks_exact(value + 4))
    {
        if take(sum, more) {
            sum.copy_from_slice(more);
        }
    }
}

fn create(call: &Call) -> Answer {
    // SAFETY: the program promises a function of this type.
    let function = unsafe { core::mem::transmute::<usize, Function>(call.word(0)) };
    let operation = UserOperation {
        function,
        commutes: call.int(1) != 0,
    };
    let number = {
        let mut state = state();
        let operations = &mut state.ranks[call.rank()].operations;
        operations.push(Some(operation));
        MADE + operations.len() as c_int - 1
    };
    call.put(2, number);
    Ok(())
}

fn free(call: &Call) -> Answer {
    let number: c_int = call.get(call.word(0), 0);
    let index = usize::try_from(number.wrapping_sub(MADE)).unwrap_or(usize::MAX);
    match state().ranks[call.rank()].operations.get_mut(index) {
        Some(known) if known.is_some() => *known = None,
        _ => {
            return invalid(
                ERR_OP,
                format!("{number:#x} is no operation that the program has made"),
            );
        }
    }
    call.put(0, OP_NULL);
    Ok(())
}

fn commutes(call: &Call) -> Answer {
    let number = call.int(0);
    let index = usize::try_from(number.wrapping_sub(MADE)).unwrap_or(usize::MAX);
    let known = state().ranks[call.rank()]
        .operations
        .get(index)
        .copied()
        .flatten();
    call.put(1, c_int::from(known.is_none_or(|known| known.commutes)));
    Ok(())
}

fn reduce_here(call: &Call) -> Answer {
    let of = datatypes::committed(call.rank(), call.int(3))?;
    let count = datatypes::count(call, 2)?;
    let operation = find(call, call.int(4), call.int(3))?;
    let mut first = of.pack(call.word(0), count, call);
    let second = of.pack(call.word(1), count, call);
    apply(&operation, &mut first, &second, &of, call)?;
    of.unpack(&first, call.word(1), count, call);
    Ok(())
}
