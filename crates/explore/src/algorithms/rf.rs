//! `rf`: exactly one execution for each way in which reads get their values.
//!
//! Two executions are of the same class when every thread does the same operations, every read of an atomic reads from the same
//! write, and everything else (locks, condition variables, semaphores, ...) is done in equivalent order as for
//! [`optimal`](super::optimal). Writes to atomics that nobody reads are in no order.
//!
//! **Decisions.** A class M is taken apart as the policy would run it. Where it comes to a read `e` after the events `u`,
//! M has decided from where `e` reads: from a write in `u`; or from a write `w` that comes later, and then `w` with all its
//! causes (`v`, marked [`Mark::Leads`]) goes first. So (`w`, `v`) splits the classes that begin with `u` into parts
//! that have nothing in common. Everything that is not about atomics is decided as the canonical form of `optimal` does it.
//! The order of decisions is not the order in which a run does things: a write that was decided early may have to wait for
//! a read that was decided later. A plan has both, steps in the order of the run and [`Trail::order`].
//!
//! **Finding them.** Every run shows, for each of the decisions that it passed, others that could have been made: a later
//! write that does not depend on the read; an earlier write, if there is an order in which it is the last one
//! ([`witness`]). A read-modify-write `f` that reads from another one, `e`, keeps it from being found behind
//! itself, since only one of them can read from the source of `e`: so *swapping* them counts too. What was tried at a
//! decision is remembered while anything is left of it ([`crate::Claims`]), and never tried again.
//!
//! *Never reports* a class twice; *may miss* nothing, within the limit on a thread's steps. Tested against brute force.

mod graph;
mod plans;
mod rounds;
mod trail;
mod witness;

pub use trail::Trail;

use super::optimal::{Detour, Optimal};
use crate::{
    algorithm::{Algorithm, Found, Malformed, NodeStore, Options, Ran, StoredPayload, Unfit},
    claims::{Claim, Claimed, Claims, Node},
    happens::{Happens, Quad, add_next, join},
};
use graph::{Graph, START, Touch, mix};
use plans::Item;
use reweave_model::{Mark, Plan, Policy};
use rounds::{Cut, DECIDED};
use std::sync::Arc;
use trail::Tried;
use witness::{Question, Witness};

/// Finds the branches that follow from executions. Owns reusable tables only.
#[derive(Debug)]
pub struct Rf {
    claims: Arc<dyn Claims>,
    /// Happens-before, and all that is not about atomics.
    others: Optimal,
    graph: Graph,
    witness: Witness,
    detours: Vec<Detour>,
    /// For every object the places of its reads that were decided, and where that was.
    reads: Vec<Vec<Decision>>,
    /// For every object the places of its writes.
    writes: Vec<Vec<u32>>,
    leads: Vec<u32>,
    row: Vec<Quad>,
    /// The plan that is being written.
    items: Vec<Item>,
    /// Rounds of loops that were taken back: in the runs above, so many of them, and in this one.
    tried: Vec<Tried>,
    known: usize,
    /// How many of them a decision comes after; more: by its place.
    limit: usize,
    /// Where the run does by default what another branch stands for.
    cut: Option<Cut>,
    /// Which of `tried` the rounds of the graph are.
    numbers: Vec<usize>,
}

/// Pairs of reads and writes that are looked at for one execution: some tenths of a second. It takes the cube of the steps, where
/// other algorithms take little more than the steps.
const LONG: u64 = 100_000_000;

/// A read whose source was decided.
#[derive(Clone, Copy, Debug)]
struct Decision {
    read: u32,
    /// When: after so many events.
    place: u32,
}

/// The run that is being looked at.
struct Run<'a> {
    plan: &'a Plan,
    claims: &'a dyn Claims,
    /// That of the decisions that this run is the first to make.
    node: Arc<Node>,
    found: &'a mut Found<Trail>,
    fit: Result<(), Unfit>,
    /// The claim that another process has to make for what is found now.
    elsewhere: Option<(Arc<Node>, Claim)>,
}

/// A source that a read might have had.
#[derive(Clone, Copy)]
struct Candidate {
    decision: Decision,
    source: u32,
    swapped: bool,
}

impl Candidate {
    /// Whether there is an order for it.
    fn question<'a>(
        &self,
        graph: &'a Graph,
        happens: &'a Happens,
        leads: &'a [u32],
        fails: bool,
    ) -> Question<'a> {
        Question {
            graph,
            happens,
            first: self.decision.place,
            leads,
            read: self.decision.read,
            source: self.source,
            swapped: self.swapped,
            fails,
        }
    }
}

