//! A thread asks for its own handle. The answer is libc's; that it was asked for is noted, since handles may come back
//! ([`thread_identities`]).

use crate::{
    core::{modules, trampoline::Frame},
    real,
    run::thread_identities,
    trampoline,
};
use libc::pthread_t as Handle;

trampoline! {
    pthread_self => own, "rdi";
    thrd_current => own, "rdi";
}

extern "C" fn own(frame: &Frame) -> Handle {
    if !modules::is_library(frame.return_address) {
        thread_identities::asked(frame.return_address);
    }
    // SAFETY: the function takes no arguments.
    unsafe { real!(pthread_self: fn() -> Handle)() }
}
