//! The memory shared with a program's process: header, plans, reports.
//!
//! *Called by:* `process`. *Owns:* one mapping of an anonymous file. *Invariants:* the header is accessed by atomic
//! operations only; plans and reports are accessed by one side at a time, which the header's `request` and `reply` decide.

use reweave_wire::{
    Header, LINES_AT, LINES_BYTES, MAGIC, PLANS_AT, PLANS_BYTES, REPORTS_AT, REPORTS_BYTES,
    TOTAL_BYTES, VERSION,
};
use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    ptr, slice,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
    time::Duration,
};

/// The shared memory.
pub(crate) struct Channel {
    base: *mut u8,
}

// SAFETY: the mapping belongs to the process as a whole; one worker at a time uses it.
unsafe impl Send for Channel {}

impl Channel {
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the mapping is large enough and lives as long as `self`; all fields are atomic.
        unsafe { &*self.base.cast() }
    }

    /// Room for plans. The program does not touch it between batches.
    pub(crate) fn plans(&mut self) -> &mut [u64] {
        // SAFETY: the mapping holds the plans at this offset and lives as long as `self`; `&mut self` and the protocol (the
        // program reads plans only while a batch is under way) keep other accesses away.
        unsafe { slice::from_raw_parts_mut(self.base.add(PLANS_AT).cast(), PLANS_BYTES / 8) }
    }

    /// Room for starts of lines.
    pub(crate) fn lines(&self) -> &[AtomicU64] {
        // SAFETY: the mapping holds them at this offset and lives as long as `self`; all accesses to them are atomic.
        unsafe { slice::from_raw_parts(self.base.add(LINES_AT).cast(), LINES_BYTES / 8) }
    }

    /// What the program wrote. It does not touch it between batches.
    pub(crate) fn reports(&self) -> &[u64] {
        // SAFETY: the mapping holds the reports at this offset and lives as long as `self`; the program writes them only
        // while a batch is under way, and then no borrow of them exists.
        unsafe { slice::from_raw_parts(self.base.add(REPORTS_AT).cast(), REPORTS_BYTES / 8) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: `Channel::new` mapped exactly these bytes, and every borrow of them has ended with `self`.
        unsafe { libc::munmap(self.base.cast(), TOTAL_BYTES) };
    }
}

/// An anonymous file.
pub(crate) fn anonymous(name: &CStr, flags: u32) -> io::Result<OwnedFd> {
    // SAFETY: the name ends with a nul; the descriptor is new, so this is its only owner.
    unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | flags);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Maps a new channel, with the header that the runtime expects.
pub(crate) fn map(file: &OwnedFd) -> io::Result<Channel> {
    // SAFETY: the descriptor is open, the mapping is new and of the file's size, and no other process maps the file before
    // the header is initialised.
    unsafe {
        if libc::ftruncate(file.as_raw_fd(), TOTAL_BYTES as libc::off_t) != 0 {
            return Err(io::Error::last_os_error());
        }
        // If the program truncated the file, accesses here would end this process.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        if libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) != 0 {
            return Err(io::Error::last_os_error());
        }
        let base = libc::mmap(
            ptr::null_mut(),
            TOTAL_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let channel = Channel { base: base.cast() };
        let header = &*channel.base.cast::<Header>();
        header.version.store(VERSION, Ordering::Relaxed);
        header.request.store(1, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(channel)
    }
}

/// Waits at or wakes a word that the program's process shares.
pub(crate) fn futex(word: &AtomicU32, operation: i32, value: u32, timeout: Option<Duration>) {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the word outlives the call, and the timeout is null or points to a local.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}
