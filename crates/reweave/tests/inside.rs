//! In a check: every mirror does all that std's may do and nothing else. Each test runs every interleaving of a small program and
//! compares the set of its outcomes, once by plain depth-first search and once by the optimal one.
#![cfg(not(feature = "std"))]

use reweave::{
    cell::UnsafeCell,
    sync::{
        Arc, Barrier, LazyLock, Mutex, Once, OnceLock, RwLock, Semaphore,
        atomic::{AtomicBool, AtomicU32, Ordering, fence},
        mpsc::{RecvTimeoutError, TryRecvError, TrySendError, channel, sync_channel},
    },
    target::{
        ClosureTarget, Target,
        model::{Kind, Plan},
    },
    thread,
};
use reweave_explore::{AlgorithmName as Algorithm, Explorer, Options};
use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

const SECOND: Duration = Duration::from_secs(1);

/// What a program left behind in all its executions.
#[derive(PartialEq, Eq, Debug, Default)]
struct Seen {
    outcomes: BTreeSet<String>,
    errors: BTreeSet<(Kind, String)>,
}

/// Results of one execution, in an order that does not hang on the schedule.
type Log = std::sync::Mutex<Vec<String>>;

fn note(log: &Log, what: impl ToString) {
    log.lock().unwrap().push(what.to_string());
}

fn explore_by(
    algorithm: Algorithm,
    program: impl Fn(&std::sync::Arc<Log>) + Send + Sync + 'static,
) -> Seen {
    let log = std::sync::Arc::new(Log::default());
    let inner = log.clone();
    let mut target = ClosureTarget::new(std::sync::Arc::new(move || program(&inner)), false);
    let options = Options {
        algorithm,
        ..Options::default()
    };
    let mut explorer = Explorer::new(&options);
    let mut work = vec![Explorer::root(&options)];
    let mut seen = Seen::default();
    let mut executions = 0;
    let mut plan = reweave::target::model::Plan::default();
    while let Some(branch) = work.pop() {
        executions += 1;
        assert!(
            executions < 2_000_000,
            "the program is too large for a test"
        );
        branch.write_plan(&mut plan);
        let execution = target.run(&plan).expect("deterministic");
        let mut results = std::mem::take(&mut *log.lock().unwrap());
        results.sort();
        seen.outcomes.insert(results.join(" "));
        for error in &execution.errors {
            seen.errors.insert((error.kind, error.message.clone()));
        }
        explorer.branches(branch, &plan, execution, &mut work);
    }
    assert_eq!(target.leaked(), 0);
    seen
}

/// All outcomes of a program; both searches must agree.
fn explore(program: fn(&std::sync::Arc<Log>)) -> Seen {
    let optimal = explore_by(Algorithm::Optimal, program);
    let dfs = explore_by(Algorithm::Dfs, program);
    assert_eq!(optimal.outcomes, dfs.outcomes);
    assert_eq!(
        kinds(&optimal),
        kinds(&dfs),
        "{:?} {:?}",
        optimal.errors,
        dfs.errors
    );
    optimal
}

fn kinds(seen: &Seen) -> BTreeSet<Kind> {
    seen.errors.iter().map(|(kind, _)| *kind).collect()
}

#[track_caller]
fn outcomes(program: fn(&std::sync::Arc<Log>), expected: &[&str]) {
    let seen = explore(program);
    assert!(seen.errors.is_empty(), "{:?}", seen.errors);
    let expected: BTreeSet<String> = expected.iter().map(ToString::to_string).collect();
    assert_eq!(seen.outcomes, expected);
}

#[track_caller]
fn finds(program: fn(&std::sync::Arc<Log>), kind: Kind) {
    assert_eq!(kinds(&explore(program)), BTreeSet::from([kind]));
}

