//! The collective calls: what each contributes and gets.

use super::{
    call::{Answer, Call, mpi},
    collectives::{self, Buffer, Collective, Outcome, Part, Pattern, buffer},
    communicators::{self, Member},
    datatypes,
    reductions::{self, Operation},
    requests::{self, Request, Work},
};
use alloc::{vec, vec::Vec};
use core::ffi::c_int;

mpi! {
    MPI_Barrier => barrier;
    MPI_Ibarrier => begin_barrier;
    MPI_Bcast => broadcast;
    MPI_Ibcast => begin_broadcast;
    MPI_Reduce => reduce;
    MPI_Ireduce => begin_reduce;
    MPI_Allreduce => reduce_for_all;
    MPI_Iallreduce => begin_reduce_for_all;
    MPI_Scan => scan;
    MPI_Iscan => begin_scan;
    MPI_Exscan => scan_before;
    MPI_Iexscan => begin_scan_before;
    MPI_Gather => gather;
    MPI_Igather => begin_gather;
    MPI_Gatherv => gather_lists;
    MPI_Allgather => gather_for_all;
    MPI_Iallgather => begin_gather_for_all;
    MPI_Allgatherv => gather_lists_for_all;
    MPI_Scatter => scatter;
    MPI_Iscatter => begin_scatter;
    MPI_Scatterv => scatter_lists;
    MPI_Alltoall => exchange;
    MPI_Ialltoall => begin_exchange;
    MPI_Alltoallv => exchange_lists;
    MPI_Alltoallw => exchange_types;
    MPI_Reduce_scatter => reduce_and_scatter;
    MPI_Reduce_scatter_block => reduce_and_scatter_blocks;
}

const IN_PLACE: usize = usize::MAX;

/// A call, and the argument for its request if it has one.
type Prepared = (Member, Collective);

fn at_once(call: &Call, (member, collective): Prepared) -> Answer {
    collectives::join(member, collective, call)?.complete(call)
}

fn begun(call: &Call, (member, collective): Prepared, request: usize) -> Answer {
    let joined = collectives::join(member, collective, call)?;
    let work = Work::Collective(joined);
    let number = requests::keep(call.rank(), Request::once(work, call.site));
    call.put(request, number);
    Ok(())
}

fn simple(pattern: Pattern, part: Part, outcome: Outcome) -> Collective {
    Collective {
        pattern,
        operation: None,
        part,
        outcome,
    }
}

fn comm(call: &Call, at: usize) -> Answer<Member> {
    communicators::find(call, call.int(at))
}

fn prepare_barrier(call: &Call) -> Answer<Prepared> {
    Ok((
        comm(call, 0)?,
        simple(Pattern::All, Part::default(), Outcome::Nothing),
    ))
}

fn barrier(call: &Call) -> Answer {
    at_once(call, prepare_barrier(call)?)
}

fn begin_barrier(call: &Call) -> Answer {
    begun(call, prepare_barrier(call)?, 1)
}

fn prepare_broadcast(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 4)?;
    let root = member.root(call.int(3))?;
    let data = buffer(call, 0)?;
    let (part, outcome) = match root == member.rank {
        true => (Part::whole(&data, call), Outcome::Nothing),
        false => (Part::default(), Outcome::Of(root, data)),
    };
    Ok((member, simple(Pattern::FromRoot(root), part, outcome)))
}

fn broadcast(call: &Call) -> Answer {
    at_once(call, prepare_broadcast(call)?)
}

fn begin_broadcast(call: &Call) -> Answer {
    begun(call, prepare_broadcast(call)?, 5)
}

/// Arguments of a reduction: both buffers, how many values of which type, and the operation.
struct Reduction {
    into: Buffer,
    part: Part,
    operation: Operation,
}

fn reduction(call: &Call, count: usize) -> Answer<Reduction> {
    let of = datatypes::committed(call.rank(), call.int(3))?;
    let operation = reductions::find(call, call.int(4), call.int(3))?;
    let at = |address: usize| Buffer {
        address,
        count,
        of: of.clone(),
    };
    let into = at(call.word(1));
    let from = if call.word(0) == IN_PLACE {
        at(call.word(1))
    } else {
        at(call.word(0))
    };
    let part = Part::whole(&from, call);
    Ok(Reduction {
        into,
        part,
        operation,
    })
}

