//! Data races: which two plain accesses are not ordered by synchronisation.
//!
//! [`RaceDetector`] receives every thread, event, fence and plain access of a run in the order they happen, and answers
//! for each plain access whether an earlier one races with it. A target owns one and reuses it from run to run.
//!
//! Two accesses of one byte by different threads, at least one of them a write, race when neither happens before the
//! other. Happens-before is program order and synchronises-with, as C++20 has it: an acquire reads from a
//! release sequence, also by way of fences; unlock to lock; spawn and join; a message to its receiver, and a slot of a bounded
//! channel to the sender that uses it again; the last sender's or the receiver's end to whoever notices it; the end of a
//! one-time initialisation; a put into a pipe to the get of any of it or of what was put later; arrival at a barrier to leaving it; unpark to park; release to acquire of a semaphore. A
//! notification alone orders nothing: the mutex does. Readers of one rwlock do not order each other, nor do senders of one
//! channel.
//!
//! All this is a function of program order and of what each operation read, never of the order in which unrelated things
//! happened to be run, so equivalent runs have the same races. Sequentially consistent operations order as
//! acquire-release ones do.
//!
//! How each operation synchronises is a column of the table of operations ([`Synchronises`]).
//!
//! Never reports two accesses that are ordered. May miss nothing within one run in this sense: every run that has a race
//! reports one, and every location that is racy in a run is reported in it (FastTrack's guarantee: of each location at
//! least the first race). Accesses that are not reported to it cannot be judged.
//!
//! A target with many accesses records them in [`Shadow`](crate::Shadow) and takes only the clocks from here.
//!
//! The path of an event: [`RaceDetector::event`], by operation to `acquire`, `release` and the like, joins of `clocks`. Of an
//! access: [`RaceDetector::access`], `accesses`.

mod accesses;
mod clocks;
mod sites;
#[cfg(test)]
mod tests;

use accesses::{Accesses, Stamp};
use alloc::vec::Vec;
use clocks::{Clocks, Row};
use reweave_model::{
    Access, Class, Edge, Event, ObjectId, Op, Order, Site, Synchronises, ThreadId,
};
use sites::Sites;

/// Two accesses of one location that nothing orders.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaceFound {
    /// The first byte that both touch.
    pub address: usize,
    /// The earlier access in this run.
    pub first: Site,
    /// Whose it was.
    pub first_thread: ThreadId,
    /// Whether it wrote.
    pub first_write: bool,
    /// The access that found it.
    pub second: Site,
    /// Whose it is.
    pub second_thread: ThreadId,
    /// Whether it writes.
    pub second_write: bool,
}

/// Happens-before of one run, and its plain accesses.
#[derive(Clone, Debug, Default)]
pub struct RaceDetector {
    clocks: Clocks,
    threads: Vec<Thread>,
    /// How many of them nobody has joined.
    live: usize,
    /// For each thread, its events that an [`Edge`] may name later, by count, with what they know. Outlives the run for
    /// its memory.
    marks: Vec<Vec<(u32, Row)>>,
    objects: Vec<Sync>,
    accesses: Accesses,
    weak: Sites,
    /// For each thread the beginnings of rounds that may be taken back.
    rounds: Vec<Vec<Round>>,
    /// Whether there are any.
    any_rounds: bool,
    /// What atomics handed on before a read-modify-write wrote there what it had read: whose, and how many events it had done.
    left: Vec<(Edge, ObjectId, Held)>,
}

/// What a thread knew when it had done so many events.
#[derive(Clone, Copy, Debug)]
struct Round {
    count: u32,
    clock: Row,
    seen: Row,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    /// What happens before the thread's next step. The own entry counts epochs, from 1: it grows after every step that hands
    /// the clock on, so what the thread does later is not taken for known.
    clock: Row,
    /// What it knew at its last release fence.
    fence: Row,
    /// What its relaxed reads saw released; an acquire fence makes it known.
    seen: Row,
    /// The round of the barrier it is in.
    round: Row,
    /// Events done.
    count: u32,
    /// Whether somebody has joined it: it is at its end then.
    joined: bool,
}

