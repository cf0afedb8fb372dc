//! Inspect's way to share a search among workers, with and without eager backtrack sets, beside nodes with owners.
//!
//! `cargo run -p reweave-native --example balance -- FILE.c OPTIONS` explores a program by `dpor` with 1 to 64 workers, which take turns in this
//! process: in each round every worker explores a few executions of its piece, then all hand in what they have, and those that had nothing get
//! a point of another one. Pieces travel as bytes, as on a cluster. For each number of workers it prints executions, how many of them had
//! been run before, and the speedup: executions of one worker by those of the busiest worker of each round.
//!
//! `reweave check --cluster URL --algorithm dpor --balance inspect` does the same with real workers.

use reweave_explore::{
    AlgorithmName, Balance, Flow, Fragment, Options, Probing, Search, Target, TargetError,
};
use reweave_model::{Execution, Plan};
use reweave_native::{NativeProgram, NativeTarget};
use std::{
    env,
    error::Error,
    ffi::OsString,
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// Executions of a worker in one round.
const ROUND: u64 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    if words.is_empty() {
        return Err("usage: balance FILE.c OPTIONS".into());
    }
    let program = NativeProgram::build(words)?;
    let target = Mutex::new(NativeTarget::start(&program.launch)?);
    println!("workers  balance       executions  run before  speedup");
    let mut alone = 0;
    for workers in (0..7).map(|power| 1 << power) {
        for balance in Balance::ALL {
            let shared = shared(&target, balance, workers)?;
            if alone == 0 {
                alone = shared.longest;
            }
            println!(
                "{workers:7}  {:12}  {:10}  {:10}  {:7.2}",
                balance.name(),
                shared.executions,
                shared.duplicates,
                alone as f64 / shared.longest as f64
            );
        }
    }
    Ok(())
}

/// How a search went.
#[derive(Debug)]
struct Shared {
    executions: u64,
    duplicates: u64,
    /// Runs one after the other: of the busiest worker of each round.
    longest: u64,
}

fn shared(
    target: &Mutex<NativeTarget>,
    balance: Balance,
    workers: usize,
) -> Result<Shared, Box<dyn Error>> {
    let options = Options {
        algorithm: AlgorithmName::Dpor,
        probing: Probing::Never,
        balance,
        ..Options::default()
    };
    let mut home = Search::new(options);
    let mut longest = advance(&mut home, target, 1)?;
    while !home.exhausted() {
        let mut most = 0;
        for piece in home.deal(workers) {
            let mut worker = Search::resume(sent(&piece)?)?;
            most = most.max(advance(&mut worker, target, ROUND)?);
            home.absorb(sent(&worker.store())?)?;
        }
        longest += most;
    }
    Ok(Shared {
        executions: home.totals().executions,
        duplicates: home.duplicates().unwrap_or_default().count,
        longest,
    })
}

/// As another process gets it.
fn sent(piece: &Fragment) -> Result<Fragment, serde_json::Error> {
    serde_json::from_slice(&serde_json::to_vec(piece)?)
}

/// The one target, for as long as a search needs it.
struct Held<'a>(MutexGuard<'a, NativeTarget>);

impl Target for Held<'_> {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.0.run(plan)
    }
}

/// Explores so many executions; says how many runs there were.
fn advance(
    search: &mut Search,
    target: &Mutex<NativeTarget>,
    most: u64,
) -> Result<u64, TargetError> {
    let before = search.totals().runs();
    let left = AtomicU64::new(most);
    let next = || match left.fetch_update(Relaxed, Relaxed, |it| it.checked_sub(1)) {
        Ok(_) => Flow::Continue,
        Err(_) => Flow::Stop,
    };
    let held = |_| Held(target.lock().expect("one thread"));
    search.run(1, held, next, |_, _| Flow::Continue)?;
    Ok(search.totals().runs() - before)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 90 orders of three times two sections of a lock, at least once each; one worker repeats none.
    #[test]
    fn every_balance_meets_every_class() -> Result<(), Box<dyn Error>> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs/papers/aget.c");
        let program = NativeProgram::build(vec![file.into(), "-DTHREADS=3".into()])?;
        let target = Mutex::new(NativeTarget::start(&program.launch)?);
        for balance in Balance::ALL {
            let alone = shared(&target, balance, 1)?;
            assert_eq!((alone.executions, alone.duplicates), (90, 0), "{balance:?}");
            let eight = shared(&target, balance, 8)?;
            assert!(eight.executions >= 90, "{balance:?}: {eight:?}");
            assert!(eight.longest < alone.longest, "{balance:?}: {eight:?}");
        }
        Ok(())
    }
}
