//! A bounded queue without locks for many producers and consumers, after Vyukov: every slot has a
//! sequence number that says whose turn it is, and two counters hand out the turns.
//!
//! Turn `t` uses slot `t % capacity`. Its sequence is `t` when the slot waits for the producer of
//! turn `t`, `t + 1` when it waits for the consumer of turn `t`, and then `t + capacity` for the
//! next producer.
//!
//! `BUG`: the producer hands its slot over with relaxed ordering, so the consumer reads an item it
//! has no order with.

use crate::prelude::{
    cell::UnsafeCell,
    hint,
    sync::{
        Arc,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    thread,
};
use std::mem::MaybeUninit;

/// The queue; share it by `Arc` or reference.
pub struct Ring<T, const BUG: bool> {
    slots: Box<[Slot<T>]>,
    /// The next producer's turn.
    tail: AtomicUsize,
    /// The next consumer's turn; never ahead of `tail`.
    head: AtomicUsize,
}

struct Slot<T> {
    sequence: AtomicUsize,
    /// Initialised exactly while the sequence waits for a consumer.
    item: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: a slot's item is touched only by the one thread whose turn it is, and the sequence hands
// it over with release and acquire; items move between threads, so T is Send. (With BUG the
// hand-over is missing: that is the bug to find.)
unsafe impl<T: Send, const BUG: bool> Sync for Ring<T, BUG> {}
// SAFETY: the ring owns its items.
unsafe impl<T: Send, const BUG: bool> Send for Ring<T, BUG> {}

/// What a slot's sequence says about a turn.
enum Turn {
    Mine,
    /// The slot is still in use from one round before: full for a producer, empty for a consumer.
    NotYet,
    /// Another thread has had this turn.
    Gone,
}

impl<T> Slot<T> {
    fn turn(&self, wanted: usize) -> Turn {
        let sequence = self.sequence.load(Acquire);
        // The counters may wrap; the distance is what counts.
        match sequence.wrapping_sub(wanted).cast_signed() {
            0 => Turn::Mine,
            distance if distance < 0 => Turn::NotYet,
            _ => Turn::Gone,
        }
    }
}

impl<T, const BUG: bool> Ring<T, BUG> {
    /// With one slot "waits for the consumer of turn t" and "for the producer of turn t + 1" would
    /// be one number.
    pub fn new(capacity: usize) -> Self {
        assert!(
            capacity >= 2,
            "a ring needs two slots to tell its turns apart"
        );
        let slot = |turn| Slot {
            sequence: AtomicUsize::new(turn),
            item: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Self {
            slots: (0..capacity).map(slot).collect(),
            tail: AtomicUsize::new(0),
            head: AtomicUsize::new(0),
        }
    }

    fn slot(&self, turn: usize) -> &Slot<T> {
        &self.slots[turn % self.slots.len()]
    }

    /// Takes the item in, or gives it back when the ring is full.
    pub fn try_push(&self, item: T) -> Result<(), T> {
        let mut turn = self.tail.load(Relaxed);
        loop {
            match self.slot(turn).turn(turn) {
                Turn::Mine => {
                    match self
                        .tail
                        .compare_exchange(turn, turn.wrapping_add(1), Relaxed, Relaxed)
                    {
                        Ok(_) => break,
                        Err(now) => turn = now,
                    }
                }
                Turn::NotYet => return Err(item),
                Turn::Gone => turn = self.tail.load(Relaxed),
            }
        }
        let slot = self.slot(turn);
        slot.item.with_mut(|place| {
            // SAFETY: the exchange gave this turn to this thread alone, and the slot's former
            // consumer is done (acquire in `turn`); the place is valid for writes and holds no
            // item.
            unsafe { (*place).write(item) };
        });
        slot.sequence
            .store(turn.wrapping_add(1), if BUG { Relaxed } else { Release });
        Ok(())
    }

    /// The oldest item, or none when the ring is empty or its oldest item is still being written.
    pub fn try_pop(&self) -> Option<T> {
        let mut turn = self.head.load(Relaxed);
        loop {
            match self.slot(turn).turn(turn.wrapping_add(1)) {
                Turn::Mine => {
                    match self
                        .head
                        .compare_exchange(turn, turn.wrapping_add(1), Relaxed, Relaxed)
                    {
                        Ok(_) => break,
                        Err(now) => turn = now,
                    }
                }
                Turn::NotYet => return None,
                Turn::Gone => turn = self.head.load(Relaxed),
            }
        }
        let slot = self.slot(turn);
        // SAFETY: the exchange gave this turn to this thread alone, and the sequence said that its
        // producer has written (acquire in `turn`); the item is moved out once, because the
        // sequence goes on to the next producer.
        let item = slot
            .item
            .with_mut(|place| unsafe { (*place).assume_init_read() });
        slot.sequence
            .store(turn.wrapping_add(self.slots.len()), Release);
        Some(item)
    }

    /// Spins for an item that is known to come.
    pub fn pop(&self) -> T {
        loop {
            if let Some(item) = self.try_pop() {
                return item;
            }
            hint::spin_loop();
        }
    }
}

impl<T, const BUG: bool> Drop for Ring<T, BUG> {
    fn drop(&mut self) {
        while self.try_pop().is_some() {}
    }
}

/// An item that says when it is dropped; doubled or forgotten items show in the count.
struct Counted {
    value: u32,
    drops: Arc<AtomicUsize>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
    }
}

/// One producer, one consumer: in order. The seeded bug is a race on the slot.
pub fn in_order<const BUG: bool>() {
    let ring = Arc::new(Ring::<Box<u32>, BUG>::new(2));
    let theirs = Arc::clone(&ring);
    let producer = thread::spawn(move || {
        for item in 1..=2 {
            theirs.try_push(Box::new(item)).expect("room for two");
        }
    });
    let mut last = 0;
    for _ in 0..2 {
        if let Some(item) = ring.try_pop() {
            assert_eq!(*item, last + 1);
            last = *item;
        }
    }
    producer.join().unwrap();
    while let Some(item) = ring.try_pop() {
        assert_eq!(*item, last + 1);
        last = *item;
    }
    assert_eq!(last, 2);
}

/// Two producers for one ring: both items arrive, whole.
pub fn two_producers<const BUG: bool>() {
    let ring = Ring::<u32, BUG>::new(2);
    thread::scope(|s| {
        s.spawn(|| ring.try_push(1).expect("room for two"));
        s.spawn(|| ring.try_push(2).expect("room for two"));
    });
    assert_eq!(ring.try_push(3), Err(3));
    let got = [ring.try_pop(), ring.try_pop(), ring.try_pop()];
    assert!(
        got == [Some(1), Some(2), None] || got == [Some(2), Some(1), None],
        "{got:?}"
    );
}

/// Two consumers for one item: exactly one gets it, and it is dropped once.
pub fn two_consumers<const BUG: bool>() {
    let drops = Arc::new(AtomicUsize::new(0));
    let ring = Ring::<Counted, BUG>::new(2);
    assert!(
        ring.try_push(Counted {
            value: 7,
            drops: Arc::clone(&drops)
        })
        .is_ok()
    );
    let take = || ring.try_pop().map_or(0, |item| item.value);
    let (mine, theirs) = thread::scope(|s| {
        let other = s.spawn(take);
        (take(), other.join().unwrap())
    });
    assert_eq!(mine + theirs, 7);
    drop(ring);
    assert_eq!(drops.load(Relaxed), 1);
}

/// A slot is used a second time while its first consumer may still be at it; the last item is left
/// for the ring to drop.
pub fn second_round<const BUG: bool>() {
    let drops = Arc::new(AtomicUsize::new(0));
    let ring = Ring::<Counted, BUG>::new(2);
    let item = |value| Counted {
        value,
        drops: Arc::clone(&drops),
    };
    assert!(ring.try_push(item(1)).is_ok() && ring.try_push(item(2)).is_ok());
    let accepted = thread::scope(|s| {
        let producer = s.spawn(|| ring.try_push(item(3)).is_ok());
        assert_eq!(ring.pop().value, 1);
        producer.join().unwrap()
    });
    assert_eq!(ring.pop().value, 2);
    assert_eq!(accepted, ring.tail.load(Relaxed) == 3);
    drop(ring);
    assert_eq!(drops.load(Relaxed), 3);
}
