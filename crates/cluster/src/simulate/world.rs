//! Events and what they lead to.
//!
//! *Called by:* `simulate`. *Owns:* the clock. *Invariant:* actions of a step are done in their order, and cost what they cost.

use super::{
    Course, Setting, Tree,
    broker::{Broker, Delivery},
    course::Doing,
    home::{Cost, Explored, Slice, TreeHome, branches, explore},
};
use crate::{
    coordinator::{Coordinator, Ending, Input, Limits, Step},
    message::{Alive, Control, Outcome, PieceId, Report, SearchId, Status, Token},
    worker::{Action, Event, Worker},
};
use reweave_estimate::Dice;
use std::{
    collections::{BTreeMap, VecDeque, btree_map::Entry},
    time::Duration,
};

const MS: u64 = 1_000_000;
/// As in `coordinate`: between two looks, and reports that are taken in together.
const TICK: u64 = 20 * MS;
const BATCH: usize = 64;
/// Values and tokens that are written at the same time.
const AT_ONCE: usize = 64;
/// As in `serve`: how often workers say that they are there; every other time they keep their tokens.
const BEAT: u64 = 300 * MS;
/// As in `broker`: a silent worker loses its token.
const SILENCE: u64 = 3_000 * MS;
/// A worker that pauses goes on so long after its token was lost.
const AFTER: u64 = 1_000 * MS;
/// Until a dead process of workers is replaced, and a dead coordinator.
const REPLACED: u64 = 2_000 * MS;
/// At the user's end a search begins with so many executions, or with this time.
const FIRST: u64 = 500;
const SOON: u64 = 300 * MS;
/// A record that is stored in parts costs one operation for each so many branches.
const PART: u64 = 2_000;

/// What happens.
#[derive(Debug)]
enum Happens {
    /// The coordinator looks; the number tells whether it is the same one.
    Wake(u64),
    /// The coordinator dies, and another one takes over.
    LeaderDies,
    TakesOver,
    /// A report is there for the coordinator.
    Reported(PieceId),
    /// A process of workers says that it is there.
    Beat(usize),
    /// A token comes into the queue.
    Queued(Delivery),
    /// Something for a worker, of this generation.
    Meant(usize, u32, Meant),
    /// A report arrives at the broker.
    Stores(usize, u32, Report),
    /// A process of workers dies.
    Dies(usize),
}

/// What happens to a worker.
#[derive(Debug)]
enum Meant {
    /// It asks for a token.
    Pulls,
    /// It gets one.
    Delivered(Delivery),
    /// It asked for the piece of its token.
    Fetched,
    /// An exploration is over.
    Explored(u32),
    /// Its report is stored.
    Stored,
    /// A message of the coordinator.
    Told(Control),
    /// It is there again.
    Begins,
}

/// One that explores a piece at a time.
#[derive(Debug)]
struct Slot {
    machine: Worker,
    /// Grows when it dies: what was meant for the dead one does not reach this one.
    generation: u32,
    delivery: Option<Delivery>,
    work: Option<Work>,
    /// Explorations so far.
    count: u32,
    doing: Doing,
    since_ns: u64,
    had_one: bool,
    opened: bool,
}

/// An exploration under way, as it will be when nothing happens to it.
#[derive(Debug)]
struct Work {
    token: Token,
    piece: Vec<u8>,
    /// When the first run begins.
    begun_ns: u64,
    payload: Vec<u8>,
    explored: Explored,
}

pub(super) struct World<'a> {
    tree: &'a Tree,
    setting: &'a Setting,
    now_ns: u64,
    number: u64,
    events: BTreeMap<(u64, u64), Happens>,
    broker: Broker,
    machine: Option<Coordinator<TreeHome<'a>>>,
    revision: u64,
    writers: u64,
    inbox: VecDeque<Input>,
    /// When the coordinator looks next.
    wakes_ns: u64,
    free_ns: u64,
    slots: Vec<Slot>,
    dice: Dice,
    course: Course,
    over: bool,
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX / 4)
}

fn id() -> SearchId {
    SearchId::new(1)
}

