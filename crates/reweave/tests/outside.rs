//! Outside of a check every mirror behaves as std's: the same code, written against both, gives the same results. With the `std`
//! feature the same tests run against the re-exports.

use reweave::{
    cell::UnsafeCell,
    sync::{
        Arc, Barrier, LazyLock, Once, OnceLock, RwLock, Semaphore, TryLockError,
        mpsc::{
            self, RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError, channel,
            sync_channel,
        },
    },
};
use std::{
    cell::{Cell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
    time::Duration,
};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(1);

fn is_send<T: Send>() {}
fn is_sync<T: Sync>() {}

#[test]
fn auto_traits_are_those_of_std() {
    is_send::<UnsafeCell<Cell<u32>>>();
    is_send::<RwLock<Cell<u32>>>();
    is_sync::<RwLock<u32>>();
    is_sync::<OnceLock<u32>>();
    is_sync::<LazyLock<u32>>();
    is_sync::<mpsc::Sender<Cell<u32>>>();
    is_sync::<mpsc::SyncSender<Cell<u32>>>();
    is_send::<mpsc::Receiver<Cell<u32>>>();
    is_sync::<Barrier>();
    is_sync::<Once>();
    is_sync::<Semaphore>();
}

#[test]
fn unsized_values() {
    let cell: Box<UnsafeCell<[u32]>> = Box::new(UnsafeCell::new([1, 2, 3]));
    assert_eq!(cell.with(|p| p.len()), 3);
    let lock: Box<RwLock<[u32]>> = Box::new(RwLock::new([1, 2]));
    assert_eq!(lock.read().unwrap().len(), 2);
}

/// A cell that refers to its neighbour: compiles only when the cell asks of its value no more than std's does.
#[test]
fn cells_in_a_cycle() {
    struct Node<'a> {
        other: UnsafeCell<Option<&'a Node<'a>>>,
    }
    let node = Node {
        other: UnsafeCell::new(None),
    };
    // SAFETY: nobody else looks at it meanwhile.
    node.other.with_mut(|p| unsafe { *p = Some(&node) });
}

#[test]
fn unsafe_cell() {
    let mut cell = UnsafeCell::new(1);
    // SAFETY: nobody else has the cell.
    cell.with_mut(|p| unsafe { *p += 1 });
    // SAFETY: nobody else has the cell.
    assert_eq!(cell.with(|p| unsafe { *p }), 2);
    // SAFETY: nobody else has the cell.
    unsafe { *cell.get() += 1 };
    // SAFETY: nobody else has the cell.
    unsafe { *UnsafeCell::raw_get(&raw const cell) += 1 };
    *cell.get_mut() += 1;
    assert_eq!(cell.into_inner(), 5);
    assert_eq!(UnsafeCell::<u32>::default().into_inner(), 0);
    assert_eq!(UnsafeCell::from(3).into_inner(), 3);
}

#[test]
fn rwlock() {
    static LOCK: RwLock<u32> = RwLock::new(1);
    {
        let first = LOCK.read().unwrap();
        let second = LOCK.try_read().unwrap();
        assert_eq!(*first + *second, 2);
        assert!(matches!(LOCK.try_write(), Err(TryLockError::WouldBlock)));
    }
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| *LOCK.write().unwrap() += 1);
        }
    });
    let mut held = LOCK.try_write().unwrap();
    *held += 1;
    assert!(matches!(LOCK.try_read(), Err(TryLockError::WouldBlock)));
    assert_eq!(format!("{held} {held:?}"), "6 6");
    drop(held);
    assert_eq!(
        format!("{LOCK:?}"),
        "RwLock { data: 6, poisoned: false, .. }"
    );
}

#[test]
fn a_panicking_writer_poisons_and_a_reader_does_not() {
    let mut lock = RwLock::new(1);
    let panics = |f: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
    panics(&|| {
        let _held = lock.read().unwrap();
        panic!("reading");
    });
    assert!(!lock.is_poisoned());
    panics(&|| {
        let _held = lock.write().unwrap();
        panic!("writing");
    });
    assert!(lock.is_poisoned());
    assert_eq!(*lock.read().unwrap_err().into_inner(), 1);
    assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
    assert!(lock.get_mut().is_err());
    lock.clear_poison();
    *lock.get_mut().unwrap() = 2;
    assert_eq!(lock.into_inner().unwrap(), 2);
}

#[test]
fn barrier_has_one_leader_a_round() {
    let barrier = Barrier::new(3);
    let leaders = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..5 {
                    if barrier.wait().is_leader() {
                        leaders.fetch_add(1, SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(leaders.into_inner(), 5);
    let alone = Barrier::new(0).wait();
    assert_eq!(
        format!("{alone:?}"),
        "BarrierWaitResult { is_leader: true }"
    );
}

#[test]
fn once_runs_once_and_a_panic_poisons_it() {
    static ONCE: Once = Once::new();
    let runs = AtomicU32::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ONCE.call_once(|| assert_eq!(runs.fetch_add(1, SeqCst), 0)));
        }
        ONCE.wait();
        assert!(ONCE.is_completed());
    });
    assert_eq!(runs.into_inner(), 1);

    let once = Once::new();
    assert!(catch_unwind(|| once.call_once(|| panic!("first"))).is_err());
    assert!(!once.is_completed());
    assert!(catch_unwind(|| once.call_once(|| ())).is_err());
    assert!(catch_unwind(|| once.wait()).is_err());
    once.call_once_force(|state| assert!(state.is_poisoned()));
    assert!(once.is_completed());
    once.call_once(|| unreachable!("done already"));
}