#[test]
fn rwlock_readers_see_a_writer_wholly_or_not_at_all() {
    outcomes(
        |log| {
            let pair = Arc::new(RwLock::new((0, 0)));
            let theirs = pair.clone();
            let writer = thread::spawn(move || {
                let mut pair = theirs.write().unwrap();
                pair.0 += 1;
                thread::yield_now();
                pair.1 += 1;
            });
            note(log, format!("{:?}", *pair.read().unwrap()));
            writer.join().unwrap();
            assert_eq!(*pair.read().unwrap(), (1, 1));
        },
        &["(0, 0)", "(1, 1)"],
    );
}

#[test]
fn rwlock_attempts_fail_or_succeed() {
    outcomes(
        |log| {
            let lock = Arc::new(RwLock::new(0));
            let theirs = lock.clone();
            let thread = thread::spawn(move || *theirs.write().unwrap() += 1);
            match lock.try_read() {
                Ok(value) => note(log, *value),
                Err(_) => note(log, "busy"),
            }
            thread.join().unwrap();
        },
        &["0", "1", "busy"],
    );
}

#[test]
fn reading_twice_behind_a_writer_is_a_deadlock() {
    finds(
        |_| {
            let lock = Arc::new(RwLock::new(0));
            let theirs = lock.clone();
            thread::spawn(move || *theirs.write().unwrap() += 1);
            let first = lock.read().unwrap();
            let second = lock.read().unwrap();
            assert_eq!(*first, *second);
        },
        Kind::Deadlock,
    );
}

#[test]
fn a_panicking_writer_poisons_in_a_check() {
    outcomes(
        |log| {
            let lock = Arc::new(RwLock::new(0));
            let theirs = lock.clone();
            let thread = thread::spawn(move || {
                let _held = theirs.write().unwrap();
                panic!("on purpose");
            });
            note(log, lock.read().is_err());
            assert!(thread.join().is_err());
            assert!(lock.is_poisoned());
        },
        &["false", "true"],
    );
}

#[test]
fn every_thread_of_a_barrier_leads_once() {
    outcomes(
        |log| {
            let barrier = Arc::new(Barrier::new(2));
            let theirs = barrier.clone();
            let thread = thread::spawn(move || theirs.wait().is_leader());
            let mine = barrier.wait().is_leader();
            assert_ne!(mine, thread.join().unwrap());
            note(log, mine);
        },
        &["false", "true"],
    );
}

#[test]
fn once_runs_one_of_two() {
    outcomes(
        |log| {
            let once = Arc::new(Once::new());
            let (theirs, log2) = (once.clone(), log.clone());
            let thread = thread::spawn(move || theirs.call_once(|| note(&log2, "theirs")));
            once.call_once(|| note(log, "mine"));
            assert!(once.is_completed());
            thread.join().unwrap();
        },
        &["mine", "theirs"],
    );
}

#[test]
fn a_failed_once_is_poisoned_for_the_others() {
    outcomes(
        |log| {
            let once = Arc::new(Once::new());
            let theirs = once.clone();
            let thread = thread::spawn(move || theirs.call_once(|| panic!("on purpose")));
            once.call_once_force(|state| note(log, state.is_poisoned()));
            note(log, format!("joined {}", thread.join().is_ok()));
        },
        &["false joined true", "joined false true"],
    );
}

#[test]
fn waiting_for_a_once() {
    outcomes(
        |log| {
            let once = Arc::new(Once::new());
            let theirs = once.clone();
            let thread = thread::spawn(move || {
                note_completed(&theirs);
                theirs.call_once(|| ());
            });
            once.wait();
            note(log, once.is_completed());
            thread.join().unwrap();
        },
        &["true"],
    );
    fn note_completed(once: &Once) {
        assert!(!once.is_completed());
    }
}

#[test]
fn once_lock_is_set_by_one_and_seen_when_set() {
    outcomes(
        |log| {
            let lock = Arc::new(OnceLock::new());
            let theirs = lock.clone();
            let thread = thread::spawn(move || theirs.set(1).is_ok());
            let early = lock.get().copied();
            let value = *lock.get_or_init(|| 2);
            let set = thread.join().unwrap();
            note(log, format!("{early:?} {value} {set}"));
        },
        &["None 1 true", "None 2 false", "Some(1) 1 true"],
    );
}

