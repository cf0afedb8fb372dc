//! The data of a page, checked on executions whose answers are known: arrows, states, waits.

use reweave_model::{Object, ObjectId, Op, Policy, ThreadId};
use reweave_page::{Links, page};
use reweave_report::{ChangeEntry, WatchedEntry};
use reweave_testing::script::{Script, Thread, run, trace};
use serde_json::{Value, json};

const A: ObjectId = ObjectId(0);
const B: ObjectId = ObjectId(1);

/// The data of the page of an execution. Each thread after the first has a row of its creation at the top.
fn data(objects: Vec<Object>, threads: &[&[Op]], order: &[u32]) -> Value {
    let lines = |ops: &&[Op]| Thread(None, ops.iter().copied().zip(1..).collect());
    let script = Script {
        objects,
        threads: threads.iter().map(lines).collect(),
    };
    let execution = run(&script, order, Policy::First, 1000);
    let page = page(&trace("known", &execution), &Links::default());
    let data = page.split_once("id=\"data\">").unwrap().1;
    let data = data.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

/// Arrows but those of creation.
fn arrows(data: &Value) -> Vec<Value> {
    let all = data["arrows"].as_array().unwrap().iter();
    all.filter(|arrow| arrow[2] != "spawn").cloned().collect()
}

/// With two threads row 0 is the creation of the second one, and step n is row n.
fn one_arrow(objects: Vec<Object>, first: &[Op], second: &[Op], order: &[u32]) -> Vec<Value> {
    arrows(&data(objects, &[first, second], order))
}

#[test]
fn a_lock_goes_from_hand_to_hand() {
    let hold = [Op::Lock(A), Op::Unlock(A)];
    let found = one_arrow(vec![Object::mutex()], &hold, &hold, &[1, 1, 0, 0]);
    assert_eq!(found, [json!([2, 3, "lock"])]);
    let found = one_arrow(vec![Object::mutex()], &hold, &[Op::TryLock(A)], &[0, 1]);
    assert!(found.is_empty(), "a failed try takes nothing");
}

#[test]
fn a_writer_comes_after_the_last_reader() {
    let write = [Op::WriteBegin(A), Op::WriteAcquire(A), Op::WriteUnlock(A)];
    let read = [Op::ReadLock(A), Op::ReadUnlock(A)];
    let found = one_arrow(vec![Object::rwlock()], &write, &read, &[1, 1, 0, 0, 0]);
    assert_eq!(found, [json!([2, 4, "lock"])]);
    let found = one_arrow(vec![Object::rwlock()], &write, &read, &[0, 0, 0, 1, 1]);
    assert_eq!(found, [json!([3, 4, "lock"])]);
}

#[test]
fn a_value_comes_from_its_last_writer() {
    let objects = || vec![Object::Atomic(0)];
    let writes = [Op::Store(A, 1), Op::Store(A, 2)];
    let found = one_arrow(objects(), &writes, &[Op::Load(A)], &[0, 0, 1]);
    assert_eq!(found, [json!([2, 3, "value"])]);
    // The first value was there from the beginning.
    let found = one_arrow(objects(), &writes, &[Op::Load(A)], &[1, 0, 0]);
    assert!(found.is_empty());
    let failed = Op::CompareExchange {
        object: A,
        expected: 9,
        new: 5,
        weak: false,
    };
    let found = one_arrow(objects(), &[failed], &[Op::Load(A)], &[0, 1]);
    assert!(found.is_empty(), "what failed wrote nothing");
}

#[test]
fn a_notification_wakes_and_the_lock_follows() {
    let wait = Op::Enqueue {
        condvar: B,
        mutex: A,
    };
    let wake = Op::Wake {
        condvar: B,
        timed: false,
    };
    let waiter = [Op::Lock(A), wait, wake, Op::Lock(A), Op::Unlock(A)];
    let waker = [Op::Lock(A), Op::NotifyOne(B), Op::Unlock(A)];
    let objects = vec![Object::mutex(), Object::condvar()];
    let data = data(objects, &[&waiter, &waker], &[0, 0, 1, 1, 1, 0, 0, 0]);
    // Steps: 1 lock, 2 wait; 3 lock, 4 notify, 5 unlock; 6 wake, 7 lock, 8 unlock.
    let known = [
        json!([2, 3, "lock"]),
        json!([4, 6, "wake"]),
        json!([5, 7, "lock"]),
    ];
    assert_eq!(arrows(&data), known);
    // Thread, first and last row, object, thread: the second waits for the lock at row 1, the first for a notification.
    let waits = data["waits"].as_array().unwrap();
    assert_eq!(*waits, [json!([1, 1, 1, 0, -1]), json!([0, 2, 3, 1, -1])]);
    let changes = data["changes"].as_array().unwrap();
    let known = [
        json!([0, 0, [], "free"]),
        json!([0, 1, [], "nobody waits"]),
        json!([1, 0, [0], "locked"]),
        json!([2, 1, [], "1 waits"]),
        json!([2, 0, [], "free"]),
        json!([3, 0, [1], "locked"]),
        json!([4, 1, [], "nobody waits"]),
        json!([5, 0, [], "free"]),
        json!([7, 0, [0], "locked"]),
        json!([8, 0, [], "free"]),
    ];
    assert_eq!(*changes, known);
}

#[test]
fn permits_messages_barriers_and_ends_lead_on() {
    let acquire = Op::SemAcquire {
        object: A,
        timed: false,
    };
    let found = one_arrow(
        vec![Object::Semaphore(0)],
        &[acquire],
        &[Op::SemRelease(A)],
        &[1, 0],
    );
    assert_eq!(found, [json!([1, 2, "permit"])]);
    let receive = Op::Recv {
        object: A,
        timed: false,
    };
    let send = [Op::Send(A), Op::Send(A)];
    let found = one_arrow(vec![Object::channel(None)], &[receive], &send, &[1, 1, 0]);
    assert_eq!(
        found,
        [json!([1, 3, "message"])],
        "the first of two messages"
    );
    let meet = [Op::Arrive(A), Op::Leave(A)];
    let found = one_arrow(vec![Object::barrier(2)], &meet, &meet, &[0, 1, 0, 1]);
    // The first to leave settles who leads.
    assert_eq!(found, [json!([2, 3, "arrival"]), json!([3, 4, "arrival"])]);
    let join = [Op::Join(ThreadId(1))];
    let found = one_arrow(vec![Object::Atomic(0)], &join, &[Op::Store(A, 1)], &[1, 0]);
    assert_eq!(found, [json!([1, 2, "join"])]);
}

/// A third thread that comes too late for the lock twice waits from the first time to the last.
#[test]
fn who_comes_too_late_waits_throughout() {
    let hold = [Op::Lock(A), Op::Unlock(A)];
    let twice = [hold, hold].concat();
    let threads: [&[Op]; 2] = [&twice, &hold];
    let data = data(vec![Object::mutex()], &threads, &[0, 0, 0, 0, 1, 1]);
    // Locked at rows 1 and 3, free from row 4 on.
    assert_eq!(data["waits"], json!([[1, 1, 3, 0, -1]]));
}

/// Creations stand where they happened, those of one thread before what it does next.
#[test]
fn a_thread_that_creates_others_does_not_wait_yet() {
    let join: Vec<Op> = [1, 2].map(|thread| Op::Join(ThreadId(thread))).into();
    let threads: [&[Op]; 3] = [&join, &[Op::Store(A, 1)], &[Op::Store(A, 2)]];
    let data = data(vec![Object::Atomic(0)], &threads, &[1, 2, 0, 0]);
    let kinds: Vec<&Value> = data["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row[0])
        .collect();
    assert_eq!(kinds, ["spawn", "spawn", "step", "step", "step", "step"]);
    // The first join waits from the second creation until the store of its thread.
    assert_eq!(data["waits"][0], json!([0, 1, 1, -1, 1]));
}

/// Plain variables change between the steps: each write belongs to the step before it.
#[test]
fn watched_variables_have_values_from_rows_on() {
    let a = Op::Lock(A);
    let script = Script {
        objects: vec![Object::mutex()],
        threads: [[a, Op::Unlock(A)], [a, Op::Unlock(A)]]
            .iter()
            .map(|ops| Thread(None, ops.iter().copied().zip(1..).collect()))
            .collect(),
    };
    let execution = run(&script, &[0, 0, 1, 1], Policy::First, 1000);
    let mut trace = trace("known", &execution);
    let change = |thread, after, value: &str| ChangeEntry {
        thread,
        after,
        value: value.into(),
    };
    trace.watched.push(WatchedEntry {
        name: "count".into(),
        first: "0".into(),
        changes: vec![
            change(0, 1, "7"),
            // Nobody can look between two writes after one step.
            change(0, 1, "8"),
            change(1, 1, "9"),
        ],
    });
    let page = page(&trace, &Links::default());
    let data = page.split_once("id=\"data\">").unwrap().1;
    let data = data.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    let row = |step: usize| {
        let rows = data["rows"].as_array().unwrap().iter().enumerate();
        let steps = rows.filter(|(_, row)| row[0] == "step");
        steps.map(|(row, _)| row).nth(step).unwrap()
    };
    let known = json!([{ "name": "count", "values": [[0, "0"], [row(0), "8"], [row(2), "9"]] }]);
    assert_eq!(data["variables"], known);
}
