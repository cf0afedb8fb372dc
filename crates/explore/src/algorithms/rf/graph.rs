//! An execution as a graph: who read from whom.

use super::rounds::Round;
use crate::{
    algorithm::Unfit,
    happens::{Happens, Row},
};
use reweave_model::{
    Edge, Event, Execution, Gate, Mark, Object, ObjectId, Op, Pending, Plan, Policy, ThreadId,
};

/// No position: what is there before the first write.
pub(crate) const START: u32 = u32::MAX;

/// Of longer executions too much would have to be written down at once: every read has a plan for each earlier write.
const LONGEST: usize = 5000;

/// Threads of an execution that is read: who may read from whom takes time that grows with the fourth power of their number.
const THREADS: usize = 100;

/// How an event touches an atomic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub object: ObjectId,
    pub reads: bool,
    pub writes: bool,
}

/// An execution with its events in the order of its decisions. Reading from a write is an edge of
/// happens-before, as in [`Event::after`], and nothing else orders what is done to atomics.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    pub skeleton: Execution,
    pub marks: Vec<Mark>,
    pub touches: Vec<Option<Touch>>,
    /// For every object, whether it is an atomic that several threads touch, in this run or one before it.
    pub shared: Vec<bool>,
    /// For every event that reads, where that was written.
    pub sources: Vec<u32>,
    /// For every event that writes, the value.
    pub values: Vec<u64>,
    /// The positions in the order in which the events were done.
    pub done: Vec<u32>,
    /// Whether that is the order of decisions.
    pub straight: bool,
    /// So many decisions were made in an order of their own.
    pub ordered: u32,
    /// For every object the last write so far.
    last: Vec<u32>,
    /// For every object the thread that touched it first, ever.
    owners: Vec<Option<ThreadId>>,
    /// For every event whose it is, and which of its thread, from 1.
    steps: Vec<Edge>,
    /// For every thread its events so far.
    counts: Vec<u32>,
    /// How many events of the run before are known.
    known: usize,
    /// How many events and threads are those of the run. Behind them are the rounds that were taken back, each as a thread of its own.
    pub real: usize,
    pub threads: usize,
    /// Rounds that were taken back.
    pub rounds: Vec<Round>,
    /// For each thread how many events it is taken to have done before its first one.
    offsets: Vec<u64>,
    /// How many events, in the order of decisions, are those of the run before.
    pub unchanged: u32,
    /// The first event, in the order in which they were done, that wrote what it read and whose thread was stopped in that round.
    first_failed: usize,
    /// A name for each thread that is the same in every run.
    names: Vec<u64>,
    renamed: bool,
    /// For each thread the sums of its events' hashes.
    sums: Vec<Vec<u128>>,
}

impl Graph {
    /// Gets to know an execution; or says why it is none of those that can be understood so.
    pub fn read(&mut self, plan: &Plan, order: &[u32], execution: &Execution) -> Result<(), Unfit> {
        self.skeleton.threads.truncate(self.threads);
        self.names.truncate(self.threads);
        self.rounds.clear();
        if execution.peeked {
            return Err(Unfit::because("an atomic is read like other memory"));
        }
        if execution.events.len() > LONGEST {
            return Err(Unfit::because("an execution has thousands of steps"));
        }
        if execution.threads.len() > THREADS {
            return Err(Unfit::because("an execution has hundreds of threads"));
        }
        if !execution.watches.is_empty() {
            return Err(Unfit::LOOPS);
        }
        if !execution.epochs.is_empty() {
            return Err(Unfit::because(
                "a time limit runs out when nothing else can go on",
            ));
        }
        all_fit(plan, execution)?;
        let renamed = self.copy_rest(execution);
        let first_failed = first_failed(execution);
        let kept = match renamed {
            true => 0,
            false => self.same(order, execution),
        };
        // Such an event may have counted as a write in the run before.
        let kept = kept.min(first_failed).min(self.first_failed);
        self.first_failed = first_failed;
        let count = execution.events.len();
        self.straight = order.is_empty();
        self.ordered = order.len() as u32;
        self.done.clear();
        self.done.extend_from_slice(order);
        self.done.extend(order.len() as u32..count as u32);
        let changed = self.done[kept..].iter().copied().min();
        self.unchanged = changed.unwrap_or(count as u32);
        self.copy_marks(plan, execution);
        self.make_room(execution);
        for &place in &self.done[..kept] {
            let place = place as usize;
            let Edge { thread, count } = self.steps[place];
            self.counts[thread.index()] = count;
            if let Some(touch) = self.touches[place].filter(|touch| touch.writes) {
                self.last[touch.object.index()] = place as u32;
            }
        }
        // Should it be found unfit, nothing is known of what was not read.
        self.known = 0;
        for index in kept..count {
            let event = &execution.events[index];
            unfit(event.pending())?;
            self.add(execution, event, self.done[index] as usize);
        }
        self.known = count;
        self.real = count;
        self.threads = execution.threads.len();
        Ok(())
    }

