//! Litmus tests: for each small program the exact set of outcomes under sequential consistency, and
//! the exact number of executions, one for each Mazurkiewicz trace: an orientation of the dependent
//! pairs of operations that has no cycle with program order.
//!
//! Threads borrow from their scope: nothing but the operations under test is shared. Joins come
//! last.

mod prelude;

use prelude::{
    sync::{
        Arc, Barrier, Condvar, Mutex,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};
use std::{collections::BTreeSet, fmt::Debug};

/// What a program can come to, and in how many executions it was found.
#[derive(Debug, PartialEq, Eq)]
struct Found<O> {
    outcomes: BTreeSet<O>,
    executions: u64,
}

/// Explores a program completely and collects what it returns, outside the check.
fn explore<O: Ord + Debug + Send + 'static>(
    program: impl Fn() -> O + Send + Sync + 'static,
) -> Found<O> {
    let outcomes = std::sync::Arc::new(std::sync::Mutex::new(BTreeSet::new()));
    let sink = std::sync::Arc::clone(&outcomes);
    let report = reweave::Builder::new().run(move || {
        let outcome = program();
        sink.lock().unwrap().insert(outcome);
    });
    assert!(report.errors.is_empty(), "{} errors", report.errors.len());
    assert!(report.complete, "the search was cut");
    assert_eq!(report.blocked, 0, "runs given up");
    let outcomes = std::mem::take(&mut *outcomes.lock().unwrap());
    Found {
        outcomes,
        executions: report.executions,
    }
}

fn found<O: Ord>(executions: u64, outcomes: impl IntoIterator<Item = O>) -> Found<O> {
    Found {
        outcomes: outcomes.into_iter().collect(),
        executions,
    }
}

/// Runs one thread for each index, all with the same body, and returns their results in that order.
fn threads<R: Send>(count: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let body = &body;
    thread::scope(|s| {
        let handles: Vec<_> = (0..count)
            .map(|index| s.spawn(move || body(index)))
            .collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .collect()
    })
}

/// Runs two threads.
fn both<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|s| {
        let (a, b) = (s.spawn(a), s.spawn(b));
        (a.join().unwrap(), b.join().unwrap())
    })
}

fn zero() -> AtomicU32 {
    AtomicU32::new(0)
}

fn zeros(count: usize) -> Vec<AtomicU32> {
    (0..count).map(|_| zero()).collect()
}

fn factorial(n: usize) -> u64 {
    (1..=n as u64).product()
}

/// All orders of `0..n`.
fn permutations(n: usize) -> BTreeSet<Vec<usize>> {
    (0..n).fold(BTreeSet::from([vec![]]), |shorter, new| {
        let insert = |order: &Vec<usize>, at: usize| [&order[..at], &[new], &order[at..]].concat();
        shorter
            .iter()
            .flat_map(|order| (0..=order.len()).map(move |at| insert(order, at)))
            .collect()
    })
}

