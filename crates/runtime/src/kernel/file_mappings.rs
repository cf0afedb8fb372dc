//! Mapped files: their contents are reached by addresses as well as by calls.
//!
//! Accesses to mapped memory are checked for races like all others. So what a call reads or writes of a file is also an access to
//! the memory where that part of the file is mapped. Not under control, beside other threads: one file at two addresses, one of
//! which is written to; calls that do not say which bytes they are about; changes of a file that is mapped privately, since
//! nothing says who sees them.
//!
//! *Several processes.* Memory is that of its file, wherever each process has it: objects of the model have one key, and the race
//! detector one record. Calls on a file that another process has mapped are refused, since their accesses are not noted there.

use crate::{
    core::{
        cell::RunCell,
        per_process::{PerProcess, ProcessChange},
    },
    kernel::{
        file_names,
        open_description::Place,
        ordering::{Moment, alone},
        os_files::{self, FileIdentity},
        start_state,
    },
    run::{accesses, processes, world},
};
use alloc::{format, vec::Vec};
use core::{ffi::c_int, ops::Range};
use reweave_memory::{Kind, SHARED_UNIT};
use reweave_model::Site;

/// A part of a file that is mapped.
#[derive(Clone)]
pub(crate) struct Mapping {
    memory: Range<usize>,
    file: FileIdentity,
    /// Where in the file it begins.
    offset: usize,
    /// Changes of the memory are changes of the file.
    shared: bool,
    /// It is shared, and can be written to.
    writes: bool,
    /// When it was unmapped.
    gone: Option<Moment>,
}

/// Mappings of this run. Those that are gone may still be in use by threads that do not know it.
static MAPPINGS: PerProcess<Vec<Mapping>> = PerProcess::new(Vec::new());

/// Files that several processes may map, with the key of the first byte of each.
static KEYS: RunCell<Vec<(FileIdentity, usize)>> = RunCell::new(Vec::new());
/// From the keys of one file to those of the next: what of a file can be mapped.
const SPAN: usize = 1 << 36;

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    MAPPINGS.change(change);
}

/// A new run.
pub(crate) fn begin_run() {
    MAPPINGS.borrow().clear();
    KEYS.borrow().clear();
}

/// The running process begins again, without mappings.
pub(crate) fn program_begins() {
    MAPPINGS.borrow().clear();
}

impl Mapping {
    /// What `mmap` is about to map; `None`: no file.
    pub(crate) fn new(
        memory: Range<usize>,
        descriptor: c_int,
        offset: usize,
        shared: bool,
        writes: bool,
    ) -> Option<Mapping> {
        let stat = os_files::status(descriptor)?;
        (os_files::file_type(&stat) == libc::S_IFREG).then_some(Mapping {
            memory,
            file: FileIdentity::of(&stat),
            offset,
            shared,
            writes: shared && writes,
            gone: None,
        })
    }

    /// Which bytes of the file it is.
    fn place(&self) -> Range<usize> {
        self.offset..self.offset.saturating_add(self.memory.len())
    }

    /// Its memory for these bytes of the file; empty: there is none.
    fn memory_of(&self, place: &Range<usize>) -> Range<usize> {
        let within = |place: usize| {
            let ahead = place.saturating_sub(self.offset);
            self.memory.start + ahead.min(self.memory.len())
        };
        within(place.start)..within(place.end)
    }

    /// Where the bytes lie that it has in common with another one: its own memory, the other's, and how many. Whole pieces of memory that
    /// the race detector shares.
    fn common(&self, other: &Mapping) -> Option<(usize, usize, usize)> {
        let (one, two) = (self.place(), other.place());
        let (start, end) = (one.start.max(two.start), one.end.min(two.end));
        let own = self.memory.start + start.checked_sub(self.offset)?;
        let others = other.memory.start + start.checked_sub(other.offset)?;
        let bytes = end.checked_sub(start).filter(|bytes| *bytes > 0)?;
        let whole = [own, others]
            .iter()
            .all(|place| place.is_multiple_of(SHARED_UNIT));
        whole.then_some((own, others, bytes))
    }

