//! Writes the plans of branches.

use super::{
    Rf, Run, Trail, Tried, claim,
    graph::{Graph, mix},
    owner,
    trail::Kind,
};
use crate::{
    algorithm::{NewBranch, Unfit},
    algorithms::optimal::Detour,
    draft::Draft,
    happens::add_next,
};
use reweave_model::{Choice, HOLD_ANY, Mark, Op, Pending, ThreadId};
use std::sync::Arc;

/// One step of a plan in the making.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    /// The event that it was, if it does the same again.
    pub(super) old: Option<u32>,
    pub(super) step: Step,
    /// It stands in a round that was taken back.
    round: bool,
    /// In the order of decisions.
    pub(super) place: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    thread: ThreadId,
    pending: Pending,
    outcome: u16,
    mark: Mark,
}

impl Rf {
    /// Adds the plan of something that overtakes something else, none of it a read of an atomic.
    pub(super) fn take_detour(&mut self, detour: &Detour, run: &mut Run) {
        let Detour { e, leads, .. } = detour;
        let (thread, pending) = detour.overtaker;
        let event = self.graph.skeleton.events[*e as usize];
        if self.graph.touches[*e as usize].is_some() {
            // Other outcomes of reads come with their sources.
            return;
        }
        run.elsewhere = None;
        if thread != event.thread {
            let happens = &self.others.happens;
            let hashes = leads
                .iter()
                .map(|lead| self.graph.hash_of_event(happens, *lead));
            let leads = hashes.fold(0, u128::wrapping_add);
            let nth = match detour.position {
                Some(position) => happens.nth(position),
                None => happens.of_thread(thread).len(),
            };
            let name = self.graph.name(thread);
            let step = mix(name, (nth as u64) << 16 | u64::from(detour.outcome));
            if !claim(run, *e, leads.wrapping_add(step)) {
                return;
            }
        }
        let end = e + leads.len() as u32;
        let takes_part = |position: &u32| *position < *e || leads.binary_search(position).is_ok();
        let mut order = std::mem::take(&mut self.witness.order);
        order.clear();
        order.extend(self.graph.done.iter().copied().filter(takes_part));
        let shared = self.shared(&order, *e, |_| false);
        self.items.clear();
        for &position in &order[shared..] {
            let item = Item::old(&self.graph, leads, *e, position);
            self.items.push(item);
        }
        self.witness.order = order;
        let mut add = |thread, pending, outcome, mark, place| {
            self.items.push(Item {
                old: None,
                step: Step {
                    thread,
                    pending,
                    outcome,
                    mark,
                },
                round: false,
                place,
            });
        };
        add(
            thread,
            pending,
            detour.outcome,
            Mark::Overtakes(event.thread),
            end,
        );
        if detour.next {
            add(event.thread, event.pending(), 0, Mark::Default, end + 1);
        }
        self.write(shared, *e, end, 0, false, run);
    }

    /// Writes down the plan that begins like this run and goes on with the items. The decision that is new was made after so
    /// many events.
    pub(super) fn write(
        &mut self,
        shared: usize,
        place: u32,
        fresh: u32,
        above: u32,
        holds: bool,
        run: &mut Run,
    ) {
        let graph = &self.graph;
        let before = &graph.done[..shared];
        self.row.clear();
        self.row.resize(self.others.happens.done().len(), [0; 4]);
        for &position in before {
            add_next(&mut self.row, self.others.happens.thread(position));
        }
        let triggers = &self.others.replay.triggers()[..graph.threads];
        let skeleton = &graph.skeleton;
        let mut draft = Draft::new(run.plan, skeleton, &self.row, triggers, shared as u32);
        draft.expect(self.items.len());
        for item in &self.items {
            let Item { old, step, .. } = item;
            match old {
                Some(position) => draft.event(*position, step.mark),
                None if item.round => {
                    draft.push_apart(step.thread, step.pending, step.outcome, step.mark);
                    draft.unsure();
                }
                None => {
                    draft.push(step.thread, step.pending, step.outcome, step.mark);
                    draft.unsure();
                }
            }
        }
        if !draft.complete() {
            let why = "threads are created by threads whose creation is explored too";
            run.fit = Err(Unfit::because(why));
            return;
        }
        for Held { thread, any } in self.held(before, place) {
            let outcome = if any { HOLD_ANY } else { 0 };
            let thread = draft.number(thread);
            draft.child.rest.sleep.push(Choice { thread, outcome });
        }
        let places = before.iter().copied();
        let places = places.chain(self.items.iter().map(|item| item.place));
        let straight = places.clone().zip(0..).all(|(place, index)| place == index);
        let order = match straight {
            true => Vec::new(),
            false => places.collect(),
        };
        let trail = Trail {
            order,
            fresh,
            node: Some(owner(&run.node, place).0.clone()),
            tried: self.tried_before(place),
            floor: if holds { place } else { 0 },
            leaf: false,
        };
        run.found.children.push(NewBranch {
            above,
            claim: run.elsewhere.clone().map(Box::new),
            ..NewBranch::new(draft.child, trail)
        });
    }
}

