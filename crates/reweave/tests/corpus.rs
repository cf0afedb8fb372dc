//! The corpus of classic bugs: each is found for what it is, each corrected twin is explored
//! completely and clean.

mod classic_bugs;
mod harness;
mod prelude;

use classic_bugs::CASES;

#[test]
fn names_are_distinct() {
    harness::names_are_distinct(CASES);
}

#[test]
fn corrected_programs_end_outside_a_check() {
    harness::smoke(CASES);
}

#[test]
fn every_program_has_its_verdict_and_replays() {
    harness::check(CASES);
}
