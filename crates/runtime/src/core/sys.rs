//! System calls without libc: they touch no `errno`, which belongs to whichever thread of the program runs.

use core::{
    arch::asm,
    sync::atomic::{AtomicUsize, Ordering},
};

/// A system call; negative results are error numbers.
///
/// # Safety
/// As the call itself.
#[inline]
pub unsafe fn call(number: i64, args: [usize; 6]) -> isize {
    let result;
    // SAFETY: the kernel's calling convention; what the call does is the caller's business.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0],
            in("rsi") args[1],
            in("rdx") args[2],
            in("r10") args[3],
            in("r8") args[4],
            in("r9") args[5],
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result
}

const PAGE: usize = 4096;

/// Addresses that nothing but this library uses: heaps, stacks, its own memory.
pub const RESERVED: core::ops::Range<usize> = 0x2000_0000_0000..0x5000_0000_0000;

/// Where the runtime's own memory lies.
pub const OWN: core::ops::Range<usize> = 0x3800_0000_0000..0x4000_0000_0000;
static OWN_NEXT: AtomicUsize = AtomicUsize::new(OWN.start);

/// Where the memory ends that is mapped for all processes at once; 0: there is none.
static SHARED_END: AtomicUsize = AtomicUsize::new(0);
/// Enough for the shadow tables of many processes. What is not touched costs nothing.
const SHARED_BYTES: usize = 4 << 40;
/// Where memory lies that each process has for itself.
static PRIVATE_NEXT: AtomicUsize = AtomicUsize::new(OWN.end - (1 << 40));

/// From now on the runtime's own memory is shared with all processes that are forked: it is mapped already, so that what one of
/// them takes others have, too. Whether there is address space for it.
pub fn share_from_now_on() -> bool {
    let start = OWN_NEXT.load(Ordering::Relaxed);
    let mapped = map_as(start, SHARED_BYTES, libc::MAP_SHARED).is_some();
    if mapped {
        SHARED_END.store(start + SHARED_BYTES, Ordering::Relaxed);
    }
    mapped
}

/// Whether the runtime's own memory is shared with other processes.
pub fn shares() -> bool {
    SHARED_END.load(Ordering::Relaxed) != 0
}

fn own_place(bytes: usize) -> usize {
    OWN_NEXT.fetch_add(bytes, Ordering::Relaxed)
}

/// Fresh zeroed memory for the runtime itself.
pub fn map_own(bytes: usize) -> Option<*mut u8> {
    let bytes = bytes.next_multiple_of(PAGE);
    let place = own_place(bytes);
    match SHARED_END.load(Ordering::Relaxed) {
        0 => map(place, bytes),
        end => (place + bytes <= end).then_some(place as *mut u8),
    }
}

/// The same, shared with all processes that will be forked, before [`share_from_now_on`].
pub fn map_shared(bytes: usize) -> Option<*mut u8> {
    let bytes = bytes.next_multiple_of(PAGE);
    map_as(own_place(bytes), bytes, libc::MAP_SHARED)
}

/// The same, of which a forked process has a copy of its own.
pub fn map_private(bytes: usize) -> Option<*mut u8> {
    let bytes = bytes.next_multiple_of(PAGE);
    map(PRIVATE_NEXT.fetch_add(bytes, Ordering::Relaxed), bytes)
}

/// Memory of the program that all of its processes have, wherever they come from: named semaphores.
pub const FOR_ALL: core::ops::Range<usize> = 0x30c0_0000_0000..0x30c1_0000_0000;

/// Fresh zeroed memory at an address, which forked processes share if they share the runtime's.
pub fn map_for_all(address: usize, bytes: usize) -> Option<*mut u8> {
    let sharing = if shares() {
        libc::MAP_SHARED
    } else {
        libc::MAP_PRIVATE
    };
    map_as(address, bytes, sharing)
}

/// Fresh zeroed memory at an address; `None` when there is none.
pub fn map(address: usize, bytes: usize) -> Option<*mut u8> {
    map_as(address, bytes, libc::MAP_PRIVATE)
}

fn map_as(address: usize, bytes: usize, sharing: i32) -> Option<*mut u8> {
    let flags = sharing | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: MAP_FIXED_NOREPLACE or a free choice of address: the new mapping replaces nothing.
    let result = unsafe {
        call(
            libc::SYS_mmap,
            [
                address,
                bytes,
                access as usize,
                flags as usize,
                usize::MAX,
                0,
            ],
        )
    };
    (result > 0 || result < -(PAGE as isize)).then_some(result as *mut u8)
}

/// Maps a file, shared, among the runtime's own memory.
pub fn map_file(descriptor: i32, bytes: usize) -> Option<*mut u8> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let address = OWN_NEXT.fetch_add(bytes.next_multiple_of(PAGE), Ordering::Relaxed);
    let flags = libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE or a free choice of address: the new mapping replaces nothing.
    let result = unsafe {
        call(
            libc::SYS_mmap,
            [
                address,
                bytes,
                access as usize,
                flags as usize,
                descriptor as usize,
                0,
            ],
        )
    };
    (result > 0).then_some(result as *mut u8)
}

