//! Child processes: how they are started, what they may use, how much time they have used.
//!
//! *Called by:* `process`. *Owns:* one thread that starts all children and never ends, and the list of children that live.

use crate::descendants::adopt_orphans;
use std::{
    io,
    process::{Child, Command},
    sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc},
    time::Duration,
};

/// How many descriptors a process may have.
pub(crate) fn descriptors() -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the pointer is to a local of the right type.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit
}

/// Makes the calling process the first one that the kernel ends when memory runs out. Async-signal-safe.
pub(crate) fn be_first_victim() {
    // SAFETY: both texts end with a nul, and four bytes of the second are read; the descriptor is closed once.
    unsafe {
        let file = libc::open(
            c"/proc/self/oom_score_adj".as_ptr(),
            libc::O_WRONLY | libc::O_CLOEXEC,
        );
        if file >= 0 {
            libc::write(file, c"1000".as_ptr().cast(), 4);
            libc::close(file);
        }
    }
}

/// The processor time that a process has used.
pub(crate) fn processor_time(process: u32) -> Duration {
    // SAFETY: both pointers are to locals of the right types; a timespec may be all zeros.
    unsafe {
        let mut clock = 0;
        let mut time: libc::timespec = std::mem::zeroed();
        let known = libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) == 0
            && libc::clock_gettime(clock, &mut time) == 0;
        match known {
            true => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            false => Duration::ZERO,
        }
    }
}

static LIVING: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// The children that were started and not waited for. While it is held no child is started.
pub(crate) fn living() -> MutexGuard<'static, Vec<u32>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a child from a thread that never ends: the kernel lets children that ask for it die with the thread that started them, and
/// not only with the process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    type Wanted = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: LazyLock<mpsc::Sender<Wanted>> = LazyLock::new(|| {
        let (order, orders) = mpsc::channel::<Wanted>();
        adopt_orphans();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                let mut living = living();
                let child = command.spawn();
                living.extend(child.as_ref().map(Child::id));
                drop(living);
                // The caller waits for it.
                let _ = answer.send(child);
            }
        });
        order
    });
    let (answer, answers) = mpsc::channel();
    let ended = || io::Error::other("the thread that starts programs has ended");
    STARTER.send((command, answer)).map_err(|_| ended())?;
    answers.recv().map_err(|_| ended())?
}
