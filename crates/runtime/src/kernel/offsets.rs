//! Where open files stand. What `open` makes stands somewhere, and `dup` shares it.
//!
//! As long as one thread after the other uses what is open, in an order that the program makes, where it stands is nobody else's matter: to read from a file only looks at it, and threads
//! that read one file through descriptors of their own do not meet. Where they use one in no order ([`Rule::Positions`]), whoever reads from a file changes it.

use crate::{
    core::{rules, world},
    kernel::{
        descriptor_table::{self, is_before},
        file_names,
        file_objects::OURS,
    },
};
use alloc::vec::Vec;
use core::ffi::c_int;
use reweave_model::ThreadId;
use reweave_wire::Rule;

/// What was opened, counted in the order of the run. The first stands for all that was open at `main`: which of that is shared, nobody knows.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Open(u32);

/// Of a run.
#[derive(Default)]
pub struct State {
    /// By descriptor.
    all: Vec<Open>,
    changed: bool,
    count: u32,
    /// Who used where it stands last, and when.
    uses: Vec<(Open, (ThreadId, u32))>,
}

impl State {
    pub fn clear(&mut self) {
        // Most runs open nothing.
        if self.changed || self.all.is_empty() {
            self.all.clear();
            self.all.resize(OURS as usize, Open::default());
        }
        self.changed = false;
        self.count = 0;
        self.uses.clear();
    }
}

fn state() -> &'static mut State {
    &mut world::get().calls.positions
}

/// What a descriptor stands for now.
pub(crate) fn of(descriptor: c_int) -> Open {
    let known = state().all.get(descriptor as usize);
    known.copied().unwrap_or_default()
}

/// Whether some descriptor stands for it.
pub(crate) fn is_open(open: Open) -> bool {
    let mut all = state().all.iter().zip(0..);
    all.any(|(known, descriptor)| *known == open && descriptor_table::is_open(descriptor))
}

/// A descriptor stands for something from now on: something new, unless another one stands for it already.
pub(crate) fn stands_for(descriptor: c_int, open: Option<Open>) {
    let state = state();
    let open = open.unwrap_or_else(|| {
        state.count += 1;
        Open(state.count)
    });
    if let Some(known) = state.all.get_mut(descriptor as usize) {
        *known = open;
        state.changed = true;
    }
}

/// Whether they are shared in no order.
pub(crate) fn are_shared() -> bool {
    rules::holds(Rule::Positions)
}

/// The running thread uses where it stands, in a step that began in this epoch.
pub(crate) fn used(open: Open, since: u32) {
    if file_names::alone() || are_shared() {
        return;
    }
    let now = (world::get().current, since);
    let uses = &mut state().uses;
    let Some((_, last)) = uses.iter_mut().find(|(known, _)| *known == open) else {
        uses.push((open, now));
        return;
    };
    if !is_before(core::mem::replace(last, now)) {
        rules::needs(Rule::Positions);
    }
}
