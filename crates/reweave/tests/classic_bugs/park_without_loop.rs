//! Park without a loop: an unpark meant for something else leaves its token, and the park that
//! should wait for the answer returns at once. Only a look at the condition says why a park ended.

use crate::prelude::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering::SeqCst},
    },
    thread,
};

fn run(wait: fn(&AtomicU32)) {
    let answer = Arc::new(AtomicU32::new(0));
    let theirs = Arc::clone(&answer);
    let waiter = thread::spawn(move || {
        wait(&theirs);
        theirs.load(SeqCst)
    });
    waiter.thread().unpark(); // "look at your timer", say
    answer.store(42, SeqCst);
    waiter.thread().unpark();
    assert_eq!(waiter.join().unwrap(), 42);
}

pub fn broken() {
    run(|answer| {
        if answer.load(SeqCst) == 0 {
            thread::park();
        }
    });
}

pub fn fixed() {
    run(|answer| {
        while answer.load(SeqCst) == 0 {
            thread::park();
        }
    });
}
