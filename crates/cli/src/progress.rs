//! The progress line of a check: what is being done, how far it is, and how long it may take.
//!
//! *Called by:* `check`. *Owns:* a thread that rewrites the line. *Invariants:* the line is shorter than the terminal is
//! wide, so it never wraps; sentences of `output::say` replace it.

mod range;

use crate::output;
use range::Range;
use reweave_check::Control;
use reweave_explore::Estimate;
use reweave_report::{Large, Part, Span, clean, grouped};
use std::{
    io::{self, IsTerminal},
    sync::{
        Condvar, Mutex, PoisonError,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// How often the line is rewritten.
const INTERVAL: Duration = Duration::from_millis(250);

/// What a check does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    Compiling,
    Exploring,
    Confirming,
}

impl Phase {
    const ALL: [(Phase, &str); 3] = [
        (Phase::Compiling, "compiling"),
        (Phase::Exploring, "exploring"),
        (Phase::Confirming, "confirming"),
    ];

    fn name(self) -> &'static str {
        Phase::ALL[self as usize].1
    }
}

/// What the line is about.
pub struct Progress<'a> {
    name: String,
    workers: usize,
    control: &'a Control,
    phase: AtomicU8,
}

impl<'a> Progress<'a> {
    /// Of a program that is about to be compiled.
    pub fn new(name: String, workers: usize, control: &'a Control) -> Progress<'a> {
        Progress {
            name,
            workers,
            control,
            phase: AtomicU8::new(Phase::Compiling as u8),
        }
    }

    /// What is done from here on.
    pub fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Relaxed))].0
    }
}

/// Runs something long, with a progress line on standard error if that is a terminal.
pub fn shown<T>(progress: &Progress<'_>, wanted: bool, long: impl FnOnce() -> T) -> T {
    if !wanted || !io::stderr().is_terminal() || !output::has_escapes() {
        return long();
    }
    let (done, changed) = (Mutex::new(false), Condvar::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut watched = Watched::default();
            let mut over = done.lock().unwrap_or_else(PoisonError::into_inner);
            while !*over {
                let waited = changed.wait_timeout(over, INTERVAL);
                over = waited.unwrap_or_else(PoisonError::into_inner).0;
                match *over {
                    // Makes room for the result.
                    true => output::remove_line(),
                    false => {
                        output::show_line(&watched.look(progress).line(output::width_of_errors()))
                    }
                }
            }
        });
        // Also if it panics: the scope waits for the thread.
        let end = End(&done, &changed);
        let value = long();
        drop(end);
        value
    })
}

struct End<'a>(&'a Mutex<bool>, &'a Condvar);

impl Drop for End<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

/// What earlier lines showed.
#[derive(Default)]
struct Watched {
    /// When exploring began.
    since: Option<Instant>,
    sizes: range::Sizes,
}

impl Watched {
    fn look<'a>(&mut self, progress: &'a Progress<'_>) -> Look<'a> {
        let (phase, control) = (progress.phase(), progress.control);
        let since = match phase {
            Phase::Compiling => None,
            _ => Some(*self.since.get_or_insert_with(Instant::now)),
        };
        let seconds = since.map_or(0.0, |since| since.elapsed().as_secs_f64());
        let estimate = control.estimate();
        Look {
            name: &progress.name,
            phase,
            runs: control.runs.load(Relaxed),
            seconds,
            range: estimate.map(|estimate| self.sizes.range(seconds, &estimate)),
            estimate,
            failures: control.failures.load(Relaxed),
            busy: control.busy(),
            workers: progress.workers,
        }
    }
}

/// A check at one moment.
struct Look<'a> {
    name: &'a str,
    phase: Phase,
    runs: u64,
    seconds: f64,
    estimate: Option<Estimate>,
    range: Option<Range>,
    failures: u64,
    busy: usize,
    workers: usize,
}

/// Cells of the bar.
const CELLS: usize = 10;

/// The longest name that is shown whole.
const NAME: usize = 24;