/// What an object hands on. `main`: releases, unlocks, the current round of a barrier, departed senders; `other`: unlocks
/// of readers, the departed receiver.
#[derive(Clone, Copy, Debug)]
struct Sync {
    main: Held,
    other: Held,
    round: Option<Class>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    row: Row,
    /// Whether the row holds anything; an empty one is kept for its memory.
    full: bool,
}

const NOTHING: Held = Held {
    row: Row::NONE,
    full: false,
};

impl RaceDetector {
    /// Begins a run with its first thread, keeping memory.
    pub fn clear(&mut self) {
        self.clocks.clear();
        self.threads.clear();
        self.live = 0;
        self.objects.clear();
        self.accesses.clear();
        self.rounds.iter_mut().for_each(Vec::clear);
        self.any_rounds = false;
        self.left.clear();
        let clock = self.clocks.empty();
        self.add_thread(clock);
    }

    fn add_thread(&mut self, clock: Row) {
        let index = self.threads.len();
        self.clocks.set(clock, index, 1);
        self.threads.push(Thread {
            clock,
            fence: Row::NONE,
            seen: Row::NONE,
            round: Row::NONE,
            count: 0,
            joined: false,
        });
        self.live += 1;
        match self.marks.get_mut(index) {
            Some(marks) => marks.clear(),
            None => self.marks.push(Vec::new()),
        }
    }

    /// A thread creates the next one: what it did so far happens before all that the child does.
    pub fn spawn(&mut self, parent: ThreadId, child: ThreadId) {
        assert_eq!(
            child.index(),
            self.threads.len(),
            "threads are numbered in order of creation"
        );
        self.clocks.widen(child.index() + 1);
        let clock = self.clocks.copy(self.threads[parent.index()].clock);
        self.add_thread(clock);
        self.tick(parent);
    }

    /// A thread learns of all that a finished one did. [`RaceDetector::event`] does it for [`Op::Join`].
    pub fn join(&mut self, thread: ThreadId, finished: ThreadId) {
        let (mine, theirs) = (
            self.threads[thread.index()].clock,
            self.threads[finished.index()].clock,
        );
        self.clocks.join(mine, theirs);
        let joined = &mut self.threads[finished.index()].joined;
        self.live -= usize::from(!*joined);
        *joined = true;
    }

    /// What happens before the next step of a thread, as one epoch for each thread. For a target that has a shadow of its own
    /// instead of [`RaceDetector::access`]: an access happens before that step if its epoch is not above the entry of its thread.
    pub fn clock(&self, thread: ThreadId) -> &[u32] {
        self.clocks.words(self.threads[thread.index()].clock)
    }

    /// The epoch of a thread's accesses from now to its next event, fence or spawn.
    pub fn epoch(&self, thread: ThreadId) -> u32 {
        self.clock(thread)[thread.index()]
    }

    /// Whether a thread is the only one that nobody has joined. All that the others did then happens before its next step, for
    /// each of them was joined by one that was joined in turn, and in the end by this one. Until it spawns again its accesses race
    /// with nothing, and need not be recorded.
    pub fn alone(&self, thread: ThreadId) -> bool {
        self.live == 1 && !self.threads[thread.index()].joined
    }

    /// An operation was done.
    pub fn event(&mut self, event: &Event) {
        let (thread, op) = (event.thread, event.op);
        self.threads[thread.index()].count += 1;
        // Objects without a number do not occur where one is asked for.
        let object = op.object().unwrap_or(ObjectId(0));
        match op.kind().synchronises() {
            Synchronises::Nothing => return,
            // The count of a semaphore orders nothing, nor does looking at a pipe.
            Synchronises::Atomic
                if matches!(op, Op::Load(_) | Op::Await(..)) && is_count(event) =>
            {
                return;
            }
            Synchronises::Atomic => self.atomic(event, object),
            Synchronises::Join => {
                if let Op::Join(other) = op {
                    self.join(thread, other);
                }
            }
            Synchronises::Acquire if event.ok => self.acquire(thread, object),
            Synchronises::AcquireAll if event.ok => {
                self.acquire(thread, object);
                self.acquire_other(thread, object);
            }
            Synchronises::Acquire | Synchronises::AcquireAll => {}
            Synchronises::Release => self.release(thread, op.mutex().unwrap_or(object)),
            Synchronises::ReleaseMore if event.ok => self.release_more(thread, object),
            Synchronises::ReleaseMore => {}
            Synchronises::ReleaseShared => self.release_other(thread, object),
            Synchronises::Arrive => self.arrive(event, object),
            Synchronises::Leave => {
                let Thread { clock, round, .. } = self.threads[thread.index()];
                self.clocks.join(clock, round);
            }
            Synchronises::Message => self.message(event, object),
            Synchronises::Put => self.put_into(event, object),
        }
        self.tick(thread);
    }

