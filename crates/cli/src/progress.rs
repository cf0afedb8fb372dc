//! The progress line of a check under way.
//!
//! *Called by:* `check`. *Owns:* nothing.

use reweave_check::Control;
use reweave_explore::Estimate;
use reweave_report::{Large, Part, Span, clean, grouped};
use std::{
    io::{self, IsTerminal, Write},
    sync::{Condvar, Mutex, PoisonError, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};

/// How often the line is rewritten.
const INTERVAL: Duration = Duration::from_millis(250);

/// Runs something long, with a progress line on standard error if that is a terminal.
pub fn shown<T>(
    name: &str,
    workers: usize,
    control: &Control,
    wanted: bool,
    long: impl FnOnce() -> T,
) -> T {
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
                let line = match *over {
                    // Makes room for the result.
                    true => "\r\x1b[K".into(),
                    false => format!("\r{}\x1b[K", Look::at(name, workers, control, start).line()),
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

/// A check at one moment.
struct Look<'a> {
    name: &'a str,
    runs: u64,
    seconds: f64,
    estimate: Option<Estimate>,
    depth: u64,
    failures: u64,
    busy: usize,
    workers: usize,
}

impl Look<'_> {
    fn at<'a>(name: &'a str, workers: usize, control: &Control, start: Instant) -> Look<'a> {
        Look {
            name,
            runs: control.runs.load(Relaxed),
            seconds: start.elapsed().as_secs_f64(),
            estimate: control.estimate(),
            depth: control.depth.load(Relaxed),
            failures: control.failures.load(Relaxed),
            busy: control.busy(),
            workers,
        }
    }

    /// `queue.c: 12,345 executions, 6,173/s, 4.1% of about 300,000, 47 s left (give or take 30%), depth 38, 2 of 2 workers`
    fn line(&self) -> String {
        let mut parts = vec![format!("{} executions", grouped(self.runs))];
        if self.seconds >= 1.0 {
            let rate = self.runs as f64 / self.seconds;
            parts.push(format!("{}/s", Large(rate.max(1.0).log10())));
        }
        if let Some(estimate) = self.estimate {
            parts.push(format!(
                "{} of about {}",
                Part(estimate.covered()),
                Large(estimate.ln_runs / std::f64::consts::LN_10)
            ));
            let left = Span(estimate.seconds_left(self.seconds));
            parts.push(format!("{left} left ({})", sureness(estimate.within)));
        }
        parts.push(format!("depth {}", self.depth));
        match self.failures {
            0 => {}
            1 => parts.push("1 failed".into()),
            failures => parts.push(format!("{} failed", grouped(failures))),
        }
        if self.workers > 1 {
            parts.push(format!("{} of {} workers", self.busy, self.workers));
        }
        format!("{}: {}", clean(self.name), parts.join(", "))
    }
}

/// How sure an estimate is that is probably right within this factor.
fn sureness(within: f64) -> String {
    match within {
        close if close < 1.95 => format!("give or take {:.0}%", ((close - 1.0) * 100.0).max(1.0)),
        far => format!("a factor of {far:.0} either way"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK: Look<'static> = Look {
        name: "queue.c",
        runs: 12345,
        seconds: 2.0,
        estimate: None,
        depth: 38,
        failures: 0,
        busy: 2,
        workers: 2,
    };

    fn estimated(runs: f64, within: f64) -> Option<Estimate> {
        Some(Estimate {
            ln_runs: runs.ln(),
            done: 12345,
            within,
        })
    }

    #[test]
    fn lines_as_they_are_shown() {
        let begun = Look {
            seconds: 0.3,
            workers: 1,
            ..LOOK
        };
        assert_eq!(begun.line(), "queue.c: 12,345 executions, depth 38");
        let usual = Look {
            estimate: estimated(300_000.0, 1.3),
            ..LOOK
        };
        assert_eq!(
            usual.line(),
            "queue.c: 12,345 executions, 6,173/s, 4.1% of about 300,000, 47 s left (give or take 30%), depth 38, 2 of 2 workers"
        );
        let endless = Look {
            estimate: estimated(1e41, 10.0),
            failures: 3,
            busy: 1,
            ..LOOK
        };
        assert_eq!(
            endless.line(),
            "queue.c: 12,345 executions, 6,173/s, less than 0.01% of about 10^41, 10^30 years left (a factor of 10 either way), depth 38, 3 failed, 1 of 2 workers"
        );
    }
}
