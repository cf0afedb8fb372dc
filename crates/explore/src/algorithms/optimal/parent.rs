//! Whether an execution is what the policy makes of a beginning: first from happens-before, else on the model.

use super::{Optimal, Overtaker, never_blocks};
use crate::happens::{Happens, Row, Touch, add_next, count};
use reweave_model::{Class, Edge, Execution, Gate, Object, ObjectId, Op, Plan, ThreadId};

impl Optimal {
    /// As [`Optimal::is_parent`], from happens-before alone; `None`: that does not tell. An event whose causes are all
    /// there can go; one that never blocks can go without them, and would then be another event.
    pub(super) fn is_parent_by_order(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
    ) -> Option<bool> {
        if !execution.epochs.is_empty() {
            return None;
        }
        let event = &execution.events[e as usize];
        let waits = excludes(a, &event.op);
        if waits && self.leads.is_empty() {
            // The execution goes on from `u e` by the policy if it makes no detour behind.
            return Some(self.undisturbed(e));
        }
        self.happens.seek(e + 1);
        let happens = &self.happens;
        let counts = &mut self.counts;
        counts.clear();
        counts.extend_from_slice(happens.done());
        for &lead in &self.leads {
            add_next(counts, happens.thread(lead));
        }
        let mut total = e as usize + 1 + self.leads.len();
        let mut last = self.leads.last().map_or(e, |lead| e.max(*lead));
        if !waits {
            let position = a.position?;
            if !happens.ready(position, counts) {
                let goes = never_blocks(execution, a.pending.op) && a.pending.gate == Gate::Open;
                return goes.then_some(false);
            }
            add_next(counts, a.thread);
            total += 1;
            last = last.max(position);
        }
        self.follows_policy(plan, execution, total, last)
    }

    /// Whether the execution is what the policy makes of the events in `counts`: so many, the last of them at a position.
    fn follows_policy(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        mut total: usize,
        mut last: u32,
    ) -> Option<bool> {
        let (happens, counts) = (&self.happens, &mut self.counts);
        self.line_up.clear();
        loop {
            // All that was done up to some point, and from there on the policy was followed.
            if total == execution.events.len()
                || (total == last as usize + 1 && total >= plan.steps.len())
            {
                return Some(true);
            }
            if self.line_up.is_empty() {
                let waiter = |thread: &ThreadId| Waiter {
                    thread: *thread,
                    missing: Missing::Unknown,
                };
                let order = self.replay.state.order();
                self.line_up.extend(order.iter().map(waiter));
            }
            let mut chosen = None;
            for waiter in &mut self.line_up {
                match waiter.missing {
                    Missing::Event(event) if !happens.in_row(counts, event) => continue,
                    Missing::Forever => continue,
                    _ => {}
                }
                let look = Look {
                    happens,
                    execution,
                    counts,
                    last,
                    triggers: self.replay.triggers(),
                };
                match look.at(waiter.thread) {
                    Turn::Goes(next) => {
                        chosen = Some(next);
                        break;
                    }
                    Turn::Lacks(missing) => waiter.missing = missing,
                    Turn::GoesElsewhere => return Some(false),
                    Turn::Unclear => return None,
                }
            }
            let chosen = chosen?;
            add_next(counts, happens.thread(chosen));
            total += 1;
            last = last.max(chosen);
        }
    }

    /// Plays `u v`, or `u e v`.
    pub(super) fn play(&mut self, execution: &Execution, e: u32, with_e: bool) {
        let from = self.replay.seek(execution, &self.happens, e);
        for position in from..e {
            self.step(execution, position);
            self.replay.keep();
        }
        if with_e {
            self.step(execution, e);
        } else if is_epoch(execution, e) {
            self.replay.epoch(execution, &self.happens);
        }
        for index in 0..self.leads.len() {
            self.step(execution, self.leads[index]);
        }
    }

    /// Whether no detour lies behind a step.
    pub(super) fn undisturbed(&self, e: u32) -> bool {
        self.detour.is_none_or(|last| last < e)
    }

    /// Whether the overtaker can go after `u v`, or `u e v`.
    pub(super) fn can_go(
        &mut self,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
        with_e: bool,
    ) -> bool {
        self.play(execution, e, with_e);
        self.replay.state.enabled(a.thread, &a.pending)
    }

    pub(super) fn step(&mut self, execution: &Execution, position: u32) {
        if is_epoch(execution, position) {
            self.replay.epoch(execution, &self.happens);
        }
        self.replay.advance(execution, &self.happens, position);
    }

    /// Whether the policy makes this execution of `u e v a`.
    pub(super) fn is_parent(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
    ) -> bool {
        self.play(execution, e, true);
        let mut last = self.leads.last().map_or(e, |lead| e.max(*lead));
        if self.replay.state.enabled(a.thread, &a.pending) {
            match a.position {
                Some(position) if self.ready(position) => {
                    self.replay.advance(execution, &self.happens, position);
                    last = last.max(position);
                }
                _ => return false,
            }
        }
        loop {
            // All that was done up to some point, and from there on the policy was followed.
            let total = self.replay.total();
            if total == last as usize + 1
                && total >= plan.steps.len()
                && execution.epochs.is_empty()
            {
                return true;
            }
            let Some(thread) = self.replay.first(execution, &self.happens) else {
                if self.replay.epoch(execution, &self.happens) {
                    continue;
                }
                return self.replay.total() == execution.events.len();
            };
            match self.replay.next_of(&self.happens, thread) {
                Some(next) if self.ready(next) && execution.events[next as usize].outcome == 0 => {
                    self.replay.advance(execution, &self.happens, next);
                    last = last.max(next);
                }
                _ => return false,
            }
        }
    }

