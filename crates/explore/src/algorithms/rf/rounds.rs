//! Rounds of loops that change nothing.
//!
//! A run takes back a round that changed nothing ([`Attempt`](reweave_model::Attempt)): a class holds the round that leaves the loop and no
//! other. `docs/design/loops.md` has the reasons for all that follows.
//!
//! * The round was a decision all the same. What it read it might have read from elsewhere: from any write before its place. These are tried here,
//!   once, and a later round of the same loop need not try them again: see [`Tried`].
//! * A read-modify-write that found a lock taken might have come before the one that took it.
//! * A round that was planned and changed nothing stays, and its thread is stopped. If the threads that are stopped then can read for ever what
//!   they read last, there is an execution that ends so: a livelock. It is run as a *leaf*, from which nothing follows.
//! * A thread whose round was taken back reads again when something is written. If the write could as well have come earlier, the thread could
//!   read for ever what it had read before: that is explored as if the round had been planned.
//!
//! In the graph a round that was taken back is a thread of its own behind all others, created where its thread was.

use super::{
    Candidate, Decision, Rf, Run, Trail, claim,
    graph::{START, mix},
    plans::Item,
    trail::{Kind, Tried, TriedRead, Way},
};
use reweave_model::{Execution, Mark, Op, Plan, Rmw, RmwKind, Site, ThreadId};

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub thread: ThreadId,
    /// How many events the thread had done.
    pub count: u32,
    /// In the order of decisions.
    pub place: u32,
    /// Where its events begin, and how many there are.
    pub first: u32,
    pub reads: u32,
    /// It is known from a run above.
    pub old: bool,
}

/// Where a run does by default what another branch stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    /// The round's first read, and its last that counts.
    pub first: u32,
    pub last: u32,
    pub number: usize,
}

fn way(op: Op) -> Way {
    match op {
        Op::CompareExchange { weak: false, .. } => Way::Exchange,
        Op::CompareExchange { weak: true, .. } => Way::WeakExchange,
        Op::Rmw(..) => Way::Update,
        _ => Way::Load,
    }
}

impl Rf {
    /// Adds the rounds that this run took back to the graph, and to those that are known.
    pub(super) fn add_rounds(&mut self, trail: &Trail, execution: &Execution) {
        self.tried.clear();
        self.tried.extend_from_slice(&trail.tried);
        self.known = self.tried.len();
        let graph = &mut self.graph;
        for attempt in &execution.attempts {
            let thread = attempt.since.thread;
            graph.add_round(thread, attempt.since.count, attempt.place, false);
            let mut reads = Vec::with_capacity(attempt.events.len());
            for event in &attempt.events {
                let object = event.op.object().expect("it reads an atomic");
                let source = graph.last_write(object, attempt.place);
                graph.add_to_round(*event, Some(object), source);
                reads.push(TriedRead {
                    source,
                    site: event.site.0,
                    way: way(event.op),
                });
            }
            self.tried.push(Tried {
                name: graph.name(thread),
                count: attempt.since.count,
                place: attempt.place,
                reads,
                kind: Kind::TakenBack,
            });
        }
    }

    /// The new rounds that were tried at a place.
    pub(super) fn rounds_at(&mut self, place: u32, next: &mut usize, run: &mut Run) {
        while let Some(round) = self.graph.rounds.get(*next).copied() {
            if round.old || round.place != place || run.fit.is_err() {
                return;
            }
            self.round(round, self.numbers[*next], run);
            *next += 1;
        }
    }

