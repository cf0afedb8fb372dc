//! The descriptor table: which number stands for which open description, which number a thread gets, and what happens to a number
//! that one thread closes while another uses it.
//!
//! As in the operating system a call first looks its descriptor up and then uses what it has found, even if another thread closes
//! the descriptor in between. Each number is an object of the model: a lookup loads it, opening and closing change it. Two steps of
//! one object each keep the rule that the effect of an event follows from its object alone.
//!
//! The lowest free number depends on everything that was opened and closed. As long as that happens in an order that the program
//! itself makes, the operating system's answer is right. Where threads open files in no order ([`Rule::Ranges`]) each thread has
//! numbers of its own, none of which is given twice, and the program can tell orders apart only by looking at the numbers. If a
//! number is used that is not open (in another order it might stand for another thread's file), or a run with numbers that the
//! operating system would not give finds an error, all orders are explored: the table is one object then ([`Rule::Table`]).

use crate::{
    core::per_process::{PerProcess, ProcessChange},
    kernel::{
        descriptor_arguments,
        descriptor_ranges::{self, FIRST},
        file_objects,
        open_description::{self, DescriptionId},
        ordering::{Moment, alone_in_process},
        os_files::{self, close, is_open},
        readiness,
        start_state::{self, COPIES, RUNTIME_DESCRIPTORS},
    },
    run::{rules, world},
    shared::resource_limits,
};
use alloc::{format, vec::Vec};
use core::ffi::c_int;
use reweave_model::{Site, ThreadId};
use reweave_wire::Rule;

/// See the module.
#[derive(Clone)]
struct DescriptorTable {
    /// By number.
    entries: Vec<Entry>,
    /// Entries differ from those at `main`.
    changed: bool,
    /// Lookups whose results were not used yet.
    lookups: Vec<Lookup>,
    /// Copies of what threads are about to have under a number of their own.
    pending: Vec<c_int>,
    /// Descriptors of the runtime that are of no more use.
    unused: Vec<c_int>,
    /// The last time a descriptor was opened or closed.
    last_change: Option<Moment>,
    /// Some were opened beside other threads.
    opened_beside_others: bool,
    /// Some that were not open were used beside other threads.
    stale_used: bool,
    /// Some have other numbers than the operating system would have given.
    renumbered: bool,
    /// Which standard streams became something else while there were no other threads.
    standard_replaced: [bool; FIRST as usize],
}

/// A number.
#[derive(Clone, Copy, Default)]
struct Entry {
    /// What it stands for, or stood for.
    description: DescriptionId,
    /// It stands or stood for something in this run.
    known: bool,
}

/// A thread has looked a number up.
#[derive(Clone)]
struct Lookup {
    thread: ThreadId,
    number: c_int,
    description: DescriptionId,
    /// A copy of what it stood for, if it stands for something else by now; -1: it stood for nothing.
    kept: Option<c_int>,
}

static TABLE: PerProcess<DescriptorTable> = PerProcess::new(DescriptorTable {
    entries: Vec::new(),
    changed: true,
    lookups: Vec::new(),
    pending: Vec::new(),
    unused: Vec::new(),
    last_change: None,
    opened_beside_others: false,
    stale_used: false,
    renumbered: false,
    standard_replaced: [false; FIRST as usize],
});

/// A process forks, goes on or is gone.
pub(crate) fn process_changes(change: ProcessChange) {
    TABLE.change(change);
}

/// A new run.
pub(crate) fn begin_run() {
    let at_start = TABLE.borrow().changed.then(start_state::descriptors);
    let mut guard = TABLE.borrow();
    let table = &mut *guard;
    let kept = table.lookups.drain(..).filter_map(|lookup| lookup.kept);
    table.unused.extend(kept);
    table.unused.drain(..).for_each(close);
    table.pending.drain(..).for_each(close);
    table.last_change = None;
    table.opened_beside_others = false;
    table.stale_used = false;
    table.renumbered = false;
    table.standard_replaced = [false; FIRST as usize];
    // Most runs open nothing.
    if let Some(at_start) = at_start {
        table.entries.clear();
        let numbers = RUNTIME_DESCRIPTORS as usize;
        table.entries.resize(numbers, Entry::default());
        for descriptor in at_start {
            table.entries[descriptor as usize].known = true;
        }
        table.changed = false;
    }
}

