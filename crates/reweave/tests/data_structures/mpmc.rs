//! A bounded queue for many producers and consumers: one mutex, two condition variables, and a
//! `close` after which producers are refused and consumers get what is left and then the end.
//!
//! `BUG`: `close` wakes one waiter of each kind instead of all.

use crate::prelude::{
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};
use std::{collections::VecDeque, num::NonZeroUsize};

/// Why an item was not taken in; it comes back.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused<T> {
    Closed(T),
    Full(T),
}

/// Why a queue that does not wait gave nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum Nothing {
    Empty,
    Ended,
}

/// The queue itself; share it by `Arc` or reference.
pub struct Queue<T, const BUG: bool> {
    state: Mutex<State<T>>,
    not_empty: Condvar,
    not_full: Condvar,
    capacity: usize,
}

struct State<T> {
    /// Never longer than the capacity.
    items: VecDeque<T>,
    /// Once true it stays so, and `items` only shrinks.
    closed: bool,
}

impl<T, const BUG: bool> Queue<T, BUG> {
    pub fn new(capacity: NonZeroUsize) -> Self {
        let capacity = capacity.get();
        Self {
            state: Mutex::new(State {
                items: VecDeque::with_capacity(capacity),
                closed: false,
            }),
            not_empty: Condvar::new(),
            not_full: Condvar::new(),
            capacity,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().expect("nothing panics under this lock")
    }

    /// Waits for room.
    pub fn push(&self, item: T) -> Result<(), Refused<T>> {
        let mut state = self.lock();
        while state.items.len() == self.capacity && !state.closed {
            state = self
                .not_full
                .wait(state)
                .expect("nothing panics under this lock");
        }
        if state.closed {
            return Err(Refused::Closed(item));
        }
        self.put(state, item);
        Ok(())
    }

    /// Takes the item in only if there is room now.
    pub fn try_push(&self, item: T) -> Result<(), Refused<T>> {
        let state = self.lock();
        if state.closed {
            Err(Refused::Closed(item))
        } else if state.items.len() == self.capacity {
            Err(Refused::Full(item))
        } else {
            self.put(state, item);
            Ok(())
        }
    }

    fn put(&self, mut state: MutexGuard<'_, State<T>>, item: T) {
        state.items.push_back(item);
        debug_assert!(state.items.len() <= self.capacity);
        drop(state);
        self.not_empty.notify_one();
    }

    /// Waits for an item; none when the queue is closed and empty.
    pub fn pop(&self) -> Option<T> {
        let mut state = self.lock();
        while state.items.is_empty() && !state.closed {
            state = self
                .not_empty
                .wait(state)
                .expect("nothing panics under this lock");
        }
        self.take(state)
    }

    /// An item if there is one now.
    pub fn try_pop(&self) -> Result<T, Nothing> {
        let state = self.lock();
        let closed = state.closed;
        self.take(state).ok_or(if closed {
            Nothing::Ended
        } else {
            Nothing::Empty
        })
    }

    fn take(&self, mut state: MutexGuard<'_, State<T>>) -> Option<T> {
        let item = state.items.pop_front()?;
        drop(state);
        self.not_full.notify_one();
        Some(item)
    }

    /// Refuses producers from now on; consumers drain what is there.
    pub fn close(&self) {
        self.lock().closed = true;
        if BUG {
            self.not_empty.notify_one();
            self.not_full.notify_one();
        } else {
            self.not_empty.notify_all();
            self.not_full.notify_all();
        }
    }

    pub fn len(&self) -> usize {
        self.lock().items.len()
    }
}

/// Closes the queue when the last producer is gone.
pub struct Producer<T, const BUG: bool>(Arc<Queue<T, BUG>>);

impl<T, const BUG: bool> Producer<T, BUG> {
    pub fn new(queue: &Arc<Queue<T, BUG>>) -> Self {
        Self(Arc::clone(queue))
    }

    pub fn push(&self, item: T) -> Result<(), Refused<T>> {
        self.0.push(item)
    }
}

impl<T, const BUG: bool> Drop for Producer<T, BUG> {
    fn drop(&mut self) {
        self.0.close();
    }
}

fn room(capacity: usize) -> NonZeroUsize {
    NonZeroUsize::new(capacity).expect("drivers ask for room")
}

/// One producer, one consumer, room for one: first in, first out, then the end.
pub fn in_order<const BUG: bool>() {
    let queue = Arc::new(Queue::<_, BUG>::new(room(1)));
    let producer = Producer::new(&queue);
    let sender = thread::spawn(move || {
        for item in 1..=2 {
            producer.push(item).expect("open while the producer lives");
        }
    });
    assert_eq!(
        [queue.pop(), queue.pop(), queue.pop()],
        [Some(1), Some(2), None]
    );
    sender.join().unwrap();
}

/// Two producers block each other on one place; nothing is lost or doubled.
pub fn two_producers<const BUG: bool>() {
    let queue = Queue::<u32, BUG>::new(room(1));
    let (first, second) = thread::scope(|s| {
        s.spawn(|| queue.push(1).expect("never closed"));
        s.spawn(|| queue.push(2).expect("never closed"));
        (queue.pop(), queue.pop())
    });
    assert_eq!(first.zip(second).map(|(a, b)| a + b), Some(3));
    assert_eq!((queue.len(), queue.try_pop()), (0, Err(Nothing::Empty)));
}

/// Two consumers wait on an empty queue; `close` ends both. The seeded bug leaves one asleep.
pub fn close_wakes_everybody<const BUG: bool>() {
    let queue = Queue::<u32, BUG>::new(room(1));
    thread::scope(|s| {
        s.spawn(|| assert_eq!(queue.pop(), None));
        s.spawn(|| assert_eq!(queue.pop(), None));
        queue.close();
    });
    assert_eq!(queue.try_pop(), Err(Nothing::Ended));
}

/// A producer that waits for room when the queue is closed gets its item back; what was in the
/// queue can still be had.
pub fn close_returns_the_item<const BUG: bool>() {
    let queue = Queue::<u32, BUG>::new(room(1));
    queue.push(1).expect("room for one");
    assert_eq!(queue.try_push(2), Err(Refused::Full(2)));
    thread::scope(|s| {
        s.spawn(|| assert_eq!(queue.push(2), Err(Refused::Closed(2))));
        queue.close();
        assert_eq!(queue.try_push(3), Err(Refused::Closed(3)));
    });
    assert_eq!((queue.pop(), queue.pop()), (Some(1), None));
}
