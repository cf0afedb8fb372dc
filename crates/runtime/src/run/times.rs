//! The running thread's virtual time and its timed waits. The rules are those of [`reweave_conduct::Run`].

use crate::run::world::World;
use reweave_model::{Gate, Op, Site};

impl World {
    /// The running thread's time, at which it has just looked ([`LOOK`](reweave_conduct::LOOK)). A loop that does so is not the
    /// same in every round.
    pub fn look_at_clock(&mut self) -> u64 {
        self.me().spin.clear();
        self.run.look_at_clock(self.current)
    }

    /// As [`World::look_at_clock`], for a clock that no other thread can look at.
    pub fn look_at_own_clock(&mut self) -> u64 {
        self.me().spin.clear();
        self.run.look_at_own_clock(self.current)
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

    /// The gate of an operation that may time out and is known by `key`; `repeats`: see [`spin::repeats`](crate::run::spin::repeats).
    pub fn timed_gate(&mut self, key: Op, site: Site, repeats: bool) -> Gate {
        self.run.timed_gate(self.current, key, site, repeats)
    }

    /// How an operation that may time out ended.
    pub fn timed(&mut self, key: Op, site: Site, ok: bool) {
        self.run.timed(self.current, key, site, ok);
    }
}
