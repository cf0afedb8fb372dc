//! The shared object inside native programs: compiler hooks, pthread interposers, in-place restart.
#![no_std]

extern crate alloc;

mod memory;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: ends the process, from any state.
    unsafe { libc::abort() }
}
