//! Peterson's algorithm with its first two lines exchanged: a thread gives the turn away before it
//! raises its flag. The other can pass both checks in between, and both are inside.

use super::plain::Plain;
use crate::prelude::{
    hint,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
};

struct Peterson {
    flag: [AtomicBool; 2],
    turn: AtomicUsize,
    inside: Plain<u32>,
}

impl Peterson {
    fn enter(&self, me: usize, flag_first: bool) {
        let other = 1 - me;
        if flag_first {
            self.flag[me].store(true, SeqCst);
            self.turn.store(other, SeqCst);
        } else {
            self.turn.store(other, SeqCst);
            self.flag[me].store(true, SeqCst);
        }
        while self.flag[other].load(SeqCst) && self.turn.load(SeqCst) == other {
            hint::spin_loop();
        }
        self.inside.write(self.inside.read() + 1);
        self.flag[me].store(false, SeqCst);
    }
}

fn run(flag_first: bool) {
    let lock = Peterson {
        flag: [AtomicBool::new(false), AtomicBool::new(false)],
        turn: AtomicUsize::new(0),
        inside: Plain::new(0),
    };
    thread::scope(|s| {
        s.spawn(|| lock.enter(0, flag_first));
        s.spawn(|| lock.enter(1, flag_first));
    });
}

pub fn broken() {
    run(false);
}

pub fn fixed() {
    run(true);
}
