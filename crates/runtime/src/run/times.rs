//! The running thread's virtual time and its timed waits. The rules are those of [`reweave_conduct::Run`].

use crate::run::world::World;
use reweave_model::{Gate, Op, Site};

impl World {
    /// The running thread's time, which it looks at. A loop that does so is not the same in every round.
    pub fn look_at_clock(&mut self) -> u64 {
        self.me().spin.clear();
        self.run.look_at_clock(self.current)
    }

    /// The running thread's time, in nanoseconds since the beginning of the run.
    pub fn time_ns(&self) -> u64 {
        self.run.time_ns(self.current)
    }

    /// Moves the running thread's clock forward.
    pub fn advance(&mut self, ns: u64) {
        self.run.advance(self.current, ns);
    }

    /// The same, up to some time.
    pub fn advance_to(&mut self, ns: u64) {
        self.run.advance_to(self.current, ns);
    }

    /// The gate of an operation that may time out. Any place: places of native code depend on the compiler.
    pub fn timed_gate(&mut self, op: Op) -> Gate {
        match op.object() {
            Some(object) => self.run.timed_gate(self.current, object, Site::ANY),
            None => Gate::Open,
        }
    }

    /// How an operation that may time out ended.
    pub fn timed(&mut self, op: Op, ok: bool) {
        if let Some(object) = op.object() {
            self.run.timed(self.current, object, Site::ANY, ok);
        }
    }
}
