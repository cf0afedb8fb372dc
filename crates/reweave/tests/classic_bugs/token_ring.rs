//! Token ring on one condition variable: who passes the token wakes one thread, which need not be
//! the next one. A condition variable for each seat wakes the right one.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

const SEATS: usize = 3;

fn run(bell_of: fn(usize) -> usize) {
    let holder = Mutex::new(0);
    let bells: [Condvar; SEATS] = std::array::from_fn(|_| Condvar::new());
    thread::scope(|s| {
        for seat in 0..SEATS {
            let (holder, bells) = (&holder, &bells);
            s.spawn(move || {
                let mut token = holder.lock().unwrap();
                while *token != seat {
                    token = bells[bell_of(seat)].wait(token).unwrap();
                }
                *token += 1;
                if *token < SEATS {
                    bells[bell_of(*token)].notify_one();
                }
            });
        }
    });
    assert_eq!(*holder.lock().unwrap(), SEATS);
}

pub fn broken() {
    run(|_| 0);
}

pub fn fixed() {
    run(|seat| seat);
}