    /// A thread comes to an operation that may turn out to be the first of a round which is taken back. `fresh`: those that were said before
    /// will not be.
    pub fn round_may_begin(&mut self, thread: ThreadId, fresh: bool) {
        let Thread {
            clock, seen, count, ..
        } = self.threads[thread.index()];
        let clock = self.clocks.copy(clock);
        let seen = match seen {
            Row::NONE => Row::NONE,
            seen => self.clocks.copy(seen),
        };
        let index = thread.index();
        if self.rounds.len() <= index {
            self.rounds.resize_with(index + 1, Vec::new);
        }
        let rounds = &mut self.rounds[index];
        if fresh {
            rounds.clear();
        }
        rounds.retain(|round| round.count < count);
        rounds.push(Round { count, clock, seen });
        self.any_rounds = true;
        if fresh {
            self.left.retain(|(edge, ..)| edge.thread != thread);
        }
    }

    /// The last so many events of a thread, and of the run, are taken back: they left atomics as they were, and what they learned and handed on
    /// is forgotten. The thread's own epochs go on.
    pub fn take_back(&mut self, thread: ThreadId, events: u32) {
        let epoch = self.epoch(thread);
        let me = &mut self.threads[thread.index()];
        me.count -= events;
        let count = me.count;
        let rounds = self.rounds.get(thread.index());
        let round = rounds.and_then(|rounds| rounds.iter().rev().find(|it| it.count == count));
        let &Round { clock, seen, .. } = round.expect("the round was said to begin there");
        let Thread {
            clock: mine,
            seen: saw,
            ..
        } = self.threads[thread.index()];
        self.clocks.assign(mine, clock);
        self.clocks.set(mine, thread.index(), epoch);
        if saw != Row::NONE {
            match seen {
                Row::NONE => self.threads[thread.index()].seen = Row::NONE,
                seen => self.clocks.assign(saw, seen),
            }
        }
        let marks = &mut self.marks[thread.index()];
        marks.retain(|(mark, _)| *mark <= count);
        while let Some(at) =
            (self.left.iter()).rposition(|(edge, ..)| edge.thread == thread && edge.count >= count)
        {
            let (_, object, held) = self.left.remove(at);
            self.objects[object.index()].main = held;
        }
    }

    /// An event that orders nothing: a plain access that is one.
    pub fn plain(&mut self, thread: ThreadId) {
        self.threads[thread.index()].count += 1;
        self.tick(thread);
    }

    /// A fence.
    pub fn fence(&mut self, thread: ThreadId, order: Order) {
        let Thread {
            clock, fence, seen, ..
        } = self.threads[thread.index()];
        if order.acquires() && seen != Row::NONE {
            self.clocks.join(clock, seen);
        }
        if order.releases() {
            if fence == Row::NONE {
                let fence = self.clocks.copy(clock);
                self.threads[thread.index()].fence = fence;
            } else {
                self.clocks.assign(fence, clock);
            }
            self.tick(thread);
        }
    }

    /// A thread has done something that is not understood: it may have ordered its steps before it with steps of others after it, and theirs before it
    /// with its own after it.
    pub fn unknown(&mut self, thread: ThreadId) {
        let mine = self.threads[thread.index()].clock;
        let before = self.clocks.copy(mine);
        for other in 0..self.threads.len() {
            let theirs = self.threads[other].clock;
            self.clocks.join(mine, theirs);
            if other != thread.index() {
                self.clocks.join(theirs, before);
            }
            self.tick(ThreadId(other as u32));
        }
    }

