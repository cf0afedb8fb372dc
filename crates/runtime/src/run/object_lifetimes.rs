//! Races between making or destroying a synchronisation object and using it. Making and destroying are no operations of the
//! model, but writes to the object's memory.

use crate::core::objects::{Known, Sort};
use reweave_model::Site;

/// The rule that two unordered accesses at these sites break, and its message, if one of them makes or destroys the
/// synchronisation object at this address.
pub fn unordered(
    objects: &[Known],
    address: usize,
    sites: [Site; 2],
) -> Option<(&'static str, &'static str)> {
    let here = objects.iter().rev().filter(|known| {
        let end = known.address.saturating_add(known.bytes as usize);
        !matches!(known.sort, Sort::Atomic | Sort::Wide) && (known.address..end).contains(&address)
    });
    for known in here {
        if sites.contains(&Site(known.destroyed)) {
            return Some((
                "destroyed-in-use",
                "{0} is destroyed, and nothing orders that with its use",
            ));
        }
        if sites.contains(&Site(known.made)) {
            return Some((
                "uninitialised",
                "{0} is used, and nothing orders that after its initialisation",
            ));
        }
    }
    None
}
