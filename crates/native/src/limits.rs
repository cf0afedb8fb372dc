//! Limits of a program: memory, output, time.
//!
//! *Called by:* `process` and `subject`. *Owns:* nothing; `deadline` and `stop` are shared with the check.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// A moment after which no run goes on, shared by all that look at it.
#[derive(Clone, Debug, Default)]
pub struct Deadline(Arc<RwLock<Option<Instant>>>);

impl Deadline {
    /// Sets it; `None`: there is none.
    pub fn set(&self, moment: Option<Instant>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = moment;
    }

    fn is_over(&self) -> bool {
        let moment = *self.0.read().unwrap_or_else(PoisonError::into_inner);
        moment.is_some_and(|moment| Instant::now() >= moment)
    }
}

/// What the kernel refuses to a program's processes; `None`: nothing more than to this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Confinement {
    /// Bytes of one file. A longer one cannot be written.
    pub file: Option<u64>,
    /// Processes and threads of the user, in all. The superuser has no such limit.
    pub processes: Option<u64>,
}

impl Confinement {
    /// Sets the limits of the calling process. Async-signal-safe.
    pub(crate) fn enter(self) {
        let set = |resource, most: Option<u64>| {
            let Some(most) = most else {
                return;
            };
            let mut limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            // SAFETY: the pointers are to a local of the right type.
            unsafe {
                libc::getrlimit(resource, &mut limit);
                limit.rlim_max = limit.rlim_max.min(most);
                limit.rlim_cur = limit.rlim_max;
                libc::setrlimit(resource, &limit);
            }
        };
        set(libc::RLIMIT_FSIZE, self.file);
        set(libc::RLIMIT_NPROC, self.processes);
        if self != Confinement::default() {
            set(libc::RLIMIT_CORE, Some(0));
        }
        if self.file.is_some() {
            // The write fails then, and the process goes on.
            // SAFETY: ignoring a signal needs no handler.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of heap and other memory that each thread of the program can have; 0: no limit.
    pub memory: u64,
    /// Bytes of a run's output that are kept.
    pub output: u64,
    /// How long a thread may go on without a visible operation.
    pub time: Duration,
    /// Limits that the kernel keeps, for programs of other people.
    pub confinement: Confinement,
    /// When a run that is under way is discarded.
    pub deadline: Deadline,
    /// Set to have the run under way discarded.
    pub stop: Arc<AtomicBool>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            memory: 1 << 30,
            output: 1 << 20,
            time: Duration::from_secs(10),
            confinement: Confinement::default(),
            deadline: Deadline::default(),
            stop: Arc::default(),
        }
    }
}

/// The most output of a run that the runtime reports.
const HANDED_OUT: u64 = 1 << 20;

impl Limits {
    /// The part of a run's output that is kept; a note at its end says if it was cut.
    pub fn kept(&self, output: &[u8]) -> String {
        let most = self.output.min(HANDED_OUT) as usize;
        // Output of exactly this length was almost certainly cut before.
        if output.len() < most {
            return String::from_utf8_lossy(output).into_owned();
        }
        let text = String::from_utf8_lossy(&output[..most]);
        format!("{}\n(cut after {most} bytes)", text.trim_end_matches('\n'))
    }

    /// The same without the stop flag: for runs that confirm what is known when a check is stopped.
    #[must_use]
    pub fn without_stop(&self) -> Limits {
        Limits {
            stop: Arc::default(),
            ..self.clone()
        }
    }

    /// The same without deadline and stop flag.
    #[must_use]
    pub fn without_end(&self) -> Limits {
        Limits {
            deadline: Deadline::default(),
            ..self.without_stop()
        }
    }

    /// Whether there is no time left.
    pub(crate) fn late(&self) -> bool {
        self.stop.load(Relaxed) || self.deadline.is_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_kept_up_to_the_limit() {
        let mut limits = Limits {
            output: 5,
            ..Limits::default()
        };
        assert_eq!(limits.kept(b"abcd"), "abcd");
        assert_eq!(limits.kept(b"abcdefg"), "abcde\n(cut after 5 bytes)");
        assert_eq!(limits.kept(b"abcd\nfg"), "abcd\n(cut after 5 bytes)");
        limits.output = 1 << 30;
        let cut = "\n(cut after 1048576 bytes)";
        assert!(limits.kept(&[b'a'; 1 << 20]).ends_with(cut));
    }
}
