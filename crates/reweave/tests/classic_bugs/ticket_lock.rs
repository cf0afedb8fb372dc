//! Ticket lock whose tickets are drawn by a load and a store: two threads can hold the same ticket
//! and both are served. Spinning is bounded: who is not served in a few looks goes away, which with
//! two threads leaves nobody behind it.

use super::plain::Plain;
use crate::prelude::{
    hint,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

const LOOKS: u32 = 3;

#[derive(Default)]
struct TicketLock {
    next: AtomicU32,
    serving: AtomicU32,
}

fn draw_in_two_steps(lock: &TicketLock) -> u32 {
    let ticket = lock.next.load(SeqCst);
    lock.next.store(ticket + 1, SeqCst);
    ticket
}

fn draw(lock: &TicketLock) -> u32 {
    lock.next.fetch_add(1, SeqCst)
}

fn run(draw: fn(&TicketLock) -> u32) {
    let lock = TicketLock::default();
    let count = Plain::new(0);
    let visit = || {
        let ticket = draw(&lock);
        for _ in 0..LOOKS {
            if lock.serving.load(SeqCst) == ticket {
                count.write(count.read() + 1);
                lock.serving.fetch_add(1, SeqCst);
                return;
            }
            hint::spin_loop();
        }
    };
    thread::scope(|s| {
        s.spawn(visit);
        s.spawn(visit);
    });
    assert!(count.read() >= 1, "the first ticket is always served");
}

pub fn broken() {
    run(draw_in_two_steps);
}

pub fn fixed() {
    run(draw);
}
