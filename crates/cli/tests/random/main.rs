//! Random C programs, compiled and checked, against brute force on the model: the same classes of executions, each once.
//!
//! A program is a tree of statements (`language.rs`). Written as C (`emit.rs`) it is compiled and explored as any program is; interpreted on
//! the model (`machine.rs`) it is explored by brute force. Both give sets of classes (`crates/explore/tests/common/class.rs`), which must be
//! equal: with `optimal`, warm and forked, with one worker and two, at several levels of optimisation, and for some programs also with
//! `dfs`, with `dpor`, and as the command counts them.
//!
//! `REWEAVE_CASES` sets the number of programs, `REWEAVE_SEED` the seed of the first one; the others follow by counting on. A failure
//! names the seed of its program, and leaves the smallest program that still fails in a file.

#[path = "../../../explore/tests/common/class.rs"]
mod class;
mod code;
mod compare;
mod emit;
mod generate;
mod language;
mod machine;
mod parking;

use compare::{Built, Oracle, Way};
use language::Program;
use reweave_drive::Restart;
use reweave_explore::Algorithm;
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

/// Compares one program that was compiled twice.
fn compare(case: &Case, number: usize, programs: [&Path; 2]) -> Result<(), String> {
    let [first, second] = programs.map(|path| Built { path, number });
    let oracle = &case.oracle;
    let classes = oracle.found.classes.len();
    let usual = Way::USUAL;
    let told = |path: &Path| path.display().to_string();
    first.exact(oracle, usual)?;
    // At another level of optimisation.
    second
        .exact(oracle, usual)
        .map_err(|why| format!("{}: {why}", told(programs[1])))?;
    if classes <= 100 {
        let restart = Restart::Fork;
        second.exact(oracle, Way { restart, ..usual })?;
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
        let restart = ["warm", "fork"][(case.seed / 4 % 2) as usize];
        first.command(oracle, restart)?;
    }
    Ok(())
}

const LEVELS: [&str; 3] = ["-O0", "-O2", "-O3"];

/// Compares some programs; the first that fails, with why.
fn compare_all(bench: &Bench, cases: &[Case], name: &str) -> Option<(usize, String)> {
    let programs: Vec<&Program> = cases.iter().map(|case| &case.program).collect();
    let level = LEVELS[(cases[0].seed % 3) as usize];
    let built = ["-O1", level].map(|level| bench.compile(&programs, name, level));
    let paths = [built[0].as_path(), built[1].as_path()];
    let mut results = cases.iter().enumerate();
    results.find_map(|(number, case)| {
        let why = compare(case, number, paths).err()?;
        Some((number, why))
    })
}

/// The smallest program that still fails, and why it does.
fn shrink(bench: &Bench, mut case: Case, mut why: String) -> (Case, String) {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let found = generate::smaller(&case.program)
            .into_iter()
            .find_map(|program| {
                if Instant::now() > end {
                    return None;
                }
                let small = [Case::new(case.seed, program)?];
                let (_, why) = compare_all(bench, &small, "small")?;
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
    let cases = number("REWEAVE_CASES", 120);
    let first = number("REWEAVE_SEED", 2026);
    println!("REWEAVE_SEED={first} REWEAVE_CASES={cases}");
    let bench = Bench::new();
    let next = AtomicU64::new(first);
    let left = AtomicU64::new(cases);
    let tried = AtomicU64::new(0);
    let classes = AtomicU64::new(0);
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
                batch.extend(Case::new(seed, generate::program(seed)));
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
            if let Some((index, why)) = compare_all(&bench, &batch, &name) {
                let case = batch.swap_remove(index);
                failed
                    .lock()
                    .expect("nobody panics")
                    .get_or_insert((case, why));
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
    println!(
        "{cases} of {} programs compared, {} classes",
        tried.into_inner(),
        classes.into_inner()
    );
    if let Some((case, why)) = failed.into_inner().expect("nobody panics") {
        let seed = case.seed;
        let (small, because) = shrink(&bench, case, why.clone());
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("random-{seed}.c"));
        fs::write(&file, emit::source(&[&small.program])).expect("there is room for files");
        panic!(
            "REWEAVE_SEED={seed} REWEAVE_CASES=1: {why}\n\nsmallest, in {}:\n{because}",
            file.display()
        );
    }
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
    let _ = Algorithm::Optimal;
}
#[test]
fn stats() {
    let mut big = 0;
    let mut hist = [0u32; 8];
    let mut kinds = std::collections::BTreeMap::<String, (u32, u32)>::new();
    let mut t = Duration::ZERO;
    for seed in 0..300u64 {
        let program = generate::program(seed);
        let s = Instant::now();
        let o = Oracle::of(&program, LIMIT);
        t += s.elapsed();
        match o {
            None => big += 1,
            Some(o) => {
                let c = o.found.classes.len();
                let b = match c {
                    0 | 1 => 0,
                    2 | 3 => 1,
                    4..8 => 2,
                    8..16 => 3,
                    16..32 => 4,
                    32..64 => 5,
                    64..128 => 6,
                    _ => 7,
                };
                hist[b] += 1;
                if c >= 2 {
                    let mut seen = std::collections::BTreeSet::new();
                    language::each(&program.main, &mut |s| {
                        let n = format!("{s:?}");
                        let n = n
                            .split(|c: char| !c.is_alphanumeric())
                            .next()
                            .unwrap()
                            .to_owned();
                        seen.insert(n.clone());
                        if let language::Stmt::Repeat(_, b) = s {
                            language::each(b, &mut |s| {
                                let n = format!("{s:?}");
                                let n = n.split(|c: char| !c.is_alphanumeric()).next().unwrap();
                                seen.insert(format!(
                                    "Repeat/{n}{}",
                                    if format!("{s:?}").split("[").next().unwrap().contains("imed")
                                        && !format!("{s:?}").contains("timed: false")
                                    {
                                        "Timed"
                                    } else {
                                        ""
                                    }
                                ));
                            });
                        }
                    });
                    for e in ["Deadlock", "Livelock", "Blocked", "MaxSteps"] {
                        if o.found.classes.values().any(|k| k.name.starts_with(e)) {
                            seen.insert(format!("#{e}"));
                        }
                    }
                    for n in seen {
                        let e = kinds.entry(n).or_default();
                        e.0 += 1;
                        if c >= 8 {
                            e.1 += 1;
                        }
                    }
                }
            }
        }
    }
    println!("big {big} hist(1,2-3,4-7,8-15,..) {hist:?} oracle {t:?}");
    for (k, v) in kinds {
        println!("{k} {v:?}");
    }
}
