//! Clusters in simulated time: every execution counts once, whatever dies; a seed reproduces a course; and what costs time is seen.
//!
//! `REWEAVE_SEEDS` sets the number of seeds.

use reweave_cluster::{Course, Pace, Setting, Shape, Tree, simulate};
use reweave_estimate::{Log, Recorded};
use std::{
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

fn tree(text: &str) -> Tree {
    Tree::Generated(text.parse::<Shape>().expect("such trees are there"))
}

fn alone(tree: &Tree) -> Course {
    let setting = Setting {
        execution: Duration::from_millis(20),
        ..Setting::default()
    };
    simulate(tree, &setting)
}

fn faulty(workers: usize, seed: u64) -> Setting {
    Setting {
        workers,
        cores: 4,
        seed,
        execution: Duration::from_millis(20),
        lost: 0.05,
        deaths_per_hour: 300.0,
        takeovers_per_hour: 200.0,
        ..Setting::default()
    }
}

/// What one worker runs without a cluster is what any cluster counts, by number and by time.
#[test]
fn every_execution_counts_once() {
    let seeds = std::env::var("REWEAVE_SEEDS").map_or(6, |text| text.parse().expect("a number"));
    let (mut deaths, mut takeovers, mut repeated) = (0, 0, 0);
    for shape in ["scheduling:7", "resource:8,3", "store:22"] {
        let tree = tree(shape);
        let expected = alone(&tree);
        assert!(expected.runs > 500, "{shape}: {}", expected.runs);
        for seed in 0..seeds {
            for workers in [3, 16, 100] {
                let course = simulate(&tree, &faulty(workers, seed));
                let what = format!("{shape}, {workers} workers, seed {seed}");
                assert_eq!(course.runs, expected.runs, "{what}");
                assert_eq!(course.alone_ns, expected.alone_ns, "{what}");
                deaths += course.deaths;
                takeovers += course.takeovers;
                repeated += course.repeated;
            }
        }
    }
    assert!(deaths > 20 * seeds, "{deaths} deaths");
    assert!(takeovers > seeds, "{takeovers} takeovers");
    assert!(repeated > 0, "no report came again");
}

#[test]
fn a_seed_reproduces_a_course() {
    let tree = tree("store:24");
    let course = simulate(&tree, &faulty(40, 7));
    assert_eq!(simulate(&tree, &faulty(40, 7)), course);
    assert_ne!(simulate(&tree, &faulty(40, 8)), course);
}

/// Orders of eight, 40,320 executions of 50 ms: 34 minutes for one worker.
#[test]
fn what_costs_time_is_seen() {
    let tree = tree("scheduling:8");
    let setting = |workers| Setting {
        workers,
        execution: Duration::from_millis(50),
        ..Setting::default()
    };
    let one = simulate(&tree, &setting(1));
    assert!(one.efficiency() > 0.97, "{one:?}");
    let many = simulate(&tree, &setting(64));
    assert!(
        many.efficiency() > 0.85 && many.efficiency() < 1.0,
        "{many:?}"
    );
    assert!(
        many.all_busy_ns.is_some_and(|it| it < 2_000_000_000),
        "{many:?}"
    );
    // The time of all workers is what is accounted for, up to the last nanosecond.
    let spent: u64 = many.spent.losses().iter().map(|(_, time)| time).sum();
    assert_eq!(spent + many.spent.exploring, 64 * many.time_ns);
    // More workers than there is work for wait.
    let idle = simulate(&tree, &setting(20_000));
    assert!(idle.efficiency() < 0.2, "{idle:?}");
    // Pieces that are lost cost time, and more than they took: the broker waits for a sign of life.
    let lossy = simulate(
        &tree,
        &Setting {
            lost: 0.1,
            ..setting(64)
        },
    );
    assert!(
        lossy.deaths > 5 && lossy.time_ns > many.time_ns,
        "{lossy:?}"
    );
    // A slow broker is what limits a large cluster.
    let slow = simulate(
        &tree,
        &Setting {
            operation: Duration::from_millis(20),
            ..setting(64)
        },
    );
    assert!(slow.time_ns > 2 * many.time_ns, "{slow:?}");
    assert!(slow.part(slow.broker_ns) > 0.9, "{slow:?}");
}

/// A fixed time for each piece leaves workers idle at the beginning that a variable one keeps busy.
#[test]
fn a_variable_time_is_compared_with_a_fixed_one() {
    let tree = tree("resource:10,3");
    let setting = |variable| Setting {
        workers: 64,
        execution: Duration::from_millis(50),
        pace: Pace {
            variable,
            recall_ms: None,
            ..Pace::default()
        },
        ..Setting::default()
    };
    let (fixed, variable) = (
        simulate(&tree, &setting(false)),
        simulate(&tree, &setting(true)),
    );
    assert_eq!(fixed.runs, variable.runs);
    assert!(variable.time_ns < fixed.time_ns, "{variable:?}, {fixed:?}");
}

/// Where the log goes.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one thread writes").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The first execution has three children, one of which has two.
#[test]
fn recorded_searches_are_simulated() {
    let kept = Kept::default();
    let mut log = Log::new(Box::new(kept.clone()));
    let children = log.execution(0, &[1, 2, 2], &[1, 2, 2]);
    let below = log.execution(children[0], &[3, 4], &[3, 4]);
    for node in [children[1], children[2], below[0], below[1]] {
        log.execution(node, &[], &[]);
    }
    log.close(true).expect("memory takes everything");
    let bytes = kept.0.lock().expect("it is written").clone();
    let recorded = Recorded::read(&bytes[..]).expect("it was written here");
    let tree = Tree::recorded(&recorded);
    assert_eq!(alone(&tree).runs, 6);
    let slow = Setting {
        workers: 3,
        execution: Duration::from_secs(2),
        ..Setting::default()
    };
    let course = simulate(&tree, &slow);
    assert_eq!((course.runs, course.deaths), (6, 0));
    assert!(course.speedup() > 1.2, "{course:?}");
}
