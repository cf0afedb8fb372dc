//! A suite as it is written for shuttle.

use shuttle::{
    Config, MaxSteps, PortfolioRunner, Runner, check_dfs, check_pct, check_random,
    check_random_with_seed, current,
    future::{self, block_on},
    lazy_static,
    rand::{Rng, RngCore, thread_rng},
    replay, replay_from_file,
    scheduler::{DfsScheduler, PctScheduler, RandomScheduler},
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread, thread_local,
};
use std::{
    cell::Cell,
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
};

/// What a check panics with.
fn fails(check: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(check)).expect_err("an error is there");
    match payload.downcast::<String>() {
        Ok(story) => *story,
        Err(payload) => payload.downcast_ref::<&str>().expect("text").to_string(),
    }
}

fn lost_update() {
    let count = Arc::new(AtomicUsize::new(0));
    let theirs = count.clone();
    let other = thread::spawn(move || {
        let now = theirs.load(SeqCst);
        theirs.store(now + 1, SeqCst);
    });
    let now = count.load(SeqCst);
    count.store(now + 1, SeqCst);
    other.join().unwrap();
    assert_eq!(count.load(SeqCst), 2, "an update is lost");
}

/// The trace file that a story names.
fn trace_of(story: &str) -> PathBuf {
    let words = story.split(|c: char| c.is_whitespace() || "`'\"(),=".contains(c));
    let mut files = words.filter(|word| word.ends_with(".rwt"));
    files.next().expect("a trace is named").into()
}

#[test]
fn all_searches_find_a_lost_update() {
    for story in [
        fails(|| check_dfs(lost_update, None)),
        fails(|| check_random(lost_update, 1_000)),
        fails(|| check_random_with_seed(lost_update, 7, 1_000)),
        fails(|| check_pct(lost_update, 1_000, 3)),
    ] {
        assert!(story.contains("an update is lost"), "{story}");
    }
}

#[test]
fn a_trace_is_replayed_by_its_name_and_its_text() {
    let story = fails(|| check_dfs(lost_update, None));
    let path = trace_of(&story);
    let name = path.to_str().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    for again in [
        fails(|| replay(lost_update, name)),
        fails(|| replay(lost_update, &text)),
        fails(|| replay_from_file(lost_update, &path)),
    ] {
        assert!(again.contains("an update is lost"), "{again}");
    }
    let refused = fails(|| replay(lost_update, "91020000000000000000"));
    assert!(refused.contains("schedules of shuttle"), "{refused}");
}

#[test]
fn everything_is_each_class_once() {
    // Three critical sections of one lock: 3! orders. They are the sections of the two threads and of the main one.
    let runner = Runner::new(DfsScheduler::new(None, false), Config::new());
    let executions = runner.run(|| {
        let lock = Arc::new(Mutex::new(0));
        let threads = [0, 1].map(|_| {
            let lock = lock.clone();
            thread::spawn(move || *lock.lock().unwrap() += 1)
        });
        *lock.lock().unwrap() += 1;
        for thread in threads {
            thread.join().unwrap();
        }
    });
    let expected = match cfg!(feature = "std-arc") {
        // Every interleaving: more than classes.
        true => executions.max(7),
        false => 6,
    };
    assert_eq!(executions, expected);
    let runner = Runner::new(DfsScheduler::new(Some(2), false), Config::new());
    assert!(runner.run(lost_update_is_fine) <= 2);
}

fn lost_update_is_fine() {
    let count = Arc::new(AtomicUsize::new(0));
    let threads = [0, 1, 2].map(|_| {
        let count = count.clone();
        thread::spawn(move || count.store(count.load(SeqCst) + 1, SeqCst))
    });
    for thread in threads {
        thread.join().unwrap();
    }
}

#[test]
fn a_panic_that_a_join_ignores_fails_the_check() {
    for story in [
        fails(|| {
            let body = || drop(thread::spawn(|| panic!("in a thread")).join());
            check_dfs(body, None);
        }),
        fails(|| {
            let body = || {
                thread::scope(|scope| drop(scope.spawn(|| panic!("in a thread")).join()));
            };
            check_dfs(body, None);
        }),
        fails(|| {
            let body = || drop(block_on(future::spawn(async { panic!("in a thread") })));
            check_dfs(body, None);
        }),
    ] {
        assert!(story.contains("in a thread"), "{story}");
    }
}

