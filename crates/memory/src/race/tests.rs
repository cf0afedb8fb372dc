//! Small histories, run through [`Machine`] so that events are the real ones, each with the races it must have.

mod pipes;
mod rounds;

use super::{RaceDetector, RaceFound};
use Order::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use reweave_model::{
    Event, Gate, MOST_COUNTED, Machine, Object, ObjectId, OnceState, Op, Order, Orders, Pending,
    Rmw, RmwKind, Site, ThreadId,
};

const DATA: usize = 0x1000;

/// A run under way, with some threads that the first one has spawned.
struct History {
    machine: Machine,
    detector: RaceDetector,
}

impl History {
    fn new(threads: u32) -> History {
        let mut history = History {
            machine: Machine::default(),
            detector: RaceDetector::default(),
        };
        history.restart(threads);
        history
    }

    fn restart(&mut self, threads: u32) {
        self.machine.clear();
        self.detector.clear();
        self.machine.spawn(None);
        for _ in 1..threads {
            self.spawn(0);
        }
    }

    fn spawn(&mut self, parent: u32) -> u32 {
        let child = self.machine.spawn(Some(ThreadId(parent)));
        self.detector.spawn(ThreadId(parent), child);
        child.0
    }

    fn atomic(&mut self) -> ObjectId {
        self.machine.create(Object::Atomic(0))
    }

    fn ordered(&mut self, thread: u32, op: Op, order: Order, failure: Option<Order>) -> Event {
        let (thread, site) = (ThreadId(thread), Site(100 + thread));
        let gate = Gate::Open;
        let order = Orders::new(order, failure);
        let pending = Pending {
            op,
            gate,
            site,
            order,
        };
        assert!(self.machine.enabled(thread, &pending));
        let effect = self.machine.apply(thread, op, 0);
        let event = Event {
            thread,
            op,
            gate,
            outcome: 0,
            outcomes: 1,
            ok: effect.ok,
            result: effect.result,
            after: effect.after,
            access: effect.access,
            site,
            order,
        };
        self.detector.event(&event);
        event
    }

    fn op(&mut self, thread: u32, op: Op) -> Event {
        self.ordered(thread, op, SeqCst, None)
    }

    fn load(&mut self, thread: u32, object: ObjectId, order: Order) {
        self.ordered(thread, Op::Load(object), order, None);
    }

    fn store(&mut self, thread: u32, object: ObjectId, order: Order) {
        self.ordered(thread, Op::Store(object, 1), order, None);
    }

    fn add(&mut self, thread: u32, object: ObjectId, order: Order) {
        let rmw = Rmw {
            kind: RmwKind::Add,
            operand: 1,
            bits: 64,
        };
        self.ordered(thread, Op::Rmw(object, rmw), order, None);
    }

    fn fence(&mut self, thread: u32, order: Order) {
        self.detector.fence(ThreadId(thread), order);
    }

    fn read(&mut self, thread: u32) -> bool {
        self.access(thread, DATA, 8, false).is_some()
    }

    fn write(&mut self, thread: u32) -> bool {
        self.access(thread, DATA, 8, true).is_some()
    }

    fn access(
        &mut self,
        thread: u32,
        address: usize,
        bytes: usize,
        write: bool,
    ) -> Option<RaceFound> {
        let site = Site(1 + thread);
        self.detector
            .access(ThreadId(thread), address, bytes, write, site)
    }
}

/// Thread 1 writes and hands over, thread 2 takes and reads: is that a race?
fn handed(hand: impl FnOnce(&mut History, ObjectId), object: Object) -> bool {
    let mut history = History::new(4);
    let object = history.machine.create(object);
    assert!(!history.write(1));
    hand(&mut history, object);
    history.read(2)
}

#[test]
fn message_passing() {
    let by = |store, load| {
        let hand = |h: &mut History, flag| {
            h.store(1, flag, store);
            h.load(2, flag, load);
        };
        handed(hand, Object::Atomic(0))
    };
    assert!(by(Relaxed, Relaxed));
    assert!(by(Release, Relaxed));
    assert!(by(Relaxed, Acquire));
    assert!(!by(Release, Acquire));
    assert!(!by(SeqCst, SeqCst));
}

