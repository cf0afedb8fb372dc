//! Atomic pointers: the model knows numbers, the program knows addresses.

use reweave::{
    Builder, Kind,
    sync::{
        Arc,
        atomic::{
            AtomicPtr,
            Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst},
        },
    },
    thread,
};
use std::{path::PathBuf, ptr::null_mut, sync::Mutex};

fn directory(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("pointers-{name}"))
}

/// Swaps boxes of ever other addresses through a pointer; fails when main is late.
fn addresses_move() {
    static KEPT: Mutex<Vec<Vec<u64>>> = Mutex::new(Vec::new());
    // What stays allocated from run to run moves everything that comes after it.
    KEPT.lock().unwrap().push(vec![0; 7]);
    let cell = Arc::new(AtomicPtr::new(Box::into_raw(Box::new([1_u64; 7]))));
    let theirs = cell.clone();
    let other = thread::spawn(move || {
        let mine = Box::into_raw(Box::new([2_u64; 7]));
        theirs.swap(mine, AcqRel) as usize
    });
    let seen = cell.load(Acquire);
    // SAFETY: boxes are freed only below.
    let value = unsafe { (*seen)[0] };
    let before = other.join().unwrap() as *mut [u64; 7];
    for pointer in [before, cell.load(Relaxed)] {
        // SAFETY: one of the two boxes, each freed once.
        drop(unsafe { Box::from_raw(pointer) });
    }
    assert_eq!(value, 1, "main was late");
}

#[test]
fn a_trace_has_numbers_and_replays_at_other_addresses() {
    let builder = || Builder::new().name("pointers::addresses_move").workers(1);
    let report = builder().trace_dir(directory("moves")).run(addresses_move);
    assert_eq!(report.errors.len(), 1, "{report:?}");
    let found = &report.errors[0];
    assert_eq!(found.kind, Kind::Assertion);
    assert!(
        found.story.contains("swap atomic#1: &1 -> &2"),
        "{}",
        found.story
    );
    assert!(!found.story.contains("0x"), "{}", found.story);
    for _ in 0..2 {
        let trace = found.trace.as_ref().expect("written");
        let again = builder().replay(trace).run(addresses_move);
        assert_eq!(again.errors.len(), 1);
        assert_eq!(again.errors[0].message, found.message);
    }
}

#[test]
fn tags_and_arithmetic_are_as_on_addresses() {
    fn both() {
        let mut items = [0_u64; 4];
        let start = items.as_mut_ptr();
        let cell = AtomicPtr::new(start);
        assert_eq!(cell.fetch_or(1, SeqCst), start);
        assert_eq!(cell.load(SeqCst).addr(), start.addr() | 1);
        assert_eq!(cell.fetch_xor(3, SeqCst).addr(), start.addr() | 1);
        assert_eq!(cell.fetch_and(!7, SeqCst).addr(), start.addr() | 2);
        assert_eq!(cell.fetch_ptr_add(2, SeqCst), start);
        assert_eq!(cell.fetch_byte_sub(8, SeqCst), start.wrapping_add(2));
        assert_eq!(cell.fetch_byte_add(8, SeqCst), start.wrapping_add(1));
        assert_eq!(cell.fetch_ptr_sub(2, SeqCst), start.wrapping_add(2));
        assert_eq!(cell.fetch_or(16, Relaxed), start);
        assert_eq!(cell.fetch_and(0, SeqCst).addr(), start.addr() | 16);
        assert_eq!(cell.fetch_or(5, Release), null_mut());
        assert_eq!(cell.load(SeqCst).addr(), 5);
        assert_eq!(cell.into_inner().addr(), 5);
    }
    both();
    let report = Builder::new().run(both);
    assert!(report.complete && report.errors.is_empty(), "{report:?}");
}

/// A lock in the low bit of a pointer.
#[test]
fn a_tag_locks() {
    let report = Builder::new().run(|| {
        let mut item = Box::new(0_u64);
        let cell = Arc::new(AtomicPtr::new(&raw mut *item));
        let work = |cell: &AtomicPtr<u64>| {
            while cell.fetch_or(1, Acquire).addr() & 1 != 0 {
                thread::yield_now();
            }
            let place = cell.load(Relaxed).map_addr(|address| address & !1);
            // SAFETY: the tag is the lock, and the box outlives both threads.
            unsafe { *place += 1 };
            cell.fetch_and(!1, Release);
        };
        let theirs = cell.clone();
        let other = thread::spawn(move || work(&theirs));
        work(&cell);
        other.join().unwrap();
        assert_eq!(*item, 2);
    });
    assert!(report.complete && report.errors.is_empty(), "{report:?}");
}

/// An exchange of pointers, each box freed by who got it, and others allocated meanwhile: addresses come back within a run.
/// Nobody compares with one that is not his, so the course of the program does not depend on it.
#[test]
fn what_is_freed_within_a_run_may_come_back() {
    fn exchange() {
        let cell = Arc::new(AtomicPtr::new(null_mut::<u64>()));
        let work = |cell: &AtomicPtr<u64>, first: u64| {
            let mut sum = 0;
            for value in first..first + 3 {
                let before = cell.swap(Box::into_raw(Box::new(value)), AcqRel);
                if !before.is_null() {
                    // SAFETY: a box that somebody put there; the swap made it this thread's own.
                    sum += *unsafe { Box::from_raw(before) };
                }
            }
            sum
        };
        let theirs = cell.clone();
        let other = thread::spawn(move || work(&theirs, 10));
        let mine = work(&cell, 20);
        let sum = mine + other.join().unwrap();
        // SAFETY: the last box, which nobody took.
        let last = *unsafe { Box::from_raw(cell.load(Relaxed)) };
        assert_eq!(sum + last, 10 + 11 + 12 + 20 + 21 + 22);
        assert!(mine < 21 + 22 || last != 12, "sometimes");
    }
    for workers in [1, 2] {
        let report = Builder::new()
            .workers(workers)
            .keep_going(true)
            .trace_dir(directory("freed"))
            .run(exchange);
        assert_eq!(report.errors.len(), 1, "{report:?}");
        // 6! / (3! * 3!) orders of the swaps.
        assert_eq!(report.executions, 20);
    }
}
