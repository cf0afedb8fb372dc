//! Communicators: their members, and making more of them.

use super::{
    call::{Answer, Call, invalid, mpi},
    collectives::{self, Collective, Instance, Joined, Outcome, Part, Pattern},
    groups,
    messages::ERR_RANK,
    requests::UNDEFINED,
    state::state,
};
use alloc::{format, vec, vec::Vec};
use core::ffi::c_int;
use reweave_model::Site;

pub(super) const WORLD: c_int = 0x4400_0000;
const SELF: c_int = 0x4400_0001;
pub(super) const COMM_NULL: c_int = 0x0400_0000;
/// Communicators that the program makes have these numbers, from here on.
const MADE: c_int = 0x8400_0000_u32 as c_int;
const ERR_COMM: c_int = 5;
pub(super) const ERR_ARG: c_int = 12;

mpi! {
    MPI_Comm_size => size;
    MPI_Comm_rank => rank;
    MPI_Comm_dup => duplicate;
    MPI_Comm_dup_with_info => duplicate_with_info;
    MPI_Comm_split => split;
    MPI_Comm_split_type => split_by_type;
    MPI_Comm_create => create;
    MPI_Comm_free => free;
    MPI_Comm_compare => compare;
    MPI_Comm_group => group;
    MPI_Comm_test_inter => is_inter;
    MPI_Comm_remote_size => not_inter;
    MPI_Cart_create => create_grid;
    MPI_Cart_coords => coordinates;
    MPI_Cart_rank => rank_at;
    MPI_Cart_shift => shift;
    MPI_Cart_get => get_grid;
    MPI_Cartdim_get => get_dimensions;
    MPI_Cart_sub => sub_grid;
    MPI_Dims_create => choose_dimensions;
    MPI_Topo_test => topology;
}

/// A grid of ranks: how many in each dimension, and whether it closes.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    sizes: Vec<usize>,
    closed: Vec<bool>,
}

/// See the module.
pub(super) struct Comm {
    /// Its members in order, by their numbers among all ranks.
    members: Vec<usize>,
    /// How many collective calls each member has made, and the calls.
    pub(super) calls: Vec<usize>,
    pub(super) instances: Vec<Instance>,
    grid: Option<Grid>,
    /// Members that have freed it.
    freed: Vec<bool>,
    pub(super) made: Site,
}

impl Comm {
    fn new(members: Vec<usize>, made: Site) -> Comm {
        Comm {
            calls: vec![0; members.len()],
            freed: vec![false; members.len()],
            instances: Vec::new(),
            grid: None,
            members,
            made,
        }
    }

    /// Those that are there from the beginning: of all ranks, and one of each.
    pub(super) fn first(ranks: usize) -> Vec<Comm> {
        let built_in = Site(0);
        let world = Comm::new((0..ranks).collect(), built_in);
        let own = (0..ranks).map(|rank| Comm::new(vec![rank], built_in));
        core::iter::once(world).chain(own).collect()
    }

    /// Whether a rank is a member of one that the program has made, and has not freed it.
    pub(super) fn is_left(&self, rank: usize) -> bool {
        let place = self.members.iter().position(|member| *member == rank);
        self.made != Site(0) && place.is_some_and(|place| !self.freed[place])
    }
}

/// A communicator as one of its members sees it.
#[derive(Clone)]
pub(super) struct Member {
    /// Its number.
    pub(super) comm: usize,
    pub(super) members: Vec<usize>,
    /// The running rank, as it counts there.
    pub(super) rank: usize,
}

impl Member {
    /// The number among all ranks of one of the members.
    pub(super) fn world(&self, rank: c_int) -> Answer<usize> {
        let member = usize::try_from(rank)
            .ok()
            .and_then(|rank| self.members.get(rank));
        match member {
            Some(member) => Ok(*member),
            None => invalid(
                ERR_RANK,
                format!(
                    "the communicator has {} ranks, and none is {rank}",
                    self.members.len()
                ),
            ),
        }
    }

    /// The rank of a member.
    pub(super) fn rank_of(&self, world: usize) -> c_int {
        let place = self.members.iter().position(|member| *member == world);
        place.map_or(UNDEFINED, |place| place as c_int)
    }

    /// The member that an argument names as the root.
    pub(super) fn root(&self, root: c_int) -> Answer<usize> {
        match usize::try_from(root) {
            Ok(rank) if rank < self.members.len() => Ok(rank),
            _ => invalid(
                7,
                format!(
                    "the communicator has {} ranks, and none is the root {root}",
                    self.members.len()
                ),
            ),
        }
    }
}

