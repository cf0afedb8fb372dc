//! Tasks and wakers: known counts, lost wake-ups, cancellation, spurious polls.

mod common;

use common::{all, optimal};
use reweave::{
    future::{self, block_on, cancel_anywhere, join, select, spawn, yield_now},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering::SeqCst},
    },
    target::model::Kind,
};
use reweave_explore::AlgorithmName as Algorithm;
use std::{
    collections::BTreeSet,
    future::{Future, poll_fn},
    pin::Pin,
    sync::{Arc as StdArc, Mutex as StdMutex},
    task::{Context, Poll, Waker},
};

/// A flag that one task waits for. `registers`: whether it keeps the waker before it looks, as is right.
struct Flag {
    set: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Flag {
    fn new() -> Arc<Flag> {
        Arc::new(Flag {
            set: AtomicBool::new(false),
            waker: Mutex::new(None),
        })
    }

    fn set(&self) {
        self.set.store(true, SeqCst);
        let waker = self.waker.lock().unwrap().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn register(&self, context: &Context<'_>) {
        *self.waker.lock().unwrap() = Some(context.waker().clone());
    }

    async fn wait(&self) {
        poll_fn(|context| {
            self.register(context);
            match self.set.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    async fn wait_wrongly(&self) {
        poll_fn(|context| {
            if self.set.load(SeqCst) {
                return Poll::Ready(());
            }
            self.register(context);
            Poll::Pending
        })
        .await;
    }
}

#[test]
fn a_flag_is_waited_for() {
    for algorithm in [Algorithm::Optimal, Algorithm::Rf, Algorithm::Dfs] {
        let seen = all(algorithm, || {
            let flag = Flag::new();
            let theirs = flag.clone();
            let task = spawn(async move { theirs.set() });
            block_on(async {
                flag.wait().await;
                task.await.unwrap();
            });
        });
        seen.correct();
        assert!(seen.executions > 1, "{algorithm:?}");
    }
}

#[test]
fn a_lost_wake_up_is_a_deadlock_with_the_name_of_the_task() {
    let seen = optimal(|| {
        let flag = Flag::new();
        let theirs = flag.clone();
        let builder = future::Builder::new().name("waiter");
        builder.spawn(async move { theirs.wait_wrongly().await });
        flag.set();
    });
    assert_eq!(seen.kinds(), [Kind::Deadlock]);
    let message = &seen.errors[0].message;
    assert!(message.contains("\"waiter\""), "{message}");
}

/// The same with a poll that nothing asked for: the wake-up is still lost if it comes after that.
#[test]
fn a_spurious_poll_does_not_hide_a_lost_wake_up_for_ever() {
    let report = reweave::Builder::new()
        .spurious_polls(true)
        .trace_dir(std::env::temp_dir().join("reweave-futures"))
        .run(|| {
            let flag = Flag::new();
            let theirs = flag.clone();
            let task = spawn(async move { theirs.wait_wrongly().await });
            flag.set();
            block_on(task).unwrap();
        });
    assert_eq!(report.errors.len(), 1);
    assert_eq!(report.errors[0].kind, Kind::Deadlock);
}

/// A future that believes each poll after the first to be good news.
struct Credulous(Arc<Mutex<(bool, Option<Waker>)>>, bool);

impl Future for Credulous {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.0.lock().unwrap();
        if self.1 || state.0 {
            return Poll::Ready(());
        }
        state.1 = Some(context.waker().clone());
        drop(state);
        self.1 = true;
        Poll::Pending
    }
}

#[test]
fn polls_are_as_many_as_wake_ups_unless_others_are_asked_for() {
    let check = || {
        let state = Arc::new(Mutex::new((false, None)));
        let theirs = state.clone();
        let task = spawn(async move {
            Credulous(theirs.clone(), false).await;
            assert!(theirs.lock().unwrap().0, "polled too early");
        });
        let waker = {
            let mut state = state.lock().unwrap();
            state.0 = true;
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        block_on(task).unwrap();
    };
    optimal(check).correct();
    let report = reweave::Builder::new()
        .spurious_polls(true)
        .trace_dir(std::env::temp_dir().join("reweave-futures"))
        .run(check);
    // The panic is handed to the main task, whose own is the one that counts.
    let message = &report.errors[0].message;
    assert!(message.contains("polled too early"), "{message}");
}

/// A wait for a task is one event: n tasks that do nothing together have one execution.
#[test]
fn a_join_costs_no_execution() {
    let seen = optimal(|| {
        let tasks: Vec<_> = (0..4).map(|n| spawn(async move { n })).collect();
        let sum = block_on(async {
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 6);
    });
    seen.correct();
    assert_eq!((seen.executions, seen.events), (1, 4));
}

#[test]
fn giving_way_is_no_event_and_a_loop_around_it_waits() {
    let seen = optimal(|| {
        let flag = Arc::new(AtomicBool::new(false));
        let theirs = flag.clone();
        let task = spawn(async move {
            yield_now().await;
            theirs.store(true, SeqCst);
        });
        block_on(async {
            while !flag.load(SeqCst) {
                yield_now().await;
            }
            task.await.unwrap();
        });
    });
    seen.correct();
    // One load that finds it set; one that does not, then a wait.
    assert!(seen.executions <= 3, "{}", seen.executions);
}

fn outcomes<T: Ord + Send + Clone + 'static>(
    check: impl Fn() -> T + Send + Sync + 'static,
) -> (BTreeSet<T>, common::Seen) {
    let found = StdArc::new(StdMutex::new(BTreeSet::new()));
    let all = found.clone();
    let seen = optimal(move || {
        let outcome = check();
        all.lock().unwrap().insert(outcome);
    });
    let found = found.lock().unwrap().clone();
    (found, seen)
}

#[test]
fn an_abort_comes_before_or_between_or_after() {
    let (found, seen) = outcomes(|| {
        let steps = Arc::new(AtomicU32::new(0));
        let theirs = steps.clone();
        let task = spawn(async move {
            theirs.fetch_add(1, SeqCst);
            yield_now().await;
            theirs.fetch_add(1, SeqCst);
        });
        task.abort();
        let result = block_on(task);
        (steps.load(SeqCst), result.is_ok())
    });
    seen.correct();
    // Never polled; dropped where it gave way; ended.
    assert_eq!(found, BTreeSet::from([(0, false), (1, false), (2, true)]));
}

#[test]
fn both_ready_branches_are_taken() {
    let (found, seen) = outcomes(|| {
        block_on(async {
            match select(Box::pin(async { 1 }), Box::pin(async { 2 })).await {
                future::Either::Left((value, _)) | future::Either::Right((value, _)) => value,
            }
        })
    });
    seen.correct();
    assert_eq!(found, BTreeSet::from([1, 2]));
}

/// A task is awaited beside another: its end is an event then, and both orders are explored.
#[test]
fn a_select_of_tasks_takes_either() {
    let (found, seen) = outcomes(|| {
        let (a, b) = (spawn(async { 1 }), spawn(async { 2 }));
        block_on(async {
            match select(a, b).await {
                future::Either::Left((value, rest)) => (value.unwrap(), rest.await.unwrap()),
                future::Either::Right((value, rest)) => (value.unwrap(), rest.await.unwrap()),
            }
        })
    });
    seen.correct();
    assert_eq!(found, BTreeSet::from([(1, 2), (2, 1)]));
}

#[test]
fn a_future_is_dropped_at_each_await() {
    let (found, seen) = outcomes(|| {
        let steps = Arc::new(AtomicU32::new(0));
        let theirs = steps.clone();
        let result = block_on(cancel_anywhere(async move {
            theirs.fetch_add(1, SeqCst);
            yield_now().await;
            theirs.fetch_add(1, SeqCst);
            yield_now().await;
            theirs.fetch_add(1, SeqCst);
        }));
        (steps.load(SeqCst), result.is_some())
    });
    seen.correct();
    assert_eq!(found, BTreeSet::from([(1, false), (2, false), (3, true)]));
}

#[test]
fn a_panic_is_an_error_unless_it_is_awaited() {
    let seen = optimal(|| {
        let task = spawn(async { panic!("oh") });
        let error: future::JoinError = block_on(task).map(|(): ()| ()).unwrap_err();
        assert!(error.is_panic());
    });
    seen.correct();
    let seen = optimal(|| {
        spawn(async { panic!("oh") });
    });
    assert_eq!(seen.kinds(), [Kind::Assertion]);
}

/// A `poll_fn` that polls a join handle and then something else by hand: not a single wait, found out without a word from the program.
#[test]
fn a_select_by_hand_is_found_out() {
    let (found, seen) = outcomes(|| {
        let value = Arc::new(AtomicU32::new(0));
        let theirs = value.clone();
        let mut task = spawn(async move { theirs.fetch_add(1, SeqCst) });
        block_on(async move {
            let first = poll_fn(|context| match Pin::new(&mut task).poll(context) {
                Poll::Ready(_) => Poll::Ready(true),
                Poll::Pending => Poll::Ready(false),
            })
            .await;
            (first, value.load(SeqCst))
        })
    });
    seen.correct();
    assert_eq!(found, BTreeSet::from([(false, 0), (false, 1), (true, 1)]));
}

#[test]
fn outside_of_a_check_tasks_are_threads() {
    let flag = Flag::new();
    let theirs = flag.clone();
    let task = spawn(async move {
        theirs.wait().await;
        7
    });
    flag.set();
    let (a, b) = block_on(join(task, async { yield_now().await }));
    assert_eq!((a.unwrap(), b), (7, ()));
    let task = spawn(std::future::pending::<()>());
    task.abort();
    assert!(block_on(task).unwrap_err().is_cancelled());
}
