//! One program, natively and under Reweave: what each of them saw, and where they differ. `main.rs` calls it for every seed.

use super::generate::{self, Program, Random};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// Rounds of one native process, at most.
const ROUNDS: u64 = 1500;
/// Outcomes that one search is asked for by name.
const BY_NAME: usize = 2;
/// Searches of one program, each in another way.
const WAYS: usize = 3;
/// For one search. One that does not end in it is compared as far as it went.
const SEARCH_S: u64 = 6;
/// A search may be incomplete for it, as docs/limits.md says: libraries keep copies of ids.
const IDENTITY: &str = "unsupported: a thread identity that returns after its thread was joined";
/// After which a process is taken to hang.
const HANGS_S: u64 = 600;

/// How a program is compiled and explored.
#[derive(Clone, Copy)]
struct Way {
    clang: bool,
    level: &'static str,
    algorithm: &'static str,
    restart: &'static str,
    threads: &'static str,
    workers: &'static str,
}

impl Way {
    fn any(random: &mut Random, clang: bool) -> Way {
        let restart = random.of(&["auto", "auto", "warm", "fork", "exec"]);
        let os = restart != "fork" && random.one_in(5);
        Way {
            clang: random.one_in(2) && clang,
            level: random.of(&["-O0", "-O1", "-O2", "-O3"]),
            algorithm: random.of(&["auto", "auto", "rf", "optimal", "optimal", "dpor", "dfs"]),
            restart,
            threads: if os { "os" } else { "fiber" },
            workers: random.of(&["1", "2"]),
        }
    }

    fn compilers(self) -> [&'static str; 2] {
        if self.clang {
            ["clang", "clang++"]
        } else {
            ["gcc", "g++"]
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Way {
            level,
            algorithm,
            restart,
            threads,
            workers,
            ..
        } = self;
        let compiler = self.compilers()[0];
        write!(
            f,
            "{compiler} {level} --algorithm {algorithm} --restart {restart} --threads {threads} --workers {workers}"
        )
    }
}

/// What a search found.
struct Explored {
    buckets: BTreeSet<u32>,
    complete: bool,
}

/// What was done with a program.
#[derive(Default)]
pub struct Tally {
    pub outcomes: u64,
    pub searches: u64,
    pub unfinished: u64,
}

pub struct Bench<'a> {
    /// For files of this program.
    pub place: &'a Path,
    pub seed: u64,
    /// Whether clang is used as well as gcc.
    pub clang: bool,
}