    /// A plain access; a race that it completes.
    pub fn access(
        &mut self,
        thread: ThreadId,
        address: usize,
        bytes: usize,
        write: bool,
        site: Site,
    ) -> Option<RaceFound> {
        let clock = self.threads[thread.index()].clock;
        let stamp = Stamp {
            thread: thread.0,
            epoch: self.clocks.get(clock, thread.index()),
            site,
        };
        let clash = self
            .accesses
            .access(&self.clocks, clock, stamp, (address, bytes), write)?;
        Some(RaceFound {
            address: clash.address,
            first: clash.first.site,
            first_thread: ThreadId(clash.first.thread),
            first_write: clash.write,
            second: site,
            second_thread: thread,
            second_write: write,
        })
    }

    /// The memory was given back (after an access that writes all of it): what lies there later is something else.
    pub fn forget(&mut self, address: usize, bytes: usize) {
        self.accesses.forget((address, bytes));
    }

    /// Notes a place that asks for less than sequential consistency. Done by [`RaceDetector::event`]; for fences, by the caller.
    pub fn weak_order(&mut self, site: Site) {
        self.weak.add(site);
    }

    /// How many places asked for less than sequential consistency in all runs so far.
    pub fn weak_orders(&self) -> usize {
        self.weak.used
    }

