//! Reference counts, where they matter.
//!
//! *Decides:* whether an execution depends on the order in which references of an `Arc` are made and dropped. *Called by:* `sync::Arc` and
//! `sync::Weak`; every visible action of a thread, for the case that it is done by a destructor. *Owns:* a record of each `Arc` that was made in the
//! execution under way.
//!
//! A count that nothing depends on is no event ([`Level::Hidden`]). It matters in two cases:
//!
//! * The value's destructor does something visible (an operation, an access to a checked cell, a panic), and some earlier drop does not happen
//!   before the last one. Then another thread could have come last. Each drop becomes an event ([`Level::Drops`]). Clones need none: a reference that
//!   is cloned is alive, so no drop of another one is the last, neither before nor after the clone.
//! * The program looks at a count (`get_mut`, `try_unwrap`, `strong_count`, `Weak::upgrade`, ...), and what it sees could be something else. Then
//!   clones and looks are events too ([`Level::All`]).
//!
//! Happens-before is the race detector's: a function of program order and of what was read, the same in all executions of a class. So if
//! nothing else was possible in the execution that was run, nothing else was possible in its class.
//!
//! *Invariants.* At `Level::All` the object's value is the number of strong references, plus 2^32 for each weak one. At `Level::Drops` it means
//! nothing; std's own count says which drop is the last. Between an event and the change of std's count no other thread runs.
//!
//! *Limit.* An `Arc` that was made outside of the execution is not recorded. Looking at its counts is reported as misuse.

use super::{Task, fence, give_up, op_ordered, poll, races::Mark, task, wanted::Level};
use reweave_conduct::Next;
use reweave_model::{End, Error, Kind, Object, ObjectId, Op, Rmw, RmwKind, ThreadId};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    panic::Location,
    sync::atomic::Ordering::{self, Acquire, Relaxed, Release},
};

/// What a weak reference adds to the value of the object.
pub(crate) const WEAK: u64 = 1 << 32;

/// See the module.
#[derive(Default)]
pub(crate) struct Arcs {
    records: RefCell<Records>,
    /// Whether any count is visible.
    any: Cell<bool>,
}

#[derive(Default)]
struct Records {
    live: Vec<Record>,
    /// By address, while there are many.
    places: HashMap<usize, usize>,
    /// For their memory.
    spare: Vec<Record>,
}

struct Record {
    address: usize,
    place: &'static Location<'static>,
    level: Level,
    object: Option<ObjectId>,
    /// The last drop of each thread.
    drops: Vec<(ThreadId, Mark)>,
    /// The last drop of a weak reference by each thread.
    weak_drops: Vec<(ThreadId, Mark)>,
    /// The last successful upgrade of each thread.
    upgrades: Vec<(ThreadId, Mark)>,
}

/// Up to so many records are looked through.
const FEW: usize = 16;

impl Records {
    fn find(&mut self, address: usize) -> Option<&mut Record> {
        let place = self.place(address)?;
        Some(&mut self.live[place])
    }

    fn place(&self, address: usize) -> Option<usize> {
        if self.live.len() > FEW {
            return self.places.get(&address).copied();
        }
        let same = |record: &Record| record.address == address;
        self.live.iter().rposition(same)
    }

    fn add(&mut self, address: usize, place: &'static Location<'static>, level: Level) {
        self.remove(address);
        let mut record = self.spare.pop().unwrap_or_else(|| Record::new(place));
        (record.address, record.place, record.level) = (address, place, level);
        self.live.push(record);
        match self.live.len() - 1 {
            FEW => {
                let all = self.live.iter().enumerate();
                self.places = all.map(|(place, it)| (it.address, place)).collect();
            }
            last if last > FEW => {
                self.places.insert(address, last);
            }
            _ => {}
        }
    }

    fn remove(&mut self, address: usize) {
        let Some(place) = self.place(address) else {
            return;
        };
        let mut record = self.live.swap_remove(place);
        if !self.places.is_empty() {
            self.places.remove(&address);
            if let Some(moved) = self.live.get(place) {
                self.places.insert(moved.address, place);
            }
            if self.live.len() <= FEW {
                self.places.clear();
            }
        }
        record.clear();
        self.spare.push(record);
    }

    fn clear(&mut self) {
        self.places.clear();
        for mut record in self.live.drain(..) {
            record.clear();
            self.spare.push(record);
        }
    }
}