impl Algorithm for Rf {
    type Payload = Trail;

    fn new(_: &Options, claims: &Arc<dyn Claims>) -> Rf {
        Rf {
            claims: claims.clone(),
            others: Optimal::default(),
            graph: Graph::default(),
            witness: Witness::default(),
            detours: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            leads: Vec::new(),
            row: Vec::new(),
            items: Vec::new(),
            tried: Vec::new(),
            known: 0,
            limit: usize::MAX,
            cut: None,
            numbers: Vec::new(),
        }
    }

    fn first(options: &Options) -> (Policy, Trail) {
        let policy = match options.loops {
            true => Policy::Loops,
            false => Policy::First,
        };
        (policy, Trail::default())
    }

    fn branches(&mut self, ran: Ran<'_, Trail>, found: &mut Found<Trail>) -> Result<(), Unfit> {
        let (trail, execution) = (ran.payload, ran.execution);
        found.claimed = 0;
        if trail.leaf {
            return Ok(());
        }
        self.graph.read(ran.plan, &trail.order, execution)?;
        self.add_rounds(trail, execution);
        self.add_old_rounds(trail.fresh, execution);
        let marks = self.graph.marks.iter().copied();
        self.others.begin(
            &self.graph.skeleton,
            marks,
            self.graph.unchanged,
            self.graph.real,
        );
        self.graph.hash_events(&mut self.others.happens);
        self.graph
            .marks
            .resize(self.graph.skeleton.events.len(), Mark::Default);
        let free = self.others.free().max(trail.floor);
        let claims = self.claims.clone();
        let mut run = Run {
            plan: ran.plan,
            claims: &*claims,
            node: Arc::new(Node::unordered(trail.node.clone(), free)),
            found,
            fit: Ok(()),
            elsewhere: None,
        };
        self.witness.begin();
        self.cut = self.add_kept(free, ran.plan);
        self.other_sources(trail.fresh, free, &mut run);
        let mut detours = std::mem::take(&mut self.detours);
        self.others
            .detours(&self.graph.skeleton, trail.fresh, &mut detours);
        let cut = self.cut.map_or(u32::MAX, |cut| cut.first);
        for detour in detours.drain(..) {
            let own = detour.overtaker.0 == self.graph.skeleton.events[detour.e as usize].thread;
            if detour.e < cut
                && detour
                    .position
                    .map_or(cut == u32::MAX || own, |it| it < cut)
            {
                self.take_detour(&detour, &mut run);
            }
        }
        self.detours = detours;
        self.hold_kept(&mut run);
        self.stay(trail.fresh, &mut run);
        if let Some(cut) = self.cut {
            run.found.repeats = true;
            self.hold(cut.number, &mut run);
        } else {
            self.stuck(execution, &mut run);
        }
        run.fit
    }

    fn store(trail: &Trail, nodes: &mut NodeStore) -> StoredPayload {
        trail.store(nodes)
    }

    fn restore(
        _: &Options,
        stored: StoredPayload,
        nodes: &[Arc<Node>],
    ) -> Result<Trail, Malformed> {
        Trail::restore(&stored, nodes)
    }
}

impl Rf {
    /// Sources that reads might have had, as far as this run is the first to show it.
    fn other_sources(&mut self, fresh: u32, free: u32, run: &mut Run) {
        let objects = self.graph.skeleton.objects.len();
        empty(&mut self.writes, objects);
        empty(&mut self.reads, objects);
        let mut next = 0;
        let (first, last) = (self.cut).map_or((u32::MAX, u32::MAX), |cut| (cut.first, cut.last));
        for position in 0..self.graph.real as u32 {
            if position <= first {
                self.rounds_at(position, &mut next, run);
            }
            if position > last {
                return;
            }
            let Some(touch) = self.graph.touches[position as usize] else {
                continue;
            };
            if run.fit.is_err() {
                return;
            }
            let object = touch.object.index();
            if position >= fresh && position < first {
                if touch.writes {
                    self.later_source(position, object, run);
                }
                if touch.reads {
                    self.swap(position, touch, run);
                }
            }
            if touch.reads && position >= free {
                self.earlier_source(position, object, run);
            }
            self.pass(position, touch);
        }
        // Behind a cut nothing counts, also where its read is the last event.
        if self.cut.is_none() {
            self.rounds_at(self.graph.real as u32, &mut next, run);
        }
    }