impl<'a> World<'a> {
    pub fn new(tree: &'a Tree, setting: &'a Setting) -> World<'a> {
        let slot = || Slot {
            machine: Worker::default(),
            generation: 0,
            delivery: None,
            work: None,
            count: 0,
            doing: Doing::Starting,
            since_ns: 0,
            had_one: false,
            opened: false,
        };
        let mut world = World {
            tree,
            setting,
            now_ns: 0,
            number: 0,
            events: BTreeMap::new(),
            broker: Broker::default(),
            machine: None,
            revision: 0,
            writers: 0,
            inbox: VecDeque::new(),
            wakes_ns: u64::MAX,
            free_ns: 0,
            slots: (0..setting.workers.max(1)).map(|_| slot()).collect(),
            dice: Dice(setting.seed),
            course: Course {
                workers: setting.workers.max(1),
                ..Course::default()
            },
            over: false,
        };
        world.begin();
        world
    }

    /// The search begins at the user's end; the workers are there already.
    fn begin(&mut self) {
        let mut home = TreeHome::new(self.tree);
        let slice = Slice {
            time_ns: SOON,
            most_runs: FIRST,
            least: true,
        };
        let done = home.begin(self.cost(), slice);
        let mut machine = Coordinator::new(home, id(), self.setting.pace, Limits::default(), 0);
        self.broker.record = (1, Some(machine.record(Status::Running)));
        self.revision = 1;
        self.machine = Some(machine);
        for process in 0..self.slots.len().div_ceil(self.cores()) {
            let phase = self.dice.next() % BEAT;
            self.at(phase, Happens::Beat(process));
            self.dies_some_time(process);
        }
        for slot in 0..self.slots.len() {
            self.at(0, Happens::Meant(slot, 0, Meant::Pulls));
        }
        self.wake(done.time_ns);
        self.leader_dies_some_time();
    }

    pub fn run(mut self) -> Course {
        while !self.over {
            let Some(((now_ns, _), event)) = self.events.pop_first() else {
                panic!("a cluster in which nothing happens any more and the search is not over");
            };
            self.now_ns = now_ns;
            self.happens(event);
        }
        for slot in 0..self.slots.len() {
            let Slot {
                had_one,
                doing,
                since_ns,
                ..
            } = self.slots[slot];
            let time_ns = self.now_ns - since_ns;
            match (doing, had_one) {
                (Doing::Waiting, true) => self.course.spent.ending += time_ns,
                _ => self.course.spent.add(doing, time_ns),
            }
        }
        let course = &mut self.course;
        course.time_ns = self.now_ns;
        let useful = course.alone_ns.min(course.spent.vain);
        course.spent.exploring = useful;
        course.spent.vain -= useful;
        course.operations = self.broker.operations;
        course.broker_ns = self.broker.busy_ns;
        self.course
    }

    fn at(&mut self, time_ns: u64, event: Happens) {
        self.number += 1;
        self.events.insert((time_ns, self.number), event);
    }

    fn cost(&self) -> Cost {
        Cost(ns(self.setting.execution).max(1))
    }

    fn cores(&self) -> usize {
        self.setting.cores.max(1)
    }

    fn latency(&self) -> u64 {
        ns(self.setting.latency)
    }

    /// An operation of the broker with so many branches, sent at some time: when it is done there.
    fn operation(&mut self, sent_ns: u64, branches: u64) -> u64 {
        let takes = ns(self.setting.operation) + branches * ns(self.setting.branch);
        let arrives = sent_ns + self.latency();
        self.broker.operation(arrives, takes)
    }

    /// A time until something happens that happens so often; exponentially distributed.
    fn until(&mut self, per_hour: f64) -> Option<u64> {
        (per_hour > 0.0).then(|| {
            let hours = -(1.0 - self.dice.fraction()).ln() / per_hour;
            self.now_ns.saturating_add((hours * 3600e9) as u64)
        })
    }

    fn happens(&mut self, event: Happens) {
        match event {
            Happens::Wake(writer) if writer == self.writers => self.lead(),
            Happens::Wake(_) => {}
            Happens::LeaderDies => {
                self.machine = None;
                self.writers += 1;
                let later = self.now_ns + REPLACED;
                self.at(later, Happens::TakesOver);
            }
            Happens::TakesOver => self.take_over(),
            Happens::Reported(piece) => {
                if let Some(bytes) = self.broker.reports.get(&piece) {
                    let report = Report::decode(bytes).expect("it was written here");
                    self.inbox.push_back(Input::Report(report));
                    self.wake(self.now_ns);
                }
            }
            Happens::Beat(process) => self.beat(process),
            // A name that was in the queue before is not put into it again.
            Happens::Queued(Delivery { token, times: 1 })
                if !self.broker.queued.insert(token.piece) => {}
            Happens::Queued(delivery) => {
                self.broker.tokens.push_back(delivery);
                self.hand_out();
            }
            Happens::Meant(slot, generation, Meant::Delivered(delivery))
                if !self.lives(slot, generation) =>
            {
                let again = self.now_ns + SILENCE;
                self.at(again, Happens::Queued(again_of(delivery)));
            }
            Happens::Meant(slot, generation, what) if self.lives(slot, generation) => {
                self.happens_to(slot, generation, what);
            }
            // It was meant for one that is dead.
            Happens::Meant(..) => {}
            Happens::Stores(slot, generation, report) => {
                let piece = report.piece;
                if let Entry::Vacant(place) = self.broker.reports.entry(piece) {
                    place.insert(report.encode());
                    let seen = self.now_ns + self.latency();
                    self.at(seen, Happens::Reported(piece));
                }
                let back = self.now_ns + self.latency();
                self.at(back, Happens::Meant(slot, generation, Meant::Stored));
            }
            Happens::Dies(process) => self.die(process),
        }
    }

    fn happens_to(&mut self, slot: usize, generation: u32, what: Meant) {
        match what {
            Meant::Pulls => {
                self.operation(self.now_ns, 0);
                self.broker.waiting.push_back((slot, generation));
                self.hand_out();
            }
            Meant::Delivered(delivery) => {
                self.slots[slot].delivery = Some(delivery.clone());
                self.note_first(slot);
                self.doing(slot, Doing::Moving);
                self.work(slot, Event::Token(delivery.token));
            }
            Meant::Fetched => self.fetched(slot),
            Meant::Explored(count) if self.slots[slot].count == count => self.explored(slot),
            // It was interrupted before.
            Meant::Explored(_) => {}
            Meant::Stored => self.work(slot, Event::Stored),
            Meant::Told(control) => self.work(slot, Event::Control(id(), control)),
            Meant::Begins => {
                self.doing(slot, Doing::Waiting);
                self.at(self.now_ns, Happens::Meant(slot, generation, Meant::Pulls));
            }
        }
    }

    fn lives(&self, slot: usize, generation: u32) -> bool {
        self.slots[slot].generation == generation
    }
}

