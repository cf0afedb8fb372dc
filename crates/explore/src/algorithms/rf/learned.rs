//! What earlier runs have shown of loops: where their rounds begin, and which rounds do not leave them.
//!
//! It saves runs and decides nothing else: what is not known is tried. So each worker has its own, and none is stored.
//!
//! Whether a round leaves its loop follows from what the thread knows when it comes there, which is everything that happens before, and from
//! where the round reads. Where the target saw that rounds read nothing but atomics and the stack of their thread
//! ([`Execution::closed`](reweave_model::Execution::closed)), the values alone decide.
//!
//! A *trial* is a branch in which a round reads what it may not leave with. Such a round stands for no class except a livelock, and for none at
//! all if something that it reads is overwritten in every case. What the other threads do meanwhile follows from the run in which the thread
//! waits. So a trial that is known to fail is not run, and nothing follows from one that fails.

use super::{
    Candidate, Decision, Rf, Run,
    graph::{Graph, START, Touch, mix},
    trail::Kind,
};
use crate::happens::Happens;
use reweave_model::{Edge, Execution, ObjectId, Op, ThreadId};
use std::collections::HashSet;

/// Of longer rounds nothing is learned: looking them up takes time that grows with the square of this.
const LONGEST: usize = 8;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// The places in the program where rounds begin.
    heads: HashSet<u32>,
    /// Rounds that stay.
    stays: HashSet<u128>,
    /// How many reads the longest of them has.
    longest: usize,
    /// Atomics of this run that hold addresses.
    pointers: Vec<ObjectId>,
}

impl Learned {
    /// Whether any rounds are known.
    pub fn any(&self) -> bool {
        !self.heads.is_empty()
    }

    /// Whether rounds are known to begin here.
    pub fn is_head(&self, site: u32) -> bool {
        self.heads.contains(&site)
    }
}

/// A round of a thread that begins after so many of its events and has these reads, and from where.
struct Reads<'a> {
    thread: ThreadId,
    count: usize,
    reads: &'a [(u32, u32)],
    /// Atomics that hold addresses.
    pointers: &'a [ObjectId],
}

impl Reads<'_> {
    /// Its name, by values or by all that happens before.
    fn key(&self, graph: &Graph, happens: &Happens, closed: bool) -> u128 {
        let past = happens.coming(&graph.skeleton, self.thread, self.count);
        let own = mix(
            graph.name(self.thread),
            self.count as u64 * 2 + u64::from(closed),
        );
        self.reads
            .iter()
            .fold(graph.hash_of_all(past) ^ own, |key, &(read, source)| {
                let object = graph.touches[read as usize]
                    .expect("it reads an atomic")
                    .object;
                let value = graph.value(object, source);
                // The number of an address may stand for another one in another run.
                let by_value = closed && !self.pointers.contains(&object);
                let from = match source {
                    START => 0,
                    _ if by_value => 0,
                    _ => graph.hash_of_all(happens.row(source)),
                };
                let next = mix(value, key as u64) ^ from.rotate_left(31);
                key.rotate_left(64)
                    .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                    ^ next
            })
    }
}

impl Rf {
    /// Learns from the rounds that this run took back, and from those at which threads were stopped.
    pub(super) fn learn(&mut self, execution: &Execution) {
        self.learned.pointers.clone_from(&execution.pointers);
        let (graph, happens) = (&self.graph, &self.others.happens);
        let mut reads = Vec::new();
        let mut learned = |thread, count: u32, positions: &mut dyn Iterator<Item = u32>| {
            reads.clear();
            reads.extend(positions.map(|at| (at, graph.sources[at as usize])));
            let Some(&(first, _)) = reads.first() else {
                return;
            };
            let round = Reads {
                thread,
                count: count as usize,
                reads: &reads,
                pointers: &execution.pointers,
            };
            if reads.len() > LONGEST {
                return;
            }
            let key = round.key(graph, happens, execution.closed);
            let site = graph.skeleton.events[first as usize].site.0;
            self.learned.heads.insert(site);
            self.learned.stays.insert(key);
            self.learned.longest = self.learned.longest.max(reads.len());
        };
        for round in graph.rounds.iter().filter(|round| !round.old) {
            let mut positions = round.first..round.first + round.reads;
            learned(round.thread, round.count, &mut positions);
        }
        for since in &execution.stopped {
            let line = &happens.of_thread(since.thread)[since.count as usize..];
            learned(since.thread, since.count, &mut line.iter().copied());
        }
    }

    /// Whether a read that has this source ends a round that is known to stay.
    fn stays(&self, read: u32, source: u32) -> bool {
        let (graph, happens) = (&self.graph, &self.others.happens);
        let line = happens.thread(read);
        let thread = graph.thread(line);
        let (nth, own) = (graph.nth(happens, read), happens.nth(read));
        let at = |index: usize| match index.checked_sub(nth - own) {
            Some(index) => happens.of_thread(line)[index],
            None => happens.of_thread(thread)[index],
        };
        let mut reads = vec![(read, source)];
        for count in (0..=nth).rev().take(self.learned.longest) {
            if count < nth {
                let before = at(count);
                let only_reads = |touch: Touch| touch.reads && !touch.writes;
                if !graph.touches[before as usize].is_some_and(only_reads) {
                    return false;
                }
                reads.insert(0, (before, graph.sources[before as usize]));
            }
            if line != thread && count > nth - own {
                // The round that was taken back began before.
                continue;
            }
            let round = Reads {
                thread,
                count,
                reads: &reads,
                pointers: &self.learned.pointers,
            };
            let known = |closed| {
                let key = round.key(graph, happens, closed);
                self.learned.stays.contains(&key)
            };
            if known(true) || known(false) {
                return true;
            }
        }
        false
    }

