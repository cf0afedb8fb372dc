//! What programs in Rust get in place of parts of the standard library; compiled with hooks and linked first.
//!
//! `rust.rs` compiles this text with the user's compiler, after it has put the names of functions between the percent signs. It is no module of
//! this crate.
#![feature(test)]

extern crate test;

use std::{
    any::Any,
    cell::Cell,
    env,
    ffi::c_int,
    io::{Write, stdout},
    panic::catch_unwind,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed},
    },
};
use test::{ShouldPanic, TestDescAndFn, TestFn, TestName};

/// `main` of a test program. `--list` prints the tests' names, with `--ignored` those that are left out. Anything else is the name of the test to run,
/// in the first thread: the library would start another and wait for it.
#[unsafe(export_name = "%TEST_MAIN%")]
pub fn test_main(tests: &[&TestDescAndFn]) {
    let words: Vec<String> = env::args().skip(1).collect();
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    if has("--list") {
        let ignored = has("--ignored");
        for test in tests.iter().filter(|test| test.desc.ignore || !ignored) {
            let _ = writeln!(stdout(), "{}: test", name(test));
        }
        return;
    }
    let wanted = words.first().map_or("", |word| word);
    let Some(test) = tests.iter().find(|test| name(test) == wanted) else {
        panic!("there is no test {wanted}");
    };
    let TestFn::StaticTestFn(run) = test.testfn else {
        panic!("{wanted} is no function");
    };
    let said = match test.desc.should_panic {
        // A panic ends the program.
        ShouldPanic::No => {
            if let Err(error) = run() {
                panic!("{error}");
            }
            return;
        }
        _ => catch_unwind(run).err(),
    };
    match (said, test.desc.should_panic) {
        (None, _) => panic!("the test did not panic as expected"),
        (Some(said), ShouldPanic::YesWithMessage(expected)) if !text(&*said).contains(expected) => {
            panic!("the panic did not say {expected:?}")
        }
        _ => {}
    }
}

fn name(test: &TestDescAndFn) -> &str {
    match &test.desc.name {
        TestName::StaticTestName(name) => name,
        TestName::DynTestName(name) => name,
        TestName::AlignedTestName(name, _) => name,
    }
}

fn text(said: &(dyn Any + Send)) -> &str {
    let owned = said.downcast_ref::<String>().map(|text| &**text);
    owned
        .or_else(|| said.downcast_ref::<&str>().copied())
        .unwrap_or_default()
}

/// By this the runtime knows that a program is written in Rust.
#[unsafe(no_mangle)]
pub static __reweave_rust: u8 = 1;

/// What `Mutex::lock` calls when the lock is taken (`std::sys::sync::mutex::futex`). The library polls a hundred times and then sleeps on a futex.
/// Each poll would be a class of its own; a loop that waits is none.
#[unsafe(export_name = "%LOCK_CONTENDED%")]
pub fn lock_contended(word: &AtomicU32) {
    const UNLOCKED: u32 = 0;
    const LOCKED: u32 = 1;
    while word
        .compare_exchange(UNLOCKED, LOCKED, Acquire, Relaxed)
        .is_err()
    {}
}

#[repr(C)]
pub struct PollFd {
    number: c_int,
    events: i16,
    found: i16,
}

unsafe extern "C" {
    fn __real_poll(list: *mut PollFd, count: u64, limit: c_int) -> c_int;
    fn __real_getrandom(bytes: *mut u8, count: usize, flags: u32) -> isize;
    fn __real_sigaction(signal: c_int, new: *const usize, old: *mut usize) -> c_int;
}

/// Before `main` the library asks whether the standard streams are open. They are.
///
/// # Safety
///
/// As `poll`: so many entries lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_poll(list: *mut PollFd, count: u64, limit: c_int) -> c_int {
    let asks = |at: usize| {
        // SAFETY: it is asked for the first three of three entries, which lie there, as the caller promises.
        let entry = unsafe { &*list.add(at) };
        entry.number == at as c_int && entry.events == 0
    };
    if count == 3 && limit == 0 && (0..3).all(asks) {
        return 0;
    }
    // SAFETY: the caller's promises are those of the function itself.
    unsafe { __real_poll(list, count, limit) }
}

/// The library draws the keys of its hash tables, by this flag that hardly anything else sets: always the same. Other random numbers are refused.
///
/// # Safety
///
/// As `getrandom`: there is room for so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_getrandom(bytes: *mut u8, count: usize, flags: u32) -> isize {
    const INSECURE: u32 = 4;
    if flags != INSECURE {
        // SAFETY: the caller's promises are those of the function itself.
        return unsafe { __real_getrandom(bytes, count, flags) };
    }
    for at in 0..count {
        // SAFETY: there is room for so many bytes, as the caller promises.
        unsafe { bytes.add(at).write(at as u8) };
    }
    count as isize
}

/// A variable of a thread that is dropped at its end. For the first of these, whichever thread comes to it, the library makes a key. Here the first
/// thread does so before `main`: else several threads would make one, and all but one of them delete theirs.
struct Dropped;

impl Drop for Dropped {
    fn drop(&mut self) {}
}

thread_local! {
    static KEY: Cell<Option<Dropped>> = const { Cell::new(None) };
}

/// Before `main` the library asks whether it may handle faults, to report that a stack overflows. The runtime does that, without a lock that every
/// thread takes.
///
/// # Safety
///
/// As `sigaction`: both pointers are null or point to an action.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __wrap_sigaction(
    signal: c_int,
    new: *const usize,
    old: *mut usize,
) -> c_int {
    const SIGBUS: c_int = 7;
    const SIGSEGV: c_int = 11;
    const IGNORED: usize = 1;
    static ASKED: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
    // SAFETY: the caller's promises are those of the function itself.
    let result = unsafe { __real_sigaction(signal, new, old) };
    KEY.with(|_| ());
    let asked = match signal {
        SIGBUS => &ASKED[0],
        SIGSEGV => &ASKED[1],
        _ => return result,
    };
    if new.is_null() && !old.is_null() && asked.swap(1, Relaxed) == 0 {
        // SAFETY: not null, so it points to what the call has filled; the handler comes first.
        let handler = unsafe { &mut *old };
        if *handler == 0 {
            *handler = IGNORED;
        }
    }
    result
}
