//! Workers that do not exist go through a search that was recorded. They share as those of `crates/explore/src/search.rs` do: everybody takes
//! the newest of their own, and gives the older half away when somebody has nothing to do.

use std::{cmp::Reverse, collections::BinaryHeap, ops::Range};

/// One execution, run and analysed.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// In nanoseconds, as all times.
    pub took: u64,
    /// How often it claimed something where others may.
    pub claims: u64,
    /// What follows from it, the first to be run last.
    pub children: Range<usize>,
}

/// A search; it begins with the first.
pub struct Tasks {
    pub all: Vec<Task>,
    /// How many plans the target sees at once.
    pub batch: usize,
}

impl Tasks {
    pub fn total(&self) -> u64 {
        self.all.iter().map(|task| task.took).sum()
    }

    /// The most that has to be done one after the other.
    pub fn longest_chain(&self) -> u64 {
        let mut longest = vec![0; self.all.len()];
        for (index, task) in self.all.iter().enumerate().rev() {
            let below = longest[task.children.clone()].iter().max();
            longest[index] = task.took + below.copied().unwrap_or(0);
        }
        longest.first().copied().unwrap_or(0)
    }
}

/// What it costs to meet.
pub struct Costs {
    /// To take a lock, do something short and give it back.
    pub lock: u64,
    /// From a notification until the other runs.
    pub wake: u64,
    /// How long others wait for a claim.
    pub claim: u64,
}

/// How long it took, and what of all workers' time was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    pub time: u64,
    /// With nothing to take.
    pub idle: u64,
    /// At the pool.
    pub sharing: u64,
}

/// Something that one worker at a time can have.
#[derive(Default)]
struct Lock {
    free: u64,
}

impl Lock {
    /// When somebody who comes now and needs it so long has had it.
    fn hold(&mut self, now: u64, long: u64) -> u64 {
        self.free = self.free.max(now) + long;
        self.free
    }
}

#[derive(Clone, Default)]
struct Worker {
    mine: Vec<usize>,
    batch: Vec<usize>,
    running: Option<usize>,
    /// It is about to claim, for so long.
    claiming: Option<u64>,
    hungry_since: Option<u64>,
}

/// All that is known at one moment.
pub struct Crew<'a> {
    tasks: &'a Tasks,
    costs: &'a Costs,
    /// All claims are made under one lock.
    crowded: bool,
    workers: Vec<Worker>,
    pool: Vec<usize>,
    pool_lock: Lock,
    claims_lock: Lock,
    /// Who is to be looked at when, the next one first.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    lost: Lost,
}