#[test]
fn what_follows_a_release_is_not_handed_over() {
    let mut h = History::new(3);
    let flag = h.atomic();
    h.store(1, flag, Release);
    h.write(1);
    h.load(2, flag, Acquire);
    let race = h.access(2, DATA, 8, false).expect("not ordered");
    assert_eq!(
        race,
        RaceFound {
            address: DATA,
            first: Site(2),
            first_thread: ThreadId(1),
            first_write: true,
            second: Site(3),
            second_thread: ThreadId(2),
            second_write: false,
        }
    );
}

#[test]
fn a_read_modify_write_continues_a_release_sequence() {
    let hand = |h: &mut History, flag| {
        h.store(1, flag, Release);
        h.add(3, flag, Relaxed);
        h.load(2, flag, Acquire);
    };
    assert!(!handed(hand, Object::Atomic(0)));
}

#[test]
fn a_relaxed_store_ends_a_release_sequence_even_the_releasers_own() {
    for storer in [1, 3] {
        let hand = |h: &mut History, flag| {
            h.store(1, flag, Release);
            h.store(storer, flag, Relaxed);
            h.load(2, flag, Acquire);
        };
        assert!(handed(hand, Object::Atomic(0)));
    }
}

#[test]
fn two_releases_by_read_modify_writes_are_both_seen() {
    let mut h = History::new(4);
    let count = h.atomic();
    h.access(1, DATA, 8, true);
    h.access(3, DATA + 8, 8, true);
    h.add(1, count, Release);
    h.add(3, count, Release);
    h.load(2, count, Acquire);
    assert_eq!(h.access(2, DATA, 16, true), None);
}

#[test]
fn fences() {
    let by = |release: bool, acquire: bool| {
        let hand = |h: &mut History, flag| {
            if release {
                h.fence(1, Release);
            }
            h.store(1, flag, Relaxed);
            h.load(2, flag, Relaxed);
            if acquire {
                h.fence(2, Acquire);
            }
        };
        handed(hand, Object::Atomic(0))
    };
    assert!(by(true, false));
    assert!(by(false, true));
    assert!(!by(true, true));
}

#[test]
fn a_fence_and_an_ordered_access() {
    let hand = |h: &mut History, flag| {
        h.fence(1, AcqRel);
        h.store(1, flag, Relaxed);
        h.load(2, flag, Acquire);
    };
    assert!(!handed(hand, Object::Atomic(0)));
    let hand = |h: &mut History, flag| {
        h.store(1, flag, Release);
        h.load(2, flag, Relaxed);
        h.fence(2, SeqCst);
    };
    assert!(!handed(hand, Object::Atomic(0)));
}

#[test]
fn what_follows_a_release_fence_is_not_handed_over() {
    let mut h = History::new(3);
    let flag = h.atomic();
    h.fence(1, Release);
    h.write(1);
    h.store(1, flag, Relaxed);
    h.load(2, flag, Acquire);
    assert!(h.read(2));
}

#[test]
fn a_failed_compare_exchange_reads_with_its_own_order() {
    for (failure, races) in [(Acquire, false), (Relaxed, true)] {
        let hand = |h: &mut History, flag| {
            h.store(1, flag, Release);
            let op = Op::CompareExchange {
                object: flag,
                expected: 7,
                new: 8,
                weak: false,
            };
            assert!(!h.ordered(2, op, AcqRel, Some(failure)).ok);
        };
        assert_eq!(handed(hand, Object::Atomic(0)), races);
    }
}

#[test]
fn a_mutex_hands_over_and_a_failed_attempt_does_not() {
    let mutex = Object::mutex;
    let hand = |h: &mut History, mutex| {
        h.op(1, Op::Lock(mutex));
        h.op(1, Op::Unlock(mutex));
        h.op(2, Op::TryLock(mutex));
    };
    assert!(!handed(hand, mutex()));
    let hand = |h: &mut History, mutex| {
        h.op(1, Op::Lock(mutex));
        h.op(1, Op::Unlock(mutex));
        h.op(3, Op::Lock(mutex));
        h.op(2, Op::TryLock(mutex));
    };
    assert!(handed(hand, mutex()));
}

