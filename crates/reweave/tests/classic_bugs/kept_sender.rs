//! Kept sender: the receiver reads until the channel closes, and the thread that reads owns a
//! sender itself. The channel never closes.

use crate::prelude::{sync::mpsc, thread};

fn run(keep: bool) {
    let (tx, rx) = mpsc::channel();
    let workers: Vec<_> = (1..=2)
        .map(|n: u32| {
            let tx = tx.clone();
            thread::spawn(move || tx.send(n).unwrap())
        })
        .collect();
    let kept = keep.then(|| tx.clone());
    drop(tx);
    assert_eq!(rx.iter().sum::<u32>(), 3);
    drop(kept);
    for worker in workers {
        worker.join().unwrap();
    }
}

pub fn broken() {
    run(true);
}

pub fn fixed() {
    run(false);
}