    /// How many events are done first like those of the run before: programs are deterministic.
    fn same(&self, order: &[u32], execution: &Execution) -> usize {
        let order = (order.iter().copied()).chain(order.len() as u32..);
        let events = execution.events.iter().zip(order);
        let before = self.done[..self.known].iter().zip(events);
        let same = before.take_while(|(place, (event, now))| {
            let mine = &self.skeleton.events[**place as usize];
            *place == now
                && mine.thread == event.thread
                && mine.outcome == event.outcome
                && mine.result == event.result
        });
        same.count()
    }

    fn copy_marks(&mut self, plan: &Plan, execution: &Execution) {
        self.marks.clear();
        self.marks.resize(plan.steps.len(), Mark::Default);
        for (step, place) in plan.steps.iter().zip(&self.done) {
            self.marks[*place as usize] = match step.mark {
                Mark::Overtakes(thread) => {
                    Mark::Overtakes(execution.resolve(thread).unwrap_or(thread))
                }
                mark => mark,
            };
        }
    }

    fn make_room(&mut self, execution: &Execution) {
        let (count, objects) = (execution.events.len(), execution.objects.len());
        self.skeleton.events.truncate(count);
        if let Some(first) = execution.events.first() {
            self.skeleton.events.resize(count, *first);
        }
        self.touches.resize(count, None);
        self.sources.resize(count, START);
        self.values.resize(count, 0);
        let nowhere = Edge {
            thread: ThreadId(0),
            count: 0,
        };
        self.steps.resize(count, nowhere);
        self.last.clear();
        self.last.resize(objects, START);
        self.owners.resize(objects.max(self.owners.len()), None);
        self.shared.resize(objects.max(self.shared.len()), false);
        self.counts.clear();
        self.counts.resize(execution.threads.len(), 0);
    }

    /// Adds the event that was done next.
    fn add(&mut self, execution: &Execution, event: &Event, place: usize) {
        let thread = event.thread;
        let count = &mut self.counts[thread.index()];
        *count += 1;
        self.steps[place] = Edge {
            thread,
            count: *count,
        };
        let failed = event.leaves_value() && in_stopped_round(execution, self.steps[place]);
        let touch = touch(execution, event).map(|touch| Touch {
            writes: touch.writes && !failed,
            ..touch
        });
        self.touches[place] = touch;
        self.sources[place] = START;
        self.skeleton.events[place] = *event;
        let Some(touch) = touch else {
            return;
        };
        let object = touch.object.index();
        let owner = self.owners[object].get_or_insert(thread);
        self.shared[object] |= *owner != thread;
        let source = self.last[object];
        let mine = &mut self.skeleton.events[place];
        mine.access = [None, None];
        if touch.reads && source != START {
            self.sources[place] = source;
            mine.after = Some(self.steps[source as usize]);
        }
        if touch.writes {
            self.last[object] = place as u32;
            self.values[place] = self.would_write(place as u32, event.result).unwrap_or(0);
        }
    }

