//! `optimal`: exactly one execution for each Mazurkiewicz trace, none given up, children a function of the execution alone.
//!
//! A reverse search: every trace but the first has one *parent* trace, and a trace's children are found by looking at
//! one execution of it. No tree is kept, so memory is flat, and work can be split, stored and resumed by moving plans.
//!
//! **Canonical form.** The policy takes the first enabled thread with its first outcome. Take a trace M apart by always
//! doing what the policy says as long as that event belongs to M. Where it does not, M has something else to do before:
//! say the policy wants `e` after the prefix `u`. Among the events of M that conflict with `e` and come before what
//! `e`'s thread does next in M, take the first ones by causality, of these the one of the first thread: the *overtaker*
//! `a`. Its missing causes `v` (marked [`Mark::Leads`]), then `a` itself ([`Mark::Overtakes`]), then `e`'s thread if it
//! can go; from there on the policy again. Where only the outcome differs, the overtaker is the same operation with
//! another outcome.
//!
//! **Parent.** With `u [v a]` the last such detour of M, the parent is what the policy makes of `u e v a` (of `u e v`
//! when `e` keeps `a` from going). It is smaller where they part (it does what the policy says), so following parents
//! ends at the trace with no detour: the one that the empty plan runs.
//!
//! **Children.** Of an execution P that was run along its canonical form: for every step `e` of the policy and every
//! later (or for ever blocked) `a` of another thread that could have gone first, `v` = the causes of `a` that do not
//! depend on `e`. The child exists if (1) every detour of P behind `e` lies in `v a`, (2) after `u v` the operation `a`
//! can go and conflicts with `e`, (3) P is what the policy makes of `u e v a`, (4) `a` is the overtaker that the
//! canonical form would choose: its thread is behind those of earlier overtakers of the same `e` which it does not
//! depend on. Its plan is `u v a`, then `e`'s thread. Outcomes of `a` all count; other outcomes of `e` are children
//! when nothing behind `e` is a detour.
//!
//! An operation that can lose its turn (a lock) competes with every earlier taker and not only with the last, since the
//! release between them cannot be overtaken. The scheme needs these takers to come one after the other: hence the two
//! steps of a write lock in the model. Acquisitions of a semaphore do not; there the units are counted: `v` holds
//! the other acquisitions of `e`'s round too, and `a` must be of the last of their threads.
//!
//! *Never reports* a trace twice; *may miss* nothing within a run's step limit. Tested against brute force.

use crate::{
    draft::Draft,
    happens::{Happens, join},
    replay::Replay,
};
use reweave_model::{
    Access, Edge, Effect, Event, Execution, Gate, Mark, Op, Pending, Plan, ThreadId,
};

/// Finds the children of executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub(crate) struct Optimal {
    happens: Happens,
    replay: Replay,
    marks: Vec<Mark>,
    /// Positions that are part of a detour.
    detours: Vec<u32>,
    /// The causes of the overtaker that is being looked at.
    causes: Vec<u32>,
    /// Their positions behind `e`.
    leads: Vec<u32>,
    /// The causes it needs when it goes first.
    needed: Vec<u32>,
    /// What overtook `e` before, latest first, and what `e` would have touched then.
    stages: Vec<(u32, Touches)>,
    /// Events of each thread that are taken as done.
    counts: Vec<u32>,
}

type Touches = [Option<Access>; 2];

/// An operation that might have gone earlier: done later in the execution, or never.
struct Overtaker {
    thread: ThreadId,
    pending: Pending,
    /// Where it was done.
    position: Option<u32>,
    /// Which event of its thread it is.
    nth: usize,
}