    /// Whether something before a place, and so in every execution of that branch, overwrites a source.
    pub(super) fn passes(&self, source: u32, place: u32) -> bool {
        let object = self.graph.touches[source as usize].map(|touch| touch.object);
        (0..place).any(|write| {
            let touch = self.graph.touches[write as usize].filter(|touch| touch.writes);
            touch.is_some()
                && touch.map(|touch| touch.object) == object
                && write != source
                && self.others.happens.after(write, source)
        })
    }

    /// The same, of what a read finds.
    fn read_passes(&self, read: u32, source: u32, place: u32) -> bool {
        let object = self.graph.touches[read as usize].map(|touch| touch.object);
        match source {
            START => (0..place).any(|write| {
                let touch = self.graph.touches[write as usize].filter(|touch| touch.writes);
                touch.is_some() && touch.map(|touch| touch.object) == object
            }),
            source => self.passes(source, place),
        }
    }

    /// Adds the plans in which a read of a round has another source. `kept`: the round has left its loop; none: it was taken back, or is known to
    /// be no round.
    pub(super) fn try_in_round(
        &mut self,
        candidate: Candidate,
        kept: Option<usize>,
        run: &mut Run,
    ) {
        let Candidate {
            decision: Decision { read, place },
            source,
            ..
        } = candidate;
        let taken_back = read as usize >= self.graph.real;
        if kept.is_none() && !taken_back {
            return self.try_source(candidate, run);
        }
        let happens = &self.others.happens;
        let first = match kept {
            Some(kept) => self.tried[kept].count as usize,
            None => 0,
        };
        let line = &happens.of_thread(happens.thread(read))[first..=happens.nth(read)];
        let mut reads = line.iter().map(|at| match *at == read {
            true => (read, source),
            false => (*at, self.graph.sources[*at as usize]),
        });
        if !reads.any(|(read, source)| self.read_passes(read, source, place)) {
            return self.try_source(candidate, run);
        }
        // The run of the trial would show this.
        let limit = std::mem::replace(&mut self.limit, usize::MAX);
        let leads = std::mem::take(&mut self.leads);
        if let Some(touch) = self.graph.touches[read as usize] {
            self.swap_with(read, touch, source, run);
        }
        (self.limit, self.leads) = (limit, leads);
        run.elsewhere = None;
        if self.stays(read, source) {
            let question =
                candidate.question(&self.graph, &self.others.happens, &self.leads, false);
            if let Some(kept) = kept.filter(|_| self.witness.find(&question)) {
                self.hold(kept, run);
            }
            return;
        }
        let known = run.found.children.len();
        self.trial = true;
        self.try_source(candidate, run);
        self.trial = false;
        if let Some(kept) = kept.filter(|_| run.found.children.len() > known) {
            self.hold(kept, run);
        }
    }

    /// Whether the read that a trial is about kept its thread in the loop.
    pub(super) fn failed(&self, fresh: u32, execution: &Execution) -> bool {
        let happens = &self.others.happens;
        let (thread, nth) = (happens.thread(fresh), happens.nth(fresh));
        let stopped = |since: &Edge| since.thread == thread && since.count as usize <= nth;
        execution.stopped.iter().any(stopped) && happens.of_thread(thread).len() == nth + 1
    }

    /// Whether no other thread could do anything as long as this one is held at a place.
    pub(super) fn alone(&self, thread: ThreadId, place: u32) -> bool {
        let (graph, happens) = (&self.graph, &self.others.happens);
        let records = &graph.skeleton.threads[..graph.threads];
        let rest = |thread: ThreadId| {
            let line = happens.of_thread(thread);
            &line[line.partition_point(|at| *at < place)..]
        };
        let goes_on = |thread: ThreadId| {
            !rest(thread).is_empty() || records[thread.index()].pending.is_some()
        };
        (0..records.len() as u32).map(ThreadId).all(|other| {
            let next = rest(other)
                .first()
                .map(|at| graph.skeleton.events[*at as usize].op);
            let pending = records[other.index()].pending.map(|pending| pending.op);
            match next.or(pending) {
                _ if other == thread => true,
                None => true,
                Some(Op::Join(joined)) => goes_on(joined),
                Some(_) if next.is_none() && self.stopped.contains(&other) => true,
                Some(_) => self.waits(other, place),
            }
        })
    }

    /// Whether a thread waits, or is held, at a place: nothing was written since its last round.
    fn waits(&self, thread: ThreadId, place: u32) -> bool {
        let line = self.others.happens.of_thread(thread);
        let count = line.partition_point(|at| *at < place) as u32;
        let name = self.graph.name(thread);
        let mut rounds = self.tried.iter().filter(|it| {
            it.kind != Kind::Kept && (it.name, it.count) == (name, count) && it.place <= place
        });
        rounds.any(|round| {
            (round.place..place).all(|at| {
                let touch = self.graph.touches[at as usize];
                touch.is_none_or(|touch| !touch.writes)
            })
        })
    }
}
