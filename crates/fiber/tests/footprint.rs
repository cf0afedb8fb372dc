//! Threads and memory of the whole process: one test, so that no other runs beside it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::rc::Rc;

use reweave_fiber::{Pool, Resumed, Unwound, on_fiber, suspend};

const STACK_BYTES: usize = 64 << 10;

fn threads() -> usize {
    fs::read_dir("/proc/self/task").expect("Linux").count()
}

fn resident_pages() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux");
    statm
        .split(' ')
        .nth(1)
        .and_then(|field| field.parse().ok())
        .expect("the second field is a number")
}

/// A joined thread leaves /proc a moment after join returns: the kernel clears its tid first.
fn settle(expected: usize) {
    for _ in 0..1_000_000 {
        if threads() == expected {
            return;
        }
        std::thread::yield_now();
    }
    assert_eq!(threads(), expected);
}

/// Counts drops, of thread-locals and of what a job owns.
struct Counted(Rc<Cell<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

thread_local!(static LEFT: Cell<Option<Counted>> = const { Cell::new(None) });

fn pools_threads_end_with_it() {
    let before = threads();
    let dropped = Rc::new(Cell::new(0));
    let mut pool = Pool::new(STACK_BYTES);
    let mut fibers: Vec<_> = (0..50)
        .map(|_| {
            let counted = Counted(dropped.clone());
            pool.spawn(Box::new(move || {
                assert!(on_fiber());
                LEFT.set(Some(counted));
                suspend();
            }))
        })
        .collect();
    assert!(
        fibers
            .iter_mut()
            .all(|fiber| fiber.resume() == Resumed::Suspended)
    );
    assert_eq!(threads(), before + 50);
    let mut last = fibers.pop().expect("there are 50");
    fibers.clear();
    assert_eq!((threads(), dropped.get()), (before + 50, 0));
    drop(pool);
    settle(before + 1);
    assert_eq!(
        dropped.get(),
        49,
        "thread-locals of the ended threads are destroyed"
    );
    assert_eq!(
        last.resume(),
        Resumed::Finished,
        "a fiber outlives its pool"
    );
    drop(last);
    settle(before);
    assert_eq!(dropped.get(), 50);
}

/// Every kind of end that gives its fiber back, 100,000 times.
fn reuse_is_flat() {
    let before = threads();
    let mut pool = Pool::new(STACK_BYTES);
    let mut batch = |rounds: usize| {
        for round in 0..rounds {
            let text = vec![round; 100];
            let mut fiber = pool.spawn(Box::new(move || {
                let copy = text.clone();
                suspend();
                assert_eq!(copy, text);
            }));
            assert_eq!(fiber.resume(), Resumed::Suspended);
            if round % 2 == 0 {
                assert_eq!(fiber.resume(), Resumed::Finished);
            } else {
                assert_eq!(fiber.unwind(0), Unwound::Done);
            }
        }
    };
    batch(1_000);
    let pages = resident_pages();
    batch(100_000);
    let grown = resident_pages().saturating_sub(pages);
    // A word lost in each round would be 800 KB, 195 pages.
    assert!(grown < 64, "{grown} pages more");
    assert_eq!(threads(), before + 1);
}

/// SigBlk of a thread's status, bit n - 1 for signal n: all but SIGKILL (9), SIGSTOP (19) and glibc's own (32, 33).
fn parked_threads_block_signals() {
    let mut pool = Pool::new(STACK_BYTES);
    let _fiber = pool.spawn(Box::new(|| ()));
    let masks: BTreeMap<String, String> = fs::read_dir("/proc/self/task")
        .expect("Linux")
        .map(|task| {
            let status =
                fs::read_to_string(task.expect("listed").path().join("status")).expect("live");
            let field = |name| {
                status
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .expect("there")
                    .trim()
                    .to_owned()
            };
            (field("Name:"), field("SigBlk:"))
        })
        .collect();
    assert_eq!(masks["fiber"], "fffffffe7ffbfeff");
}

#[test]
fn threads_and_memory() {
    pools_threads_end_with_it();
    reuse_is_flat();
    parked_threads_block_signals();
}