impl Optimal {
    /// Adds the plans of the execution's children. The plan is the one it was run by.
    pub fn children(&mut self, plan: &Plan, execution: &Execution, out: &mut Vec<Plan>) {
        self.happens.analyse(execution);
        self.replay.begin(execution);
        self.marks.clear();
        self.marks.extend(plan.steps.iter().map(|step| step.mark));
        self.marks.resize(execution.events.len(), Mark::Default);
        self.detours.clear();
        let detour = |position: &u32| self.marks[*position as usize] != Mark::Default;
        self.detours
            .extend((0..self.marks.len() as u32).filter(detour));

        self.other_outcomes(plan, execution, out);
        for position in 0..execution.events.len() as u32 {
            let event = &execution.events[position as usize];
            if event.access[0].is_some() || turn(event).is_some() {
                let overtaker = Overtaker {
                    thread: event.thread,
                    pending: event.pending(),
                    position: Some(position),
                    nth: self.happens.nth(position) as usize,
                };
                self.overtake(plan, execution, &overtaker, out);
            }
        }
        for (index, record) in execution.threads.iter().enumerate() {
            let thread = ThreadId(index as u32);
            if let Some(pending) = record.pending {
                let overtaker = Overtaker {
                    thread,
                    pending,
                    position: None,
                    nth: self.happens.of_thread(thread).len(),
                };
                self.overtake(plan, execution, &overtaker, out);
            }
        }
    }

    /// The policy's step with another outcome.
    fn other_outcomes(&mut self, plan: &Plan, execution: &Execution, out: &mut Vec<Plan>) {
        let free = self.detours.last().map_or(0, |last| last + 1);
        for position in free..execution.events.len() as u32 {
            let event = &execution.events[position as usize];
            for outcome in 1..event.outcomes {
                if !self.still_overtaken(execution, position, outcome) {
                    continue;
                }
                let mut child = Draft::new(plan, execution, self.replay.triggers(), position);
                child.push(
                    event.thread,
                    event.pending(),
                    outcome,
                    Mark::Overtakes(event.thread),
                );
                out.push(child.plan);
            }
        }
    }

    /// Whether the step, with another outcome, still depends on all that overtook it. If not, the canonical form
    /// would have taken that outcome first.
    fn still_overtaken(&mut self, execution: &Execution, e: u32, outcome: u16) -> bool {
        self.find_stages(execution, e, false);
        if self.stages.is_empty() {
            return true;
        }
        let event = &execution.events[e as usize];
        self.leads.clear();
        self.play(execution, e, false);
        let effect = self.replay.state.effect(event.thread, event.op, outcome);
        self.depends_on_stages(execution, e, &effect, &[])
    }

