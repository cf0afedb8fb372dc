//! Dekker's problem: a thread looks at the other's flag before it raises its own, so both can find
//! the way free. Dekker's algorithm raises first, and who has not the turn steps back.

use super::plain::Plain;
use crate::prelude::{
    hint,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
};

#[derive(Default)]
struct Dekker {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
}

impl Dekker {
    fn look_then_raise(&self, me: usize) {
        while self.wants[1 - me].load(SeqCst) {
            hint::spin_loop();
        }
        self.wants[me].store(true, SeqCst);
    }

    fn enter(&self, me: usize) {
        self.wants[me].store(true, SeqCst);
        while self.wants[1 - me].load(SeqCst) {
            if self.turn.load(SeqCst) == me {
                hint::spin_loop();
                continue;
            }
            self.wants[me].store(false, SeqCst);
            while self.turn.load(SeqCst) != me {
                hint::spin_loop();
            }
            self.wants[me].store(true, SeqCst);
        }
    }

    fn leave(&self, me: usize) {
        self.turn.store(1 - me, SeqCst);
        self.wants[me].store(false, SeqCst);
    }
}

fn run(enter: fn(&Dekker, usize)) {
    let lock = Dekker::default();
    let count = Plain::new(0);
    thread::scope(|s| {
        for me in 0..2 {
            let (lock, count) = (&lock, &count);
            s.spawn(move || {
                enter(lock, me);
                count.write(count.read() + 1);
                lock.leave(me);
            });
        }
    });
}

pub fn broken() {
    run(Dekker::look_then_raise);
}

pub fn fixed() {
    run(Dekker::enter);
}
