//! What is noted only when a run is to be shown: stacks, places, output.

use crate::{
    core::cell::RunValue,
    run::{memory_image, slots, world::World},
};
use alloc::{
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
    string::String,
    vec,
    vec::Vec,
};
use reweave_memory::{Clash, Kind};
use reweave_model::{Event, Object, Site, ThreadId};
use reweave_wire::{
    AccessKind, Accessed, Detail, MemoryImage, MemoryWrite, Place, PlaceKind, Slept, Stack,
};

/// The latest accesses that are remembered; older ones lose their stacks.
const LOG: usize = 1 << 18;

/// Writes that are kept of one address, and of all.
const WRITES: usize = 64;
const ALL_WRITES: usize = 1 << 14;

/// Values of atomics that are looked up.
const POINTERS: usize = 1 << 12;

/// Calls that are kept of a stack, innermost first: nobody reads more, and copying a deep stack for every access takes for ever.
const DEEPEST: usize = 48;

/// Collected on the way.
pub struct Watched {
    events: Vec<Stack>,
    /// Accesses, in order.
    log: Vec<Logged>,
    /// In how many calls the last one was.
    depth: usize,
    /// Of the sites of errors that have some, by the error's number.
    errors: Vec<(usize, Vec<Stack>, Vec<Accessed>)>,
    /// The last access is a write that was not done yet when it was noted.
    unsettled: bool,
    /// The same of the last access of the last error: its memory.
    failing: Option<(usize, usize)>,
    /// Of each object, what lay at its address when it was used first.
    objects: Vec<Place>,
    /// Of each error, what lay where it is about when it came up.
    subjects: Vec<Place>,
    sleeps: Vec<Slept>,
    image: Option<MemoryImage>,
}

/// An access.
#[derive(Clone)]
struct Logged {
    thread: ThreadId,
    site: Site,
    /// From and up to which address.
    memory: (usize, usize),
    /// After how many events of its thread.
    count: u32,
    write: bool,
    /// What the memory held then, where it is small; and before, if it is a write.
    value: Option<u64>,
    before: Option<u64>,
    /// Accesses one after the other often share it.
    stack: Rc<Stack>,
}

impl Watched {
    pub const fn new() -> Watched {
        Watched {
            events: Vec::new(),
            log: Vec::new(),
            depth: 0,
            errors: Vec::new(),
            unsettled: false,
            failing: None,
            objects: Vec::new(),
            subjects: Vec::new(),
            sleeps: Vec::new(),
            image: None,
        }
    }

    pub fn clear(&mut self) {
        self.events.clear();
        self.log.clear();
        self.depth = 0;
        self.errors.clear();
        self.unsettled = false;
        self.failing = None;
        self.objects.clear();
        self.subjects.clear();
        self.sleeps.clear();
        self.image = None;
    }

    /// Values of writes that are done by now.
    fn settle(&mut self) {
        if core::mem::take(&mut self.unsettled)
            && let Some(last) = self.log.last_mut()
        {
            last.value = value_of(last.memory);
        }
        if let Some(memory) = self.failing.take()
            && let Some(failing) = self.errors.last_mut().and_then(|it| it.2.last_mut())
        {
            failing.value = sized(value_of(memory), memory);
        }
    }

    /// The latest writes to each address, in their order.
    pub fn writes(&self) -> Vec<MemoryWrite> {
        let mut times: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        let latest = self.log.iter().rev().filter(|it| {
            let own = it.write.then(|| times.entry(it.memory).or_default());
            own.is_some_and(|own| {
                *own += 1;
                *own <= WRITES
            })
        });
        let mut writes: Vec<MemoryWrite> = latest
            .take(ALL_WRITES)
            .map(|it| MemoryWrite {
                address: it.memory.0 as u64,
                bytes: (it.memory.1 - it.memory.0) as u32,
                thread: it.thread,
                count: it.count,
                site: it.site,
                values: it.before.zip(it.value),
            })
            .collect();
        writes.reverse();
        writes
    }
}

/// What memory holds, if it is small.
fn value_of((from, upto): (usize, usize)) -> Option<u64> {
    let bytes = upto.saturating_sub(from);
    (1..=8)
        .contains(&bytes)
        .then(|| memory_image::value(from, bytes))?
}

fn sized(value: Option<u64>, (from, upto): (usize, usize)) -> Option<(u64, u32)> {
    Some((value?, (upto - from) as u32))
}

