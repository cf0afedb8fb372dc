//! Last one out with `Arc::try_unwrap`: both owners can find the other still there, drop theirs,
//! and nobody has the value. `Arc::into_inner` gives it to exactly one.

use super::prelude::{sync::Arc, thread};

fn run(give_up: fn(Arc<u32>) -> Option<u32>) {
    let mine = Arc::new(42);
    let theirs = Arc::clone(&mine);
    let other = thread::spawn(move || give_up(theirs));
    let got = [give_up(mine), other.join().unwrap()];
    assert_eq!(got.into_iter().flatten().collect::<Vec<_>>(), [42]);
}

pub fn broken() {
    run(|owner| Arc::try_unwrap(owner).ok());
}

pub fn fixed() {
    run(Arc::into_inner);
}
