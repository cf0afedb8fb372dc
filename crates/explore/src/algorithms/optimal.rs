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
//! depend on `e`. The child exists if (1) after `u v` the operation `a` can go and conflicts with `e`, (2) P is what
//! the policy makes of `u e v a`, (3) `a` is the overtaker that the canonical form would choose: its thread is behind those of earlier overtakers of the same `e` which it does not
//! depend on. Its plan is `u v a`, then `e`'s thread. Outcomes of `a` all count; other outcomes of `e` are children
//! when nothing behind `e` is a detour.
//!
//! An operation that can lose its turn (a lock) competes with every earlier taker and not only with the last, since the
//! release between them cannot be overtaken. The scheme needs these takers to come one after the other: hence the two
//! steps of a write lock in the model. Acquisitions of a semaphore do not; there the units are counted: `v` holds
//! the other acquisitions of `e`'s round too, and `a` must be of the last of their threads.
//!
//! *Premise:* all that decides whether an operation can go, gates included, is a conflict or an edge of happens-before,
//! and those who take a turn come one after the other or are counted. A target must therefore not park a loop
//! of `try_write`: several readers together keep it from going. A step that takes an operation's turn conflicts with all
//! others that conflict with the operation: or both orders of the two would be found.
//!
//! *Never reports* a trace twice; *may miss* nothing, within the limit on a thread's steps. Tested against brute force.

mod causes;
mod parent;
mod values;

use crate::{
    algorithm::{
        Algorithm, Found, Interrupt, Malformed, NewBranch, NodeStore, Options, Ran, StoredPayload,
        Unfit,
    },
    claims::{Claims, Node},
    draft::Draft,
    happens::{Happens, Quad},
    replay::Replay,
};
use reweave_model::{
    Access, Class, Edge, Effect, Event, Execution, Gate, Mark, Object, ObjectId, Op, Pending, Plan,
    Policy, ThreadId,
};
use std::sync::Arc;

/// Finds the children of executions. Owns reusable tables only.
#[derive(Debug, Default)]
pub struct Optimal {
    pub(crate) happens: Happens,
    pub(crate) replay: Replay,
    marks: Vec<Mark>,
    /// The last position that is part of a detour.
    detour: Option<u32>,
    /// What the overtaker that is being looked at might have gone before.
    rivals: Vec<u32>,
    /// Its causes.
    causes: Vec<Quad>,
    /// Their positions behind `e`.
    leads: Vec<u32>,
    /// The causes it needs when it goes first.
    needed: Vec<Quad>,
    /// What overtook `e` before, latest first, and what `e` would have touched then.
    stages: Vec<(u32, Touches)>,
    /// Events of each thread that are taken as done.
    counts: Vec<Quad>,
    /// Threads in the order that the policy asks them in.
    line_up: Vec<parent::Waiter>,
    row: Vec<Quad>,
    /// Children that are written down at a time, and how many there are of an execution of this length.
    at_once: usize,
    room: usize,
    /// What was done for this execution so far.
    effort: u64,
    /// Events that may have been looked at since the search was asked whether to go on.
    unasked: usize,
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

/// A way in which an execution might have gone otherwise: the leads, the overtaker, and what it overtakes if that can go.
#[derive(Clone, Debug)]
pub(crate) struct Detour {
    /// What is overtaken.
    pub e: u32,
    pub leads: Vec<u32>,
    pub overtaker: (ThreadId, Pending),
    /// Where it was done.
    pub position: Option<u32>,
    pub outcome: u16,
    /// Whether what is overtaken can go then.
    pub next: bool,
}

/// What is looked for.
enum Sought<'a> {
    /// The plans of those that this execution, which was run by this plan, is the parent of.
    Children(&'a Plan, &'a mut Vec<NewBranch<Resume>>, &'a Interrupt),
    /// All of them, whoever is their parent.
    Detours(&'a mut Vec<Detour>),
}

/// What is done for them at a time: for each overtaker and what it might overtake, the square of the number of threads. About a second.
const LONG: u64 = 4_000_000_000;

/// How many events may be looked at before the search is asked whether to go on: some milliseconds. (Tests have short executions.)
const UNASKED: usize = if cfg!(debug_assertions) {
    1 << 5
} else {
    1 << 18
};

/// Steps of children that are written down at a time; but some of the children, however long they are.
const STEPS: usize = 4_000_000;
const FEWEST: usize = 100;

/// The search is to stop in the middle of an overtaker.
struct Interrupted;

/// Where the children of an execution were not found yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Resume {
    /// The place of the first overtaker that was not looked at to its end; 0: nothing was looked at.
    place: u32,
    /// How many of its rivals were.
    rivals: u32,
}

impl Resume {
    fn at(place: u32) -> Resume {
        Resume { place, rivals: 0 }
    }
}

impl Overtaker {
    /// Where it was done, or the end of the execution.
    fn end(&self, execution: &Execution) -> u32 {
        self.position.unwrap_or(execution.events.len() as u32)
    }
}

impl Algorithm for Optimal {
    /// From where on children are yet to be found.
    type Payload = Resume;