    /// Takes over threads and objects; says whether threads have other names than before.
    fn copy_rest(&mut self, execution: &Execution) -> bool {
        let skeleton = &mut self.skeleton;
        if skeleton.objects != execution.objects {
            skeleton.objects.clone_from(&execution.objects);
        }
        skeleton.spurious = execution.spurious;
        skeleton.max_steps = execution.max_steps;
        let count = execution.threads.len();
        let renamed = skeleton.threads.len() != count
            || (skeleton.threads.iter().zip(&execution.threads))
                .any(|(mine, theirs)| mine.path != theirs.path);
        self.renamed |= renamed;
        if renamed {
            skeleton.threads.clone_from(&execution.threads);
            self.names.clear();
            self.names
                .extend(execution.threads.iter().map(|thread| name(&thread.path)));
        }
        for (mine, theirs) in skeleton.threads.iter_mut().zip(&execution.threads) {
            mine.born = theirs.born;
            mine.pending = theirs.pending;
        }
        renamed
    }

    /// The value of an object after a write.
    pub fn value(&self, object: ObjectId, source: u32) -> u64 {
        match (source, &self.skeleton.objects[object.index()]) {
            (START, Object::Atomic(value)) => *value,
            (START, _) => 0,
            _ => self.values[source as usize],
        }
    }

    /// What an event would write if it read this.
    pub fn would_write(&self, position: u32, value: u64) -> Option<u64> {
        let op = self.skeleton.events[position as usize].op;
        op.writes_after(value)
    }

    /// Whether an event that reads what it expects could still fail: a weak compare-exchange does so once, until one succeeds.
    pub fn may_fail(&self, happens: &Happens, position: u32) -> bool {
        let events = &self.skeleton.events;
        let Op::CompareExchange {
            object, weak: true, ..
        } = events[position as usize].op
        else {
            return false;
        };
        let line = happens.thread(position);
        let own = happens.nth(position);
        let before = &happens.of_thread(self.thread(line))[..self.nth(happens, position) - own];
        let earlier = before.iter().chain(&happens.of_thread(line)[..own]);
        let mut earlier = earlier.rev().map(|at| &events[*at as usize]);
        let last = earlier.find_map(|event| match event.op {
            Op::CompareExchange { object: other, .. } if other.0 % 64 == object.0 % 64 => {
                (event.ok || event.outcome == 1).then_some(event.ok)
            }
            _ => None,
        });
        last.unwrap_or(true)
    }

    /// Prepares [`Graph::hash`].
    pub fn hash_events(&mut self, happens: &mut Happens) {
        let kept = match std::mem::take(&mut self.renamed) {
            true => 0,
            false => happens.kept(),
        };
        happens.seek(kept);
        self.sums
            .resize_with(self.skeleton.threads.len().max(self.sums.len()), || vec![0]);
        let counts = happens.done().as_flattened().iter();
        let counts = counts.copied().chain(std::iter::repeat(0));
        for (sums, count) in self.sums.iter_mut().zip(counts) {
            sums.truncate(count as usize + 1);
        }
        for position in kept..self.skeleton.events.len() as u32 {
            let source = self.sources[position as usize];
            let hash = self.hash_of(happens, position, source, happens.row(position));
            let thread = happens.thread(position).index();
            let sum = *self.sums[thread].last().expect("it begins with none");
            self.sums[thread].push(sum.wrapping_add(hash));
        }
    }

    /// A name for an event with all that matters of it: which it is, what it read, what it comes after.
    pub fn hash_of(&self, happens: &Happens, position: u32, source: u32, row: &Row) -> u128 {
        let event = &self.skeleton.events[position as usize];
        let counts = row.as_flattened().iter().zip(&self.names);
        let past = counts.fold(0, |sum: u64, (count, name)| {
            sum.wrapping_add(name.wrapping_mul(*count as u64))
        });
        let id = self.id(happens, position).rotate_left(20) ^ u64::from(event.outcome);
        mix(id ^ past, self.id(happens, source) ^ past.rotate_left(32))
    }

