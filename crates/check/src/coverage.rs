//! What a search covers: which places met in which orders, and where its branches leave.
//!
//! *Called by:* `check`, with every execution of a search that is asked for it. *Owns:* the counts so far. Places are source
//! lines: several operations of one line are one place.
//!
//! Two touches of one object by different threads *meet* if they do not commute. Of what ends a section of a lock nothing is
//! counted: that sections met is said by their beginnings. Which of two came first was *free* if the later thread had no step
//! behind it that comes after the earlier touch; else something ordered the two before they met.

use reweave_explore::{Departures, Search};
use reweave_model::{
    Access, Class, Event, Execution, ObjectId, ObjectKind, Site, Synchronises, ThreadId,
};
use reweave_report::{Coverage, CoveredPlace, Met, PlacePair, Position};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

/// See the module.
pub(crate) struct Collector {
    collected: Mutex<Collected>,
    departures: Arc<Departures>,
}

#[derive(Default)]
struct Collected {
    /// Places of sites; `None`: without a source line.
    known: HashMap<Site, Option<usize>>,
    numbers: BTreeMap<Position, usize>,
    places: Vec<Place>,
    meetings: HashMap<(usize, usize), Meetings>,
    /// For places and kinds of objects, one that is used with the same objects.
    kin: HashMap<(usize, ObjectKind), (usize, ObjectKind)>,
}

#[derive(Default)]
struct Place {
    operations: BTreeSet<&'static str>,
    threads: BTreeSet<Vec<u32>>,
    steps: u64,
    /// In which ways objects of a kind are touched there, and by which threads.
    touches: BTreeMap<u8, (ObjectKind, HashSet<Class>)>,
}

/// In how many executions two places met in each order, and whether the order was ever free.
#[derive(Clone, Copy, Default)]
struct Meetings {
    orders: [u64; 2],
    free: bool,
}

/// The last touch of an object at one site, by one thread, in one way.
struct Touch {
    thread: ThreadId,
    site: Site,
    class: Class,
    /// Which step of its thread it was, from 1.
    nth: u32,
    /// All that happened before it, with itself.
    clock: Vec<u32>,
}

/// Two sites that met in one execution: the earlier one first.
#[derive(PartialEq, Eq, Hash, Clone, Copy)]
struct Meeting {
    sites: [Site; 2],
    /// Whether the thread of the earlier one was created by an earlier step.
    elder_first: bool,
    free: bool,
}

/// What one execution adds.
struct Seen {
    meetings: HashSet<Meeting>,
    /// Sites that use the same object.
    together: HashMap<ObjectId, Vec<(Site, Class)>>,
}

impl Collector {
    /// For a search that has not begun.
    pub(crate) fn new(search: &mut Search) -> Collector {
        Collector {
            collected: Mutex::default(),
            departures: search.count_departures(),
        }
    }

    /// Takes in an execution.
    pub(crate) fn note(&self, execution: &Execution, position: impl Fn(Site) -> Option<Position>) {
        let seen = Seen::of(execution);
        let mut collected = self
            .collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        collected.add(execution, &seen, position);
    }

    /// What is known so far.
    pub(crate) fn coverage(&self) -> Coverage {
        let collected = self
            .collected
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        collected.coverage(&self.departures)
    }
}

/// What ends a section of a lock.
fn ends_section(execution: &Execution, object: ObjectId, event: &Event) -> bool {
    let kind = execution.objects[object.index()].kind();
    let lock = matches!(kind, ObjectKind::Mutex | ObjectKind::RwLock);
    let ends = matches!(
        event.op.kind().synchronises(),
        Synchronises::Release | Synchronises::ReleaseShared
    );
    lock && ends
}

fn join(clock: &mut Vec<u32>, other: &[u32]) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (mine, theirs) in clock.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}

/// An execution as it is gone through.
struct Walk<'a> {
    execution: &'a Execution,
    objects: HashMap<ObjectId, Vec<Touch>>,
    /// Of each thread, what was behind it after each of its steps.
    clocks: Vec<Vec<Vec<u32>>>,
    seen: Seen,
}

impl Seen {
    fn of(execution: &Execution) -> Seen {
        let mut walk = Walk {
            execution,
            objects: HashMap::new(),
            clocks: vec![Vec::new(); execution.threads.len()],
            seen: Seen {
                meetings: HashSet::new(),
                together: HashMap::new(),
            },
        };
        for event in &execution.events {
            walk.step(event);
        }
        walk.seen
    }
}

