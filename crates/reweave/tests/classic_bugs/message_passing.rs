//! Message passing by a relaxed flag: the receiver that sees the flag has no order with the write
//! of the message. Release on the store and acquire on the load give it.

use super::plain::Plain;
use crate::prelude::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

fn run(publish: Ordering, look: Ordering) {
    let message = Plain::new(0);
    let sent = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            message.write(42);
            sent.store(true, publish);
        });
        if sent.load(look) {
            assert_eq!(message.read(), 42);
        }
    });
}

pub fn broken() {
    run(Ordering::Relaxed, Ordering::Relaxed);
}

pub fn fixed() {
    run(Ordering::Release, Ordering::Acquire);
}
