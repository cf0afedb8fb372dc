//! Files that are mapped: what is in them is reached by addresses as well as by calls.
//!
//! Accesses to mapped memory are held against each other like all others. So what a call reads or writes of a file is an access to wherever that
//! is mapped, and races like one. Not under control, beside other threads: one file at two addresses, of which one is written to; calls that
//! do not tell which bytes they are about; and changes of what is mapped privately, where it is anybody's guess who sees them.

use crate::{
    core::{sys, world},
    hooks::accesses,
    kernel::{descriptor_table, file_names, file_objects, overlay as kernel},
};
use alloc::{format, vec::Vec};
use core::{ffi::c_int, ops::Range};
use reweave_memory::Kind;
use reweave_model::{Site, ThreadId};

/// Of a run.
#[derive(Default)]
pub struct State {
    all: Vec<Mapped>,
}

impl State {
    pub fn clear(&mut self) {
        self.all.clear();
    }
}

#[derive(Clone)]
pub(crate) struct Mapped {
    memory: Range<usize>,
    device: u64,
    inode: u64,
    /// Where in the file it begins.
    offset: usize,
    /// Changes are the file's.
    shared: bool,
    /// It is shared, and can be written to.
    writes: bool,
    /// Who took it away, and when.
    gone: Option<(ThreadId, u32)>,
}

impl Mapped {
    /// What `mmap` is about to map; `None`: no file.
    pub(crate) fn new(
        memory: Range<usize>,
        descriptor: c_int,
        offset: usize,
        shared: bool,
        writes: bool,
    ) -> Option<Mapped> {
        let stat = kernel::look_at_open(descriptor)?;
        (kernel::kind(&stat) == libc::S_IFREG).then_some(Mapped {
            memory,
            device: stat.st_dev,
            inode: stat.st_ino,
            offset,
            shared,
            writes: shared && writes,
            gone: None,
        })
    }

    fn is_of(&self, file: &libc::stat) -> bool {
        (self.device, self.inode) == (file.st_dev, file.st_ino)
    }

    /// Which part of the file it is.
    fn place(&self) -> Range<usize> {
        self.offset..self.offset.saturating_add(self.memory.len())
    }

    /// Where bytes of the file lie.
    fn memory_of(&self, place: &Range<usize>) -> Range<usize> {
        let within = |place: usize| {
            let ahead = place.saturating_sub(self.offset);
            self.memory.start + ahead.min(self.memory.len())
        };
        within(place.start)..within(place.end)
    }

    /// This memory of it.
    fn part(&self, memory: Range<usize>) -> Mapped {
        Mapped {
            offset: self.offset + (memory.start - self.memory.start),
            memory,
            ..self.clone()
        }
    }

    /// Whether the running thread can know that nobody uses it any more.
    fn is_over(&self) -> bool {
        self.gone.is_some_and(descriptor_table::is_before)
    }

    /// Whether a store through one can be seen through the other.
    fn shows_in(&self, other: &Mapped) -> bool {
        let same = (self.device, self.inode) == (other.device, other.inode);
        let place = self.place();
        let common = |place: Range<usize>| !other.memory_of(&place).is_empty();
        same && (self.writes || other.writes) && common(place)
    }
}

fn all() -> &'static mut Vec<Mapped> {
    &mut world::get().calls.mapped.all
}

fn refuse(what: &str, site: Site) -> ! {
    file_names::refuse(&format!("{what} of a file that is mapped"), site)
}

/// A file is mapped from now on.
pub(crate) fn added(mapped: Mapped, site: Site) {
    if mapped.writes && file_objects::is_from_before(mapped.device, mapped.inode) {
        let what = "mmap of a file from before main that is shared and written to";
        world::get().unsupported(what, site);
    }
    all().push(mapped);
    apart(site);
}

/// Nothing of one file may be at two addresses, where others could write to one of them.
fn apart(site: Site) {
    if !file_names::alone() {
        spawning(site);
    }
}

/// There is another thread from now on.
pub(crate) fn spawning(site: Site) {
    let all = all();
    let twice = |index: usize| {
        let (one, others) = (&all[index], &all[..index]);
        let shows = |other: &Mapped| !other.is_over() && one.shows_in(other);
        !one.is_over() && others.iter().any(shows)
    };
    if (0..all.len()).any(twice) {
        let what = "a file that is mapped twice and written to beside other threads";
        world::get().unsupported(what, site);
    }
}

