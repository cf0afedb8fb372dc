//! Executions to look at, and their pages on disk.

use crate::chromium::Browser;
use reweave_model::{Object, ObjectId, Op, Policy, ThreadId};
use reweave_page::{Links, page};
use reweave_report::Trace;
use reweave_testing::script::{Script, Thread, run, trace};
use std::{fs, path::PathBuf};

pub const A: ObjectId = ObjectId(0);
pub const B: ObjectId = ObjectId(1);

/// A page on disk, with the source it is about.
pub struct Stored {
    pub directory: tempfile::TempDir,
    pub path: PathBuf,
}

pub fn store(mut trace: Trace) -> Stored {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("src")).unwrap();
    let lines = (1..=60).map(|line| format!("    work({line}); // line {line}\n"));
    fs::write(
        directory.path().join("src/demo.rs"),
        lines.collect::<String>(),
    )
    .unwrap();
    trace.program.directory = Some(directory.path().display().to_string());
    let links = Links {
        again: Some("reweave replay demo-1.rwt"),
        home: None,
    };
    let path = directory.path().join("page.html");
    fs::write(&path, page(&trace, &links)).unwrap();
    Stored { directory, path }
}

/// Two threads take two locks in opposite orders and hold one each: steps 1 and 2.
pub fn inversion() -> Trace {
    let one = vec![(Op::Lock(A), 10), (Op::Lock(B), 11), (Op::Unlock(B), 12)];
    let other = vec![(Op::Lock(B), 20), (Op::Lock(A), 21), (Op::Unlock(A), 22)];
    let join = |thread| (Op::Join(ThreadId(thread)), 30 + thread);
    let script = Script {
        objects: vec![Object::mutex(), Object::mutex()],
        threads: vec![
            Thread(None, vec![join(1), join(2)]),
            Thread(Some("left"), one),
            Thread(Some("right"), other),
        ],
    };
    trace("inversion", &run(&script, &[1, 2], Policy::First, 1000))
}

/// The notification is step 2 and finds nobody; the wait is step 4.
pub fn lost_wakeup() -> Trace {
    let wait = Op::Enqueue {
        condvar: B,
        mutex: A,
    };
    let wake = Op::Wake {
        condvar: B,
        timed: false,
    };
    let script = Script {
        objects: vec![Object::mutex(), Object::condvar()],
        threads: vec![
            Thread(
                None,
                vec![(Op::Lock(A), 5), (wait, 6), (wake, 6), (Op::Lock(A), 6)],
            ),
            Thread(
                None,
                vec![
                    (Op::Lock(A), 14),
                    (Op::NotifyOne(B), 15),
                    (Op::Unlock(A), 16),
                ],
            ),
        ],
    };
    trace(
        "lost_wakeup",
        &run(&script, &[1, 1, 1, 0, 0], Policy::First, 1000),
    )
}

/// Threads take turns with a lock and an atomic, three steps each time.
pub fn long(threads: u32, rounds: u32) -> Trace {
    let one = |_| {
        let round = |round: u32| {
            let line = 1 + round % 50;
            [
                (Op::Lock(A), line),
                (Op::Store(B, round.into()), line + 1),
                (Op::Unlock(A), line + 2),
            ]
        };
        Thread(None, (0..rounds).flat_map(round).collect())
    };
    let order: Vec<u32> = (0..rounds)
        .flat_map(|_| (0..threads).flat_map(|thread| [thread; 3]))
        .collect();
    let script = Script {
        objects: vec![Object::mutex(), Object::Atomic(0)],
        threads: (0..threads).map(one).collect(),
    };
    trace("long", &run(&script, &order, Policy::First, u32::MAX))
}

pub fn open(stored: &Stored) -> Browser {
    let mut browser = Browser::start(1400, 900);
    browser.open_file(&stored.path);
    browser
}
