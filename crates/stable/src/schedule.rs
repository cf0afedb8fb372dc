//! The order of synchronisation as a file.
//!
//! *Decides:* nothing. *Called by:* `turn.rs`, under its lock. *Owns:* the file that is written and the file that is followed.
//! *Invariants:* what was recorded survives a crash of the program, because it is written through a shared mapping. What the file has
//! beyond that is zeros, which readers pass over.
//!
//! A line for each step: the number of the thread, and what it did.

use crate::rotation::Member;
use core::{ffi::CStr, fmt::Write, ptr, slice};
use libc::{c_char, c_int, c_void};

/// The first line of a file.
pub const HEADER: &str = "reweave.schedule/1\n";

/// How much of a file is mapped at a time.
const PIECE: usize = 1 << 20;

macro_rules! operations {
    ($($name:ident $text:literal),* $(,)?) => {
        /// What a thread does in its turn.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Op { $($name),* }

        impl Op {
            const ALL: &[Op] = &[$(Op::$name),*];

            /// Whether a thread keeps the turn after it. What opens a section or wakes others is followed by more of the same thread, and
            /// a switch costs more than the wait of the others.
            pub const fn keeps(self) -> bool {
                use Op::*;
                matches!(self, Lock | Signal | Broadcast | ReadLock | WriteLock | Once | Destroy | Create | FutexWake | Critical)
            }

            /// As it is written.
            pub const fn text(self) -> &'static str {
                match self { $(Op::$name => $text),* }
            }
        }
    };
}

operations! {
    Lock "lock", TryLock "try-lock", TimedLock "timed-lock", Unlock "unlock", Destroy "destroy",
    Wait "wait", TimedWait "timed-wait", Signal "signal", Broadcast "broadcast",
    ReadLock "read-lock", WriteLock "write-lock", TryReadLock "try-read-lock", TryWriteLock "try-write-lock", RwUnlock "rw-unlock",
    SemWait "sem-wait", SemTryWait "sem-try-wait", SemTimedWait "sem-timed-wait", SemPost "sem-post", SemValue "sem-value",
    Arrive "arrive", Once "once", OnceDone "once-done",
    Create "create", Join "join", Detach "detach", End "end", Cancel "cancel", Fork "fork", Yield "yield",
    FutexWait "futex-wait", FutexWake "futex-wake", Sleep "sleep", TimedOut "timed-out",
    Leave "leave", Rejoin "rejoin", SoftBarrier "soft-barrier", Enter "enter-section", Exit "exit-section",
    Team "team", Single "single", Chunk "chunk", Critical "critical", CriticalEnd "critical-end", Task "task",
}

/// See the module.
pub struct Schedule {
    record: Recording,
    follow: Following,
}

struct Recording {
    fd: c_int,
    mapped: *mut u8,
    /// Where the mapping begins in the file.
    offset: usize,
    used: usize,
}

struct Following {
    text: *const u8,
    length: usize,
    at: usize,
    line: u64,
    next: Option<(Member, Op)>,
}

/// Why a recorded order cannot be kept.
pub enum Departure {
    /// The file ends here.
    Longer,
    /// The thread does something else.
    Other {
        /// Which line.
        line: u64,
        /// What the file says.
        expected: Op,
    },
}

impl Schedule {
    /// Neither recorded nor followed.
    pub const fn new() -> Schedule {
        Schedule {
            record: Recording {
                fd: -1,
                mapped: ptr::null_mut(),
                offset: 0,
                used: 0,
            },
            follow: Following {
                text: ptr::null(),
                length: 0,
                at: 0,
                line: 1,
                next: None,
            },
        }
    }

    /// Begins to write a file. Says whether it can be written.
    pub fn record(&mut self, path: &CStr) -> bool {
        // SAFETY: the path is a C string.
        let fd = unsafe {
            libc::open(
                path.as_ptr(),
                libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC,
                0o644,
            )
        };
        if fd < 0 {
            return false;
        }
        // Out of the program's way: it may count on low numbers.
        // SAFETY: the descriptor was opened here, and nothing else uses it.
        let high = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 900) };
        if high >= 0 {
            // SAFETY: the descriptor was opened here, and only its copy is used from now on.
            unsafe { libc::close(fd) };
        }
        self.record.fd = if high >= 0 { high } else { fd };
        self.record.map(0) && write!(self.record, "{HEADER}").is_ok()
    }

    /// Begins to follow a file. Says whether it is one.
    pub fn follow(&mut self, path: &CStr) -> bool {
        // SAFETY: the path is a C string.
        let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        if fd < 0 {
            return false;
        }
        // SAFETY: the descriptor is ours, and the mapping is private and never unmapped.
        let (text, length) = unsafe {
            let length = libc::lseek(fd, 0, libc::SEEK_END).max(0) as usize;
            let text = libc::mmap(
                ptr::null_mut(),
                length.max(1),
                libc::PROT_READ,
                libc::MAP_PRIVATE,
                fd,
                0,
            );
            libc::close(fd);
            (text, length)
        };
        if text == libc::MAP_FAILED || length < HEADER.len() {
            return false;
        }
        (self.follow.text, self.follow.length) = (text.cast(), length);
        let header = self.follow.line_at(0);
        if header != &HEADER.as_bytes()[..HEADER.len() - 1] {
            return false;
        }
        self.follow.at = HEADER.len();
        self.follow.read();
        true
    }

    /// Whether an order is followed.
    pub fn follows(&self) -> bool {
        !self.follow.text.is_null()
    }

    /// The next step of the order that is followed.
    pub fn next(&self) -> Option<(Member, Op)> {
        self.follow.next
    }

    /// A thread does its step.
    pub fn step(&mut self, member: Member, op: Op) -> Result<(), Departure> {
        if self.record.fd >= 0 {
            // A full disk ends the recording, not the program.
            let _ = writeln!(self.record, "{} {}", member.number(), op.text());
        }
        if !self.follows() {
            return Ok(());
        }
        match self.follow.next {
            None => Err(Departure::Longer),
            Some((_, expected)) if expected != op => Err(Departure::Other {
                line: self.follow.line,
                expected,
            }),
            Some(_) => {
                self.follow.read();
                Ok(())
            }
        }
    }

    /// Follows no order any more.
    pub fn abandon(&mut self) {
        self.follow.text = ptr::null();
    }

    /// The program ends: the file gets its length.
    pub fn finish(&mut self) {
        if self.record.fd >= 0 {
            let length = self.record.offset + self.record.used;
            // SAFETY: the descriptor was opened here, and nothing else uses it.
            unsafe { libc::ftruncate(self.record.fd, length as i64) };
        }
    }

    /// In a forked child: the file is the parent's.
    pub fn forget(&mut self) {
        if self.record.fd >= 0 {
            // SAFETY: the descriptor is ours, and the mapping is not used any more.
            unsafe {
                libc::close(self.record.fd);
                libc::munmap(self.record.mapped.cast(), PIECE);
            }
        }
        *self = Schedule::new();
    }
}