/// This memory can be written to from now on.
pub(crate) fn writable(memory: &Range<usize>, site: Site) {
    let touched = |mapped: &&mut Mapped| overlap(&mapped.memory, memory);
    for mapped in all().iter_mut().filter(touched) {
        mapped.writes |= mapped.shared;
    }
    apart(site);
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

/// This memory is about to be no mapping any more, or another one.
pub(crate) fn removed(memory: &Range<usize>) {
    let world = world::get();
    let now = (world.current, world.races.epoch(world.current));
    let here = |mapped: &Mapped| mapped.gone.is_none() && overlap(&mapped.memory, memory);
    let cut: Vec<Mapped> = all().extract_if(.., |mapped| here(mapped)).collect();
    for mapped in cut {
        let Range { start, end } = mapped.memory.clone();
        let rest = [start..memory.start.max(start), memory.end.min(end)..end];
        let rest = rest.into_iter().filter(|part| !part.is_empty());
        all().extend(rest.map(|part| mapped.part(part)));
        all().push(Mapped {
            gone: Some(now),
            ..mapped.part(start.max(memory.start)..end.min(memory.end))
        });
    }
}

/// It has moved, and may have grown.
pub(crate) fn moved(from: &Range<usize>, to: &Range<usize>, site: Site) {
    let here = |mapped: &&Mapped| mapped.gone.is_none() && mapped.memory.start == from.start;
    let Some(mapped) = all().iter().find(here).cloned() else {
        return;
    };
    removed(from);
    added(
        Mapped {
            memory: to.clone(),
            ..mapped
        },
        site,
    );
}

/// Mappings of an open file that others may use.
fn of(descriptor: c_int) -> Vec<Mapped> {
    if all().is_empty() || file_names::alone() {
        return Vec::new();
    }
    let Some(file) = kernel::look_at_open(descriptor) else {
        return Vec::new();
    };
    let used = |mapped: &&Mapped| mapped.is_of(&file) && !mapped.is_over();
    all().iter().filter(used).cloned().collect()
}

/// Which call it is.
pub(crate) struct By {
    pub(crate) pc: usize,
    pub(crate) site: Site,
    /// The epoch in which its step began.
    pub(crate) since: u32,
}

/// Which bytes a call has read or written.
#[derive(Clone, Copy)]
pub(crate) enum At {
    /// Those before where the file stands now.
    Position,
    Offset(i64),
}

/// A call has read or written so many bytes of an open file.
pub(crate) fn accessed(descriptor: c_int, at: At, bytes: isize, kind: Kind, by: &By) {
    let mapped = of(descriptor);
    if mapped.is_empty() || bytes <= 0 {
        return;
    }
    let position = || {
        let from = libc::SEEK_CUR as usize;
        // SAFETY: asks about a descriptor.
        unsafe { sys::call(libc::SYS_lseek, [descriptor as usize, 0, from, 0, 0, 0]) }
    };
    let appends = descriptor_table::flags(descriptor) & libc::O_APPEND != 0;
    let end = match at {
        _ if kind == Kind::Write && appends => {
            kernel::look_at_open(descriptor).map_or(0, |file| file.st_size as isize)
        }
        At::Position => position(),
        At::Offset(offset) => offset as isize + bytes,
    };
    let place = (end - bytes).max(0) as usize..end.max(0) as usize;
    touch(&mapped, &place, kind, by);
}

/// The length of an open file changes from one of these to the other.
pub(crate) fn resized(descriptor: c_int, lengths: [i64; 2], by: &By) {
    let [one, other] = lengths.map(|length| length.max(0) as usize);
    let place = one.min(other)..one.max(other);
    touch(&of(descriptor), &place, Kind::Write, by);
}

fn touch(mapped: &[Mapped], place: &Range<usize>, kind: Kind, by: &By) {
    for mapped in mapped {
        let memory = mapped.memory_of(place);
        let seen = kind == Kind::Write || mapped.writes;
        if memory.is_empty() || !seen {
            continue;
        }
        let visible = world::get().units.touches(memory.start, memory.len());
        if visible || !mapped.shared || mapped.gone.is_some() {
            refuse("a change", by.site);
        }
        let world = world::get();
        if world.check_races {
            // As a part of the step: those who come after the step come after it.
            world.shadow.turn(world.current, by.since);
            accesses::access(memory.start, memory.len(), kind, by.pc);
            world::get().refresh();
        }
    }
}

/// A call does something to an open file, nobody knows to which bytes.
pub(crate) fn anywhere(descriptor: c_int, writes: bool, call: &str, site: Site) {
    if of(descriptor).iter().any(|mapped| writes || mapped.writes) {
        refuse(call, site);
    }
}

/// A file is about to be truncated, or to be something else than what is mapped.
pub(crate) fn changing(file: &libc::stat, moves: bool, site: Site) {
    let used = |mapped: &Mapped| match file_names::alone() {
        true => moves && mapped.gone.is_none(),
        false => !mapped.is_over(),
    };
    let mut all = all().iter();
    if all.any(|mapped| mapped.is_of(file) && used(mapped)) {
        refuse("a change", site);
    }
}

/// Whether some of it is mapped.
pub(crate) fn is_mapped(file: &libc::stat) -> bool {
    let mut all = all().iter();
    all.any(|mapped| mapped.is_of(file) && mapped.gone.is_none())
}
