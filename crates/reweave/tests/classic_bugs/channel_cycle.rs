//! Channel deadlock: two threads send to each other over channels without room and receive
//! afterwards. Each send waits for the other's receive.

use crate::prelude::{sync::mpsc, thread};

fn run(answer: fn(&mpsc::Receiver<u32>, &mpsc::SyncSender<u32>) -> u32) {
    let (to_them, from_me) = mpsc::sync_channel(0);
    let (to_me, from_them) = mpsc::sync_channel(0);
    let other = thread::spawn(move || answer(&from_me, &to_me));
    to_them.send(1).unwrap();
    assert_eq!(from_them.recv(), Ok(2));
    assert_eq!(other.join().unwrap(), 1);
}

pub fn broken() {
    run(|from, to| {
        to.send(2).unwrap();
        from.recv().unwrap()
    });
}

pub fn fixed() {
    run(|from, to| {
        let got = from.recv().unwrap();
        to.send(2).unwrap();
        got
    });
}