    /// Goes on behind a touch.
    fn pass(&mut self, position: u32, touch: Touch) {
        let object = touch.object.index();
        if touch.reads {
            let place = match self.graph.marks[position as usize] {
                Mark::Default => Some(position),
                Mark::Reads(place) if place != u32::MAX => Some(place),
                _ => None,
            };
            self.reads[object].extend(place.map(|place| Decision {
                read: position,
                place,
            }));
        }
        if touch.writes {
            self.writes[object].push(position);
        }
    }

    /// A new read might have read from any earlier write.
    fn earlier_source(&mut self, read: u32, object: usize, run: &mut Run) {
        let decision = Decision { read, place: read };
        run.elsewhere = None;
        let writes = std::mem::take(&mut self.writes[object]);
        for &source in writes.iter().chain(&[START]) {
            let candidate = Candidate {
                decision,
                source,
                swapped: false,
            };
            self.leads.clear();
            if source == self.graph.sources[read as usize] {
                self.try_failure(candidate, run);
            } else if self.graph.shared[object]
                && !self.overwritten(read, source, &writes)
                && !self.was_tried(read, source, read, usize::MAX)
            {
                self.try_source(candidate, run);
            }
        }
        self.writes[object] = writes;
    }

    /// Whether one of these writes happens after a source and before a new read.
    fn overwritten(&self, read: u32, source: u32, writes: &[u32]) -> bool {
        let happens = &self.others.happens;
        let (thread, nth) = (happens.thread(read), happens.nth(read));
        let past = happens.coming(&self.graph.skeleton, thread, nth);
        let between = |write: &u32| {
            *write != source
                && happens.in_row(past, *write)
                && (source == START || happens.after(*write, source))
        };
        writes.iter().rev().any(between)
    }

    /// Earlier reads might have read from a new write.
    fn later_source(&mut self, write: u32, object: usize, run: &mut Run) {
        let reads = std::mem::take(&mut self.reads[object]);
        for &decision in &reads {
            if self.others.happens.after(write, decision.read) {
                continue;
            }
            if let Some(kept) = self.kept_round(decision.read) {
                self.hold(kept, run);
                continue;
            }
            let happens = &mut self.others.happens;
            happens.seek(decision.place);
            let hash = self.graph.hash(happens.row(write), happens.done());
            if !claim(run, decision.place, hash) {
                continue;
            }
            self.leads.clear();
            happens.behind(happens.row(write), &mut self.leads);
            let candidate = Candidate {
                decision,
                source: write,
                swapped: false,
            };
            self.try_source(candidate, run);
        }
        self.reads[object] = reads;
    }

    /// A read-modify-write that reads from another one might have come before it.
    fn swap(&mut self, second: u32, touch: Touch, run: &mut Run) {
        let object = touch.object.index();
        let source = self.graph.sources[second as usize];
        let mut reads = self.reads[object].iter();
        let Some(&decision) = reads.find(|decision| decision.read == source) else {
            return;
        };
        let before = self.graph.sources[source as usize];
        let happens = &self.others.happens;
        let (thread, nth) = (happens.thread(second), happens.nth(second));
        let coming = happens.coming(&self.graph.skeleton, thread, nth);
        let value = self.graph.value(touch.object, before);
        // One that fails without cause was here, or will be, with a cause or success too.
        let outcome = self.graph.skeleton.events[second as usize].outcome;
        let writes = outcome == 0 && self.graph.would_write(second, value).is_some();
        if !writes
            || happens.in_row(coming, source)
            || self.was_tried(second, before, decision.place, usize::MAX)
        {
            return;
        }
        if let Some(kept) = self.kept_round(decision.read) {
            self.hold(kept, run);
            return;
        }
        let happens = &mut self.others.happens;
        let coming = happens.coming(&self.graph.skeleton, thread, nth);
        self.row.clear();
        self.row.extend_from_slice(coming);
        if before != START {
            join(&mut self.row, happens.row(before));
        }
        happens.seek(decision.place);
        let hash = self.graph.hash(&self.row, happens.done());
        self.leads.clear();
        happens.behind(&self.row, &mut self.leads);
        self.leads.push(second);
        add_next(&mut self.row, thread);
        let own = self.graph.hash_of(happens, second, before, &self.row);
        if !claim(run, decision.place, hash.wrapping_add(own)) {
            return;
        }
        let candidate = Candidate {
            decision,
            source: second,
            swapped: true,
        };
        self.try_source(candidate, run);
    }