#[test]
fn statics_are_reset_in_every_execution() {
    static LAZY: LazyLock<AtomicU32> = LazyLock::new(|| AtomicU32::new(7));
    static LOCK: RwLock<u32> = RwLock::new(1);
    static ONCE: OnceLock<u32> = OnceLock::new();
    static PERMITS: Semaphore = Semaphore::new(1);
    outcomes(
        |log| {
            PERMITS.acquire();
            let thread = thread::spawn(|| {
                LAZY.fetch_add(1, Ordering::SeqCst);
                *LOCK.write().unwrap() += 1;
                assert_eq!(ONCE.get_or_init(|| 3), &3);
            });
            thread.join().unwrap();
            let lazy = LAZY.load(Ordering::SeqCst);
            note(
                log,
                format!("{lazy} {} {:?}", LOCK.read().unwrap(), ONCE.get()),
            );
        },
        &["8 2 Some(3)"],
    );
    assert_eq!(ONCE.get(), None);
}

#[test]
fn a_channel_keeps_the_order_of_each_sender() {
    outcomes(
        |log| {
            let (sender, receiver) = channel();
            for thread in 0..2 {
                let sender = sender.clone();
                thread::spawn(move || {
                    for n in 0..2 {
                        sender.send(thread * 10 + n).unwrap();
                    }
                });
            }
            drop(sender);
            note(log, format!("{:?}", receiver.iter().collect::<Vec<_>>()));
        },
        &[
            "[0, 1, 10, 11]",
            "[0, 10, 1, 11]",
            "[0, 10, 11, 1]",
            "[10, 0, 1, 11]",
            "[10, 0, 11, 1]",
            "[10, 11, 0, 1]",
        ],
    );
}

#[test]
fn polling_a_channel_finds_all_it_can_find() {
    outcomes(
        |log| {
            let (sender, receiver) = channel();
            let thread = thread::spawn(move || sender.send(1).unwrap());
            note(
                log,
                match receiver.try_recv() {
                    Ok(_) => "got",
                    Err(TryRecvError::Empty) => "empty",
                    Err(TryRecvError::Disconnected) => "gone",
                },
            );
            thread.join().unwrap();
        },
        &["empty", "got"],
    );
    outcomes(
        |log| {
            let (sender, receiver) = channel::<u32>();
            let thread = thread::spawn(move || drop(sender));
            note(log, format!("{:?}", receiver.recv_timeout(SECOND)));
            thread.join().unwrap();
        },
        &["Err(Disconnected)", "Err(Timeout)"],
    );
    assert_eq!(
        format!("{:?}", RecvTimeoutError::Timeout),
        "Timeout",
        "as printed above"
    );
}

#[test]
fn a_bounded_channel_holds_back_its_sender() {
    outcomes(
        |log| {
            let (sender, receiver) = sync_channel(1);
            let done = Arc::new(AtomicU32::new(0));
            let theirs = done.clone();
            let thread = thread::spawn(move || {
                for n in 0..3 {
                    // The last one may come too late.
                    if sender.send(n).is_err() {
                        assert_eq!(n, 2);
                        return;
                    }
                    theirs.store(n + 1, Ordering::SeqCst);
                }
            });
            let early = done.load(Ordering::SeqCst);
            assert!(early <= 1);
            note(log, early);
            assert_eq!(receiver.into_iter().take(2).collect::<Vec<_>>(), [0, 1]);
            thread.join().unwrap();
        },
        &["0", "1"],
    );
}

#[test]
fn try_send_finds_room_or_not() {
    outcomes(
        |log| {
            let (sender, receiver) = sync_channel(1);
            sender.send(1).unwrap();
            let thread = thread::spawn(move || receiver.recv().unwrap());
            note(
                log,
                match sender.try_send(2) {
                    Ok(()) => "sent",
                    Err(TrySendError::Full(2)) => "full",
                    Err(TrySendError::Disconnected(2)) => "gone",
                    Err(_) => unreachable!("not the message"),
                },
            );
            thread.join().unwrap();
        },
        &["full", "gone", "sent"],
    );
}

