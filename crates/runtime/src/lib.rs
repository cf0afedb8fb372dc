//! The shared object inside native programs: compiler hooks, interposed library calls, in-place restart. Mechanism only: the model
//! says what operations mean, the plan says which thread goes next.
//!
//! The program's threads are fibers of one OS thread. Each borrows the stack and the thread-local memory of a real thread that is parked
//! for ever. A thread is not interrupted between two visible operations. An operation comes in through a hook that the compiler inserted or
//! through an interposed library call, is announced to the model, and is performed when it is the thread's turn. After a run, memory is
//! restored to what it was at `main`, and the next plan runs.
//!
//! A program that is started without the driver behaves as if this library were not there.
//!
//! | room | holds | may import |
//! | --- | --- | --- |
//! | `core` | what needs no run: cells, system calls, switching, restart, modules, the driver's channel, trampolines | - |
//! | `run` | the run at hand: world, turns, operations, checked accesses, waiting loops, faults, serving plans | `core` |
//! | `hooks` | what the compiler's instrumentation calls | `core`, `run` |
//! | `shared` | what several families and the kernel need | `core`, `run` |
//! | `kernel` | descriptors and what they are open on, the overlay over the disk, signals, futexes, waiting on several objects | `core`, `run`, `shared` |
//! | `calls/<family>` | interposed library calls | all of the above, no other family |
//!
//! `scripts/import-graph` prints the graph; `tidy` fails when an import breaks the table.
// Unit tests of the pure parts run with std. They export nothing (`cfg_attr(not(test), unsafe(no_mangle))`), or the test's own calls would come here.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(test, allow(non_snake_case, non_upper_case_globals, unused))]

extern crate alloc;

mod calls;
mod core;
mod hooks;
mod kernel;
mod run;
mod shared;

use core::families::Family;

/// Defines two functions that go through all families of calls and what stands below them, in this order and in reverse. They are written out
/// instead of looped over, so that the compiler sees which functions a family does not have.
macro_rules! families {
    (@define $name:ident $([$($family:tt)*])*) => {
        #[inline(always)]
        fn $name(mut what: impl FnMut(&'static Family)) {
            $(what(&$($family)*);)*
        }
    };
    (@reverse [] $($done:tt)*) => {
        families!(@define each_family_reversed $($done)*);
    };
    (@reverse [$first:tt $($rest:tt)*] $($done:tt)*) => {
        families!(@reverse [$($rest)*] $first $($done)*);
    };
    ($($family:tt)*) => {
        families!(@define each_family $($family)*);
        families!(@reverse [$($family)*]);
    };
}

families! {
    [calls::language::FAMILY]
    [kernel::FAMILY]
    [calls::sync::FAMILY]
    [calls::threads::FAMILY]
    [calls::process::FAMILY]
    [calls::libraries::FAMILY]
    [calls::memory::FAMILY]
    [calls::mpi::FAMILY]
    [calls::files::FAMILY]
    [calls::streams::FAMILY]
    [calls::openmp::FAMILY]
    [calls::time::FAMILY]
}

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