    /// Whether all that an event depends on was played.
    pub(super) fn ready(&self, position: u32) -> bool {
        self.happens.ready(position, self.replay.counts())
    }
}

/// Whether late timeouts were let go before the event at a position.
fn is_epoch(execution: &Execution, position: u32) -> bool {
    execution.epochs.binary_search(&position).is_ok()
}

/// A thread that waits for the policy to ask it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter {
    thread: ThreadId,
    missing: Missing,
}

/// What a thread has to wait for.
#[derive(Clone, Copy, Debug)]
enum Missing {
    /// It has to be looked at.
    Unknown,
    /// Before this event it cannot go, and need not be looked at.
    Event(u32),
    /// It has come to its end, or never goes on.
    Forever,
}

/// What a thread does when it is asked.
enum Turn {
    /// This event.
    Goes(u32),
    /// Nothing.
    Lacks(Missing),
    /// Something that the execution has not.
    GoesElsewhere,
    /// It takes the model to say.
    Unclear,
}

/// A point of an execution: so many events of each thread are done.
struct Look<'a> {
    happens: &'a Happens,
    execution: &'a Execution,
    counts: &'a Row,
    /// The last of them.
    last: u32,
    triggers: &'a [Edge],
}

impl Look<'_> {
    fn at(&self, thread: ThreadId) -> Turn {
        let Look {
            happens, execution, ..
        } = *self;
        let trigger = self.triggers[thread.index()];
        if count(self.counts, trigger.thread) < trigger.count {
            let birth = happens.of_thread(trigger.thread)[trigger.count as usize - 1];
            return Turn::Lacks(Missing::Event(birth));
        }
        let count = count(self.counts, thread);
        let next = happens.of_thread(thread).get(count as usize).copied();
        let (op, gate) = match next {
            Some(next) => {
                let event = &execution.events[next as usize];
                if happens.ready(next, self.counts) {
                    return match event.outcome {
                        0 => Turn::Goes(next),
                        _ => Turn::GoesElsewhere,
                    };
                }
                (&event.op, event.gate)
            }
            None => match &execution.threads[thread.index()].pending {
                None => return Turn::Lacks(Missing::Forever),
                Some(pending) if count >= execution.max_steps && !pending.op.completes() => {
                    return Turn::Lacks(Missing::Forever);
                }
                Some(pending) => (&pending.op, pending.gate),
            },
        };
        if gate != Gate::Open {
            return Turn::Unclear;
        }
        // What has to wait for its causes waits; what can go without them would be another event.
        match *op {
            Op::Join(_) => Turn::Lacks(match next {
                Some(next) => Missing::Event(self.missing(next)),
                None => Missing::Forever,
            }),
            Op::Lock(mutex) => self.lock(mutex),
            Op::Recv {
                object,
                timed: false,
            } => self.receive(object),
            op if never_blocks(execution, op) => Turn::GoesElsewhere,
            _ => Turn::Unclear,
        }
    }

    /// One of the events that an event lacks, which is the next of its thread.
    fn missing(&self, position: u32) -> u32 {
        let mine = self.happens.thread(position).index();
        let row = self.happens.row(position).as_flattened().iter();
        let row = row.zip(self.counts.as_flattened());
        let mut lacks = row
            .enumerate()
            .filter(|(thread, (needed, done))| needed > done && *thread != mine);
        let (thread, (needed, _)) = lacks.next().expect("it is not ready");
        self.happens.of_thread(ThreadId(thread as u32))[*needed as usize - 1]
    }

    fn done(&self, position: u32) -> bool {
        self.happens.in_row(self.counts, position)
    }

    /// Whoever waits for a mutex waits at least for the next change of it.
    fn lock(&self, mutex: ObjectId) -> Turn {
        let touching = self.happens.of_object(mutex);
        // A store to a mutex only makes its poison be forgotten.
        let changes = |touch: &&Touch| {
            let op = &self.execution.events[touch.position as usize].op;
            touch.class == Class::Write && !matches!(op, Op::Store(..))
        };
        let end = touching.partition_point(|touch| touch.position <= self.last);
        let later = touching[end..].iter().find(changes);
        let mut change = later.map_or(Missing::Forever, |touch| Missing::Event(touch.position));
        for touch in touching[..end].iter().rev().filter(changes) {
            let op = &self.execution.events[touch.position as usize].op;
            if !self.done(touch.position) {
                change = Missing::Event(touch.position);
            } else if matches!(op, Op::Lock(_) | Op::TryLock(_)) {
                return Turn::Lacks(change);
            } else {
                break;
            }
        }
        Turn::GoesElsewhere
    }

    fn receive(&self, channel: ObjectId) -> Turn {
        let Object::Channel { senders, .. } = self.execution.objects[channel.index()] else {
            return Turn::Unclear;
        };
        let mut messages = 0;
        let mut senders = i64::from(senders);
        for touch in self.happens.of_object(channel) {
            if self.done(touch.position) {
                match touch.class {
                    Class::Send => messages += 1,
                    Class::Recv | Class::Poll => messages -= 1,
                    Class::Handle => {
                        let op = self.execution.events[touch.position as usize].op;
                        senders += if matches!(op, Op::SenderAdd(_)) {
                            1
                        } else {
                            -1
                        };
                    }
                    _ => {}
                }
            }
        }
        match messages == 0 && senders > 0 {
            true => Turn::Lacks(Missing::Unknown),
            false => Turn::GoesElsewhere,
        }
    }
}

/// Whether `e` keeps the overtaker from going until something that depends on `e` was done, in every execution.
pub(super) fn excludes(a: &Overtaker, e: &Op) -> bool {
    match (&a.pending.op, e) {
        (Op::Lock(mine), Op::Lock(theirs)) => mine == theirs && a.pending.gate == Gate::Open,
        _ => false,
    }
}
