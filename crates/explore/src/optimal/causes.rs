//! What an overtaker depends on, and whether it is the one that the canonical form would choose.

use super::{Optimal, Overtaker, Touches, competes, turn};
use crate::happens::{join, settles};
use reweave_model::{
    Access, Class, Edge, Effect, Event, Execution, Gate, Mark, Op, Pending, ThreadId,
};

impl Optimal {
    /// Finds what overtook `e` one after the other, latest first, and what `e` would have touched before each.
    pub(super) fn find_stages(&mut self, execution: &Execution, e: u32, simple: bool) {
        self.stages.clear();
        let event = &execution.events[e as usize];
        let mut position = e;
        while position > 0 && self.marks[position as usize - 1] == Mark::Overtakes(event.thread) {
            let overtaker = position - 1;
            if execution.events[overtaker as usize].thread == event.thread {
                // The same step with another outcome overtakes nothing.
                break;
            }
            position = overtaker;
            while position > 0 && self.marks[position as usize - 1] == Mark::Leads {
                position -= 1;
            }
            if simple {
                self.stages.push((overtaker, event.access));
                continue;
            }
            let leads = std::mem::take(&mut self.leads);
            self.play(execution, position, false);
            self.leads = leads;
            let effect = self.replay.state.effect(event.thread, event.op, 0);
            self.stages.push((overtaker, effect.access));
        }
    }

    /// Whether `e`'s operation with this effect depends on all that overtook it, directly or through `causes`.
    pub(super) fn depends_on_stages(
        &mut self,
        execution: &Execution,
        e: u32,
        effect: &Effect,
        causes: &[u32],
    ) -> bool {
        if self.stages.is_empty() {
            return true;
        }
        let me = Overtaker {
            thread: execution.events[e as usize].thread,
            pending: execution.events[e as usize].pending(),
            position: Some(e),
            nth: self.happens.nth(e) as usize,
        };
        let mut row = Vec::new();
        self.causes_of(execution, &me, &effect.access, e, e, &mut row);
        self.add_edge(effect.after, e, &mut row);
        join(&mut row, causes);
        self.stages
            .iter()
            .all(|(overtaker, _)| self.happens.in_row(&row, *overtaker))
    }

    /// Finds what must go before the overtaker, beside what it touched at its own place.
    pub(super) fn find_leads(
        &mut self,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
        end: u32,
        touched: bool,
    ) {
        let mut causes = std::mem::take(&mut self.causes);
        let touches = self.touches(execution, a);
        let own = if touched { touches } else { [None, None] };
        self.causes_of(execution, a, &own, e, end, &mut causes);
        self.add_companions(execution, &touches, e, end, &mut causes);
        if let (true, Some(position)) = (touched, a.position) {
            self.add_edge(execution.events[position as usize].after, e, &mut causes);
        }
        self.leads.clear();
        self.happens.behind(&causes, e, &mut self.leads);
        self.causes = causes;
    }

    /// Events that an operation might have overtaken, not among those it comes after anyway: in conflict with it and
    /// with nothing between, or, for one that can lose its turn, all that touch the object.
    pub(super) fn rivals(
        &self,
        execution: &Execution,
        a: &Overtaker,
        end: u32,
        coming: &[u32],
    ) -> Vec<u32> {
        let mut rivals = Vec::new();
        if competes(a) {
            let Some(object) = a.pending.op.object() else {
                return rivals;
            };
            let touching = self.happens.of_object(object);
            let touching = &touching[..touching.partition_point(|position| *position < end)];
            for &earlier in touching.iter().rev() {
                let event = &execution.events[earlier as usize];
                if self.happens.in_row(coming, earlier) {
                    if matches!(a.pending.op, Op::Lock(_)) && matches!(event.op, Op::Lock(_)) {
                        // So are all who had the lock before.
                        break;
                    }
                } else if may_compete(&a.pending, event) {
                    rivals.push(earlier);
                }
            }
            return rivals;
        }
        let Some(position) = a.position else {
            return rivals;
        };
        let event = &execution.events[position as usize];
        let mut row = coming.to_vec();
        if let Some(edge) = turn(execution, event) {
            rivals.push(self.happens.of_thread(edge.thread)[edge.count as usize - 1]);
        }
        for access in event.access.into_iter().flatten() {
            let touching = self.happens.of_object(access.object);
            let touching = &touching[..touching.partition_point(|other| *other < position)];
            for &earlier in touching.iter().rev() {
                let other = &execution.events[earlier as usize];
                if !self.happens.in_row(&row, earlier) && other.conflicts(event) {
                    rivals.push(earlier);
                    join(&mut row, self.happens.row(earlier));
                }
                if settles(other, access) {
                    break;
                }
            }
        }
        rivals
    }

