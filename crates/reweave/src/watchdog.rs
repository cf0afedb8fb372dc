//! Says when a check seems to hang: threads of a check share one OS thread, so whatever really blocks, blocks them all.
//!
//! One OS thread for the process, started with the first check, looks at all checks under way every few seconds.

use std::{
    io::Write,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// How often it looks. A check is reported after two looks without an execution in between.
const INTERVAL: Duration = Duration::from_secs(5);

/// A check under way; no longer looked at when this is dropped.
pub(crate) struct Watched {
    entry: Arc<Entry>,
}

struct Entry {
    name: String,
    /// Executions begun.
    runs: AtomicU64,
}

static CHECKS: Mutex<Vec<Arc<Entry>>> = Mutex::new(Vec::new());

impl Watched {
    /// Begins to look at a check.
    pub(crate) fn new(name: &str) -> Watched {
        static START: Once = Once::new();
        START.call_once(|| {
            // Without it checks work as well.
            let _ = std::thread::Builder::new()
                .name("reweave-watchdog".into())
                .spawn(look);
        });
        let entry = Arc::new(Entry {
            name: name.into(),
            runs: AtomicU64::new(0),
        });
        checks().push(entry.clone());
        Watched { entry }
    }

    /// An execution begins.
    pub(crate) fn run(&self) {
        self.entry.runs.fetch_add(1, Relaxed);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        checks().retain(|entry| !Arc::ptr_eq(entry, &self.entry));
    }
}

fn checks() -> std::sync::MutexGuard<'static, Vec<Arc<Entry>>> {
    CHECKS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn look() {
    let mut before: Vec<(Arc<Entry>, u64, u32)> = Vec::new();
    loop {
        std::thread::sleep(INTERVAL);
        let now = checks().clone();
        let look = |entry: Arc<Entry>| {
            let runs = entry.runs.load(Relaxed);
            let last = before.iter().find(|(other, ..)| Arc::ptr_eq(other, &entry));
            let idle = match last {
                Some((_, old, idle)) if *old == runs => idle + 1,
                _ => 0,
            };
            if idle == 2 {
                tell(&entry.name, runs);
            }
            (entry, runs, idle)
        };
        before = now.into_iter().map(look).collect();
    }
}

fn tell(name: &str, runs: u64) {
    let seconds = 2 * INTERVAL.as_secs();
    let text = format!(
        "reweave: {name}: execution {runs} has been running for {seconds} s. Does the test block on something of std's (a std lock, channel \
         or thread inside a check blocks all its threads), or loop without any operation of reweave's?\n"
    );
    let _ = std::io::stderr().write_all(text.as_bytes());
}