fn access_kind(kind: Kind) -> AccessKind {
    match kind {
        Kind::Read => AccessKind::Read,
        Kind::Write => AccessKind::Write,
        Kind::AtomicRead => AccessKind::AtomicRead,
        Kind::AtomicWrite => AccessKind::AtomicWrite,
        Kind::Free => AccessKind::Free,
    }
}

/// How an object that stands for no memory of the program is called, by its address. Set once, by the room that makes such objects.
pub static NAMES: RunValue<fn(&World, usize) -> Option<String>> = RunValue::new(|_, _| None);

impl World {
    /// The running thread's stack, from this place on.
    fn stack(&self, site: Site) -> Stack {
        let callers = self.callers(self.current).iter().rev().take(DEEPEST);
        let callers = callers.map(|caller| self.site(*caller));
        core::iter::once(site).chain(callers).collect()
    }

    /// An event was done here.
    #[cold]
    pub fn watch_event(&mut self, site: Site) {
        self.watched.settle();
        let stack = self.stack(site);
        self.watched.events.push(stack);
        // What lies on a stack has a name as long as its function runs.
        let (known, all) = (self.watched.objects.len(), self.objects.known().len());
        for index in known..all {
            let address = self.objects.known()[index].address;
            let place = self.place(address);
            self.watched.objects.push(place);
        }
    }

    /// The running thread sleeps here.
    #[cold]
    pub fn watch_sleep(&mut self, site: Site) {
        let thread = self.current;
        let (count, stack) = (self.run.state().count(thread), self.stack(site));
        self.watched.sleeps.push(Slept {
            thread,
            count,
            stack,
        });
    }

    /// Keeps what memory holds now, for the first error.
    #[cold]
    pub fn watch_memory(&mut self, site: Site) {
        self.watch_subjects();
        if self.watched.image.is_none() {
            self.watched.settle();
            let image = self.image(site);
            self.watched.image = Some(image);
        }
    }

    /// The last events of the run were taken back.
    pub fn forget_events(&mut self) {
        let events = self.run.execution().events.len();
        self.watched.events.truncate(events);
    }

    /// An access of this memory was made here.
    #[cold]
    pub fn log(&mut self, address: usize, bytes: usize, kind: Kind, site: Site) {
        self.watched.settle();
        if self.watched.log.len() == LOG {
            self.watched.log.drain(..LOG / 2);
        }
        let (thread, depth) = (self.current, self.callers(self.current).len());
        let count = self.run.state().count(thread);
        let memory = (address, address.saturating_add(bytes));
        let write = matches!(kind, Kind::Write | Kind::AtomicWrite);
        // A write is noted before it is done.
        self.watched.unsettled = write;
        let last = self.watched.log.last();
        let last = last.filter(|last| (last.thread, last.site) == (thread, site));
        let stack = match last.filter(|_| self.watched.depth == depth) {
            // A loop comes here again and again, from the same calls.
            Some(last) if (last.memory, last.count, last.write) == (memory, count, write) => return,
            Some(last) => last.stack.clone(),
            None => Rc::new(self.stack(site)),
        };
        self.watched.depth = depth;
        self.watched.log.push(Logged {
            thread,
            site,
            memory,
            count,
            write,
            value: if write { None } else { value_of(memory) },
            before: if write { value_of(memory) } else { None },
            stack,
        });
    }

    /// The error just noted is about an earlier access and one that the running thread makes here.
    pub fn accesses_of(&mut self, first: &Clash, kind: Kind, site: Site) {
        let own = self.watched.log.last().map(|last| last.memory);
        let error = self.run.execution().errors.len() - 1;
        let mut log = self.watched.log.iter().rev();
        let found = log.find(|it| {
            (it.thread, it.site) == (first.thread, first.site)
                && (it.memory.0..it.memory.1).contains(&first.address)
        });
        let stack = found.map_or_else(|| vec![first.site], |it| (*it.stack).clone());
        let accesses = vec![
            Accessed {
                thread: first.thread,
                count: found.map(|it| it.count),
                kind: access_kind(first.kind),
                value: found.and_then(|it| sized(it.value, it.memory)),
            },
            Accessed {
                thread: self.current,
                count: Some(self.run.state().count(self.current)),
                kind: access_kind(kind),
                value: own.and_then(|own| sized(value_of(own), own)),
            },
        ];
        self.watched.failing = own.filter(|_| kind == Kind::Write);
        let stacks = vec![stack, self.stack(site)];
        self.watched.errors.push((error, stacks, accesses));
        self.watch_subjects();
    }

