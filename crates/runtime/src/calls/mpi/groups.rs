//! Groups: lists of ranks.

use super::{
    call::{Answer, Call, invalid, mpi},
    communicators::{IDENTICAL, SIMILAR, UNEQUAL},
    messages::{ERR_RANK, PROC_NULL},
    requests::UNDEFINED,
    state::state,
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;

const GROUP_EMPTY: c_int = 0x4800_0000;
const GROUP_NULL: c_int = 0x0800_0000;
/// Groups that the program makes have these numbers, from here on.
const MADE: c_int = 0x8800_0000_u32 as c_int;

mpi! {
    MPI_Group_size => size;
    MPI_Group_rank => rank;
    MPI_Group_translate_ranks => translate;
    MPI_Group_compare => compare;
    MPI_Group_union => union;
    MPI_Group_intersection => intersection;
    MPI_Group_difference => difference;
    MPI_Group_incl => include;
    MPI_Group_excl => exclude;
    MPI_Group_range_incl => include_ranges;
    MPI_Group_range_excl => exclude_ranges;
    MPI_Group_free => free;
}

/// The group with this number.
pub(super) fn find(rank: usize, number: c_int) -> Answer<Vec<usize>> {
    if number == GROUP_EMPTY {
        return Ok(Vec::new());
    }
    let index = usize::try_from(number.wrapping_sub(MADE)).ok();
    match index.and_then(|index| state().ranks[rank].groups.get(index)?.clone()) {
        Some(members) => Ok(members),
        None => invalid(8, format!("there is no group {number:#x}")),
    }
}

/// Keeps a new group; its number.
pub(super) fn keep(rank: usize, members: Vec<usize>) -> c_int {
    if members.is_empty() {
        return GROUP_EMPTY;
    }
    let mut state = state();
    let groups = &mut state.ranks[rank].groups;
    let free = groups.iter().position(Option::is_none);
    let index = free.unwrap_or(groups.len());
    if index == groups.len() {
        groups.push(None);
    }
    groups[index] = Some(members);
    MADE + index as c_int
}

/// Whether two lists have the same members, in the same order.
pub(super) fn compare_lists(first: &[usize], second: &[usize]) -> c_int {
    let has_all = |some: &[usize], all: &[usize]| some.iter().all(|rank| all.contains(rank));
    if first == second {
        IDENTICAL
    } else if has_all(first, second) && has_all(second, first) {
        SIMILAR
    } else {
        UNEQUAL
    }
}

fn group(call: &Call, at: usize) -> Answer<Vec<usize>> {
    find(call.rank(), call.int(at))
}

fn size(call: &Call) -> Answer {
    call.put(1, group(call, 0)?.len() as c_int);
    Ok(())
}

fn place_of(members: &[usize], rank: usize) -> c_int {
    let place = members.iter().position(|member| *member == rank);
    place.map_or(UNDEFINED, |place| place as c_int)
}

fn rank(call: &Call) -> Answer {
    call.put(1, place_of(&group(call, 0)?, call.rank()));
    Ok(())
}

fn translate(call: &Call) -> Answer {
    let (first, second) = (group(call, 0)?, group(call, 3)?);
    for place in 0..super::datatypes::count(call, 1)? {
        let rank: c_int = call.get(call.word(2), place);
        let translated = match rank {
            PROC_NULL => PROC_NULL,
            rank => place_of(&second, member(&first, rank)?),
        };
        call.put_at(call.word(4) + 4 * place, translated);
    }
    Ok(())
}

fn member(members: &[usize], rank: c_int) -> Answer<usize> {
    let found = usize::try_from(rank)
        .ok()
        .and_then(|rank| members.get(rank));
    match found {
        Some(found) => Ok(*found),
        None => invalid(
            ERR_RANK,
            format!("the group has {} ranks, and none is {rank}", members.len()),
        ),
    }
}

fn compare(call: &Call) -> Answer {
    call.put(2, compare_lists(&group(call, 0)?, &group(call, 1)?));
    Ok(())
}

fn combine(call: &Call, of: impl Fn(&[usize], &[usize]) -> Vec<usize>) -> Answer {
    let members = of(&group(call, 0)?, &group(call, 1)?);
    call.put(2, keep(call.rank(), members));
    Ok(())
}

fn chosen(from: &[usize], keep: impl Fn(&usize) -> bool) -> Vec<usize> {
    from.iter().copied().filter(|rank| keep(rank)).collect()
}

fn union(call: &Call) -> Answer {
    combine(call, |first, second| {
        let more = chosen(second, |rank| !first.contains(rank));
        first.iter().copied().chain(more).collect()
    })
}

fn intersection(call: &Call) -> Answer {
    combine(call, |first, second| {
        chosen(first, |rank| second.contains(rank))
    })
}

fn difference(call: &Call) -> Answer {
    combine(call, |first, second| {
        chosen(first, |rank| !second.contains(rank))
    })
}

/// The members that an array names, by rank.
fn named(call: &Call, members: &[usize]) -> Answer<Vec<usize>> {
    let count = super::datatypes::count(call, 1)?;
    (0..count)
        .map(|place| member(members, call.get(call.word(2), place)))
        .collect()
}

/// The members that triples of first, last and stride name.
fn in_ranges(call: &Call, members: &[usize]) -> Answer<Vec<usize>> {
    let mut all = Vec::new();
    for place in 0..super::datatypes::count(call, 1)? {
        let [first, last, stride]: [c_int; 3] = call.get(call.word(2), place);
        if stride == 0 {
            return invalid(super::communicators::ERR_ARG, "a range has the stride 0");
        }
        let mut rank = first;
        while if stride > 0 {
            rank <= last
        } else {
            rank >= last
        } {
            all.push(member(members, rank)?);
            rank += stride;
        }
    }
    Ok(all)
}

fn include(call: &Call) -> Answer {
    let members = named(call, &group(call, 0)?)?;
    call.put(3, keep(call.rank(), members));
    Ok(())
}

fn exclude(call: &Call) -> Answer {
    let all = group(call, 0)?;
    let members = named(call, &all)?;
    call.put(
        3,
        keep(call.rank(), chosen(&all, |rank| !members.contains(rank))),
    );
    Ok(())
}

fn include_ranges(call: &Call) -> Answer {
    let members = in_ranges(call, &group(call, 0)?)?;
    call.put(3, keep(call.rank(), members));
    Ok(())
}

fn exclude_ranges(call: &Call) -> Answer {
    let all = group(call, 0)?;
    let members = in_ranges(call, &all)?;
    call.put(
        3,
        keep(call.rank(), chosen(&all, |rank| !members.contains(rank))),
    );
    Ok(())
}

fn free(call: &Call) -> Answer {
    let number: c_int = call.get(call.word(0), 0);
    find(call.rank(), number)?;
    if let Some(index) = usize::try_from(number.wrapping_sub(MADE)).ok()
        && let Some(group) = state().ranks[call.rank()].groups.get_mut(index)
    {
        *group = None;
    }
    call.put(0, GROUP_NULL);
    Ok(())
}
