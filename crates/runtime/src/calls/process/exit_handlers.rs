//! Who registers functions for the end of the process, and who calls them: the last one that was registered is the first to be called. Where several threads do so in no order, each order is
//! explored, once a run has shown two of them at it.

use crate::{
    core::{rules, world},
    kernel::file_objects,
};
use alloc::vec::Vec;
use reweave_model::{Site, ThreadId};
use reweave_wire::Rule;

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Threads that did, beside others.
    seen: Vec<ThreadId>,
}

impl State {
    pub fn clear(&mut self) {
        self.seen.clear();
    }
}

/// The running thread is about to register one, or to call the next one.
pub(crate) fn meet(site: Site) {
    let world = world::get();
    let me = world.current;
    if world.races.alone(me) {
        return;
    }
    let seen = &mut world.calls.handlers.seen;
    let others = seen.iter().any(|thread| *thread != me);
    if !seen.contains(&me) {
        seen.push(me);
    }
    if others {
        rules::needs(Rule::Handlers);
    }
    if rules::holds(Rule::Handlers) {
        file_objects::touch(file_objects::HANDLERS, site);
    }
}