impl Record {
    fn new(place: &'static Location<'static>) -> Record {
        Record {
            address: 0,
            place,
            level: Level::Hidden,
            object: None,
            drops: Vec::new(),
            weak_drops: Vec::new(),
            upgrades: Vec::new(),
        }
    }

    fn clear(&mut self) {
        self.object = None;
        self.drops.clear();
        self.weak_drops.clear();
        self.upgrades.clear();
    }
}

fn note(marks: &mut Vec<(ThreadId, Mark)>, thread: ThreadId, mark: Mark) {
    match marks.iter_mut().find(|(other, _)| *other == thread) {
        Some((_, known)) => *known = mark,
        None => marks.push((thread, mark)),
    }
}

impl Arcs {
    /// An execution begins.
    pub(crate) fn begin(&self, any: bool) {
        self.any.set(any);
        self.records.borrow_mut().clear();
    }

    /// The records are in use.
    pub(crate) fn busy(&self) -> bool {
        self.records.try_borrow_mut().is_err()
    }
}

/// A value whose destructor is about to run, or running.
pub(crate) struct Fall {
    address: usize,
    /// It has done nothing visible so far.
    silent: bool,
}

/// An `Arc` was made.
#[inline]
pub(crate) fn made(address: usize, place: &'static Location<'static>) {
    let Some(task) = task().filter(|task| !task.world().ending.get()) else {
        return;
    };
    let world = task.world();
    let level = match world.arcs.any.get() {
        true => world.visible.borrow().level(place),
        false => Level::Hidden,
    };
    let mut records = world.arcs.records.borrow_mut();
    records.add(address, place, level);
}

/// As [`made`], for one that may be known.
pub(crate) fn adopted(address: usize, place: &'static Location<'static>) {
    let Some(task) = task() else { return };
    let known = task
        .world()
        .arcs
        .records
        .borrow_mut()
        .find(address)
        .is_some();
    if !known {
        made(address, place);
    }
}

/// Its counts and what is to be done about them. Only in a check.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) address: usize,
    pub(crate) strong: usize,
    pub(crate) weak: usize,
}

impl Counts {
    fn word(self) -> u64 {
        self.strong as u64 + self.weak as u64 * WEAK
    }

    /// The object, if changes of this kind are events.
    fn object(self, task: &Task, least: Level) -> Option<ObjectId> {
        let world = task.world();
        if !world.arcs.any.get() {
            return None;
        }
        let mut records = world.arcs.records.borrow_mut();
        let record = records.find(self.address)?;
        if record.level < least {
            return None;
        }
        Some(*record.object.get_or_insert_with(|| {
            let mut run = world.run.borrow_mut();
            run.object(Object::Atomic(self.word()))
        }))
    }
}

/// The running thread of a check that has not ended.
#[inline]
fn checked<'a>() -> Option<&'a Task> {
    task().filter(|task| !task.world().ending.get())
}

/// A reference is about to be made from another one: a strong one, or a weak one (`by` is [`WEAK`]).
#[inline]
#[track_caller]
pub(crate) fn clones(counts: impl FnOnce() -> Counts, by: u64, order: Ordering) {
    let Some(task) = checked() else { return };
    if task.world().arcs.any.get() {
        if let Some(object) = counts().object(task, Level::All) {
            op_ordered(change(object, RmwKind::Add, by), order, None);
        }
    }
}

/// A strong reference is about to be dropped.
#[inline]
pub(crate) fn drops(counts: impl Fn() -> Counts) {
    let Some(task) = checked() else { return };
    if let Some(object) = counts().object(task, Level::Drops) {
        op_ordered(change(object, RmwKind::Sub, 1), Release, None);
        if counts().strong == 1 {
            fence(Acquire);
        }
    }
    // Noted for looks too, which are not events at `Level::Drops`.
    let world = task.world();
    let mark = world.races.borrow_mut().mark(task.thread);
    let mut records = world.arcs.records.borrow_mut();
    if task.silent_falls.get() > 0 {
        inherit(task, &mut records, counts().address, |it| &mut it.drops);
    }
    if let Some(record) = records.find(counts().address) {
        note(&mut record.drops, task.thread, mark);
    }
}

