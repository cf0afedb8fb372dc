//! What a person at a terminal sees while a check is under way, and how it is interrupted.

use reweave_check::Control;
use signal_hook::{consts::TERM_SIGNALS, flag};
use std::{
    io::{self, IsTerminal, Write},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Has Ctrl-C (and a request to end) stop the check after the executions that are being run; the second time it ends the command
/// at once. What is handed back tells whether that happened.
pub fn interrupts(control: &Control) -> Result<Arc<AtomicBool>, String> {
    let failed = |error: io::Error| format!("signals cannot be caught: {error}");
    for signal in TERM_SIGNALS {
        // The order matters: the second signal finds the flag set by the first.
        flag::register_conditional_shutdown(*signal, 128 + *signal, control.stop.clone())
            .map_err(failed)?;
        flag::register(*signal, control.stop.clone()).map_err(failed)?;
    }
    Ok(control.stop.clone())
}

/// How often the line is written anew.
const INTERVAL: Duration = Duration::from_millis(250);

/// Runs something long, with a line on standard error about how far it is if a person is looking.
pub fn shown<T>(name: &str, control: &Control, wanted: bool, long: impl FnOnce() -> T) -> T {
    if !wanted || !io::stderr().is_terminal() {
        return long();
    }
    let (done, changed) = (Mutex::new(false), Condvar::new());
    let start = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut over = done.lock().unwrap_or_else(PoisonError::into_inner);
            while !*over {
                let waited = changed.wait_timeout(over, INTERVAL);
                over = waited.unwrap_or_else(PoisonError::into_inner).0;
                let (runs, seconds) = (control.runs.load(Relaxed), start.elapsed().as_secs_f64());
                let line = match *over {
                    // Makes room for what came out.
                    true => "\r\x1b[K".into(),
                    false => format!("\r{name}: {runs} executions, {seconds:.1} s\x1b[K"),
                };
                let _ = io::stderr().write_all(line.as_bytes());
            }
        });
        let value = long();
        *done.lock().unwrap_or_else(PoisonError::into_inner) = true;
        changed.notify_all();
        value
    })
}
