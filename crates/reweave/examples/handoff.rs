//! A value is handed from one thread to another: once with a bug that testing hardly ever meets, once without.
//!
//! `cargo run --release -p reweave --example handoff`

use reweave::{
    Builder,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

/// The consumer looks, finds nothing, and only then begins to wait: a notification in between is lost.
fn lost_wakeup() {
    let shared = Arc::new((AtomicUsize::new(0), Mutex::new(()), Condvar::new()));
    let theirs = shared.clone();
    let producer = thread::spawn(move || {
        theirs.0.store(7, SeqCst);
        theirs.2.notify_one();
    });
    if shared.0.load(SeqCst) == 0 {
        let guard = shared.1.lock().unwrap();
        drop(shared.2.wait(guard).unwrap());
    }
    assert_eq!(shared.0.load(SeqCst), 7);
    producer.join().unwrap();
}

/// The value is looked at, and waited for, under the lock that it is written under.
fn handoff() {
    let cell = Arc::new((Mutex::new(None), Condvar::new()));
    let theirs = cell.clone();
    let producer = thread::spawn(move || {
        *theirs.0.lock().unwrap() = Some(7);
        theirs.1.notify_one();
    });
    let mut got = cell.0.lock().unwrap();
    while got.is_none() {
        got = cell.1.wait(got).unwrap();
    }
    producer.join().unwrap();
}

fn main() {
    let report = Builder::new().name("lost_wakeup").run(lost_wakeup);
    println!("{}", report.story().unwrap_or_else(|| report.summary()));
    let report = Builder::new().name("handoff").run(handoff);
    println!("{}", report.story().unwrap_or_else(|| report.summary()));
}