/// A reference is dropped by the destructor of another value: whichever thread drops that one last could do so.
#[cold]
fn inherit(
    task: &Task,
    records: &mut Records,
    address: usize,
    marks: fn(&mut Record) -> &mut Vec<(ThreadId, Mark)>,
) {
    let falls = task.falls.borrow();
    for fall in falls.iter().filter(|fall| fall.silent) {
        let outer = records.find(fall.address).map(|it| it.drops.clone());
        let (Some(outer), Some(inner)) = (outer, records.find(address)) else {
            continue;
        };
        let inner = marks(inner);
        for (thread, mark) in outer {
            if !inner.iter().any(|(known, _)| *known == thread) {
                inner.push((thread, mark));
            }
        }
    }
}

/// A weak reference is about to be dropped.
pub(crate) fn drops_weak(counts: Counts) {
    let Some(task) = checked() else { return };
    if let Some(object) = counts.object(task, Level::All) {
        op_ordered(change(object, RmwKind::Sub, WEAK), Release, None);
        return;
    }
    let world = task.world();
    let mark = world.races.borrow_mut().mark(task.thread);
    let mut records = world.arcs.records.borrow_mut();
    if task.silent_falls.get() > 0 {
        inherit(task, &mut records, counts.address, |it| &mut it.weak_drops);
    }
    if let Some(record) = records.find(counts.address) {
        note(&mut record.weak_drops, task.thread, mark);
    }
}

fn change(object: ObjectId, kind: RmwKind, operand: u64) -> Op {
    let rmw = Rmw {
        kind,
        operand,
        bits: 64,
    };
    Op::Rmw(object, rmw)
}

/// While this lives, the destructor of a value whose last reference was dropped runs.
pub(crate) struct Falling {
    address: usize,
    weak: bool,
}

impl Falling {
    /// Only in a check.
    pub(crate) fn begin(counts: Counts) -> Option<Falling> {
        let task = checked()?;
        let world = task.world();
        let (level, upgraded) = {
            let mut records = world.arcs.records.borrow_mut();
            let record = records.find(counts.address)?;
            (record.level, !record.upgrades.is_empty())
        };
        if level < Level::All && upgraded && !settled(task, counts.address, |it| &it.upgrades) {
            want(task, counts.address, Level::All);
        }
        let silent = level == Level::Hidden;
        let address = counts.address;
        task.falls.borrow_mut().push(Fall { address, silent });
        task.silent_falls
            .set(task.silent_falls.get() + u32::from(silent));
        let weak = counts.weak > 0;
        Some(Falling { address, weak })
    }
}

impl Drop for Falling {
    fn drop(&mut self) {
        let Some(task) = task() else { return };
        if let Some(fall) = task.falls.borrow_mut().pop() {
            let silent = u32::from(fall.silent);
            task.silent_falls.set(task.silent_falls.get() - silent);
        }
        if !self.weak {
            let mut records = task.world().arcs.records.borrow_mut();
            records.remove(self.address);
        }
    }
}

/// The thread does something visible inside of destructors: whether another thread could have run them.
#[cold]
pub(crate) fn visible(task: &Task) {
    let falls: Vec<usize> = {
        let mut falls = task.falls.borrow_mut();
        let silent = falls.iter_mut().filter(|fall| fall.silent);
        silent
            .map(|fall| {
                fall.silent = false;
                fall.address
            })
            .collect()
    };
    task.silent_falls.set(0);
    for address in falls {
        if !settled(task, address, |it| &it.drops) {
            want(task, address, Level::Drops);
        }
    }
}

/// The running thread destroys a cell without a history.
#[inline]
pub(crate) fn destroys_cell() {
    if let Some(task) = task().filter(|task| task.silent_falls.get() > 0) {
        visible(task);
    }
}

/// Whether all of these happen before now.
fn settled(task: &Task, address: usize, of: impl Fn(&Record) -> &Vec<(ThreadId, Mark)>) -> bool {
    let world = task.world();
    let mut records = world.arcs.records.borrow_mut();
    let Some(record) = records.find(address) else {
        return true;
    };
    let run = world.run.borrow();
    let mut races = world.races.borrow_mut();
    let mut marks = of(record).iter();
    marks.all(|mark| mark.0 == task.thread || races.before(run.execution(), *mark, task.thread))
}