impl Reduction {
    fn collective(self, pattern: Pattern, below: usize) -> Collective {
        let outcome = Outcome::Reduced {
            below,
            skip: 0,
            of: self.into.of.clone(),
            into: self.into,
        };
        Collective {
            pattern,
            operation: Some(self.operation),
            part: self.part,
            outcome,
        }
    }
}

fn prepare_reduce(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 6)?;
    let root = member.root(call.int(5))?;
    let reduction = reduction(call, datatypes::count(call, 2)?)?;
    let all = if root == member.rank {
        member.members.len()
    } else {
        0
    };
    Ok((member, reduction.collective(Pattern::ToRoot(root), all)))
}

fn reduce(call: &Call) -> Answer {
    at_once(call, prepare_reduce(call)?)
}

fn begin_reduce(call: &Call) -> Answer {
    begun(call, prepare_reduce(call)?, 7)
}

fn prepare_reduce_for_all(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 5)?;
    let reduction = reduction(call, datatypes::count(call, 2)?)?;
    let all = member.members.len();
    Ok((member, reduction.collective(Pattern::All, all)))
}

fn reduce_for_all(call: &Call) -> Answer {
    at_once(call, prepare_reduce_for_all(call)?)
}

fn begin_reduce_for_all(call: &Call) -> Answer {
    begun(call, prepare_reduce_for_all(call)?, 6)
}

fn prepare_scan(call: &Call, own: usize) -> Answer<Prepared> {
    let member = comm(call, 5)?;
    let reduction = reduction(call, datatypes::count(call, 2)?)?;
    let below = member.rank + own;
    Ok((member, reduction.collective(Pattern::Lower, below)))
}

fn scan(call: &Call) -> Answer {
    at_once(call, prepare_scan(call, 1)?)
}

fn begin_scan(call: &Call) -> Answer {
    begun(call, prepare_scan(call, 1)?, 6)
}

fn scan_before(call: &Call) -> Answer {
    at_once(call, prepare_scan(call, 0)?)
}

fn begin_scan_before(call: &Call) -> Answer {
    begun(call, prepare_scan(call, 0)?, 6)
}

/// The buffers of all members in one array: each so many values, one after the other.
fn in_a_row(all: &Buffer, members: usize) -> Vec<Buffer> {
    let bytes = all.count as isize * all.of.extent;
    let at = |place: usize| Buffer {
        address: all.address.wrapping_add_signed(place as isize * bytes),
        ..all.clone()
    };
    (0..members).map(at).collect()
}

/// The buffers of all members by arrays of counts and of distances, in values of one type.
fn by_lists(call: &Call, at: usize, of: c_int, members: usize) -> Answer<Vec<Buffer>> {
    let of = datatypes::committed(call.rank(), of)?;
    let (counts, distances) = (call.word(at + 1), call.word(at + 2));
    (0..members)
        .map(|place| {
            let distance: c_int = call.get(distances, place);
            let count: c_int = call.get(counts, place);
            let Ok(count) = usize::try_from(count) else {
                return super::call::invalid(
                    datatypes::ERR_COUNT,
                    alloc::format!("the count {count} is negative"),
                );
            };
            Ok(Buffer {
                address: call
                    .word(at)
                    .wrapping_add_signed(distance as isize * of.extent),
                count,
                of: of.clone(),
            })
        })
        .collect()
}

/// Gathers pieces at a member, or at all.
fn gathered(
    member: &Member,
    from: Part,
    into: Option<Vec<Buffer>>,
    own: bool,
    pattern: Pattern,
) -> Collective {
    let outcome = match into {
        Some(into) => {
            let all = into.into_iter().enumerate();
            // What is in place stays there.
            Outcome::Each(
                all.filter(|(from, _)| own || *from != member.rank)
                    .collect(),
            )
        }
        None => Outcome::Nothing,
    };
    simple(pattern, from, outcome)
}