fn is_number(number: c_int) -> bool {
    (0..RUNTIME_DESCRIPTORS).contains(&number)
}

/// What a number stands for now.
pub(crate) fn description(number: c_int) -> DescriptionId {
    let table = TABLE.borrow();
    let entry = table.entries.get(number as usize);
    entry.map_or(DescriptionId::AT_START, |entry| entry.description)
}

/// Whether some descriptor stands for an open description.
pub(crate) fn has_descriptor(description: DescriptionId) -> bool {
    let table = TABLE.borrow();
    let mut entries = table.entries.iter().zip(0..);
    entries.any(|(entry, number)| entry.description == description && is_open(number))
}

/// The open descriptors of the running process, with what they stand for.
pub(crate) fn all_open() -> Vec<(c_int, DescriptionId)> {
    let table = TABLE.borrow();
    let entries = (0..).zip(table.entries.iter());
    let known = entries.filter(|(number, entry)| entry.known && is_open(*number));
    known
        .map(|(number, entry)| (number, entry.description))
        .collect()
}

/// A copy of a descriptor with a number of the runtime; -1: it stands for nothing.
pub(crate) fn copy(descriptor: c_int, site: Site) -> c_int {
    let copy = os_files::duplicate_above(descriptor, COPIES);
    if copy < 0 && is_open(descriptor) {
        world::unsupported("more descriptors than the process may have", site);
    }
    copy.max(-1)
}

/// Whether a descriptor is the program's, is about to be, or was when a thread looked it up.
pub(crate) fn is_programs(descriptor: c_int) -> bool {
    if descriptor < RUNTIME_DESCRIPTORS {
        return true;
    }
    let table = TABLE.borrow();
    let mut lookups = table.lookups.iter();
    table.pending.contains(&descriptor) || lookups.any(|found| found.kept == Some(descriptor))
}

/// Takes a descriptor out of the program's reach until it has its number.
fn set_aside(descriptor: c_int, site: Site) -> Pending {
    let closes_on_exec = os_files::closes_on_exec(descriptor);
    let copy = copy(descriptor, site);
    TABLE.borrow().pending.push(copy);
    close(descriptor);
    Pending {
        copy,
        closes_on_exec,
    }
}

/// See [`set_aside`].
#[derive(Clone, Copy)]
struct Pending {
    copy: c_int,
    closes_on_exec: bool,
}

impl Pending {
    /// Installs it under the lowest free number.
    fn install_lowest(self) -> c_int {
        let command = match self.closes_on_exec {
            true => libc::F_DUPFD_CLOEXEC,
            false => libc::F_DUPFD,
        };
        let number = os_files::control(self.copy, command, 0);
        self.drop_copy();
        number
    }

    /// Installs it under a number that is free.
    fn install_as(self, number: c_int) {
        os_files::duplicate_to(self.copy, number, self.closes_on_exec);
        self.drop_copy();
    }

    fn drop_copy(self) {
        let mut table = TABLE.borrow();
        table.pending.retain(|pending| *pending != self.copy);
        close(self.copy);
    }
}

/// Whether a number is standard input, output or error, and was not replaced.
pub(crate) fn is_standard(number: c_int) -> bool {
    let standard = (0..FIRST).contains(&number) && !rules::holds(Rule::Output);
    standard && !TABLE.borrow().standard_replaced[number as usize]
}

/// Whether a number is standard output or error: what is written there is no operation.
pub(crate) fn is_output(number: c_int) -> bool {
    number != 0 && is_standard(number)
}

/// A number may become something else; that matters if it is a standard stream.
pub(crate) fn note_replaced(number: c_int) {
    if !(0..FIRST).contains(&number) {
        return;
    }
    match alone_in_process() {
        true => TABLE.borrow().standard_replaced[number as usize] = true,
        false => _ = rules::needs(Rule::Output),
    }
}

