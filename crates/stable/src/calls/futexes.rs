//! `syscall`: programs and libraries that wait for memory by futexes (Rust's std, `std::atomic::wait`).
//!
//! Futexes in memory that processes share, and operations other than plain waits and wakes, are left to the kernel, outside of the
//! rotation.

use super::{duration, failed};
use crate::{
    clock::time_of,
    real,
    rotation::Woken,
    schedule::Op,
    turn::{Step, active, outside, synchronise},
};
use core::{
    ffi::c_void,
    sync::atomic::{AtomicUsize, Ordering},
};
use libc::{EAGAIN, EINTR, EINVAL, ETIMEDOUT, c_int, c_long, timespec};

const CLOCK_REALTIME: usize = libc::FUTEX_CLOCK_REALTIME as usize;
const PRIVATE: usize = libc::FUTEX_PRIVATE_FLAG as usize;
const WAIT: usize = libc::FUTEX_WAIT as usize;
const WAKE: usize = libc::FUTEX_WAKE as usize;
const WAIT_BITSET: usize = libc::FUTEX_WAIT_BITSET as usize;
const WAKE_BITSET: usize = libc::FUTEX_WAKE_BITSET as usize;
const ALL_BITS: usize = u32::MAX as usize;

/// # Safety
///
/// As the system call.
unsafe fn wait(
    word: *const u32,
    value: u32,
    time: *const timespec,
    absolute: Option<libc::clockid_t>,
) -> c_int {
    let time = match time.is_null() {
        true => None,
        // SAFETY: the caller passes a valid time or none.
        false => match unsafe { duration(time) } {
            None => return EINVAL,
            Some(time) => Some(absolute.map_or(time, |clock| time.saturating_sub(time_of(clock)))),
        },
    };
    let mut waits = false;
    synchronise(Op::FutexWait, |turn| {
        if waits {
            return Step::Done(match turn.woken() {
                Some(Woken::TimedOut) => ETIMEDOUT,
                Some(Woken::Cancelled) => EINTR,
                _ => 0,
            });
        }
        // SAFETY: the caller passes a valid word, as the system call requires.
        if unsafe { word.read_volatile() } != value {
            return Step::Done(EAGAIN);
        }
        waits = true;
        Step::Wait(word.addr(), time.map(|time| turn.deadline(time)))
    })
}

fn wake(word: *const u32, most: u32) -> u32 {
    synchronise(Op::FutexWake, |turn| {
        let mut woken = 0;
        while woken < most && turn.wake_one(word.addr()).is_some() {
            woken += 1;
        }
        Step::Done(woken)
    })
}

/// Pages that were looked up and are no other process's.
static OWN_PAGES: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];

/// Whether an address is in memory that other processes may have. Some libraries do not say that their futexes are private.
fn in_shared_memory(address: usize) -> bool {
    // Not 0, which is an empty place.
    let page = (address >> 12) + 1;
    let known = &OWN_PAGES[page % OWN_PAGES.len()];
    if known.load(Ordering::Relaxed) == page {
        return false;
    }
    let shared = mapped_shared(address);
    if !shared {
        known.store(page, Ordering::Relaxed);
    }
    shared
}

/// Looks an address up in the list of mappings. What cannot be looked up counts as shared.
fn mapped_shared(address: usize) -> bool {
    // SAFETY: the path is a C string.
    let list = unsafe {
        libc::open(
            c"/proc/self/maps".as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
        )
    };
    let mut line = [0; 64];
    let (mut used, mut found) = (0, None);
    let mut piece = [0; 1024];
    while list >= 0 && found.is_none() {
        let read = real!(read: fn(c_int, *mut c_void, usize) -> isize);
        // SAFETY: the piece has so much room.
        let length = unsafe { read(list, piece.as_mut_ptr().cast(), piece.len()) };
        for byte in &piece[..length.max(0) as usize] {
            match *byte {
                b'\n' => {
                    found = found.or(mapping(&line[..used], address));
                    used = 0;
                }
                byte if used < line.len() => {
                    line[used] = byte;
                    used += 1;
                }
                _ => {}
            }
        }
        if length <= 0 {
            break;
        }
    }
    if list >= 0 {
        // SAFETY: the descriptor was opened here, and nothing else uses it.
        unsafe { libc::close(list) };
    }
    found.unwrap_or(true)
}

/// Whether the mapping of this line, if it has the address, is shared: `from-to rw-s ...`.
fn mapping(line: &[u8], address: usize) -> Option<bool> {
    let line = core::str::from_utf8(line).ok()?;
    let (range, rest) = line.split_once(' ')?;
    let (from, to) = range.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    (number(from)?..number(to)?)
        .contains(&address)
        .then(|| rest.as_bytes().get(3) == Some(&b's'))
}

/// # Safety
///
/// As libc's function, which has any number of arguments: what was not passed is not used.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    let real = real!(syscall: fn(c_long, usize, usize, usize, usize, usize, usize) -> c_long);
    // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
    unsafe {
        if number == libc::SYS_sched_yield && active() {
            return c_long::from(super::threads::sched_yield());
        }
        if number != libc::SYS_futex || !active() {
            return real(number, a, b, c, d, e, f);
        }
        let word = core::ptr::with_exposed_provenance(a);
        let time = core::ptr::with_exposed_provenance(d);
        let clock = match b & CLOCK_REALTIME {
            0 => libc::CLOCK_MONOTONIC,
            _ => libc::CLOCK_REALTIME,
        };
        if b & PRIVATE == 0 && in_shared_memory(a) {
            return outside(|| real(number, a, b, c, d, e, f));
        }
        let waited = match b & !(CLOCK_REALTIME | PRIVATE) {
            WAIT => wait(word, c as u32, time, None),
            WAIT_BITSET if f == ALL_BITS => wait(word, c as u32, time, Some(clock)),
            WAKE => return c_long::from(wake(word, c as u32)),
            WAKE_BITSET if f == ALL_BITS => {
                return c_long::from(wake(word, c as u32));
            }
            _ => return outside(|| real(number, a, b, c, d, e, f)),
        };
        match waited {
            0 => 0,
            error => c_long::from(failed(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mappings() {
        let line = b"7f00-7f10 rw-s 00000000 00:01 7 /dev/zero (deleted)";
        assert_eq!(mapping(line, 0x7f08), Some(true));
        assert_eq!(mapping(line, 0x7f10), None);
        assert_eq!(mapping(b"7f00-7f10 rw-p 00000000", 0x7f00), Some(false));
        assert_eq!(mapping(b"nonsense", 0x7f00), None);
    }

    #[test]
    fn memory_of_this_process() {
        let word = Box::new(0u32);
        assert!(!in_shared_memory(core::ptr::from_ref(&*word).addr()));
        assert!(in_shared_memory(8), "nothing is there");
    }
}
