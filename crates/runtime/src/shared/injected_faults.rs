//! Faults of the surroundings that are explored on request: each is an outcome beside the usual one, chosen by an operation that nothing orders.
//!
//! *Called by:* the kernel and the calls that such a fault can meet, before they do anything. *Owns:* which threads were interrupted last.

use crate::{
    core::{channel, per_thread::PerThread},
    run::{operations::visible, world},
};
use core::sync::atomic::Ordering;
use reweave_model::{Op, Site};
use reweave_wire::Fault;

/// Whether the last call of each thread that could be interrupted was.
static INTERRUPTED: PerThread<bool> = PerThread::new();

/// A new run.
pub(crate) fn clear() {
    INTERRUPTED.clear();
}

fn wanted(fault: Fault) -> bool {
    channel::header().faults.load(Ordering::Relaxed) & fault as u32 != 0
}

/// Whether it happens here: a choice.
fn happens(site: Site) -> bool {
    visible(Op::Any(2), site).result == 1
}

/// How many of so many bytes a call moves at most: all, or one.
pub(crate) fn most(bytes: usize, site: Site) -> usize {
    match bytes > 1 && wanted(Fault::ShortIo) && happens(site) {
        true => 1,
        false => bytes,
    }
}

/// Whether a call that waits is interrupted by a signal before it has done anything. Never twice in a row: a loop around the call goes on.
pub(crate) fn interrupts(site: Site) -> bool {
    if !wanted(Fault::Interrupts) {
        return false;
    }
    let me = world::borrow().current;
    let before = INTERRUPTED.with(me, core::mem::take);
    let now = !before && happens(site);
    INTERRUPTED.with(me, |interrupted| *interrupted = now);
    now
}

/// Whether a datagram gets lost.
pub(crate) fn loses(site: Site) -> bool {
    wanted(Fault::Loss) && happens(site)
}