impl Look<'_> {
    /// `queue.c exploring [####......] 4.1%, 35 s to 61 s left, 230,000 to 390,000 executions in all`: as much of
    /// it as there is room for.
    fn line(&self, width: usize) -> String {
        let room = width.saturating_sub(1);
        let name = clean(self.name);
        let mut line = match name.chars().count() {
            0..=NAME => name,
            _ => format!("{}...", name.chars().take(NAME - 3).collect::<String>()),
        };
        line += &format!(" {}", self.phase.name());
        let parts = match self.phase {
            Phase::Exploring => self.parts(),
            _ => Vec::new(),
        };
        for (index, part) in parts.iter().enumerate() {
            let between = if index == 0 { " " } else { ", " };
            let longer = format!("{line}{between}{part}");
            if longer.chars().count() > room {
                break;
            }
            line = longer;
        }
        line.chars().take(room).collect()
    }

    /// The most important first.
    fn parts(&self) -> Vec<String> {
        let mut parts = Vec::new();
        match (&self.estimate, &self.range) {
            (Some(estimate), Some(range)) => {
                let covered = estimate.covered();
                parts.push(format!("{} {}", bar(covered), Part(covered)));
                let left = range.seconds(estimate, self.seconds);
                parts.push(format!("{} left", left.text(Span)));
                parts.push(format!("{} executions in all", range.sizes(Large)));
            }
            _ => parts.push(format!("{} executions", grouped(self.runs))),
        }
        match self.failures {
            0 => {}
            1 => parts.push("1 failed".into()),
            failures => parts.push(format!("{} failed", grouped(failures))),
        }
        if self.estimate.is_some() {
            parts.push(format!("{} so far", grouped(self.runs)));
        }
        if self.seconds >= 1.0 {
            let rate = self.runs as f64 / self.seconds;
            parts.push(format!("{}/s", Large(rate.max(1.0).log10())));
        }
        if self.workers > 1 {
            parts.push(format!("{} of {} workers", self.busy, self.workers));
        }
        parts
    }
}

/// `[####......]`
fn bar(part: f64) -> String {
    let full = ((part * CELLS as f64) as usize).min(CELLS);
    format!("[{}{}]", "#".repeat(full), ".".repeat(CELLS - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look<'static> = Look {
        name: "queue.c",
        phase: Phase::Exploring,
        runs: 12345,
        seconds: 2.0,
        estimate: None,
        range: None,
        failures: 0,
        busy: 2,
        workers: 2,
    };

    fn estimated(runs: f64, within: f64) -> Look<'static> {
        let estimate = Estimate {
            ln_runs: runs.ln(),
            done: 12345,
            within,
        };
        Look {
            range: Some(range::Sizes::default().range(2.0, &estimate)),
            estimate: Some(estimate),
            ..LOOK
        }
    }

    #[test]
    fn lines_as_they_are_shown() {
        let begun = Look {
            seconds: 0.3,
            workers: 1,
            ..LOOK
        };
        assert_eq!(begun.line(80), "queue.c exploring 12,345 executions");
        let compiling = Look {
            phase: Phase::Compiling,
            ..LOOK
        };
        assert_eq!(compiling.line(80), "queue.c compiling");
        let usual = estimated(300_000.0, 1.3);
        assert_eq!(
            usual.line(140),
            "queue.c exploring [..........] 4.1%, 35 s to 61 s left, 230,000 to 390,000 executions in all, 12,345 so far, 6,173/s, 2 of 2 workers"
        );
        assert_eq!(
            usual.line(80),
            "queue.c exploring [..........] 4.1%, 35 s to 61 s left"
        );
        let endless = Look {
            failures: 3,
            ..estimated(1e41, 10.0)
        };
        assert_eq!(
            endless.line(140),
            "queue.c exploring [..........] less than 0.01%, 10^29 years to 10^31 years left, 10^40 to 10^42 executions in all, 3 failed, 12,345 so far"
        );
    }

    #[test]
    fn no_line_is_as_wide_as_the_terminal() {
        let long = Look {
            name: "a-program-with-quite-a-long-name-for-one.cc",
            failures: 12,
            ..estimated(3e9, 2.0)
        };
        for width in 1..200 {
            let line = long.line(width);
            assert!(line.chars().count() < width, "{width}: {line}");
        }
        assert!(
            long.line(60)
                .starts_with("a-program-with-quite-... exploring")
        );
    }
}