impl Walk<'_> {
    fn step(&mut self, event: &Event) {
        let coming = self.coming(event);
        let own = event.thread.index();
        let nth = self.clocks[own].len() as u32 + 1;
        let mut clock = coming.clone();
        clock.resize(clock.len().max(own + 1), 0);
        clock[own] = nth;
        for access in event.access.into_iter().flatten() {
            self.meet(event, access, &coming, &mut clock);
        }
        for access in event.access.into_iter().flatten() {
            let ends = ends_section(self.execution, access.object, event);
            let touch = Touch {
                thread: event.thread,
                site: if ends { Site::ANY } else { event.site },
                class: access.class,
                nth,
                clock: clock.clone(),
            };
            let touches = self.objects.entry(access.object).or_default();
            let key = |it: &Touch| (it.thread, it.site, it.class);
            match touches.iter_mut().find(|it| key(it) == key(&touch)) {
                Some(known) => *known = touch,
                None => touches.push(touch),
            }
        }
        self.clocks[own].push(clock);
    }

    /// What is behind a step before it touches anything.
    fn coming(&self, event: &Event) -> Vec<u32> {
        let mut coming = behind(self.execution, &self.clocks, event.thread);
        if let Some(edge) = event.after {
            let steps = &self.clocks[edge.thread.index()];
            let last = edge.count.checked_sub(1);
            let last = last.and_then(|last| steps.get(last as usize));
            join(&mut coming, last.map_or(&[], Vec::as_slice));
            join(
                &mut coming,
                &behind(self.execution, &self.clocks, edge.thread),
            );
        }
        coming
    }

    /// A step touches an object, and meets what touched it before.
    fn meet(&mut self, event: &Event, access: Access, coming: &[u32], clock: &mut Vec<u32>) {
        let ends = ends_section(self.execution, access.object, event);
        let touches = self.objects.get(&access.object);
        for touch in touches.into_iter().flatten() {
            if touch.thread == event.thread || !touch.class.conflicts(access.class) {
                continue;
            }
            join(clock, &touch.clock);
            // What ends a section counts only for what it orders.
            if !ends && touch.site != Site::ANY {
                let known = coming.get(touch.thread.index());
                let [one, other] = [touch.thread, event.thread].map(|it| path(self.execution, it));
                self.seen.meetings.insert(Meeting {
                    sites: [touch.site, event.site],
                    elder_first: one < other,
                    free: known.is_none_or(|known| *known < touch.nth),
                });
            }
        }
        if !ends {
            let together = self.seen.together.entry(access.object).or_default();
            if !together.contains(&(event.site, access.class)) {
                together.push((event.site, access.class));
            }
        }
    }
}

fn path(execution: &Execution, thread: ThreadId) -> &[u32] {
    &execution.threads[thread.index()].path
}

/// What a thread has behind it: its own last step, or else the one of its creation.
fn behind(execution: &Execution, clocks: &[Vec<Vec<u32>>], thread: ThreadId) -> Vec<u32> {
    let mut thread = thread;
    if let Some(last) = clocks[thread.index()].last() {
        return last.clone();
    }
    loop {
        let born = execution.threads[thread.index()].born;
        if let Some(last) = born.count.checked_sub(1) {
            let step = clocks[born.thread.index()].get(last as usize);
            return step.cloned().unwrap_or_default();
        }
        if born.thread == thread {
            return Vec::new();
        }
        thread = born.thread;
    }
}

impl Collected {
    fn add(
        &mut self,
        execution: &Execution,
        seen: &Seen,
        position: impl Fn(Site) -> Option<Position>,
    ) {
        self.add_steps(execution, &position);
        self.add_uses(execution, seen, &position);
        self.add_meetings(seen, &position);
    }

    fn add_steps(&mut self, execution: &Execution, position: &impl Fn(Site) -> Option<Position>) {
        for event in &execution.events {
            if let Some(place) = self.place(event.site, position) {
                let place = &mut self.places[place];
                place.steps += 1;
                place.operations.insert(event.op.kind().name());
                let path = path(execution, event.thread);
                if !place.threads.contains(path) {
                    place.threads.insert(path.to_vec());
                }
            }
        }
    }

    fn add_uses(
        &mut self,
        execution: &Execution,
        seen: &Seen,
        position: &impl Fn(Site) -> Option<Position>,
    ) {
        for (object, sites) in &seen.together {
            let kind = execution.objects[object.index()].kind();
            let mut last = None;
            for (site, class) in sites {
                let Some(place) = self.place(*site, position) else {
                    continue;
                };
                let touches = &mut self.places[place].touches;
                let touches = touches.entry(kind as u8);
                let (_, classes) = touches.or_insert_with(|| (kind, HashSet::new()));
                classes.insert(*class);
                if let Some(last) = last.replace((place, kind)) {
                    self.unite(last, (place, kind));
                }
            }
        }
    }