/// The communicator of this number.
pub(super) fn find(call: &Call, number: c_int) -> Answer<Member> {
    let me = call.rank();
    let comm = match number {
        WORLD => 0,
        SELF => 1 + me,
        COMM_NULL => return invalid(ERR_COMM, "the communicator is MPI_COMM_NULL"),
        number => usize::try_from(number.wrapping_sub(MADE)).unwrap_or(usize::MAX),
    };
    let state = state();
    let known = state.comms.get(comm);
    let rank = known.and_then(|known| known.members.iter().position(|member| *member == me));
    match known.zip(rank) {
        Some((known, rank)) if !known.freed[rank] => Ok(Member {
            comm,
            members: known.members.clone(),
            rank,
        }),
        _ => invalid(ERR_COMM, format!("there is no communicator {number:#x}")),
    }
}

/// The number by which the program knows one that it made.
fn number(comm: usize) -> c_int {
    MADE + comm as c_int
}

fn size(call: &Call) -> Answer {
    let member = find(call, call.int(0))?;
    call.put(1, member.members.len() as c_int);
    Ok(())
}

fn rank(call: &Call) -> Answer {
    let member = find(call, call.int(0))?;
    call.put(1, member.rank as c_int);
    Ok(())
}

/// All members come together, each with some numbers.
pub(super) fn meet(member: Member, numbers: &[c_int], call: &Call) -> Answer<Joined> {
    let bytes = numbers
        .iter()
        .flat_map(|number| number.to_ne_bytes())
        .collect();
    let collective = Collective {
        pattern: Pattern::All,
        operation: None,
        part: Part {
            pieces: vec![bytes],
            signature: Vec::new(),
        },
        outcome: Outcome::Nothing,
    };
    let joined = collectives::join(member, collective, call)?;
    joined.meet(call);
    Ok(joined)
}

/// The numbers that a member came with.
fn numbers_of(joined: &Joined, member: usize) -> Vec<c_int> {
    let bytes = joined.piece(member).0;
    let words = bytes.chunks_exact(4);
    words
        .map(|word| c_int::from_ne_bytes(word.try_into().expect("four bytes")))
        .collect()
}

/// The new communicator of those with one colour, which the first of them makes.
fn made(
    joined: &Joined,
    colour: c_int,
    members: Vec<usize>,
    grid: Option<Grid>,
    call: &Call,
) -> usize {
    let known = joined.with(|instance| {
        let known = instance.made.iter().find(|(known, _)| *known == colour);
        known.map(|(_, comm)| *comm)
    });
    known.unwrap_or_else(|| {
        let comm = {
            let mut state = state();
            let made = Comm {
                grid,
                ..Comm::new(members, call.site)
            };
            state.comms.push(made);
            state.comms.len() - 1
        };
        joined.with(|instance| instance.made.push((colour, comm)));
        comm
    })
}

fn duplicate(call: &Call) -> Answer {
    duplicate_into(call, 1)
}

fn duplicate_with_info(call: &Call) -> Answer {
    duplicate_into(call, 2)
}

fn duplicate_into(call: &Call, result: usize) -> Answer {
    let member = find(call, call.int(0))?;
    let (members, comm) = (member.members.clone(), member.comm);
    let joined = meet(member, &[], call)?;
    let grid = state().comms[comm].grid.clone();
    let copy = made(&joined, 0, members, grid, call);
    call.put(result, number(copy));
    Ok(())
}

fn split(call: &Call) -> Answer {
    let (colour, key) = (call.int(1), call.int(2));
    if colour < 0 && colour != UNDEFINED {
        return invalid(ERR_ARG, format!("{colour} is no colour"));
    }
    split_into(call, colour, key, 3)
}

/// All ranks share memory, as the standard has it: they are on one machine.
fn split_by_type(call: &Call) -> Answer {
    let colour = if call.int(1) == UNDEFINED {
        UNDEFINED
    } else {
        0
    };
    split_into(call, colour, call.int(2), 4)
}

fn split_into(call: &Call, colour: c_int, key: c_int, result: usize) -> Answer {
    let member = find(call, call.int(0))?;
    let joined = meet(member, &[colour, key], call)?;
    let comm = split_members(&joined, colour, None, call);
    call.put(result, comm.map_or(COMM_NULL, number));
    Ok(())
}

/// The new communicator of the members that came with a colour, in the order of their keys.
fn split_members(joined: &Joined, colour: c_int, grid: Option<Grid>, call: &Call) -> Option<usize> {
    if colour == UNDEFINED {
        return None;
    }
    let all = &joined.member.members;
    let mut own: Vec<(c_int, usize)> = (0..all.len())
        .map(|place| (numbers_of(joined, place), place))
        .filter(|(numbers, _)| numbers[0] == colour)
        .map(|(numbers, place)| (numbers[1], place))
        .collect();
    own.sort_unstable();
    let members = own.into_iter().map(|(_, place)| all[place]).collect();
    Some(made(joined, colour, members, grid, call))
}

