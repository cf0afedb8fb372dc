//! How much faster a search would be on more cores than there are here.
//!
//! `cargo run --release -p reweave-native --example speedup -- PROGRAM [ARGS]` explores a program that `reweave cc` has compiled, by `rf` and with one
//! worker, and notes which execution follows from which and how long each took, run and analysis, at best of three times. Then the search is gone through
//! again on 1 to 256 workers that do not exist (`crew.rs`), and the speedup for each number is printed with what limits it.
//!
//! Claims at decisions are shared by all workers. Contention for them is between none (the first speedup) and what it would be if all
//! that were ever made were made under one lock (the second one).

mod crew;

use crew::{Costs, Crew, Lost, Task, Tasks};
use reweave_explore::{AlgorithmName, Explorer, Options, Target};
use reweave_model::Plan;
use reweave_native::{Launch, NativeTarget};
use std::{
    collections::HashSet,
    env,
    path::PathBuf,
    sync::{Condvar, Mutex},
    thread,
    time::Instant,
};

fn main() {
    let mut words = env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("usage: speedup PROGRAM [ARGS]");
        std::process::exit(2);
    };
    let mut launch = Launch::new(PathBuf::from(program));
    launch.args = words.collect();
    let tasks = match best_of_three(&launch) {
        Ok(tasks) => tasks,
        Err(sentence) => {
            eprintln!("{sentence}");
            std::process::exit(2);
        }
    };
    let costs = Costs {
        lock: lock_cost(),
        wake: wake_cost(),
        claim: claim_cost(),
    };
    print(&tasks, &costs);
}

/// One worker does the same every time; what took longer once was held up by something else.
fn best_of_three(launch: &Launch) -> Result<Tasks, String> {
    let start = || NativeTarget::start(launch).map_err(|error| error.to_string());
    let mut best = record(start()?)?;
    for _ in 0..2 {
        let again = record(start()?)?;
        if again.all.len() != best.all.len() {
            return Err("the program does not do the same every time".into());
        }
        for (task, again) in best.all.iter_mut().zip(again.all) {
            task.took = task.took.min(again.took);
        }
    }
    Ok(best)
}

/// Explores everything, as one worker of a search does.
fn record(mut native: NativeTarget) -> Result<Tasks, String> {
    let options = Options {
        algorithm: AlgorithmName::Rf,
        ..Options::default()
    };
    let mut explorer = Explorer::new(&options);
    let mut stack = vec![(0, Explorer::root(&options))];
    let mut tasks = Tasks {
        all: vec![Task::default()],
        batch: native.batch().max(1),
    };
    let mut plans = Vec::new();
    let mut found = Vec::new();
    while !stack.is_empty() {
        let batch = stack.split_off(stack.len().saturating_sub(tasks.batch));
        plans.resize_with(batch.len(), Plan::default);
        for ((_, branch), plan) in batch.iter().rev().zip(&mut plans) {
            branch.write_plan(plan);
        }
        native.prepare(&plans);
        for ((index, branch), plan) in batch.into_iter().rev().zip(&plans) {
            let start = Instant::now();
            let execution = native
                .run(plan)
                .map_err(|divergence| format!("the program diverges: {divergence:?}"))?;
            explorer.branches(branch, plan, execution, &mut found);
            let took = start.elapsed().as_nanos() as u64;
            if let Some(why) = explorer.unfit() {
                return Err(format!("rf does not serve: {why}"));
            }
            let first = tasks.all.len();
            tasks.all[index] = Task {
                took,
                claims: explorer.claims(),
                children: first..first + found.len(),
            };
            for branch in found.drain(..) {
                stack.push((tasks.all.len(), branch));
                tasks.all.push(Task::default());
            }
        }
    }
    Ok(tasks)
}

/// How long many of something take, each, at best.
fn each(many: u64, mut one: impl FnMut(u64)) -> u64 {
    let rounds = (0..10).map(|round| {
        let start = Instant::now();
        (round * many..(round + 1) * many).for_each(&mut one);
        start.elapsed().as_nanos() as u64 / many
    });
    rounds.min().expect("there are some")
}

fn lock_cost() -> u64 {
    let pool = Mutex::new(0);
    each(10_000, |number| *pool.lock().expect("one thread") += number)
}

/// What others have to wait for while somebody claims.
fn claim_cost() -> u64 {
    let claims = Mutex::new(HashSet::new());
    each(10_000, |number| {
        let mixed = u128::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        claims.lock().expect("one thread").insert(mixed);
    })
}

/// Until somebody who waits is there.
fn wake_cost() -> u64 {
    let turn = Mutex::new(0_u64);
    let changed = Condvar::new();
    let rounds = 100;
    let play = |mine: u64| {
        for _ in 0..rounds {
            let mut turn = turn.lock().expect("nobody panics");
            while *turn % 2 != mine {
                turn = changed.wait(turn).expect("nobody panics");
            }
            *turn += 1;
            changed.notify_all();
        }
    };
    let games = each(1, |_| {
        thread::scope(|scope| {
            scope.spawn(|| play(0));
            scope.spawn(|| play(1));
        });
    });
    games / (2 * rounds)
}

fn print(tasks: &Tasks, costs: &Costs) {
    let (total, chain) = (tasks.total(), tasks.longest_chain());
    let count = tasks.all.len();
    let claims: u64 = tasks.all.iter().map(|task| task.claims).sum();
    println!(
        "{count} executions, {:.3} s of work, {:.1} us each; claims that others can see: {claims}",
        seconds(total),
        total as f64 / count as f64 / 1e3
    );
    println!(
        "the longest chain takes {:.3} ms: at most {:.0} times as fast, however many workers",
        chain as f64 / 1e6,
        total as f64 / chain as f64
    );
    println!(
        "a lock {} ns, a wake-up {} ns, a claim {} ns",
        costs.lock, costs.wake, costs.claim
    );
    println!("\nworkers  speedup  all claims at one lock  working  what limits it");
    for workers in (0..9).map(|power| 1 << power) {
        let free = Crew::new(tasks, costs, workers, false).work();
        let crowded = Crew::new(tasks, costs, workers, true).work();
        let speedup = |time: u64| total as f64 / time as f64;
        println!(
            "{workers:7}  {:7.2}  {:22.2}  {:6.1}%  {}",
            speedup(free.time),
            speedup(crowded.time),
            100.0 * speedup(free.time) / workers as f64,
            limit(&free, &crowded, chain, workers as u64)
        );
    }
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// In words.
fn limit(free: &Lost, crowded: &Lost, chain: u64, workers: u64) -> String {
    let all = free.time * workers;
    let part = |time: u64| 100 * time / all.max(1);
    let mut limits = Vec::new();
    if chain * 2 > free.time {
        limits.push(format!(
            "longest chain: {}% of the time",
            100 * chain / free.time
        ));
    }
    for (name, lost) in [
        ("nothing to take", free.idle),
        ("giving and taking", free.sharing),
    ] {
        if part(lost) >= 5 {
            limits.push(format!("{name}: {}%", part(lost)));
        }
    }
    if crowded.time > free.time + free.time / 10 {
        limits.push("claims, if they met".into());
    }
    match limits.is_empty() {
        true => "the number of workers".into(),
        false => limits.join(", "),
    }
}
