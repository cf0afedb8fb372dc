//! Expensive modelling that few programs need. It is off until a run shows that it matters; then the search restarts with it.

use crate::run::world;
use core::sync::atomic::{AtomicU32, Ordering};
use reweave_wire::{Note, Rule, Rules};

/// The rules that this process follows, as [`Rules::bits`].
static FOLLOWED: AtomicU32 = AtomicU32::new(0);

/// Takes in the driver's rules, once.
pub fn prepare(rules: Rules) {
    FOLLOWED.store(rules.bits(), Ordering::Relaxed);
}

pub fn holds(rule: Rule) -> bool {
    FOLLOWED.load(Ordering::Relaxed) & 1 << rule as u32 != 0
}

/// The rule matters to this run. Returns whether the process follows it already.
pub fn needs(rule: Rule) -> bool {
    if !holds(rule) {
        world::borrow().note(Note::Needs(rule));
    }
    holds(rule)
}
