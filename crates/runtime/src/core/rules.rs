//! What costs events, and matters to few programs: it begins with a run that shows that it matters, and the search begins anew with it.

use crate::core::world;
use core::sync::atomic::{AtomicU32, Ordering};
use reweave_wire::{Note, Rule, Unit};

/// Those that hold, by number.
static HOLDING: AtomicU32 = AtomicU32::new(0);

/// Takes in what the driver says, once.
pub fn prepare(units: &[Unit]) {
    use Rule::*;
    let given = [
        Ranges, Table, Output, Names, Keys, Libraries, Streams, Positions, Handlers,
    ]
    .into_iter();
    let holding = given.filter(|rule| units.contains(&Unit::of(*rule)));
    let holding = holding.fold(0, |all, rule| all | 1 << rule as u32);
    HOLDING.store(holding, Ordering::Relaxed);
}

pub fn holds(rule: Rule) -> bool {
    HOLDING.load(Ordering::Relaxed) & 1 << rule as u32 != 0
}

/// It matters to this run; whether it holds already.
pub fn needs(rule: Rule) -> bool {
    if !holds(rule) {
        world::borrow().note(Note::Missing(Unit::of(rule)));
    }
    holds(rule)
}
