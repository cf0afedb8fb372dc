//! Children of two operations that look at nothing but the value of one atomic: the value that it had at another point is found from the
//! events that wrote it, and the others need not be played.

use super::{Optimal, Overtaker, Sought, Touches};
use reweave_model::{Class, Event, Execution, Gate, Object, ObjectId, Op};

/// The atomic that both operations are about, if its value decides all that they do.
pub(super) fn only(execution: &Execution, a: &Overtaker, e: &Event) -> Option<ObjectId> {
    let open = a.pending.gate == Gate::Open && e.gate == Gate::Open;
    let object = a.pending.op.object().filter(|_| open)?;
    let by_value = |op: Op| op.object() == Some(object) && op.effect_on(0).is_some();
    let both = by_value(a.pending.op) && by_value(e.op);
    (both && atomic(execution, object)).then_some(object)
}

impl Optimal {
    /// As [`Optimal::child`].
    pub(super) fn child_by_value(
        &mut self,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
        object: ObjectId,
        out: &mut Sought,
    ) {
        let event = &execution.events[e as usize];
        let value = self.value_after_leads(execution, object, e);
        let effects = (a.pending.op.effect_on(value), event.op.effect_on(value));
        let (Some((effect, after)), Some((other, _))) = effects else {
            unreachable!("their effects follow from the value");
        };
        let conflict = match (effect.access[0], other.access[0]) {
            (Some(mine), Some(theirs)) => mine.conflicts(theirs),
            _ => false,
        };
        if !conflict {
            return;
        }
        self.find_stages(execution, e, false);
        if !self.is_exact(execution, a, e, &effect) {
            return;
        }
        if !self.is_sought(execution, a, e, out) {
            return;
        }
        // What overtook `e` before must still have, now that `e` may do something else.
        let next = event.op.effect_on(after);
        let (effect, _) = next.expect("its effect follows from the value");
        let needed = std::mem::take(&mut self.needed);
        let still = self.depends_on_stages(execution, e, &effect, &needed);
        self.needed = needed;
        if still {
            self.add(execution, a, e, 0, true, out);
        }
    }

    /// What an atomic holds after the events before `e` and the leads.
    fn value_after_leads(&self, execution: &Execution, object: ObjectId, e: u32) -> u64 {
        let happens = &self.happens;
        let done = |position: u32| match position.cmp(&e) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Equal => false,
            std::cmp::Ordering::Greater => happens.in_row(&self.causes, position),
        };
        self.value(execution, object, done)
    }

    /// What an operation on an atomic would have touched after the events before a position; `None`: the value does not tell.
    pub(super) fn touches_by_value(
        &self,
        execution: &Execution,
        op: Op,
        end: u32,
    ) -> Option<Touches> {
        let object = op.object().filter(|object| atomic(execution, *object))?;
        let value = self.value(execution, object, |position| position < end);
        op.effect_on(value).map(|(effect, _)| effect.access)
    }

    /// What an atomic holds when these events were done, in order.
    fn value(&self, execution: &Execution, object: ObjectId, done: impl Fn(u32) -> bool) -> u64 {
        let mut touching = self.happens.of_object(object).iter().rev();
        let last = touching.find(|touch| touch.class == Class::Write && done(touch.position));
        let event = last.map(|touch| &execution.events[touch.position as usize]);
        match (
            event.map(|event| event.op),
            &execution.objects[object.index()],
        ) {
            (None, Object::Atomic(value)) => *value,
            (Some(op), _) => {
                let before = event.map_or(0, |event| event.result);
                op.writes_after(before)
                    .unwrap_or_else(|| unreachable!("an atomic was written by {op:?}"))
            }
            (None, other) => unreachable!("{} used as an atomic", other.kind_name()),
        }
    }
}

fn atomic(execution: &Execution, object: ObjectId) -> bool {
    matches!(execution.objects[object.index()], Object::Atomic(_))
}
