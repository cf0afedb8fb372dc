//! Library calls of the program that are ours: [`threads`], [`mutexes`], [`allocation`] and so on. Each has its model; outside of
//! runs each goes to libc's own.

mod allocation;
mod barriers;
mod clocks;
mod condvars;
mod marks;
mod mutexes;
mod once;
mod rwlocks;
mod semaphores;
mod spins;
mod threads;

use crate::world;
use core::ffi::{c_int, c_void};
pub use marks::{at_end, unordered};
use reweave_model::{Kind, Site};

/// Wrong use of the object at an address: an error. What happens next is anybody's guess, so the thread goes no further.
#[cold]
fn misuse(rule: &str, message: &str, address: usize, site: Site) -> ! {
    let world = world::get();
    world.error_about(Kind::Misuse, Some(rule), message.into(), &[site], address);
    world.freeze(site)
}

/// The running thread has returned from its start function, or called `pthread_exit`.
pub fn end_thread(result: *mut c_void) -> ! {
    let world = world::get();
    world.me().result = result;
    world.finish()
}

/// The program returned from `main` or called `exit`. That takes effect when no other thread can go on.
pub fn end_process(status: c_int) -> ! {
    let world = world::get();
    world.status.get_or_insert(status & 0xff);
    world.finish()
}
