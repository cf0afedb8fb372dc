//! Measures a tool's search in this process: CPU time of the whole process, so that a tool with helper threads pays for them,
//! and system time (stacks mapped and unmapped) counts too.
//!
//! A search of a few executions is over in microseconds, so it is repeated until [`ENOUGH_S`] have gone by and the mean is given;
//! the tool's one-time set-up is thereby spread as a user with many tests would see it. A search that takes longer than [`CAP_S`]
//! is cut by a watchdog thread that ends the process: no tool here can be asked to stop after any execution.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use crate::{Outcome, Search};

/// CPU seconds a cell may take: lastzero(12) takes interweave 7 and TraceForge 5, and should end.
pub const CAP_S: f64 = 10.0;

/// CPU seconds after which a search is not repeated. Short, for there are some forty cells; long enough that a page fault or an
/// interrupt (tens of microseconds) does not show in the third digit.
const ENOUGH_S: f64 = 0.2;

static STARTED: AtomicU64 = AtomicU64::new(0);

/// Called once an execution, by the program under test or the tool's observer.
pub fn count_execution() {
    STARTED.fetch_add(1, Ordering::Relaxed);
}

/// Executions counted in this process so far.
pub fn executions_started() -> u64 {
    STARTED.load(Ordering::Relaxed)
}

/// CPU seconds of this process, all its threads, user and system.
pub fn process_cpu_s() -> f64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `clock_gettime` writes one `timespec` through a pointer that is valid for the call.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    assert_eq!(failed, 0, "Linux has had this clock since 2.6.12");
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Runs `search` as often as needed and returns its mean; ends the process with [`Outcome::Capped`] printed when the cap is
/// reached first. Panics if two searches of the same program count differently.
pub fn measure(mut search: impl FnMut() -> Search) -> Outcome {
    let start = process_cpu_s();
    thread::spawn(move || cap_from(start));
    let first = search();
    let mut searches = 1;
    let mut elapsed = process_cpu_s() - start;
    while elapsed < ENOUGH_S {
        assert_eq!(search(), first, "the same program, searched again");
        searches += 1;
        elapsed = process_cpu_s() - start;
    }
    Outcome::Done {
        search: first,
        cpu_s: elapsed / f64::from(searches),
    }
}

/// The watchdog: 100 looks a second cost nothing that shows.
fn cap_from(start: f64) {
    loop {
        thread::sleep(Duration::from_millis(10));
        let cpu_s = process_cpu_s() - start;
        if cpu_s >= CAP_S {
            let started = executions_started();
            println!("{}", Outcome::Capped { started, cpu_s }.to_line());
            std::process::exit(0);
        }
    }
}