#[test]
fn a_wait_gives_up_its_mutex_and_a_notification_orders_nothing() {
    let mut h = History::new(3);
    let mutex = h.machine.create(Object::mutex());
    let condvar = h.machine.create(Object::condvar());
    h.op(2, Op::Lock(mutex));
    h.access(2, DATA + 8, 8, true);
    h.op(2, Op::Enqueue { condvar, mutex });
    h.op(1, Op::Lock(mutex));
    assert_eq!(h.access(1, DATA + 8, 8, true), None);
    h.op(1, Op::Unlock(mutex));
    h.write(1);
    h.op(1, Op::NotifyOne(condvar));
    h.op(
        2,
        Op::Wake {
            condvar,
            timed: false,
        },
    );
    h.op(2, Op::Lock(mutex));
    assert_eq!(h.access(2, DATA + 8, 8, true), None);
    assert!(h.read(2));
}

#[test]
fn spawn_and_join_order() {
    let mut h = History::new(1);
    h.write(0);
    let child = h.spawn(0);
    assert!(!h.write(child));
    h.access(0, DATA + 8, 8, true);
    assert!(h.access(child, DATA + 8, 8, false).is_some());
    h.machine.finish(ThreadId(child));
    h.op(0, Op::Join(ThreadId(child)));
    assert!(!h.write(0));
}

#[test]
fn reads_do_not_race_and_a_write_races_with_each_of_them() {
    let mut h = History::new(6);
    for reader in 1..5 {
        assert!(!h.read(reader));
        assert!(!h.read(reader));
    }
    assert!(h.write(5));
    // The last of several readers is enough, too.
    for late in 1..5 {
        h.restart(6);
        let flag = h.atomic();
        for reader in 1..5 {
            h.read(reader);
            if reader != late {
                h.add(reader, flag, Release);
            }
        }
        h.load(5, flag, Acquire);
        let race = h.access(5, DATA, 8, true).expect("one reader not ordered");
        assert_eq!(race.first_thread, ThreadId(late));
    }
}

#[test]
fn readers_of_a_lock_do_not_order_each_other_but_writers_do() {
    let read = |h: &mut History, thread, lock| {
        h.op(thread, Op::ReadLock(lock));
        h.op(thread, Op::ReadUnlock(lock));
    };
    assert!(handed(
        |h, lock| {
            read(h, 1, lock);
            read(h, 2, lock);
        },
        Object::rwlock()
    ));
    assert!(!handed(
        |h, lock| {
            read(h, 1, lock);
            h.op(2, Op::WriteBegin(lock));
            h.op(2, Op::WriteAcquire(lock));
        },
        Object::rwlock()
    ));
    assert!(!handed(
        |h, lock| {
            h.op(1, Op::TryWriteLock(lock));
            h.op(1, Op::WriteUnlock(lock));
            read(h, 3, lock);
            read(h, 2, lock);
        },
        Object::rwlock()
    ));
}

#[test]
fn one_time_initialisation() {
    let begin = |object| Op::OnceBegin {
        object,
        force: false,
    };
    let new = || Object::Once(OnceState::New);
    let hand = |h: &mut History, once| {
        h.op(1, begin(once));
        h.op(1, Op::OnceEnd(once, true));
        h.op(2, begin(once));
    };
    assert!(!handed(hand, new()));
    let hand = |h: &mut History, once| {
        h.op(1, begin(once));
        h.op(1, Op::OnceEnd(once, true));
        h.op(2, Op::Load(once));
    };
    assert!(!handed(hand, new()));
    let hand = |h: &mut History, once| {
        h.op(1, begin(once));
        h.op(2, Op::Load(once));
    };
    assert!(handed(hand, new()));
}

