//! `cargo reweave` on a package that knows nothing of Reweave: std's own types, ordinary tests.

#[allow(dead_code)] // Not all of it is of use here.
mod bench;

use bench::{Bench, err};
use std::fs;

const MANIFEST: &str = r#"
[package]
name = "tiny"
version = "0.1.0"
edition = "2021"

[workspace]
"#;

/// Each test with an error has a twin without.
const LIBRARY: &str = r#"
use std::{
    cell::UnsafeCell,
    sync::{atomic::{AtomicUsize, Ordering::SeqCst}, Arc, Mutex},
    thread,
};

#[test]
fn counted() {
    let count = Arc::new(Mutex::new(0));
    let theirs = count.clone();
    let t = thread::spawn(move || *theirs.lock().unwrap() += 1);
    *count.lock().unwrap() += 1;
    t.join().unwrap();
    assert_eq!(*count.lock().unwrap(), 2);
}

#[test]
fn lost_update() {
    let count = Arc::new(AtomicUsize::new(0));
    let theirs = count.clone();
    let add = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
    let t = thread::spawn(move || add(&theirs));
    add(&count);
    t.join().unwrap();
    assert_eq!(count.load(SeqCst), 2, "an update is lost");
}

#[test]
fn lock_order() {
    let pair = Arc::new((Mutex::new(0), Mutex::new(0)));
    let theirs = pair.clone();
    let t = thread::spawn(move || *theirs.0.lock().unwrap() += *theirs.1.lock().unwrap());
    *pair.1.lock().unwrap() += *pair.0.lock().unwrap();
    t.join().unwrap();
}

struct Shared(UnsafeCell<u32>);
unsafe impl Sync for Shared {}

#[test]
fn unsafe_cell() {
    let cell = Arc::new(Shared(UnsafeCell::new(0)));
    let theirs = cell.clone();
    let t = thread::spawn(move || unsafe { *theirs.0.get() += 1 });
    unsafe { *cell.0.get() += 1 };
    t.join().unwrap();
}

#[test]
fn freed_too_early() {
    let shared = Box::into_raw(Box::new(AtomicUsize::new(1))) as usize;
    let t = thread::spawn(move || unsafe { (*(shared as *const AtomicUsize)).store(2, SeqCst) });
    unsafe { drop(Box::from_raw(shared as *mut AtomicUsize)) };
    t.join().unwrap();
}

#[test]
fn freed_at_the_end() {
    let shared = Box::into_raw(Box::new(AtomicUsize::new(1))) as usize;
    let t = thread::spawn(move || unsafe { (*(shared as *const AtomicUsize)).store(2, SeqCst) });
    t.join().unwrap();
    unsafe { drop(Box::from_raw(shared as *mut AtomicUsize)) };
}

#[test]
#[cfg_attr(all(), ignore)]
fn ignored() {
    panic!();
}
"#;

#[test]
fn a_package_that_nobody_changed() {
    let bench = Bench::new();
    bench.file("Cargo.toml", MANIFEST);
    fs::create_dir(bench.path("src")).unwrap();
    bench.file("src/lib.rs", LIBRARY);
    let mut command = bench.command(&["cargo", "test"]);
    // The standard library is given hooks once.
    command.env(
        "XDG_CACHE_HOME",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"),
    );
    // Cargo sets the last one.
    for variable in [
        "CARGO_TARGET_DIR",
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "LD_LIBRARY_PATH",
    ] {
        command.env_remove(variable);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let whole = || format!("{said}\n{}", err(&output));
    assert_eq!(output.status.code(), Some(1), "{}", whole());
    let about = |name: &str| {
        let (_, text) = said
            .split_once(&format!("test {name} (lib tiny)\n"))
            .unwrap_or_else(|| panic!("{name}: {}", whole()));
        text.split("\n\ntest ").next().unwrap().to_owned()
    };
    for name in ["counted", "freed_at_the_end"] {
        let text = about(name);
        assert!(text.contains(": complete, "), "{name}: {}", whole());
    }
    let lost = about("lost_update");
    assert!(lost.starts_with("assertion in tiny"), "{lost}");
    let flat = lost.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("panicked at src/lib.rs:26:5: assertion `left == right` failed: an update is lost left: 1 right: 2"), "{lost}");
    // Both wait for a lock that the other holds.
    assert!(
        about("lock_order").starts_with("livelock in tiny"),
        "{}",
        whole()
    );
    let race = about("unsafe_cell");
    assert!(
        race.starts_with("data-race in tiny") && race.contains("src/lib.rs:46"),
        "{race}"
    );
    let freed = about("freed_too_early");
    assert!(
        freed.contains("use-after-free") && freed.contains("src/lib.rs:54"),
        "{freed}"
    );
    assert!(!said.contains("test ignored"), "{said}");
    assert!(
        said.ends_with("2 complete without an error, 4 with errors\n"),
        "{}",
        whole()
    );
}