/// The same token, taken out once more.
fn again_of(delivery: Delivery) -> Delivery {
    Delivery {
        times: delivery.times + 1,
        ..delivery
    }
}

/// Workers.
impl World<'_> {
    fn doing(&mut self, slot: usize, doing: Doing) {
        let slot = &mut self.slots[slot];
        let time_ns = self.now_ns - slot.since_ns;
        self.course.spent.add(slot.doing, time_ns);
        (slot.doing, slot.since_ns) = (doing, self.now_ns);
    }

    fn note_first(&mut self, slot: usize) {
        if !std::mem::replace(&mut self.slots[slot].had_one, true)
            && self.slots.iter().all(|slot| slot.had_one)
        {
            self.course.all_busy_ns = Some(self.now_ns);
        }
    }

    /// Tokens go to workers that wait.
    fn hand_out(&mut self) {
        while !self.broker.tokens.is_empty() {
            let Some((slot, generation)) = self.broker.waiting.pop_front() else {
                return;
            };
            if !self.lives(slot, generation) {
                continue;
            }
            let delivery = self.broker.tokens.pop_front().expect("there is one");
            let done = self.operation(self.now_ns - self.latency().min(self.now_ns), 0);
            let there = done.max(self.now_ns) + self.latency();
            let delivered = Meant::Delivered(delivery);
            self.at(there, Happens::Meant(slot, generation, delivered));
        }
    }

    /// Does what the worker does when this happens.
    fn work(&mut self, slot: usize, event: Event) {
        let Some(action) = self.slots[slot].machine.step(event) else {
            return;
        };
        let generation = self.slots[slot].generation;
        match action {
            Action::Fetch(_) => {
                // One that comes again may have a report: that is looked up first.
                let times = self.slots[slot].delivery.as_ref().map_or(1, |it| it.times);
                let mut sent = self.now_ns;
                if times > 1 {
                    sent = self.operation(sent, 0) + self.latency();
                }
                let there = self.operation(sent, 0) + self.latency();
                self.at(there, Happens::Meant(slot, generation, Meant::Fetched));
            }
            Action::Explore(token, piece) => self.begin_work(slot, token, piece),
            Action::Interrupt => {
                let now = self.now_ns;
                let (tree, cost) = (self.tree, self.cost());
                let slot_of = &mut self.slots[slot];
                if let Some(work) = &mut slot_of.work {
                    let slice = Slice {
                        time_ns: now.saturating_sub(work.begun_ns),
                        most_runs: work.token.most_runs.unwrap_or(u64::MAX),
                        least: false,
                    };
                    (work.payload, work.explored) = explore(tree, cost, &work.piece, slice);
                    slot_of.count += 1;
                    self.explored(slot);
                }
            }
            Action::Store(_, report) => {
                if self.setting.lost > 0.0 && self.dice.fraction() < self.setting.lost {
                    match self.dice.next().is_multiple_of(2) {
                        true => self.lose(slot),
                        false => self.pause(slot, report),
                    }
                    return;
                }
                let branches = branches(&report.payload);
                let there = self.operation(self.now_ns, branches);
                self.at(there, Happens::Stores(slot, generation, report));
            }
            Action::Acknowledge => {
                self.slots[slot].delivery = None;
                self.operation(self.now_ns, 0);
                self.doing(slot, Doing::Waiting);
                self.at(self.now_ns, Happens::Meant(slot, generation, Meant::Pulls));
            }
            Action::Return => unreachable!("trees can be explored anywhere"),
        }
    }

    fn fetched(&mut self, slot: usize) {
        let Some(delivery) = &self.slots[slot].delivery else {
            return;
        };
        let piece = delivery.token.piece;
        let reported = delivery.times > 1 && self.broker.reports.contains_key(&piece);
        let bytes = self
            .broker
            .pieces
            .get(&piece)
            .filter(|_| !reported)
            .cloned();
        self.work(slot, Event::Piece(bytes));
    }

    fn begin_work(&mut self, slot: usize, token: Token, piece: Vec<u8>) {
        let opened = std::mem::replace(&mut self.slots[slot].opened, true);
        let opening = if opened { 0 } else { ns(self.setting.opening) };
        let slice = Slice {
            time_ns: token.budget_ms * MS,
            most_runs: token.most_runs.unwrap_or(u64::MAX),
            least: true,
        };
        let (payload, explored) = explore(self.tree, self.cost(), &piece, slice);
        let begun_ns = self.now_ns + opening;
        let count = self.slots[slot].count + 1;
        // A piece that is not done with ends in the middle of an execution.
        let time_ns = match branches(&payload) {
            0 => explored.time_ns,
            _ => explored.time_ns.max(slice.time_ns),
        };
        let generation = self.slots[slot].generation;
        self.doing(slot, Doing::Exploring);
        let over = Meant::Explored(count);
        self.at(begun_ns + time_ns, Happens::Meant(slot, generation, over));
        let slot = &mut self.slots[slot];
        slot.count = count;
        slot.work = Some(Work {
            token,
            piece,
            begun_ns,
            payload,
            explored,
        });
    }

    fn explored(&mut self, slot: usize) {
        let Some(work) = self.slots[slot].work.take() else {
            return;
        };
        self.doing(slot, Doing::Moving);
        let report = Report {
            piece: work.token.piece,
            outcome: Outcome::Explored,
            runs: work.explored.runs,
            busy_ms: work.explored.time_ns / MS,
            moving_ms: branches(&work.payload) * ns(self.setting.report_branch) / MS,
            worker: String::new(),
            payload: work.payload,
        };
        self.work(slot, Event::Explored(report));
    }

    /// A process says that it is there, and what of it keeps its tokens.
    fn beat(&mut self, process: usize) {
        let (first, cores) = (process * self.cores(), self.cores());
        let slots = first..(first + cores).min(self.slots.len());
        let count = slots.len() as u32;
        let slots = self.slots[slots].iter();
        let busy = slots.clone().filter(|slot| slot.delivery.is_some());
        let explored = slots.filter_map(|slot| {
            let (search, piece) = slot.machine.piece()?;
            Some((search.clone(), piece, 0))
        });
        let explored = explored.collect();
        // Every other time.
        let kept = busy.count() / 2;
        (0..=kept).for_each(|_| {
            self.operation(self.now_ns, 0);
        });
        self.inbox.push_back(Input::Alive(Alive {
            worker: process.to_string(),
            slots: count,
            busy: explored,
            refused: Vec::new(),
            leaves: false,
        }));
        let next = self.now_ns + BEAT;
        self.at(next, Happens::Beat(process));
    }

    fn dies_some_time(&mut self, process: usize) {
        if let Some(time) = self.until(self.setting.deaths_per_hour) {
            self.at(time, Happens::Dies(process));
        }
    }

    fn die(&mut self, process: usize) {
        let first = process * self.cores();
        for slot in first..(first + self.cores()).min(self.slots.len()) {
            self.lose(slot);
        }
        self.dies_some_time(process);
    }

    /// A worker is silent for so long that another one gets its piece, and reports then.
    fn pause(&mut self, slot: usize, report: Report) {
        self.course.pauses += 1;
        let Slot {
            generation,
            delivery,
            ..
        } = &self.slots[slot];
        let (generation, delivery) = (*generation, delivery.clone());
        let silent = self.now_ns + SILENCE;
        if let Some(delivery) = delivery {
            self.at(silent, Happens::Queued(again_of(delivery)));
        }
        self.at(silent + AFTER, Happens::Stores(slot, generation, report));
    }

    /// A worker is gone with what it explored. The broker gives its token to another one after a while.
    fn lose(&mut self, slot: usize) {
        self.course.deaths += 1;
        self.doing(slot, Doing::Dead);
        let dead = &mut self.slots[slot];
        dead.generation += 1;
        dead.machine = Worker::default();
        dead.work = None;
        dead.opened = false;
        let generation = dead.generation;
        if let Some(delivery) = dead.delivery.take() {
            let again = self.now_ns + SILENCE;
            self.at(again, Happens::Queued(again_of(delivery)));
        }
        let begins = self.now_ns + REPLACED;
        self.at(begins, Happens::Meant(slot, generation, Meant::Begins));
    }
}