    /// What errors are about: what lies on a stack has a name as long as its function runs.
    fn watch_subjects(&mut self) {
        for index in self.watched.subjects.len()..self.about_errors.len() {
            let place = self.place(self.about_errors[index]);
            self.watched.subjects.push(place);
        }
    }

    /// What lies where values of atomics point to.
    fn pointers(&self) -> Vec<Place> {
        let execution = self.run.execution();
        let first = execution.objects.iter().filter_map(|object| match object {
            Object::Atomic(word) => Some(*word),
            _ => None,
        });
        let later = execution.events.iter().flat_map(Event::values);
        let accesses = self.watched.errors.iter().flat_map(|(.., known)| known);
        let raced = accesses.filter_map(|access| Some(access.value?.0));
        // The first page is no memory.
        let all = first.chain(later).chain(raced).filter(|word| *word >= 4096);
        let all: BTreeSet<u64> = all.collect();
        let places = all.into_iter().take(POINTERS);
        let places = places.map(|word| self.place(word as usize));
        places
            .filter(|place| !matches!(place.kind, PlaceKind::Unknown | PlaceKind::Named(_)))
            .collect()
    }

    /// Everything, at the end of a run.
    pub fn detail(&mut self, output: Vec<u8>) -> Detail {
        self.watched.settle();
        self.watch_subjects();
        let threads = self.threads.len();
        let last = (0..threads).map(|index| {
            let thread = ThreadId(index as u32);
            let callers = self.callers(thread).iter().rev().take(DEEPEST);
            callers.map(|caller| self.site(*caller)).collect()
        });
        let errors = self.run.execution().errors.len();
        let known = |error: usize| self.watched.errors.iter().find(|known| known.0 == error);
        let stacks = |error| known(error).map_or_else(Vec::new, |(_, stacks, _)| stacks.clone());
        let accesses = |error| known(error).map_or_else(Vec::new, |(.., known)| known.clone());
        let subject = |error: usize| {
            let address = self.about_errors.get(error).copied().unwrap_or(0);
            let place = self.watched.subjects.get(error).filter(|_| address != 0);
            place.cloned()
        };
        let objects = self.objects.known().iter();
        Detail {
            stacks: self.watched.events.clone(),
            last: last.collect(),
            errors: (0..errors).map(stacks).collect(),
            accesses: (0..errors).map(accesses).collect(),
            subjects: (0..errors).map(subject).collect(),
            objects: objects
                .enumerate()
                .map(|(index, known)| match self.watched.objects.get(index) {
                    Some(place) => place.clone(),
                    None => self.place(known.address),
                })
                .collect(),
            pointers: self.pointers(),
            sleeps: self.watched.sleeps.clone(),
            memory: self.watched.image.clone().unwrap_or_default(),
            output,
        }
    }

    /// What lies at an address.
    pub fn place(&self, address: usize) -> Place {
        let kind = if let Some(name) = NAMES.get()(self, address) {
            PlaceKind::Named(name)
        } else if let Some((slot, number, block)) = crate::run::world::heap().around(address) {
            let owner = self.threads.iter().position(|thread| thread.slot == slot);
            let path = |index: usize| self.run.execution().threads[index].path.clone();
            PlaceKind::Heap {
                thread: owner.map_or_else(Vec::new, path),
                number: number as u32,
                site: Site(block.site),
                bytes: block.bytes as u64,
                offset: (address - block.start) as u64,
            }
        } else if let Some(thread) = self.stack_owner(address) {
            let frame = self.frame_around(ThreadId(thread as u32), address);
            let (site, offset) = frame.unwrap_or((Site(0), 0));
            PlaceKind::Stack {
                thread: thread as u32,
                site,
                offset,
                below: (self.threads[thread].top - address) as u64,
            }
        } else {
            match self.site(address) {
                Site(1) => PlaceKind::Unknown,
                Site(offset) => PlaceKind::Static { offset },
            }
        };
        Place {
            address: address as u64,
            kind,
        }
    }

    fn stack_owner(&self, address: usize) -> Option<usize> {
        let first = &self.threads[0];
        if address < first.top && first.top - address < (8 << 20) {
            return Some(0);
        }
        let slot = slots::slot_of(address)?;
        let within =
            |thread: &crate::run::world::Thread| thread.slot == slot && address < thread.top;
        self.threads.iter().rposition(within)
    }
}
