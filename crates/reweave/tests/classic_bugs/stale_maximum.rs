//! Stale maximum: a thread compares with the maximum it has loaded and stores its own. A larger
//! value stored in between is lost.

use crate::prelude::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

fn run(raise: fn(&AtomicU32, u32)) {
    let maximum = AtomicU32::new(0);
    thread::scope(|s| {
        s.spawn(|| raise(&maximum, 1));
        s.spawn(|| raise(&maximum, 2));
    });
    assert_eq!(maximum.load(SeqCst), 2);
}

pub fn broken() {
    run(|maximum, mine| {
        if maximum.load(SeqCst) < mine {
            maximum.store(mine, SeqCst);
        }
    });
}

pub fn fixed() {
    run(|maximum, mine| {
        maximum.fetch_max(mine, SeqCst);
    });
}