    /// What the overtaker, touching these objects, depends on when it goes before `e`.
    pub(super) fn causes_of(
        &self,
        execution: &Execution,
        a: &Overtaker,
        access: &Touches,
        e: u32,
        end: u32,
        causes: &mut Vec<u32>,
    ) {
        self.happens.coming(execution, a.thread, a.nth, causes);
        for access in access.iter().flatten() {
            self.add_causes(execution, *access, e, end, causes, |event, _| {
                event
                    .access
                    .iter()
                    .flatten()
                    .any(|other| other.conflicts(*access))
            });
        }
    }

    /// Adds those who take places beside the overtaker: without them there would still be one for `e`.
    pub(super) fn add_companions(
        &self,
        execution: &Execution,
        access: &Touches,
        e: u32,
        end: u32,
        causes: &mut [u32],
    ) {
        for access in access
            .iter()
            .flatten()
            .filter(|access| access.class.takes_place())
        {
            self.add_causes(execution, *access, e, end, causes, |event, earlier| {
                earlier > e && event.access[0] == Some(*access)
            });
        }
    }

    /// Adds the step that an event comes after, unless that depends on `e`.
    pub(super) fn add_edge(&self, after: Option<Edge>, e: u32, causes: &mut [u32]) {
        if let Some(edge) = after.filter(|edge| edge.count > 0) {
            let step = self.happens.of_thread(edge.thread)[edge.count as usize - 1];
            if !self.happens.in_row(self.happens.row(step), e) {
                join(causes, self.happens.row(step));
            }
        }
    }

    pub(super) fn add_causes(
        &self,
        execution: &Execution,
        access: Access,
        e: u32,
        end: u32,
        causes: &mut [u32],
        counts: impl Fn(&Event, u32) -> bool,
    ) {
        let happens = &self.happens;
        for &earlier in happens.of_object(access.object) {
            let free = || earlier != e && !happens.in_row(happens.row(earlier), e);
            if earlier < end
                && !happens.in_row(causes, earlier)
                && counts(&execution.events[earlier as usize], earlier)
                && free()
            {
                join(causes, happens.row(earlier));
            }
        }
    }

    /// What an operation touched when it was done, or would touch in its turn.
    pub(super) fn touches(&self, execution: &Execution, a: &Overtaker) -> Touches {
        match (a.position, a.pending.op) {
            (Some(position), _) => execution.events[position as usize].access,
            (None, Op::SemAcquire { object, .. }) => [
                Some(Access {
                    object,
                    class: reweave_model::Class::Acquire,
                }),
                None,
            ],
            (None, _) => [None, None],
        }
    }

    /// Whether the canonical form would have chosen another overtaker first.
    pub(super) fn comes_too_early(
        &self,
        execution: &Execution,
        a: &Overtaker,
        effect: &Effect,
        needed: &[u32],
        e: u32,
    ) -> bool {
        let path = |thread: ThreadId| self.replay.state.path(thread);
        let touches = || effect.access.iter().flatten();
        for (overtaker, wanted) in &self.stages {
            let other = &execution.events[*overtaker as usize];
            let mut theirs = other.access.iter().flatten();
            if self.happens.in_row(needed, *overtaker)
                || theirs.any(|theirs| touches().any(|mine| mine.conflicts(*theirs)))
            {
                break;
            }
            let mut wanted = wanted.iter().flatten();
            let rivals = wanted.any(|wanted| touches().any(|mine| mine.conflicts(*wanted)));
            if rivals && path(other.thread) > path(a.thread) {
                return true;
            }
        }
        // Of those that take the last places, and nothing of that depends on them, the one of the last thread overtakes.
        let Some(place) = touches().find(|access| access.class.takes_place()) else {
            return false;
        };
        let takes = |position: &u32| execution.events[*position as usize].access[0] == Some(*place);
        let taking = || self.leads.iter().copied().filter(takes);
        let last = |lead: u32| {
            let depends =
                |other| other != lead && self.happens.in_row(self.happens.row(other), lead);
            !self.happens.in_row(needed, lead) && !taking().any(depends)
        };
        takes(&e)
            && taking().any(|lead| {
                path(execution.events[lead as usize].thread) > path(a.thread) && last(lead)
            })
    }
}

/// Whether an operation that can lose its turn can ever go in place of an event.
fn may_compete(pending: &Pending, event: &Event) -> bool {
    match (pending.gate, pending.op) {
        // Locks are also looked at and written to without being taken: whether they are poisoned, what they protect.
        (Gate::Open, Op::Lock(_)) => {
            event.ok
                && matches!(
                    event.op,
                    Op::Lock(_) | Op::TryLock(_) | Op::Load(_) | Op::Store(..) | Op::Await(..)
                )
        }
        (Gate::Open, Op::Send(object)) => {
            let send = Access {
                object,
                class: Class::Send,
            };
            event
                .access
                .iter()
                .flatten()
                .any(|access| access.conflicts(send))
        }
        (Gate::Open, Op::Recv { .. }) => {
            !matches!(event.op, Op::Send(_) | Op::SenderAdd(_) | Op::SenderDrop(_))
        }
        _ => true,
    }
}