/// The execution is discarded, and the search restarts with these counts visible.
#[cold]
fn want(task: &Task, address: usize, level: Level) {
    let world = task.world();
    let mut records = world.arcs.records.borrow_mut();
    let Some(record) = records.find(address) else {
        return;
    };
    world.wanted.borrow().want_count(record.place, level);
    world.restart.set(true);
}

/// As [`want`], for a look: it ends the execution, since the program may go on looking for ever.
#[cold]
fn want_now(task: &Task, address: usize) {
    want(task, address, Level::All);
    let world = task.world();
    if world.restart.get() {
        world.next.set(Some(Next::End(End::Redundant)));
        give_up();
    }
}

/// Before a look at the counts: the object to look at, if they are visible; else nothing else can be seen, or the execution is
/// discarded.
#[inline]
#[track_caller]
pub(crate) fn before_look(counts: Counts) -> Option<ObjectId> {
    let task = checked()?;
    if task.silent_falls.get() > 0 {
        visible(task);
    }
    counts.object(task, Level::All).or_else(|| {
        hidden_look(task, counts);
        None
    })
}

#[inline(never)]
#[track_caller]
fn hidden_look(task: &Task, counts: Counts) {
    let world = task.world();
    let mut records = world.arcs.records.borrow_mut();
    if records.find(counts.address).is_none() {
        drop(records);
        from_outside(task);
        return;
    }
    drop(records);
    let sole = counts.word() == 1 || {
        let run = world.run.borrow();
        let mut races = world.races.borrow_mut();
        races.alone(run.execution(), task.thread)
    };
    let past = |of: fn(&Record) -> &Vec<(ThreadId, Mark)>| settled(task, counts.address, of);
    if !(sole && past(|it| &it.drops) && past(|it| &it.weak_drops) && past(|it| &it.upgrades)) {
        want_now(task, counts.address);
    }
}

#[cold]
#[track_caller]
fn from_outside(task: &Task) {
    let place = Location::caller();
    let site = task.world().seen.site(place);
    super::error(Error {
        kind: Kind::Misuse,
        rule: Some("object-from-outside".into()),
        message: format!(
            "the reference count looked at, at {place}, is of an Arc that was made outside the test closure: executions \
             would see each other through it. Make it inside the closure"
        ),
        sites: vec![site],
        after: None,
    });
}

/// The counts as they are: for `strong_count` and the like, and before a change that depends on them.
#[inline(always)]
#[track_caller]
pub(crate) fn look(counts: Counts, order: Ordering) -> Option<(ObjectId, u64)> {
    let object = before_look(counts)?;
    Some((object, poll::load(object, order)))
}

/// Whether the counts are still these, and if so changes them.
#[track_caller]
pub(crate) fn exchange(object: ObjectId, before: u64, after: u64, success: Ordering) -> bool {
    let op = Op::CompareExchange {
        object,
        expected: before,
        new: after,
        weak: false,
    };
    op_ordered(op, success, Some(Relaxed)).ok
}

/// One strong reference less, by one that takes the value if it was the last.
#[track_caller]
pub(crate) fn takes(object: ObjectId) {
    op_ordered(change(object, RmwKind::Sub, 1), Release, None);
}

/// The last owner has synchronised with the others.
pub(crate) fn last() {
    fence(Acquire);
}

/// The last strong reference is taken apart without a destructor. Weak ones are still to be dropped.
pub(crate) fn gone(counts: Counts) {
    if let Some(task) = task().filter(|_| counts.weak == 0) {
        task.world()
            .arcs
            .records
            .borrow_mut()
            .remove(counts.address);
    }
}

/// A weak reference was, or is not to be, upgraded, with nothing visible about it.
pub(crate) fn upgraded(address: usize, done: bool) {
    let Some(task) = checked() else { return };
    let world = task.world();
    if !done {
        if !settled(task, address, |it| &it.drops) {
            want_now(task, address);
        }
        return;
    }
    let mark = world.races.borrow_mut().mark(task.thread);
    let mut records = world.arcs.records.borrow_mut();
    if let Some(record) = records.find(address) {
        note(&mut record.upgrades, task.thread, mark);
    }
}

/// Before a weak reference is upgraded: the object, if the counts are visible.
#[inline]
pub(crate) fn before_upgrade(counts: Counts) -> Option<ObjectId> {
    let task = checked()?;
    if task.silent_falls.get() > 0 {
        visible(task);
    }
    counts.object(task, Level::All)
}