    /// The part of it with this memory.
    fn part(&self, memory: Range<usize>) -> Mapping {
        Mapping {
            offset: self.offset + (memory.start - self.memory.start),
            memory,
            ..self.clone()
        }
    }

    /// Whether the running thread can know that no thread uses it any more.
    fn is_over(&self) -> bool {
        self.gone.is_some_and(Moment::is_before_now)
    }

    /// Whether a store through one can be seen through the other.
    fn shows_in(&self, other: &Mapping) -> bool {
        let common = !other.memory_of(&self.place()).is_empty();
        self.file == other.file && (self.writes || other.writes) && common
    }

    /// What is left of it when this memory is unmapped: the parts before, after and within.
    fn cut(&self, memory: &Range<usize>) -> ([Option<Mapping>; 2], Mapping) {
        let Range { start, end } = self.memory.clone();
        let rest = [start..memory.start.max(start), memory.end.min(end)..end];
        let rest = rest.map(|part| (!part.is_empty()).then(|| self.part(part)));
        let within = start.max(memory.start)..end.min(memory.end);
        (rest, self.part(within))
    }
}

fn refuse(what: &str, site: Site) -> ! {
    file_names::refuse(&format!("{what} of a file that is mapped"), site)
}

/// A file is mapped from now on.
pub(crate) fn added(mapping: Mapping, site: Site) {
    if mapping.writes && start_state::was_open(mapping.file) {
        let what = "mmap of a file from before main that is shared and written to";
        world::unsupported(what, site);
    }
    MAPPINGS.borrow().push(mapping);
    refuse_twice_beside_others(site);
}

/// Whether processes can share a part of a file: it begins where pieces of memory do that the race detector shares.
pub(crate) fn can_be_shared(offset: usize, bytes: usize) -> bool {
    let end = offset.checked_add(bytes);
    end.is_some_and(|end| end <= SPAN) && offset.is_multiple_of(SHARED_UNIT)
}

/// A part of a file was mapped that processes share: it is the same memory as other mappings of these bytes, in any process.
pub(crate) fn share(mapping: &Mapping) {
    let known = KEYS
        .borrow()
        .iter()
        .find(|(file, _)| *file == mapping.file)
        .copied();
    let base = match known {
        Some((_, base)) => base,
        None => {
            let base = world::borrow().objects.keys(SPAN);
            KEYS.borrow().push((mapping.file, base));
            base
        }
    };
    let me = processes::current();
    let mut same = Vec::new();
    let mut compare = |process, all: &Vec<Mapping>| {
        let others = all
            .iter()
            .filter(|other| other.shared && other.file == mapping.file);
        same.extend(others.filter_map(|other| Some((process, mapping.common(other)?))));
    };
    compare(me, &MAPPINGS.borrow());
    MAPPINGS.each_other(&mut compare);
    let mut world = world::borrow();
    world
        .objects
        .share_as(mapping.memory.clone(), base + mapping.offset);
    for (process, (own, others, bytes)) in same {
        let (owner, other) = ((process.index(), others), (me.index(), own));
        world.shadow.share(owner, other, bytes);
    }
}

/// Whether another process has mapped some of a file, and may use it now.
fn is_mapped_elsewhere(file: FileIdentity) -> bool {
    if !processes::used() || alone() {
        return false;
    }
    let mut found = false;
    MAPPINGS.each_other(|_, all| {
        found |= all
            .iter()
            .any(|mapping| mapping.file == file && !mapping.is_over());
    });
    found
}

/// Refuses a call on an open file that another process has mapped.
fn refuse_elsewhere(descriptor: c_int, what: &str, site: Site) {
    if processes::used() && FileIdentity::of_open(descriptor).is_some_and(is_mapped_elsewhere) {
        world::unsupported(
            &format!("{what} of a file that another process has mapped"),
            site,
        );
    }
}

/// No part of a file may be at two addresses while other threads could write to one of them.
fn refuse_twice_beside_others(site: Site) {
    if !alone() {
        spawning(site);
    }
}