    /// What a round that was taken back might have read instead.
    fn round(&mut self, round: Round, number: usize, run: &mut Run) {
        run.elsewhere = None;
        for read in round.first..round.first + round.reads {
            let touch = self.graph.touches[read as usize].expect("it reads an atomic");
            self.swap(read, touch, run);
            run.elsewhere = None;
            let object = touch.object.index();
            let decision = Decision {
                read,
                place: round.place,
            };
            let writes = std::mem::take(&mut self.writes[object]);
            for &source in writes.iter().chain(&[START]) {
                let same = source == self.graph.sources[read as usize];
                if same
                    || !self.graph.shared[object]
                    || self.overwritten(read, source, &writes)
                    || self.was_tried(read, source, round.place, number)
                {
                    continue;
                }
                self.leads.clear();
                self.leads.extend(round.first..read);
                self.limit = number;
                let candidate = Candidate {
                    decision,
                    source,
                    swapped: false,
                };
                self.try_source(candidate, run);
                self.limit = usize::MAX;
            }
            self.writes[object] = writes;
        }
    }

    /// Whether a round with this source is one that an earlier round has tried, of the first so many: the first read that is not as
    /// there is from a write that was there.
    pub(super) fn was_tried(&self, read: u32, source: u32, place: u32, limit: usize) -> bool {
        if self.tried.is_empty() {
            return false;
        }
        let (graph, happens) = (&self.graph, &self.others.happens);
        let line = happens.thread(read);
        let thread = graph.thread(line);
        let (name, nth) = (graph.name(thread), graph.nth(happens, read) as u32);
        let own = nth - happens.nth(read) as u32;
        let source_of = |at: u32| match at.checked_sub(own) {
            Some(_) if at == nth => source,
            Some(at) => graph.sources[happens.of_thread(line)[at as usize] as usize],
            None => graph.sources[happens.of_thread(thread)[at as usize] as usize],
        };
        let known = self.tried.iter().take(limit);
        let mut known = known.filter(|it| {
            it.kind != Kind::Kept && it.place <= place && it.name == name && it.count <= nth
        });
        known.any(|it| {
            let reads = it.reads.iter().zip(it.count..=nth);
            let mut differ = reads.map(|(read, at)| (read.source, source_of(at)));
            match differ.find(|(theirs, mine)| theirs != mine) {
                Some((_, mine)) => mine == START || mine < it.place,
                // A round that was taken back is so again.
                None => it.kind == Kind::Held && nth - it.count + 1 >= it.reads.len() as u32,
            }
        })
    }

    /// Whether a round that ends with this read is one that was taken back: it changes nothing again, and no run in which its thread has gone
    /// through it shows what others do only as long as it has not.
    fn was_taken_back(&self, read: u32) -> bool {
        let (graph, happens) = (&self.graph, &self.others.happens);
        let thread = happens.thread(read);
        let (name, line) = (graph.name(thread), happens.of_thread(thread));
        let count = happens.nth(read) + 1;
        let mut known = self.tried.iter().filter(|it| {
            let begun = it.count as usize + it.reads.len() == count;
            it.kind == Kind::TakenBack && it.name == name && it.place <= read && begun
        });
        known.any(|it| {
            let mine = &line[it.count as usize..count];
            let mine = mine.iter().map(|at| graph.sources[*at as usize]);
            it.reads.iter().map(|read| read.source).eq(mine)
        })
    }

    /// Adds the rounds that left a loop in this run, after others of the same loop were taken back. If one of them reads what an earlier
    /// round has tried, since another order of writes that nobody reads has brought it back, the run is known from elsewhere.
    pub(super) fn add_kept(&mut self, free: u32, plan: &Plan) -> Option<Cut> {
        let mut cut = None;
        if !self.tried.is_empty() {
            for first in free..self.graph.real as u32 {
                if cut.is_none() && self.graph.touches[first as usize].is_some_and(|it| it.reads) {
                    cut = self.add_kept_at(first, plan);
                    cut = cut.or_else(|| self.tried_inside(first, plan));
                }
            }
        }
        self.tried[self.known..].sort_by_key(|it| it.place);
        let own = self.tried.iter().enumerate().skip(self.known);
        self.numbers.clear();
        self.numbers.extend(
            own.filter(|(_, it)| it.kind != Kind::Kept)
                .map(|(number, _)| number),
        );
        let (first, last) = cut?;
        let number = self
            .tried
            .iter()
            .position(|it| it.kind == Kind::Kept && it.place == first)?;
        Some(Cut {
            first,
            last,
            number,
        })
    }

