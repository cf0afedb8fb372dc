//! Bounded buffer with `if` where `while` is needed: a consumer is woken for an item, another
//! consumer comes in first and takes it, and the woken one does not look again. It takes from an
//! empty buffer.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};
use std::collections::VecDeque;

struct Buffer {
    items: Mutex<VecDeque<u32>>,
    not_empty: Condvar,
}

impl Buffer {
    fn put(&self, item: u32) {
        self.items.lock().unwrap().push_back(item);
        self.not_empty.notify_one();
    }

    fn take_if(&self) -> u32 {
        let mut items = self.items.lock().unwrap();
        if items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        let item = items.pop_front();
        drop(items);
        item.expect("woken for an item")
    }

    fn take_while(&self) -> u32 {
        let mut items = self.items.lock().unwrap();
        while items.is_empty() {
            items = self.not_empty.wait(items).unwrap();
        }
        items.pop_front().expect("not empty under the lock")
    }
}

fn run(take: fn(&Buffer) -> u32) {
    let buffer = Buffer {
        items: Mutex::default(),
        not_empty: Condvar::new(),
    };
    let (mine, theirs) = thread::scope(|s| {
        let other = s.spawn(|| take(&buffer));
        s.spawn(|| {
            buffer.put(1);
            buffer.put(2);
        });
        (take(&buffer), other.join().unwrap())
    });
    assert_eq!(mine + theirs, 3);
}

pub fn broken() {
    run(Buffer::take_if);
}

pub fn fixed() {
    run(Buffer::take_while);
}