/// There is another thread from now on.
pub(crate) fn spawning(site: Site) {
    let twice = {
        let all = MAPPINGS.borrow();
        let twice = |index: usize| {
            let (one, others) = (&all[index], &all[..index]);
            // Processes share memory of files, wherever it is mapped.
            let one_memory = |other: &Mapping| processes::used() && one.shared && other.shared;
            let shows =
                |other: &Mapping| !other.is_over() && !one_memory(other) && one.shows_in(other);
            !one.is_over() && others.iter().any(shows)
        };
        (0..all.len()).any(twice)
    };
    if twice {
        let what = "a file that is mapped twice and written to beside other threads";
        world::unsupported(what, site);
    }
}

/// This memory can be written to from now on.
pub(crate) fn writable(memory: &Range<usize>, site: Site) {
    for mapping in MAPPINGS.borrow().iter_mut() {
        if overlap(&mapping.memory, memory) {
            mapping.writes |= mapping.shared;
        }
    }
    refuse_twice_beside_others(site);
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// This memory is about to be unmapped, or to become another mapping.
pub(crate) fn removed(memory: &Range<usize>) {
    let now = Moment::now();
    let mut all = MAPPINGS.borrow();
    let here = |mapping: &Mapping| mapping.gone.is_none() && overlap(&mapping.memory, memory);
    let cut: Vec<Mapping> = all.extract_if(.., |mapping| here(mapping)).collect();
    for mapping in cut {
        let (rest, within) = mapping.cut(memory);
        all.extend(rest.into_iter().flatten());
        all.push(Mapping {
            gone: Some(now),
            ..within
        });
    }
}

/// A mapping has moved, and may have grown.
pub(crate) fn moved(from: &Range<usize>, to: &Range<usize>, site: Site) {
    let here = |mapping: &&Mapping| mapping.gone.is_none() && mapping.memory.start == from.start;
    let found = MAPPINGS.borrow().iter().find(here).cloned();
    let Some(mapping) = found else {
        return;
    };
    removed(from);
    added(
        Mapping {
            memory: to.clone(),
            ..mapping
        },
        site,
    );
}

/// Mappings of an open file that other threads may use.
fn of(descriptor: c_int) -> Vec<Mapping> {
    if MAPPINGS.borrow().is_empty() || alone() {
        return Vec::new();
    }
    let Some(file) = FileIdentity::of_open(descriptor) else {
        return Vec::new();
    };
    let used = |mapping: &&Mapping| mapping.file == file && !mapping.is_over();
    let all = MAPPINGS.borrow();
    all.iter().filter(used).cloned().collect()
}

/// Which call it is.
pub(crate) struct By {
    pub(crate) pc: usize,
    pub(crate) site: Site,
    /// The epoch in which its step began.
    pub(crate) since: u32,
}

/// A call has read or written so many bytes of an open file.
pub(crate) fn accessed(descriptor: c_int, place: Place, bytes: isize, kind: Kind, by: &By) {
    refuse_elsewhere(descriptor, "an access", by.site);
    let mappings = of(descriptor);
    if mappings.is_empty() || bytes <= 0 {
        return;
    }
    let appends = os_files::flags(descriptor) & libc::O_APPEND != 0;
    let end = match place {
        _ if kind == Kind::Write && appends => {
            os_files::status(descriptor).map_or(0, |file| file.st_size as isize)
        }
        Place::Offset => os_files::offset(descriptor),
        Place::At(offset) => offset as isize + bytes,
    };
    let place = (end - bytes).max(0) as usize..end.max(0) as usize;
    access_memory(&mappings, &place, kind, by);
}

/// The length of an open file changes from one of these to the other.
pub(crate) fn resized(descriptor: c_int, lengths: [i64; 2], by: &By) {
    refuse_elsewhere(descriptor, "a change", by.site);
    let [one, other] = lengths.map(|length| length.max(0) as usize);
    let place = one.min(other)..one.max(other);
    access_memory(&of(descriptor), &place, Kind::Write, by);
}

/// A call has accessed these bytes of a file that has these mappings.
fn access_memory(mappings: &[Mapping], place: &Range<usize>, kind: Kind, by: &By) {
    for mapping in mappings {
        let memory = mapping.memory_of(place);
        let seen = kind == Kind::Write || mapping.writes;
        if memory.is_empty() || !seen {
            continue;
        }
        let visible = world::borrow().units.touches(memory.start, memory.len());
        if visible || !mapping.shared || mapping.gone.is_some() {
            refuse("a change", by.site);
        }
        let checked = {
            let mut world = world::borrow();
            let current = world.current;
            if world.check_races {
                // It belongs to the step: what is ordered after the step is ordered after it.
                world.shadow.turn(current, by.since);
            }
            world.check_races
        };
        if checked {
            accesses::access(memory.start, memory.len(), kind, by.pc);
            world::borrow().refresh();
        }
    }
}

/// A call reads or writes an open file, and nothing says which bytes.
pub(crate) fn anywhere(descriptor: c_int, writes: bool, call: &str, site: Site) {
    refuse_elsewhere(descriptor, call, site);
    if of(descriptor)
        .iter()
        .any(|mapping| writes || mapping.writes)
    {
        refuse(call, site);
    }
}

/// A file is about to be truncated, or a name to mean another file than the one that is mapped.
pub(crate) fn changing(file: &libc::stat, moves: bool, site: Site) {
    let (file, alone) = (FileIdentity::of(file), alone());
    let used = |mapping: &Mapping| match alone {
        true => moves && mapping.gone.is_none(),
        false => !mapping.is_over(),
    };
    let is_used = {
        let all = MAPPINGS.borrow();
        all.iter()
            .any(|mapping| mapping.file == file && used(mapping))
    };
    if is_used || is_mapped_elsewhere(file) {
        refuse("a change", site);
    }
}

/// Whether some of a file is mapped.
pub(crate) fn is_mapped(file: &libc::stat) -> bool {
    let file = FileIdentity::of(file);
    let all = MAPPINGS.borrow();
    all.iter()
        .any(|mapping| mapping.file == file && mapping.gone.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages 0x1000 to 0x4000 show the file from byte 0x2000 on.
    fn mapping() -> Mapping {
        let null = os_files::look(b"/dev/null").expect("every system has it");
        Mapping {
            memory: 0x1000..0x4000,
            file: FileIdentity::of(&null),
            offset: 0x2000,
            shared: true,
            writes: false,
            gone: None,
        }
    }

    #[test]
    fn bytes_of_the_file_are_found_in_memory() {
        assert_eq!(mapping().memory_of(&(0x2010..0x2020)), 0x1010..0x1020);
        assert_eq!(mapping().memory_of(&(0..0x2010)), 0x1000..0x1010);
        assert!(mapping().memory_of(&(0..0x2000)).is_empty());
        assert!(mapping().memory_of(&(0x5000..0x6000)).is_empty());
    }

    #[test]
    fn unmapping_the_middle_leaves_both_ends() {
        let ([before, after], within) = mapping().cut(&(0x2000..0x3000));
        let part = |mapping: Mapping| (mapping.memory.clone(), mapping.offset);
        assert_eq!(before.map(part), Some((0x1000..0x2000, 0x2000)));
        assert_eq!(after.map(part), Some((0x3000..0x4000, 0x4000)));
        assert_eq!(part(within), (0x2000..0x3000, 0x3000));
    }

    #[test]
    fn unmapping_more_leaves_nothing() {
        let (rest, within) = mapping().cut(&(0..0x9000));
        assert!(rest.iter().all(Option::is_none));
        assert_eq!(within.memory, 0x1000..0x4000);
    }

    #[test]
    fn stores_show_only_in_the_same_bytes_of_the_file() {
        let writes = Mapping {
            writes: true,
            ..mapping()
        };
        let elsewhere = Mapping {
            offset: 0x9000,
            ..writes.clone()
        };
        assert!(writes.shows_in(&mapping()));
        assert!(!mapping().shows_in(&mapping()));
        assert!(!writes.shows_in(&elsewhere));
    }
}