#[test]
fn without_capacity_sender_and_receiver_meet() {
    outcomes(
        |log| {
            let (sender, receiver) = sync_channel(0);
            let received = Arc::new(AtomicBool::new(false));
            let theirs = received.clone();
            let thread = thread::spawn(move || {
                sender.send(1).unwrap();
                // Its message was taken; that the receiver got to say so is another matter.
                theirs.load(Ordering::SeqCst)
            });
            assert_eq!(receiver.recv(), Ok(1));
            received.store(true, Ordering::SeqCst);
            note(log, thread.join().unwrap());
        },
        &["false", "true"],
    );
    // The message comes back when the receiver goes without it.
    outcomes(
        |log| {
            let (sender, receiver) = sync_channel(0);
            let thread = thread::spawn(move || sender.send(String::from("mine")));
            drop(receiver);
            note(log, thread.join().unwrap().unwrap_err().0);
        },
        &["mine"],
    );
    finds(
        |_| {
            let (sender, _receiver) = sync_channel(0);
            sender.send(1).unwrap();
        },
        Kind::Deadlock,
    );
}

#[test]
fn what_is_not_supported_says_so() {
    let seen = explore(|_| {
        let (sender, _receiver) = sync_channel(0);
        let _ = sender.try_send(1);
    });
    let text = "unsupported: try_send on a channel without capacity";
    assert!(
        seen.errors
            .iter()
            .all(|(_, message)| message.contains(text))
    );
    assert_eq!(seen.errors.len(), 1);
}

#[test]
fn messages_are_dropped_with_their_receiver() {
    outcomes(
        |log| {
            let (sender, receiver) = channel();
            let message = Arc::new(());
            sender.send(message.clone()).unwrap();
            drop(receiver);
            assert!(sender.send(message.clone()).is_err());
            note(log, Arc::strong_count(&message));
        },
        &["1"],
    );
}

