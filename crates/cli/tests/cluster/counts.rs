//! Counts on a cluster equal those on one machine, for every algorithm, while workers are killed. With `REWEAVE_SLOW` each program is
//! explored by each algorithm, otherwise by two.

use crate::{Broker, Worker, checked, program};
use serde_json::Value;
use std::{
    path::Path,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

/// Programs whose searches are in many pieces at the pace of these tests, and some whose results are errors.
const PROGRAMS: [(&str, &str); 10] = [
    ("papers/lastzero.c", "-DN=6"),
    ("papers/readers.c", "-DN=7"),
    ("papers/casrot.c", "-DN=5"),
    ("papers/circular-buffer.c", "-DN=4"),
    ("papers/fib-bench.c", "-DN=2"),
    ("papers/sigma.c", "-DN=4"),
    ("papers/race-parametric.c", "-DN=3"),
    ("papers/indexer.c", "-DN=12"),
    ("papers/database.c", "-DSEEN"),
    ("papers/sharedarray.c", "-DSEEN"),
];

const ALGORITHMS: [&str; 5] = ["rf", "optimal", "dpor", "random", "dfs"];

/// Kills a worker now and then and starts another one, until the flag is set.
fn disturb(broker: &Broker, place: &Path, over: &AtomicBool, kills: &AtomicUsize) {
    let start = || Worker::start(broker, place);
    let mut workers = vec![start(), start()];
    let mut wait = 0;
    while !over.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
        wait += 1;
        if wait % 30 == 0 {
            workers.remove(0).kill();
            kills.fetch_add(1, Relaxed);
            workers.push(start());
        }
    }
}

/// What must not depend on where it was explored.
fn essence(document: &Value, exact: bool) -> Value {
    let mut kept = serde_json::Map::new();
    let always = [
        "program",
        "algorithm",
        "complete",
        "incomplete",
        "threads_max",
        "warnings",
    ];
    let counts = [
        "executions",
        "events",
        "blocked",
        "blocked_by",
        "weak_orders",
    ];
    for key in always.iter().chain(counts.iter().filter(|_| exact)) {
        kept.insert((*key).into(), document[*key].clone());
    }
    let errors = document["errors"].as_array().expect("a list").iter();
    let mut errors: Vec<String> = errors
        .map(|error| {
            let seen = if exact { error["seen"].as_u64() } else { None };
            format!(
                "{} {} {} {seen:?}",
                error["kind"], error["message"], error["location"]
            )
        })
        .collect();
    errors.sort();
    kept.insert("errors".into(), errors.into());
    kept.into()
}

#[test]
fn counts_are_those_of_one_machine_while_workers_die() {
    let broker = Broker::start();
    let place = tempfile::tempdir().expect("a temporary directory");
    let place = place.path();
    let (over, kills) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| disturb(&broker, place, &over, &kills));
        let compared = std::panic::catch_unwind(|| {
            for (index, (file, define)) in PROGRAMS.into_iter().enumerate() {
                let all = std::env::var_os("REWEAVE_SLOW").is_some();
                let count = if all { ALGORITHMS.len() } else { 2 };
                let algorithms = ALGORITHMS.iter().cycle().skip(2 * index).take(count);
                for algorithm in algorithms {
                    compare(&broker, place, file, define, algorithm);
                }
            }
        });
        over.store(true, Relaxed);
        compared.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    let kills = kills.load(Relaxed);
    assert!(kills >= 2, "only {kills} workers were killed");
}

fn compare(broker: &Broker, place: &Path, file: &str, define: &str, algorithm: &str) {
    let file = program(file);
    let mut words = vec![
        "--algorithm",
        algorithm,
        "--keep-going",
        "--no-minimise",
        define,
        &file,
    ];
    match algorithm {
        "random" => words.extend(["--max-executions", "300"]),
        // Too many for most programs: the limit must be kept to the last execution.
        "dfs" => words.extend(["--max-executions", "1000"]),
        _ => {}
    }
    let (alone, code) = checked(place, &words);
    words.extend(["--cluster", &broker.url, "--first", "5", "--slice", "50ms"]);
    let (together, cluster_code) = checked(place, &words);
    let cut = alone["incomplete"].to_string().contains("max-executions");
    // Which node is claimed first decides how often `dpor` meets a class; which executions come first, what a limit leaves.
    let exact = algorithm != "dpor" && !(cut && algorithm == "dfs");
    let what = format!("{file} {define} --algorithm {algorithm}");
    println!("{what}");
    if cut {
        assert_eq!(alone["executions"], together["executions"], "{what}");
    } else {
        assert_eq!(essence(&alone, exact), essence(&together, exact), "{what}");
    }
    assert_eq!(code, cluster_code, "{what}");
    if algorithm == "dpor" {
        // It may meet a class more than once, and none less often.
        let exact = [
            "--algorithm",
            "optimal",
            "--keep-going",
            "--no-minimise",
            define,
            &file,
        ];
        let (classes, _) = checked(place, &exact);
        let counts = [&classes, &alone, &together].map(|it| it["executions"].as_u64());
        assert!(counts[0].is_some(), "{what}: {counts:?}");
        assert!(counts[0] <= counts[1].min(counts[2]), "{what}: {counts:?}");
        println!("classes, executions alone and together: {counts:?}");
    }
}