#[test]
fn random_numbers_differ_and_are_replayed() {
    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let theirs = seen.clone();
    check_random(
        move || {
            let mine = thread_rng().r#gen::<u64>();
            let other = thread::spawn(|| thread_rng().r#gen::<u64>());
            theirs.lock().unwrap().extend([mine, other.join().unwrap()]);
        },
        50,
    );
    assert!(
        seen.lock().unwrap().len() > 90,
        "{}",
        seen.lock().unwrap().len()
    );

    let unlucky = || assert_ne!(thread_rng().gen_range(0..4), 3, "unlucky");
    let story = fails(|| check_random(unlucky, 1_000));
    let again = fails(|| replay_from_file(unlucky, trace_of(&story)));
    assert!(again.contains("unlucky"), "{again}");
}

#[test]
fn a_search_of_everything_has_fixed_random_numbers_or_none() {
    let refused = fails(|| check_dfs(|| _ = thread_rng().next_u64(), None));
    assert!(refused.contains("check_random"), "{refused}");

    let seen = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let theirs = seen.clone();
    let runner = Runner::new(DfsScheduler::new(None, true), Config::new());
    let executions = runner.run(move || {
        let lock = Arc::new(Mutex::new(()));
        let others = [0, 1].map(|_| {
            let lock = lock.clone();
            thread::spawn(move || {
                let _held = lock.lock().unwrap();
                thread_rng().r#gen::<u64>()
            })
        });
        let numbers = others.map(|other| other.join().unwrap());
        assert_ne!(numbers[0], numbers[1]);
        theirs.lock().unwrap().insert(numbers);
    });
    assert!(executions >= 2);
    assert_eq!(seen.lock().unwrap().len(), 1, "the same in each order");
}

#[test]
fn steps_are_limited() {
    let endless = || {
        let count = AtomicUsize::new(0);
        while count.fetch_add(1, SeqCst) < 100_000 {}
    };
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(100);
    let story = fails(|| {
        Runner::new(RandomScheduler::new(2), config.clone()).run(endless);
    });
    assert!(story.contains("exceeded max_steps bound 100"), "{story}");
    config.max_steps = MaxSteps::ContinueAfter(100);
    Runner::new(RandomScheduler::new(2), config).run(endless);
}

#[test]
fn several_schedulers() {
    let mut runner = PortfolioRunner::new(true, Config::new());
    runner.add(RandomScheduler::new(10));
    runner.add(PctScheduler::new(2, 10));
    runner.run(lost_update_is_fine);
    let mut runner = PortfolioRunner::new(false, Config::new());
    runner.add(RandomScheduler::new(0));
    runner.add(DfsScheduler::new(None, false));
    let story = fails(|| runner.run(lost_update));
    assert!(story.contains("an update is lost"), "{story}");
}

lazy_static! {
    static ref STARTED: AtomicUsize = AtomicUsize::new(0);
}

thread_local! {
    static MINE: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn statics_begin_every_execution_anew() {
    check_dfs(
        || {
            lazy_static::initialize(&STARTED);
            let other = thread::spawn(|| {
                MINE.set(MINE.get() + 1);
                STARTED.fetch_add(1, SeqCst);
                MINE.get()
            });
            STARTED.fetch_add(1, SeqCst);
            assert_eq!(other.join().unwrap(), 1);
            assert_eq!((STARTED.load(SeqCst), MINE.get()), (2, 0));
        },
        None,
    );
}

#[test]
fn tasks_have_numbers() {
    check_dfs(
        || {
            assert_eq!(usize::from(current::me()), 0);
            let other = thread::spawn(|| usize::from(current::me()));
            assert_eq!(other.join().unwrap(), 1);
        },
        None,
    );
    assert_eq!(current::get_current_task(), None);
}

#[test]
fn futures_and_channels() {
    check_dfs(
        || {
            let (sender, receiver) = mpsc::channel();
            let tasks = [1, 2].map(|n| {
                let sender = sender.clone();
                future::spawn(async move {
                    future::yield_now().await;
                    sender.send(n).unwrap();
                    n
                })
            });
            let sum = block_on(async {
                let mut sum = 0;
                for task in tasks {
                    sum += task.await.unwrap();
                }
                sum
            });
            drop(sender);
            assert_eq!((sum, receiver.iter().sum::<i32>()), (3, 3));
        },
        None,
    );
    let deadlock = fails(|| {
        check_dfs(
            || {
                let locks = Arc::new((RwLock::new(0), RwLock::new(0)));
                let theirs = locks.clone();
                let other = thread::spawn(move || {
                    let _b = theirs.1.write().unwrap();
                    let _a = theirs.0.read().unwrap();
                });
                let _a = locks.0.write().unwrap();
                let _b = locks.1.read().unwrap();
                drop((_a, _b));
                other.join().unwrap();
            },
            None,
        );
    });
    assert!(deadlock.contains("deadlock"), "{deadlock}");
}

#[test]
fn a_task_is_aborted() {
    check_dfs(
        || {
            let task = future::spawn(std::future::pending::<()>());
            task.abort();
            let ended = block_on(task);
            assert!(matches!(ended, Err(future::JoinError::Cancelled)));
        },
        None,
    );
}
