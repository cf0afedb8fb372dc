//! What a check must say, whatever the test does: unsupported operations, ends of the process, destructors that panic, looks at
//! locks, the clock of the system, options.

use reweave::{
    Algorithm, Builder, Kind, Report,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{
            AtomicU32,
            Ordering::{Relaxed, SeqCst},
        },
        mpsc::sync_channel,
    },
    thread,
    time::SystemTime,
};
use std::{collections::BTreeSet, process::Command, sync::Mutex as StdMutex, time::Duration};

fn builder() -> Builder {
    let name = std::thread::current()
        .name()
        .unwrap_or("defects")
        .to_owned();
    let directory = concat!(env!("CARGO_TARGET_TMPDIR"), "/defects");
    Builder::new().name(&name).trace_dir(directory)
}

fn run(f: impl Fn() + Send + Sync + 'static) -> Report {
    builder().run(f)
}

/// All that a closure returns in a complete search.
fn outcomes<T: Ord + Clone + Send + 'static>(f: impl Fn() -> T + Send + Sync + 'static) -> Vec<T> {
    let seen = std::sync::Arc::new(StdMutex::new(BTreeSet::new()));
    let all = seen.clone();
    let report = run(move || {
        let outcome = f();
        all.lock().unwrap().insert(outcome);
    });
    assert!(report.errors.is_empty(), "{:?}", report.story());
    let seen = seen.lock().unwrap();
    seen.iter().cloned().collect()
}

#[test]
fn an_unsupported_operation_cannot_be_swallowed() {
    let report = run(|| {
        let (sender, _receiver) = sync_channel(0);
        let other = thread::spawn(move || sender.try_send(1).is_ok());
        let _ = other.join();
    });
    assert!(!report.complete);
    let why = "unsupported: try_send on a channel without capacity";
    assert_eq!(report.incomplete, [why]);
}

#[test]
fn an_abort_is_an_error_of_the_check() {
    for _ in 0..2 {
        let report = run(|| {
            let flag = Arc::new(AtomicU32::new(0));
            let theirs = flag.clone();
            let other = thread::spawn(move || {
                if theirs.load(SeqCst) == 1 {
                    std::process::abort();
                }
            });
            flag.store(1, SeqCst);
            let _ = other.join();
        });
        let error = &report.errors[0];
        assert_eq!(error.kind, Kind::Assertion);
        assert_eq!(error.message, "main.0 aborted the process");
    }
}

/// Ends the process if it is run by the test below.
#[test]
fn child() {
    if std::env::var_os("DEFECTS_EXIT").is_some() {
        run(|| {
            let other = thread::spawn(|| std::process::exit(0));
            let _ = other.join();
        });
    }
}

#[test]
fn an_exit_is_no_success() {
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program)
        .args(["child", "--exact"])
        .env("DEFECTS_EXIT", "1")
        .output()
        .unwrap();
    assert_eq!(child.status.code(), Some(101));
    let text = String::from_utf8_lossy(&child.stderr);
    assert!(
        text.contains("main.0 of a check called process::exit"),
        "{text}"
    );
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in a destructor");
    }
}

reweave::thread_local! {
    static BOMB: Bomb = const { Bomb };
}

#[test]
fn a_thread_local_that_panics_when_dropped_aborts() {
    let report = run(|| {
        let other = thread::spawn(|| BOMB.with(|_| ()));
        let _ = other.join();
    });
    let error = &report.errors[0];
    assert_eq!(error.kind, Kind::Crash);
    assert!(
        error
            .message
            .contains("aborts the process: in a destructor"),
        "{}",
        error.message
    );
}

#[test]
fn printing_a_lock_looks_at_it() {
    let seen = outcomes(|| {
        let lock = Arc::new(Mutex::new(1));
        let theirs = lock.clone();
        let other = thread::spawn(move || *theirs.lock().unwrap() = 2);
        let text = format!("{lock:?}");
        other.join().unwrap();
        text
    });
    let text = |data| format!("Mutex {{ data: {data}, poisoned: false, .. }}");
    assert_eq!(seen, [text("\"<locked>\""), text("1"), text("2")]);
}