    fn new(options: &Options, _: &Arc<dyn Claims>) -> Optimal {
        Optimal {
            at_once: options.at_once as usize,
            ..Optimal::default()
        }
    }

    fn first(_: &Options) -> (Policy, Resume) {
        (Policy::First, Resume::default())
    }

    fn branches(&mut self, ran: Ran<'_, Resume>, found: &mut Found<Resume>) -> Result<(), Unfit> {
        let Ran {
            plan,
            execution,
            interrupt,
            ..
        } = ran;
        let real = execution.events.len();
        self.begin(execution, plan.steps.iter().map(|step| step.mark), 0, real);
        let mut sought = Sought::Children(plan, &mut found.children, interrupt);
        let rest = self.find(execution, *ran.payload, &mut sought);
        found.rest = rest.map(|from| (from.place, from));
        Ok(())
    }

    fn store(from: &Resume, _: &mut NodeStore) -> StoredPayload {
        StoredPayload::of([u64::from(from.rivals) << 32 | u64::from(from.place)])
    }

    fn restore(_: &Options, stored: StoredPayload, _: &[Arc<Node>]) -> Result<Resume, Malformed> {
        let [from] = stored.numbers()?;
        Ok(Resume {
            place: from as u32,
            rivals: (from >> 32) as u32,
        })
    }
}

impl Optimal {
    /// Gets to know an execution and why the first of its events were done. So many of them are known to be those of the one
    /// before it.
    pub(crate) fn begin(
        &mut self,
        execution: &Execution,
        marks: impl Iterator<Item = Mark>,
        unchanged: u32,
        real: usize,
    ) {
        self.happens.analyse_rest(execution, unchanged, real);
        self.replay.begin(execution);
        self.effort = 0;
        let fitting = STEPS / execution.events.len().max(1);
        self.room = fitting.max(FEWEST).min(self.at_once);
        self.marks.clear();
        self.marks.extend(marks);
        self.marks.resize(execution.events.len(), Mark::Default);
        let mut marks = self.marks.iter();
        let detour = marks.rposition(|mark| *mark != Mark::Default);
        self.detour = detour.map(|position| position as u32);
    }

    /// Adds all detours that the execution shows, by overtakers from a position on.
    pub(crate) fn detours(&mut self, execution: &Execution, fresh: u32, out: &mut Vec<Detour>) {
        // Nobody interrupts these.
        let _ = self.other_outcomes(execution, &mut Sought::Detours(out));
        self.overtakers(execution, Resume::at(fresh), &mut Sought::Detours(out));
    }

    fn find(&mut self, execution: &Execution, from: Resume, out: &mut Sought) -> Option<Resume> {
        if from.place == 0 && self.other_outcomes(execution, out).is_err() {
            if let Sought::Children(_, out, _) = out {
                out.clear();
            }
            return Some(from);
        }
        self.overtakers(execution, from, out)
    }

