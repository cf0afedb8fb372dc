//! Which object of the model lies at which address, in the run at hand.

use super::{
    per_process::{ProcessChange, ProcessId},
    sys,
};
use alloc::{vec, vec::Vec};
use core::ops::Range;
use reweave_model::ObjectId;

/// What kind of object a call takes an address for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Sort {
    Atomic,
    Mutex,
    Condvar,
    RwLock,
    Barrier,
    Semaphore,
    Once,
    Futex,
    /// A file or stream; its address is no place in memory.
    File,
    /// A pipe; its address is no place in memory.
    Pipe,
    /// Whether something was sent to a thread; its address is no place in memory.
    Signals,
    /// An order that the program vouches for.
    Vouched,
    /// How many refer to a C++ exception.
    Count,
    /// An atomic that is no word: see [`crate::run::wide_values`].
    Wide,
    /// The runtime's own, such as a list of threads that wait: orders no memory.
    Quiet,
}

impl Sort {
    /// Whether the model alone knows the state of such an object in the program's memory. Memory has the values of atomics.
    pub fn has_state(self) -> bool {
        matches!(
            self,
            Sort::Mutex
                | Sort::Condvar
                | Sort::RwLock
                | Sort::Barrier
                | Sort::Semaphore
                | Sort::Once
        )
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    granule: usize,
    /// The run it belongs to; one of another run is free.
    run: u32,
    /// Which bytes of the granule.
    mask: u8,
    sort: Sort,
    object: ObjectId,
}

/// The state of a robust mutex. Only its holder looks at it, so its order is that of locking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    Whole,
    /// A holder has ended, and no holder since has declared the mutex consistent.
    Orphaned,
    /// It was unlocked like that: no thread gets it any more.
    Lost,
}

/// What is known about an object beyond the model.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub address: usize,
    pub bytes: u32,
    pub sort: Sort,
    /// How often the holder of a recursive mutex has locked it again.
    pub depth: u32,
    /// Made by an `_init` call at this site, or 0.
    pub made: u32,
    /// Destroyed at this site, or 0.
    pub destroyed: u32,
    /// An atomic byte that compiled code looks at before a function-local static: see [`crate::calls`].
    pub guard: bool,
    /// Of a robust mutex.
    pub health: Health,
    /// The mutex that waiters of a condition variable gave up, while there are some.
    pub mutex: Option<ObjectId>,
    /// The process whose memory it was found in.
    pub process: ProcessId,
    /// The object whose mark it carries: itself, or the one that a fork made it a copy of.
    pub origin: ObjectId,
}

pub enum Found {
    Object(ObjectId),
    /// Nothing, or something of another sort.
    Nothing,
    /// Something of another size.
    Overlap,
}

/// Open addressing; several entries may have one granule.
pub struct Objects {
    table: Vec<Entry>,
    used: usize,
    run: u32,
    known: Vec<Known>,
    /// The process that runs, and whether addresses are their own keys there: it is the first, and shares no memory.
    process: ProcessId,
    plain: bool,
    /// Memory that each process shares with others, with the key of its first byte.
    shared: Vec<Vec<(Range<usize>, usize)>>,
    /// Bytes that have such keys so far.
    shared_bytes: usize,
}

/// Keys of memory that several processes share: above all addresses.
const SHARED_AT: usize = 1 << 63;
/// From the keys of one process to those of the next. Of one that is not the first they are above all addresses, too.
const PROCESS_SHIFT: u32 = 48;

impl Objects {
    pub const fn new() -> Objects {
        Objects {
            table: Vec::new(),
            used: 0,
            run: 1,
            known: Vec::new(),
            process: ProcessId::FIRST,
            plain: true,
            shared: Vec::new(),
            shared_bytes: 0,
        }
    }

    pub fn clear(&mut self) {
        self.known.clear();
        self.used = 0;
        self.process = ProcessId::FIRST;
        self.plain = true;
        self.shared.clear();
        self.shared_bytes = 0;
        self.run = self.run.wrapping_add(1);
        if self.run == 0 {
            self.table.clear();
            self.run = 1;
        }
    }

    pub fn known(&self) -> &[Known] {
        &self.known
    }

