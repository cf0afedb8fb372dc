//! Stacks and thread-local memory for the program's threads: a real thread for each, parked for ever.
//!
//! Slots are given out by thread path, so that a thread's stack and heap lie at the same addresses in every run, whatever the order in
//! which threads are created. A slot that is not there yet is made between two runs ([`Slots::grow`]), never within one: libc's own
//! books then are part of what every run begins with.

use crate::{
    core::{switch, sys},
    real,
    run::os_threads::{self, Seat},
};
use alloc::vec::Vec;
use core::{
    ffi::c_void,
    mem::MaybeUninit,
    sync::atomic::{AtomicU32, AtomicUsize, Ordering},
};

/// Where stacks lie; programs and libraries are loaded elsewhere.
const STACKS_AT: usize = 0x4000_0000_0000;
/// From one stack to the next; what is not stack in between cannot be accessed.
const STRIDE: usize = 16 << 20;
pub const STACK_BYTES: usize = 8 << 20;

/// Children of the first thread have slots by their number; others share the rest by their paths.
const DIRECT: usize = 12288;
pub const MOST: usize = 16384;

#[derive(Clone, Copy)]
pub struct Slot {
    /// Where a thread's stack begins.
    pub top: usize,
    /// The end of the mapping: thread-local memory lies between.
    pub end: usize,
    /// Below lie the parked thread's own frames, from `top` on.
    pub frames_end: usize,
    /// Its thread-local memory.
    pub own: usize,
    /// The real thread itself, where it runs its own code.
    pub seat: Option<&'static Seat>,
}

pub struct Slots {
    slots: Vec<Option<Slot>>,
    /// Paths of threads that are not children of the first one, by slot.
    paths: Vec<(Vec<u32>, usize)>,
    taken: Vec<usize>,
}

impl Slots {
    pub const fn new() -> Slots {
        Slots {
            slots: Vec::new(),
            paths: Vec::new(),
            taken: Vec::new(),
        }
    }

    /// The number of the slot of a thread; 0 is the first thread's. `None`: too many threads.
    pub fn number(&mut self, path: &[u32]) -> Option<usize> {
        match *path {
            [] => return Some(0),
            [child] if (child as usize) < DIRECT => return Some(child as usize + 1),
            // The rest are made one by one: whoever creates this many threads by itself creates more than all.
            [_] => return None,
            _ => {}
        }
        if let Some((_, slot)) = self.paths.iter().find(|(known, _)| known == path) {
            return Some(*slot);
        }
        let rest = MOST - DIRECT - 1;
        let hash = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, step| {
            (hash ^ u64::from(*step)).wrapping_mul(0x100_0000_01b3)
        });
        let start = (hash >> 20) as usize % rest;
        let places = (0..rest).map(|offset| DIRECT + 1 + (start + offset) % rest);
        let slot = places.into_iter().find(|slot| !self.taken.contains(slot))?;
        self.taken.push(slot);
        self.paths.push((path.into(), slot));
        Some(slot)
    }

    #[inline]
    pub fn get(&self, number: usize) -> Option<Slot> {
        self.slots.get(number).copied().flatten()
    }

    /// Makes a slot. Only between runs, with the first thread's memory.
    pub fn grow(&mut self, number: usize, seated: bool) -> Result<Slot, &'static str> {
        if let Some(slot) = self.get(number) {
            return Ok(slot);
        }
        let base = STACKS_AT + number * STRIDE;
        sys::map(base, STACK_BYTES).ok_or("there is no memory for another thread's stack")?;
        let slot = park(base, seated)?;
        if self.slots.len() <= number {
            self.slots.resize(number + 1, None);
        }
        self.slots[number] = Some(slot);
        Ok(slot)
    }

    /// The last of those that are made together with this one: who creates many threads is not to wait for each of them.
    pub fn ahead(number: usize) -> usize {
        match number < DIRECT {
            true => (number + number / 2).min(DIRECT - 1),
            false => number,
        }
    }

    pub fn all(&self) -> impl Iterator<Item = Slot> + '_ {
        self.slots.iter().flatten().copied()
    }
}

static OWN: AtomicUsize = AtomicUsize::new(0);
static STACK: AtomicUsize = AtomicUsize::new(0);
static READY: AtomicU32 = AtomicU32::new(0);
static NEVER: AtomicU32 = AtomicU32::new(0);

extern "C" fn parked(seated: *mut c_void) -> *mut c_void {
    let here = 0_u8;
    STACK.store(&raw const here as usize, Ordering::Relaxed);
    OWN.store(switch::own_memory(), Ordering::Relaxed);
    if !seated.is_null() {
        os_threads::sit();
    }
    READY.store(1, Ordering::Release);
    sys::futex_wake(&READY);
    loop {
        sys::futex_wait(&NEVER, 0);
    }
}

/// Starts a real thread on this stack and waits until it has parked, to be a fiber or `seated`, to run its own code.
fn park(base: usize, seated: bool) -> Result<Slot, &'static str> {
    let failed = "the operating system gives no more threads";
    READY.store(0, Ordering::Relaxed);
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut thread = 0;
    // Signals are for a thread that runs.
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    let mut blocked = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: as libc's manual has it; the stack was mapped for this thread alone.
    let result = unsafe {
        match seated {
            true => libc::sigemptyset(blocked.as_mut_ptr()),
            false => libc::sigfillset(blocked.as_mut_ptr()),
        };
        real!(pthread_sigmask: fn(i32, *const libc::sigset_t, *mut libc::sigset_t) -> i32)(
            libc::SIG_BLOCK,
            blocked.as_ptr(),
            before.as_mut_ptr(),
        );
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstack(attributes.as_mut_ptr(), base as *mut c_void, STACK_BYTES);
        let create = real!(pthread_create: fn(*mut libc::pthread_t, *const libc::pthread_attr_t, extern "C" fn(*mut c_void) -> *mut c_void, *mut c_void) -> i32);
        let result = create(
            &mut thread,
            attributes.as_ptr(),
            parked,
            usize::from(seated) as *mut c_void,
        );
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        real!(pthread_sigmask: fn(i32, *const libc::sigset_t, *mut libc::sigset_t) -> i32)(
            libc::SIG_SETMASK,
            before.as_ptr(),
            core::ptr::null_mut(),
        );
        result
    };
    if result != 0 {
        return Err(failed);
    }
    let seat = seated.then(os_threads::seated);
    while !seated && READY.load(Ordering::Acquire) == 0 {
        sys::futex_wait(&READY, 0);
    }
    // Frames of libc's start of a thread. Far more than that is free below the thread-local memory.
    const FRAMES: usize = 512;
    Ok(Slot {
        frames_end: STACK.load(Ordering::Relaxed) + FRAMES,
        // The parked thread's own frames stay above, on pages of their own.
        top: (STACK.load(Ordering::Relaxed) - 2048) & !4095,
        end: base + STACK_BYTES,
        own: OWN.load(Ordering::Relaxed),
        seat,
    })
}

/// An address in this slot that nothing is at.
pub fn nowhere_in(number: usize) -> usize {
    STACKS_AT + (number + 1) * STRIDE - 8
}

/// The slot whose stack an address is in.
pub fn slot_of(address: usize) -> Option<usize> {
    let number = address.checked_sub(STACKS_AT)? / STRIDE;
    (number < MOST).then_some(number)
}