    /// One that begins with this read; where it begins and ends if it does not count.
    fn add_kept_at(&mut self, first: u32, plan: &Plan) -> Option<(u32, u32)> {
        let (graph, happens) = (&self.graph, &self.others.happens);
        let thread = happens.thread(first);
        let (name, count) = (graph.name(thread), happens.nth(first) as u32);
        let mine = |it: &&Tried| {
            it.kind != Kind::Kept && it.name == name && it.count == count && it.place <= first
        };
        let last = self.tried.iter().filter(mine).max_by_key(|it| it.place)?;
        let known = last.reads.clone();
        let line = &happens.of_thread(thread)[count as usize..];
        let (mut reads, mut end) = (Vec::new(), None);
        for (index, &at) in line.iter().enumerate() {
            let event = &graph.skeleton.events[at as usize];
            let source = graph.sources[at as usize];
            reads.push(TriedRead {
                source,
                site: event.site.0,
                way: way(event.op),
            });
            if at >= plan.steps.len() as u32 && self.was_tried(at, source, first, usize::MAX) {
                end = Some((first, at));
                break;
            }
            if known.get(index).is_none_or(|read| read.source != source) {
                break;
            }
        }
        self.tried.push(Tried {
            name,
            count,
            place: first,
            reads,
            kind: Kind::Kept,
        });
        end
    }

    /// A read that was done by default in a round whose beginning was planned. If it was tried, the run is known from elsewhere. If another
    /// source was, no other run reads from that one and goes on: what follows only then is found by the run in which the thread is held.
    fn tried_inside(&mut self, read: u32, plan: &Plan) -> Option<(u32, u32)> {
        let (graph, happens) = (&self.graph, &self.others.happens);
        let source = graph.sources[read as usize];
        let by_default = read >= plan.steps.len() as u32;
        if !by_default || self.kept_round(read).is_some() {
            return None;
        }
        let repeats = self.was_tried(read, source, read, usize::MAX) || self.was_taken_back(read);
        if !repeats && !self.has_tried_source(read) {
            return None;
        }
        let event = &graph.skeleton.events[read as usize];
        self.tried.push(Tried {
            name: graph.name(event.thread),
            count: happens.nth(read) as u32,
            place: read,
            reads: vec![TriedRead {
                source,
                site: event.site.0,
                way: way(event.op),
            }],
            kind: Kind::Kept,
        });
        repeats.then_some((read, read))
    }

    /// Whether an earlier round has tried one of the sources that a read might have.
    fn has_tried_source(&self, read: u32) -> bool {
        let touches = &self.graph.touches;
        let object = touches[read as usize].map(|touch| touch.object);
        let mut writes = (0..read).filter(|write| {
            let touch = touches[*write as usize].filter(|touch| touch.writes);
            touch.is_some_and(|touch| Some(touch.object) == object)
        });
        let tried = |source| self.was_tried(read, source, read, usize::MAX);
        tried(START) || writes.any(tried)
    }

    /// The round that a read belongs to, if it left a loop after others were taken back.
    pub(super) fn kept_round(&self, read: u32) -> Option<usize> {
        if self.tried.is_empty() {
            return None;
        }
        let (graph, happens) = (&self.graph, &self.others.happens);
        let line = happens.thread(read);
        let (name, nth) = (graph.name(graph.thread(line)), happens.nth(read));
        self.tried.iter().position(|it| {
            let count = it.count as usize;
            it.kind == Kind::Kept
                && it.name == name
                && (count..count + it.reads.len()).contains(&nth)
                && happens.of_thread(line).get(count) == Some(&it.place)
        })
    }

    /// Every thread that left a loop here might have stayed in it for a while, or for ever. That is explored whether or not a later write is known:
    /// there may be one only because the thread stays.
    pub(super) fn hold_kept(&mut self, run: &mut Run) {
        for number in self.known..self.tried.len() {
            if self.tried[number].kind == Kind::Kept && run.fit.is_ok() {
                self.hold(number, run);
            }
        }
    }

