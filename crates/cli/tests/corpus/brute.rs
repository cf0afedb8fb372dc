//! Brute force on a compiled program: every interleaving is run, and the classes of executions that come up are those that `optimal`
//! meets, each once.

use super::class::class;
use reweave_drive::{Launch, Native};
use reweave_explore::{Algorithm, Flow, Options, Search};
use reweave_model::{End, Execution, Plan};
use std::{collections::BTreeMap, path::PathBuf, sync::Mutex};

/// How often each class was met.
type Classes = BTreeMap<String, u64>;

/// Before the names of those that ended at an assumption.
const BLOCKED: &str = "at an assumption: ";

/// What there is to count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counted {
    pub interleavings: u64,
    pub executions: u64,
    /// Ended at an assumption.
    pub blocked: u64,
}

/// Compares the two; `None`: there are more interleavings than that.
pub fn force(program: &str, args: &[String], most: u64) -> Result<Option<Counted>, String> {
    let mut launch = Launch::new(PathBuf::from(program));
    launch.args = args.iter().map(Into::into).collect();
    let Some(all) = classes(&launch, Algorithm::Dfs, most)? else {
        return Ok(None);
    };
    let interleavings = all.values().sum();
    let found = classes(&launch, Algorithm::Optimal, interleavings)?;
    let found = found.ok_or("optimal needs more runs than brute force")?;
    if let Some(missed) = all.keys().find(|class| !found.contains_key(*class)) {
        return Err(format!("optimal misses a class of brute force:\n{missed}"));
    }
    if let Some(other) = found.keys().find(|class| !all.contains_key(*class)) {
        return Err(format!("optimal meets what brute force does not:\n{other}"));
    }
    if let Some((class, times)) = found.iter().find(|(_, times)| **times > 1) {
        return Err(format!("optimal meets {times} times:\n{class}"));
    }
    let is_blocked = |class: &&String| class.starts_with(BLOCKED);
    let blocked = found.keys().filter(is_blocked).count();
    Ok(Some(Counted {
        interleavings,
        executions: (found.len() - blocked) as u64,
        blocked: blocked as u64,
    }))
}

fn classes(launch: &Launch, algorithm: Algorithm, most: u64) -> Result<Option<Classes>, String> {
    let mut search = Search::new(Options {
        algorithm,
        ..Options::default()
    });
    let native = Mutex::new(Some(Native::start(launch)?));
    let runs = Mutex::new(0);
    let found = Mutex::new(Classes::new());
    let before = || {
        let mut runs = runs.lock().expect("there is one worker");
        *runs += 1;
        match *runs > most {
            true => Flow::Stop,
            false => Flow::Continue,
        }
    };
    let after = |_: &Plan, execution: &Execution| {
        // One that could only have repeated another is none.
        if execution.end != End::Redundant {
            let blocked = execution.end == End::Blocked && execution.errors.is_empty();
            let end = if blocked { BLOCKED } else { "" };
            let name = format!("{end}{:?}{}", execution.end, class(execution));
            let mut found = found.lock().expect("there is one worker");
            *found.entry(name).or_default() += 1;
        }
        Flow::Continue
    };
    let target = |_| {
        let native = native.lock().expect("there is one worker").take();
        native.expect("there is one worker")
    };
    let outcome = search.run(1, target, before, after);
    outcome.map_err(|divergence| format!("{algorithm:?} diverges: {divergence:?}"))?;
    let whole = search.exhausted();
    Ok(whole.then(|| found.into_inner().expect("there is one worker")))
}
