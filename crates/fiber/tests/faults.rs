//! Stack overflow and wild accesses on fibers, and faults that are not a fiber's.

use std::cell::Cell;
use std::hint::black_box;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::rc::Rc;

use reweave_fiber::{Pool, Resumed, Unwound, suspend};

const STACK_BYTES: usize = 64 << 10;

fn recurse(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    if depth == u64::MAX {
        0
    } else {
        recurse(depth + 1) + frame[(depth % 64) as usize]
    }
}

fn overflow() {
    black_box(recurse(black_box(0)));
}

fn crash() {
    // SAFETY: none; the point is that it faults: nothing is mapped at 16.
    unsafe { black_box(16 as *const u8).read_volatile() };
}

#[test]
fn an_overflow_ends_its_fiber_only() {
    let mut pool = Pool::new(STACK_BYTES);
    let turns = Rc::new(Cell::new(0));
    let count = turns.clone();
    let mut bystander = pool.spawn(Box::new(move || {
        loop {
            count.set(count.get() + 1);
            suspend();
        }
    }));
    for round in 1..=20 {
        assert_eq!(bystander.resume(), Resumed::Suspended);
        let mut victim = pool.spawn(Box::new(|| {
            suspend();
            overflow();
        }));
        assert_eq!(victim.resume(), Resumed::Suspended);
        assert_eq!(victim.resume(), Resumed::Overflowed);
        assert_eq!(victim.unwind(3), Unwound::Leaked);
        let mut later = pool.spawn(Box::new(|| ()));
        assert_eq!(later.resume(), Resumed::Finished);
        assert_eq!(turns.get(), round);
    }
    assert_eq!(bystander.unwind(0), Unwound::Done);
}

#[test]
fn the_whole_stack_is_usable() {
    const MIB: usize = 1 << 20;
    let mut pool = Pool::new(4 * MIB);
    let mut fiber = pool.spawn(Box::new(|| {
        let mut most = [1u8; 4 * MIB - (16 << 10)];
        black_box(&mut most);
    }));
    assert_eq!(fiber.resume(), Resumed::Finished);
}

#[test]
fn a_wild_access_ends_its_fiber_only() {
    let mut pool = Pool::new(STACK_BYTES);
    for _ in 0..5 {
        let mut fiber = pool.spawn(Box::new(crash));
        assert_eq!(
            fiber.resume(),
            Resumed::Crashed {
                signal: libc::SIGSEGV,
                address: 16
            }
        );
        drop(fiber);
        assert_eq!(pool.spawn(Box::new(|| ())).resume(), Resumed::Finished);
    }
}

/// A thread that std did not make has no alternate stack; the pool gives it one.
#[test]
fn an_overflow_on_a_foreign_threads_pool() {
    extern "C" fn main(_: *mut libc::c_void) -> *mut libc::c_void {
        let mut pool = Pool::new(STACK_BYTES);
        let overflowed = pool.spawn(Box::new(overflow)).resume() == Resumed::Overflowed;
        usize::from(overflowed) as *mut libc::c_void
    }
    let mut result = std::ptr::null_mut();
    // SAFETY: pthread_create and pthread_join get a valid function, no attributes and a place for the result; `main` does not
    // unwind.
    unsafe {
        let mut thread = std::mem::zeroed();
        assert_eq!(
            libc::pthread_create(&mut thread, std::ptr::null(), main, std::ptr::null_mut()),
            0
        );
        assert_eq!(libc::pthread_join(thread, &mut result), 0);
    }
    assert_eq!(result as usize, 1);
}

/// Runs `name` of this file again, in a process of its own that is meant to die.
fn in_child(name: &str, die: fn()) -> Option<std::process::Output> {
    const CHILD: &str = "REWEAVE_FIBER_CHILD";
    if std::env::var_os(CHILD).is_some() {
        let _pool = Pool::new(STACK_BYTES);
        die();
        std::process::exit(0);
    }
    let own = std::env::current_exe().expect("a test has an executable");
    Some(
        Command::new(own)
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, "1")
            .output()
            .expect("it starts"),
    )
}

#[test]
fn an_ordinary_threads_crash_goes_to_the_old_handler() {
    let output =
        in_child("an_ordinary_threads_crash_goes_to_the_old_handler", crash).expect("the parent");
    assert_eq!(output.status.signal(), Some(libc::SIGSEGV));
}

#[test]
fn an_ordinary_threads_overflow_is_reported_by_std() {
    let output =
        in_child("an_ordinary_threads_overflow_is_reported_by_std", overflow).expect("the parent");
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    assert!(String::from_utf8_lossy(&output.stderr).contains("has overflowed its stack"));
}
