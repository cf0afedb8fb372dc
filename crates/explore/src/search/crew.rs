//! What the workers of one process share: branches within reach of all, and the word to stop.

use super::departures::Departures;
use crate::explorer::Branch;
use reweave_estimate::{Gauge, Log, Prober};
use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// What workers share.
pub(crate) struct Crew<'a, P> {
    pub workers: usize,
    pub gauge: &'a Gauge,
    pub prober: &'a Mutex<Prober<Branch<P>>>,
    pub log: Option<&'a Mutex<Log>>,
    pub departures: Option<&'a Departures>,
    pool: Mutex<Pool<P>>,
    changed: Condvar,
    /// Workers that have nothing to do.
    hungry: AtomicUsize,
    stop: AtomicBool,
}

struct Pool<P> {
    branches: Vec<Branch<P>>,
    /// Workers that may still find something.
    busy: usize,
}

impl<'a, P> Crew<'a, P> {
    /// So many workers, with these branches in reach of all.
    pub fn new(
        workers: usize,
        branches: Vec<Branch<P>>,
        gauge: &'a Gauge,
        prober: &'a Mutex<Prober<Branch<P>>>,
        log: Option<&'a Mutex<Log>>,
    ) -> Crew<'a, P> {
        gauge.set_busy(workers);
        Crew {
            workers,
            gauge,
            prober,
            log,
            departures: None,
            pool: Mutex::new(Pool {
                branches,
                busy: workers,
            }),
            changed: Condvar::new(),
            hungry: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Pool<P>> {
        self.pool
            .lock()
            .expect("nobody panics while holding the pool")
    }

    /// Whether all are to stop.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Lets all stop after what they run.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        let _pool = self.lock();
        self.changed.notify_all();
    }

    /// Takes what lies there, without waiting: it is older, and goes below.
    pub fn take_all(&self, mine: &mut Vec<Branch<P>>) {
        let mut all = std::mem::take(&mut self.lock().branches);
        if !all.is_empty() {
            all.append(mine);
            *mine = all;
        }
    }

    /// Whether some have nothing to do.
    pub fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    /// Puts branches within reach of the others.
    pub fn give(&self, branches: impl Iterator<Item = Branch<P>>) {
        self.lock().branches.extend(branches);
        self.changed.notify_all();
    }

    /// What is left when all are done.
    pub fn into_branches(self) -> Vec<Branch<P>> {
        let pool = self.pool.into_inner();
        pool.expect("workers are done").branches
    }

    /// Waits for branches and takes some, at most so many; says `false` when there will never be any.
    pub fn take(&self, mine: &mut Vec<Branch<P>>, most: usize) -> bool {
        let mut pool = self.lock();
        loop {
            if self.stop.load(Ordering::SeqCst) {
                return false;
            }
            let all = pool.branches.len();
            if all > 0 {
                let some = (all / self.workers).min(most).max(1);
                mine.extend(pool.branches.drain(all - some..));
                return true;
            }
            pool.busy -= 1;
            self.gauge.set_busy(pool.busy);
            if pool.busy == 0 {
                self.changed.notify_all();
                return false;
            }
            self.hungry.fetch_add(1, Ordering::SeqCst);
            while pool.branches.is_empty() && pool.busy > 0 && !self.stop.load(Ordering::SeqCst) {
                pool = self
                    .changed
                    .wait(pool)
                    .expect("nobody panics while holding the pool");
            }
            self.hungry.fetch_sub(1, Ordering::SeqCst);
            if pool.branches.is_empty() {
                return false;
            }
            pool.busy += 1;
            self.gauge.set_busy(pool.busy);
        }
    }
}

/// A worker that panics takes the others along instead of leaving them waiting.
pub(crate) struct StopOnPanic<'a, P>(pub &'a Crew<'a, P>);

impl<P> Drop for StopOnPanic<'_, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop();
        }
    }
}
