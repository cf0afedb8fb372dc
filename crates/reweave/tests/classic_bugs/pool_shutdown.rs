//! Shutdown of a pool: the flag is raised and announced without the queue's lock. A worker that has
//! seen no flag and has not yet begun to wait misses both.

use crate::prelude::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

#[derive(Default)]
struct Pool {
    jobs: Mutex<Vec<u32>>,
    work: Condvar,
    closing: AtomicBool,
}

impl Pool {
    fn work(&self) -> u32 {
        let mut done = 0;
        let mut jobs = self.jobs.lock().unwrap();
        loop {
            if let Some(job) = jobs.pop() {
                done += job;
            } else if self.closing.load(SeqCst) {
                return done;
            } else {
                jobs = self.work.wait(jobs).unwrap();
            }
        }
    }

    fn close(&self) {
        self.closing.store(true, SeqCst);
        self.work.notify_all();
    }

    fn close_under_lock(&self) {
        let _jobs = self.jobs.lock().unwrap();
        self.close();
    }
}

fn run(close: fn(&Pool)) {
    let pool = Arc::new(Pool {
        jobs: Mutex::new(vec![7]),
        ..Pool::default()
    });
    let theirs = Arc::clone(&pool);
    let worker = thread::spawn(move || theirs.work());
    close(&pool);
    assert_eq!(worker.join().unwrap(), 7);
}

pub fn broken() {
    run(Pool::close);
}

pub fn fixed() {
    run(Pool::close_under_lock);
}