    /// Finds what overtook `e` one after the other, latest first, and what `e` would have touched before each.
    fn find_stages(&mut self, execution: &Execution, e: u32, simple: bool) {
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
    fn depends_on_stages(
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

    /// All children in which one operation overtakes a step of the policy.
    fn overtake(&mut self, plan: &Plan, execution: &Execution, a: &Overtaker, out: &mut Vec<Plan>) {
        // The parent does it by default.
        if a.position
            .is_some_and(|position| execution.events[position as usize].outcome != 0)
        {
            return;
        }
        let end = a.position.unwrap_or(execution.events.len() as u32);
        let competes = a.pending.op.competes() || a.pending.gate != Gate::Open;
        for e in self.rivals(execution, a, end) {
            let event = &execution.events[e as usize];
            if event.thread == a.thread || self.marks[e as usize] != Mark::Default {
                continue;
            }
            self.find_leads(execution, a, e, end, !competes);
            if self.happens.in_row(&self.causes, e) {
                continue;
            }
            if competes {
                // What happens while it has to wait is no cause of it.
                self.play(execution, e, true);
                if self.replay.state.enabled(a.thread, &a.pending) {
                    self.find_leads(execution, a, e, end, true);
                }
            }
            self.child(plan, execution, a, e, out);
        }
    }

    /// Finds what must go before the overtaker, beside what it touched at its own place.
    fn find_leads(
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
        let leads = (e + 1..end).filter(|p| self.happens.in_row(&causes, *p));
        self.leads.extend(leads);
        self.causes = causes;
    }

    /// Events that an operation might have overtaken: in conflict with it and with nothing between, or, for one that
    /// can lose its turn, all that touch the object.
    fn rivals(&self, execution: &Execution, a: &Overtaker, end: u32) -> Vec<u32> {
        let mut rivals = Vec::new();
        let competes = a.pending.op.competes() || a.pending.gate != Gate::Open;
        if competes {
            let Some(object) = a.pending.op.object() else {
                return rivals;
            };
            let touching = self.happens.of_object(object).iter().copied();
            rivals.extend(touching.take_while(|position| *position < end));
            return rivals;
        }
        let Some(position) = a.position else {
            return rivals;
        };
        let event = &execution.events[position as usize];
        if let Some(edge) = turn(event) {
            rivals.push(self.happens.of_thread(edge.thread)[edge.count as usize - 1]);
        }
        for access in event.access.into_iter().flatten() {
            for &earlier in self.happens.of_object(access.object) {
                if earlier < position
                    && !rivals.contains(&earlier)
                    && execution.events[earlier as usize].conflicts(event)
                {
                    rivals.push(earlier);
                }
            }
        }
        rivals
    }

    /// What the overtaker, touching these objects, depends on when it goes before `e`.
    fn causes_of(
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
    fn add_companions(
        &self,
        execution: &Execution,
        access: &Touches,
        e: u32,
        end: u32,
        causes: &mut Vec<u32>,
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
    fn add_edge(&self, after: Option<Edge>, e: u32, causes: &mut [u32]) {
        if let Some(edge) = after.filter(|edge| edge.count > 0) {
            let step = self.happens.of_thread(edge.thread)[edge.count as usize - 1];
            if !self.happens.in_row(self.happens.row(step), e) {
                join(causes, self.happens.row(step));
            }
        }
    }

    fn add_causes(
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
    fn touches(&self, execution: &Execution, a: &Overtaker) -> Touches {
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
    fn comes_too_early(
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

    /// The plans in which `a` overtakes `e`, if this execution is their parent.
    fn child(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
        out: &mut Vec<Plan>,
    ) {
        let event = &execution.events[e as usize];
        let simple = plain(&a.pending) && plain(&event.pending());
        self.find_stages(execution, e, simple);
        let mut fitting = Vec::new();
        if simple {
            // It does the same wherever it stands: nothing needs to be played.
            let position = a.position.expect("what cannot block was done");
            let effect = effect_of(&execution.events[position as usize]);
            if self.comes_too_early(execution, a, &effect, &self.causes, e) {
                return;
            }
            fitting.push((0, self.causes.clone()));
        } else {
            self.play(execution, e, false);
            if !self.replay.state.enabled(a.thread, &a.pending) {
                return;
            }
            for outcome in 0..self.replay.state.outcomes(a.thread, a.pending.op) {
                if self.fits(execution, a, e, outcome) {
                    fitting.push((outcome, self.needed.clone()));
                }
            }
        }
        if fitting.is_empty() {
            return;
        }
        let parent = self.is_parent_by_order(plan, execution, a, e);
        if !parent.unwrap_or_else(|| self.is_parent(execution, a, e)) {
            return;
        }
        for (outcome, needed) in fitting {
            let mut next = true;
            let mut effect = effect_of(event);
            if !simple {
                self.play(execution, e, false);
                self.replay.perform(a.thread, a.pending.op, outcome);
                next = self.replay.state.enabled(event.thread, &event.pending());
                if next {
                    effect = self.replay.state.effect(event.thread, event.op, 0);
                }
            }
            // What overtook `e` before must still have, now that `e` may do something else.
            if next && !self.depends_on_stages(execution, e, &effect, &needed) {
                continue;
            }
            let mut child = Draft::new(plan, execution, self.replay.triggers(), e);
            for &position in &self.leads {
                child.event(position, Mark::Leads);
            }
            child.push(a.thread, a.pending, outcome, Mark::Overtakes(event.thread));
            if next {
                child.push(event.thread, event.pending(), 0, Mark::Default);
            }
            out.push(child.plan);
        }
    }

    /// As [`Optimal::is_parent`], from happens-before alone; `None`: that does not tell. An event whose causes are all
    /// there can go; one that never blocks can go without them, and would then be another event.
    fn is_parent_by_order(
        &mut self,
        plan: &Plan,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
    ) -> Option<bool> {
        if !execution.epochs.is_empty() {
            return None;
        }
        let happens = &self.happens;
        let position = a.position?;
        if a.pending.op.competes() || a.pending.gate != Gate::Open {
            return None;
        }
        let counts = &mut self.counts;
        counts.clear();
        for index in 0..execution.threads.len() {
            let line = happens.of_thread(ThreadId(index as u32));
            counts.push(line.partition_point(|position| *position <= e) as u32);
        }
        for &lead in &self.leads {
            counts[execution.events[lead as usize].thread.index()] += 1;
        }
        if !happens.ready(position, counts) {
            return never_blocks(&execution.events[position as usize]).then_some(false);
        }
        counts[a.thread.index()] += 1;
        let mut total = e as usize + 2 + self.leads.len();
        let mut last = position;
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
                let Some(&next) = line.get(counts[thread.index()] as usize) else {
                    match execution.threads[thread.index()].pending {
                        None => continue,
                        Some(_) => return None,
                    }
                };
                let event = &execution.events[next as usize];
                if happens.ready(next, counts) {
                    if event.outcome != 0 {
                        return Some(false);
                    }
                    chosen = Some(next);
                    break;
                }
                match event.op {
                    Op::Join(_) => {}
                    _ if never_blocks(event) => return Some(false),
                    _ => return None,
                }
            }
            let chosen = chosen?;
            counts[execution.events[chosen as usize].thread.index()] += 1;
            total += 1;
            last = last.max(chosen);
        }
    }

    /// Whether the overtaker with this outcome conflicts with `e`, needs just its leads, and is the canonical one.
    fn fits(&mut self, execution: &Execution, a: &Overtaker, e: u32, outcome: u16) -> bool {
        let event = &execution.events[e as usize];
        let state = &self.replay.state;
        let effect = state.effect(a.thread, a.pending.op, outcome);
        if !state.depends(&effect, event.thread, event.op, event.outcome) {
            return false;
        }
        let end = a.position.unwrap_or(execution.events.len() as u32);
        let mut needed = std::mem::take(&mut self.needed);
        self.causes_of(execution, a, &effect.access, e, end, &mut needed);
        self.add_edge(effect.after, e, &mut needed);
        let early = self.comes_too_early(execution, a, &effect, &needed, e);
        self.add_companions(execution, &effect.access, e, end, &mut needed);
        let exact = self
            .leads
            .iter()
            .all(|lead| self.happens.in_row(&needed, *lead));
        self.needed = needed;
        exact && !early
    }

    /// Plays `u v`, or `u e v`.
    fn play(&mut self, execution: &Execution, e: u32, with_e: bool) {
        self.replay.rewind(execution, &self.happens);
        let upto = if with_e { e + 1 } else { e };
        for position in 0..upto {
            self.step(execution, position);
        }
        for index in 0..self.leads.len() {
            self.step(execution, self.leads[index]);
        }
    }

    fn step(&mut self, execution: &Execution, position: u32) {
        if execution.epochs.contains(&position) {
            self.replay.epoch(execution, &self.happens);
        }
        self.replay.advance(execution, &self.happens, position);
    }

    /// Whether the policy makes this execution of `u e v a`.
    fn is_parent(&mut self, execution: &Execution, a: &Overtaker, e: u32) -> bool {
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
    fn ready(&self, position: u32) -> bool {
        self.happens.ready(position, self.replay.counts())
    }
}

/// An operation that never blocks and touches its object in the same way whenever it is done.
fn plain(pending: &Pending) -> bool {
    pending.gate == Gate::Open && matches!(pending.op, Op::Load(_) | Op::Store(..) | Op::Rmw(..))
}

fn never_blocks(event: &Event) -> bool {
    let always = matches!(
        event.op,
        Op::CompareExchange { .. }
            | Op::TryLock(_)
            | Op::Unlock(_)
            | Op::UnlockClean(_)
            | Op::NotifyOne(_)
            | Op::NotifyAll(_)
    );
    plain(&event.pending()) || (always && event.gate == Gate::Open)
}

fn effect_of(event: &Event) -> Effect {
    Effect {
        ok: event.ok,
        result: event.result,
        after: event.after,
        access: event.access,
    }
}

/// For an operation that never blocks: the step that made it succeed and that it could have come before.
fn turn(event: &Event) -> Option<Edge> {
    match event.op {
        Op::Wake { timed: true, .. }
        | Op::Recv { timed: true, .. }
        | Op::TryRecv(_)
        | Op::TrySend(_)
            if event.ok =>
        {
            event.after
        }
        _ => None,
    }
}
