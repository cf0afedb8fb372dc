//! Signals that end the command: the first one lets a check under way report what it knows, and no temporary directory stays.
//!
//! *Called by:* `main`, which installs it for every verb, and the verbs that can be stopped. *Owns:* a thread that waits for signals.

use reweave_check::Control;
use reweave_toolchain::temporary;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};
use std::{
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
};

/// Signals by which users and systems end a process.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// What to do when one comes.
enum Answer {
    /// End the command.
    End,
    /// Stop the check that looks at this flag; if it is set already, end the command.
    Stop(Arc<AtomicBool>),
    /// Leave SIGINT to a debugger in the foreground.
    Debugger,
}

static ANSWER: Mutex<Answer> = Mutex::new(Answer::End);

fn answer(new: Answer) {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = new;
}

/// Waits for signals from here on. A command that was started by `nohup` does not end when its terminal does.
pub fn install() {
    let nohup = ignored() & (1 << (SIGHUP - 1)) != 0;
    let wanted = ENDING.iter().filter(|signal| !nohup || **signal != SIGHUP);
    // Without it a signal ends the process at once, and the next command removes what it leaves.
    let Ok(mut signals) = Signals::new(wanted) else {
        return;
    };
    std::thread::spawn(move || {
        for signal in signals.forever() {
            arrived(signal);
        }
    });
}

fn arrived(signal: i32) {
    let end = match &*ANSWER.lock().unwrap_or_else(PoisonError::into_inner) {
        Answer::End => true,
        Answer::Stop(flag) => flag.swap(true, SeqCst),
        Answer::Debugger => signal != SIGINT,
    };
    if end {
        temporary::remove_all();
        // It ends the process as if nobody had caught it. If that fails, only the status differs.
        let _ = emulate_default_handler(signal);
        std::process::exit(128 + signal);
    }
}

/// The mask of ignored signals, as the kernel shows it; none if it does not.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0)
}

/// Lets Ctrl-C (and a request to end) stop the check after the executions under way; the second one ends the command at
/// once. Returns the flag that says whether that happened.
pub fn interrupts(control: &Control) -> Arc<AtomicBool> {
    answer(Answer::Stop(control.stop.clone()));
    control.stop.clone()
}

/// From here on Ctrl-C is for the debugger that runs in the foreground.
pub fn leave_to_debugger() {
    answer(Answer::Debugger);
}
