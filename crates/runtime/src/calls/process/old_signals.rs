//! Older names for signal actions and masks: those of System V (`sigset`, `sighold`) and of BSD (`sigblock`).

use crate::{
    calls::process::signals::{change_mask, install},
    core::{modules, trampoline::Frame},
    kernel::signals::{bit, blocked},
    outside_run,
    run::{
        operations::failed,
        signal_actions::{MOST, action},
    },
    trampoline,
};
use core::ffi::c_int;

trampoline! {
    sigset => set_disposition, "rdx";
    sighold => hold, "rsi";
    sigrelse => release, "rsi";
    sigignore => ignore, "rsi";
    sigblock => block_bits, "rsi";
    sigsetmask => set_bits, "rsi";
    siggetmask => get_bits, "rdi";
}

/// `SIG_HOLD`: a disposition of `sigset` that blocks the signal.
const HELD: usize = 2;

/// These functions know the first 32 signals, one bit each.
const OLD: u64 = 0xffff_ffff;

fn valid(signal: c_int) -> bool {
    (1..=MOST).contains(&signal)
}

extern "C" fn set_disposition(signal: c_int, disposition: usize, frame: &Frame) -> usize {
    outside_run!(sigset: fn(signal: c_int, disposition: usize) -> usize);
    let fixed = matches!(signal, libc::SIGKILL | libc::SIGSTOP);
    if !valid(signal) || fixed {
        failed(libc::EINVAL);
        return libc::SIG_ERR;
    }
    let held = blocked() & bit(signal) != 0;
    let before = match disposition {
        HELD => action(signal).sa_sigaction,
        _ => install(signal, disposition, 0, frame),
    };
    let others = blocked() & !bit(signal);
    let own = if disposition == HELD { bit(signal) } else { 0 };
    change_mask(others | own, modules::site(frame.return_address));
    if held { HELD } else { before }
}

extern "C" fn hold(signal: c_int, frame: &Frame) -> c_int {
    outside_run!(sighold: fn(signal: c_int) -> c_int);
    if !valid(signal) {
        return failed(libc::EINVAL);
    }
    let site = modules::site(frame.return_address);
    change_mask(blocked() | bit(signal), site);
    0
}

extern "C" fn release(signal: c_int, frame: &Frame) -> c_int {
    outside_run!(sigrelse: fn(signal: c_int) -> c_int);
    if !valid(signal) {
        return failed(libc::EINVAL);
    }
    let site = modules::site(frame.return_address);
    change_mask(blocked() & !bit(signal), site);
    0
}

extern "C" fn ignore(signal: c_int, frame: &Frame) -> c_int {
    outside_run!(sigignore: fn(signal: c_int) -> c_int);
    match install(signal, libc::SIG_IGN, 0, frame) {
        libc::SIG_ERR => -1,
        _ => 0,
    }
}

extern "C" fn block_bits(bits: c_int, frame: &Frame) -> c_int {
    outside_run!(sigblock: fn(bits: c_int) -> c_int);
    let before = blocked();
    let set = before | u64::from(bits.cast_unsigned());
    change_mask(set, modules::site(frame.return_address));
    low_bits(before)
}

/// Also unblocks the signals that have no bit, as the C library does.
extern "C" fn set_bits(bits: c_int, frame: &Frame) -> c_int {
    outside_run!(sigsetmask: fn(bits: c_int) -> c_int);
    let before = blocked();
    let set = u64::from(bits.cast_unsigned());
    change_mask(set, modules::site(frame.return_address));
    low_bits(before)
}

extern "C" fn get_bits(_: &Frame) -> c_int {
    outside_run!(siggetmask: fn() -> c_int);
    low_bits(blocked())
}

fn low_bits(set: u64) -> c_int {
    u32::try_from(set & OLD)
        .expect("the upper half is cut off")
        .cast_signed()
}
