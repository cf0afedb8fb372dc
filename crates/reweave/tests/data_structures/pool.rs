//! A small thread pool: jobs in a queue, a promise for each result, and a shutdown that lets every
//! accepted job run to its end.
//!
//! `BUG`: a worker looks whether the pool is closing before it looks for a job, so jobs accepted
//! before the shutdown can be left behind.

use crate::prelude::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};
use std::collections::VecDeque;

type Job = Box<dyn FnOnce() + Send>;

/// The pool; dropping it shuts it down.
pub struct Pool<const BUG: bool> {
    shared: Arc<Shared>,
    workers: Vec<thread::JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Told of new jobs and of closing.
    work: Condvar,
    /// Told when a worker has finished a job.
    rest: Condvar,
}

struct State {
    jobs: VecDeque<Job>,
    running: usize,
    /// Once true no job is accepted.
    closing: bool,
}

/// The pool no longer accepts jobs.
#[derive(Debug, PartialEq, Eq)]
pub struct Closed;

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("jobs run outside this lock")
    }

    /// The next job, waiting for one; none when the worker is to go.
    fn next<const BUG: bool>(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if BUG && state.closing {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                state.running += 1;
                return Some(job);
            }
            if state.closing {
                return None;
            }
            state = self.work.wait(state).expect("jobs run outside this lock");
        }
    }

    fn finished(&self) {
        self.lock().running -= 1;
        self.rest.notify_all();
    }
}

impl<const BUG: bool> Pool<BUG> {
    pub fn new(workers: usize) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                jobs: VecDeque::new(),
                running: 0,
                closing: false,
            }),
            work: Condvar::new(),
            rest: Condvar::new(),
        });
        let workers = (0..workers)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    while let Some(job) = shared.next::<BUG>() {
                        job();
                        shared.finished();
                    }
                })
            })
            .collect();
        Self { shared, workers }
    }

    /// Hands a job in; its result comes by the promise.
    pub fn submit<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Promise<T>, Closed> {
        let (resolver, promise) = promise();
        let mut state = self.shared.lock();
        if state.closing {
            return Err(Closed);
        }
        state
            .jobs
            .push_back(Box::new(move || resolver.resolve(job())));
        drop(state);
        self.shared.work.notify_one();
        Ok(promise)
    }

    /// Waits until there is no job, waiting or running.
    pub fn wait_idle(&self) {
        let state = self.shared.lock();
        let busy = |state: &mut State| state.running > 0 || !state.jobs.is_empty();
        drop(
            self.shared
                .rest
                .wait_while(state, busy)
                .expect("jobs run outside this lock"),
        );
    }

    /// Accepts no more jobs; workers go when the queue is empty.
    pub fn close(&self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_all();
    }
}

impl<const BUG: bool> Drop for Pool<BUG> {
    fn drop(&mut self) {
        self.close();
        for worker in self.workers.drain(..) {
            worker.join().expect("workers do not panic");
        }
        // What is left here was accepted and never run: its promises are broken.
        let left = std::mem::take(&mut self.shared.lock().jobs);
        drop(left);
    }
}

/// A result that is still to come.
pub struct Promise<T>(Arc<Oneshot<T>>);

/// The other end of a promise; dropped without a result it breaks it.
struct Resolver<T>(Arc<Oneshot<T>>);

struct Oneshot<T> {
    slot: Mutex<Slot<T>>,
    settled: Condvar,
}

enum Slot<T> {
    Pending,
    Ready(T),
    Broken,
}

fn promise<T>() -> (Resolver<T>, Promise<T>) {
    let shared = Arc::new(Oneshot {
        slot: Mutex::new(Slot::Pending),
        settled: Condvar::new(),
    });
    (Resolver(Arc::clone(&shared)), Promise(shared))
}

impl<T> Oneshot<T> {
    /// The first settlement counts.
    fn settle(&self, outcome: Slot<T>) {
        let mut slot = self.slot.lock().expect("nothing panics under this lock");
        if matches!(*slot, Slot::Pending) {
            *slot = outcome;
            drop(slot);
            self.settled.notify_all();
        }
    }
}

impl<T> Resolver<T> {
    fn resolve(self, value: T) {
        self.0.settle(Slot::Ready(value));
    }
}

impl<T> Drop for Resolver<T> {
    fn drop(&mut self) {
        self.0.settle(Slot::Broken);
    }
}

impl<T> Promise<T> {
    /// Waits for the result; none when the promise was broken.
    pub fn wait(self) -> Option<T> {
        let slot = self.0.slot.lock().expect("nothing panics under this lock");
        let pending = |slot: &mut Slot<T>| matches!(slot, Slot::Pending);
        let mut slot = self
            .0
            .settled
            .wait_while(slot, pending)
            .expect("nothing panics under this lock");
        match std::mem::replace(&mut *slot, Slot::Broken) {
            Slot::Ready(value) => Some(value),
            Slot::Pending | Slot::Broken => None,
        }
    }
}

/// One worker, one job, and its result.
pub fn result_arrives<const BUG: bool>() {
    let pool = Pool::<BUG>::new(1);
    let promise = pool.submit(|| 6 * 7).expect("open");
    assert_eq!(promise.wait(), Some(42));
}

/// The pool is dropped with a job still waiting; the job runs all the same. The seeded bug breaks
/// the promise.
pub fn shutdown_is_graceful<const BUG: bool>() {
    let pool = Pool::<BUG>::new(1);
    let promise = pool.submit(|| 42).expect("open");
    drop(pool);
    assert_eq!(promise.wait(), Some(42), "an accepted job is run");
}

/// A job handed in while another thread closes the pool is either run or refused, never lost.
pub fn accepted_or_refused<const BUG: bool>() {
    let pool = Pool::<BUG>::new(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let accepted = thread::scope(|s| {
        s.spawn(|| pool.close());
        let ran = Arc::clone(&ran);
        pool.submit(move || ran.fetch_add(1, SeqCst)).is_ok()
    });
    drop(pool);
    assert_eq!(ran.load(SeqCst), usize::from(accepted));
}

/// Two workers, a job each; idle means that both results are out.
pub fn idle_means_done<const BUG: bool>() {
    let pool = Pool::<BUG>::new(2);
    let (tx, rx) = mpsc::channel();
    for n in 1..=2 {
        let tx = tx.clone();
        pool.submit(move || tx.send(n).expect("the receiver lives"))
            .expect("open");
    }
    pool.wait_idle();
    assert_eq!(rx.try_iter().sum::<u32>(), 3);
}