impl Crew<'_> {
    pub fn new<'a>(tasks: &'a Tasks, costs: &'a Costs, workers: usize, crowded: bool) -> Crew<'a> {
        Crew {
            tasks,
            costs,
            crowded,
            workers: vec![Worker::default(); workers],
            pool: vec![0],
            pool_lock: Lock::default(),
            claims_lock: Lock::default(),
            next: (0..workers).map(|worker| Reverse((0, worker))).collect(),
            lost: Lost::default(),
        }
    }

    /// Until nothing is left.
    pub fn work(mut self) -> Lost {
        while let Some(Reverse((now, worker))) = self.next.pop() {
            if let Some(long) = self.workers[worker].claiming.take() {
                let then = self.claims_lock.hold(now, long);
                self.next.push(Reverse((then, worker)));
                continue;
            }
            let now = self.finish(now, worker);
            self.go_on(now, worker);
        }
        for worker in &self.workers {
            let since = worker.hungry_since.unwrap_or(self.lost.time);
            self.lost.idle += self.lost.time.saturating_sub(since);
        }
        self.lost
    }

    /// A worker is done with an execution; says when it can go on.
    fn finish(&mut self, now: u64, index: usize) -> u64 {
        let Some(task) = self.workers[index].running.take() else {
            return now;
        };
        self.lost.time = self.lost.time.max(now);
        let children = self.tasks.all[task].children.clone();
        self.workers[index].mine.extend(children);
        let hungry = self
            .workers
            .iter()
            .any(|worker| worker.hungry_since.is_some());
        if hungry { self.share(now, index) } else { now }
    }

    fn share(&mut self, now: u64, index: usize) -> u64 {
        let worker = &mut self.workers[index];
        let half = (worker.mine.len() + worker.batch.len()) / 2;
        let give = half.min(worker.mine.len());
        if give == 0 {
            return now;
        }
        self.pool.extend(worker.mine.drain(..give));
        let then = self.pool_lock.hold(now, self.costs.lock);
        self.lost.sharing += then - now;
        for (other, worker) in self.workers.iter_mut().enumerate() {
            if let Some(since) = worker.hungry_since.take() {
                self.lost.idle += then.saturating_sub(since);
                self.lost.sharing += self.costs.wake;
                self.next.push(Reverse((then + self.costs.wake, other)));
            }
        }
        then
    }

    /// The next execution, or nothing until somebody gives.
    fn go_on(&mut self, now: u64, index: usize) {
        let crowd = self.workers.len();
        let most = self.tasks.batch;
        let mut now = now;
        let worker = &mut self.workers[index];
        if worker.batch.is_empty() && worker.mine.is_empty() {
            let then = self.pool_lock.hold(now, self.costs.lock);
            self.lost.sharing += then - now;
            now = then;
            let all = self.pool.len();
            if all == 0 {
                worker.hungry_since = Some(now);
                return;
            }
            let some = (all / crowd).min(most).max(1);
            worker.mine.extend(self.pool.drain(all - some..));
        }
        if worker.batch.is_empty() {
            let all = worker.mine.len();
            let count = match crowd {
                1 => all.min(most),
                _ => all.div_ceil(2).min(most),
            };
            worker.batch.extend(worker.mine.drain(all - count..));
        }
        let next = worker.batch.pop().expect("it was just filled");
        worker.running = Some(next);
        let task = &self.tasks.all[next];
        let mut then = now + task.took;
        if self.crowded && task.claims > 0 {
            // At the end, all at once.
            let claiming = (task.claims * self.costs.claim).min(task.took);
            worker.claiming = Some(claiming);
            then -= claiming;
        }
        self.next.push(Reverse((then, index)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        lock: 10,
        wake: 100,
        claim: 50,
    };

    /// Everything has so many children, so many times.
    fn tree(width: usize, height: u32) -> Tasks {
        let mut all = vec![Task::default()];
        let mut level = 0..1;
        for _ in 0..height {
            let below = all.len();
            for index in level.clone() {
                let first = all.len();
                all[index].children = first..first + width;
                all.extend(vec![Task::default(); width]);
            }
            level = below..all.len();
        }
        for task in &mut all {
            (task.took, task.claims) = (10_000, 4);
        }
        Tasks { all, batch: 1 }
    }

    fn time(tasks: &Tasks, workers: usize, crowded: bool) -> u64 {
        Crew::new(tasks, &COSTS, workers, crowded).work().time
    }

    #[test]
    fn one_worker_takes_as_long_as_all_tasks() {
        let tasks = tree(2, 8);
        let over = time(&tasks, 1, false) - tasks.total();
        assert!(over <= 10 * COSTS.lock, "{over} ns more");
    }

    #[test]
    fn a_chain_cannot_be_shared() {
        let tasks = tree(1, 100);
        assert_eq!(tasks.longest_chain(), tasks.total());
        assert!(time(&tasks, 8, false) >= tasks.total());
    }

    #[test]
    fn a_wide_tree_is_shared_well() {
        let tasks = tree(4, 7);
        for workers in [2, 8, 32] {
            let speedup = tasks.total() as f64 / time(&tasks, workers, false) as f64;
            assert!(speedup > 0.9 * workers as f64, "{speedup} with {workers}");
            assert!(speedup <= workers as f64);
        }
    }

    #[test]
    fn one_lock_for_all_claims_is_a_limit() {
        let tasks = tree(4, 7);
        // Claiming is 200 of 10000 nanoseconds.
        let speedup = tasks.total() as f64 / time(&tasks, 256, true) as f64;
        assert!((20.0..=50.0).contains(&speedup), "{speedup}");
    }
}