    /// Asks now and then whether to go on.
    fn look_up(&mut self, execution: &Execution, out: &Sought) -> Result<(), Interrupted> {
        self.unasked += execution.events.len();
        if self.unasked < UNASKED {
            return Ok(());
        }
        self.unasked = 0;
        match out {
            Sought::Children(.., interrupt) if interrupt.asked() => Err(Interrupted),
            _ => Ok(()),
        }
    }

    /// What overtakers find that were done at a position or later, or never: these have places behind all the others. Where very many are found,
    /// the next place.
    fn overtakers(
        &mut self,
        execution: &Execution,
        begin: Resume,
        out: &mut Sought,
    ) -> Option<Resume> {
        let done = execution.events.len() as u32;
        let from = begin.place;
        let known = |place: u32| if place == from { begin.rivals } else { 0 };
        for position in from..done {
            if position > from && self.pauses(out) {
                return Some(Resume::at(position));
            }
            let event = &execution.events[position as usize];
            // What has another outcome the parent does by default.
            if event.outcome == 0 && self.find_rivals(execution, event, position) {
                let overtaker = Overtaker {
                    thread: event.thread,
                    pending: event.pending(),
                    position: Some(position),
                    nth: self.happens.nth(position),
                };
                if let Some(rivals) = self.overtake(execution, &overtaker, known(position), out) {
                    return Some(Resume {
                        place: position,
                        rivals,
                    });
                }
            }
        }
        for (index, record) in execution.threads.iter().enumerate() {
            let place = done + index as u32;
            let Some(pending) = record.pending.filter(|_| place >= from) else {
                continue;
            };
            if place > from && self.pauses(out) {
                return Some(Resume::at(place));
            }
            let thread = ThreadId(index as u32);
            let overtaker = Overtaker {
                thread,
                pending,
                position: None,
                nth: self.happens.of_thread(thread).len(),
            };
            // A thread that was stopped by the limit on steps does not come to it in any execution.
            let stopped = overtaker.nth >= execution.max_steps as usize && !pending.op.completes();
            if !stopped && self.find_rivals_of_pending(execution, &overtaker) {
                if let Some(rivals) = self.overtake(execution, &overtaker, known(place), out) {
                    return Some(Resume { place, rivals });
                }
            }
        }
        None
    }

    /// Whether what is left of an execution is for later.
    fn pauses(&self, out: &Sought) -> bool {
        self.full(out) || (matches!(out, Sought::Children(..)) && self.effort >= LONG)
    }

    /// Whether as many children were found as are written down at a time.
    fn full(&self, out: &Sought) -> bool {
        matches!(out, Sought::Children(_, out, _) if out.len() >= self.room)
    }

    /// The first position behind all detours.
    pub(crate) fn free(&self) -> u32 {
        self.detour.map_or(0, |last| last + 1)
    }

