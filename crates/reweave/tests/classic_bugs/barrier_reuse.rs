//! Barrier reuse: a hand-made barrier whose waiters wait for the count to be zero again. A fast
//! thread enters the next phase and counts itself before a slow one has looked, and both wait; a
//! generation number tells the phases apart.

use crate::prelude::{
    sync::{Condvar, Mutex},
    thread,
};

const THREADS: u32 = 2;

#[derive(Default)]
struct Barrier {
    state: Mutex<State>,
    open: Condvar,
}

#[derive(Default)]
struct State {
    arrived: u32,
    generation: u32,
}

impl Barrier {
    fn wait(&self, closed: fn(&State, u32) -> bool) {
        let mut state = self.state.lock().unwrap();
        let generation = state.generation;
        state.arrived += 1;
        if state.arrived == THREADS {
            state.arrived = 0;
            state.generation += 1;
            self.open.notify_all();
        } else {
            while closed(&state, generation) {
                state = self.open.wait(state).unwrap();
            }
        }
    }
}

fn run(closed: fn(&State, u32) -> bool) {
    let barrier = Barrier::default();
    thread::scope(|s| {
        for _ in 0..THREADS {
            s.spawn(|| {
                barrier.wait(closed);
                barrier.wait(closed);
            });
        }
    });
}

pub fn broken() {
    run(|state, _| state.arrived != 0);
}

pub fn fixed() {
    run(|state, mine| state.generation == mine);
}