/// Changes what may be done with pages; whether that was possible: a process has only so many ranges of pages that differ.
///
/// # Safety
/// Nobody relies on the access that is taken away.
pub unsafe fn protect(address: usize, bytes: usize, access: i32) -> bool {
    let arguments = [address, bytes, access as usize, 0, 0, 0];
    // SAFETY: the caller passes a range that it owns (see `Safety`).
    unsafe { call(libc::SYS_mprotect, arguments) == 0 }
}

/// Gives pages back; they read as zeros afterwards.
///
/// # Safety
/// Nobody needs what is in them.
pub unsafe fn discard(address: usize, bytes: usize) {
    // SAFETY: the caller passes a range that it owns (see `Safety`).
    unsafe {
        call(
            libc::SYS_madvise,
            [address, bytes, libc::MADV_DONTNEED as usize, 0, 0, 0],
        );
    }
}

/// Sleeps until somebody changes the word from `seen` and wakes us, or sometimes for no reason.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, seen: u32) {
    // SAFETY: the kernel reads `word`, which is borrowed for the call.
    unsafe {
        call(
            libc::SYS_futex,
            [
                core::ptr::from_ref(word) as usize,
                libc::FUTEX_WAIT as usize,
                seen as usize,
                0,
                0,
                0,
            ],
        );
    }
}

/// Wakes who sleeps on the word.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    // SAFETY: the kernel only uses the address of `word`, which is borrowed for the call.
    unsafe {
        call(
            libc::SYS_futex,
            [
                core::ptr::from_ref(word) as usize,
                libc::FUTEX_WAKE as usize,
                i32::MAX as usize,
                0,
                0,
                0,
            ],
        );
    }
}

/// A file of the kernel's that is read at places: `/proc/self/mem` and its like.
pub struct Places(isize);

impl Places {
    pub fn open(path: &core::ffi::CStr) -> Places {
        let path = path.as_ptr() as usize;
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let here = libc::AT_FDCWD as usize;
        // SAFETY: `path` is a C string, borrowed for the call.
        Places(unsafe { call(libc::SYS_openat, [here, path, flags, 0, 0, 0]) })
    }

    /// Reads as much as there is room for; whether all of it was there.
    pub fn read(&self, from: usize, into: &mut [u64]) -> bool {
        let bytes = size_of_val(into);
        let place = into.as_mut_ptr() as usize;
        let arguments = [self.0 as usize, place, bytes, from, 0, 0];
        // SAFETY: the kernel writes at most `bytes` bytes to `into`, which is that long.
        unsafe { call(libc::SYS_pread64, arguments) == bytes as isize }
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        // SAFETY: the descriptor was opened by this value and is known to nothing else.
        unsafe { call(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Reads a whole file into `into`; how many bytes there were room for.
pub fn read_file(path: &core::ffi::CStr, into: &mut [u8]) -> usize {
    // SAFETY: a valid path; the descriptor is used here only; reads go into `into`.
    unsafe {
        let descriptor = call(
            libc::SYS_openat,
            [
                libc::AT_FDCWD as usize,
                path.as_ptr() as usize,
                (libc::O_RDONLY | libc::O_CLOEXEC) as usize,
                0,
                0,
                0,
            ],
        );
        if descriptor < 0 {
            return 0;
        }
        let mut length = 0;
        while length < into.len() {
            let rest = &mut into[length..];
            let got = call(
                libc::SYS_read,
                [
                    descriptor as usize,
                    rest.as_mut_ptr() as usize,
                    rest.len(),
                    0,
                    0,
                    0,
                ],
            );
            if got <= 0 {
                break;
            }
            length += got as usize;
        }
        call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]);
        length
    }
}

/// Writes to a file that is there; what cannot be written is not.
pub fn write_file(path: &core::ffi::CStr, text: &[u8]) {
    let (here, path) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
    let flags = (libc::O_WRONLY | libc::O_CLOEXEC) as usize;
    // SAFETY: `path` is a C string and `text` a live slice; the descriptor is opened and closed here.
    unsafe {
        let descriptor = call(libc::SYS_openat, [here, path, flags, 0, 0, 0]);
        if descriptor >= 0 {
            let descriptor = descriptor as usize;
            let (from, bytes) = (text.as_ptr() as usize, text.len());
            call(libc::SYS_write, [descriptor, from, bytes, 0, 0, 0]);
            call(libc::SYS_close, [descriptor, 0, 0, 0, 0, 0]);
        }
    }
}

/// Sleeps for some milliseconds.
pub fn sleep(milliseconds: i64) {
    let time = libc::timespec {
        tv_sec: 0,
        tv_nsec: milliseconds * 1_000_000,
    };
    let time = &raw const time as usize;
    // SAFETY: the kernel reads `time`, a live local.
    unsafe { call(libc::SYS_nanosleep, [time, 0, 0, 0, 0, 0]) };
}

/// Ends the process at once.
pub fn exit(code: i32) -> ! {
    loop {
        // SAFETY: ends the process; takes a number only.
        unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Nanoseconds of a clock that only grows.
pub fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel writes `time`, a live local of the type that it expects.
    unsafe {
        call(
            libc::SYS_clock_gettime,
            [
                libc::CLOCK_MONOTONIC as usize,
                &raw mut time as usize,
                0,
                0,
                0,
                0,
            ],
        );
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
