//! Seqlock without the second look: the reader checks that no write is under way, reads both
//! halves, and does not ask whether a write came in between. It returns half of the old pair and
//! half of the new one.

use crate::prelude::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

#[derive(Default)]
struct SeqLock {
    sequence: AtomicU32,
    pair: [AtomicU32; 2],
}

impl SeqLock {
    fn write(&self, value: u32) {
        self.sequence.fetch_add(1, SeqCst);
        self.pair[0].store(value, SeqCst);
        self.pair[1].store(value, SeqCst);
        self.sequence.fetch_add(1, SeqCst);
    }

    /// The pair, or none when a write was in the way.
    fn try_read(&self, look_again: bool) -> Option<[u32; 2]> {
        let before = self.sequence.load(SeqCst);
        if before % 2 == 1 {
            return None;
        }
        let pair = [self.pair[0].load(SeqCst), self.pair[1].load(SeqCst)];
        (!look_again || self.sequence.load(SeqCst) == before).then_some(pair)
    }
}

fn run(look_again: bool) {
    let lock = SeqLock::default();
    let read = thread::scope(|s| {
        s.spawn(|| lock.write(1));
        lock.try_read(look_again)
    });
    if let Some([left, right]) = read {
        assert_eq!(left, right, "halves of two writes");
    }
}

pub fn broken() {
    run(false);
}

pub fn fixed() {
    run(true);
}