    /// Adds the plans in which a read has another source.
    fn try_source(&mut self, candidate: Candidate, run: &mut Run) {
        self.try_outcome(candidate, false, run);
        self.try_failure(candidate, run);
    }

    /// A weak compare-exchange may fail though it reads what it expects.
    fn try_failure(&mut self, candidate: Candidate, run: &mut Run) {
        let Candidate { decision, .. } = candidate;
        let question = candidate.question(&self.graph, &self.others.happens, &self.leads, true);
        let fits = self.graph.would_write(decision.read, question.value());
        if fits.is_some() && self.graph.may_fail(&self.others.happens, decision.read) {
            self.try_outcome(candidate, true, run);
        }
    }

    /// Adds the plan in which a read has another source, if there is an order for it.
    fn try_outcome(&mut self, candidate: Candidate, fails: bool, run: &mut Run) {
        let Candidate {
            decision,
            source,
            swapped,
        } = candidate;
        if self.witness.effort() > LONG {
            let why = "what an execution could have read takes too long to find";
            run.fit = Err(Unfit::because(why));
            return;
        }
        let round = decision.read as usize >= self.graph.real;
        let straight = self.graph.straight && !swapped && !round && !self.leads.is_empty();
        if straight {
            // Nothing is in the way.
            let order = &mut self.witness.order;
            order.clear();
            order.extend(0..decision.place);
            order.extend_from_slice(&self.leads);
            order.push(decision.read);
        } else {
            let question =
                candidate.question(&self.graph, &self.others.happens, &self.leads, fails);
            if !self.witness.find(&question) {
                return;
            }
        }
        let order = std::mem::take(&mut self.witness.order);
        let changed = |position| position == decision.read || swapped && position == source;
        let shared = self.shared(&order, decision.place, changed);
        let end = decision.place + self.leads.len() as u32;
        self.items.clear();
        for &position in &order[shared..] {
            let mut item = match position == decision.read {
                true => Item::new(
                    &self.graph,
                    position,
                    fails.into(),
                    match round {
                        true => DECIDED,
                        false => Mark::Reads(decision.place),
                    },
                ),
                false if changed(position) => Item::new(&self.graph, position, 0, Mark::Leads),
                false => Item::old(&self.graph, &self.leads, decision.place, position),
            };
            if position == decision.read || changed(position) {
                item.place = end - u32::from(position != decision.read);
            }
            self.items.push(item);
        }
        self.witness.order = order;
        // Others like this run may have the same later write; to be swapped is each one's own.
        let above = match swapped {
            true => 0,
            false => owner(&run.node, decision.place).1,
        };
        self.write(
            shared,
            decision.place,
            end - u32::from(swapped),
            above,
            false,
            run,
        );
    }

    /// How many events before a place are done first as they were.
    fn shared(&self, order: &[u32], place: u32, changed: impl Fn(u32) -> bool) -> usize {
        let both = order.iter().zip(&self.graph.done);
        let same = both.take_while(|(position, done)| {
            position == done && **position < place && !changed(**position)
        });
        same.count()
    }
}

fn empty<T>(lists: &mut Vec<Vec<T>>, count: usize) {
    lists.iter_mut().for_each(Vec::clear);
    lists.resize_with(count.max(lists.len()), Vec::new);
}

/// The node that the decision after so many events belongs to, and how far back it is.
fn owner(node: &Arc<Node>, place: u32) -> (&Arc<Node>, u32) {
    let (mut node, mut above) = (node, 0);
    while place < node.first {
        node = node.before.as_ref().expect("the first run decides first");
        above += 1;
    }
    (node, above)
}

/// Whether this was not tried at the decision after so many events, as far as it is known here.
fn claim(run: &mut Run, place: u32, what: Claim) -> bool {
    let what = what.wrapping_add(mix(u64::from(place), 0));
    let (node, above) = owner(&run.node, place);
    run.found.claimed += u64::from(above > 0);
    let claimed = run.claims.claim(node, what);
    run.elsewhere = (claimed == Claimed::Elsewhere).then(|| (node.clone(), what));
    claimed != Claimed::Known
}