    #[inline]
    pub fn about(&mut self, object: ObjectId) -> &mut Known {
        &mut self.known[object.index()]
    }

    /// By what the objects at an address are known: memory of another process is other memory, unless it is shared.
    #[inline]
    fn key(&self, address: usize, sort: Sort) -> usize {
        match self.plain {
            true => address,
            false => self.key_beside_others(address, sort),
        }
    }

    fn key_beside_others(&self, address: usize, sort: Sort) -> usize {
        // What these stand for is the same in all processes: files and their names, lists of the runtime.
        if matches!(sort, Sort::File | Sort::Quiet) || is_of_all(address) {
            return address;
        }
        // Some addresses are marked above, to be those of something beside what lies there.
        let place = address & !SHARED_AT;
        let marked = (address & SHARED_AT) >> 1;
        let shared = self.shared.get(self.process.index());
        let mut shared = shared.into_iter().flatten();
        match shared.find(|(range, _)| range.contains(&place)) {
            Some((range, base)) => (base + (place - range.start)) | marked,
            None if self.process.is_first() => address,
            None => place.wrapping_add(self.process.index() << PROCESS_SHIFT) | marked,
        }
    }

    /// Whether an address of the running process is memory that it shares with others.
    pub fn is_shared(&self, address: usize) -> bool {
        !self.plain
            && (is_of_all(address) || self.key_beside_others(address, Sort::Atomic) >= SHARED_AT)
    }

    /// The running process has mapped new memory that it will share with those that it forks.
    pub fn share(&mut self, range: Range<usize>) {
        let base = self.keys(range.len());
        self.share_as(range, base);
    }

    /// Keys for so many bytes that processes share.
    pub fn keys(&mut self, bytes: usize) -> usize {
        let base = SHARED_AT + self.shared_bytes;
        self.shared_bytes += bytes;
        base
    }

    /// The running process has mapped memory that others may have, too, at other addresses: `base` is the key of its first byte.
    pub fn share_as(&mut self, range: Range<usize>, base: usize) {
        let process = self.process.index();
        if self.shared.len() <= process {
            self.shared.resize_with(process + 1, Vec::new);
        }
        self.shared[process].push((range, base));
        self.plain = false;
    }

    /// The running process does not have this memory any more.
    pub fn unshare(&mut self, range: &Range<usize>) {
        if let Some(shared) = self.shared.get_mut(self.process.index()) {
            shared.retain(|(known, _)| known.end <= range.start || range.end <= known.start);
        }
    }

    /// What the running process shares.
    pub fn shared(&self) -> impl Iterator<Item = &Range<usize>> {
        let shared = self.shared.get(self.process.index());
        shared.into_iter().flatten().map(|(range, _)| range)
    }

    pub fn process_changes(&mut self, change: ProcessChange, new: ProcessId) {
        match change {
            ProcessChange::Fork { from } => {
                let shared = self.shared.get(from.index()).cloned().unwrap_or_default();
                self.shared
                    .resize_with(new.index().max(self.shared.len()), Vec::new);
                self.shared.insert(new.index(), shared);
                self.process = new;
            }
            // It shares no memory with others until it maps some.
            ProcessChange::Exec => self.process = new,
            ProcessChange::Switch { to, .. } => self.process = to,
            ProcessChange::Over => self.process = ProcessId::FIRST,
        }
        let none = self
            .shared
            .get(self.process.index())
            .is_none_or(Vec::is_empty);
        self.plain = self.process.is_first() && none;
    }

