//! The table of the RF-SMC paper: nine programs in three sizes, explored by `rf`.
//!
//! Our number of executions beside the paper's, processor time of compiler, engine and program together, and the best of three other
//! checkers: GenMC 0.11 (`--sc`), Nidhugg 0.4 (`--sc --rf`, `--sc --optimal`), measured once on a machine of the same kind with their
//! compilation included, or run beside ours. Memory is that of engine and program together, after 1,000 executions and at most. Each row is measured in a
//! process of its own.

use crate::{
    Watched,
    memory::{children, peak, resident},
    peers::{
        PATIENCE,
        Peer::{self, Genmc, NidhuggOptimal, NidhuggRf},
        fastest,
    },
    processor_time,
    rates::build,
};
use reweave_explore::{AlgorithmName, Flow, Options, Probing, Search};
use reweave_model::Execution;
use reweave_native::{Launch, NativeTarget};
use reweave_toolchain::Kit;
use std::{
    io::Write,
    process::Command,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Instant,
};

/// What is known of a program in one size.
struct Row {
    name: &'static str,
    size: u32,
    /// Executions as the paper counts them; `None`: there is an error to be found.
    executions: Option<u64>,
    /// The fastest of the others.
    best: Peer,
    /// Its seconds, measured once; `None`: none that was tried took less than 60.
    seconds: Option<f64>,
}

/// Takes about a minute.
const LONG: (&str, u32) = ("approxds-append", 7);

/// Rows of ten seconds and more with one worker.
const LARGE: &[(&str, u32)] = &[("fib-bench", 6), ("race-parametric", 7), LONG];

const ROWS: &[Row] = &[
    row("fib-bench", 4, Some(19_605), Genmc, Some(0.36)),
    row("fib-bench", 5, Some(218_243), Genmc, Some(3.55)),
    row("fib-bench", 6, Some(2_364_418), Genmc, Some(41.24)),
    row("parker", 12, Some(9_407), Genmc, Some(0.64)),
    row("parker", 16, Some(21_195), Genmc, Some(1.72)),
    row("parker", 20, Some(40_087), Genmc, Some(3.81)),
    row(
        "circular-buffer",
        8,
        Some(12_870),
        NidhuggOptimal,
        Some(2.96),
    ),
    row(
        "circular-buffer",
        9,
        Some(48_620),
        NidhuggOptimal,
        Some(11.09),
    ),
    row("circular-buffer", 10, None, NidhuggOptimal, Some(14.82)),
    row("casrot", 9, Some(8_597), Genmc, Some(0.11)),
    row("casrot", 10, Some(38_486), Genmc, Some(0.26)),
    row("casrot", 11, Some(182_905), Genmc, Some(1.03)),
    row("lastzero", 11, Some(7_168), Genmc, Some(0.31)),
    row("lastzero", 13, Some(32_768), Genmc, Some(1.26)),
    row("lastzero", 15, Some(147_456), Genmc, Some(6.31)),
    row("readers", 13, Some(8_192), Genmc, Some(0.27)),
    row("readers", 15, Some(32_768), Genmc, Some(0.98)),
    row("readers", 17, Some(131_072), Genmc, Some(4.24)),
    row("sigma", 7, Some(5_040), NidhuggRf, Some(0.78)),
    row("sigma", 8, Some(40_320), NidhuggRf, Some(4.93)),
    row("sigma", 9, Some(362_880), NidhuggRf, Some(48.87)),
    row("race-parametric", 5, Some(8_953), Genmc, Some(1.60)),
    row("race-parametric", 6, Some(73_789), Genmc, Some(16.74)),
    row("race-parametric", 7, Some(616_227), Genmc, None),
    row("approxds-append", 5, Some(9_945), NidhuggRf, Some(1.66)),
    row("approxds-append", 6, Some(198_936), NidhuggRf, Some(36.90)),
    row("approxds-append", 7, Some(4_645_207), NidhuggRf, None),
];

const fn row(
    name: &'static str,
    size: u32,
    executions: Option<u64>,
    best: Peer,
    seconds: Option<f64>,
) -> Row {
    Row {
        name,
        size,
        executions,
        best,
        seconds,
    }
}

