//! Sleep instead of synchronisation: a thread sleeps until the other is surely done. Sleeping
//! orders nothing; joining does.

use crate::prelude::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};
use std::time::Duration;

fn run(join_first: bool) {
    let done = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&done);
    let worker = thread::spawn(move || theirs.store(true, SeqCst));
    let worker = if join_first {
        worker.join().unwrap();
        None
    } else {
        thread::sleep(Duration::from_millis(1));
        Some(worker)
    };
    let seen = done.load(SeqCst);
    if let Some(worker) = worker {
        worker.join().unwrap();
    }
    assert!(seen, "it had time enough");
}

pub fn broken() {
    run(false);
}

pub fn fixed() {
    run(true);
}