#[test]
fn a_semaphore_lets_so_many_pass() {
    outcomes(
        |log| {
            let semaphore = Arc::new(Semaphore::new(2));
            let inside = Arc::new(AtomicU32::new(0));
            let most = Arc::new(AtomicU32::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (semaphore, inside, most) =
                        (semaphore.clone(), inside.clone(), most.clone());
                    thread::spawn(move || {
                        semaphore.acquire();
                        let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                        most.fetch_max(now, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        semaphore.release();
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            note(log, most.load(Ordering::SeqCst));
        },
        &["1", "2"],
    );
    outcomes(
        |log| {
            let semaphore = Arc::new(Semaphore::new(0));
            let theirs = semaphore.clone();
            let thread = thread::spawn(move || theirs.release());
            let now = semaphore.try_acquire();
            let soon = now || semaphore.acquire_timeout(SECOND);
            note(log, format!("{now} {soon}"));
            thread.join().unwrap();
        },
        &["false false", "false true", "true true"],
    );
}

#[test]
fn thread_locals_are_new_in_every_thread_and_execution() {
    struct Last(Arc<Mutex<Vec<&'static str>>>, &'static str);
    impl Drop for Last {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(self.1);
            // Has no destructor, so it is still there, though it was made last.
            COUNT.set(COUNT.get() + 1);
            assert!(FIRST.try_with(|_| ()).is_err() == (self.1 == "first"));
        }
    }
    reweave::thread_local! {
        static COUNT: Cell<u32> = const { Cell::new(0) };
        static FIRST: RefCell<Option<Last>> = const { RefCell::new(None) };
        static OTHER: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    outcomes(
        |log| {
            let order = Arc::new(Mutex::new(Vec::new()));
            COUNT.set(COUNT.get() + 1);
            let theirs = order.clone();
            let thread = thread::spawn(move || {
                FIRST.set(Some(Last(theirs.clone(), "first")));
                OTHER.set(Some(Last(theirs, "second")));
                COUNT.set(COUNT.get() + 10);
                COUNT.get()
            });
            let theirs = thread.join().unwrap();
            note(
                log,
                format!("{} {theirs} {:?}", COUNT.get(), order.lock().unwrap()),
            );
        },
        &["1 10 [\"second\", \"first\"]"],
    );
}

/// Two threads and a flag; the second reads what the first wrote if it sees the flag.
fn hand_over(set: fn(&AtomicBool), ask: fn(&AtomicBool) -> bool) {
    struct Shared(UnsafeCell<u32>, AtomicBool);
    // SAFETY: that is what is being checked.
    unsafe impl Sync for Shared {}
    let shared = Arc::new(Shared(UnsafeCell::new(0), AtomicBool::new(false)));
    let theirs = shared.clone();
    let thread = thread::spawn(move || {
        // SAFETY: fibers run one at a time, so no two accesses overlap.
        theirs.0.with_mut(|p| unsafe { *p = 1 });
        set(&theirs.1);
    });
    if ask(&shared.1) {
        // SAFETY: fibers run one at a time, so no two accesses overlap.
        assert_eq!(shared.0.with(|p| unsafe { *p }), 1);
    }
    thread.join().unwrap();
    // SAFETY: fibers run one at a time, so no two accesses overlap.
    assert_eq!(shared.0.with(|p| unsafe { *p }), 1);
}

#[test]
fn races_by_declared_order() {
    use Ordering::{Acquire, Relaxed, Release};
    finds(
        |_| hand_over(|flag| flag.store(true, Relaxed), |flag| flag.load(Relaxed)),
        Kind::DataRace,
    );
    finds(
        |_| hand_over(|flag| flag.store(true, Release), |flag| flag.load(Relaxed)),
        Kind::DataRace,
    );
    outcomes(
        |_| hand_over(|flag| flag.store(true, Release), |flag| flag.load(Acquire)),
        &[""],
    );
    outcomes(
        |_| {
            hand_over(
                |flag| {
                    fence(Release);
                    flag.store(true, Relaxed);
                },
                |flag| {
                    let set = flag.load(Relaxed);
                    fence(Acquire);
                    set
                },
            );
        },
        &[""],
    );
}

#[test]
fn the_end_of_a_cell_races_with_a_reader() {
    // A hand-made reference count that gives up its share without ordering: the last one frees what the other may still read.
    struct Shared {
        count: AtomicU32,
        data: UnsafeCell<u32>,
    }
    fn let_go(shared: *const Shared, order: Ordering) {
        // SAFETY: the count says that it is still there.
        let count = unsafe { (*shared).count.fetch_sub(1, order) };
        if count == 1 {
            // SAFETY: in the order of this execution, the last reference.
            drop(unsafe { Box::from_raw(shared.cast_mut()) });
        }
    }
    fn program(order: Ordering) {
        struct Reference(*const Shared);
        // SAFETY: that is what is being checked.
        unsafe impl Send for Reference {}
        let shared = Box::into_raw(Box::new(Shared {
            count: AtomicU32::new(2),
            data: UnsafeCell::new(5),
        }));
        let theirs = Reference(shared);
        let thread = thread::spawn(move || {
            let reference = theirs;
            // SAFETY: this thread still holds one of the two references, so the object is live.
            assert_eq!(unsafe { (*reference.0).data.with(|p| *p) }, 5);
            let_go(reference.0, order);
        });
        let_go(shared, order);
        thread.join().unwrap();
    }
    finds(|_| program(Ordering::Relaxed), Kind::DataRace);
    outcomes(|_| program(Ordering::AcqRel), &[""]);
}

#[test]
fn locks_and_channels_order_plain_accesses() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: that is what is being checked.
    unsafe impl Sync for Shared {}
    outcomes(
        |_| {
            let shared = Arc::new(Shared(UnsafeCell::new(0)));
            let (sender, receiver) = channel();
            let theirs = shared.clone();
            let thread = thread::spawn(move || {
                // SAFETY: fibers run one at a time, so no two accesses overlap.
                theirs.0.with_mut(|p| unsafe { *p += 1 });
                sender.send(()).unwrap();
            });
            receiver.recv().unwrap();
            // SAFETY: fibers run one at a time, so no two accesses overlap.
            shared.0.with_mut(|p| unsafe { *p += 1 });
            thread.join().unwrap();
        },
        &[""],
    );
    // Two readers of a lock are not ordered: a write by one of them races.
    finds(
        |_| {
            let shared = Arc::new((Shared(UnsafeCell::new(0)), RwLock::new(())));
            let theirs = shared.clone();
            let thread = thread::spawn(move || {
                let _held = theirs.1.read().unwrap();
                // SAFETY: fibers run one at a time, so no two accesses overlap.
                theirs.0.0.with_mut(|p| unsafe { *p += 1 });
            });
            let held = shared.1.read().unwrap();
            // SAFETY: fibers run one at a time, so no two accesses overlap.
            shared.0.0.with_mut(|p| unsafe { *p += 1 });
            drop(held);
            thread.join().unwrap();
        },
        Kind::DataRace,
    );
}

#[test]
fn cells_that_take_each_others_place_are_not_one() {
    // Each thread makes, uses and drops a cell of its own; memory is used again, and nothing orders the threads.
    outcomes(
        |log| {
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    thread::spawn(|| {
                        let cell = Box::new(UnsafeCell::new(1));
                        // SAFETY: the cell belongs to this thread alone.
                        cell.with_mut(|p| unsafe { *p += 1 });
                        thread::yield_now();
                        cell.into_inner()
                    })
                })
                .collect();
            for thread in threads {
                note(log, thread.join().unwrap());
            }
        },
        &["2 2"],
    );
}

#[test]
fn abandoned_threads_are_unwound_through_all_mirrors() {
    // A deadlock with everything held: destructors then use the mirrors once more.
    struct Uses(Arc<All>);
    struct All {
        lock: RwLock<u32>,
        once: Once,
        value: OnceLock<u32>,
        semaphore: Semaphore,
        barrier: Barrier,
    }
    impl Drop for Uses {
        fn drop(&mut self) {
            drop(self.0.lock.try_write());
            self.0.once.call_once(|| ());
            self.0.value.get();
            self.0.semaphore.acquire();
            self.0.barrier.wait();
            let (sender, receiver) = channel();
            let _ = sender.send(1);
            drop(sender);
            let _ = receiver.recv();
        }
    }
    fn program(_: &std::sync::Arc<Log>) {
        let all = Arc::new(All {
            lock: RwLock::new(0),
            once: Once::new(),
            value: OnceLock::new(),
            semaphore: Semaphore::new(0),
            barrier: Barrier::new(3),
        });
        let (sender, receiver) = sync_channel::<u32>(0);
        let theirs = all.clone();
        thread::spawn(move || {
            let _uses = Uses(theirs.clone());
            let _held = theirs.lock.read().unwrap();
            let caught = catch_unwind(AssertUnwindSafe(|| sender.send(1)));
            theirs.value.get_or_init(|| 1);
            drop(caught);
        });
        let _uses = Uses(all.clone());
        let _held = all.lock.read().unwrap();
        all.barrier.wait();
        drop(receiver);
    }
    let seen = explore_by(Algorithm::Optimal, program);
    assert_eq!(kinds(&seen), BTreeSet::from([Kind::Deadlock]));
}

#[test]
fn plans_repeat() {
    // The default plan twice: no hidden state in the mirrors.
    let program = || {
        let lock = Arc::new(RwLock::new(0));
        let theirs = lock.clone();
        let thread = thread::spawn(move || *theirs.write().unwrap() += 1);
        assert!(*lock.read().unwrap() < 2);
        thread.join().unwrap();
    };
    let mut target = ClosureTarget::new(std::sync::Arc::new(program), false);
    let first = target.run(&Plan::default()).unwrap().clone();
    let again = target.run(&Plan::default()).unwrap();
    assert_eq!(&first, again);
}