/// The part that a member contributes: in its own buffer, or where its part of the result is to be.
fn own_part(call: &Call, member: &Member, into: Option<&Vec<Buffer>>) -> Answer<Part> {
    match into {
        Some(into) if call.word(0) == IN_PLACE => Ok(Part::whole(&into[member.rank], call)),
        _ => Ok(Part::whole(&buffer(call, 0)?, call)),
    }
}

fn prepare_gather(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 7)?;
    let root = member.root(call.int(6))?;
    let into = match root == member.rank {
        true => Some(in_a_row(&buffer(call, 3)?, member.members.len())),
        false => None,
    };
    let part = own_part(call, &member, into.as_ref())?;
    let own = call.word(0) != IN_PLACE;
    let collective = gathered(&member, part, into, own, Pattern::ToRoot(root));
    Ok((member, collective))
}

fn gather(call: &Call) -> Answer {
    at_once(call, prepare_gather(call)?)
}

fn begin_gather(call: &Call) -> Answer {
    begun(call, prepare_gather(call)?, 8)
}

fn gather_lists(call: &Call) -> Answer {
    let member = comm(call, 8)?;
    let root = member.root(call.int(7))?;
    let into = match root == member.rank {
        true => Some(by_lists(call, 3, call.int(6), member.members.len())?),
        false => None,
    };
    let part = own_part(call, &member, into.as_ref())?;
    let own = call.word(0) != IN_PLACE;
    let collective = gathered(&member, part, into, own, Pattern::ToRoot(root));
    at_once(call, (member, collective))
}

fn prepare_gather_for_all(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 6)?;
    let into = in_a_row(&buffer(call, 3)?, member.members.len());
    let part = own_part(call, &member, Some(&into))?;
    let own = call.word(0) != IN_PLACE;
    let collective = gathered(&member, part, Some(into), own, Pattern::All);
    Ok((member, collective))
}

fn gather_for_all(call: &Call) -> Answer {
    at_once(call, prepare_gather_for_all(call)?)
}

fn begin_gather_for_all(call: &Call) -> Answer {
    begun(call, prepare_gather_for_all(call)?, 7)
}

fn gather_lists_for_all(call: &Call) -> Answer {
    let member = comm(call, 7)?;
    let into = by_lists(call, 3, call.int(6), member.members.len())?;
    let part = own_part(call, &member, Some(&into))?;
    let own = call.word(0) != IN_PLACE;
    let collective = gathered(&member, part, Some(into), own, Pattern::All);
    at_once(call, (member, collective))
}

/// A piece for each member.
fn pieces(from: &[Buffer], call: &Call) -> Part {
    let pieces = from
        .iter()
        .map(|buffer| buffer.of.pack(buffer.address, buffer.count, call))
        .collect();
    // Pieces may have different numbers of values: their basic types say nothing beyond the first.
    let signature = match from.first() {
        Some(first)
            if from
                .iter()
                .all(|buffer| buffer.count == first.count && buffer.of == first.of) =>
        {
            first.of.signature(first.count)
        }
        _ => vec![(datatypes::Basic::Packed, 1)],
    };
    Part { pieces, signature }
}

fn scattered(
    call: &Call,
    member: &Member,
    root: usize,
    from: Option<Vec<Buffer>>,
    into: usize,
) -> Answer<Collective> {
    let part = from.map_or(Part::default(), |from| pieces(&from, call));
    let outcome = match call.word(into) {
        IN_PLACE if root == member.rank => Outcome::Nothing,
        _ => Outcome::Of(root, buffer(call, into)?),
    };
    Ok(simple(Pattern::FromRoot(root), part, outcome))
}

fn prepare_scatter(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 7)?;
    let root = member.root(call.int(6))?;
    let from = match root == member.rank {
        true => Some(in_a_row(&buffer(call, 0)?, member.members.len())),
        false => None,
    };
    let collective = scattered(call, &member, root, from, 3)?;
    Ok((member, collective))
}

