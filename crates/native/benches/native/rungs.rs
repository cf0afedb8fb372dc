//! What it costs to run a program again, on each rung of the ladder.

use crate::{Watched, processor_time, rates::build};
use reweave_explore::{AlgorithmName, Flow, Options, Search};
use reweave_native::{Launch, NativeTarget, Restart};
use reweave_toolchain::Kit;
use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// Programs, from few threads to many, and their sizes.
const PROGRAMS: [(&str, u32); 3] = [("lastzero", 3), ("lastzero", 13), ("circular-buffer", 8)];

/// Ways to run again, and executions that are enough to know.
const RUNGS: [(&str, Restart, u64); 3] = [
    ("warm", Restart::Warm, 10_000),
    ("fork", Restart::Fork, 2_000),
    ("exec", Restart::Exec, 400),
];

pub fn print(kit: &Kit) {
    println!(
        "{:<20} {:>6} {:>12} {:>14} {:>14}",
        "program", "rung", "executions", "processor us", "clock us"
    );
    for (name, size) in PROGRAMS {
        let built = match build(kit, name, size) {
            Ok(built) => built,
            Err(why) => {
                println!("{name}({size}): {why}");
                continue;
            }
        };
        for (rung, restart, most) in RUNGS {
            let (runs, used, elapsed) = explore(&built.program, restart, most);
            println!(
                "{:<20} {rung:>6} {runs:>12} {:>14.1} {:>14.1}",
                format!("{name}({size})"),
                used * 1e6 / runs as f64,
                elapsed * 1e6 / runs as f64,
            );
        }
    }
    println!(
        "(of one execution, with its analysis and, where it has one, the start of its process)\n"
    );
}

/// Executions, seconds of processor time, seconds by the clock.
fn explore(program: &Path, restart: Restart, most: u64) -> (u64, f64, f64) {
    let launch = Launch {
        restart,
        ..Launch::new(program.into())
    };
    let mut search = Search::new(Options {
        algorithm: AlgorithmName::Optimal,
        ..Options::default()
    });
    let target = |_| Watched {
        native: NativeTarget::start(&launch).expect("the program starts"),
        end: |_| {},
    };
    let (start, used) = (Instant::now(), processor_time());
    let runs = AtomicU64::new(0);
    let after = |_: &_, _: &_| match runs.fetch_add(1, Relaxed) + 1 >= most {
        true => Flow::Stop,
        false => Flow::Continue,
    };
    let explored = search.run(1, target, || Flow::Continue, after);
    explored.expect("the program does the same again");
    (
        search.totals().runs(),
        processor_time() - used,
        start.elapsed().as_secs_f64(),
    )
}