/// The coordinator.
impl<'a> World<'a> {
    /// It looks at this time, or when it is done with what it does.
    fn wake(&mut self, time_ns: u64) {
        let time_ns = time_ns.max(self.free_ns);
        if time_ns < self.wakes_ns {
            self.wakes_ns = time_ns;
            self.at(time_ns, Happens::Wake(self.writers));
        }
    }

    /// One step.
    fn lead(&mut self) {
        if self.now_ns != self.wakes_ns {
            return;
        }
        self.wakes_ns = u64::MAX;
        let mut inputs = Vec::new();
        let mut later = VecDeque::new();
        let (mut reports, mut read) = (0, 0);
        for input in self.inbox.drain(..) {
            match &input {
                Input::Report(_) if reports == BATCH => later.push_back(input),
                Input::Report(report) => {
                    reports += 1;
                    read += branches(&report.payload);
                    inputs.push(input);
                }
                _ => inputs.push(input),
            }
        }
        self.inbox = later;
        let Some(machine) = &mut self.machine else {
            return;
        };
        let step = machine.step(self.now_ns / MS, inputs);
        let written = step.put.len() as u64;
        let branches_written: u64 = step.put.iter().map(|(_, piece)| branches(piece)).sum();
        let takes = (reports as u64 + written) * ns(self.setting.report)
            + (read + branches_written) * ns(self.setting.report_branch);
        let done = self.carry_out(step, self.now_ns + takes);
        self.course.coordinator_ns += done - self.now_ns;
        self.free_ns = done;
        let soon = if self.inbox.is_empty() { TICK } else { 0 };
        self.wake(done + soon);
    }

