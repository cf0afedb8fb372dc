//! Once-like initialisation: the first caller marks the value as taken care of and then makes it.
//! The second caller sees the mark, not the value, and reads while the first still writes.

use super::plain::Plain;
use crate::prelude::{
    sync::{
        Once,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

pub fn broken() {
    let started = AtomicBool::new(false);
    let value = Plain::new(0);
    let get = || {
        if !started.swap(true, SeqCst) {
            value.write(42);
        }
        value.read()
    };
    thread::scope(|s| {
        s.spawn(get);
        s.spawn(get);
    });
}

pub fn fixed() {
    let once = Once::new();
    let value = Plain::new(0);
    let get = || {
        once.call_once(|| value.write(42));
        assert_eq!(value.read(), 42);
    };
    thread::scope(|s| {
        s.spawn(get);
        s.spawn(get);
    });
}
