//! `#[reweave::test]` as users write it.

use reweave::{
    sync::{Arc, Condvar, Mutex},
    thread,
};

#[reweave::test]
fn handoff_is_never_lost() {
    let cell = Arc::new((Mutex::new(None), Condvar::new()));
    let theirs = cell.clone();
    let t = thread::spawn(move || {
        *theirs.0.lock().unwrap() = Some(7);
        theirs.1.notify_one();
    });
    let mut got = cell.0.lock().unwrap();
    while got.is_none() {
        got = cell.1.wait(got).unwrap();
    }
    t.join().unwrap();
}

#[reweave::test(expect = "deadlock")]
fn two_locks_in_two_orders() {
    let locks = Arc::new((Mutex::new(0), Mutex::new(0)));
    let theirs = locks.clone();
    let t = thread::spawn(move || {
        let b = theirs.1.lock().unwrap();
        let a = theirs.0.lock().unwrap();
        drop((a, b));
    });
    let a = locks.0.lock().unwrap();
    let b = locks.1.lock().unwrap();
    drop((a, b));
    t.join().unwrap();
}