impl Recording {
    fn map(&mut self, offset: usize) -> bool {
        // SAFETY: the descriptor is ours; the old mapping, if any, is not used any more.
        unsafe {
            if !self.mapped.is_null() {
                libc::munmap(self.mapped.cast(), PIECE);
            }
            let grown = libc::posix_fallocate(self.fd, offset as i64, PIECE as i64) == 0;
            let prot = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = match grown {
                true => libc::mmap(
                    ptr::null_mut(),
                    PIECE,
                    prot,
                    libc::MAP_SHARED,
                    self.fd,
                    offset as i64,
                ),
                false => libc::MAP_FAILED,
            };
            if mapped == libc::MAP_FAILED {
                libc::ftruncate(self.fd, offset as i64);
                libc::close(self.fd);
                (self.fd, self.mapped) = (-1, ptr::null_mut());
                return false;
            }
            (self.mapped, self.offset, self.used) = (mapped.cast(), offset, 0);
        }
        true
    }
}

impl Write for Recording {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if self.used == PIECE && !self.map(self.offset + PIECE) {
                return Err(core::fmt::Error);
            }
            // SAFETY: fewer than PIECE bytes of the mapping are used.
            unsafe { self.mapped.add(self.used).write(byte) };
            self.used += 1;
        }
        Ok(())
    }
}

impl Following {
    fn line_at(&self, at: usize) -> &[u8] {
        // SAFETY: the mapping has so many bytes and stays.
        let rest = unsafe { slice::from_raw_parts(self.text.add(at), self.length - at) };
        let end = rest.iter().position(|byte| *byte == b'\n');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn read(&mut self) {
        self.line += 1;
        let line = self.line_at(self.at);
        let (next, length) = (parse(line), line.len());
        self.next = next;
        self.at = (self.at + length + 1).min(self.length);
    }
}

/// `3 lock`; nothing if it is no such line.
fn parse(line: &[u8]) -> Option<(Member, Op)> {
    let line = core::str::from_utf8(line).ok()?;
    let (number, text) = line.split_once(' ')?;
    let op = Op::ALL.iter().find(|op| op.text() == text)?;
    Some((Member::of(number.parse().ok()?), *op))
}

/// The value of an environment variable.
pub fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name is a C string; what is found is one, and is read before the program can change it.
    unsafe {
        let found: *const c_char = libc::getenv(name.as_ptr());
        (!found.is_null() && *found != 0).then(|| CStr::from_ptr(found))
    }
}

/// A path for a process: the path itself for the first one, with its number behind it for the others.
pub fn path_of<'a>(path: &CStr, process: u32, room: &'a mut [u8; 4096]) -> Option<&'a CStr> {
    struct Text<'a>(&'a mut [u8], usize);
    impl Write for Text<'_> {
        fn write_str(&mut self, text: &str) -> core::fmt::Result {
            let end = self.1 + text.len();
            let room = self.0.get_mut(self.1..end).ok_or(core::fmt::Error)?;
            room.copy_from_slice(text.as_bytes());
            self.1 = end;
            Ok(())
        }
    }
    let mut text = Text(room, 0);
    text.write_str(path.to_str().ok()?).ok()?;
    if process > 0 {
        write!(text, ".{process}").ok()?;
    }
    text.write_str("\0").ok()?;
    CStr::from_bytes_until_nul(room).ok()
}

/// Which process of the run this is: the first number that none has yet. A file of that name in a directory of the command is the claim.
pub fn process_number(directory: &CStr) -> u32 {
    let mut room = [0; 4096];
    for number in 1.. {
        let Some(path) = path_of(directory, number, &mut room) else {
            return 0;
        };
        // SAFETY: the path is a C string.
        let fd = unsafe {
            libc::open(
                path.as_ptr(),
                libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY | libc::O_CLOEXEC,
                0o600,
            )
        };
        if fd >= 0 {
            // SAFETY: the descriptor was opened here, and nothing else uses it.
            unsafe { libc::close(fd) };
            return number - 1;
        }
        // SAFETY: errno is a variable of this thread, which is always there.
        if unsafe { *libc::__errno_location() } != libc::EEXIST {
            return 0;
        }
    }
    0
}

const _: () = assert!(size_of::<*mut c_void>() == 8);
