//! Atomics that are looked at by who has them to itself: who stored last matters though nobody loads.

use reweave::{
    Algorithm, Builder,
    sync::{
        Arc,
        atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Instant,
};
use std::{sync::Mutex, time::Duration};

/// All that a closure sees in a complete search.
fn seen(look: fn(AtomicUsize) -> usize) -> Vec<usize> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = seen.clone();
    Builder::new().check(move || {
        let atomic = Arc::new(AtomicUsize::new(0));
        let threads = [1, 2].map(|value| {
            let atomic = atomic.clone();
            thread::spawn(move || atomic.store(value, Relaxed))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let value = look(Arc::into_inner(atomic).unwrap());
        all.lock().unwrap().push(value);
    });
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    seen.dedup();
    seen
}

#[test]
fn by_taking_it_apart() {
    assert_eq!(seen(AtomicUsize::into_inner), [1, 2]);
}

#[test]
fn by_a_reference_of_its_own() {
    assert_eq!(seen(|mut atomic| *atomic.get_mut()), [1, 2]);
}

#[test]
fn by_printing_it() {
    assert_eq!(
        seen(|atomic| format!("{atomic:?}").parse().unwrap()),
        [1, 2]
    );
}

#[test]
fn a_pointer() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let all = seen.clone();
    Builder::new().check(move || {
        let atomic = Arc::new(AtomicPtr::new(std::ptr::null_mut::<u64>()));
        let threads = [8, 16].map(|address| {
            let atomic = atomic.clone();
            thread::spawn(move || atomic.store(std::ptr::without_provenance_mut(address), Relaxed))
        });
        for thread in threads {
            thread.join().unwrap();
        }
        let mut atomic = Arc::into_inner(atomic).unwrap();
        let first = *atomic.get_mut() as usize;
        assert_eq!(first, atomic.into_inner() as usize);
        all.lock().unwrap().push(first);
    });
    let mut seen = seen.lock().unwrap().clone();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, [8, 16]);
}

/// What nobody has shared yet is no event.
#[test]
fn before_anybody_else_knows_it() {
    let report = Builder::new().run(|| {
        let mut atomic = AtomicUsize::new(1);
        *atomic.get_mut() += 1;
        assert_eq!(atomic.into_inner(), 2);
    });
    assert_eq!(report.executions, 1);
}

/// Who stores after another one has not heard of it: the time is its own.
#[test]
fn no_time_comes_with_a_store() {
    for algorithm in [Algorithm::Rf, Algorithm::Optimal] {
        Builder::new().algorithm(algorithm).check(|| {
            let atomic = Arc::new(AtomicUsize::new(0));
            let start = Instant::now();
            let theirs = atomic.clone();
            let late = thread::spawn(move || {
                thread::sleep(Duration::from_secs(10));
                theirs.store(1, Relaxed);
            });
            let early = thread::spawn(move || {
                atomic.store(2, Relaxed);
                assert!(start.elapsed() < Duration::from_secs(5));
            });
            late.join().unwrap();
            early.join().unwrap();
        });
    }
}

/// What is done by who drops the last reference.
struct Last(Arc<AtomicUsize>);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn a_destructor_in_either_thread() {
    Builder::new().check(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let atomic = Arc::new(AtomicUsize::new(0));
        let last = Arc::new(Last(drops.clone()));
        let threads = [1, 2].map(|value| {
            let (atomic, last) = (atomic.clone(), last.clone());
            thread::spawn(move || {
                atomic.store(value, Relaxed);
                drop(last);
            })
        });
        drop(last);
        let seen = drops.clone();
        let reader = thread::spawn(move || {
            atomic.load(Relaxed);
            seen.load(Relaxed);
        });
        for thread in threads {
            thread.join().unwrap();
        }
        reader.join().unwrap();
        assert_eq!(drops.load(Relaxed), 1);
    });
}