fn create(call: &Call) -> Answer {
    let member = find(call, call.int(0))?;
    let group = groups::find(call.rank(), call.int(1))?;
    if group.iter().any(|rank| !member.members.contains(rank)) {
        return invalid(8, "the group has ranks that are not in the communicator");
    }
    let joined = meet(member, &[], call)?;
    let comm = group.contains(&call.rank()).then(|| {
        let colour = group[0] as c_int;
        made(&joined, colour, group, None, call)
    });
    call.put(2, comm.map_or(COMM_NULL, number));
    Ok(())
}

fn free(call: &Call) -> Answer {
    let handle: c_int = call.get(call.word(0), 0);
    let member = find(call, handle)?;
    if matches!(handle, WORLD | SELF) {
        return invalid(ERR_COMM, "the communicator is built in");
    }
    super::environment::delete_attributes(call, member.comm);
    let joined = meet(member, &[], call)?;
    state().comms[joined.member.comm].freed[joined.member.rank] = true;
    call.put(0, COMM_NULL);
    Ok(())
}

/// Numbers that comparisons return.
pub(super) const IDENTICAL: c_int = 0;
const CONGRUENT: c_int = 1;
pub(super) const SIMILAR: c_int = 2;
pub(super) const UNEQUAL: c_int = 3;

fn compare(call: &Call) -> Answer {
    let (first, second) = (find(call, call.int(0))?, find(call, call.int(1))?);
    let result = match groups::compare_lists(&first.members, &second.members) {
        IDENTICAL if first.comm != second.comm => CONGRUENT,
        result => result,
    };
    call.put(2, result);
    Ok(())
}

fn group(call: &Call) -> Answer {
    let members = find(call, call.int(0))?.members;
    call.put(1, groups::keep(call.rank(), members));
    Ok(())
}

fn is_inter(call: &Call) -> Answer {
    find(call, call.int(0))?;
    call.put(1, 0 as c_int);
    Ok(())
}

fn not_inter(call: &Call) -> Answer {
    find(call, call.int(0))?;
    invalid(ERR_COMM, "the communicator is no inter-communicator")
}

impl Grid {
    fn ranks(&self) -> usize {
        self.sizes.iter().product()
    }

    fn coordinates(&self, mut rank: usize) -> Vec<usize> {
        let mut all = vec![0; self.sizes.len()];
        for (place, size) in self.sizes.iter().enumerate().rev() {
            all[place] = rank % size;
            rank /= size;
        }
        all
    }

    /// The rank at a place; `None`: it is outside.
    fn rank(&self, place: &[i64]) -> Option<usize> {
        let mut rank = 0;
        for ((at, size), closed) in place.iter().zip(&self.sizes).zip(&self.closed) {
            let inside = 0 <= *at && *at < *size as i64;
            if !inside && !closed {
                return None;
            }
            rank = rank * size + at.rem_euclid(*size as i64) as usize;
        }
        Some(rank)
    }
}

fn grid(call: &Call) -> Answer<(Member, Grid)> {
    let member = find(call, call.int(0))?;
    let grid = state().comms[member.comm].grid.clone();
    match grid {
        Some(grid) => Ok((member, grid)),
        None => invalid(10, "the communicator has no grid"),
    }
}

fn create_grid(call: &Call) -> Answer {
    let member = find(call, call.int(0))?;
    let count = super::datatypes::count(call, 1)?;
    let size = |place| {
        usize::try_from(call.get::<c_int>(call.word(2), place))
            .ok()
            .filter(|size| *size > 0)
    };
    let sizes: Option<Vec<usize>> = (0..count).map(size).collect();
    let Some(sizes) = sizes else {
        return invalid(11, "a dimension has no size");
    };
    let closed = (0..count)
        .map(|place| call.get::<c_int>(call.word(3), place) != 0)
        .collect();
    let grid = Grid { sizes, closed };
    let ranks = grid.ranks();
    if ranks > member.members.len() {
        return invalid(
            11,
            format!(
                "the grid has {ranks} places, and the communicator {} ranks",
                member.members.len()
            ),
        );
    }
    let rank = member.rank;
    let colour = if rank < ranks { 0 } else { UNDEFINED };
    let joined = meet(member, &[colour, rank as c_int], call)?;
    let comm = split_members(&joined, colour, Some(grid), call);
    call.put(5, comm.map_or(COMM_NULL, number));
    Ok(())
}

fn coordinates(call: &Call) -> Answer {
    let (member, grid) = grid(call)?;
    member.world(call.int(1))?;
    let all = grid.coordinates(call.int(1) as usize);
    let most = super::datatypes::count(call, 2)?;
    for (place, at) in all.into_iter().take(most).enumerate() {
        call.put_at(call.word(3) + 4 * place, at as c_int);
    }
    Ok(())
}

