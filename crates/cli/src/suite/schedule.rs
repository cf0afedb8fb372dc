//! Gives tests their time: each worker takes the test whose turn it is, advances it by a slice and puts it back.
//!
//! *Owns:* all tests under way. A test is one worker's while it is advanced; where fewer tests than workers are left, those explore with
//! several.

use super::{
    Exploration,
    job::{Job, Share, Turn},
    policy::Queue,
};
use reweave_report::TestEntry;
use std::{
    collections::VecDeque,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

/// Tests that keep their processes while they wait.
const AWAKE: usize = 32;
/// Tests that stay on a cluster while they wait.
const AWAKE_REMOTE: usize = 4;

/// Advances all jobs to their ends, or until then; what they came to is in their order.
pub fn run(
    jobs: &[Mutex<Job<'_>>],
    order: &[usize],
    how: &Exploration<'_>,
    stop: &AtomicBool,
) -> Vec<TestEntry> {
    let mut queue = Queue::new(how.policy);
    order.iter().for_each(|job| queue.push(*job, None));
    let schedule = Schedule {
        jobs,
        workers: how.workers,
        until: how.until,
        // Waiting searches make workers look at more queues.
        most_awake: if how.cluster.is_some() {
            AWAKE_REMOTE
        } else {
            AWAKE
        },
        stop,
        floor: Mutex::new(Floor {
            queue,
            advancing: 0,
            awake: VecDeque::new(),
            done: jobs.iter().map(|_| None).collect(),
        }),
        changed: Condvar::new(),
    };
    std::thread::scope(|scope| {
        for _ in 0..how.workers {
            scope.spawn(|| schedule.work());
        }
    });
    let floor = schedule.floor.into_inner();
    let done = floor.unwrap_or_else(PoisonError::into_inner).done;
    let done = done.into_iter();
    done.map(|entry| entry.expect("workers leave when all are done"))
        .collect()
}

struct Schedule<'a, 't> {
    jobs: &'a [Mutex<Job<'t>>],
    workers: usize,
    until: Option<Instant>,
    most_awake: usize,
    stop: &'a AtomicBool,
    floor: Mutex<Floor>,
    changed: Condvar,
}

/// What workers share.
struct Floor {
    queue: Queue,
    /// How many are being advanced.
    advancing: usize,
    /// Who may have processes, whoever was advanced last comes last.
    awake: VecDeque<usize>,
    done: Vec<Option<TestEntry>>,
}

impl Schedule<'_, '_> {
    fn work(&self) {
        while let Some((index, tests)) = self.take() {
            let mut job = lock(&self.jobs[index]);
            let turn = match self.over() {
                true => job.conclude(),
                false => {
                    let end = Instant::now() + job.slice();
                    job.advance(&Share {
                        until: self.until.map_or(end, |until| until.min(end)),
                        workers: self.workers / tests,
                        tests,
                    })
                }
            };
            drop(job);
            self.put(index, turn);
        }
    }

    /// Which test is next, and how many share the workers with it, itself included; `None`: everything is done.
    fn take(&self) -> Option<(usize, usize)> {
        let mut floor = lock(&self.floor);
        loop {
            if let Some(index) = floor.queue.pop() {
                floor.advancing += 1;
                return Some(match floor.queue.is_empty() {
                    true => (index, floor.advancing),
                    false => (index, self.workers),
                });
            }
            if floor.advancing == 0 {
                return None;
            }
            let waited = self.changed.wait(floor);
            floor = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, index: usize, turn: Turn) {
        let mut floor = lock(&self.floor);
        floor.advancing -= 1;
        floor.awake.retain(|other| *other != index);
        match turn {
            Turn::Done(entry) => floor.done[index] = Some(*entry),
            Turn::More(outlook) => {
                floor.queue.push(index, outlook);
                floor.awake.push_back(index);
            }
        }
        let tired = match floor.awake.len() > self.most_awake {
            true => floor.awake.pop_front(),
            false => None,
        };
        drop(floor);
        self.changed.notify_all();
        // One that is being advanced again already is not tired.
        if let Some(Ok(mut job)) = tired.map(|tired| self.jobs[tired].try_lock()) {
            job.rest();
        }
    }

    fn over(&self) -> bool {
        let late = |until| Instant::now() >= until;
        self.stop.load(Relaxed) || self.until.is_some_and(late)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
