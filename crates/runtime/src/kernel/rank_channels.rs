//! What ranks of MPI wait for, as objects of the model: channels between two ranks, and barriers.
//!
//! *Called by:* `calls/mpi`. *Owns:* nothing: an object goes by an address, where nothing lies, that says what it is.
//!
//! A channel has one sender and one receiver, so the model never sees two orders of what is done to it.

use crate::{core::objects::Sort, kernel::file_objects, run::world};
use alloc::{format, string::String};
use reweave_model::{Object, ObjectId};

/// What an object is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RankObject {
    /// The messages from one rank to another.
    Messages { from: usize, to: usize },
    /// The receives that one rank has posted for messages of another.
    Receives { from: usize, to: usize },
    /// What one rank contributes to collective calls, for another one.
    Parts { from: usize, to: usize },
    /// A collective call that all ranks of a communicator wait in, by the communicator's number and how many came before.
    Meeting { context: usize, number: usize },
}

/// Numbers of objects begin here, far from all that are fixed and within those that are hashes.
const FIRST: usize = 0x155_0000_0000;
const KIND: usize = 32;
const HALF: usize = 16;

impl RankObject {
    fn number(self) -> usize {
        let (kind, high, low) = match self {
            RankObject::Messages { from, to } => (0, from, to),
            RankObject::Receives { from, to } => (1, from, to),
            RankObject::Parts { from, to } => (2, from, to),
            RankObject::Meeting { context, number } => (3, context, number),
        };
        FIRST + (kind << KIND) + ((high & 0xffff) << HALF) + (low & 0xffff)
    }

    /// Makes the object.
    pub(crate) fn make(self, parties: usize) -> ObjectId {
        let object = match self {
            RankObject::Meeting { .. } => Object::barrier_without_leader(parties as u32),
            _ => Object::channel(None),
        };
        let place = file_objects::address(self.number());
        world::borrow().make_beside(place, Sort::Pipe, object)
    }
}

/// The name of the object that goes by this address.
pub(crate) fn named(place: usize) -> Option<String> {
    let first = file_objects::address(FIRST);
    let number = place.checked_sub(first)? >> 3;
    let (high, low) = (number >> HALF & 0xffff, number & 0xffff);
    Some(match number >> KIND {
        0 => format!("the messages from rank {high} to rank {low}"),
        1 => format!("the receives of rank {low} for messages from rank {high}"),
        2 => format!("the collective data from rank {high} to rank {low}"),
        3 => format!("collective call {low} of communicator {high}"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_have_addresses_of_their_own_and_names() {
        let name = |object: RankObject| named(file_objects::address(object.number()));
        let messages = RankObject::Messages { from: 3, to: 63 };
        assert_eq!(
            name(messages).as_deref(),
            Some("the messages from rank 3 to rank 63")
        );
        let meeting = RankObject::Meeting {
            context: 2,
            number: 7,
        };
        assert_eq!(
            name(meeting).as_deref(),
            Some("collective call 7 of communicator 2")
        );
        assert_eq!(named(file_objects::address(0x100)), None);
    }
}