fn rank_at(call: &Call) -> Answer {
    let (_, grid) = grid(call)?;
    let places = 0..grid.sizes.len();
    let place: Vec<i64> = places
        .map(|place| call.get::<c_int>(call.word(1), place).into())
        .collect();
    match grid.rank(&place) {
        Some(rank) => {
            call.put(2, rank as c_int);
            Ok(())
        }
        None => invalid(ERR_RANK, "the place is outside of the grid"),
    }
}

fn shift(call: &Call) -> Answer {
    let (member, grid) = grid(call)?;
    let dimension = super::datatypes::count(call, 1)?;
    if dimension >= grid.sizes.len() {
        return invalid(11, format!("the grid has no dimension {dimension}"));
    }
    let own = grid.coordinates(member.rank);
    let neighbour = |by: i64| {
        let mut place: Vec<i64> = own.iter().map(|at| *at as i64).collect();
        place[dimension] += by;
        grid.rank(&place)
            .map_or(super::messages::PROC_NULL, |rank| rank as c_int)
    };
    let by = i64::from(call.int(2));
    call.put(3, neighbour(-by));
    call.put(4, neighbour(by));
    Ok(())
}

fn get_grid(call: &Call) -> Answer {
    let (member, grid) = grid(call)?;
    let most = super::datatypes::count(call, 1)?;
    let own = grid.coordinates(member.rank);
    for (place, at) in own.into_iter().take(most).enumerate() {
        call.put_at(call.word(2) + 4 * place, grid.sizes[place] as c_int);
        call.put_at(call.word(3) + 4 * place, c_int::from(grid.closed[place]));
        call.put_at(call.word(4) + 4 * place, at as c_int);
    }
    Ok(())
}

fn get_dimensions(call: &Call) -> Answer {
    let (_, grid) = grid(call)?;
    call.put(1, grid.sizes.len() as c_int);
    Ok(())
}

fn sub_grid(call: &Call) -> Answer {
    let (member, grid) = grid(call)?;
    let own = grid.coordinates(member.rank);
    let kept: Vec<bool> = (0..own.len())
        .map(|place| call.get::<c_int>(call.word(1), place) != 0)
        .collect();
    let (mut colour, mut key) = (0, 0);
    for place in 0..own.len() {
        let number = if kept[place] { &mut key } else { &mut colour };
        *number = *number * grid.sizes[place] + own[place];
    }
    let keep = |place: &usize| kept[*place];
    let part = Grid {
        sizes: (0..own.len())
            .filter(keep)
            .map(|place| grid.sizes[place])
            .collect(),
        closed: (0..own.len())
            .filter(keep)
            .map(|place| grid.closed[place])
            .collect(),
    };
    let joined = meet(member, &[colour as c_int, key as c_int], call)?;
    let comm = split_members(&joined, colour as c_int, Some(part), call);
    call.put(2, comm.map_or(COMM_NULL, number));
    Ok(())
}

/// Sizes as even as they can be, largest first; those that are not 0 are kept.
fn choose_dimensions(call: &Call) -> Answer {
    let (ranks, count) = (
        super::datatypes::count(call, 0)?,
        super::datatypes::count(call, 1)?,
    );
    let mut sizes: Vec<usize> = (0..count)
        .map(|place| call.get::<c_int>(call.word(2), place).max(0) as usize)
        .collect();
    let given: usize = sizes.iter().filter(|size| **size > 0).product();
    let open = sizes.iter().filter(|size| **size == 0).count();
    if given == 0 || !ranks.is_multiple_of(given) || open == 0 && ranks != given {
        return invalid(11, format!("{ranks} ranks cannot be divided so"));
    }
    let mut chosen = vec![1; open];
    let mut rest = ranks / given;
    let mut factors = Vec::new();
    let mut factor = 2;
    while rest > 1 {
        while rest.is_multiple_of(factor) {
            factors.push(factor);
            rest /= factor;
        }
        factor += 1;
    }
    for factor in factors.into_iter().rev() {
        if let Some(least) = chosen.iter_mut().min() {
            *least *= factor;
        }
    }
    chosen.sort_unstable_by(|a, b| b.cmp(a));
    let mut chosen = chosen.into_iter();
    for size in sizes.iter_mut().filter(|size| **size == 0) {
        *size = chosen.next().unwrap_or(1);
    }
    for (place, size) in sizes.into_iter().enumerate() {
        call.put_at(call.word(2) + 4 * place, size as c_int);
    }
    Ok(())
}

fn topology(call: &Call) -> Answer {
    const CART: c_int = 2;
    let member = find(call, call.int(0))?;
    let grid = state().comms[member.comm].grid.is_some();
    call.put(1, if grid { CART } else { UNDEFINED });
    Ok(())
}
