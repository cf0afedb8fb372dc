//! What a run leaves behind in its process beyond what is put back.
//!
//! Memory, descriptors, directory, mask, break and the program's own mappings are put back after every run, and calls that change anything else
//! end the process with the run ([`leaves`]). What no call told of is looked for: after the first run, now and then, and after calls that libraries do
//! much in. A process that is not as it was is not used again, and the driver hears of it.

use crate::{
    core::{cell::RunValue, channel, sys},
    run::world,
};
use alloc::{vec, vec::Vec};
use core::{
    mem::MaybeUninit,
    sync::atomic::{AtomicBool, Ordering},
};

/// What is looked at. The driver has words for each.
const PARTS: usize = 5;

static BEFORE: RunValue<[u64; PARTS]> = RunValue::new([0; PARTS]);

/// Some library did something that nobody sees.
static SUSPECT: AtomicBool = AtomicBool::new(true);

/// To be looked for after this run.
pub fn suspect() {
    SUSPECT.store(true, Ordering::Relaxed);
}

/// The running program changes its process for good.
pub fn leaves() {
    if world::active() {
        world::borrow().spoilt = true;
    }
}

/// What there is before the first run.
pub fn note() {
    BEFORE.set(now());
}

/// Runs after which it is looked for in any case.
const EACH: u32 = 4096;

/// After a run whose memory was put back.
pub fn look(run: u32) {
    if !SUSPECT.swap(false, Ordering::Relaxed) && !run.is_multiple_of(EACH) {
        return;
    }
    let before = BEFORE.get();
    let after = now();
    if let Some(part) = (0..PARTS).find(|part| before[*part] != after[*part]) {
        let left = &channel::header().left;
        left.store(part as u32 + 1, Ordering::Relaxed);
        world::borrow().spoilt = true;
    }
}

/// As long numbers, one for each part.
fn now() -> [u64; PARTS] {
    [mappings(), signals(), timers(), limits(), identity()]
}

fn mix(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x100_0000_01b3).rotate_left(23)
}

/// A system call that only asks; its answer and what it wrote.
fn asked(number: i64, mut arguments: [usize; 6], place: Option<usize>) -> u64 {
    let mut room = MaybeUninit::<[u64; 32]>::zeroed();
    if let Some(place) = place {
        arguments[place] = room.as_mut_ptr() as usize;
    }
    // SAFETY: writes a local that is large enough for all of these, for which zeros are fine, too.
    let (answer, room) = unsafe { (sys::call(number, arguments), room.assume_init()) };
    room.iter().fold(answer as u64, |sum, word| mix(sum, *word))
}

/// Where anything lies, whatever may be done with it: that is ours to change.
fn mappings() -> u64 {
    let mut text = vec![0_u8; 1 << 20];
    let length = sys::read_file(c"/proc/self/maps", &mut text);
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for line in text[..length].split(|byte| *byte == b'\n') {
        let Some((start, end)) = range(line) else {
            continue;
        };
        let grows = line.ends_with(b"[stack]");
        if grows || sys::RESERVED.contains(&start) {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => ranges.push((start, end)),
        }
    }
    let words = ranges.iter().flat_map(|range| [range.0, range.1]);
    words.fold(0, |sum, word| mix(sum, word as u64))
}

fn range(line: &[u8]) -> Option<(usize, usize)> {
    let line = core::str::from_utf8(line).ok()?;
    let (start, end) = line.split_ascii_whitespace().next()?.split_once('-')?;
    let number = |text: &str| usize::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

fn signals() -> u64 {
    const SET: usize = 8;
    let mask = asked(libc::SYS_rt_sigprocmask, [0, 0, 0, SET, 0, 0], Some(2));
    (1..=64).fold(mask, |sum, signal| {
        let arguments = [signal, 0, 0, SET, 0, 0];
        mix(sum, asked(libc::SYS_rt_sigaction, arguments, Some(2)))
    })
}

fn timers() -> u64 {
    (0..3).fold(0, |sum, timer| {
        let arguments = [timer, 0, 0, 0, 0, 0];
        mix(sum, asked(libc::SYS_getitimer, arguments, Some(1)))
    })
}

fn limits() -> u64 {
    (0..16).fold(0, |sum, limit| {
        let arguments = [0, limit, 0, 0, 0, 0];
        mix(sum, asked(libc::SYS_prlimit64, arguments, Some(3)))
    })
}

fn identity() -> u64 {
    let asking = [
        (libc::SYS_personality, u32::MAX as usize),
        (libc::SYS_getpgid, 0),
        (libc::SYS_getsid, 0),
        (libc::SYS_getuid, 0),
        (libc::SYS_geteuid, 0),
        (libc::SYS_getgid, 0),
        (libc::SYS_getegid, 0),
    ];
    asking.iter().fold(0, |sum, (call, argument)| {
        mix(sum, asked(*call, [*argument, 0, 0, 0, 0, 0], None))
    })
}
