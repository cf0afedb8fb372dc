//! Whether an execution is what the policy makes of a beginning: first from happens-before, else on the model.

use super::{Optimal, Overtaker, never_blocks};
use crate::happens::Happens;
use reweave_model::{Class, Execution, Gate, Object, ObjectId, Op, Plan, ThreadId};

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
        let waits = excludes(a, event.op);
        if waits && self.leads.is_empty() {
            // The execution goes on from `u e` by the policy if it makes no detour behind.
            return Some(self.undisturbed(e));
        }
        let happens = &self.happens;
        let counts = &mut self.counts;
        counts.clear();
        for index in 0..execution.threads.len() {
            let line = happens.of_thread(ThreadId(index as u32));
            counts.push(line.partition_point(|position| *position <= e) as u32);
        }
        for &lead in &self.leads {
            counts[execution.events[lead as usize].thread.index()] += 1;
        }
        let mut total = e as usize + 1 + self.leads.len();
        let mut last = self.leads.last().map_or(e, |lead| e.max(*lead));
        if !waits {
            let position = a.position?;
            if !happens.ready(position, counts) {
                let goes = never_blocks(execution, a.pending.op) && a.pending.gate == Gate::Open;
                return goes.then_some(false);
            }
            counts[a.thread.index()] += 1;
            total += 1;
            last = last.max(position);
        }
        loop {
            // All that was done up to some point, and from there on the policy was followed.
            if total == execution.events.len()
                || (total == last as usize + 1 && total >= plan.steps.len())
            {
                return Some(true);
            }
            let mut chosen = None;
            for &thread in self.replay.state.order() {
                let trigger = self.replay.triggers()[thread.index()];
                if counts[trigger.thread.index()] < trigger.count {
                    continue;
                }
                let line = happens.of_thread(thread);
                let next = line.get(counts[thread.index()] as usize).copied();
                let pending = match next {
                    Some(next) if happens.ready(next, counts) => {
                        if execution.events[next as usize].outcome != 0 {
                            return Some(false);
                        }
                        chosen = Some(next);
                        break;
                    }
                    Some(next) => execution.events[next as usize].pending(),
                    None => match execution.threads[thread.index()].pending {
                        Some(pending) => pending,
                        None => continue,
                    },
                };
                let stopped = counts[thread.index()] >= execution.max_steps;
                if stopped && !pending.op.completes() {
                    continue;
                }
                // What has to wait for its causes waits; what can go without them would be another event.
                match blocked(happens, execution, counts, pending.op) {
                    Some(true) if pending.gate == Gate::Open => {}
                    Some(false) if pending.gate == Gate::Open => return Some(false),
                    _ => return None,
                }
            }
            let chosen = chosen?;
            counts[execution.events[chosen as usize].thread.index()] += 1;
            total += 1;
            last = last.max(chosen);
        }
    }

    /// Plays `u v`, or `u e v`.
    pub(super) fn play(&mut self, execution: &Execution, e: u32, with_e: bool) {
        self.replay.rewind(execution, &self.happens);
        for position in 0..e {
            self.step(execution, position);
        }
        if with_e {
            self.step(execution, e);
        } else if execution.epochs.contains(&e) {
            self.replay.epoch(execution, &self.happens);
        }
        for index in 0..self.leads.len() {
            self.step(execution, self.leads[index]);
        }
    }

    /// Whether no detour lies behind a step.
    pub(super) fn undisturbed(&self, e: u32) -> bool {
        self.detours.last().is_none_or(|last| *last < e)
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
        if execution.epochs.contains(&position) {
            self.replay.epoch(execution, &self.happens);
        }
        self.replay.advance(execution, &self.happens, position);
    }

    /// Whether the policy makes this execution of `u e v a`.
    pub(super) fn is_parent(&mut self, execution: &Execution, a: &Overtaker, e: u32) -> bool {
        self.play(execution, e, true);
        if self.replay.state.enabled(a.thread, &a.pending) {
            match a.position {
                Some(position) if self.ready(position) => {
                    self.replay.advance(execution, &self.happens, position);
                }
                _ => return false,
            }
        }
        loop {
            let Some(thread) = self.replay.first(execution, &self.happens) else {
                if self.replay.epoch(execution, &self.happens) {
                    continue;
                }
                return self.replay.total() == execution.events.len();
            };
            match self.replay.next_of(&self.happens, thread) {
                Some(next) if self.ready(next) && execution.events[next as usize].outcome == 0 => {
                    self.replay.advance(execution, &self.happens, next);
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

/// Whether `e` keeps the overtaker from going until something that depends on `e` was done, in every execution.
pub(super) fn excludes(a: &Overtaker, e: Op) -> bool {
    match (a.pending.op, e) {
        (Op::Lock(mine), Op::Lock(theirs)) => mine == theirs && a.pending.gate == Gate::Open,
        _ => false,
    }
}

/// Whether an operation that lacks some of its causes has to wait for them, given the events done of each thread;
/// `None`: that takes the model to say.
fn blocked(happens: &Happens, execution: &Execution, counts: &[u32], op: Op) -> Option<bool> {
    let done = |object: ObjectId, class: Class| {
        let touching = happens.of_object(object).iter().rev();
        touching.filter_map(move |position| {
            let event = &execution.events[*position as usize];
            let touches = event
                .access
                .iter()
                .flatten()
                .any(|a| a.object == object && a.class == class);
            (touches && happens.in_row(counts, *position)).then_some(event)
        })
    };
    match op {
        Op::Join(_) => Some(true),
        Op::Lock(mutex) => {
            // A store to a mutex only makes its poison be forgotten.
            let last = done(mutex, Class::Write).find(|event| !matches!(event.op, Op::Store(..)));
            Some(last.is_some_and(|event| matches!(event.op, Op::Lock(_) | Op::TryLock(_))))
        }
        Op::Recv {
            object,
            timed: false,
        } => {
            let taken = done(object, Class::Recv).count() + done(object, Class::Poll).count();
            let empty = done(object, Class::Send).count() == taken;
            let Object::Channel { senders, .. } = execution.objects[object.index()] else {
                return None;
            };
            let handles = done(object, Class::Handle).map(|event| match event.op {
                Op::SenderAdd(_) => 1,
                _ => -1,
            });
            Some(empty && i64::from(senders) + handles.sum::<i64>() > 0)
        }
        op => never_blocks(execution, op).then_some(false),
    }
}