#[test]
fn once_lock() {
    let mut lock = OnceLock::new();
    assert_eq!(lock.get(), None);
    assert!(catch_unwind(AssertUnwindSafe(|| lock.get_or_init(|| panic!("no value")))).is_err());
    assert_eq!(lock.get(), None);
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(lock.wait(), &5));
        assert_eq!(lock.get_or_init(|| 5), &5);
    });
    assert_eq!(lock.set(6), Err(6));
    assert_eq!(lock.clone(), lock);
    assert_eq!(format!("{lock:?}"), "OnceLock(5)");
    *lock.get_mut().unwrap() += 1;
    assert_eq!(lock.take(), Some(6));
    assert_eq!(lock.set(7), Ok(()));
    assert_eq!(lock.into_inner(), Some(7));
    assert_eq!(OnceLock::from(1).get(), Some(&1));
    assert_eq!(
        format!("{:?}", OnceLock::<u32>::default()),
        "OnceLock(<uninit>)"
    );
}

#[test]
fn lazy_lock() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static LAZY: LazyLock<u32> = LazyLock::new(|| RUNS.fetch_add(1, SeqCst) + 10);
    assert_eq!(format!("{LAZY:?}"), "LazyLock(<uninit>)");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(*LAZY, 10));
        }
    });
    assert_eq!(LazyLock::force(&LAZY), &10);
    assert_eq!(*LazyLock::<u32>::default(), 0);

    let lazy: LazyLock<u32> = LazyLock::new(|| panic!("no value"));
    assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
}

#[test]
fn channels() {
    let (sender, receiver) = channel();
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
    let other = sender.clone();
    let thread = thread::spawn(move || (0..3).for_each(|i| other.send(i).unwrap()));
    thread.join().unwrap();
    assert_eq!(receiver.recv(), Ok(0));
    assert_eq!(receiver.recv_timeout(LONG), Ok(1));
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), [2]);
    sender.send(3).unwrap();
    drop(sender);
    assert_eq!(receiver.iter().collect::<Vec<_>>(), [3]);
    assert_eq!(receiver.recv(), Err(RecvError));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(
        receiver.recv_timeout(LONG),
        Err(RecvTimeoutError::Disconnected)
    );
    assert_eq!(receiver.into_iter().next(), None);

    let (sender, receiver) = channel();
    drop(receiver);
    assert_eq!(sender.send(1), Err(SendError(1)));
}

#[test]
fn bounded_channels() {
    let (sender, receiver) = sync_channel(1);
    sender.try_send(1).unwrap();
    assert_eq!(sender.try_send(2), Err(TrySendError::Full(2)));
    let thread = thread::spawn(move || sender.send(3));
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.recv(), Ok(3));
    thread.join().unwrap().unwrap();

    let (sender, receiver) = sync_channel(0);
    assert_eq!(sender.try_send(1), Err(TrySendError::Full(1)));
    let thread = thread::spawn(move || {
        sender.send(2).unwrap();
        sender.clone()
    });
    assert_eq!(receiver.recv(), Ok(2));
    let sender = thread.join().unwrap();
    drop(receiver);
    assert_eq!(sender.send(3), Err(SendError(3)));
    assert_eq!(sender.try_send(3), Err(TrySendError::Disconnected(3)));
}

#[test]
fn semaphore() {
    static SEMAPHORE: Semaphore = Semaphore::new(1);
    SEMAPHORE.acquire();
    assert!(!SEMAPHORE.try_acquire());
    assert!(!SEMAPHORE.acquire_timeout(SHORT));
    thread::scope(|scope| {
        scope.spawn(|| SEMAPHORE.release());
        assert!(SEMAPHORE.acquire_timeout(LONG));
    });
    SEMAPHORE.release();
    assert!(SEMAPHORE.try_acquire());
}

#[test]
fn thread_locals() {
    static DROPS: AtomicU32 = AtomicU32::new(0);
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
            assert!(GONE.try_with(|_| ()).is_err());
        }
    }
    reweave::thread_local! {
        /// Documented.
        static CELL: Cell<u32> = const { Cell::new(1) };
        pub(crate) static LIST: RefCell<Vec<u32>> = RefCell::new(vec![1]);
        static GONE: Counted = const { Counted }
    }
    reweave::thread_local!(static NEVER: Cell<u32> = panic!("set before it is made"));
    CELL.set(2);
    LIST.with_borrow_mut(|list| list.push(2));
    thread::spawn(|| {
        assert_eq!(CELL.get(), 1);
        assert_eq!(LIST.take(), [1]);
        GONE.with(|_| ());
    })
    .join()
    .unwrap();
    assert_eq!(DROPS.load(SeqCst), 1);
    assert_eq!(CELL.replace(5), 2);
    assert_eq!(CELL.take(), 5);
    LIST.with_borrow(|list| assert_eq!(list, &[1, 2]));
    assert_eq!(LIST.replace(vec![]), [1, 2]);
    LIST.set(vec![3]);
    assert_eq!(LIST.with(|list| list.borrow().len()), 1);
    NEVER.set(1);
    assert_eq!(NEVER.get(), 1);
}

#[test]
fn arcs_become_those_of_std_and_back() {
    let arc: std::sync::Arc<u32> = Arc::new(1).into();
    let arc: Arc<u32> = arc.into();
    let weak = Arc::downgrade(&arc);
    assert_eq!(weak.upgrade(), Some(arc));
}