    /// Adds the plan in which a thread does not go through a round that left its loop, but waits until something is written.
    pub(super) fn hold(&mut self, number: usize, run: &mut Run) {
        let Tried {
            name, count, place, ..
        } = self.tried[number];
        run.elsewhere = None;
        if !claim(run, place, mix(name, u64::from(count) << 8 | 9)) {
            return;
        }
        let mut order = std::mem::take(&mut self.witness.order);
        order.clear();
        order.extend(self.graph.done.iter().filter(|position| **position < place));
        let shared = self.shared(&order, place, |_| false);
        self.items.clear();
        for &position in &order[shared..] {
            let item = Item::old(&self.graph, &[], place, position);
            self.items.push(item);
        }
        self.witness.order = order;
        let above = super::owner(&run.node, place).1;
        // In that run it is one more round that was tried.
        let before = std::mem::replace(&mut self.tried[number].kind, Kind::Held);
        self.write(shared, place, place, above, true, run);
        self.tried[number].kind = before;
    }

    /// Threads that were stopped may read for ever what they read last: the execution in which they do.
    pub(super) fn stuck(&mut self, execution: &Execution, run: &mut Run) {
        if execution.stopped.is_empty() || run.fit.is_err() {
            return;
        }
        let happens = &self.others.happens;
        let mut late = Vec::new();
        for (index, record) in execution.threads.iter().enumerate() {
            let thread = ThreadId(index as u32);
            let line = happens.of_thread(thread);
            let mut stopped = execution.stopped.iter();
            if let Some(since) = stopped.find(|since| since.thread == thread) {
                late.extend_from_slice(&line[since.count as usize..]);
            } else if record.pending.is_some() {
                let mut rounds = self.graph.rounds.iter().rev();
                let last = rounds.find(|round| round.thread == thread && !round.old);
                if let Some(last) = last.filter(|last| last.count as usize == line.len()) {
                    late.extend(last.first..last.first + last.reads);
                }
            }
        }
        late.sort_unstable();
        if !self.witness.last_of_all(&self.graph, happens, &late) {
            return;
        }
        let order = std::mem::take(&mut self.witness.order);
        self.items.clear();
        let real = order.iter().filter(|place| !late.contains(place));
        for &position in real {
            let item = Item::old(&self.graph, &[], u32::MAX, position);
            self.items.push(item);
        }
        self.witness.order = order;
        self.write_leaf(run);
    }

    /// Threads that read again because something was written which could have been written before: they may read for ever what they had read.
    pub(super) fn stay(&mut self, fresh: u32, run: &mut Run) {
        for number in 0..self.tried.len() {
            let cut = self.cut.map_or(u32::MAX, |cut| cut.first);
            if run.fit.is_err() {
                return;
            }
            if self.tried[number].kind != Kind::TakenBack || self.tried[number].place > cut {
                continue;
            }
            let from = match number < self.known {
                true => self.tried[number].place.max(fresh),
                false => self.tried[number].place,
            };
            if self.may_come_before(number, from) {
                self.stay_in(number, run);
            }
        }
    }

    /// Whether a write from a place on could have come before what a round read.
    fn may_come_before(&self, number: usize, from: u32) -> bool {
        let (graph, happens) = (&self.graph, &self.others.happens);
        let sources = self.tried[number].reads.iter().map(|read| read.source);
        let mut sources = sources.filter(|source| *source != START);
        sources.any(|source| {
            let object = graph.touches[source as usize].map(|touch| touch.object);
            (from..graph.real as u32).any(|write| {
                let touch = graph.touches[write as usize].filter(|touch| touch.writes);
                touch.is_some()
                    && touch.map(|touch| touch.object) == object
                    && !happens.after(write, source)
            })
        })
    }

