//! How fast native programs are explored: `cargo bench -p reweave-drive`, or with names and sizes, `-- lastzero=12 readers=15`.
//!
//! One worker on one core, `optimal`, warm. For each program of the corpus its executions, events, and rates by processor time of both
//! processes together, from start to end; and where the time of one execution goes: running the program, putting memory back,
//! transfer between the two processes, analysis. The latter is from a search of its own, since looking at the clock takes time; it is by the
//! clock, and right only on a machine that does nothing else.

use reweave_drive::{
    Launch, Native, Spent,
    compile::{self, Kit},
};
use reweave_explore::{Algorithm, Flow, Options, Search, Target, Totals};
use reweave_model::{Divergence, Execution, Plan};
use std::{
    cell::Cell,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

/// Programs of `programs/papers` and their sizes.
const PROGRAMS: &[(&str, u32)] = &[
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

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let wanted: Vec<(String, u32)> = args
        .iter()
        .filter_map(|arg| {
            let (name, size) = arg.split_once('=')?;
            Some((name.to_owned(), size.parse().ok()?))
        })
        .collect();
    let all = PROGRAMS
        .iter()
        .map(|(name, size)| (name.to_string(), *size));
    let programs = match wanted.is_empty() {
        true => all.collect(),
        false => wanted,
    };
    one_core();
    let kit = kit();
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
        measure(&kit, &name, size);
    }
    println!("(run, restore, transfer, analysis: microseconds of one execution)");
}

fn measure(kit: &Kit, name: &str, size: u32) {
    let source = root().join(format!("programs/papers/{name}.c"));
    let words = [
        source.into_os_string(),
        format!("-DN={size}").into(),
        OsString::from("-O2"),
    ];
    let built = match compile::build(kit, words.into()) {
        Ok(built) => built,
        Err(error) => return println!("{name}({size}): {error}"),
    };
    let counted = explore(&built.program, false);
    let split = explore(&built.program, true);
    let (Ok(counted), Ok(split)) = (counted, split) else {
        return println!("{name}({size}): it does not do the same again");
    };
    let runs = counted.totals.runs().max(1) as f64;
    let each = |nanoseconds: u64| nanoseconds as f64 / 1e3 / runs;
    let Spent {
        run,
        restore,
        transfer,
    } = split.spent;
    println!(
        "{:<20} {:>10} {:>11} {:>8.3} {:>10.0} {:>8.2}   {:>6.2} {:>8.2} {:>8.2} {:>8.2}",
        format!("{name}({size})"),
        counted.totals.executions,
        counted.totals.events,
        counted.seconds,
        runs / counted.seconds,
        counted.totals.events as f64 / counted.seconds / 1e6,
        each(run),
        each(restore),
        each(transfer),
        each(split.elapsed.saturating_sub(run + restore + transfer)),
    );
}

/// A whole search.
struct Explored {
    totals: Totals,
    /// Of processor time.
    seconds: f64,
    /// Nanoseconds by the clock.
    elapsed: u64,
    spent: Spent,
}

fn explore(program: &Path, measure: bool) -> Result<Explored, Divergence> {
    let launch = Launch {
        measure,
        ..Launch::new(program.into())
    };
    let mut search = Search::new(Options {
        algorithm: Algorithm::Optimal,
        ..Options::default()
    });
    let (start, used) = (Instant::now(), processor_time());
    let target = |_| Measured {
        native: Native::start(&launch).expect("the program starts"),
    };
    // `run` may be called from several threads in general; with one worker it is this one.
    search.run(1, target, || Flow::Continue, |_, _| Flow::Continue)?;
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

/// Leaves word of where time went.
struct Measured {
    native: Native,
}

impl Target for Measured {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
        self.native.run(plan)
    }

    fn batch(&self) -> usize {
        self.native.batch()
    }

    fn prepare(&mut self, plans: &[Plan]) {
        self.native.prepare(plans);
    }
}

impl Drop for Measured {
    fn drop(&mut self) {
        LAST.set(self.native.spent());
    }
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("two below").into()
}

/// Builds the runtime.
fn kit() -> Kit {
    let runtime = root().join("crates/runtime");
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("runtime");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--locked", "--quiet"])
        .arg("--manifest-path")
        .arg(runtime.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the runtime builds"
    );
    let directory = target.join("release");
    let headers = fs::read_dir(root().join("crates/cli/include")).expect("there are headers");
    for header in headers {
        let header = header.expect("the headers can be listed").path();
        let name = header.file_name().expect("files have names");
        fs::copy(&header, directory.join(name)).expect("a header can be copied");
    }
    Kit { directory }
}

/// Seconds of processor time that this process and its children have used.
fn processor_time() -> f64 {
    let used = |who: libc::c_int| {
        // SAFETY: writes a local.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}

/// Stays on the processor it is on, with all processes it starts.
fn one_core() {
    // SAFETY: sets the affinity of this process from a set on the stack.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}
