//! `notify_one` where `notify_all` is needed: two threads wait on one condition variable for
//! different things. A notification can go to the one whose thing has not happened, which goes back
//! to sleep and has used it up.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

fn run(notify: fn(&Condvar)) {
    let happened = Mutex::new([false, false]);
    let changed = Condvar::new();
    thread::scope(|s| {
        for thing in 0..2 {
            let (happened, changed) = (&happened, &changed);
            s.spawn(move || {
                let mut seen = happened.lock().unwrap();
                while !seen[thing] {
                    seen = changed.wait(seen).unwrap();
                }
            });
        }
        for thing in 0..2 {
            happened.lock().unwrap()[thing] = true;
            notify(&changed);
        }
    });
}

pub fn broken() {
    run(Condvar::notify_one);
}

pub fn fixed() {
    run(Condvar::notify_all);
}
