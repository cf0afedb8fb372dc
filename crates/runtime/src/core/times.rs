//! Virtual time. Every thread has a clock of its own that only its sleeps, its timeouts and its looks at the clock move: what it reads is a
//! function of its causal past.
//!
//! Time is carried from thread to thread along with what is written and read, and with steps that are waited for: a thread begins with its
//! creator's time, and whoever joins it, takes a lock after it or reads what it wrote is at least as late. Only touches that come one after
//! the other carry time, so readers that do not know of each other do not learn each other's; read-write locks and semaphores carry none.

use crate::core::world::World;
use alloc::vec::Vec;
use reweave_model::{Class, Edge, Event, Gate, ObjectId, Op};

/// What a look at the clock takes, so that a loop until some time ends.
const LOOK_NS: u64 = 1_000_000;

/// What is known of time in the run at hand, once some thread's clock has moved.
#[derive(Default)]
pub struct Times {
    used: bool,
    /// The latest time of each object.
    objects: Vec<u64>,
    /// The time of each thread's steps, by their counts.
    steps: Vec<Vec<(u32, u64)>>,
}

/// A thread's own.
#[derive(Default)]
pub struct Clock {
    /// Since the beginning of the run.
    pub ns: u64,
    /// Objects that it has waited for in vain the last time, and how many events it had done then. Not places in the program: those differ
    /// with the compiler's taste.
    late: Vec<(ObjectId, u32)>,
    /// After how many events it last slept, and how often in a row.
    slept: (u32, u32),
}

impl Clock {
    /// It sleeps after so many events: how often it has done so in a row.
    pub fn doze(&mut self, count: u32) -> u32 {
        self.slept = match self.slept {
            (last, times) if last == count => (count, times.saturating_add(1)),
            _ => (count, 1),
        };
        self.slept.1
    }

    /// The next sleep after so many events is one more in the row.
    pub fn dozes(&mut self, count: u32) {
        self.slept.0 = count;
    }
}

impl Times {
    pub const fn new() -> Times {
        Times {
            used: false,
            objects: Vec::new(),
            steps: Vec::new(),
        }
    }

    #[inline]
    pub fn used(&self) -> bool {
        self.used
    }

    /// A new run.
    pub fn clear(&mut self) {
        if self.used {
            self.used = false;
            self.objects.clear();
            self.steps.clear();
        }
    }

    fn step(&self, edge: Edge) -> u64 {
        let steps = self.steps.get(edge.thread.index());
        let found = steps.and_then(|steps| {
            let at = steps.binary_search_by_key(&edge.count, |step| step.0);
            at.ok().map(|at| steps[at].1)
        });
        found.unwrap_or(0)
    }
}

impl World {
    /// The running thread's time, which it looks at. A loop that does so is not the same in every round.
    pub fn look_at_clock(&mut self) -> u64 {
        self.me().spin.clear();
        self.advance(LOOK_NS);
        self.me().clock.ns
    }

    /// Lets the running thread's clock go forward.
    pub fn advance(&mut self, ns: u64) {
        let clock = &mut self.me().clock;
        clock.ns = clock.ns.saturating_add(ns);
        self.times.used = true;
    }

    /// The same, up to some time.
    pub fn advance_to(&mut self, ns: u64) {
        let left = ns.saturating_sub(self.me().clock.ns);
        self.advance(left);
    }

    /// After an event, once time is in use.
    #[cold]
    pub fn carry_time(&mut self, event: &Event) {
        let mut now = self.threads[event.thread.index()].clock.ns;
        if let Op::Join(other) = event.op {
            now = now.max(self.threads[other.index()].clock.ns);
        }
        if let Some(edge) = event.after {
            now = now.max(self.times.step(edge));
        }
        for access in event.access.iter().flatten() {
            if !matches!(access.class, Class::Read | Class::Write) {
                continue;
            }
            let objects = &mut self.times.objects;
            let index = access.object.index();
            if objects.len() <= index {
                objects.resize(index + 1, 0);
            }
            // A store to an atomic learns nothing of those before it.
            let store = matches!(event.op, Op::Store(..));
            if !store || !self.run.execution().is_atomic(access.object) {
                now = now.max(objects[index]);
            }
            if access.class == Class::Write {
                objects[index] = now;
            }
        }
        self.threads[event.thread.index()].clock.ns = now;
        let steps = &mut self.times.steps;
        if steps.len() <= event.thread.index() {
            steps.resize_with(event.thread.index() + 1, Vec::new);
        }
        let count = self.run.state().count(event.thread);
        steps[event.thread.index()].push((count, now));
    }

    /// The gate of an operation that may time out: late, when it did so the last time and the thread has heard nothing of others since.
    pub fn timed_gate(&mut self, op: Op) -> Gate {
        let me = self.current;
        let late = &self.threads[me.index()].clock.late;
        let found = late.iter().find(|(late, _)| op.object() == Some(*late));
        let Some(&(_, since)) = found else {
            return Gate::Open;
        };
        match self.run.heard(me, since) {
            true => Gate::Open,
            false => Gate::Late,
        }
    }

    /// How an operation that may time out ended.
    pub fn timed(&mut self, op: Op, ok: bool) {
        let done = self.run.state().count(self.current);
        let late = &mut self.me().clock.late;
        let Some(object) = op.object() else {
            return;
        };
        late.retain(|(other, _)| *other != object);
        if !ok {
            late.push((object, done));
        }
    }
}