    fn stay_in(&mut self, number: usize, run: &mut Run) {
        let Tried {
            name, count, place, ..
        } = self.tried[number];
        let hash = self.tried[number].reads.iter().fold(0, |hash: u128, read| {
            let id = self.graph.id(&self.others.happens, read.source);
            hash.rotate_left(9).wrapping_add(mix(id, 5))
        });
        let hash = hash.wrapping_add(mix(name, u64::from(count) << 8 | 7));
        run.elsewhere = None;
        if !claim(run, place, hash) {
            return;
        }
        let Some(round) = self.round_of(number) else {
            // Objects that were not written have no name that is the same in every run.
            run.fit = Err(crate::algorithm::Unfit::LOOPS);
            return;
        };
        let read = round.first + round.reads - 1;
        let source = self.graph.sources[read as usize];
        self.leads.clear();
        self.leads.extend(round.first..read);
        self.limit = number;
        let candidate = Candidate {
            decision: Decision { read, place },
            source,
            swapped: false,
        };
        self.try_outcome(candidate, false, run);
        self.limit = usize::MAX;
    }

    /// The round in the graph.
    fn round_of(&self, number: usize) -> Option<Round> {
        match self.numbers.iter().position(|own| *own == number) {
            Some(own) => self.graph.rounds.get(own).copied(),
            None => {
                let tried = &self.tried[number];
                let thread = self.graph.named(tried.name);
                let mut rounds = self.graph.rounds.iter();
                let same = |round: &&Round| {
                    round.old
                        && Some(round.thread) == thread
                        && (round.count, round.place) == (tried.count, tried.place)
                };
                rounds.find(same).copied()
            }
        }
    }

    /// Adds rounds of runs above to the graph that threads may stay in.
    pub(super) fn add_old_rounds(&mut self, fresh: u32, execution: &Execution) {
        for number in 0..self.known {
            let tried = &self.tried[number];
            let from = tried.place.max(fresh);
            let plausible = tried.reads.iter().any(|read| {
                let source = read.source;
                source != START && {
                    let object = self.graph.touches[source as usize].map(|touch| touch.object);
                    let mine = self.graph.skeleton.events[source as usize].thread;
                    (from..self.graph.real as u32).any(|write| {
                        let touch = self.graph.touches[write as usize];
                        touch.is_some_and(|touch| touch.writes)
                            && touch.map(|touch| touch.object) == object
                            && self.graph.skeleton.events[write as usize].thread != mine
                    })
                }
            });
            let all = tried.reads.iter().all(|read| read.source != START);
            let thread = self.graph.named(tried.name);
            let (Some(thread), true, true) = (thread, plausible, all) else {
                continue;
            };
            let (count, place) = (tried.count, tried.place);
            self.graph.add_round(thread, count, place, true);
            for index in 0..self.tried[number].reads.len() {
                let read = self.tried[number].reads[index];
                let touch = self.graph.touches[read.source as usize];
                let object = touch.expect("it was written").object;
                let value = self.graph.value(object, read.source);
                let failing = |weak| Op::CompareExchange {
                    object,
                    expected: !value,
                    new: value,
                    weak,
                };
                let op = match read.way {
                    Way::Load => Op::Load(object),
                    Way::Exchange => failing(false),
                    Way::WeakExchange => failing(true),
                    Way::Update => Op::Rmw(object, NOTHING),
                };
                let event = reweave_model::Event {
                    op,
                    outcome: 0,
                    outcomes: 1,
                    ok: matches!(op, Op::Load(_) | Op::Rmw(..)),
                    result: value,
                    site: Site(read.site),
                    ..execution.events[0]
                };
                self.graph.add_to_round(event, Some(object), read.source);
            }
        }
    }
}

/// A read-modify-write that leaves the value as it is.
const NOTHING: Rmw = Rmw {
    kind: RmwKind::Or,
    operand: 0,
    bits: 64,
};

/// How a step is marked whose source no other decision changes.
pub(super) const DECIDED: Mark = Mark::Reads(u32::MAX);
