//! Random C programs, compiled and checked, against brute force on the model: the same classes of executions, each once.
//!
//! A program is a tree of statements (`language.rs`). Written as C (`emit.rs`) it is compiled and explored as any program is; interpreted on
//! the model (`machine.rs`) it is explored by brute force. Both give sets of classes (`crates/testing/src/class.rs`), which must be
//! equal: with `optimal`, warm, forked and on threads of the operating system, with one worker and two, at several levels of optimisation, and for some programs also with
//! `dfs`, with `dpor`, and as the command counts them. `rf` has classes of its own, by who reads from whom; where it serves, these must be
//! equal too, and more programs are compared by them alone.
//!
//! `REWEAVE_CASES` sets the number of programs, `REWEAVE_SEED` the seed of the first one; the others follow by counting on. A failure
//! names the seed of its program, and leaves the smallest program that still fails in a file.

mod code;
mod compare;
mod emit;
mod generate;
mod language;
mod machine;
mod parking;

use compare::{Built, Oracle, Way};
use language::{Program, Storage};
use reweave_explore::AlgorithmName;
use reweave_native::{Restart, Threads};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// Programs with more interleavings are skipped.
const LIMIT: u64 = 3000;
/// Programs in one file.
const BATCH: u64 = 20;

/// One program and what is to be found.
struct Case {
    seed: u64,
    program: Program,
    oracle: Oracle,
}

impl Case {
    /// `None`: it is too big, or there is nothing to it.
    fn new(seed: u64, program: Program) -> Option<Case> {
        let oracle = Oracle::of(&program, LIMIT)?;
        let dull = match oracle.found.classes.len() {
            0 | 1 => true,
            2 | 3 => !seed.is_multiple_of(3),
            _ => false,
        };
        (!dull).then_some(Case {
            seed,
            program,
            oracle,
        })
    }
}

/// A directory to compile in.
struct Bench {
    place: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let place = tempfile::tempdir().expect("there is room for files");
        Bench { place }
    }

    fn compile(&self, programs: &[&Program], name: &str, level: &str) -> PathBuf {
        let file = self.place.path().join(format!("{name}.c"));
        fs::write(&file, emit::source(programs)).expect("there is room for files");
        let program = self.place.path().join(format!("{name}{level}"));
        let output = Command::new(env!("CARGO_BIN_EXE_reweave"))
            .args(["cc", "-std=gnu11", "-w", "-pthread", level, "-o"])
            .arg(&program)
            .arg(&file)
            .env("XDG_CACHE_HOME", self.place.path().join("cache"))
            .output()
            .expect("the command was built with the tests");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", file.display());
        program
    }
}

/// What is done with every program.
#[derive(Clone, Copy)]
struct Trial {
    /// Whether the threads of the programs are processes.
    processes: bool,
    /// The levels of optimisation that it is compiled at, by the seed.
    levels: fn(u64) -> Vec<&'static str>,
    /// Compares it as compiled so; says whether `rf` served.
    compare: fn(&Case, usize, &[PathBuf]) -> Result<bool, String>,
}

const EVERY_WAY: Trial = Trial {
    processes: false,
    levels: |seed| vec!["-O1", ["-O0", "-O2", "-O3"][(seed % 3) as usize]],
    compare: every_way,
};

const BY_READS: Trial = Trial {
    processes: false,
    levels: |seed| vec![["-O1", "-O2", "-O3"][(seed % 3) as usize]],
    compare: |case, number, programs| {
        let path = &programs[0];
        let built = Built {
            path,
            number,
            processes: false,
        };
        by_reads(case, &built)
    },
};

const BY_PROCESSES: Trial = Trial {
    processes: true,
    levels: |seed| vec![["-O1", "-O2", "-O0"][(seed % 3) as usize]],
    compare: |case, number, programs| {
        let path = &programs[0];
        let built = Built {
            path,
            number,
            processes: true,
        };
        by_processes(case, &built)
    },
};

/// Processes in the place of threads have the classes of threads.
fn by_processes(case: &Case, built: &Built) -> Result<bool, String> {
    let oracle = &case.oracle;
    let usual = Way::USUAL;
    built.exact(oracle, usual)?;
    if oracle.found.classes.len() <= 20 {
        let restart = Restart::Exec;
        built.exact(oracle, Way { restart, ..usual })?;
    }
    if oracle.interleavings() <= 300 {
        built.whole(&case.program, oracle, 1000)?;
    }
    if case.seed.is_multiple_of(4) {
        built.command(oracle, AlgorithmName::Optimal, "warm")?;
    }
    let (algorithm, workers) = (AlgorithmName::Rf, 2);
    built.exact(
        oracle,
        Way {
            algorithm,
            workers,
            ..usual
        },
    )
}