#[test]
fn clearing_the_poison_of_a_rwlock_is_seen() {
    let seen = outcomes(|| {
        let lock = Arc::new(RwLock::new(1));
        let theirs = lock.clone();
        let poisons = thread::spawn(move || {
            let _held = theirs.write().unwrap();
            panic!("poisons it");
        });
        let _ = poisons.join();
        let theirs = lock.clone();
        let other = thread::spawn(move || theirs.clear_poison());
        let poisoned = lock.is_poisoned();
        other.join().unwrap();
        poisoned
    });
    assert_eq!(seen, [false, true]);
}

#[test]
fn the_time_of_the_system_is_the_checks() {
    let seen = outcomes(|| {
        let start = SystemTime::now();
        thread::sleep(Duration::from_secs(3600));
        let passed = start.elapsed().unwrap();
        (
            start.duration_since(reweave::time::UNIX_EPOCH).unwrap(),
            passed,
        )
    });
    // A look at the clock takes a moment.
    let begin = Duration::from_secs(1_735_689_600);
    assert_eq!(seen.len(), 1);
    let seconds = (seen[0].0.as_secs(), seen[0].1.as_secs());
    assert_eq!(seconds, (begin.as_secs(), 3600));
}

#[test]
fn both_waits_in_a_row_time_out() {
    let seen = outcomes(|| {
        let pair = Arc::new((Mutex::new(()), reweave::sync::Condvar::new()));
        let theirs = pair.clone();
        let other = thread::spawn(move || {
            theirs.1.notify_one();
            theirs.1.notify_one();
        });
        let mut out = [false; 2];
        for out in &mut out {
            let held = pair.0.lock().unwrap();
            let second = Duration::from_secs(1);
            *out = pair.1.wait_timeout(held, second).unwrap().1.timed_out();
        }
        other.join().unwrap();
        out
    });
    assert_eq!(seen.len(), 4, "{seen:?}");
}

#[test]
fn weak_failures_are_an_option() {
    let executions = |weak| {
        let report = builder().weak_failures(weak).run(|| {
            let count = Arc::new(AtomicU32::new(0));
            let theirs = count.clone();
            let add = |count: &AtomicU32| {
                let mut now = count.load(Relaxed);
                while let Err(other) = count.compare_exchange_weak(now, now + 1, Relaxed, Relaxed) {
                    now = other;
                }
            };
            let other = thread::spawn(move || add(&theirs));
            add(&count);
            other.join().unwrap();
        });
        assert!(report.complete && report.errors.is_empty());
        report.executions
    };
    // Without them: each comes first, or one of the two fails for the other.
    assert_eq!(executions(false), 4);
    assert!(executions(true) > 4);
}

#[test]
fn a_check_without_operations_is_told() {
    let report = run(|| {
        let total = std::sync::Mutex::new(1);
        *total.lock().unwrap() += 1;
    });
    assert_eq!(report.warnings[0].rule, "no-operations");
    let report = run(|| {
        AtomicU32::new(0).store(1, Relaxed);
    });
    assert!(report.warnings.is_empty());
}

#[test]
fn a_bound_says_which_algorithm_keeps_it() {
    let report = builder().preemptions(1).run(|| {
        let flag = Arc::new(AtomicU32::new(0));
        let theirs = flag.clone();
        let other = thread::spawn(move || theirs.store(1, SeqCst));
        flag.load(SeqCst);
        other.join().unwrap();
    });
    assert_eq!(report.algorithm, Algorithm::Dfs);
    let why = "a bound on preemptions is explored by dfs";
    assert_eq!(report.algorithm_because.as_deref(), Some(why));
}

#[test]
fn weak_orders_are_named() {
    let report = run(|| {
        AtomicU32::new(0).store(1, Relaxed);
    });
    assert!(
        report.summary().contains("1 place asks for less than that"),
        "{}",
        report.summary()
    );
}

#[test]
fn updates() {
    let value = AtomicU32::new(1);
    assert_eq!(value.update(SeqCst, SeqCst, |value| value + 1), 1);
    assert_eq!(value.try_update(SeqCst, SeqCst, |_| None), Err(2));
}

mod renamed {
    use reweave as woven;

    #[woven::test(crate = woven, algorithm = "rf", seed = 3, minimise = false, weak_failures = false)]
    fn by_another_name() {
        woven::thread::spawn(|| ()).join().unwrap();
    }
}
