//! Initialisation by look and set: two threads find the `OnceLock` empty and both set it, and the
//! second is refused. `get_or_init` does both in one step.

use crate::prelude::{sync::OnceLock, thread};

fn run(get: fn(&OnceLock<u32>, u32) -> u32) {
    let config = OnceLock::new();
    let (a, b) = thread::scope(|s| {
        let a = s.spawn(|| get(&config, 1));
        let b = s.spawn(|| get(&config, 2));
        (a.join().unwrap(), b.join().unwrap())
    });
    assert_eq!(a, b, "both see the same configuration");
}

pub fn broken() {
    run(|config, mine| match config.get() {
        Some(theirs) => *theirs,
        None => {
            config.set(mine).expect("it was empty a moment ago");
            mine
        }
    });
}

pub fn fixed() {
    run(|config, mine| *config.get_or_init(|| mine));
}