    /// The same for an event as it was.
    pub fn hash_of_event(&self, happens: &Happens, position: u32) -> u128 {
        let sums = &self.sums[happens.thread(position).index()];
        let nth = happens.nth(position);
        sums[nth + 1].wrapping_sub(sums[nth])
    }

    /// A name for an event that is the same in every run.
    pub fn id(&self, happens: &Happens, position: u32) -> u64 {
        match position {
            START => 0,
            _ => {
                let thread = happens.thread(position).index();
                let before = self.offset(thread) + happens.nth(position) as u64;
                self.names[thread].wrapping_mul(before + 1)
            }
        }
    }

    fn offset(&self, thread: usize) -> u64 {
        let rounds = thread.checked_sub(self.threads);
        rounds.map_or(0, |round| self.offsets[round])
    }

    /// The thread that does what is an event of this one: the round that was taken back is its own.
    pub fn thread(&self, thread: ThreadId) -> ThreadId {
        match thread.index().checked_sub(self.threads) {
            Some(round) => self.rounds[round].thread,
            None => thread,
        }
    }

    /// Which event of its thread it is, from 0; in a round that was taken back, which it would be.
    pub fn nth(&self, happens: &Happens, position: u32) -> usize {
        self.offset(happens.thread(position).index()) as usize + happens.nth(position)
    }

    /// A thread by its name.
    pub fn named(&self, name: u64) -> Option<ThreadId> {
        let index = self.names[..self.threads].iter().position(|it| *it == name);
        index.map(|index| ThreadId(index as u32))
    }

    /// Adds a round that was taken back, as a thread of its own behind all others.
    pub fn add_round(&mut self, thread: ThreadId, count: u32, place: u32, old: bool) {
        let number = self.rounds.len() as u32;
        let mut record = self.skeleton.threads[thread.index()].clone();
        record.born = Edge { thread, count };
        record.path.push(u32::MAX - number);
        record.pending = None;
        self.skeleton.threads.push(record);
        self.names.push(self.names[thread.index()]);
        self.offsets.truncate(number as usize);
        self.offsets.push(count.into());
        self.rounds.push(Round {
            thread,
            count,
            place,
            first: self.skeleton.events.len() as u32,
            reads: 0,
            old,
        });
    }

    /// Adds an event to the last of these rounds: what it read, and from where.
    pub fn add_to_round(&mut self, event: Event, object: Option<ObjectId>, source: u32) {
        let place = self.skeleton.events.len() as u32;
        let thread = ThreadId(self.skeleton.threads.len() as u32 - 1);
        let round = self.rounds.last_mut().expect("it was just added");
        round.reads += 1;
        self.steps.push(Edge {
            thread,
            count: round.reads,
        });
        if let Some(object) = object {
            let real = self.rounds.last().map(|round| round.thread);
            let owner = &mut self.owners[object.index()];
            self.shared[object.index()] |= owner.is_some() && *owner != real;
            *owner = owner.or(real);
        }
        self.touches.push(object.map(|object| Touch {
            object,
            reads: true,
            writes: false,
        }));
        self.sources.push(source);
        self.values.push(0);
        self.done.push(place);
        let after = (source != START).then(|| self.steps[source as usize]);
        self.skeleton.events.push(Event {
            thread,
            access: [None, None],
            after,
            ..event
        });
    }

    /// The last write to an object among the first so many events of the run.
    pub fn last_write(&self, object: ObjectId, place: u32) -> u32 {
        let mut before = self.done[..place as usize].iter().rev();
        let writes = |place: &&u32| {
            let touch = self.touches[**place as usize];
            touch.is_some_and(|touch| touch.object == object && touch.writes)
        };
        before.find(writes).copied().unwrap_or(START)
    }

    /// A name for a thread that is the same in every run.
    pub fn name(&self, thread: ThreadId) -> u64 {
        self.names[thread.index()]
    }

