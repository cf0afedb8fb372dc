//! Random programs of library calls, run natively under stress and explored: every outcome that occurs natively must be among the explored ones.
//!
//! `scripts/conformance` runs it; it is none of the usual tests, since it takes as long as it is given. A program (`generate.rs`) is
//! threads that make calls and record what these returned; its outcome is the line of all records. Natively it runs thousands of times
//! with delays, on one core and on all (`compare.rs`). Under Reweave it fails at a place that depends on the outcome, so that a search
//! with `--keep-going` names the outcomes it met. A difference is: an outcome that a complete search lacks; two complete searches
//! (compilers, levels, algorithms, restarts) with different outcomes; any other error; a search that does not end, or says that it is
//! incomplete although its budget was not used up.

mod compare;
mod cxx;
mod descriptors;
mod families;
mod generate;
mod meetings;
mod memory;

use compare::{Bench, Tally};
use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant, SystemTime},
};

const USAGE: &str = "usage: scripts/conformance [TIME] [--seed N] [--jobs N] [--only] [--gcc]
  TIME     30s, 10m, 2h; default 10m
  --seed   of the first program; the others count on. Default: from the clock
  --jobs   programs at a time; default: the machine's cores
  --only   compares the program of the seed and no other
  --gcc    compiles with gcc only, as without clang";

struct Options {
    budget: Duration,
    seed: u64,
    jobs: usize,
    only: bool,
    clang: bool,
}

fn options() -> Option<Options> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let mut options = Options {
        budget: Duration::from_secs(600),
        seed: now.map_or(1, |since| since.as_secs() % 1_000_000 * 1000),
        jobs: thread::available_parallelism().map_or(1, usize::from),
        only: false,
        clang: Command::new("clang++").arg("--version").output().is_ok(),
    };
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--seed" => options.seed = args.next()?.parse().ok()?,
            "--jobs" => options.jobs = args.next()?.parse().ok()?,
            "--gcc" => options.clang = false,
            "--only" => options.only = true,
            time => {
                let (number, unit_s) = [("s", 1), ("m", 60), ("h", 3600)]
                    .iter()
                    .find_map(|(unit, s)| Some((time.strip_suffix(unit)?, *s)))?;
                options.budget = Duration::from_secs(number.parse::<u64>().ok()? * unit_s);
            }
        }
    }
    Some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("conformance: seed {}", options.seed);
    let differences = compare_many(&options);
    if differences == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Compares programs until the time is up; says how many differ.
fn compare_many(options: &Options) -> u64 {
    let start = Instant::now();
    let next = AtomicU64::new(options.seed);
    let total = Mutex::new((Tally::default(), 0, 0));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Relaxed);
            let over = start.elapsed() >= options.budget;
            if if options.only {
                seed > options.seed
            } else {
                over
            } {
                return;
            }
            let mut tally = Tally::default();
            let result = compare_one(seed, options.clang, &mut tally);
            let mut total = total.lock().expect("no holder panics");
            total.0.outcomes += tally.outcomes;
            total.0.searches += tally.searches;
            total.0.unfinished += tally.unfinished;
            total.1 += 1;
            if let Err(why) = result {
                total.2 += 1;
                println!("{why}");
            }
            if total.1 % 20 == 0 {
                println!("{}", summary(&total.0, total.1, total.2, start));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(work);
        }
    });
    let (tally, programs, differences) = total.into_inner().expect("no holder panics");
    println!("{}", summary(&tally, programs, differences, start));
    differences
}

fn summary(tally: &Tally, programs: u64, differences: u64, start: Instant) -> String {
    format!(
        "{programs} programs, {} native outcomes, {} searches ({} not finished), {differences} differences, {} s",
        tally.outcomes,
        tally.searches,
        tally.unfinished,
        start.elapsed().as_secs()
    )
}

/// A difference leaves its program behind.
fn compare_one(seed: u64, clang: bool, tally: &mut Tally) -> Result<(), String> {
    let program = generate::program(seed);
    let place = tempfile::tempdir().expect("there is room for files");
    let bench = Bench {
        place: place.path(),
        seed,
        clang,
    };
    bench.compare(&program, tally).map_err(|why| {
        let end = if program.cxx { "cc" } else { "c" };
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("conformance-{seed}.{end}"));
        fs::write(&file, &program.text).expect("there is room for files");
        let about = &program.about;
        format!(
            "DIFFERENCE: --seed {seed} ({about}), {}\n{why}",
            file.display()
        )
    })
}