    /// These places, for putting together what several detectors saw.
    pub fn weak_sites(&self) -> impl Iterator<Item = Site> + '_ {
        self.weak.iter()
    }

    fn tick(&mut self, thread: ThreadId) {
        let clock = self.threads[thread.index()].clock;
        let epoch = self.clocks.get(clock, thread.index());
        self.clocks.set(clock, thread.index(), epoch + 1);
    }

    fn sync(&mut self, object: ObjectId) -> &mut Sync {
        let index = object.index();
        if index >= self.objects.len() {
            let fresh = Sync {
                main: NOTHING,
                other: NOTHING,
                round: None,
            };
            self.objects.resize(index + 1, fresh);
        }
        &mut self.objects[index]
    }

    fn learn(&mut self, thread: ThreadId, held: Held) {
        if held.full {
            self.clocks
                .join(self.threads[thread.index()].clock, held.row);
        }
    }

    fn acquire(&mut self, thread: ThreadId, object: ObjectId) {
        let held = self.sync(object).main;
        self.learn(thread, held);
    }

    fn acquire_other(&mut self, thread: ThreadId, object: ObjectId) {
        let held = self.sync(object).other;
        self.learn(thread, held);
    }

    /// `held = source`
    fn put(&mut self, mut held: Held, source: Row) -> Held {
        if held.row == Row::NONE {
            held.row = self.clocks.copy(source);
        } else {
            self.clocks.assign(held.row, source);
        }
        held.full = true;
        held
    }

    /// `held = held ∪ source`
    fn add(&mut self, held: Held, source: Row) -> Held {
        if !held.full {
            return self.put(held, source);
        }
        self.clocks.join(held.row, source);
        held
    }

    fn release(&mut self, thread: ThreadId, object: ObjectId) {
        let held = self.sync(object).main;
        let held = self.put(held, self.threads[thread.index()].clock);
        self.objects[object.index()].main = held;
    }

    fn release_more(&mut self, thread: ThreadId, object: ObjectId) {
        let held = self.sync(object).main;
        let held = self.add(held, self.threads[thread.index()].clock);
        self.objects[object.index()].main = held;
    }

    fn release_other(&mut self, thread: ThreadId, object: ObjectId) {
        let held = self.sync(object).other;
        let held = self.add(held, self.threads[thread.index()].clock);
        self.objects[object.index()].other = held;
    }

    fn atomic(&mut self, event: &Event, object: ObjectId) {
        let (thread, order) = (event.thread, event.order);
        if order.weak() {
            self.weak_order(event.site);
        }
        // A loop that waits for a change reads too.
        let (reads, writes) = event.op.reads_and_writes(event.ok).unwrap_or((true, false));
        match (reads, writes) {
            (true, false) if event.ok => self.load(thread, object, order.success),
            (true, false) => self.load(thread, object, order.failure),
            (false, _) => self.store(thread, object, order.success),
            (true, true) => {
                if self.any_rounds && event.leaves_value() {
                    self.remember(thread, object);
                }
                self.load(thread, object, order.success);
                self.extend(thread, object, order.success);
            }
        }
    }

    /// The operation under way may be taken back.
    fn remember(&mut self, thread: ThreadId, object: ObjectId) {
        let mut held = self.sync(object).main;
        if held.row != Row::NONE {
            held.row = self.clocks.copy(held.row);
        }
        let count = self.threads[thread.index()].count - 1;
        self.left.push((Edge { thread, count }, object, held));
    }

    fn load(&mut self, thread: ThreadId, object: ObjectId, order: Order) {
        if order.acquires() {
            self.acquire(thread, object);
            return;
        }
        let held = self.sync(object).main;
        if held.full {
            let seen = self.threads[thread.index()].seen;
            if seen == Row::NONE {
                let seen = self.clocks.copy(held.row);
                self.threads[thread.index()].seen = seen;
            } else {
                self.clocks.join(seen, held.row);
            }
        }
    }

    /// A store begins a release sequence of its own and ends any other.
    fn store(&mut self, thread: ThreadId, object: ObjectId, order: Order) {
        let held = self.sync(object).main;
        let source = self.hands_on(thread, order);
        let held = if source == Row::NONE {
            Held {
                full: false,
                ..held
            }
        } else {
            self.put(held, source)
        };
        self.objects[object.index()].main = held;
    }

    /// The write of a read-modify-write belongs to the release sequences it reads from, and to its own.
    fn extend(&mut self, thread: ThreadId, object: ObjectId, order: Order) {
        let source = self.hands_on(thread, order);
        if source != Row::NONE {
            let held = self.sync(object).main;
            let held = self.add(held, source);
            self.objects[object.index()].main = held;
        }
    }

    /// What a write of this order releases: all that the thread knows, or what it knew at its last release fence.
    fn hands_on(&self, thread: ThreadId, order: Order) -> Row {
        let thread = &self.threads[thread.index()];
        if order.releases() {
            thread.clock
        } else {
            thread.fence
        }
    }

    /// Each round of a barrier has a clock of its own. The next round may fill up while threads still leave this one; rounds
    /// that follow each other differ in the class of their arrivals.
    fn arrive(&mut self, event: &Event, barrier: ObjectId) {
        let class = event.access[0].map(|access| access.class);
        let clock = self.threads[event.thread.index()].clock;
        let sync = *self.sync(barrier);
        let held = if sync.round == class {
            self.add(sync.main, clock)
        } else {
            self.put(NOTHING, clock)
        };
        let sync = &mut self.objects[barrier.index()];
        sync.main = held;
        sync.round = class;
        self.threads[event.thread.index()].round = held.row;
    }

    fn message(&mut self, event: &Event, channel: ObjectId) {
        let thread = event.thread;
        if !event.ok {
            match event.access[0].map(|access| access.class) {
                Some(Class::Hangup) => self.acquire(thread, channel),
                Some(Class::Refused) => self.acquire_other(thread, channel),
                _ => {}
            }
            return;
        }
        let Thread { clock, count, .. } = self.threads[thread.index()];
        if let Some(row) = event.after.and_then(|edge| self.mark_of(edge)) {
            self.clocks.join(clock, row);
        }
        if !matches!(event.op, Op::Handoff(..)) {
            let row = self.clocks.copy(clock);
            self.marks[thread.index()].push((count, row));
        }
    }

    /// What is put into a pipe is got in this order: so a thread that gets some of it knows all that was put before, too.
    fn put_into(&mut self, event: &Event, pipe: ObjectId) {
        self.message(event, pipe);
        if event.ok {
            self.release_more(event.thread, pipe);
            let all = self.clocks.copy(self.objects[pipe.index()].main.row);
            if let Some((_, row)) = self.marks[event.thread.index()].last_mut() {
                *row = all;
            }
        }
    }

    fn mark_of(&self, edge: Edge) -> Option<Row> {
        let marks = &self.marks[edge.thread.index()];
        let at = marks.binary_search_by_key(&edge.count, |mark| mark.0);
        at.ok().map(|at| marks[at].1)
    }
}

fn is_count(event: &Event) -> bool {
    let looks = |access: Access| matches!(access.class, Class::AcquireProbe | Class::Look);
    event.access[0].is_some_and(looks)
}
