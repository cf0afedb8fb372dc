//! Stop flag raised by the worker itself: it says "running" as its first act and looks at the flag
//! until somebody clears it. When the clearing comes first, the worker overwrites it and spins for
//! ever.

use crate::prelude::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

fn run(said_by_worker: bool) {
    let running = Arc::new(AtomicBool::new(!said_by_worker));
    let theirs = Arc::clone(&running);
    let worker = thread::spawn(move || {
        if said_by_worker {
            theirs.store(true, SeqCst);
        }
        while theirs.load(SeqCst) {
            thread::yield_now();
        }
    });
    running.store(false, SeqCst);
    worker.join().unwrap();
}

pub fn broken() {
    run(true);
}

pub fn fixed() {
    run(false);
}