#[test]
fn a_message_orders_its_receiver_only() {
    let recv = |object| Op::Recv {
        object,
        timed: false,
    };
    let hand = |h: &mut History, channel| {
        h.op(1, Op::Send(channel));
        h.op(2, recv(channel));
    };
    assert!(!handed(hand, Object::channel(None)));
    // Thread 3's message comes first: receiving it says nothing of thread 1.
    let hand = |h: &mut History, channel| {
        h.op(3, Op::Send(channel));
        h.op(1, Op::Send(channel));
        h.op(2, recv(channel));
    };
    assert!(handed(hand, Object::channel(None)));
    // All senders gone.
    let hand = |h: &mut History, channel| {
        h.op(1, Op::SenderDrop(channel));
        assert!(!h.op(2, recv(channel)).ok);
    };
    assert!(!handed(hand, Object::channel(None)));
    // The receiver gone.
    let hand = |h: &mut History, channel| {
        h.op(1, Op::ReceiverDrop(channel));
        assert!(!h.op(2, Op::Send(channel)).ok);
    };
    assert!(!handed(hand, Object::channel(None)));
    let hand = |h: &mut History, channel| {
        h.op(1, Op::TryRecv(channel));
        h.op(2, Op::Send(channel));
    };
    assert!(handed(hand, Object::channel(None)));
}

#[test]
fn a_slot_orders_the_receiver_before_the_next_sender() {
    let hand = |h: &mut History, channel| {
        h.op(3, Op::Send(channel));
        h.op(1, Op::TryRecv(channel));
        h.op(2, Op::Send(channel));
    };
    assert!(!handed(hand, Object::channel(Some(1))));
    assert!(handed(hand, Object::channel(Some(2))));
    let hand = |h: &mut History, channel| {
        let message = h.op(2, Op::Send(channel)).result;
        h.op(1, Op::TryRecv(channel));
        h.op(2, Op::Handoff(channel, message));
    };
    assert!(!handed(hand, Object::channel(Some(0))));
}

#[test]
fn a_barrier_orders_within_a_round() {
    let mut h = History::new(5);
    let barrier = h.machine.create(Object::barrier(2));
    h.write(1);
    h.op(1, Op::Arrive(barrier));
    h.op(2, Op::Arrive(barrier));
    // The next round fills up before anybody has left the first.
    h.access(3, DATA + 8, 8, true);
    h.op(3, Op::Arrive(barrier));
    h.op(4, Op::Arrive(barrier));
    h.op(1, Op::Leave(barrier));
    h.op(2, Op::Leave(barrier));
    h.op(3, Op::Leave(barrier));
    h.op(4, Op::Leave(barrier));
    assert!(!h.read(2));
    assert!(h.access(2, DATA + 8, 8, false).is_some());
    assert!(h.access(4, DATA + 8, 8, false).is_none());
    assert!(h.read(4));
}

#[test]
fn semaphores_and_parking() {
    let hand = |h: &mut History, object| {
        h.op(1, Op::SemRelease(object));
        h.op(2, Op::SemTryAcquire(object));
    };
    assert!(!handed(hand, Object::Semaphore(0)));
    // Looking at the count is not acquiring.
    let hand = |h: &mut History, object| {
        h.op(1, Op::SemRelease(object));
        h.op(2, Op::Load(object));
    };
    assert!(handed(hand, Object::Semaphore(0)));
    // What found no room hands nothing over.
    let hand = |h: &mut History, object| {
        let (count, most, tries) = (2, u64::MAX, true);
        h.op(
            1,
            Op::Add {
                object,
                count,
                tries,
            },
        );
        h.op(
            2,
            Op::Take {
                object,
                most,
                tries,
            },
        );
    };
    assert!(!handed(hand, Object::Semaphore(0)));
    assert!(!handed(hand, Object::Semaphore(MOST_COUNTED - 2)));
    assert!(handed(hand, Object::Semaphore(MOST_COUNTED - 1)));
    let hand = |h: &mut History, object| {
        h.op(1, Op::Unpark(object));
        h.op(
            2,
            Op::Park {
                object,
                timed: false,
            },
        );
    };
    assert!(!handed(hand, Object::Parker(false)));
}

#[test]
fn neighbours_are_different_locations() {
    let mut h = History::new(3);
    // One byte each of one granule; then all of it; then over the edge of two.
    assert_eq!(h.access(1, DATA, 1, true), None);
    assert_eq!(h.access(2, DATA + 1, 1, true), None);
    assert_eq!(h.access(1, DATA + 6, 4, true), None);
    let race = h.access(2, DATA, 8, false).expect("bytes of thread 1");
    assert_eq!(race.first_thread, ThreadId(1));
    assert_eq!(h.access(2, DATA + 10, 6, true), None);
    assert_eq!(
        h.access(1, DATA + 1, 1, true).map(|r| r.address),
        Some(DATA + 1)
    );
    assert_eq!(h.access(1, DATA + 9, 1, true), None);
    assert_eq!(h.access(1, DATA + 9, 0, true), None);
}

