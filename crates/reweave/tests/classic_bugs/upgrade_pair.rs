//! Two upgraders: a hand-made lock lets a reader wait until it is the only reader and then write.
//! Two that upgrade at once wait for each other to stop reading; the corrected twin lets one
//! upgrade and sends the other back.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

#[derive(Default)]
struct Lock {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    readers: u32,
    upgrading: bool,
    value: u32,
}

impl Lock {
    fn read(&self) -> u32 {
        let mut state = self.state.lock().unwrap();
        while state.upgrading {
            state = self.changed.wait(state).unwrap();
        }
        state.readers += 1;
        state.value
    }

    /// Stops reading; writes when nobody else reads, waiting for that. With `refuse`, returns
    /// false, reading no more, when another reader is already upgrading.
    fn upgrade_and_write(&self, value: u32, refuse: bool) -> bool {
        let mut state = self.state.lock().unwrap();
        let refused = refuse && state.upgrading;
        if !refused {
            state.upgrading = true;
            while state.readers > 1 {
                state = self.changed.wait(state).unwrap();
            }
            state.value = value;
            state.upgrading = false;
        }
        state.readers -= 1;
        self.changed.notify_all();
        !refused
    }
}

fn run(refuse: bool) {
    let lock = Lock::default();
    let increment = || while !lock.upgrade_and_write(lock.read() + 1, refuse) {};
    thread::scope(|s| {
        s.spawn(increment);
        s.spawn(increment);
    });
    assert_eq!(lock.read(), 2);
}

pub fn broken() {
    run(false);
}

pub fn fixed() {
    run(true);
}