#[test]
fn store_buffering() {
    let got = explore(|| {
        let (x, y) = (zero(), zero());
        let first = || {
            x.store(1, SeqCst);
            y.load(SeqCst)
        };
        let second = || {
            y.store(1, SeqCst);
            x.load(SeqCst)
        };
        both(first, second)
    });
    // Two store/load pairs, 2^2 orientations; both loads before both stores is a cycle.
    assert_eq!(got, found(3, [(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn message_passing() {
    let got = explore(|| {
        let (data, flag) = (zero(), zero());
        let send = || {
            data.store(1, SeqCst);
            flag.store(1, SeqCst);
        };
        both(send, || (flag.load(SeqCst), data.load(SeqCst))).1
    });
    // Two store/load pairs; flag seen and data not is a cycle: 4 - 1.
    assert_eq!(got, found(3, [(0, 0), (0, 1), (1, 1)]));
}

#[test]
fn load_buffering() {
    let got = explore(|| {
        let (x, y) = (zero(), zero());
        let first = || {
            let seen = x.load(SeqCst);
            y.store(1, SeqCst);
            seen
        };
        let second = || {
            let seen = y.load(SeqCst);
            x.store(1, SeqCst);
            seen
        };
        both(first, second)
    });
    // Two store/load pairs; each load after the other thread's store is a cycle: 4 - 1.
    assert_eq!(got, found(3, [(0, 0), (0, 1), (1, 0)]));
}

#[test]
fn independent_reads_of_independent_writes() {
    let got = explore(|| {
        let x = zeros(2);
        thread::scope(|s| {
            s.spawn(|| x[0].store(1, SeqCst));
            s.spawn(|| x[1].store(1, SeqCst));
            let a = s.spawn(|| (x[0].load(SeqCst), x[1].load(SeqCst)));
            let b = s.spawn(|| (x[1].load(SeqCst), x[0].load(SeqCst)));
            (a.join().unwrap(), b.join().unwrap())
        })
    });
    // Four store/load pairs, 2^4 orientations; the readers seeing the stores in opposite orders is
    // the one cycle.
    let all = (0..16).map(|bits| ((bits & 1, bits >> 1 & 1), (bits >> 2 & 1, bits >> 3 & 1)));
    assert_eq!(
        got,
        found(15, all.filter(|&outcome| outcome != ((1, 0), (1, 0))))
    );
}

#[test]
fn two_plus_two_writes() {
    let got = explore(|| {
        let (x, y) = (zero(), zero());
        let first = || {
            x.store(1, SeqCst);
            y.store(2, SeqCst);
        };
        let second = || {
            y.store(1, SeqCst);
            x.store(2, SeqCst);
        };
        both(first, second);
        (x.load(SeqCst), y.load(SeqCst))
    });
    // Two store/store pairs; both threads' first stores last is a cycle: 4 - 1.
    assert_eq!(got, found(3, [(1, 2), (2, 1), (2, 2)]));
}

#[test]
fn coherence_of_reads() {
    let got = explore(|| {
        let x = zero();
        both(|| x.store(1, SeqCst), || (x.load(SeqCst), x.load(SeqCst))).1
    });
    // The store stands before, between or after the two loads.
    assert_eq!(got, found(3, [(0, 0), (0, 1), (1, 1)]));
}

#[test]
fn coherence_of_writes() {
    let got = explore(|| {
        let x = zero();
        let write = || {
            x.store(1, SeqCst);
            x.store(2, SeqCst);
        };
        let seen = both(write, || (x.load(SeqCst), x.load(SeqCst))).1;
        (seen, x.load(SeqCst))
    });
    // Every load depends on every store: all C(4, 2) merges of two stores and two loads; the last
    // store stays.
    let seen = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
    assert_eq!(got, found(6, seen.map(|seen| (seen, 2))));
}

#[test]
fn it_matters_which_of_equal_stores_is_read() {
    for n in 2..=4 {
        let got = explore(move || {
            let x = zero();
            threads(n, |_| x.store(1, SeqCst));
            x.load(SeqCst)
        });
        // The order of the others does not.
        assert_eq!(got, found(n as u64, [1]));
    }
}

#[test]
fn store_buffering_with_fetch_add() {
    let got = explore(|| {
        let (x, y) = (zero(), zero());
        let first = || {
            x.fetch_add(1, SeqCst);
            y.fetch_add(0, SeqCst)
        };
        let second = || {
            y.fetch_add(1, SeqCst);
            x.fetch_add(0, SeqCst)
        };
        both(first, second)
    });
    // As store buffering: two dependent pairs, one cycle. Adding zero is a write all the same.
    assert_eq!(got, found(3, [(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn fetch_add_hands_out_every_order() {
    for n in 2..=4 {
        let got = explore(move || {
            let next = zero();
            threads(n, |_| next.fetch_add(1, SeqCst) as usize)
        });
        // Read-modify-writes of one object are all dependent: n! orders, each with its own tickets.
        assert_eq!(got, found(factorial(n), permutations(n)));
    }
}

#[test]
fn compare_exchange_has_one_winner() {
    for n in 2..=5 {
        let got = explore(move || {
            let x = zero();
            let won = threads(n, |i| {
                x.compare_exchange(0, i as u32 + 1, SeqCst, SeqCst).is_ok()
            });
            let winners: Vec<usize> = (0..n).filter(|&i| won[i]).collect();
            assert_eq!(winners.len(), 1);
            assert_eq!(x.load(SeqCst), winners[0] as u32 + 1);
            winners[0]
        });
        // The winner comes first; the others fail, a failed exchange is a read, and reads commute.
        assert_eq!(got, found(n as u64, 0..n));
    }
}

#[test]
fn loads_of_two_stores() {
    let got = explore(|| {
        let (a, b) = (zero(), zero());
        thread::scope(|s| {
            s.spawn(|| a.store(1, SeqCst));
            s.spawn(|| b.store(1, SeqCst));
            s.spawn(|| (a.load(SeqCst), b.load(SeqCst))).join().unwrap()
        })
    });
    // Two independent store/load pairs, no cycle: 2^2. (Workers that put each other's branches to
    // sleep lose one.)
    assert_eq!(got, found(4, [(0, 0), (0, 1), (1, 0), (1, 1)]));
}

#[test]
fn mutex_handoff() {
    let got = explore(|| {
        let data = Mutex::new(0);
        both(|| *data.lock().unwrap() = 1, || *data.lock().unwrap()).1
    });
    // Two critical sections, two orders.
    assert_eq!(got, found(2, [0, 1]));
}

#[test]
fn condvar_handoff() {
    let got = explore(|| {
        let slot = Mutex::new(None);
        let filled = Condvar::new();
        let give = || {
            *slot.lock().unwrap() = Some(7);
            filled.notify_one();
        };
        let take = || {
            let mut waited = false;
            let mut value = slot.lock().unwrap();
            while value.is_none() {
                waited = true;
                value = filled.wait(value).unwrap();
            }
            (waited, value.take())
        };
        both(give, take).1
    });
    // Giver first: the taker never waits. Taker first: it waits, and everything after that is
    // forced.
    assert_eq!(got, found(2, [(false, Some(7)), (true, Some(7))]));
}

#[test]
fn barrier_has_one_leader_and_it_can_be_anybody() {
    for n in 2..=3 {
        let got = explore(move || {
            let barrier = Barrier::new(n);
            let leads = threads(n, |_| barrier.wait().is_leader());
            assert_eq!(leads.iter().filter(|&&leads| leads).count(), 1);
            leads.iter().position(|&leads| leads).unwrap()
        });
        // Arrivals commute; who leads is an outcome with n values.
        assert_eq!(got, found(n as u64, 0..n));
    }
}

#[test]
fn choice() {
    // No other thread: one execution for each value, and for each pair of values of two choices.
    assert_eq!(explore(|| reweave::any(3)), found(3, 0..3));
    assert_eq!(
        explore(|| (reweave::any(2), reweave::any(2))),
        found(4, [(0, 0), (0, 1), (1, 0), (1, 1)])
    );
}

#[test]
fn n_threads_on_one_mutex() {
    for n in 2..=5 {
        let got = explore(move || {
            let order = Mutex::new(Vec::new());
            threads(n, |i| order.lock().unwrap().push(i));
            order.into_inner().unwrap()
        });
        // A critical section each: n! orders, all different.
        assert_eq!(got, found(factorial(n), permutations(n)));
    }
}

#[test]
fn readers() {
    for n in 1..=8 {
        let got = explore(move || {
            let x = zero();
            let (_, seen) = both(|| x.store(1, SeqCst), || threads(n, |_| x.load(SeqCst)));
            seen
        });
        // n store/load pairs and nothing between the readers: 2^n orientations, each its own
        // outcome.
        let all = (0..1_u32 << n).map(|bits| (0..n).map(|i| bits >> i & 1).collect::<Vec<_>>());
        assert_eq!(got, found(1 << n, all));
    }
}

#[test]
fn lastzero() {
    for n in 2..=8 {
        let got = explore(move || {
            let a = zeros(n + 1);
            let indices = threads(n + 1, |j| {
                if j > 0 {
                    a[j].store(a[j - 1].load(SeqCst) + 1, SeqCst);
                    return 0;
                }
                let mut i = n;
                while i > 0 && a[i].load(SeqCst) != 0 {
                    i -= 1;
                }
                i
            });
            indices[0]
        });
        // The n-1 pairs store a[j-1] / load in thread j are free: 2^(n-1) when thread 0 stops at n,
        // as many when at 0. When it stops at 0 < i < n, a[i+1] was written and a[i] not, so thread
        // i+1 has loaded a[i] before its store: one pair forced, 2^(n-2) for each of the n-1 such
        // i. Together (2 + 2 + n - 1) * 2^(n-2).
        assert_eq!(got, found((n as u64 + 3) << (n - 2), 0..=n));
    }
}

#[test]
fn independent_threads() {
    for n in 1..=8 {
        let got = explore(move || {
            let x = zeros(n);
            threads(n, |i| x[i].fetch_add(1, SeqCst));
            x.iter().map(|x| x.load(SeqCst)).sum::<u32>()
        });
        // No dependent pair: one trace.
        assert_eq!(got, found(1, [n as u32]));
    }
}

#[test]
fn counting_references_costs_nothing() {
    let got = explore(|| {
        let cells = Arc::new((zero(), zero()));
        let (one, two) = (Arc::clone(&cells), Arc::clone(&cells));
        let first = thread::spawn(move || {
            one.0.store(1, SeqCst);
            one.1.load(SeqCst)
        });
        let second = thread::spawn(move || {
            two.1.store(1, SeqCst);
            two.0.load(SeqCst)
        });
        (first.join().unwrap(), second.join().unwrap())
    });
    // Store buffering by spawn and Arc: clones and drops that nobody asks about (strong_count,
    // try_unwrap) are no choices.
    assert_eq!(got, found(3, [(0, 1), (1, 0), (1, 1)]));
}
