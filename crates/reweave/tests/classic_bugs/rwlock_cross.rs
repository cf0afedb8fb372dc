//! Read locks do not save from inversion: each of two threads reads one lock and writes the other.
//! Each write waits for the other's read.

use crate::prelude::{sync::RwLock, thread};

fn copy_holding(from: &RwLock<u32>, to: &RwLock<u32>) {
    let seen = from.read().unwrap();
    *to.write().unwrap() = *seen;
}

fn copy_letting_go(from: &RwLock<u32>, to: &RwLock<u32>) {
    let seen = *from.read().unwrap();
    *to.write().unwrap() = seen;
}

fn run(copy: fn(&RwLock<u32>, &RwLock<u32>)) {
    let (a, b) = (RwLock::new(1), RwLock::new(2));
    thread::scope(|s| {
        s.spawn(|| copy(&a, &b));
        s.spawn(|| copy(&b, &a));
    });
}

pub fn broken() {
    run(copy_holding);
}

pub fn fixed() {
    run(copy_letting_go);
}
