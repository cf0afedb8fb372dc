//! Timed waits that time out only when nothing else can run.
//!
//! A timed operation may time out whenever it could not succeed. A loop around one would do so any number of times. So
//! an operation that timed out before, of a thread that has learned nothing of other threads since, gets
//! [`Gate::Late`]: it times out again only when nothing else can run.
//!
//! *The same operation* means the same object at the same place. Without the object, two waits of one helper function
//! would count as one. Without the place, `p = wait(); if p { q = wait() }` would never see both time out. A target
//! whose places depend on the compiler passes [`Site::ANY`] as the place: native code does, because a compiler may
//! unroll a loop or inline a function, and the number of executions must not depend on that. `docs/limits.md` says what
//! is missed then.
//!
//! Whether a thread has learned something is decided by dependence ([`Run::heard`]), so equivalent executions have the
//! same gates.
//!
//! *Called by:* targets, before and after each timed operation.

use crate::run::Run;
use alloc::vec::Vec;
use reweave_model::{Gate, ObjectId, Site, ThreadId};

/// Timed operations that timed out the last time.
#[derive(Debug, Default)]
pub(crate) struct LateWaits(Vec<LateWait>);

#[derive(Debug)]
struct LateWait {
    thread: ThreadId,
    object: ObjectId,
    site: Site,
    /// How many events the thread had done then.
    since: u32,
}

impl LateWait {
    fn is(&self, thread: ThreadId, object: ObjectId, site: Site) -> bool {
        (self.thread, self.object, self.site) == (thread, object, site)
    }
}

impl LateWaits {
    /// A new run.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Run {
    /// The gate to announce a timed operation with.
    pub fn timed_gate(&mut self, thread: ThreadId, object: ObjectId, site: Site) -> Gate {
        let mut late = self.late.0.iter();
        let Some(late) = late.find(|late| late.is(thread, object, site)) else {
            return Gate::Open;
        };
        let since = late.since;
        match self.heard(thread, since) {
            true => Gate::Open,
            false => Gate::Late,
        }
    }

    /// How a timed operation ended; not `ok`: it timed out.
    pub fn timed(&mut self, thread: ThreadId, object: ObjectId, site: Site, ok: bool) {
        let late = &mut self.late.0;
        late.retain(|late| !late.is(thread, object, site));
        if !ok {
            late.push(LateWait {
                thread,
                object,
                site,
                since: self.state.count(thread),
            });
        }
    }
}