/// Prints the table; the longest row only on request. `beside`: the others are run too, just before ours.
pub fn print(kit: &Kit, long: bool, beside: bool) {
    println!(
        "{:<20} {:>10} {:>10} {:>8} {:>9} {:>8} {:>7} {:>6} {:>8} {:>8}",
        "program",
        "executions",
        "paper",
        "seconds",
        "execs/s",
        "best",
        "seconds",
        "times",
        "MB 1000",
        "MB most"
    );
    let mut logarithms = Vec::new();
    for row in ROWS {
        if !long && (row.name, row.size) == LONG {
            continue;
        }
        let best = match beside {
            true => fastest(row.best, row.name, row.size),
            false => row.seconds.map(|seconds| (row.best, seconds)),
        };
        let Some(seen) = measure(kit, row.name, row.size, 1, true) else {
            println!("{}({}): could not be measured", row.name, row.size);
            continue;
        };
        let [runs, seconds, _, early, most] = seen;
        let paper = row
            .executions
            .map_or("error".into(), |count| count.to_string());
        let mark = match row.executions {
            Some(count) if count as f64 != runs => " differs",
            _ => "",
        };
        // Where there is an error, all depends on who meets it first.
        if let (Some((_, best)), Some(_)) = (best, row.executions) {
            logarithms.push((best / seconds).ln());
        }
        let (best, theirs, times) = match best {
            Some((best, theirs)) => (
                best.name(),
                format!("{theirs:.2}"),
                format!("{:.2}", theirs / seconds),
            ),
            None if row.executions.is_none() => ("-", "-".into(), "-".into()),
            None => ("-", "> 60".into(), format!("> {:.0}", PATIENCE / seconds)),
        };
        println!(
            "{:<20} {runs:>10} {paper:>10} {seconds:>8.2} {:>9.0} {best:>8} {theirs:>7} {times:>6} {early:>8.1} {most:>8.1}{mark}",
            format!("{}({})", row.name, row.size),
            runs / seconds,
        );
    }
    let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
    println!(
        "geometric mean of the {} rows that were explored to their end by both: {:.2} times as fast\n",
        logarithms.len(),
        mean.exp()
    );
}

/// Prints what a second worker is worth.
pub fn print_workers(kit: &Kit) {
    println!(
        "{:<20} {:>10} {:>10} {:>6}",
        "wall seconds", "1 worker", "2 workers", "times"
    );
    for (name, size) in LARGE {
        let seconds =
            |workers| measure(kit, name, *size, workers, true).map_or(f64::NAN, |seen| seen[2]);
        let (one, two) = (seconds(1), seconds(2));
        let program = format!("{name}({size})");
        println!("{program:<20} {one:>10.2} {two:>10.2} {:>6.2}", one / two);
    }
    println!();
}

/// Runs, processor seconds, wall seconds, early and most megabytes: from a process of its own.
pub fn measure(
    kit: &Kit,
    name: &str,
    size: u32,
    workers: usize,
    probing: bool,
) -> Option<[f64; 5]> {
    let this = std::env::current_exe().ok()?;
    let output = Command::new(this)
        .arg("row")
        .arg(&kit.directory)
        .args([name, &size.to_string(), &workers.to_string()])
        .arg(probing.to_string())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    let mut next = || numbers.next()?.parse().ok();
    Some([next()?, next()?, next()?, next()?, next()?])
}

/// In that process.
pub fn print_row(words: &[&str]) {
    let [directory, name, size, workers, probing] = words else {
        panic!(
            "a row is a directory, a program, its size, a number of workers, and whether it is probed"
        );
    };
    let kit = Kit {
        directory: directory.into(),
        assembler: None,
    };
    let number = |word: &str| word.parse().expect("a number");
    let start = Instant::now();
    let built = build(&kit, name, number(size)).expect("it compiles");
    let launch = Launch::new(built.program.clone());
    let mut search = Search::new(Options {
        algorithm: AlgorithmName::Rf,
        probing: match *probing {
            "true" => Probing::default(),
            _ => Probing::Never,
        },
        ..Options::default()
    });
    let done = AtomicU64::new(0);
    let early = AtomicU64::new(0);
    let target = |_| Watched {
        native: NativeTarget::start(&launch).expect("the program starts"),
        end: weigh,
    };
    let after = |_: &_, execution: &Execution| {
        if done.fetch_add(1, Relaxed) + 1 == 1_000 {
            early.store(memory(resident).to_bits(), Relaxed);
        }
        match execution.errors.is_empty() {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    };
    let explored = search.run(number(workers) as usize, target, || Flow::Continue, after);
    explored.expect("it does the same again");
    assert_eq!(search.unfit(), None, "rf can explore it");
    let most = f64::from_bits(MOST.load(Relaxed));
    let mut out = std::io::stdout();
    let line = writeln!(
        out,
        "{} {} {} {} {most}",
        search.totals().runs(),
        processor_time(),
        start.elapsed().as_secs_f64(),
        f64::from_bits(early.load(Relaxed)),
    );
    line.expect("somebody reads it");
}

/// Megabytes of this process and those it has started.
fn memory(of: fn(&str) -> f64) -> f64 {
    of("self") + children().iter().map(|child| of(child)).sum::<f64>()
}

/// The most so far, as bits.
static MOST: AtomicU64 = AtomicU64::new(0);

/// Leaves word of how much memory was in use at most.
fn weigh(_: &NativeTarget) {
    // Of what is not negative the larger number has the larger bits.
    MOST.fetch_max(memory(peak).to_bits(), Relaxed);
}