    #[inline]
    fn slot(&self, granule: usize) -> usize {
        let product = (granule as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (product >> (64 - self.table.len().trailing_zeros())) as usize
    }

    #[inline]
    fn place(&self, address: usize, mask: u8, sort: Sort) -> Result<usize, bool> {
        if self.table.is_empty() {
            return Err(false);
        }
        let granule = self.key(address, sort) / 8;
        let mut at = self.slot(granule);
        loop {
            let entry = &self.table[at];
            if entry.run != self.run {
                return Err(false);
            }
            if entry.granule == granule && entry.mask & mask != 0 {
                return if entry.mask == mask {
                    Ok(at)
                } else {
                    Err(true)
                };
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    #[inline]
    pub fn find(&self, address: usize, bytes: usize, sort: Sort) -> Found {
        match self.place(address, mask(address, bytes), sort) {
            Ok(at) if self.table[at].sort == sort => Found::Object(self.table[at].object),
            Ok(at) if sort == Sort::Atomic && self.table[at].sort == Sort::Wide => Found::Overlap,
            Ok(_) | Err(false) => Found::Nothing,
            // Objects other than atomics may come to lie where something else was.
            Err(true) if sort != Sort::Atomic => Found::Nothing,
            Err(true) => Found::Overlap,
        }
    }

    /// The atomic at an address that is no word.
    pub fn find_wide(&self, address: usize, bytes: usize) -> Found {
        let mut found = None;
        for (granule, mask) in pieces(address, bytes) {
            let here = match self
                .place(granule * 8, mask, Sort::Wide)
                .map(|at| &self.table[at])
            {
                Ok(entry) if entry.sort == Sort::Wide => Some(entry.object),
                Ok(entry) if entry.sort != Sort::Atomic => None,
                Err(false) => None,
                Ok(_) | Err(true) => return Found::Overlap,
            };
            if let Some(object) = here {
                let known = &self.known[object.index()];
                if (known.address, known.bytes as usize) != (address, bytes) {
                    return Found::Overlap;
                }
            }
            if *found.get_or_insert(here) != here {
                return Found::Nothing;
            }
        }
        found.flatten().map_or(Found::Nothing, Found::Object)
    }

    /// Notes an object that goes by an address and does not lie there. Objects come in the order of their numbers.
    pub fn note(&mut self, address: usize, bytes: usize, sort: Sort, object: ObjectId) {
        debug_assert_eq!(object.index(), self.known.len());
        self.known.push(Known {
            address,
            bytes: bytes as u32,
            sort,
            depth: 0,
            made: 0,
            destroyed: 0,
            guard: false,
            health: Health::Whole,
            mutex: None,
            process: self.process,
            origin: object,
        });
    }

    /// From now on this object is what lies there.
    pub fn put(&mut self, address: usize, bytes: usize, sort: Sort, object: ObjectId) {
        self.note(address, bytes, sort, object);
        let entry = Entry {
            granule: self.key(address, sort) / 8,
            run: self.run,
            mask: mask(address, bytes),
            sort,
            object,
        };
        if sort != Sort::Wide {
            return self.cover(entry);
        }
        let by = self.key(address & !7, sort) / 8 - address / 8;
        for (granule, mask) in pieces(address, bytes) {
            let granule = granule + by;
            self.cover(Entry {
                granule,
                mask,
                ..entry
            });
        }
    }

    /// Adds an entry; what it covers is gone.
    fn cover(&mut self, entry: Entry) {
        let Entry { granule, mask, .. } = entry;
        let mut covered = false;
        if !self.table.is_empty() {
            let mut at = self.slot(granule);
            while self.table[at].run == self.run {
                let old = &mut self.table[at];
                if old.granule == granule && old.mask & mask != 0 {
                    if covered {
                        old.mask &= !mask;
                    } else {
                        *old = entry;
                        covered = true;
                    }
                }
                at = (at + 1) & (self.table.len() - 1);
            }
        }
        if !covered {
            self.insert(entry);
        }
    }

    fn insert(&mut self, entry: Entry) {
        if self.table.len() < 2 * (self.used + 1) {
            let size = (self.table.len() * 2).max(256);
            let free = Entry { run: 0, ..entry };
            let old = core::mem::replace(&mut self.table, vec![free; size]);
            self.used = 0;
            for entry in old {
                if entry.run == self.run {
                    self.insert(entry);
                }
            }
        }
        let mut at = self.slot(entry.granule);
        while self.table[at].run == self.run {
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = entry;
        self.used += 1;
    }
}

/// Whether an address is the same memory in all processes.
fn is_of_all(address: usize) -> bool {
    sys::OWN.contains(&address) || sys::FOR_ALL.contains(&address)
}

/// The bytes of its granule that an object covers.
#[inline]
fn mask(address: usize, bytes: usize) -> u8 {
    let bits = if bytes >= 8 {
        0xff
    } else {
        (1_u32 << bytes) - 1
    };
    (bits << (address & 7)) as u8
}

/// The granules that memory lies in, and which bytes of each.
fn pieces(address: usize, bytes: usize) -> impl Iterator<Item = (usize, u8)> {
    let end = address + bytes;
    (address / 8..end.div_ceil(8)).map(move |granule| {
        let start = address.max(granule * 8);
        (granule, mask(start, end.min(granule * 8 + 8) - start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::ObjectId;

    fn at(objects: &Objects, address: usize, bytes: usize, sort: Sort) -> Option<u32> {
        match objects.find(address, bytes, sort) {
            Found::Object(object) => Some(object.0),
            Found::Nothing => None,
            Found::Overlap => Some(u32::MAX),
        }
    }

    #[test]
    fn atomics_are_found_by_address_and_size() {
        let mut objects = Objects::new();
        objects.put(0x1000, 4, Sort::Atomic, ObjectId(0));
        objects.put(0x1004, 4, Sort::Atomic, ObjectId(1));
        assert_eq!(at(&objects, 0x1000, 4, Sort::Atomic), Some(0));
        assert_eq!(at(&objects, 0x1004, 4, Sort::Atomic), Some(1));
        assert_eq!(at(&objects, 0x1008, 4, Sort::Atomic), None);
        assert_eq!(
            at(&objects, 0x1000, 8, Sort::Atomic),
            Some(u32::MAX),
            "overlap"
        );
        assert_eq!(at(&objects, 0x1000, 4, Sort::Mutex), None, "another sort");
    }

    #[test]
    fn an_object_replaces_what_it_covers() {
        let mut objects = Objects::new();
        objects.put(0x1000, 4, Sort::Atomic, ObjectId(0));
        objects.put(0x1004, 4, Sort::Atomic, ObjectId(1));
        objects.put(0x1000, 8, Sort::Mutex, ObjectId(2));
        assert_eq!(at(&objects, 0x1000, 8, Sort::Mutex), Some(2));
        assert_eq!(at(&objects, 0x1000, 4, Sort::Atomic), Some(u32::MAX));
    }

    #[test]
    fn wide_atomics_are_whole_or_overlap() {
        let mut objects = Objects::new();
        objects.put(0x1000, 24, Sort::Wide, ObjectId(0));
        let wide = |address, bytes| match objects.find_wide(address, bytes) {
            Found::Object(object) => Some(object.0),
            Found::Nothing => None,
            Found::Overlap => Some(u32::MAX),
        };
        assert_eq!(wide(0x1000, 24), Some(0));
        assert_eq!(wide(0x1008, 16), Some(u32::MAX));
        assert_eq!(wide(0x1018, 16), None);
        assert_eq!(at(&objects, 0x1008, 8, Sort::Atomic), Some(u32::MAX));
    }

    #[test]
    fn a_run_begins_without_the_objects_of_the_last() {
        let mut objects = Objects::new();
        objects.put(0x1000, 4, Sort::Atomic, ObjectId(0));
        objects.clear();
        assert_eq!(at(&objects, 0x1000, 4, Sort::Atomic), None);
        assert!(objects.known().is_empty());
        objects.put(0x1000, 4, Sort::Mutex, ObjectId(0));
        assert_eq!(at(&objects, 0x1000, 4, Sort::Mutex), Some(0));
    }

    /// The table grows several times; every entry is found afterwards.
    #[test]
    fn many_objects_are_found() {
        let mut objects = Objects::new();
        for number in 0..5000 {
            objects.put(
                0x4_0000 + 4 * number,
                4,
                Sort::Atomic,
                ObjectId(number as u32),
            );
        }
        for number in 0..5000 {
            let found = at(&objects, 0x4_0000 + 4 * number, 4, Sort::Atomic);
            assert_eq!(found, Some(number as u32));
        }
    }

    #[test]
    fn granules_are_eight_bytes() {
        assert_eq!(mask(0x1002, 2), 0b1100);
        assert_eq!(mask(0x1000, 8), 0xff);
        assert!(pieces(0x1006, 12).eq([(0x200, 0b1100_0000), (0x201, 0xff), (0x202, 0b11)]));
    }
}
