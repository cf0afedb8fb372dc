//! Reference count dropped with relaxed ordering: the last owner frees the object with nothing that
//! orders it after the other owner's last use. Release on every decrement and an acquire fence
//! before the free make it right.

use super::plain::Plain;
use crate::prelude::{
    sync::atomic::{AtomicUsize, Ordering, fence},
    thread,
};

const FREED: u32 = u32::MAX;

struct Counted {
    owners: AtomicUsize,
    payload: Plain<u32>,
}

fn release(object: &Counted, ordering: Ordering) {
    if object.owners.fetch_sub(1, ordering) == 1 {
        if ordering == Ordering::Release {
            fence(Ordering::Acquire);
        }
        object.payload.write(FREED);
    }
}

fn run(ordering: Ordering) {
    let object = Counted {
        owners: AtomicUsize::new(2),
        payload: Plain::new(7),
    };
    thread::scope(|s| {
        for _ in 0..2 {
            s.spawn(|| {
                assert_eq!(object.payload.read(), 7);
                release(&object, ordering);
            });
        }
    });
    assert_eq!(object.payload.read(), FREED);
}

pub fn broken() {
    run(Ordering::Relaxed);
}

pub fn fixed() {
    run(Ordering::Release);
}