    /// The policy's step with another outcome.
    fn other_outcomes(
        &mut self,
        execution: &Execution,
        out: &mut Sought,
    ) -> Result<(), Interrupted> {
        for position in self.free()..execution.events.len() as u32 {
            let event = &execution.events[position as usize];
            for outcome in 1..event.outcomes {
                self.look_up(execution, out)?;
                if !self.still_overtaken(execution, position, outcome) {
                    continue;
                }
                let same = Overtaker {
                    thread: event.thread,
                    pending: event.pending(),
                    position: None,
                    nth: 0,
                };
                self.leads.clear();
                self.add(execution, &same, position, outcome, false, out);
            }
        }
        Ok(())
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

    /// All children in which one operation overtakes one of its rivals, other than the first so many. Where very many are found, how many
    /// rivals were looked at.
    fn overtake(
        &mut self,
        execution: &Execution,
        a: &Overtaker,
        known: u32,
        out: &mut Sought,
    ) -> Option<u32> {
        let competes = competes(a.pending.op, a.pending.gate);
        let last_cause = self.happens.coming_last(execution, a.thread, a.nth);
        self.effort += (self.rivals.len() * execution.threads.len().pow(2)) as u64;
        for index in known as usize..self.rivals.len() {
            if index > known as usize && self.full(out) {
                return Some(index as u32);
            }
            let e = self.rivals[index];
            let event = &execution.events[e as usize];
            let excludes = parent::excludes(a, &event.op);
            let alone = last_cause.is_none_or(|last| last < e);
            let parent = matches!(out, Sought::Detours(_)) || self.undisturbed(e);
            if alone && excludes && !parent {
                continue;
            }
            if self.look_up(execution, out).is_err() {
                return Some(index as u32);
            }
            self.find_leads(execution, a, e, !competes);
            if self.happens.in_row(&self.causes, e) {
                continue;
            }
            if excludes || steady(execution, a, event) {
                if competes && !excludes {
                    self.find_leads(execution, a, e, true);
                }
                self.simple_child(execution, a, e, out);
                continue;
            }
            if let Some(object) = values::only(execution, a, event) {
                self.child_by_value(execution, a, e, object, out);
                continue;
            }
            if competes {
                // What happens while `e` makes it wait is no cause of it.
                let waits =
                    self.can_go(execution, a, e, false) && !self.can_go(execution, a, e, true);
                if !waits {
                    self.find_leads(execution, a, e, true);
                }
            }
            self.child(execution, a, e, out);
        }
        None
    }

    /// The plan in which `a` overtakes `e`, if this execution is its parent, for one that does the same wherever it stands: nothing
    /// needs to be played.
    fn simple_child(&mut self, execution: &Execution, a: &Overtaker, e: u32, out: &mut Sought) {
        let event = &execution.events[e as usize];
        let excludes = parent::excludes(a, &event.op);
        self.find_stages(execution, e, true);
        let access = match a.position {
            Some(position) if !excludes => execution.events[position as usize].access,
            // It wants just what `e` wants.
            _ => event.access,
        };
        if self.comes_too_early(execution, a, &access, &self.causes, e) {
            return;
        }
        if !self.is_sought(execution, a, e, out) {
            return;
        }
        let causes = std::mem::take(&mut self.causes);
        let still = excludes || self.depends_on_stages(execution, e, &effect_of(event), &causes);
        self.causes = causes;
        if still {
            self.add(execution, a, e, 0, !excludes, out);
        }
    }

    /// The plans in which `a` overtakes `e`, if this execution is their parent.
    fn child(&mut self, execution: &Execution, a: &Overtaker, e: u32, out: &mut Sought) {
        let event = &execution.events[e as usize];
        self.find_stages(execution, e, false);
        let mut fitting = Vec::new();
        self.play(execution, e, false);
        if !self.replay.state.enabled(a.thread, &a.pending) {
            return;
        }
        for outcome in 0..self.replay.state.outcomes(a.thread, a.pending.op) {
            if self.fits(execution, a, e, outcome) {
                fitting.push((outcome, self.needed.clone()));
            }
        }
        if fitting.is_empty() {
            return;
        }
        if !self.is_sought(execution, a, e, out) {
            return;
        }
        for (outcome, needed) in fitting {
            self.play(execution, e, false);
            self.replay.perform(a.thread, a.pending.op, outcome);
            let next = self.replay.state.enabled(event.thread, &event.pending());
            // What overtook `e` before must still have, now that `e` may do something else.
            if next {
                let effect = self.replay.state.effect(event.thread, event.op, 0);
                if !self.depends_on_stages(execution, e, &effect, &needed) {
                    continue;
                }
            }
            self.add(execution, a, e, outcome, next, out);
        }
    }

    /// Whether this is the execution to say that `a` overtakes `e`.
    fn is_sought(&mut self, execution: &Execution, a: &Overtaker, e: u32, out: &Sought) -> bool {
        let Sought::Children(plan, ..) = out else {
            return true;
        };
        let parent = self.is_parent_by_order(plan, execution, a, e);
        parent.unwrap_or_else(|| self.is_parent(plan, execution, a, e))
    }

    /// Adds what was found: the leads, the overtaker, and what it overtakes if that can go.
    fn add(
        &mut self,
        execution: &Execution,
        a: &Overtaker,
        e: u32,
        outcome: u16,
        next: bool,
        out: &mut Sought,
    ) {
        let (plan, out) = match out {
            Sought::Children(plan, out, _) => (plan, out),
            Sought::Detours(out) => {
                return out.push(Detour {
                    e,
                    leads: self.leads.clone(),
                    overtaker: (a.thread, a.pending),
                    position: a.position,
                    outcome,
                    next,
                });
            }
        };
        let event = &execution.events[e as usize];
        self.happens.seek(e);
        let (counts, triggers) = (self.happens.done(), self.replay.triggers());
        let mut child = Draft::new(plan, execution, counts, triggers, e);
        child.child.rest.steps.reserve_exact(self.leads.len() + 2);
        for &position in &self.leads {
            child.event(position, Mark::Leads);
        }
        child.push(a.thread, a.pending, outcome, Mark::Overtakes(event.thread));
        if next {
            child.push(event.thread, event.pending(), 0, Mark::Default);
        }
        out.push(NewBranch::new(child.child, Resume::default()));
    }

    /// Whether the overtaker with this outcome conflicts with `e`, needs just its leads, and is the canonical one.
    fn fits(&mut self, execution: &Execution, a: &Overtaker, e: u32, outcome: u16) -> bool {
        let event = &execution.events[e as usize];
        let state = &self.replay.state;
        let effect = state.effect(a.thread, a.pending.op, outcome);
        if !state.depends(&effect, event.thread, event.op, event.outcome) {
            return false;
        }
        self.is_exact(execution, a, e, &effect)
    }

    /// Whether the overtaker with this effect needs just its leads, and is the canonical one.
    fn is_exact(&mut self, execution: &Execution, a: &Overtaker, e: u32, effect: &Effect) -> bool {
        let mut needed = std::mem::take(&mut self.needed);
        self.causes_of(execution, a, &effect.access, e, &mut needed);
        self.add_edge(effect.after, e, &mut needed);
        let early = self.comes_too_early(execution, a, &effect.access, &needed, e);
        self.add_companions(execution, a, &effect.access, e, &mut needed);
        let exact = self
            .leads
            .iter()
            .all(|lead| self.happens.in_row(&needed, *lead));
        self.needed = needed;
        exact && !early
    }
}

/// Whether an operation can lose its turn.
fn competes(op: Op, gate: Gate) -> bool {
    op.competes() || gate != Gate::Open
}

/// Two operations that never block and touch their object in the same way in either order.
fn steady(execution: &Execution, a: &Overtaker, e: &Event) -> bool {
    let plain = |op: &Op, gate: Gate| {
        gate == Gate::Open && matches!(op, Op::Load(_) | Op::Store(..) | Op::Rmw(..))
    };
    match (a.pending.op, e.op) {
        (Op::Send(mine), Op::Send(theirs)) => mine == theirs && e.ok && unbounded(execution, mine),
        (mine, theirs) => plain(&mine, a.pending.gate) && plain(&theirs, e.gate),
    }
}

fn unbounded(execution: &Execution, channel: ObjectId) -> bool {
    matches!(
        execution.objects[channel.index()],
        Object::Channel { capacity: None, .. }
    )
}

fn never_blocks(execution: &Execution, op: Op) -> bool {
    match op {
        Op::Send(channel) => unbounded(execution, channel),
        _ => matches!(
            op,
            Op::Load(_)
                | Op::Store(..)
                | Op::Rmw(..)
                | Op::CompareExchange { .. }
                | Op::TryLock(_)
                | Op::Unlock(_)
                | Op::UnlockClean(_)
                | Op::NotifyOne(_)
                | Op::NotifyAll(_)
                | Op::SenderAdd(_)
                | Op::SenderDrop(_)
        ),
    }
}

fn effect_of(event: &Event) -> Effect {
    Effect {
        ok: event.ok,
        result: event.result,
        after: event.after,
        access: event.access,
    }
}

/// For an operation that need not wait: the step that made it succeed and that it could have come before.
fn turn(execution: &Execution, event: &Event) -> Option<Edge> {
    let impatient = event.op.may_precede_cause(execution.spurious);
    // What conflicts with that step needs no edge.
    let conflicts = event.access[0].is_some_and(|access| access.class == Class::Write);
    event.after.filter(|_| impatient && event.ok && !conflicts)
}
