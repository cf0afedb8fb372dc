//! Rates of exploration.
//!
//! For each program its executions, events, and the processor time of both processes together, from start to end. Rates are warm: the first
//! execution, with start and end of the process, is taken off. Then where the time of one execution goes: running the program,
//! putting memory back, transfer between the two processes, analysis. That is from a search of its own, since looking at the clock takes
//! time; it is by the clock, and right only on a machine that does nothing else.

use crate::{Watched, processor_time, root};
use reweave_explore::{AlgorithmName, Flow, Options, Search, TargetError, Totals};
use reweave_native::{Launch, NativeTarget, Spent};
use reweave_toolchain::{
    Kit,
    compile::{self, Built},
};
use std::{cell::Cell, ffi::OsString, path::Path, time::Instant};

/// Programs of `programs/papers` and their sizes.
pub const PROGRAMS: &[(&str, u32)] = &[
    ("lastzero", 9),
    ("lastzero", 13),
    ("lastzero", 15),
    ("readers", 13),
    ("readers", 15),
    ("readers", 17),
    ("casrot", 9),
    ("casrot", 10),
    ("casrot", 11),
    ("fib-bench", 4),
    ("fib-bench", 5),
    ("sigma", 6),
    ("sigma", 7),
    ("race-parametric", 4),
    ("race-parametric", 5),
    ("approxds-append", 4),
    ("approxds-append", 5),
    ("parker", 8),
    ("parker", 12),
    ("circular-buffer", 8),
    ("circular-buffer", 9),
    ("indexer", 15),
    ("fsbench", 22),
];

pub fn print(kit: &Kit, programs: &[(&str, u32)]) {
    println!(
        "{:<20} {:>10} {:>11} {:>8} {:>10} {:>8}   {:>6} {:>8} {:>8} {:>8}",
        "program",
        "executions",
        "events",
        "seconds",
        "execs/s",
        "M ev/s",
        "run",
        "restore",
        "transfer",
        "analysis"
    );
    for (name, size) in programs {
        match measure(kit, name, *size) {
            Ok(line) => println!("{line}"),
            Err(why) => println!("{name}({size}): {why}"),
        }
    }
    println!("(run, restore, transfer, analysis: microseconds of one execution)\n");
}

/// Compiles a program of the corpus, as `reweave check` does.
pub fn build(kit: &Kit, name: &str, size: u32) -> Result<Built, String> {
    let source = root().join(format!("programs/papers/{name}.c"));
    let words = [
        source.into_os_string(),
        OsString::from(format!("-DN={size}")),
    ];
    compile::build(kit, words.into()).map_err(|error| error.to_string())
}

fn measure(kit: &Kit, name: &str, size: u32) -> Result<String, String> {
    let built = build(kit, name, size)?;
    let explored =
        |measure, most| explore(&built.program, measure, most).map_err(|error| error.to_string());
    let first = explored(false, 1)?;
    let whole = explored(false, u64::MAX)?;
    let split = explored(true, u64::MAX)?;
    let runs = whole.totals.runs() as f64;
    let warm = whole.seconds - first.seconds;
    let each = |nanoseconds: u64| nanoseconds as f64 / 1e3 / runs;
    let Spent {
        run,
        restore,
        transfer,
    } = split.spent;
    Ok(format!(
        "{:<20} {:>10} {:>11} {:>8.3} {:>10.0} {:>8.2}   {:>6.2} {:>8.2} {:>8.2} {:>8.2}",
        format!("{name}({size})"),
        whole.totals.executions,
        whole.totals.events,
        whole.seconds,
        (runs - 1.0) / warm,
        (whole.totals.events - first.totals.events) as f64 / warm / 1e6,
        each(run),
        each(restore),
        each(transfer),
        each(split.elapsed.saturating_sub(run + restore + transfer)),
    ))
}

/// A search, or the beginning of one.
struct Explored {
    totals: Totals,
    /// Of processor time.
    seconds: f64,
    /// Nanoseconds by the clock.
    elapsed: u64,
    spent: Spent,
}

fn explore(program: &Path, measure: bool, most: u64) -> Result<Explored, TargetError> {
    let launch = Launch {
        measure,
        ..Launch::new(program.into())
    };
    let mut search = Search::new(Options {
        algorithm: AlgorithmName::Optimal,
        ..Options::default()
    });
    let (start, used) = (Instant::now(), processor_time());
    let target = |_| Watched {
        native: NativeTarget::start(&launch).expect("the program starts"),
        end: |native| LAST.set(native.spent()),
    };
    let flow = match most {
        1 => Flow::Stop,
        _ => Flow::Continue,
    };
    // `run` may be called from several threads in general; with one worker it is this one.
    search.run(1, target, || Flow::Continue, |_, _| flow)?;
    Ok(Explored {
        totals: *search.totals(),
        seconds: processor_time() - used,
        elapsed: start.elapsed().as_nanos() as u64,
        spent: LAST.get(),
    })
}

thread_local! {
    static LAST: Cell<Spent> = const { Cell::new(Spent { run: 0, restore: 0, transfer: 0 }) };
}