fn scatter(call: &Call) -> Answer {
    at_once(call, prepare_scatter(call)?)
}

fn begin_scatter(call: &Call) -> Answer {
    begun(call, prepare_scatter(call)?, 8)
}

fn scatter_lists(call: &Call) -> Answer {
    let member = comm(call, 8)?;
    let root = member.root(call.int(7))?;
    let from = match root == member.rank {
        true => Some(by_lists(call, 0, call.int(3), member.members.len())?),
        false => None,
    };
    let collective = scattered(call, &member, root, from, 4)?;
    at_once(call, (member, collective))
}

fn exchanged(call: &Call, from: Option<Vec<Buffer>>, into: Vec<Buffer>) -> Collective {
    let part = pieces(from.as_ref().unwrap_or(&into), call);
    simple(
        Pattern::All,
        part,
        Outcome::Each(into.into_iter().enumerate().collect()),
    )
}

fn prepare_exchange(call: &Call) -> Answer<Prepared> {
    let member = comm(call, 6)?;
    let size = member.members.len();
    let from = match call.word(0) {
        IN_PLACE => None,
        _ => Some(in_a_row(&buffer(call, 0)?, size)),
    };
    let into = in_a_row(&buffer(call, 3)?, size);
    Ok((member, exchanged(call, from, into)))
}

fn exchange(call: &Call) -> Answer {
    at_once(call, prepare_exchange(call)?)
}

fn begin_exchange(call: &Call) -> Answer {
    begun(call, prepare_exchange(call)?, 7)
}

fn exchange_lists(call: &Call) -> Answer {
    let member = comm(call, 8)?;
    let size = member.members.len();
    let from = match call.word(0) {
        IN_PLACE => None,
        _ => Some(by_lists(call, 0, call.int(3), size)?),
    };
    let into = by_lists(call, 4, call.int(7), size)?;
    at_once(call, (member, exchanged(call, from, into)))
}

/// Buffers of all members by arrays of counts, of distances in bytes, and of types.
fn by_types(call: &Call, at: usize, members: usize) -> Answer<Vec<Buffer>> {
    (0..members)
        .map(|place| {
            let count: c_int = call.get(call.word(at + 1), place);
            let distance: c_int = call.get(call.word(at + 2), place);
            Ok(Buffer {
                address: call.word(at).wrapping_add_signed(distance as isize),
                count: count.max(0) as usize,
                of: datatypes::committed(call.rank(), call.get(call.word(at + 3), place))?,
            })
        })
        .collect()
}

fn exchange_types(call: &Call) -> Answer {
    let member = comm(call, 8)?;
    let size = member.members.len();
    let from = match call.word(0) {
        IN_PLACE => None,
        _ => Some(by_types(call, 0, size)?),
    };
    let into = by_types(call, 4, size)?;
    at_once(call, (member, exchanged(call, from, into)))
}

/// Reduces values of all members, of which each gets a part.
fn reduced_parts(call: &Call, member: Member, counts: &[usize]) -> Answer {
    let all = counts.iter().sum();
    let reduction = reduction(call, all)?;
    let of = reduction.into.of.clone();
    let before: usize = counts[..member.rank].iter().sum();
    let outcome = Outcome::Reduced {
        below: member.members.len(),
        skip: before * of.size(),
        into: Buffer {
            count: counts[member.rank],
            ..reduction.into
        },
        of,
    };
    let collective = Collective {
        pattern: Pattern::All,
        operation: Some(reduction.operation),
        part: reduction.part,
        outcome,
    };
    at_once(call, (member, collective))
}

fn reduce_and_scatter(call: &Call) -> Answer {
    let member = comm(call, 5)?;
    let count = |place| call.get::<c_int>(call.word(2), place).max(0) as usize;
    let counts: Vec<usize> = (0..member.members.len()).map(count).collect();
    reduced_parts(call, member, &counts)
}

fn reduce_and_scatter_blocks(call: &Call) -> Answer {
    let member = comm(call, 5)?;
    let counts = vec![datatypes::count(call, 2)?; member.members.len()];
    reduced_parts(call, member, &counts)
}
