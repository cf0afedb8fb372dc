//! Lock inversion: two transfers between the same two accounts take the two locks in opposite
//! orders. Each can hold one and wait for the other.

use crate::prelude::{
    sync::{Arc, Mutex},
    thread,
};

type Account = Arc<Mutex<i64>>;

fn transfer(from: &Account, to: &Account, amount: i64) {
    let mut from = from.lock().unwrap();
    let mut to = to.lock().unwrap();
    *from -= amount;
    *to += amount;
}

/// The locks always in the order `left`, `right`; the direction is the sign.
fn transfer_ordered(left: &Account, right: &Account, to_the_right: i64) {
    let mut left = left.lock().unwrap();
    let mut right = right.lock().unwrap();
    *left -= to_the_right;
    *right += to_the_right;
}

fn run(forth: fn(&Account, &Account), back: fn(&Account, &Account)) {
    let (a, b) = (Arc::new(Mutex::new(10)), Arc::new(Mutex::new(10)));
    let (a2, b2) = (Arc::clone(&a), Arc::clone(&b));
    let other = thread::spawn(move || back(&a2, &b2));
    forth(&a, &b);
    other.join().unwrap();
    assert_eq!((*a.lock().unwrap(), *b.lock().unwrap()), (8, 12));
}

pub fn broken() {
    run(|a, b| transfer(a, b, 5), |a, b| transfer(b, a, 3));
}

pub fn fixed() {
    run(
        |a, b| transfer_ordered(a, b, 5),
        |a, b| transfer_ordered(a, b, -3),
    );
}
