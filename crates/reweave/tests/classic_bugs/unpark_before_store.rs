//! Missed unpark: the flag is set after the unpark that announces it. The parked thread wakes, sees
//! no flag, and parks for good.

use crate::prelude::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

fn run(announce: fn(&AtomicBool, &thread::Thread)) {
    let ready = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&ready);
    let waiter = thread::spawn(move || {
        while !theirs.load(SeqCst) {
            thread::park();
        }
    });
    announce(&ready, waiter.thread());
    waiter.join().unwrap();
}

pub fn broken() {
    run(|ready, waiter| {
        waiter.unpark();
        ready.store(true, SeqCst);
    });
}

pub fn fixed() {
    run(|ready, waiter| {
        ready.store(true, SeqCst);
        waiter.unpark();
    });
}