    fn add_meetings(&mut self, seen: &Seen, position: &impl Fn(Site) -> Option<Position>) {
        let mut met: HashSet<(usize, usize, bool)> = HashSet::new();
        for meeting in &seen.meetings {
            let [earlier, later] = meeting.sites.map(|site| self.place(site, position));
            let (Some(earlier), Some(later)) = (earlier, later) else {
                continue;
            };
            let in_order = match earlier == later {
                true => meeting.elder_first,
                false => earlier < later,
            };
            let pair = (earlier.min(later), earlier.max(later));
            let meetings = self.meetings.entry(pair).or_default();
            meetings.free |= meeting.free;
            if met.insert((pair.0, pair.1, in_order)) {
                meetings.orders[usize::from(!in_order)] += 1;
            }
        }
    }

    /// The number of a site's place.
    fn place(&mut self, site: Site, position: &impl Fn(Site) -> Option<Position>) -> Option<usize> {
        if let Some(known) = self.known.get(&site) {
            return *known;
        }
        let numbers = &mut self.numbers;
        let places = &mut self.places;
        let number = position(site).map(|at| {
            // Operations of one line are one place.
            let line = Position { column: 0, ..at };
            *numbers.entry(line).or_insert_with(|| {
                places.push(Place::default());
                places.len() - 1
            })
        });
        self.known.insert(site, number);
        number
    }

    /// The one that stands for all that are used with the same objects.
    fn root(&self, mut of: (usize, ObjectKind)) -> (usize, ObjectKind) {
        while let Some(next) = self.kin.get(&of).filter(|next| **next != of) {
            of = *next;
        }
        of
    }

    fn unite(&mut self, one: (usize, ObjectKind), other: (usize, ObjectKind)) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.kin.insert(one, other);
        }
    }

    /// Pairs of places that are used with the same objects, in ways that do not commute, by different threads, and never met.
    fn strangers(&self) -> Vec<(usize, usize)> {
        let mut strangers = Vec::new();
        for (one, first) in self.places.iter().enumerate() {
            for (other, second) in self.places.iter().enumerate().skip(one) {
                let known = self.meetings.contains_key(&(one, other));
                let alone = first.threads.len() == 1 && first.threads == second.threads;
                if known || alone {
                    continue;
                }
                let meets = first.touches.values().any(|(kind, classes)| {
                    let others = second.touches.get(&(*kind as u8));
                    let kin = self.root((one, *kind)) == self.root((other, *kind));
                    kin && others.is_some_and(|(_, others)| {
                        let conflicts =
                            |class: &Class| others.iter().any(|it| it.conflicts(*class));
                        classes.iter().any(conflicts)
                    })
                });
                if meets {
                    strangers.push((one, other));
                }
            }
        }
        strangers
    }

    fn coverage(&self, departures: &Departures) -> Coverage {
        let mut branches = vec![0; self.places.len()];
        for (site, count) in departures.counts() {
            if let Some(Some(place)) = self.known.get(&site) {
                branches[*place] += count;
            }
        }
        let places = self.numbers.iter().map(|(at, &number)| {
            let place = &self.places[number];
            CoveredPlace {
                location: at.to_string(),
                operations: place.operations.iter().map(|it| (*it).into()).collect(),
                threads: place.threads.len() as u64,
                steps: place.steps,
                branches: branches[number],
            }
        });
        Coverage {
            places: places.collect(),
            pairs: self.pairs(),
            lines: None,
        }
    }

    /// All pairs, in the order of the source.
    fn pairs(&self) -> Vec<PlacePair> {
        let numbers = self.numbers.iter();
        let locations: HashMap<usize, &Position> =
            numbers.map(|(at, place)| (*place, at)).collect();
        let met = self.meetings.iter().map(|(pair, met)| (*pair, *met));
        let never = self.strangers().into_iter();
        let all = met.chain(never.map(|pair| (pair, Meetings::default())));
        let pairs = all.map(|((one, other), meetings)| {
            let mut ends = [locations[&one], locations[&other]];
            let mut orders = meetings.orders;
            if ends[1] < ends[0] {
                ends.reverse();
                orders.reverse();
            }
            (meetings.met(), ends, orders)
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.sort();
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(met, [first, second], [in_order, reversed])| PlacePair {
            first: first.to_string(),
            second: second.to_string(),
            met,
            in_order,
            reversed,
        });
        pairs.collect()
    }
}

impl Meetings {
    fn met(&self) -> Met {
        match self.orders {
            [0, 0] => Met::Never,
            [0, _] | [_, 0] if self.free => Met::OneOrder,
            [0, _] | [_, 0] => Met::Ordered,
            _ => Met::Both,
        }
    }
}
