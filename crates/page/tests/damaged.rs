//! Traces that make no sense are shown as far as they do: no page is worth a crash.

use reweave_model::{Object, ObjectId, Op, Policy};
use reweave_page::{Links, page};
use reweave_report::Trace;
use reweave_testing::script::{Script, Thread, run, trace};
use std::path::Path;

/// Locks, waits, notifications, values and permits, in an order that makes sense.
fn sample() -> Trace {
    let [lock, condition, value, permits] = [0, 1, 2, 3].map(ObjectId);
    let wait = Op::Enqueue {
        condvar: condition,
        mutex: lock,
    };
    let wake = Op::Wake {
        condvar: condition,
        timed: false,
    };
    let acquire = Op::SemAcquire {
        object: permits,
        timed: false,
    };
    let waiter = [
        Op::Lock(lock),
        wait,
        wake,
        Op::Lock(lock),
        Op::Unlock(lock),
        acquire,
        acquire,
    ];
    let waker = [
        Op::Store(value, 7),
        Op::Lock(lock),
        Op::NotifyOne(condition),
        Op::Unlock(lock),
        Op::Load(value),
        Op::SemRelease(permits),
    ];
    let lines = |ops: &[Op]| ops.iter().copied().zip(1..).collect();
    let script = Script {
        objects: vec![
            Object::mutex(),
            Object::condvar(),
            Object::Atomic(0),
            Object::Semaphore(0),
        ],
        threads: vec![Thread(None, lines(&waiter)), Thread(None, lines(&waker))],
    };
    trace(
        "sample",
        &run(&script, &[0, 0, 1, 1, 1], Policy::First, 1000),
    )
}

/// A trace that readers accept is shown, whatever it says.
fn shown(trace: &Trace) -> bool {
    let read = Trace::parse(Path::new("sample.rwt"), trace.to_json().as_bytes());
    read.is_ok_and(|trace| page(&trace, &Links::default()).contains("id=\"data\""))
}

#[test]
fn traces_without_a_step_are_shown() {
    let whole = sample();
    for step in 0..whole.events.len() {
        let mut trace = whole.clone();
        trace.events.remove(step);
        trace.plan.remove(step);
        assert!(shown(&trace), "without step {}", step + 1);
    }
}

#[test]
fn traces_in_another_order_are_shown() {
    let whole = sample();
    for one in 0..whole.events.len() {
        for other in 0..one {
            let mut trace = whole.clone();
            trace.events.swap(one, other);
            trace.plan.swap(one, other);
            assert!(shown(&trace), "with steps {other} and {one} swapped");
        }
    }
}

#[test]
fn impossible_births_and_errors_are_shown() {
    let mut trace = sample();
    trace.threads[1].born_after = 99;
    assert!(shown(&trace));
    let mut trace = sample();
    for event in &mut trace.events {
        event.after = Some((1, 99));
    }
    assert!(shown(&trace));
}

/// The same trace is the same page: it can be kept and compared.
#[test]
fn a_page_is_a_function_of_its_trace() {
    let links = Links::default();
    assert_eq!(page(&sample(), &links), page(&sample(), &links));
}