    /// The sum of the hashes of the events that one set has beyond another.
    pub fn hash(&self, row: &Row, without: &Row) -> u128 {
        let mut sum = 0_u128;
        let counts = row.as_flattened().iter().zip(without.as_flattened());
        for ((count, done), sums) in counts.zip(&self.sums) {
            if count > done {
                let part = sums[*count as usize].wrapping_sub(sums[*done as usize]);
                sum = sum.wrapping_add(part);
            }
        }
        sum
    }
}

/// Why some thread that has not ended cannot be explored so. One that waits since its round was taken back can.
fn all_fit(plan: &Plan, execution: &Execution) -> Result<(), Unfit> {
    let waits = |index: usize| {
        let thread = ThreadId(index as u32);
        let mine = execution.events.iter().filter(|it| it.thread == thread);
        let count = mine.count() as u32;
        let stopped = execution.stopped.iter().any(|it| it.thread == thread);
        let since = Edge { thread, count };
        plan.policy == Policy::Loops
            && (stopped || execution.attempts.iter().any(|it| it.since == since))
    };
    for (index, record) in execution.threads.iter().enumerate() {
        match record.pending {
            Some(Pending {
                gate: Gate::Word(_),
                ..
            }) if waits(index) => {}
            Some(pending) => unfit(pending)?,
            None => {}
        }
    }
    Ok(())
}

/// Why an operation cannot be explored by who reads from whom.
fn unfit(Pending { op, gate, .. }: Pending) -> Result<(), Unfit> {
    match (op, gate) {
        (Op::Await(..), _) | (_, Gate::Word(_)) => Err(Unfit::LOOPS),
        (_, Gate::Late) => Err(Unfit::because(
            "a time limit runs out when nothing else can go on",
        )),
        (op, _) if op.atomic().is_some() => Err(Unfit::because("threads wait for a futex")),
        _ => Ok(()),
    }
}

/// Whether an event belongs to a round at whose end its thread was stopped. In such a round a read-modify-write that writes what it reads, such as the
/// failed test-and-set of a lock, counts as a read: other threads read the same without it.
fn in_stopped_round(execution: &Execution, event: Edge) -> bool {
    let mut stopped = execution.stopped.iter();
    stopped.any(|since| since.thread == event.thread && event.count > since.count)
}

/// Where the first such read-modify-write was done.
fn first_failed(execution: &Execution) -> usize {
    if execution.stopped.is_empty() {
        return usize::MAX;
    }
    let mut counts = vec![0; execution.threads.len()];
    let failed = execution.events.iter().position(|event| {
        let count = &mut counts[event.thread.index()];
        *count += 1;
        let edge = Edge {
            thread: event.thread,
            count: *count,
        };
        event.leaves_value() && in_stopped_round(execution, edge)
    });
    failed.unwrap_or(usize::MAX)
}

fn touch(execution: &Execution, event: &Event) -> Option<Touch> {
    let (reads, writes) = event.op.reads_and_writes(event.ok)?;
    let object = event.op.object()?;
    match execution.objects[object.index()] {
        Object::Atomic(_) => Some(Touch {
            object,
            reads,
            writes,
        }),
        _ => None,
    }
}

/// Odd, so that multiples of it differ.
fn name(path: &[u32]) -> u64 {
    let word = path.iter().fold(0x9e37_79b9_7f4a_7c15, |word: u64, step| {
        fold(word ^ u64::from(*step + 1), 0xd6e8_feb8_6659_fd93)
    });
    word | 1
}

fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// Two words to one that tells nothing of them.
pub(crate) fn mix(a: u64, b: u64) -> u128 {
    let first = fold(a ^ 0xa076_1d64_78bd_642f, b ^ 0xe703_7ed1_a0b4_28db);
    let second = fold(b ^ 0x8ebc_6af0_9c88_c6e3, a ^ 0x5899_65cc_7537_4cc3);
    let low = fold(first ^ a.rotate_left(17), 0x1d8e_4e27_c47d_124f ^ b);
    let high = fold(second ^ b.rotate_left(29), 0xeb44_acca_b455_d165 ^ a);
    u128::from(high) << 64 | u128::from(low)
}
