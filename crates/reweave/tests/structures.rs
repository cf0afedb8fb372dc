//! Structures of some size: explored completely and clean as they are, and caught when a bug is
//! seeded.

mod data_structures;
mod harness;
mod prelude;

use data_structures::CASES;

#[test]
fn names_are_distinct() {
    harness::names_are_distinct(CASES);
}

#[test]
fn drivers_end_outside_a_check() {
    harness::smoke(CASES);
}

#[test]
fn every_driver_has_its_verdict_and_replays() {
    harness::check(CASES);
}
