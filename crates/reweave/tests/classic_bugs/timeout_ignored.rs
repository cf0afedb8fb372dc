//! Timeout ignored: a wait with a timeout ends for either of two reasons, and the caller takes the
//! value without asking which. The corrected twin asks.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(1);

fn run(take: fn(&Mutex<Option<u32>>, &Condvar) -> Option<u32>) {
    let slot = Mutex::new(None);
    let filled = Condvar::new();
    thread::scope(|s| {
        s.spawn(|| {
            *slot.lock().unwrap() = Some(42);
            filled.notify_one();
        });
        let got = take(&slot, &filled);
        assert!(got.is_none() || got == Some(42));
    });
}

pub fn broken() {
    run(|slot, filled| {
        let mut value = slot.lock().unwrap();
        if value.is_none() {
            (value, _) = filled.wait_timeout(value, PATIENCE).unwrap();
        }
        let taken = value.take();
        drop(value);
        Some(taken.expect("waited for it"))
    });
}

pub fn fixed() {
    run(|slot, filled| {
        let value = slot.lock().unwrap();
        let (mut value, result) = filled
            .wait_timeout_while(value, PATIENCE, |value| value.is_none())
            .unwrap();
        if result.timed_out() {
            None
        } else {
            value.take()
        }
    });
}
