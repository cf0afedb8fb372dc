//! Making data types, asking about them, and packing.

use super::{
    call::{Answer, Call, invalid, mpi},
    communicators::ERR_ARG,
    datatypes::{self, TYPE_NULL, Type},
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;

mpi! {
    MPI_Type_contiguous => contiguous;
    MPI_Type_vector => vector;
    MPI_Type_hvector => byte_vector;
    MPI_Type_create_hvector => byte_vector;
    MPI_Type_indexed => indexed;
    MPI_Type_create_indexed_block => indexed_blocks;
    MPI_Type_hindexed => byte_indexed_by_old_call;
    MPI_Type_create_hindexed => byte_indexed;
    MPI_Type_struct => structure;
    MPI_Type_create_struct => structure;
    MPI_Type_create_resized => resized;
    MPI_Type_dup => duplicate;
    MPI_Type_commit => commit;
    MPI_Type_free => free;
    MPI_Type_size => size;
    MPI_Type_get_extent => bounds;
    MPI_Type_get_true_extent => true_bounds;
    MPI_Type_extent => extent;
    MPI_Type_lb => lower;
    MPI_Type_ub => upper;
    MPI_Pack => pack;
    MPI_Unpack => unpack;
    MPI_Pack_size => room_for_packed;
    MPI_Get_address => address;
    MPI_Address => address;
}

/// Keeps a new type and answers with its number.
fn made(call: &Call, of: Type, result: usize) -> Answer {
    let made = Type {
        committed: false,
        made: call.site.0,
        ..of
    };
    call.put(result, datatypes::keep(call.rank(), made));
    Ok(())
}

fn find(call: &Call, at: usize) -> Answer<Type> {
    datatypes::find(call.rank(), call.int(at))
}

fn contiguous(call: &Call) -> Answer {
    let (count, of) = (datatypes::count(call, 0)?, find(call, 1)?);
    made(call, Type::of(&[(count, 0, &of)]), 2)
}

/// Blocks of so many values, at this distance from each other.
fn blocks(call: &Call, distance: impl Fn(&Type) -> isize) -> Answer {
    let (count, length) = (datatypes::count(call, 0)?, datatypes::count(call, 1)?);
    let of = find(call, 3)?;
    let distance = distance(&of);
    let parts: Vec<_> = (0..count as isize)
        .map(|place| (length, place * distance, &of))
        .collect();
    made(call, Type::of(&parts), 4)
}

fn vector(call: &Call) -> Answer {
    let stride = call.int(2) as isize;
    blocks(call, |of| stride * of.extent)
}

fn byte_vector(call: &Call) -> Answer {
    let stride = call.word(2) as isize;
    blocks(call, |_| stride)
}

/// Blocks by an array of lengths and one of places.
fn listed(call: &Call, place: impl Fn(usize, &Type) -> isize) -> Answer {
    let (count, of) = (datatypes::count(call, 0)?, find(call, 3)?);
    let parts: Answer<Vec<_>> = (0..count)
        .map(|index| Ok((length(call, 1, index)?, place(index, &of), &of)))
        .collect();
    made(call, Type::of(&parts?), 4)
}

fn length(call: &Call, array: usize, index: usize) -> Answer<usize> {
    let length: c_int = call.get(call.word(array), index);
    match usize::try_from(length) {
        Ok(length) => Ok(length),
        Err(_) => invalid(ERR_ARG, format!("a block has the length {length}")),
    }
}

fn indexed(call: &Call) -> Answer {
    listed(call, |index, of| {
        call.get::<c_int>(call.word(2), index) as isize * of.extent
    })
}

fn byte_indexed(call: &Call) -> Answer {
    listed(call, |index, _| call.get::<isize>(call.word(2), index))
}

fn byte_indexed_by_old_call(call: &Call) -> Answer {
    byte_indexed(call)
}

fn indexed_blocks(call: &Call) -> Answer {
    let (count, length) = (datatypes::count(call, 0)?, datatypes::count(call, 1)?);
    let of = find(call, 3)?;
    let place = |index| call.get::<c_int>(call.word(2), index) as isize * of.extent;
    let parts: Vec<_> = (0..count)
        .map(|index| (length, place(index), &of))
        .collect();
    made(call, Type::of(&parts), 4)
}

fn structure(call: &Call) -> Answer {
    let count = datatypes::count(call, 0)?;
    let mut types = Vec::new();
    for index in 0..count {
        types.push(datatypes::find(call.rank(), call.get(call.word(3), index))?);
    }
    let mut parts = Vec::new();
    for (index, of) in types.iter().enumerate() {
        parts.push((
            length(call, 1, index)?,
            call.get::<isize>(call.word(2), index),
            of,
        ));
    }
    let mut all = Type::of(&parts);
    // As compilers do, the end is moved to where the next structure can begin.
    let basics = all
        .pieces
        .iter()
        .map(|piece| piece.basic.bytes().min(16) as isize);
    let aligned = basics.max().unwrap_or(1).max(1);
    all.extent = (all.extent + aligned - 1) / aligned * aligned;
    made(call, all, 4)
}

fn resized(call: &Call) -> Answer {
    let of = Type {
        lower: call.word(1) as isize,
        extent: call.word(2) as isize,
        ..find(call, 0)?
    };
    made(call, of, 3)
}

fn duplicate(call: &Call) -> Answer {
    let of = find(call, 0)?;
    let committed = of.committed;
    let copy = Type {
        made: call.site.0,
        committed,
        ..of
    };
    call.put(1, datatypes::keep(call.rank(), copy));
    Ok(())
}

fn commit(call: &Call) -> Answer {
    let number: c_int = call.get(call.word(0), 0);
    if datatypes::find(call.rank(), number)?.made == 0 {
        return Ok(());
    }
    datatypes::change(call.rank(), number, |known| {
        if let Some(known) = known {
            known.committed = true;
        }
    })
}

fn free(call: &Call) -> Answer {
    let number: c_int = call.get(call.word(0), 0);
    datatypes::change(call.rank(), number, |known| *known = None)?;
    call.put(0, TYPE_NULL);
    Ok(())
}

fn size(call: &Call) -> Answer {
    call.put(1, find(call, 0)?.size() as c_int);
    Ok(())
}

fn bounds(call: &Call) -> Answer {
    let of = find(call, 0)?;
    call.put(1, of.lower);
    call.put(2, of.extent);
    Ok(())
}

fn true_bounds(call: &Call) -> Answer {
    let (lower, upper) = find(call, 0)?.true_bounds();
    call.put(1, lower);
    call.put(2, upper - lower);
    Ok(())
}

fn extent(call: &Call) -> Answer {
    call.put(1, find(call, 0)?.extent);
    Ok(())
}

fn lower(call: &Call) -> Answer {
    call.put(1, find(call, 0)?.lower);
    Ok(())
}

fn upper(call: &Call) -> Answer {
    let of = find(call, 0)?;
    call.put(1, of.lower + of.extent);
    Ok(())
}

/// The position in a buffer of packed values, and where it stands.
fn position(call: &Call, at: usize, bytes: usize, room: usize) -> Answer<usize> {
    let position: c_int = call.get(call.word(at), 0);
    match usize::try_from(position) {
        Ok(position) if position + bytes <= room => Ok(position),
        _ => invalid(
            ERR_ARG,
            format!("{bytes} bytes at {position} are beyond the {room} of the buffer"),
        ),
    }
}

fn pack(call: &Call) -> Answer {
    let (count, of) = (
        datatypes::count(call, 1)?,
        datatypes::committed(call.rank(), call.int(2))?,
    );
    let bytes = of.pack(call.word(0), count, call);
    let position = position(call, 5, bytes.len(), call.int(4).max(0) as usize)?;
    let raw = datatypes::find(call.rank(), PACKED)?;
    raw.unpack(&bytes, call.word(3) + position, bytes.len(), call);
    call.put(5, (position + bytes.len()) as c_int);
    Ok(())
}

const PACKED: c_int = 0x4c00_010f;

fn unpack(call: &Call) -> Answer {
    let (count, of) = (
        datatypes::count(call, 4)?,
        datatypes::committed(call.rank(), call.int(5))?,
    );
    let length = of.size() * count;
    let position = position(call, 2, length, call.int(1).max(0) as usize)?;
    let raw = datatypes::find(call.rank(), PACKED)?;
    let bytes = raw.pack(call.word(0) + position, length, call);
    of.unpack(&bytes, call.word(3), count, call);
    call.put(2, (position + length) as c_int);
    Ok(())
}

fn room_for_packed(call: &Call) -> Answer {
    let (count, of) = (datatypes::count(call, 0)?, find(call, 1)?);
    call.put(3, (of.size() * count) as c_int);
    Ok(())
}

fn address(call: &Call) -> Answer {
    call.put(1, call.word(0));
    Ok(())
}