#[test]
fn every_racy_location_is_reported() {
    let mut h = History::new(3);
    for cell in 0..1000 {
        assert!(h.access(1, DATA + cell * 24, 8, true).is_none());
    }
    for cell in 0..1000 {
        assert!(h.access(2, DATA + cell * 24, 8, true).is_some());
    }
}

#[test]
fn forgotten_memory_is_new_memory_and_a_new_run_knows_nothing() {
    let mut h = History::new(3);
    h.write(1);
    h.detector.forget(DATA, 8);
    assert!(!h.write(2));
    h.restart(3);
    assert!(!h.write(1));
}

#[test]
fn hundreds_of_threads() {
    let mut h = History::new(1);
    let flag = h.atomic();
    let mut last = 0;
    for _ in 0..300 {
        last = h.spawn(0);
        assert_eq!(h.access(last, DATA + 8 * last as usize, 8, true), None);
        h.add(last, flag, AcqRel);
    }
    assert_eq!(h.access(last, DATA, 8 * 300, true), None);
    assert!(h.access(0, DATA, 8 * 300, true).is_some());
}

#[test]
fn weak_orders_are_counted_by_place_over_all_runs() {
    let mut h = History::new(3);
    let flag = h.atomic();
    h.load(0, flag, SeqCst);
    assert_eq!(h.detector.weak_orders(), 0);
    h.load(1, flag, Relaxed);
    h.load(1, flag, Acquire);
    h.restart(3);
    let flag = h.atomic();
    h.load(1, flag, Relaxed);
    h.store(2, flag, Release);
    assert_eq!(h.detector.weak_orders(), 2);
    let mut sites: alloc::vec::Vec<_> = h.detector.weak_sites().collect();
    sites.sort_unstable();
    assert_eq!(sites, [Site(101), Site(102)]);
    for site in 1..=1000 {
        h.detector.weak_order(Site(site * 0x1_0001));
    }
    assert_eq!(h.detector.weak_orders(), 1002);
}

/// On generated histories: a run with a race according to plain reachability reports one, for every racy location, and a run
/// without reports none.
#[test]
fn agrees_with_reachability() {
    let mut seed = 1_u64;
    let mut random = move |n: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % n
    };
    let mut h = History::new(4);
    let mut racy = [0; 2];
    for _ in 0..20_000 {
        h.restart(4);
        let atomics = [h.atomic(), h.atomic()];
        let mut naive = Naive::default();
        let mut found = [false; 2];
        for _ in 0..12 {
            let thread = 1 + random(3) as u32;
            let which = random(2) as usize;
            let kind = random(7);
            let order = [Relaxed, Acquire, Release, AcqRel][random(4) as usize];
            match kind {
                0 | 1 => {
                    let write = kind == 0;
                    found[which] |= h.access(thread, DATA + 8 * which, 8, write).is_some();
                    naive.access(thread, which, write);
                }
                2 => {
                    h.load(thread, atomics[which], order);
                    naive.load(thread, which, order);
                }
                3 | 4 => {
                    h.store(thread, atomics[which], order);
                    naive.store(thread, which, order);
                }
                5 => {
                    h.add(thread, atomics[which], order);
                    naive.load(thread, which, order);
                    naive.extend(thread, which, order);
                }
                _ => {
                    h.fence(thread, order);
                    naive.fence(thread, order);
                }
            }
        }
        assert_eq!(found, naive.racy());
        racy[usize::from(found[0])] += 1;
    }
    assert!(racy[0] > 1000 && racy[1] > 1000, "both kinds: {racy:?}");
}

