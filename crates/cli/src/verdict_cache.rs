//! Verdicts of complete checks without an error: an unchanged program is not explored again.
//!
//! *Decides:* which verdicts are kept, and whether one still holds. *Called by:* `check`. *Owns:* `verdicts` in the user's cache
//! directory. *Invariants:* a verdict is kept only if no run named a file, so what a run does depends on the check's own facts, the
//! program's surroundings and the machine, and all of these are compared. Failures to read or write cost only time.

use crate::{
    args::{CheckRequest, ProgramSource},
    fingerprint::Facts,
};
use reweave_native::{NativeProgram, Session, Surroundings};
use reweave_report::{ResultDocument, open, save};
use reweave_toolchain::Kit;
use serde::{Deserialize, Serialize};
use std::{
    env, fs,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

const SCHEMA: &str = "reweave.verdict/1";

/// Verdicts that are kept; the oldest go first.
const MOST: usize = 1000;

/// The verdict of one check, wherever it may be.
pub struct VerdictCache {
    path: PathBuf,
    check: String,
}

#[derive(Serialize, Deserialize)]
struct Verdict {
    schema: String,
    check: String,
    surroundings: Surroundings,
    result: ResultDocument,
}

/// A verdict that still holds.
pub struct Known {
    pub result: ResultDocument,
    /// When it was found.
    pub since: SystemTime,
}

impl VerdictCache {
    /// For a check with these facts; `None`: its verdict is neither looked up nor kept.
    pub fn of(request: &CheckRequest, facts: &Facts) -> Option<VerdictCache> {
        let options = &request.options;
        let bypassed = options.no_cache || options.resume || options.coverage;
        let bypassed = bypassed || options.log.is_some();
        if bypassed || env::var_os("REWEAVE_CACHE").is_some_and(|word| word == "off") {
            return None;
        }
        let mut facts = facts.clone();
        facts.add("machine", &machine());
        facts.add("command", &format!("{:?}", own_version().ok()?));
        // A program from source has another path each time.
        if let ProgramSource::Program(path) = &request.source {
            facts.add("path", &format!("{path:?}"));
        }
        let check = facts.digest();
        let directory = Kit::user_directory().ok()?.join("verdicts");
        Some(VerdictCache {
            path: directory.join(&check),
            check,
        })
    }

    /// The verdict, if there is one and nothing has changed since.
    pub fn look_up(&self, program: &NativeProgram) -> Option<Known> {
        let mut text = Vec::new();
        let mut file = open(&self.path).ok()?;
        file.read_to_end(&mut text).ok()?;
        let verdict: Verdict = serde_json::from_slice(&text).ok()?;
        let own = verdict.schema == SCHEMA && verdict.check == self.check;
        let holds = own && verdict.surroundings.hold(&program.launch.program);
        holds.then_some(Known {
            result: verdict.result,
            since: fs::metadata(&self.path).ok()?.modified().ok()?,
        })
    }

    /// Keeps the verdict of a check that has ended, if it is one to keep.
    pub fn keep(&self, session: &Session, result: &ResultDocument) {
        if !result.complete || !result.errors.is_empty() || !result.suppressed.is_empty() {
            return;
        }
        let Some(surroundings) = session.dependencies() else {
            return;
        };
        let verdict = Verdict {
            schema: SCHEMA.into(),
            check: self.check.clone(),
            surroundings,
            result: result.clone(),
        };
        let directory = self.path.parent().unwrap_or(Path::new("."));
        if let (Ok(()), Ok(text)) = (
            fs::create_dir_all(directory),
            serde_json::to_string(&verdict),
        ) {
            make_room(directory);
            let _ = save(&self.path, &text);
        }
    }
}

/// What programs can find out of the machine, the user and the limits of a process, and take into account.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let read = |name: &str| fs::read_to_string(name).unwrap_or_default();
    let kernel = ["hostname", "osrelease"].map(|name| read(&format!("/proc/sys/kernel/{name}")));
    let status = read("/proc/self/status");
    let rights = ["Umask:", "Uid:", "Gid:", "Groups:", "CapEff:"];
    let own = |line: &&str| rights.iter().any(|name| line.starts_with(name));
    let rights: Vec<&str> = status.lines().filter(own).collect();
    let limits = read("/proc/self/limits");
    format!("{cores} {kernel:?} {rights:?} {limits:?}")
}

/// This command's file: another build may explore differently.
fn own_version() -> io::Result<(u64, i64, i64)> {
    let file = fs::metadata(env::current_exe()?)?;
    Ok((file.len(), file.mtime(), file.mtime_nsec()))
}

/// Removes the older half of too many verdicts.
fn make_room(directory: &Path) {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    let dated =
        files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.path())));
    let mut files: Vec<(SystemTime, PathBuf)> = dated.collect();
    if files.len() >= MOST {
        files.sort();
        for (_, path) in &files[..MOST / 2] {
            let _ = fs::remove_file(path);
        }
    }
}