    /// Writes at the same time, some of them together, each with so many branches. When the last answer is there.
    fn writes(&mut self, mut now_ns: u64, each: &[u64]) -> u64 {
        for some in each.chunks(AT_ONCE) {
            let done = some.iter().map(|it| self.operation(now_ns, *it)).max();
            now_ns = done.unwrap_or(now_ns) + self.latency();
        }
        now_ns
    }

    /// Does what a step says, from then on. When it is done.
    fn carry_out(&mut self, step: Step, mut now_ns: u64) -> u64 {
        let sizes: Vec<u64> = step.put.iter().map(|(_, piece)| branches(piece)).collect();
        now_ns = self.writes(now_ns, &sizes);
        self.broker.pieces.extend(step.put);
        if let Some(record) = step.record {
            let size = branches(&record.home) + record.out.len() as u64 / 4;
            self.course.record_branches = self.course.record_branches.max(size);
            let parts = vec![PART; (size / PART) as usize];
            now_ns = self.writes(now_ns, &parts);
            now_ns = self.writes(now_ns, &[size % PART]);
            // Only one leads at a time here; `tests/exactly_once.rs` has several.
            assert_eq!(self.broker.record.0, self.revision, "nobody else writes it");
            self.revision += 1;
            self.broker.record = (self.revision, Some(record));
        }
        for some in step.queue.chunks(AT_ONCE) {
            let mut last = now_ns;
            for token in some {
                last = self.operation(now_ns, 0);
                let token = token.clone();
                self.at(last, Happens::Queued(Delivery { token, times: 1 }));
            }
            now_ns = last + self.latency();
        }
        if let Some(control) = step.control {
            self.tell(control, now_ns);
        }
        now_ns = self.writes(now_ns, &vec![0; step.discard.len()]);
        for piece in &step.discard {
            self.broker.pieces.remove(piece);
            self.broker.reports.remove(piece);
        }
        if let Some(ending) = step.ending {
            assert_eq!(ending, Ending::Over);
            self.end();
        }
        now_ns
    }