/// The object that a number is looked up in.
fn object(number: c_int) -> usize {
    match rules::holds(Rule::Table) {
        true => file_objects::TABLE,
        false => file_objects::DESCRIPTORS + number as usize,
    }
}

/// The running thread looks a number up. It will use what the number stands for now: see [`take_found`].
pub(crate) fn look_up(number: c_int, site: Site) {
    if !is_number(number) || is_output(number) {
        return;
    }
    if !alone_in_process() {
        match rules::holds(Rule::Closing) {
            true => file_objects::touch(object(number), site),
            false => file_objects::look_at(object(number), site),
        }
    }
    note_stale(number);
    if !alone_in_process() {
        let thread = world::borrow().current;
        let description = description(number);
        TABLE.borrow().lookups.push(Lookup {
            thread,
            number,
            description,
            kept: None,
        });
    }
}

/// As [`look_up`] and [`found`], for a call that only asks about a descriptor.
pub(crate) fn ask(number: c_int, site: Site) {
    look_up(number, site);
    found(number);
}

/// What belongs to the number itself, such as whether it is closed on exec, is about to be changed.
pub(crate) fn change_flags(number: c_int, site: Site) {
    if !is_number(number) {
        return;
    }
    if !alone_in_process() && (number == 1 || number == 2) {
        rules::needs(Rule::Output);
    }
    if !is_output(number) {
        file_objects::touch(object(number), site);
    }
    note_stale(number);
}

/// Where each thread has numbers of its own, a number that stands for nothing would stand for something in another order.
pub(crate) fn note_stale(number: c_int) {
    let ranges = rules::holds(Rule::Ranges) && !rules::holds(Rule::Table);
    if !ranges || !is_number(number) || is_open(number) {
        return;
    }
    let beside_others = !alone_in_process();
    let opened = {
        let mut table = TABLE.borrow();
        table.stale_used |= !table.opened_beside_others && beside_others;
        table.opened_beside_others
    };
    if opened {
        rules::needs(Rule::Table);
    }
}

/// After a run. An error is not reported with numbers that the operating system would not give.
pub(crate) fn conclude() {
    let failed = !world::borrow().run.execution().errors.is_empty();
    let renumbered = TABLE.borrow().renumbered;
    if renumbered && failed {
        rules::needs(Rule::Table);
    }
}

/// What the running thread has found when it looked a number up: a descriptor to be used before its next operation.
pub(crate) fn found(number: c_int) -> c_int {
    take_found(number).0
}

/// As [`found`], with the open description.
pub(crate) fn take_found(number: c_int) -> (c_int, DescriptionId) {
    if number >= RUNTIME_DESCRIPTORS {
        // Nothing that the program knows of.
        return (-1, DescriptionId::AT_START);
    }
    let me = world::borrow().current;
    let mut table = TABLE.borrow();
    table.unused.drain(..).for_each(close);
    let mine = |found: &Lookup| (found.thread, found.number) == (me, number);
    let Some(index) = table.lookups.iter().rposition(mine) else {
        drop(table);
        return (descriptor_arguments::own(number), description(number));
    };
    let Lookup {
        description, kept, ..
    } = table.lookups.swap_remove(index);
    table.unused.extend(kept);
    (kept.unwrap_or(number), description)
}

/// A number is about to stand for something else: threads that have looked it up keep what they found.
pub(crate) fn keep_found(number: c_int, site: Site) {
    let not_kept = |found: &Lookup| found.number == number && found.kept.is_none();
    loop {
        let index = TABLE.borrow().lookups.iter().position(not_kept);
        let Some(index) = index else {
            break;
        };
        let kept = copy(number, site);
        TABLE.borrow().lookups[index].kept = Some(kept);
    }
    start_state::descriptors_change();
}

/// The running thread opens or closes a descriptor; whether all earlier changes happened before this one.
fn changes_in_order() -> bool {
    let now = Moment::now();
    let last = TABLE.borrow().last_change.replace(now);
    last.is_none_or(Moment::is_before_now)
}

