//! Dining philosophers: three of them take the left fork and then the right one. All can hold a
//! left fork; the corrected twin has one who takes the right fork first.

use crate::prelude::{sync::Mutex, thread};

const SEATS: usize = 3;

fn dine(first_and_second: fn(usize) -> (usize, usize)) {
    let forks: [Mutex<u32>; SEATS] = std::array::from_fn(|_| Mutex::new(0));
    thread::scope(|s| {
        for seat in 0..SEATS {
            let (first, second) = first_and_second(seat);
            let forks = &forks;
            s.spawn(move || {
                let mut one = forks[first].lock().unwrap();
                let mut two = forks[second].lock().unwrap();
                *one += 1;
                *two += 1;
            });
        }
    });
    assert!(forks.iter().all(|fork| *fork.lock().unwrap() == 2));
}

pub fn broken() {
    dine(|seat| (seat, (seat + 1) % SEATS));
}

pub fn fixed() {
    dine(|seat| {
        let right = (seat + 1) % SEATS;
        (seat.min(right), seat.max(right))
    });
}
