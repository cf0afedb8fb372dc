//! Treiber's stack: a list of heap nodes whose head is an atomic pointer.
//!
//! A node that was popped may still be looked at by another thread that read the head before. Nodes are therefore only
//! retired by a pop, and freed when no thread uses the stack any more; so no address comes back while somebody compares
//! with it.
//!
//! `BUG`: `LOST`, a push that reads the head and then stores the new one, as if nobody could come between; `RELAXED`, a push that
//! publishes its node with relaxed ordering.

use crate::prelude::{
    cell::UnsafeCell,
    sync::{
        Arc,
        atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire, Relaxed, Release},
        },
    },
    thread,
};
use std::ptr::null_mut;

pub const RIGHT: u8 = 0;
pub const LOST: u8 = 1;
pub const RELAXED: u8 = 2;

/// The stack; share it by `Arc`.
pub struct Stack<const BUG: u8> {
    head: AtomicPtr<Node>,
}

struct Node {
    item: u32,
    /// Written before the node is published, read by those who found it at the head.
    next: UnsafeCell<*mut Node>,
}

/// Nodes that left the stack, to be freed when it is gone.
#[derive(Default)]
pub struct Retired(Vec<*mut Node>);

// SAFETY: the nodes belong to the list and were left by everybody else when it is dropped.
unsafe impl Send for Retired {}

impl Drop for Retired {
    fn drop(&mut self) {
        for node in self.0.drain(..) {
            // SAFETY: made by `Box::into_raw`, taken off the stack once, and nobody looks at it any more.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

impl<const BUG: u8> Stack<BUG> {
    pub fn new() -> Self {
        Self {
            head: AtomicPtr::new(null_mut()),
        }
    }

    pub fn push(&self, item: u32) {
        let node = Box::into_raw(Box::new(Node {
            item,
            next: UnsafeCell::new(null_mut()),
        }));
        let mut head = self.head.load(Relaxed);
        loop {
            // SAFETY: the node is live, and no other thread knows it before it is published.
            unsafe { &*node }.next.with_mut(|next| {
                // SAFETY: no other thread knows the node, so nothing else accesses its link.
                unsafe { *next = head };
            });
            if BUG == LOST {
                return self.head.store(node, Release);
            }
            let order = if BUG == RELAXED { Relaxed } else { Release };
            match self.head.compare_exchange(head, node, order, Relaxed) {
                Ok(_) => return,
                Err(found) => head = found,
            }
        }
    }

    pub fn pop(&self, retired: &mut Retired) -> Option<u32> {
        let mut head = self.head.load(Acquire);
        let below = |node: *mut Node| {
            // SAFETY: nodes are freed only when nobody uses the stack any more.
            let node = unsafe { &*node };
            // SAFETY: written before the node was published.
            node.next.with(|next| unsafe { *next })
        };
        while !head.is_null() {
            match self
                .head
                .compare_exchange(head, below(head), AcqRel, Acquire)
            {
                Ok(_) => {
                    retired.0.push(head);
                    // SAFETY: nodes are freed only when nobody uses the stack any more.
                    return Some(unsafe { &*head }.item);
                }
                Err(found) => head = found,
            }
        }
        None
    }
}

impl<const BUG: u8> Drop for Stack<BUG> {
    fn drop(&mut self) {
        let mut retired = Retired::default();
        while self.pop(&mut retired).is_some() {}
    }
}

/// Three threads push: nothing is lost.
pub fn pushes<const BUG: u8>() {
    let stack = Arc::new(Stack::<BUG>::new());
    let others = [1, 2].map(|item| {
        let stack = Arc::clone(&stack);
        thread::spawn(move || stack.push(item))
    });
    stack.push(3);
    for other in others {
        other.join().unwrap();
    }
    let mut retired = Retired::default();
    let mut items: Vec<u32> = std::iter::from_fn(|| stack.pop(&mut retired)).collect();
    items.sort_unstable();
    assert_eq!(items, [1, 2, 3], "every item is there once");
}

/// Two threads push and pop, a third one pops: every item comes out once.
pub fn pushes_and_pops<const BUG: u8>() {
    let stack = Arc::new(Stack::<BUG>::new());
    stack.push(1);
    let theirs = Arc::clone(&stack);
    let pusher = thread::spawn(move || {
        theirs.push(2);
        let mut retired = Retired::default();
        (theirs.pop(&mut retired), retired)
    });
    let theirs = Arc::clone(&stack);
    let popper = thread::spawn(move || {
        let mut retired = Retired::default();
        (theirs.pop(&mut retired), retired)
    });
    let (first, one) = pusher.join().unwrap();
    let (second, two) = popper.join().unwrap();
    let mut items: Vec<u32> = first.into_iter().chain(second).collect();
    let mut rest = Retired::default();
    items.extend(std::iter::from_fn(|| stack.pop(&mut rest)));
    items.sort_unstable();
    assert_eq!(items, [1, 2], "every item comes out once");
    drop((one, two, rest));
}