/// The running thread changes what a number stands for.
pub(crate) fn change(number: c_int, site: Site) {
    note_replaced(number);
    if !is_output(number) {
        file_objects::touch(object(number), site);
    }
    if !changes_in_order() {
        rules::needs(Rule::Ranges);
    }
    keep_found(number, site);
}

/// The number that the running thread gets for what it opens: its own next one, or the one that the operating system gave.
fn choose(given: c_int, least: c_int) -> c_int {
    if !rules::holds(Rule::Ranges) {
        return given;
    }
    let slot = world::borrow().slot();
    let known = |number: &c_int| TABLE.borrow().entries[*number as usize].known;
    let mut own = descriptor_ranges::of(slot, limit());
    let fresh = own.find(|number| !known(number) && !is_open(*number));
    let Some(chosen) = fresh.filter(|_| least == 0) else {
        rules::needs(Rule::Table);
        return given;
    };
    TABLE.borrow().renumbered |= chosen != given;
    chosen
}

/// How many descriptors the program can have.
fn limit() -> c_int {
    let limit = resource_limits::descriptors();
    limit.min(RUNTIME_DESCRIPTORS as u64) as c_int
}

/// A call has opened a descriptor: the number that it is to have.
pub(crate) fn opened(given: c_int, site: Site) -> c_int {
    opened_from(given, 0, None, site)
}

/// As [`opened`], for two at once.
pub(crate) fn opened_both(given: &mut [c_int; 2], site: Site) {
    if alone_in_process() {
        return given.iter_mut().for_each(|one| *one = opened(*one, site));
    }
    // Both are out of the way before other threads can do anything.
    let pending = given.map(|given| set_aside(given, site));
    for (given, pending) in given.iter_mut().zip(pending) {
        *given = opened(pending.install_lowest(), site);
    }
}

/// As [`opened`], with a number from `least` on, and for an open description that there is already.
pub(crate) fn opened_from(
    given: c_int,
    least: c_int,
    description: Option<DescriptionId>,
    site: Site,
) -> c_int {
    if given < 0 || !world::active() {
        return given;
    }
    start_state::descriptors_change();
    let limit = limit();
    if given >= limit {
        close(given);
        let what = format!("more than {limit} descriptors");
        world::unsupported(&what, site);
    }
    let number = match alone_in_process() && changes_in_order() {
        true => given,
        false => install(given, least, site),
    };
    note_open(number, description);
    number
}

/// A number stands for this open description from now on, or for a new one.
pub(crate) fn note_open(number: c_int, description: Option<DescriptionId>) {
    if !is_number(number) {
        return;
    }
    let description = description.unwrap_or_else(|| open_description::create(None));
    let mut table = TABLE.borrow();
    table.changed = true;
    table.entries[number as usize] = Entry {
        description,
        known: true,
    };
}

/// Gives a descriptor the number that the running thread is to have for it, by a step of its own.
fn install(given: c_int, least: c_int, site: Site) -> c_int {
    let pending = set_aside(given, site);
    let stale = {
        let mut table = TABLE.borrow();
        table.opened_beside_others = true;
        table.stale_used
    };
    if stale {
        rules::needs(Rule::Table);
    }
    let number = match rules::holds(Rule::Table) {
        true => {
            file_objects::touch(file_objects::TABLE, site);
            let lowest = (least..RUNTIME_DESCRIPTORS).find(|number| !is_open(*number));
            let lowest = lowest.unwrap_or(given);
            keep_found(lowest, site);
            lowest
        }
        false => {
            let chosen = choose(given, least);
            change(chosen, site);
            chosen
        }
    };
    pending.install_as(number);
    number
}

/// A descriptor is about to stand for something else.
pub(crate) fn replacing(descriptor: c_int, site: Site) {
    readiness::closes(descriptor, site);
    if is_number(descriptor) {
        change(descriptor, site);
    }
}

/// The running thread is about to close a descriptor.
pub(crate) fn closing(descriptor: c_int, site: Site) {
    if world::active() {
        replacing(descriptor, site);
        note_stale(descriptor);
    }
}

/// Whether the limits of the program allow a number.
pub(crate) fn is_allowed(number: c_int) -> bool {
    (number as u64) < resource_limits::descriptors()
}