fn every_way(case: &Case, number: usize, programs: &[PathBuf]) -> Result<bool, String> {
    let [first, second] = [0, 1].map(|index: usize| Built {
        path: &programs[index],
        number,
        processes: false,
    });
    let oracle = &case.oracle;
    let classes = oracle.found.classes.len();
    let usual = Way::USUAL;
    first.exact(oracle, usual)?;
    // At another level of optimisation.
    second
        .exact(oracle, usual)
        .map_err(|why| format!("{}: {why}", second.path.display()))?;
    if classes <= 100 {
        let restart = Restart::Fork;
        second.exact(oracle, Way { restart, ..usual })?;
    }
    if classes <= 1000 {
        let threads = Threads::Os;
        first.exact(oracle, Way { threads, ..usual })?;
    }
    first.exact(
        oracle,
        Way {
            workers: 2,
            ..usual
        },
    )?;
    if oracle.interleavings() <= 600 {
        first.whole(&case.program, oracle, 2000)?;
    }
    if case.seed.is_multiple_of(4) {
        first.command(oracle, AlgorithmName::Optimal, restart(case.seed))?;
    }
    if first.by_states(oracle, 1 + (case.seed % 2) as usize)? {
        BY_STATES.fetch_add(1, Relaxed);
    }
    by_reads(case, &first)
}

/// How many programs `stateful` served.
static BY_STATES: AtomicU64 = AtomicU64::new(0);

/// `rf` meets each of its classes once, with one worker and with several.
fn by_reads(case: &Case, built: &Built) -> Result<bool, String> {
    let algorithm = AlgorithmName::Rf;
    let several = if case.seed % 4 == 2 { 8 } else { 2 };
    for workers in [1, several] {
        let way = Way {
            algorithm,
            workers,
            ..Way::USUAL
        };
        if !built.exact(&case.oracle, way)? {
            return Ok(false);
        }
    }
    if case.seed % 8 == 1 {
        built.command(&case.oracle, algorithm, restart(case.seed))?;
    }
    Ok(true)
}

/// How the command is asked to run a program again.
fn restart(seed: u64) -> &'static str {
    ["warm", "fork"][(seed / 4 % 2) as usize]
}

/// Compares some programs: how many of them `rf` served, or the first that fails, with why.
fn compare_all(
    bench: &Bench,
    trial: Trial,
    cases: &[Case],
    name: &str,
) -> Result<u64, (usize, String)> {
    let programs: Vec<&Program> = cases.iter().map(|case| &case.program).collect();
    let levels = (trial.levels)(cases[0].seed).into_iter();
    let built: Vec<PathBuf> = levels
        .map(|level| bench.compile(&programs, name, level))
        .collect();
    let mut served = 0;
    for (number, case) in cases.iter().enumerate() {
        let fits = (trial.compare)(case, number, &built).map_err(|why| (number, why))?;
        served += u64::from(fits);
    }
    Ok(served)
}

/// The smallest program that still fails, and why it does.
fn shrink(bench: &Bench, trial: Trial, mut case: Case, mut why: String) -> (Case, String) {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let found = generate::smaller(&case.program)
            .into_iter()
            .find_map(|program| {
                if Instant::now() > end {
                    return None;
                }
                let small = [Case::new(case.seed, program)?];
                let (_, why) = compare_all(bench, trial, &small, "small").err()?;
                let [small] = small;
                Some((small, why))
            });
        match found {
            Some((small, because)) => (case, why) = (small, because),
            None => return (case, why),
        }
    }
}

