//! ABA on a Treiber stack: a pop reads head A and its successor B, others pop A and B and push A
//! back, and the first pop's compare-exchange still finds A and makes B the head although B is in
//! somebody's hands. The corrected twin counts every change of the head in its upper half.

use crate::prelude::{
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

const NIL: u32 = 0xff;
const INDEX: u32 = 0xff;

/// Nodes 0 and 1 linked by index; node 0 on top. A head is an index, plus `step` times the number
/// of changes.
struct Stack {
    head: AtomicU32,
    next: [AtomicU32; 2],
    step: u32,
}

impl Stack {
    fn new(step: u32) -> Self {
        Self {
            head: AtomicU32::new(0),
            next: [AtomicU32::new(1), AtomicU32::new(NIL)],
            step,
        }
    }

    fn pop(&self) -> Option<u32> {
        loop {
            let head = self.head.load(SeqCst);
            let top = head & INDEX;
            if top == NIL {
                return None;
            }
            let below = self.next[top as usize].load(SeqCst);
            if self.replace(head, below) {
                return Some(top);
            }
        }
    }

    fn push(&self, node: u32) {
        loop {
            let head = self.head.load(SeqCst);
            self.next[node as usize].store(head & INDEX, SeqCst);
            if self.replace(head, node) {
                return;
            }
        }
    }

    fn replace(&self, head: u32, index: u32) -> bool {
        let new = ((head & !INDEX) + self.step) | index;
        self.head
            .compare_exchange(head, new, SeqCst, SeqCst)
            .is_ok()
    }
}

fn run(step: u32) {
    let stack = Stack::new(step);
    let (mine, theirs) = thread::scope(|s| {
        let other = s.spawn(|| {
            let (first, second) = (stack.pop(), stack.pop());
            if let Some(node) = first {
                stack.push(node);
            }
            second
        });
        (stack.pop(), other.join().unwrap())
    });
    // Every node is held once: by me, by the other thread, or by the stack.
    let mut held: Vec<u32> = mine.into_iter().chain(theirs).collect();
    while let Some(node) = stack.pop() {
        held.push(node);
    }
    held.sort_unstable();
    assert_eq!(held, [0, 1], "each node has one holder");
}

pub fn broken() {
    run(0);
}

pub fn fixed() {
    run(0x100);
}
