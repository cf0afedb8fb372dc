//! Lost wake-up: the waiter waits for the notification itself, not for a condition. A notification
//! that comes before the wait is gone, and the waiter sleeps for ever.

use crate::prelude::{
    sync::{Arc, Condvar, Mutex},
    thread,
};

pub fn broken() {
    let pair = Arc::new((Mutex::new(()), Condvar::new()));
    let theirs = Arc::clone(&pair);
    let notifier = thread::spawn(move || theirs.1.notify_one());
    let guard = pair.0.lock().unwrap();
    drop(pair.1.wait(guard).unwrap());
    notifier.join().unwrap();
}

pub fn fixed() {
    let pair = Arc::new((Mutex::new(false), Condvar::new()));
    let theirs = Arc::clone(&pair);
    let notifier = thread::spawn(move || {
        *theirs.0.lock().unwrap() = true;
        theirs.1.notify_one();
    });
    let mut ready = pair.0.lock().unwrap();
    while !*ready {
        ready = pair.1.wait(ready).unwrap();
    }
    drop(ready);
    notifier.join().unwrap();
}
