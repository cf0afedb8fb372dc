//! Threads that stop in time.
//!
//! A run can end its process: the program wrote over the runtime's memory, took all of the machine's, or had to be stopped from outside. The
//! driver knows which thread ran and after which of its steps ([`World::mark`]). It has the plan run again in a fresh process, in which that thread goes no
//! further than this step and is reported to have ended the process there: so the run has an end, the others run on to theirs, and
//! nothing of the search is lost.

use crate::{
    core::{channel, modules, objects::Sort, signal_names::SignalName, sys, system_call_names},
    run::{
        process_end,
        world::{World, borrow, freeze},
    },
};
use alloc::format;
use core::{ptr, sync::atomic::Ordering};
use reweave_model::{Kind, Object, Op, Site};
use reweave_wire::{Death, Doom};

impl World {
    /// Leaves word of who runs, and how far it has come.
    #[inline]
    pub fn mark(&self) {
        let header = channel::header();
        header.running.store(self.current.0, Ordering::Relaxed);
        let count = self.run.state().count(self.current);
        header.count.store(count, Ordering::Relaxed);
    }

    /// The thread does not come to the memory of the atomic that it has just changed.
    fn finish_store(&mut self, op: Option<Op>) {
        let Some(object) = op.and_then(|op| op.object()) else {
            return;
        };
        let known = *self.about(object);
        let Object::Atomic(value) = *self.run.state().object(object) else {
            return;
        };
        if matches!(known.sort, Sort::Atomic | Sort::Wide) {
            let value = self.values.of(value, known.bytes as usize);
            // SAFETY: an object of this sort was found at the address by an access of the program to as many
            // bytes, and its thread, which is about to write there, is the running one.
            unsafe {
                ptr::copy_nonoverlapping(value.as_ptr(), known.address as *mut u8, value.len());
            }
        }
    }
}

/// The running thread is about to go on after an operation, or begins.
#[cold]
pub fn meet(op: Option<Op>, site: Site) {
    let mut world = borrow();
    let count = world.run.state().count(world.current);
    let current = world.current;
    let here = |doom: &&Doom| (doom.thread, doom.count) == (current, count);
    let Some(death) = world.dooms.iter().find(here).map(|doom| doom.death) else {
        return;
    };
    let message = match death {
        Death::Endless => {
            world.note_endless(site);
            None
        }
        Death::Signal(signal) => Some(format!(
            "the program was ended by {} after this",
            SignalName(signal as i32)
        )),
        Death::Status(status) => Some(format!(
            "the program's process ended after this with status {status}, and not by `exit`"
        )),
        Death::Waits(call) => {
            let call = system_call_names::waiting(call);
            world.note_unsupported(&call, site);
            None
        }
        Death::GivenUp => {
            world.note_unsupported("what leaves the runtime unable to go on", site);
            None
        }
    };
    if let Some(message) = message {
        world.error(Kind::Crash, None, message, &[site]);
    }
    world.finish_store(op);
    drop(world);
    freeze(site)
}

/// The running thread is about to write to this memory, which is the runtime's.
#[cold]
pub fn trespass(address: usize, pc: usize) -> ! {
    let site = modules::site(pc);
    let message = format!("a write to address {address:#x}, where the program has no memory");
    process_end::fail(Kind::Crash, message, site)
}

/// Whether memory is the runtime's.
#[inline]
pub fn ours(address: usize) -> bool {
    sys::OWN.contains(&address)
}