fn number(variable: &str, usual: u64) -> u64 {
    let text = env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[test]
fn random_programs_have_their_classes() {
    compare_many(EVERY_WAY, 120, 2026);
}

#[test]
fn random_programs_have_their_reads() {
    compare_many(BY_READS, 300, 20_260);
}

#[test]
fn random_programs_of_several_processes_have_their_classes() {
    compare_many(BY_PROCESSES, 40, 20_261);
}

/// The case of a seed; where its threads are to be processes, its program waits for all of them.
fn generated(seed: u64, processes: bool) -> Option<Case> {
    let mut program = generate::program(seed);
    if processes {
        program.storage = Storage::Shared;
    }
    let program = program.valid().then_some(program)?;
    Case::new(seed, program)
}

/// So many programs, or as many as one wishes.
fn compare_many(trial: Trial, usual: u64, seed: u64) {
    let cases = number("REWEAVE_CASES", usual);
    let first = number("REWEAVE_SEED", seed);
    println!("REWEAVE_SEED={first} REWEAVE_CASES={cases}");
    let bench = Bench::new();
    let next = AtomicU64::new(first);
    let left = AtomicU64::new(cases);
    let tried = AtomicU64::new(0);
    let classes = AtomicU64::new(0);
    let served = AtomicU64::new(0);
    let failed: Mutex<Option<(Case, String)>> = Mutex::new(None);
    let work = |worker: usize| {
        let mut round = 0;
        loop {
            let take = |left: u64| Some(left.saturating_sub(BATCH));
            let before = left.fetch_update(Relaxed, Relaxed, take).expect("always");
            let mut batch = Vec::new();
            while (batch.len() as u64) < before.min(BATCH) {
                let seed = next.fetch_add(1, Relaxed);
                tried.fetch_add(1, Relaxed);
                batch.extend(generated(seed, trial.processes));
            }
            if batch.is_empty() || failed.lock().expect("nobody panics").is_some() {
                return;
            }
            round += 1;
            let name = format!("batch-{worker}-{round}");
            let met = batch
                .iter()
                .map(|case| case.oracle.found.classes.len() as u64);
            classes.fetch_add(met.sum(), Relaxed);
            match compare_all(&bench, trial, &batch, &name) {
                Ok(these) => {
                    served.fetch_add(these, Relaxed);
                }
                Err((index, why)) => {
                    let case = batch.swap_remove(index);
                    failed
                        .lock()
                        .expect("nobody panics")
                        .get_or_insert((case, why));
                }
            }
        }
    };
    thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, usize::from);
        for worker in 0..workers {
            let work = &work;
            scope.spawn(move || work(worker));
        }
    });
    let served = served.into_inner();
    println!(
        "{cases} of {} programs compared, {} classes; rf served {served}, stateful {}",
        tried.into_inner(),
        classes.into_inner(),
        BY_STATES.swap(0, Relaxed)
    );
    if let Some((case, why)) = failed.into_inner().expect("nobody panics") {
        let seed = case.seed;
        let (small, because) = shrink(&bench, trial, case, why.clone());
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random-{seed}.c"));
        fs::write(&file, emit::source(&[&small.program])).expect("there is room for files");
        panic!(
            "REWEAVE_SEED={seed} REWEAVE_CASES=1: {why}\n\nsmallest, in {}:\n{because}",
            file.display()
        );
    }
    assert!(served * 2 > cases || cases < 20, "rf serves most programs");
}

/// Without which the rest could not fail: what is generated has the things that it is meant to have.
#[test]
fn smaller_programs_are_smaller() {
    for seed in 0..200 {
        let program = generate::program(seed);
        let size = |program: &Program| {
            let mut size = 0;
            language::each(&program.main, &mut |stmt| {
                size += match stmt {
                    language::Stmt::Repeat(times, _) => *times as usize,
                    _ => 1,
                };
            });
            size + usize::from(program.ending != language::Ending::Return)
                + usize::from(program.storage != language::Storage::Static)
        };
        for small in generate::smaller(&program) {
            assert!(size(&small) < size(&program), "{small:?}");
        }
    }
}

/// A loop around a timed wait is cut where it is back in the same state: nothing comes of more timeouts that does not come of fewer.
#[test]
fn cut_loops_hide_no_outcome() {
    let (seed, cases) = (number("REWEAVE_SEED", 1), number("REWEAVE_CASES", 15));
    let mut compared = 0;
    for seed in (seed..).take(50 * cases as usize) {
        let program = generate::waiting(seed);
        let mut loops = 0;
        language::each(&program.main, &mut |stmt| {
            let waits = matches!(
                stmt,
                language::Stmt::WaitOn { .. } | language::Stmt::DownOn(_)
            );
            loops += usize::from(waits);
        });
        if loops == 0 {
            continue;
        }
        let free = compare::outcomes(&program, 2, LIMIT);
        let cut = compare::outcomes(&program, 0, LIMIT);
        let (Some(free), Some(cut)) = (free, cut) else {
            continue;
        };
        assert_eq!(free, cut, "seed {seed}: {program:?}");
        compared += 1;
        if compared == cases {
            return;
        }
    }
    panic!("only {compared} programs were compared");
}
