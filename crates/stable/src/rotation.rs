//! The rotation: which thread synchronises next.
//!
//! *Decides:* whose turn it is, which waiter a wake-up takes, and which timed wait ends first. *Called by:* `turn.rs`, under its lock.
//! *Owns:* the ring of running threads, the queues of waiting ones, and the count of turns. *Invariants:* everything here is a function of
//! the calls made so far, never of time or addresses' order; nothing is allocated, since the program's allocator may synchronise itself.
//!
//! A thread keeps its place in the ring while it computes. Its turn comes, it synchronises, and the turn passes to the next one.

/// How many threads a process can have at once.
pub const THREADS: usize = 4096;

const BUCKETS: usize = 256;
/// No thread: numbers begin with 1, so that what was never used is zero, and takes no room in the file.
const NONE: u16 = 0;

/// A thread, by the order in which threads were created. Numbers of ended threads are given again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member(u16);

impl Member {
    /// The thread with this number.
    pub const fn of(number: u16) -> Member {
        Member(number)
    }

    /// Its number.
    pub const fn number(self) -> u16 {
        self.0
    }

    fn slot(self) -> usize {
        self.0 as usize
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Woken {
    /// Another thread woke it.
    Signalled = 0,
    /// Its time was over.
    TimedOut,
    /// It was cancelled.
    Cancelled,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Free = 0,
    /// In the ring.
    Running,
    /// In a queue.
    Waiting,
    /// In neither: it waits for something that is not scheduled here, or synchronises as it likes.
    Outside,
    /// At its end, not joined yet.
    Ended,
}

#[derive(Clone, Copy)]
struct Slot {
    place: Place,
    /// A wake-up lets it go on outside of the ring.
    outside: bool,
    woken: Woken,
    /// Neighbours in the ring.
    next: u16,
    before: u16,
    /// What it waits for.
    key: usize,
    /// The next waiter in its queue.
    behind: u16,
    /// The turn at which its wait ends; 0 if it has no end.
    deadline: u64,
    /// The next timed waiter.
    later: u16,
}

const FREE: Slot = Slot {
    place: Place::Free,
    outside: false,
    woken: Woken::Signalled,
    next: NONE,
    before: NONE,
    key: 0,
    behind: NONE,
    deadline: 0,
    later: NONE,
};

/// See the module.
pub struct Rotation {
    slots: [Slot; THREADS + 1],
    /// Whose turn it is; `NONE` if nothing runs.
    head: u16,
    turns: u64,
    /// First waiter of each queue; waiters of several keys share one, in the order of their arrival.
    queues: [u16; BUCKETS],
    /// Timed waiters, the earliest end first.
    timed: u16,
    /// Slots behind this one were never used.
    used: u16,
}

impl Rotation {
    /// Without threads.
    pub const fn new() -> Rotation {
        Rotation {
            slots: [FREE; THREADS + 1],
            head: NONE,
            turns: 0,
            queues: [NONE; BUCKETS],
            timed: NONE,
            used: 0,
        }
    }

    /// How many turns were taken.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// Whose turn it is.
    pub fn holder(&self) -> Option<Member> {
        (self.head != NONE).then_some(Member(self.head))
    }

    /// Whether a thread is in the ring.
    pub fn runs(&self, member: Member) -> bool {
        self.slots[member.slot()].place == Place::Running
    }

    /// Whether a thread waits in a queue.
    pub fn waits(&self, member: Member) -> bool {
        self.slots[member.slot()].place == Place::Waiting
    }

    /// Whether any thread waits in a queue.
    pub fn any_waits(&self) -> bool {
        let used = &self.slots[..=self.used as usize];
        used.iter().any(|slot| slot.place == Place::Waiting)
    }

    /// Whether a thread is at its end.
    pub fn ended(&self, member: Member) -> bool {
        self.slots[member.slot()].place == Place::Ended
    }

    /// Adds a thread, with the last turn. `None` if there are too many.
    pub fn join(&mut self) -> Option<Member> {
        let used = &self.slots[1..=self.used as usize];
        let free = used.iter().position(|slot| slot.place == Place::Free);
        let number = match free {
            Some(before) => before as u16 + 1,
            None if (self.used as usize) < THREADS => {
                self.used += 1;
                self.used
            }
            None => return None,
        };
        self.slots[number as usize] = FREE;
        self.enter(number);
        Some(Member(number))
    }

    /// Passes the turn on.
    pub fn pass(&mut self) {
        self.turns += 1;
        if self.head != NONE {
            self.head = self.slots[self.head as usize].next;
        }
    }

    /// Lets a thread wait for a wake-up of `key`, or until so many turns were taken.
    pub fn block(&mut self, member: Member, key: usize, deadline: Option<u64>) {
        let outside = self.slots[member.slot()].place == Place::Outside;
        if !outside {
            self.turns += 1;
            self.remove(member.0);
        }
        let slot = &mut self.slots[member.slot()];
        slot.place = Place::Waiting;
        slot.outside = outside;
        slot.key = key;
        slot.behind = NONE;
        // The end of the first turn is the earliest there is.
        slot.deadline = deadline.map_or(0, |end| end.max(1));
        let mut last = NONE;
        let mut at = self.queues[bucket(key)];
        while at != NONE {
            last = at;
            at = self.slots[at as usize].behind;
        }
        match last {
            NONE => self.queues[bucket(key)] = member.0,
            last => self.slots[last as usize].behind = member.0,
        }
        if deadline.is_some() {
            self.insert_timed(member.0);
        }
    }

    /// Wakes the thread that has waited longest for `key`.
    pub fn wake_one(&mut self, key: usize) -> Option<Member> {
        let mut at = self.queues[bucket(key)];
        while at != NONE {
            if self.slots[at as usize].key == key {
                self.wake(Member(at), Woken::Signalled);
                return Some(Member(at));
            }
            at = self.slots[at as usize].behind;
        }
        None
    }

    /// Ends a thread's wait. It gets the last turn.
    pub fn wake(&mut self, member: Member, why: Woken) {
        debug_assert!(self.waits(member), "only waits end");
        self.leave_queue(member.0);
        self.remove_timed(member.0);
        self.slots[member.slot()].woken = why;
        match self.slots[member.slot()].outside {
            true => self.slots[member.slot()].place = Place::Outside,
            false => self.enter(member.0),
        }
    }

    /// Why its last wait ended.
    pub fn woken(&self, member: Member) -> Woken {
        self.slots[member.slot()].woken
    }

    /// The next timed wait whose turn has come.
    pub fn overdue(&self) -> Option<Member> {
        let first = self.timed;
        (first != NONE && self.slots[first as usize].deadline <= self.turns)
            .then_some(Member(first))
    }

    /// If nothing runs, the timed wait that ends first.
    pub fn next_timeout(&self) -> Option<Member> {
        (self.head == NONE && self.timed != NONE).then_some(Member(self.timed))
    }

    /// The turn at which a timed wait ends.
    pub fn deadline_of(&self, member: Member) -> u64 {
        self.slots[member.slot()].deadline
    }

    /// Forgets all threads.
    pub fn clear(&mut self) {
        self.slots[1..=self.used as usize].fill(FREE);
        (self.head, self.timed, self.used) = (NONE, NONE, 0);
        self.queues = [NONE; BUCKETS];
    }

    /// Turns pass in which nothing is done, up to the end of a thread's wait.
    pub fn skip_to(&mut self, member: Member) {
        self.turns = self.turns.max(self.slots[member.slot()].deadline);
    }

    /// Takes a thread out of the ring: it will wait for something that is not scheduled here.
    pub fn leave(&mut self, member: Member) {
        self.remove(member.0);
        self.slots[member.slot()].place = Place::Outside;
    }

    /// Puts it back, with the last turn.
    pub fn rejoin(&mut self, member: Member) {
        self.enter(member.0);
    }

    /// Whether a thread is neither in the ring nor in a queue.
    pub fn outside(&self, member: Member) -> bool {
        self.slots[member.slot()].place == Place::Outside
    }

    /// A thread reaches its end. Its number is given again after [`Rotation::free`].
    pub fn end(&mut self, member: Member) {
        if self.runs(member) {
            self.remove(member.0);
        }
        self.slots[member.slot()].place = Place::Ended;
    }

    /// Forgets a thread that has ended.
    pub fn free(&mut self, member: Member) {
        self.slots[member.slot()].place = Place::Free;
    }

    fn enter(&mut self, number: u16) {
        match self.head {
            NONE => {
                self.head = number;
                let slot = &mut self.slots[number as usize];
                (slot.next, slot.before) = (number, number);
            }
            head => {
                let last = self.slots[head as usize].before;
                self.slots[last as usize].next = number;
                self.slots[head as usize].before = number;
                let slot = &mut self.slots[number as usize];
                (slot.next, slot.before) = (head, last);
            }
        }
        self.slots[number as usize].place = Place::Running;
    }

    fn remove(&mut self, number: u16) {
        let Slot { next, before, .. } = self.slots[number as usize];
        if next == number {
            self.head = NONE;
            return;
        }
        self.slots[before as usize].next = next;
        self.slots[next as usize].before = before;
        if self.head == number {
            self.head = next;
        }
    }

    fn leave_queue(&mut self, number: u16) {
        let Slot { key, behind, .. } = self.slots[number as usize];
        let mut at = self.queues[bucket(key)];
        if at == number {
            self.queues[bucket(key)] = behind;
            return;
        }
        while self.slots[at as usize].behind != number {
            at = self.slots[at as usize].behind;
        }
        self.slots[at as usize].behind = behind;
    }

    fn insert_timed(&mut self, number: u16) {
        let deadline = self.slots[number as usize].deadline;
        let (mut before, mut at) = (NONE, self.timed);
        while at != NONE && self.slots[at as usize].deadline <= deadline {
            (before, at) = (at, self.slots[at as usize].later);
        }
        self.slots[number as usize].later = at;
        match before {
            NONE => self.timed = number,
            before => self.slots[before as usize].later = number,
        }
    }

    fn remove_timed(&mut self, number: u16) {
        if self.slots[number as usize].deadline == 0 {
            return;
        }
        let later = self.slots[number as usize].later;
        let mut at = self.timed;
        if at == number {
            self.timed = later;
            return;
        }
        while self.slots[at as usize].later != number {
            at = self.slots[at as usize].later;
        }
        self.slots[at as usize].later = later;
    }
}

fn bucket(key: usize) -> usize {
    // Objects are 8 bytes apart at least. Which bucket a key has decides nothing: waiters of one key keep their order.
    (key >> 3) % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> (Box<Rotation>, [Member; 3]) {
        let mut rotation = Box::new(Rotation::new());
        let members = [(); 3].map(|()| rotation.join().unwrap());
        (rotation, members)
    }

    #[test]
    fn turns_go_round() {
        let (mut rotation, [a, b, c]) = three();
        let mut order = Vec::new();
        for _ in 0..6 {
            order.push(rotation.holder().unwrap());
            rotation.pass();
        }
        assert_eq!(order, [a, b, c, a, b, c]);
        assert_eq!(rotation.turns(), 6);
    }

    #[test]
    fn a_woken_thread_has_the_last_turn() {
        let (mut rotation, [a, b, c]) = three();
        assert!(!rotation.any_waits());
        rotation.block(a, 8, None);
        assert!(rotation.any_waits());
        assert_eq!(rotation.holder(), Some(b));
        assert_eq!(rotation.wake_one(8), Some(a));
        assert_eq!(rotation.wake_one(8), None);
        rotation.pass();
        assert_eq!(rotation.holder(), Some(c));
        rotation.pass();
        assert_eq!(rotation.holder(), Some(a));
    }

    #[test]
    fn waiters_of_one_key_wake_in_their_order() {
        let (mut rotation, [a, b, c]) = three();
        rotation.block(a, 8, None);
        // Another key of the same queue stands between them.
        rotation.block(b, 8 + 8 * BUCKETS, None);
        rotation.block(c, 8, None);
        assert_eq!(rotation.holder(), None);
        assert_eq!(rotation.wake_one(8), Some(a));
        assert_eq!(rotation.wake_one(8), Some(c));
        assert!(rotation.waits(b));
    }

    #[test]
    fn timed_waits_end_by_turns_and_in_order() {
        let (mut rotation, [a, b, c]) = three();
        rotation.block(a, 8, Some(9));
        rotation.block(b, 16, Some(4));
        assert_eq!(rotation.overdue(), None);
        rotation.pass();
        rotation.pass();
        assert_eq!(rotation.overdue(), Some(b));
        rotation.wake(b, Woken::TimedOut);
        assert_eq!(rotation.woken(b), Woken::TimedOut);
        assert_eq!(rotation.overdue(), None);
        assert_eq!(rotation.next_timeout(), None, "threads run");
        rotation.block(b, 16, None);
        rotation.block(c, 24, None);
        assert_eq!(rotation.next_timeout(), Some(a));
        rotation.skip_to(a);
        assert_eq!(rotation.overdue(), Some(a));
    }

    #[test]
    fn threads_outside_are_passed_over() {
        let (mut rotation, [a, b, c]) = three();
        rotation.leave(b);
        rotation.pass();
        assert_eq!(rotation.holder(), Some(c));
        rotation.block(b, 8, None);
        rotation.wake_one(8);
        assert!(rotation.outside(b));
        rotation.rejoin(b);
        rotation.pass();
        rotation.pass();
        assert_eq!(rotation.holder(), Some(b));
        rotation.end(b);
        assert_eq!(rotation.holder(), Some(c));
        rotation.free(b);
        assert_eq!(rotation.join(), Some(b));
        rotation.end(c);
        assert_eq!(rotation.holder(), Some(a));
    }

    proptest::proptest! {
        /// Ring and queues hold each thread once, whatever happens; what happens is a function of the calls.
        #[test]
        fn no_thread_is_lost(calls in proptest::collection::vec((0u8..6, 0usize..4), 0..200)) {
            let (mut rotation, members) = three();
            for (call, choice) in calls {
                let Some(holder) = rotation.holder() else {
                    match rotation.next_timeout() {
                        Some(first) => {
                            rotation.skip_to(first);
                            rotation.wake(first, Woken::TimedOut);
                        }
                        None => { (0..4).for_each(|key| { rotation.wake_one(key * 8); }); }
                    }
                    continue;
                };
                match call {
                    0 => rotation.pass(),
                    1 => rotation.block(holder, choice * 8, None),
                    2 => { let end = rotation.turns() + choice as u64; rotation.block(holder, choice * 8, Some(end)); }
                    3 => { rotation.wake_one(choice * 8); rotation.pass(); }
                    4 => { rotation.leave(holder); rotation.rejoin(holder); }
                    _ => while let Some(late) = rotation.overdue() { rotation.wake(late, Woken::TimedOut); },
                }
                let mut ring = Vec::new();
                if let Some(first) = rotation.holder() {
                    let mut at = first.0;
                    loop {
                        ring.push(at);
                        at = rotation.slots[at as usize].next;
                        if at == first.0 { break }
                    }
                }
                for member in members {
                    proptest::prop_assert_eq!(rotation.runs(member), ring.contains(&member.0));
                    proptest::prop_assert!(rotation.runs(member) != rotation.waits(member));
                }
            }
        }
    }
}