/// A thread that is not to go on at once, and whether any write wakes it.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub thread: ThreadId,
    pub any: bool,
}

impl Rf {
    /// The rounds that were taken back before a decision.
    fn tried_before(&self, place: u32) -> Arc<[Tried]> {
        let tried = self.tried.iter().take(self.limit);
        tried.filter(|it| it.place <= place).cloned().collect()
    }

    /// Threads that are held and have seen no write since, in the plan of these events and the items: they still are.
    fn held(&self, before: &[u32], place: u32) -> Vec<Held> {
        let happens = &self.others.happens;
        let mut held = Vec::new();
        for it in self.tried.iter().take(self.limit) {
            let thread = self.graph.named(it.name);
            let (Some(thread), true) = (thread, it.kind == Kind::Held && it.place <= place) else {
                continue;
            };
            let own = before.iter().filter(|at| happens.thread(**at) == thread);
            let more = self.items.iter().filter(|item| item.step.thread == thread);
            let writes = |at: u32| self.graph.touches[at as usize].is_some_and(|it| it.writes);
            let changed = |item: &Item| match item.old {
                Some(at) => writes(at),
                None => !matches!(item.step.pending.op, Op::Load(_)),
            };
            let written = before.iter().any(|at| *at >= it.place && writes(*at))
                || (self.items.iter()).any(|item| item.place >= it.place && changed(item));
            if own.count() + more.count() == it.count as usize && !written {
                let any = it.reads.len() > 1;
                held.push(Held { thread, any });
            }
        }
        held
    }

    /// Writes down the plan of the items alone. Nothing follows from its execution.
    pub(super) fn write_leaf(&mut self, run: &mut Run) {
        let graph = &self.graph;
        self.row.clear();
        self.row.resize(self.others.happens.done().len(), [0; 4]);
        let triggers = &self.others.replay.triggers()[..graph.threads];
        let mut draft = Draft::new(run.plan, &graph.skeleton, &self.row, triggers, 0);
        draft.expect(self.items.len());
        for item in &self.items {
            let position = item.old.expect("it does the same again");
            draft.event(position, Mark::Default);
        }
        let trail = Trail {
            leaf: true,
            ..Trail::default()
        };
        let children = &mut run.found.children;
        children.push(NewBranch::new(draft.child, trail));
    }
}

impl Item {
    /// An event that is done again as it was, before a place or as one of the leads.
    pub(super) fn old(graph: &Graph, leads: &[u32], place: u32, position: u32) -> Item {
        let mut item = Item::new(graph, position, 0, graph.marks[position as usize]);
        item.old = (!item.round).then_some(position);
        if position >= place {
            let index = leads.binary_search(&position).expect("it is a lead");
            item.place = place + index as u32;
            item.step.mark = Mark::Leads;
        }
        item
    }

    /// One that may do something else this time.
    pub(super) fn new(graph: &Graph, position: u32, outcome: u16, mark: Mark) -> Item {
        let event = &graph.skeleton.events[position as usize];
        Item {
            old: None,
            step: Step {
                thread: graph.thread(event.thread),
                pending: event.pending(),
                outcome,
                mark,
            },
            round: position as usize >= graph.real,
            place: position,
        }
    }
}
