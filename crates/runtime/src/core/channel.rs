//! The shared memory through which plans come and reports go.

use crate::core::sys;
use core::{
    slice,
    sync::atomic::{AtomicPtr, AtomicU64, Ordering},
};
use reweave_wire::{
    Header, LINES_AT, LINES_BYTES, MAGIC, PLANS_AT, PLANS_BYTES, REPORTS_AT, REPORTS_BYTES,
    TOTAL_BYTES, VERSION,
};

/// The descriptor of the shared memory, and of the file that takes the program's output. High, so that the program's own are as usual.
pub const CHANNEL: i32 = 1000;
pub const OUTPUT: i32 = 1001;

static BASE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

/// Maps the channel, if it is not mapped yet; whether there is one.
pub fn open() -> bool {
    if !BASE.load(Ordering::Relaxed).is_null() {
        return is_ours();
    }
    let Some(base) = sys::map_file(CHANNEL, TOTAL_BYTES) else {
        return false;
    };
    BASE.store(base, Ordering::Relaxed);
    is_ours()
}

/// Whether the driver is of the same version.
fn is_ours() -> bool {
    let header = header();
    header.magic.load(Ordering::Acquire) == MAGIC
        && header.version.load(Ordering::Relaxed) == VERSION
}

pub fn header() -> &'static Header {
    // SAFETY: mapped by `open` for good, and large enough; all its fields are atomic.
    unsafe { &*BASE.load(Ordering::Relaxed).cast() }
}

/// The plans of the batch at hand.
pub fn plans() -> &'static [u64] {
    // SAFETY: as above; the driver does not write while we are at work.
    unsafe {
        slice::from_raw_parts(
            BASE.load(Ordering::Relaxed).add(PLANS_AT).cast(),
            PLANS_BYTES / 8,
        )
    }
}

/// Room for reports.
pub fn reports() -> &'static mut [u64] {
    // SAFETY: as above; the driver does not read while we are at work, and we take one slice at a time.
    unsafe {
        slice::from_raw_parts_mut(
            BASE.load(Ordering::Relaxed).add(REPORTS_AT).cast(),
            REPORTS_BYTES / 8,
        )
    }
}

/// Starts of lines that the driver wants to be watched.
pub fn lines() -> &'static [AtomicU64] {
    let count = header().lines.load(Ordering::Relaxed) as usize;
    // SAFETY: as above, and all accesses to them are atomic.
    unsafe {
        slice::from_raw_parts(
            BASE.load(Ordering::Relaxed).add(LINES_AT).cast(),
            count.min(LINES_BYTES / 8),
        )
    }
}

/// Waits for the next batch after this one.
pub fn wait(last: u32) -> u32 {
    let request = &header().request;
    for _ in 0..200 {
        let now = request.load(Ordering::Acquire);
        if now != last {
            return now;
        }
        core::hint::spin_loop();
    }
    loop {
        let now = request.load(Ordering::Acquire);
        if now != last {
            return now;
        }
        sys::futex_wait(request, now);
    }
}

/// Says that a batch is done.
pub fn reply(batch: u32) {
    let reply = &header().reply;
    reply.store(batch, Ordering::Release);
    sys::futex_wake(reply);
}

/// Leaves a sentence about why the target ends.
pub fn complain(text: &[u8]) {
    // Before `main` it is not open yet.
    if BASE.load(Ordering::Relaxed).is_null() && !(crate::core::program_start::driven() && open()) {
        let text = core::str::from_utf8(text).unwrap_or("?");
        // SAFETY: `write` reads `message`, a live slice of that length.
        unsafe {
            sys::call(
                libc::SYS_write,
                [2, text.as_ptr() as usize, text.len(), 0, 0, 0],
            );
        }
        return;
    }
    let length = leave(text);
    header().message_bytes.store(length, Ordering::Release);
}

/// Leaves a text, as far as there is room; its length.
fn leave(text: &[u8]) -> u32 {
    let header = header();
    for (place, chunk) in header.message.iter().zip(text.chunks(8)) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        place.store(u64::from_le_bytes(word), Ordering::Relaxed);
    }
    text.len().min(header.message.len() * 8) as u32
}

/// Leaves word that a library is to be loaded; whether there is room for its path.
pub fn want(path: &[u8], global: bool) -> bool {
    let length = leave(path);
    let header = header();
    header
        .library_global
        .store(global.into(), Ordering::Relaxed);
    header.library_bytes.store(length, Ordering::Release);
    length as usize == path.len()
}