/// A shadow of the target's own asks for clocks only, and comes to the same answer.
#[test]
fn clocks_are_handed_out() {
    let mut h = History::new(3);
    let flag = h.atomic();
    let wrote = h.detector.epoch(ThreadId(1));
    let knows = |h: &History, thread| h.detector.clock(ThreadId(thread))[1] >= wrote;
    h.store(1, flag, Release);
    assert!(!knows(&h, 2));
    h.load(2, flag, Acquire);
    assert!(knows(&h, 2) && !knows(&h, 0));
    // The store began an epoch, which the load does not know.
    assert!(h.detector.epoch(ThreadId(1)) > h.detector.clock(ThreadId(2))[1]);
}

#[test]
fn a_thread_is_alone_when_it_has_joined_the_others() {
    let alone = |h: &History, thread| h.detector.alone(ThreadId(thread));
    let mut h = History::new(1);
    assert!(alone(&h, 0));
    h.spawn(0);
    assert!(!alone(&h, 0) && !alone(&h, 1));
    let grandchild = h.spawn(1);
    let main = ThreadId(0);
    h.detector.join(ThreadId(1), ThreadId(grandchild));
    assert!(!alone(&h, 0) && !alone(&h, 1));
    h.detector.join(main, ThreadId(1));
    h.detector.join(main, ThreadId(1));
    assert!(alone(&h, 0) && !alone(&h, 1));
    let ended = |thread| h.detector.epoch(ThreadId(thread));
    assert!((1..3).all(|other| h.detector.clock(main)[other as usize] >= ended(other)));
    h.spawn(0);
    assert!(!alone(&h, 0));
    h.restart(1);
    assert!(alone(&h, 0));
}

/// The definitions, taken literally: sets of steps instead of clocks.
#[derive(Default)]
struct Naive {
    /// For each thread: what happens before its next step; at its last release fence; seen by relaxed reads.
    past: [u64; 4],
    fence: [u64; 4],
    seen: [u64; 4],
    released: [u64; 2],
    accesses: alloc::vec::Vec<(usize, bool, u64, u32, u64)>,
    steps: u32,
}

impl Naive {
    fn access(&mut self, thread: u32, which: usize, write: bool) {
        let bit = 1 << self.steps;
        self.steps += 1;
        let past = self.past[thread as usize];
        self.accesses.push((which, write, bit, thread, past));
        self.past[thread as usize] |= bit;
    }

    fn load(&mut self, thread: u32, which: usize, order: Order) {
        let to = if order.acquires() {
            &mut self.past
        } else {
            &mut self.seen
        };
        to[thread as usize] |= self.released[which];
    }

    fn handed(&self, thread: u32, order: Order) -> u64 {
        if order.releases() {
            self.past[thread as usize]
        } else {
            self.fence[thread as usize]
        }
    }

    fn store(&mut self, thread: u32, which: usize, order: Order) {
        self.released[which] = self.handed(thread, order);
    }

    fn extend(&mut self, thread: u32, which: usize, order: Order) {
        self.released[which] |= self.handed(thread, order);
    }

    fn fence(&mut self, thread: u32, order: Order) {
        let thread = thread as usize;
        if order.acquires() {
            self.past[thread] |= self.seen[thread];
        }
        if order.releases() {
            self.fence[thread] = self.past[thread];
        }
    }

    fn racy(&self) -> [bool; 2] {
        let mut racy = [false; 2];
        for (i, a) in self.accesses.iter().enumerate() {
            for b in &self.accesses[i + 1..] {
                if a.0 == b.0 && a.3 != b.3 && (a.1 || b.1) && b.4 & a.2 == 0 {
                    racy[a.0] = true;
                }
            }
        }
        racy
    }
}

#[test]
fn what_is_not_understood_may_order_all_before_it_with_all_after_it() {
    let unknown = |h: &mut History| h.detector.unknown(ThreadId(1));
    // The thread's own steps before it, with those of another after it; and the other way round.
    assert!(!handed(|h, _| unknown(h), Object::Atomic(0)));
    let mut h = History::new(3);
    h.write(2);
    unknown(&mut h);
    assert!(!h.read(1));
    // Not what either does afterwards, and nothing of others among each other.
    let mut h = History::new(3);
    unknown(&mut h);
    h.write(1);
    assert!(h.read(2));
    let mut h = History::new(3);
    unknown(&mut h);
    h.write(2);
    assert!(h.read(1));
    let mut h = History::new(4);
    h.write(2);
    unknown(&mut h);
    assert!(h.read(3));
}
