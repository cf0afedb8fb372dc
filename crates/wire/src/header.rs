//! The first page: how the two sides take turns.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"reweave\0");
/// Grows with every change of anything in this crate.
pub const VERSION: u32 = 13;

/// Where plans begin.
pub const PLANS_AT: usize = 4096;
/// Room for plans.
pub const PLANS_BYTES: usize = 64 << 20;
/// Where reports begin.
pub const REPORTS_AT: usize = PLANS_AT + PLANS_BYTES;
/// Room for reports. Pages that were never touched cost nothing.
pub const REPORTS_BYTES: usize = 256 << 20;
/// Where the [starts of lines](crate::LineStart) begin, ascending.
pub const LINES_AT: usize = REPORTS_AT + REPORTS_BYTES;
/// Room for them.
pub const LINES_BYTES: usize = 8 << 20;
/// Size of the file.
pub const TOTAL_BYTES: usize = LINES_AT + LINES_BYTES;

/// See the crate. Counters only grow.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// [`VERSION`].
    pub version: AtomicU32,
    /// The batch that the driver asks for.
    pub request: AtomicU32,
    /// The last batch that the target has done. 0 right after the start means: not ready yet.
    pub reply: AtomicU32,
    /// Plans in the batch.
    pub plans: AtomicU32,
    /// Reports of the batch that are whole.
    pub done: AtomicU32,
    /// Where the next report begins, in words.
    pub next: AtomicU64,
    /// Steps made in all runs so far: stands still in a run that loops for ever.
    pub steps: AtomicU64,
    /// How the target is to check plain accesses: [`Races`].
    pub races: AtomicU32,
    /// Whether waits on condition variables may end spuriously.
    pub spurious_wakeups: AtomicU32,
    /// What else may happen: bits of [`Fault`].
    pub faults: AtomicU32,
    /// How many ranks of MPI the program has; 0: it is not run as one.
    pub ranks: AtomicU32,
    /// Whether a standard send of MPI waits for its receive: [`Sends`].
    pub sends: AtomicU32,
    /// How runs restart: [`Restart`].
    pub restart: AtomicU32,
    /// How the program's threads are run: [`Threads`].
    pub threads: AtomicU32,
    /// Whether the next plan is run with a debugger: [`Debugged`].
    pub debugged: AtomicU32,
    /// The process ends after this batch: a crash may have left anything behind.
    pub spoilt: AtomicU32,
    /// A run in a process of its own wants this slot for another thread.
    pub wanted: AtomicU32,
    /// The thread that runs, and how many steps it has made: where a process that ends was.
    pub running: AtomicU32,
    /// See above.
    pub count: AtomicU32,
    /// The process that was forked for the run under way; [`FORKING`]: one is about to be; 0: none.
    pub forked: AtomicU32,
    /// How a forked process ended that did not come to the end of its run, as `wait` tells it.
    pub lost: AtomicU32,
    /// What a run left behind in its process and nobody puts back: [`LEFT`], counted from 1.
    pub left: AtomicU32,
    /// Whether a thread that makes no step is to be given up. Else the target looks what it does.
    pub endless: AtomicU32,
    /// The system call in which a thread that is to be given up waits, counted from 1; 0: it runs.
    pub waits_in: AtomicU32,
    /// The processor that all processes of a run are to share, counted from 1; 0: any.
    pub core: AtomicU32,
    /// Bytes that a thread of the program can have.
    pub max_memory: AtomicU64,
    /// How many descriptors the program may have; the process may have more.
    pub max_descriptors: AtomicU64,
    /// Nanoseconds of all runs, of all restarts, and of writing reports, for benchmarks.
    pub spent: [AtomicU64; 3],
    /// Whether to measure [`Header::spent`].
    pub measure: AtomicU32,
    /// How many starts of lines are to be watched.
    pub lines: AtomicU32,
    /// Bytes of a message from the target why it cannot go on, in [`Header::message`].
    pub message_bytes: AtomicU32,
    /// Bytes of the path of a library that a run wants to be loaded, in [`Header::message`] too.
    pub library_bytes: AtomicU32,
    /// Whether that library's names are to be seen by others.
    pub library_global: AtomicU32,
    /// See above.
    pub message: [AtomicU64; 64],
}

/// See [`Header::forked`].
pub const FORKING: u32 = u32::MAX;

/// See [`Header::left`].
pub const LEFT: [&str; 5] = [
    "mappings of memory",
    "signal handlers or masks",
    "timers",
    "limits",
    "another user, group or session",
];

/// How the program is restarted for the next run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u32)]
pub enum Restart {
    /// In the same process, with its memory put back.
    #[default]
    Warm = 0,
    /// In a fork of a process that stands at `main`.
    Fork = 1,
    /// In a process that was started for it.
    Exec = 2,
}

/// Whether a standard send of MPI waits for its receive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum Sends {
    /// It may wait or not, and both are explored.
    #[default]
    Both = 0,
    /// Every message is buffered.
    Eager = 1,
    /// No message is.
    Rendezvous = 2,
}

/// How the program's threads are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
pub enum Threads {
    /// As fibers of one thread of the operating system.
    #[default]
    Fiber = 0,
    /// As threads of the operating system, one at a time.
    Os = 1,
}

/// How far a run with a debugger is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Debugged {
    /// There is no debugger, or it is gone.
    No = 0,
    /// There will be one.
    Wanted = 1,
    /// The target waits for it.
    Waits = 2,
}

/// What is done about plain accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Races {
    /// A race is an error.
    #[default]
    Report = 0,
    /// They are not looked at.
    Ignore = 1,
    /// A race is an error, and its accesses are to be explored: see [`Unit`](crate::Unit).
    Explore = 2,
    /// Racy accesses are to be explored, like atomics; a race is no error.
    Interleave = 3,
}

/// What happens on request beside the usual.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Fault {
    /// A call on a pipe or a stream moves one byte only.
    ShortIo = 1,
    /// A call that waits is interrupted by a signal.
    Interrupts = 2,
    /// A datagram is lost.
    Loss = 4,
}
