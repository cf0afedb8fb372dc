//! Guessed leader: after the barrier the thread that made the others takes itself for the one that
//! sums up. A barrier says who leads, and it can be anybody; two that sum up, or none, is the
//! result of guessing.

use crate::prelude::{
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};

/// The leader sums up; `maker_too`: and so does the thread that made the other, in the belief that
/// it leads.
fn run(maker_too: bool) {
    let barrier = Barrier::new(2);
    let sums = AtomicU32::new(0);
    let meet = |i_lead: bool| {
        if barrier.wait().is_leader() || i_lead {
            sums.fetch_add(1, SeqCst);
        }
    };
    thread::scope(|s| {
        s.spawn(|| meet(false));
        meet(maker_too);
    });
    assert_eq!(sums.load(SeqCst), 1, "summed up once");
}

pub fn broken() {
    run(true);
}

pub fn fixed() {
    run(false);
}
