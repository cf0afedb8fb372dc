//! Memory left behind, on request.

use reweave::{
    Builder, Kind, Report,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
};
use std::{cell::RefCell, path::PathBuf, sync::OnceLock};

#[global_allocator]
static ALLOCATOR: reweave::Allocator = reweave::Allocator;

fn builder(name: &str) -> Builder {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("leaks");
    Builder::new().name(name).leaks(true).trace_dir(directory)
}

#[track_caller]
fn clean(report: &Report) {
    assert!(report.complete && report.errors.is_empty(), "{report:?}");
}

struct Node {
    strong: RefCell<Option<Arc<Mutex<Node>>>>,
    weak: RefCell<Weak<Mutex<Node>>>,
}

/// Two nodes that know each other.
fn pair() -> [Arc<Mutex<Node>>; 2] {
    [(), ()].map(|()| {
        Arc::new(Mutex::new(Node {
            strong: RefCell::new(None),
            weak: RefCell::new(Weak::new()),
        }))
    })
}

fn cycle() {
    let [a, b] = pair();
    *a.lock().unwrap().strong.borrow_mut() = Some(b.clone());
    let other = thread::spawn(move || *b.lock().unwrap().strong.borrow_mut() = Some(a));
    other.join().unwrap();
}

fn no_cycle() {
    let [a, b] = pair();
    *a.lock().unwrap().strong.borrow_mut() = Some(b.clone());
    let other = thread::spawn(move || {
        *b.lock().unwrap().weak.borrow_mut() = Arc::downgrade(&a);
    });
    other.join().unwrap();
}

#[test]
fn a_cycle_of_arcs_leaks_and_replays() {
    let report = builder("leaks::cycle").run(cycle);
    let [error] = &report.errors[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        (error.kind, error.rule.as_deref()),
        (Kind::Memory, Some("leak"))
    );
    assert!(
        error.message.starts_with("2 allocations ("),
        "{}",
        error.message
    );
    for _ in 0..2 {
        let trace = error.trace.as_ref().expect("written");
        let again = Builder::new().name("leaks::cycle").replay(trace).run(cycle);
        assert_eq!(again.errors.len(), 1);
        assert_eq!(again.errors[0].message, error.message);
    }
    // Not asked for: not looked for.
    clean(&Builder::new().run(cycle));
}

#[test]
fn with_a_weak_reference_it_does_not() {
    for workers in [1, 2] {
        clean(&builder("leaks::no_cycle").workers(workers).run(no_cycle));
    }
}

#[test]
fn what_is_forgotten_in_one_interleaving_is_found() {
    let report = builder("leaks::sometimes").run(|| {
        let turn = Arc::new(AtomicUsize::new(0));
        let theirs = turn.clone();
        let other = thread::spawn(move || {
            let mine = vec![1_u8; 100];
            if theirs.fetch_add(1, SeqCst) == 1 && theirs.load(SeqCst) == 2 {
                std::mem::forget(mine);
            }
        });
        turn.fetch_add(1, SeqCst);
        turn.fetch_add(1, SeqCst);
        other.join().unwrap();
    });
    let [error] = &report.errors[..] else {
        panic!("{report:?}");
    };
    assert_eq!(
        error.message,
        "1 allocation (100 bytes) of this execution was not freed at its end"
    );
}

/// All that the runtime keeps for a program, and what goes from thread to thread, is no leak.
#[test]
fn everything_that_is_given_back_is_clean() {
    static LIST: Mutex<Vec<String>> = Mutex::new(Vec::new());
    static ONCE: OnceLock<String> = OnceLock::new();
    reweave::thread_local! {
        static LOCAL: RefCell<Vec<u8>> = RefCell::new(vec![0; 10]);
    }
    let report = builder("leaks::busy").run(|| {
        ONCE.get_or_init(|| "kept from run to run".to_owned());
        LIST.lock().unwrap().push("a static's own".to_owned());
        let (sender, receiver) = mpsc::channel();
        let pair = Arc::new((Mutex::new(Vec::new()), reweave::sync::Condvar::new()));
        let theirs = pair.clone();
        let threads = [0, 1].map(|n| {
            let (sender, theirs) = (sender.clone(), theirs.clone());
            let name = format!("a thread with a name of some length: {n}");
            thread::Builder::new().name(name).spawn(move || {
                LOCAL.with(|local| local.borrow_mut().push(n));
                sender.send(Box::new(n)).unwrap();
                theirs.0.lock().unwrap().push(vec![n; 50]);
                theirs.1.notify_one();
                let caught = std::panic::catch_unwind(|| panic!("{n}"));
                assert!(caught.is_err());
            })
        });
        drop(sender);
        let mut list = pair.0.lock().unwrap();
        while list.is_empty() {
            list = pair.1.wait(list).unwrap();
        }
        drop(list);
        let sum: u8 = receiver.iter().map(|n| *n).sum();
        assert_eq!(sum, 1);
        for thread in threads {
            thread.unwrap().join().unwrap();
        }
    });
    clean(&report);
    assert!(report.executions > 10, "{report:?}");
}

#[test]
fn a_thread_that_is_never_joined_frees_what_it_has() {
    let report = builder("leaks::detached").run(|| {
        let lock = Arc::new(Mutex::new(vec![1]));
        let theirs = lock.clone();
        drop(thread::spawn(move || theirs.lock().unwrap().push(2)));
        lock.lock().unwrap().push(3);
    });
    clean(&report);
}