impl Bench<'_> {
    /// Compares the program of the seed; every difference is a sentence.
    pub fn compare(&self, program: &Program, tally: &mut Tally) -> Result<(), String> {
        let mut random = Random::new(self.seed ^ 0x5eed);
        let source = self.source(program);
        let native = self.native(program, &source, &mut random)?;
        tally.outcomes += native.len() as u64;
        let salt = salt(&native);
        let mut whole: Option<(Way, BTreeSet<u32>)> = None;
        for _ in 0..WAYS {
            let way = Way::any(&mut random, self.clang);
            let built = self.build(program, &source, way, salt)?;
            let explored = self.explore(&built, way, None)?;
            tally.searches += 1;
            tally.unfinished += u64::from(!explored.complete);
            if !explored.complete {
                continue;
            }
            let missed = native
                .keys()
                .find(|outcome| !explored.buckets.contains(&generate::bucket(outcome, salt)));
            if let Some(outcome) = missed {
                return Err(format!(
                    "{way}: complete without the outcome {outcome}, seen natively {} times",
                    native[outcome]
                ));
            }
            match &whole {
                Some((other, buckets)) if *buckets != explored.buckets => {
                    return Err(format!(
                        "{way}: {} outcomes\n{other}: {} outcomes",
                        explored.buckets.len(),
                        buckets.len()
                    ));
                }
                _ => whole = Some((way, explored.buckets)),
            }
        }
        let way = Way::any(&mut random, self.clang);
        let built = self.build(program, &source, way, salt)?;
        for _ in 0..BY_NAME.min(native.len()) {
            let outcome = native.keys().nth(random.below(native.len()));
            let outcome = outcome.expect("the number is below the length");
            tally.searches += 1;
            let explored = self.explore(&built, way, Some(outcome))?;
            if explored.buckets.is_empty() && explored.complete {
                return Err(format!("{way}: complete without the outcome {outcome}"));
            }
            tally.unfinished += u64::from(explored.buckets.is_empty());
        }
        // Without this the rest could not fail.
        if self.seed.is_multiple_of(16) {
            let explored = self.explore(&built, way, Some("never"))?;
            if !explored.buckets.is_empty() {
                return Err(format!("{way}: an outcome that does not exist was found"));
            }
        }
        Ok(())
    }

    fn source(&self, program: &Program) -> PathBuf {
        let end = if program.cxx { "cc" } else { "c" };
        let file = self.place.join(format!("program.{end}"));
        fs::write(&file, &program.text).expect("there is room for files");
        file
    }

    /// Every outcome of native runs, with how often it was seen.
    fn native(
        &self,
        program: &Program,
        source: &Path,
        random: &mut Random,
    ) -> Result<BTreeMap<String, u64>, String> {
        let way = Way::any(random, self.clang);
        let built = self.place.join("native");
        let compiler = way.compilers()[usize::from(program.cxx)];
        let mut command = Command::new(compiler);
        command.args([standard(program), "-w", "-pthread", "-DNATIVE", way.level]);
        ended(command.arg("-o").arg(&built).arg(source))?;
        let mut seen = BTreeMap::new();
        for run in 0..4 {
            let mut command = Command::new("timeout");
            command.args(["-k", "1", &HANGS_S.to_string()]).arg(&built);
            command.args([(1 + run * ROUNDS).to_string(), ROUNDS.to_string()]);
            if run % 2 == 1 {
                // On one core.
                command.arg("one");
            }
            let output = ended(&mut command).map_err(|why| format!("natively: {why}"))?;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                *seen.entry(line.to_owned()).or_default() += 1;
            }
        }
        Ok(seen)
    }

    fn build(
        &self,
        program: &Program,
        source: &Path,
        way: Way,
        salt: u32,
    ) -> Result<PathBuf, String> {
        let built = self.place.join("checked");
        let verb = if program.cxx { "c++" } else { "cc" };
        let [cc, cxx] = way.compilers();
        let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
        command
            .args([verb, standard(program), "-w", "-pthread", way.level])
            .arg(format!("-DSALT={salt}u"))
            .arg("-o")
            .arg(&built)
            .arg(source)
            .env("CC", cc)
            .env("CXX", cxx);
        ended(&mut command)?;
        Ok(built)
    }

    /// The outcomes that a search finds: all, or whether it finds the one that is forbidden.
    fn explore(&self, built: &Path, way: Way, forbidden: Option<&str>) -> Result<Explored, String> {
        let mut command = Command::new("timeout");
        command
            .args(["-k", "5", &HANGS_S.to_string()])
            .arg(env!("CARGO_BIN_EXE_reweave"))
            .args(["check", "--format", "json", "--no-minimise"])
            .args(["--algorithm", way.algorithm, "--restart", way.restart])
            .args(["--threads", way.threads, "--workers", way.workers])
            .args(["--budget", &format!("{SEARCH_S}s"), "--output"])
            .arg(self.place.join("traces"));
        if forbidden.is_none() {
            command.arg("--keep-going");
        }
        command.arg("--").arg(built).args(forbidden);
        let output = command.output().expect("timeout is a command");
        let said = String::from_utf8_lossy(&output.stderr);
        let result: Value = serde_json::from_slice(&output.stdout)
            .map_err(|_| format!("{way}: {}: {said}", output.status))?;
        if !matches!(output.status.code(), Some(0 | 1 | 3)) {
            return Err(format!(
                "{way}: {}: {}{said}",
                output.status, result["fault"]
            ));
        }
        let mut buckets = BTreeSet::new();
        for error in result["errors"].as_array().into_iter().flatten() {
            let message = error["message"].as_str().unwrap_or_default();
            let number = message.split("outcome ").nth(1).unwrap_or_default();
            let digits = number.split(|c: char| !c.is_ascii_digit()).next();
            match digits.and_then(|digits| digits.parse().ok()) {
                Some(bucket) if forbidden.is_none() => buckets.insert(bucket),
                None if forbidden.is_some() && message.contains("strcmp") => buckets.insert(0),
                _ => return Err(format!("{way}: an error that is none: {error}")),
            };
        }
        let reasons = result["incomplete"].as_array().into_iter().flatten();
        let other = reasons
            .filter_map(Value::as_str)
            .find(|reason| !["budget", "stopped-at-error", IDENTITY].contains(reason));
        if let Some(reason) = other {
            return Err(format!("{way}: incomplete: {reason}"));
        }
        let complete = result["complete"] == true;
        Ok(Explored { buckets, complete })
    }
}

fn standard(program: &Program) -> &'static str {
    if program.cxx {
        "-std=gnu++20"
    } else {
        "-std=gnu11"
    }
}

/// With which the outcomes have different buckets, as far as possible.
fn salt(outcomes: &BTreeMap<String, u64>) -> u32 {
    let distinct = |salt: &u32| {
        let buckets = outcomes.keys().map(|text| generate::bucket(text, *salt));
        buckets.collect::<BTreeSet<_>>().len()
    };
    (1..200).max_by_key(distinct).expect("there are some")
}

/// The output of a command that has to succeed.
fn ended(command: &mut Command) -> Result<Output, String> {
    let output = command
        .output()
        .map_err(|why| format!("{command:?}: {why}"))?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find(|line| line.contains("error"));
    let said = said.unwrap_or_default();
    Err(format!("{command:?}: {}: {said}", output.status))
}
