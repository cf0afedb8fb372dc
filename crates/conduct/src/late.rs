//! Loops around timed waits.
//!
//! A timed operation may time out whenever it could not succeed, and a second time-out in a row is a behaviour like any
//! other. Only a loop would go on with that for ever. There are two ways to cut one, and both give the operation
//! [`Gate::Late`]: it times out again only when nothing else can run.
//!
//! * *The round repeats*: the thread is back at the same operation in the same state, and has changed nothing on its way
//!   ([`Polls::timed`](crate::parking::Polls::timed)). Nothing is lost. What comes after another time-out comes after the
//!   one before too, if that happens later: the thread is in the same state, nobody has noticed the round, and in both
//!   cases the thread does not wait for a notification while it is on its way.
//! * *The loop changes its own state*, as one does that computes its next deadline from the clock. After [`IN_A_ROW`]
//!   time-outs at one place it is cut all the same, and the execution says so ([`Execution::timeouts_cut`]): the search
//!   is incomplete.
//!
//! Both are decided by what the thread itself has done and read, so equivalent executions have the same gates.
//!
//! *Spurious wake-ups*, where a target has them, are the same: a wait that ends for no reason is a behaviour like any other,
//! and a loop around it is cut in the same two ways. A target makes them an unordered choice before the wait ([`SPURIOUS`]),
//! so they are no progress: where no wait ends so, a deadlock is one.
//!
//! *Called by:* targets, before and after each timed operation.
//!
//! [`Execution::timeouts_cut`]: reweave_model::Execution::timeouts_cut

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{Gate, Op, Site, ThreadId};

/// How often an operation times out in a row at one place, though it comes there in another state each time. Most loops
/// that try again do so three times.
pub const IN_A_ROW: u32 = 4;

/// The choice before a wait that may end spuriously: 1 if it does. Such a thread only releases its mutex and takes it again. To
/// end spuriously later, after it has waited for a while, makes no difference: a notification that it misses finds another
/// waiter or none in both cases.
pub const SPURIOUS: Op = Op::Any(2);

/// Timed operations that timed out the last time.
#[derive(Debug, Default)]
pub(crate) struct LateWaits(Vec<LateWait>);

#[derive(Debug)]
struct LateWait {
    thread: ThreadId,
    key: Op,
    site: Site,
    /// How often in a row.
    times: u32,
}

impl LateWait {
    fn is(&self, thread: ThreadId, key: Op, site: Site) -> bool {
        (self.thread, self.key, self.site) == (thread, key, site)
    }
}

impl LateWaits {
    /// A new run.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    fn times(&self, thread: ThreadId, key: Op, site: Site) -> u32 {
        let mut known = self.0.iter();
        let known = known.find(|late| late.is(thread, key, site));
        known.map_or(0, |late| late.times)
    }
}

impl Run {
    /// The gate to announce a timed operation with, which is known by `key`; `repeats`: the round from the last time to here would repeat for
    /// ever.
    pub fn timed_gate(&mut self, thread: ThreadId, key: Op, site: Site, repeats: bool) -> Gate {
        let cut = !repeats && self.late.times(thread, key, site) >= IN_A_ROW;
        self.execution.timeouts_cut |= cut;
        match repeats || cut {
            true => Gate::Late,
            false => Gate::Open,
        }
    }

    /// How a timed operation ended; not `ok`: it timed out.
    pub fn timed(&mut self, thread: ThreadId, key: Op, site: Site, ok: bool) {
        let late = &mut self.late.0;
        let known = late.iter().position(|late| late.is(thread, key, site));
        match (known, ok) {
            (Some(known), true) => _ = late.swap_remove(known),
            (Some(known), false) => late[known].times = late[known].times.saturating_add(1),
            (None, true) => {}
            (None, false) => late.push(LateWait {
                thread,
                key,
                site,
                times: 1,
            }),
        }
    }
}
