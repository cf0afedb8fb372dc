//! A suite as it is written for loom.

use loom::{
    cell::{Cell, UnsafeCell},
    future::{AtomicWaker, block_on},
    model,
    sync::{
        Arc, Condvar, Mutex, Notify,
        atomic::{
            AtomicUsize,
            Ordering::{Acquire, Relaxed, Release, SeqCst},
        },
    },
    thread,
};
use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    task::Poll,
};

/// What a model panics with.
fn fails(f: impl Fn() + Sync + Send + 'static) -> String {
    let model = || {
        let mut builder = model::Builder::new();
        builder.max_permutations = Some(10_000);
        builder.check(f);
    };
    let payload = catch_unwind(AssertUnwindSafe(model)).expect_err("an error is there");
    payload.downcast_ref::<String>().expect("a story").clone()
}

#[test]
fn a_lost_update_is_found() {
    let story = fails(|| {
        let count = Arc::new(AtomicUsize::new(0));
        let threads = [0, 1].map(|_| {
            let count = count.clone();
            thread::spawn(move || {
                let now = count.load(Acquire);
                count.store(now + 1, Release);
            })
        });
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(2, count.load(Relaxed));
    });
    assert!(story.contains("left: 2"), "{story}");
}

#[test]
fn a_race_on_a_cell_is_found() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: not at all, and the model finds it.
    unsafe impl Sync for Shared {}
    let story = fails(|| {
        let shared = Arc::new(Shared(UnsafeCell::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            // SAFETY: threads of a model do not run at the same time.
            unsafe { *theirs.0.get_mut().deref() += 1 };
        });
        // SAFETY: threads of a model do not run at the same time.
        std::hint::black_box(unsafe { *shared.0.get().deref() });
        other.join().unwrap();
    });
    assert!(story.contains("nothing orders the two"), "{story}");
}

/// Std's `Arc` is not seen, and loom's cells do not ask for it.
#[test]
fn a_cell_in_an_arc_of_std_is_fine() {
    struct Shared(UnsafeCell<u32>);
    // SAFETY: the test only reads it, in threads that never run at the same time.
    unsafe impl Sync for Shared {}
    loom::model(|| {
        let shared = std::sync::Arc::new(Shared(UnsafeCell::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || theirs.0.with(|_| ()));
        shared.0.with(|_| ());
        drop(shared);
        other.join().unwrap();
    });
}

#[test]
fn a_guarded_cell_is_fine() {
    loom::model(|| {
        let shared = Arc::new((Mutex::new(()), Condvar::new(), Cell::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            let _held = theirs.0.lock().unwrap();
            theirs.2.set(1);
            theirs.1.notify_one();
        });
        let mut held = shared.0.lock().unwrap();
        while shared.2.get() == 0 {
            held = shared.1.wait(held).unwrap();
        }
        drop(held);
        other.join().unwrap();
    });
}

loom::lazy_static! {
    static ref STARTED: AtomicUsize = AtomicUsize::new(0);
}

loom::thread_local! {
    static OWN: std::cell::Cell<u32> = std::cell::Cell::new(7);
}

/// Values that are not `Send`, statics and thread-locals of each execution.
#[test]
fn statics_and_what_is_not_send() {
    loom::model(|| {
        let mine = Rc::new(5);
        assert_eq!(STARTED.fetch_add(1, SeqCst), 0);
        let other = thread::spawn(move || {
            OWN.with(|own| own.set(own.get() + 1));
            assert_eq!(OWN.with(std::cell::Cell::get), 8);
            mine
        });
        assert_eq!(*other.join().unwrap(), 5);
        assert_eq!(OWN.with(std::cell::Cell::get), 7);
        let mut alone = AtomicUsize::new(1);
        assert_eq!(alone.with_mut(|value| *value), 1);
        // SAFETY: no other thread has it.
        assert_eq!(unsafe { alone.unsync_load() }, 1);
    });
}

#[test]
fn a_future_is_woken() {
    loom::model(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.1.store(1, SeqCst);
            theirs.0.wake();
        });
        block_on(poll_fn(|context| {
            shared.0.register_by_ref(context.waker());
            match shared.1.load(SeqCst) {
                0 => Poll::Pending,
                _ => Poll::Ready(()),
            }
        }));
        other.join().unwrap();
    });
}

/// Looks before it registers: the wake-up between the two is lost.
#[test]
fn a_lost_wake_up_is_a_deadlock() {
    let story = fails(|| {
        let shared = Arc::new((AtomicWaker::new(), AtomicUsize::new(0)));
        let theirs = shared.clone();
        let other = thread::spawn(move || {
            theirs.1.store(1, SeqCst);
            theirs.0.wake();
        });
        block_on(poll_fn(|context| {
            if shared.1.load(SeqCst) == 1 {
                return Poll::Ready(());
            }
            shared.0.register_by_ref(context.waker());
            Poll::Pending
        }));
        other.join().unwrap();
    });
    assert!(story.contains("deadlock"), "{story}");
}

/// A bound is used only where the model is too large without it.
#[test]
fn a_notification_and_a_bound() {
    let mut builder = model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let notify = Arc::new(Notify::new());
        let theirs = notify.clone();
        let other = thread::spawn(move || theirs.notify());
        notify.wait();
        other.join().unwrap();
    });
}

mod imports {
    use loom::lazy_static;
    use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    lazy_static! {
        static ref NEXT: AtomicUsize = AtomicUsize::new(7);
    }

    #[test]
    fn the_macro_of_statics_can_be_imported() {
        loom::model(|| {
            assert_eq!(NEXT.fetch_add(1, SeqCst), 7);
            let other = loom::thread::spawn(|| NEXT.fetch_add(1, SeqCst));
            assert_eq!(other.join().unwrap(), 8);
        });
    }
}
