//! The shared object inside native programs: compiler hooks, pthread interposers, in-place restart. Mechanism only: what operations
//! mean is the model's business, which of them goes next is the plan's.
//!
//! The program's threads are fibers of one OS thread ([`slots`]); a real thread each, parked for ever, lends them its stack and
//! thread-local memory. Between two visible operations a thread is not interrupted. An operation comes in by a hook the compiler put
//! there or by a library call of ours ([`hooks`], [`calls`]), is announced to the model ([`world`]), and goes when the plan says so. After a
//! run, memory is put back as it was at `main` ([`restore`]) and the next plan is run.
//!
//! A program that is started without the driver behaves as if this library were not there.
// Unit tests of the pure parts have std around them. Nothing is exported then (`cfg_attr(not(test), unsafe(no_mangle))`): the test's own calls must not come here.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(test, allow(non_snake_case, non_upper_case_globals, unused))]
#![allow(clippy::missing_safety_doc)]
#![allow(dead_code)]

extern crate alloc;

mod calls;
mod core;
mod hooks;
mod kernel;

use core::families::Family;

/// All families of calls and what stands below them, in the order in which `core` calls their functions.
static FAMILIES: [&Family; 11] = [
    &calls::language::FAMILY,
    &kernel::FAMILY,
    &calls::sync::FAMILY,
    &calls::threads::FAMILY,
    &calls::process::FAMILY,
    &calls::libraries::FAMILY,
    &calls::memory::FAMILY,
    &calls::files::FAMILY,
    &calls::streams::FAMILY,
    &calls::openmp::FAMILY,
    &calls::time::FAMILY,
];

use ::core::fmt::{self, Write};

/// Ends the process with a sentence that the driver shows: the target cannot go on.
pub(crate) fn give_up(why: fmt::Arguments<'_>) -> ! {
    struct Text {
        bytes: [u8; 500],
        length: usize,
    }
    impl Write for Text {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let room = self.bytes.len() - self.length;
            let text = &text.as_bytes()[..text.len().min(room)];
            self.bytes[self.length..self.length + text.len()].copy_from_slice(text);
            self.length += text.len();
            Ok(())
        }
    }
    let mut text = Text {
        bytes: [0; 500],
        length: 0,
    };
    let _ = text.write_fmt(why);
    core::channel::complain(&text.bytes[..text.length]);
    core::sys::exit(70)
}

/// Asked when something of the program's is thrown through a frame of ours, such as that of `pthread_once`: it goes on. Panics of ours are
/// never thrown; they end the process.
#[cfg(not(test))]
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn rust_eh_personality() -> i32 {
    const GO_ON: i32 = 8;
    GO_ON
}

#[cfg(not(test))]
#[panic_handler]
fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
    give_up(format_args!("{info}"))
}