    /// Every process hears it; those that it concerns do something.
    fn tell(&mut self, control: Control, now_ns: u64) {
        let mut last = now_ns;
        for _ in 0..self.slots.len().div_ceil(self.cores()) {
            last = self.operation(now_ns, 0);
        }
        let there = last + self.latency();
        let meant = |slot: &Slot| match (&control, slot.machine.piece()) {
            (Control::Recall(pieces), Some((_, piece))) => pieces.contains(&piece),
            (Control::Stop(_), piece) => piece.is_some(),
            (Control::Recall(_), None) => false,
        };
        let meant: Vec<(usize, u32)> = (0..self.slots.len())
            .filter(|slot| meant(&self.slots[*slot]))
            .map(|slot| (slot, self.slots[slot].generation))
            .collect();
        for (slot, generation) in meant {
            let told = Meant::Told(control.clone());
            self.at(there, Happens::Meant(slot, generation, told));
        }
    }

    fn end(&mut self) {
        self.over = true;
        if let Some(machine) = &self.machine {
            self.course.explored(machine.home.explored());
            (self.course.reports, self.course.repeated) = machine.reports();
        }
    }

    fn leader_dies_some_time(&mut self) {
        if let Some(time) = self.until(self.setting.takeovers_per_hour) {
            self.at(time, Happens::LeaderDies);
        }
    }

    /// The coordinator died two seconds ago; another one reads the record.
    fn take_over(&mut self) {
        self.course.takeovers += 1;
        self.wakes_ns = u64::MAX;
        let record = self.broker.record.1.clone().expect("it was written");
        let home = TreeHome::restored(self.tree, &record.home).expect("it was written here");
        let pace = self.setting.pace;
        let machine = Coordinator::new(home, id(), pace, Limits::default(), self.writers);
        let mut machine = machine.take_over(&record, self.now_ns / MS);
        self.revision += 1;
        self.broker.record = (self.revision, Some(machine.record(Status::Running)));
        self.machine = Some(machine);
        // It sees all reports that are there.
        self.inbox.clear();
        let reports = self.broker.reports.values();
        let reports = reports.map(|bytes| Report::decode(bytes).expect("it was written here"));
        self.inbox.extend(reports.map(Input::Report));
        self.free_ns = self.now_ns;
        self.wake(self.now_ns);
        self.leader_dies_some_time();
    }
}
