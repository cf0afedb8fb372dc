//! What an overtaker depends on, and whether it is the one that the canonical form would choose.

use super::{Optimal, Overtaker, Touches, competes, turn};
use crate::happens::{Happens, Quad, Row, Touch, join, unsettled};
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
            if let Some(touches) = self.touches_by_value(execution, event.op, position) {
                self.stages.push((overtaker, touches));
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
        causes: &Row,
    ) -> bool {
        if self.stages.is_empty() {
            return true;
        }
        let me = Overtaker {
            thread: execution.events[e as usize].thread,
            pending: execution.events[e as usize].pending(),
            position: Some(e),
            nth: self.happens.nth(e),
        };
        let mut row = std::mem::take(&mut self.row);
        self.causes_of(execution, &me, &effect.access, e, &mut row);
        self.add_edge(effect.after, e, &mut row);
        join(&mut row, causes);
        let all = self
            .stages
            .iter()
            .all(|(overtaker, _)| self.happens.in_row(&row, *overtaker));
        self.row = row;
        all
    }

    /// Finds what must go before the overtaker, beside what it touched at its own place.
    pub(super) fn find_leads(
        &mut self,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
        touched: bool,
    ) {
        let mut causes = std::mem::take(&mut self.causes);
        let touches = self.touches(execution, a);
        let own = if touched { touches } else { [None, None] };
        self.causes_of(execution, a, &own, e, &mut causes);
        self.add_companions(execution, a, &touches, e, &mut causes);
        if let (true, Some(position)) = (touched, a.position) {
            self.add_edge(execution.events[position as usize].after, e, &mut causes);
        }
        self.leads.clear();
        self.happens.seek(e + 1);
        self.happens.behind(&causes, &mut self.leads);
        self.causes = causes;
    }

    /// Finds the steps of the policy that an event might have overtaken, not among those it comes after anyway: in conflict
    /// with it and with nothing between, or, for one that can lose its turn, all that touch the object. Says whether
    /// there are any.
    pub(super) fn find_rivals(
        &mut self,
        execution: &Execution,
        event: &Event,
        position: u32,
    ) -> bool {
        self.rivals.clear();
        let happens = &self.happens;
        let nth = happens.nth(position);
        if competes(event.op, event.gate) {
            let Some(object) = event.op.object() else {
                return false;
            };
            if event.access[0].is_none() && turn(execution, event).is_none() {
                return false;
            }
            let touching = happens.before(position, object);
            if !touching.is_empty() {
                let coming = happens.coming(execution, event.thread, nth);
                let pending = event.pending();
                compete(
                    happens,
                    execution,
                    &pending,
                    coming,
                    touching,
                    &mut self.rivals,
                );
            }
        } else {
            if let Some(edge) = turn(execution, event) {
                let step = happens.of_thread(edge.thread)[edge.count as usize - 1];
                self.rivals.push(step);
            }
            let coming = happens.coming(execution, event.thread, nth);
            // What it comes after anyway, and what rivals come after.
            let mut more = false;
            for access in event.access.into_iter().flatten() {
                let touching = happens.before(position, access.object);
                for touch in unsettled(touching, access.class).iter().rev() {
                    let earlier = touch.position;
                    let row = if more { &self.row } else { coming };
                    if access.class.conflicts(touch.class) && !happens.in_row(row, earlier) {
                        self.rivals.push(earlier);
                        if !more {
                            self.row.clear();
                            self.row.extend_from_slice(coming);
                            more = true;
                        }
                        join(&mut self.row, happens.row(earlier));
                    }
                }
            }
        }
        let marks = &self.marks;
        self.rivals.retain(|e| marks[*e as usize] == Mark::Default);
        !self.rivals.is_empty()
    }

    /// The same for an operation that was never done.
    pub(super) fn find_rivals_of_pending(&mut self, execution: &Execution, a: &Overtaker) -> bool {
        self.rivals.clear();
        let object = a.pending.op.object();
        if let Some(object) = object.filter(|_| competes(a.pending.op, a.pending.gate)) {
            let happens = &self.happens;
            let coming = happens.coming(execution, a.thread, a.nth);
            let touching = happens.of_object(object);
            compete(
                happens,
                execution,
                &a.pending,
                coming,
                touching,
                &mut self.rivals,
            );
        }
        let marks = &self.marks;
        self.rivals.retain(|e| marks[*e as usize] == Mark::Default);
        !self.rivals.is_empty()
    }

    /// What the overtaker, touching these objects, depends on when it goes before `e`.
    pub(super) fn causes_of(
        &self,
        execution: &Execution,
        a: &Overtaker,
        access: &Touches,
        e: u32,
        causes: &mut Vec<Quad>,
    ) {
        causes.clear();
        causes.extend_from_slice(self.happens.coming(execution, a.thread, a.nth));
        for access in access.iter().flatten() {
            self.add_causes(execution, a, *access, e, causes, |touch| {
                access.class.conflicts(touch.class)
            });
        }
    }

    /// Adds those who take places beside the overtaker: without them there would still be one for `e`.
    pub(super) fn add_companions(
        &self,
        execution: &Execution,
        a: &Overtaker,
        access: &Touches,
        e: u32,
        causes: &mut Row,
    ) {
        for access in access
            .iter()
            .flatten()
            .filter(|access| access.class.takes_place())
        {
            self.add_causes(execution, a, *access, e, causes, |touch| {
                touch.position > e && touch.class == access.class
            });
        }
    }

    /// Adds the step that an event comes after, unless that depends on `e`.
    pub(super) fn add_edge(&self, after: Option<Edge>, e: u32, causes: &mut Row) {
        let Some(edge) = after.filter(|edge| edge.count > 0) else {
            return;
        };
        // One that the execution does not have is the overtaker's own, whose causes are known.
        let steps = self.happens.of_thread(edge.thread);
        if let Some(&step) = steps.get(edge.count as usize - 1) {
            if !self.happens.after(step, e) {
                join(causes, self.happens.row(step));
            }
        }
    }

    fn add_causes(
        &self,
        execution: &Execution,
        a: &Overtaker,
        access: Access,
        e: u32,
        causes: &mut Row,
        counts: impl Fn(&Touch) -> bool,
    ) {
        let happens = &self.happens;
        let touching = happens.of_object(access.object);
        // What lies before `e` matters only to those who overtook it before.
        let first = match self.overtaken(execution, e) {
            true => 0,
            false => touching.partition_point(|touch| touch.position <= e),
        };
        let end = a.end(execution);
        for touch in touching[first..]
            .iter()
            .take_while(|touch| touch.position < end)
        {
            if counts(touch)
                && !happens.in_row(causes, touch.position)
                && !happens.after(touch.position, e)
            {
                join(causes, happens.row(touch.position));
            }
        }
    }

    /// Whether something overtook `e` just before it.
    fn overtaken(&self, execution: &Execution, e: u32) -> bool {
        let thread = execution.events[e as usize].thread;
        e > 0 && self.marks[e as usize - 1] == Mark::Overtakes(thread)
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
        access: &Touches,
        needed: &Row,
        e: u32,
    ) -> bool {
        let rank = |thread: ThreadId| self.replay.rank(thread);
        let touches = || access.iter().flatten();
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
            if rivals && rank(other.thread) > rank(a.thread) {
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
            let depends = |other| other != lead && self.happens.after(other, lead);
            !self.happens.in_row(needed, lead) && !taking().any(depends)
        };
        takes(&e)
            && taking().any(|lead| {
                rank(execution.events[lead as usize].thread) > rank(a.thread) && last(lead)
            })
    }
}

/// Adds those of an object's touches that an operation which can lose its turn competes with.
fn compete(
    happens: &Happens,
    execution: &Execution,
    pending: &Pending,
    coming: &Row,
    touching: &[Touch],
    rivals: &mut Vec<u32>,
) {
    let first = happens.first_outside(coming, touching.len());
    let touching = touching.iter().rev();
    for touch in touching.take_while(|touch| touch.position >= first) {
        let event = &execution.events[touch.position as usize];
        if happens.in_row(coming, touch.position) {
            if matches!((pending.op, event.op), (Op::Lock(_), Op::Lock(_))) {
                // So are all who had the lock before.
                break;
            }
        } else if may_compete(pending, event) {
            rivals.push(touch.position);
        }
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
