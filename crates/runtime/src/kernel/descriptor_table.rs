//! Descriptors: which number stands for what, who gets which, who closes one that others use.
//!
//! As in the kernel a call first looks its descriptor up and then does what it does, to what it has found, whoever closes the descriptor in
//! between. Each number is an object: to look it up is a load, to open or close it changes it. Two steps of one object each keep the rule that what an
//! event does follows from its object alone.
//!
//! Which number is the lowest that is free depends on all that was opened and closed. As long as that happens in an order that the program itself makes, the
//! kernel's answer is the right one. Where threads open files in no order ([`Rule::Ranges`]) each has numbers of its own, and nobody can tell the orders
//! apart but by the numbers themselves; none is given twice. If one is used that is not open (so that it might stand for another thread's file), or
//! something goes wrong in a run with numbers that the kernel would not give, all orders are gone through ([`Rule::Table`]): all numbers are one object then.

use crate::{
    core::{rules, sys, world},
    kernel::{
        descriptor_arguments,
        descriptor_ranges::{self, FIRST},
        file_names, file_objects,
        offsets::{self, Open},
    },
};
use alloc::vec::Vec;
use core::ffi::c_int;
use file_objects::OURS;
use reweave_model::{Site, ThreadId};
use reweave_wire::Rule;

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Who has looked a number up and not used what it found.
    uses: Vec<Use>,
    /// Copies of what threads are about to have under a number of their own.
    hidden: Vec<c_int>,
    /// Descriptors out of the program's reach that are of no more use.
    done: Vec<c_int>,
    /// Who opened or closed one last, and when.
    last: Option<(ThreadId, u32)>,
    /// Numbers that stand or stood for something.
    known: Vec<bool>,
    /// Some were opened beside other threads; some were used beside other threads that stood for nothing.
    opened: bool,
    stale: bool,
    /// Some are others than the kernel would have given.
    strange: bool,
    /// Which of the first three are no longer what they were, since before there were other threads.
    moved: [bool; FIRST as usize],
}

impl State {
    pub fn clear(&mut self) {
        let kept = self.uses.drain(..).filter_map(|found| found.kept);
        self.done.extend(kept);
        self.done.drain(..).for_each(shut);
        self.hidden.drain(..).for_each(shut);
        self.last = None;
        self.known.clear();
        self.known.resize(OURS as usize, false);
        for descriptor in file_objects::open_at_start() {
            self.known[descriptor as usize] = true;
        }
        (self.opened, self.stale, self.strange) = (false, false, false);
        self.moved = [false; FIRST as usize];
    }
}

struct Use {
    thread: ThreadId,
    number: c_int,
    /// What it stood for.
    open: Open,
    /// The same, if it stands for something else by now; -1: nothing.
    kept: Option<c_int>,
}

fn state() -> &'static mut State {
    &mut world::get().calls.descriptors
}

fn ask(descriptor: c_int, what: c_int, argument: c_int) -> c_int {
    let arguments = [
        descriptor as usize,
        what as usize,
        argument as usize,
        0,
        0,
        0,
    ];
    // SAFETY: asks about a descriptor, or makes a copy of it.
    unsafe { sys::call(libc::SYS_fcntl, arguments) as c_int }
}

pub(crate) fn shut(descriptor: c_int) {
    if descriptor >= 0 {
        // SAFETY: one of ours, or one that is put elsewhere.
        unsafe { sys::call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
    }
}

pub(crate) fn is_open(descriptor: c_int) -> bool {
    ask(descriptor, libc::F_GETFD, 0) >= 0
}

/// What was said when it was opened; negative: it is not open.
pub(crate) fn flags(descriptor: c_int) -> c_int {
    ask(descriptor, libc::F_GETFL, 0)
}

/// A copy out of the program's reach; -1: it stands for nothing.
pub(crate) fn copy(descriptor: c_int, site: Site) -> c_int {
    let copy = ask(
        descriptor,
        libc::F_DUPFD_CLOEXEC,
        file_objects::COPIES as c_int,
    );
    if copy < 0 && is_open(descriptor) {
        world::get().unsupported("more descriptors than the process may have", site);
    }
    copy.max(-1)
}

/// Whether a descriptor is the program's, or about to be, or was when somebody looked it up.
pub(crate) fn is_programs(descriptor: c_int) -> bool {
    let State { hidden, uses, .. } = state();
    let kept = || uses.iter().any(|found| found.kept == Some(descriptor));
    descriptor < OURS || hidden.contains(&descriptor) || kept()
}

/// Takes a descriptor out of the program's reach until it has its number.
fn hide(descriptor: c_int, site: Site) -> Hidden {
    let closes = ask(descriptor, libc::F_GETFD, 0) & libc::FD_CLOEXEC != 0;
    let copy = copy(descriptor, site);
    state().hidden.push(copy);
    shut(descriptor);
    Hidden { copy, closes }
}

/// See [`hide`].
#[derive(Clone, Copy)]
struct Hidden {
    copy: c_int,
    /// With the program, when another takes its place.
    closes: bool,
}

impl Hidden {
    /// Under the lowest number that is free.
    fn show(self) -> c_int {
        let how = match self.closes {
            true => libc::F_DUPFD_CLOEXEC,
            false => libc::F_DUPFD,
        };
        let number = ask(self.copy, how, 0);
        self.forget();
        number
    }

    /// Under a number that is free.
    fn show_as(self, number: c_int) {
        let flags = match self.closes {
            true => libc::O_CLOEXEC as usize,
            false => 0,
        };
        let arguments = [self.copy as usize, number as usize, flags, 0, 0, 0];
        // SAFETY: the number is free.
        unsafe { sys::call(libc::SYS_dup3, arguments) };
        self.forget();
    }

    fn forget(self) {
        state().hidden.retain(|hidden| *hidden != self.copy);
        shut(self.copy);
    }
}

/// Whether it is standard input, output or error, which nobody has put elsewhere.
pub(crate) fn is_standard(number: c_int) -> bool {
    let standard = (0..FIRST).contains(&number) && !rules::holds(Rule::Output);
    standard && !state().moved[number as usize]
}

/// What goes to the terminal is no operation.
pub(crate) fn is_output(number: c_int) -> bool {
    number != 0 && is_standard(number)
}

/// Standard input, output or error may become something else.
pub(crate) fn put_elsewhere(number: c_int) {
    if !(0..FIRST).contains(&number) {
        return;
    }
    match file_names::alone() {
        true => state().moved[number as usize] = true,
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

/// The running thread looks a number up. What that stands for now is what it will use: see [`found`].
pub fn look_up(number: c_int, site: Site) {
    if !(0..OURS).contains(&number) || is_output(number) {
        return;
    }
    if !file_names::alone() {
        file_objects::look_at(object(number), site);
    }
    note_stale(number);
    if !file_names::alone() {
        let thread = world::get().current;
        state().uses.push(Use {
            thread,
            number,
            open: offsets::of(number),
            kept: None,
        });
    }
}

/// What belongs to the number itself, and not to what it stands for, is about to be changed.
pub(crate) fn mark(number: c_int, site: Site) {
    if !(0..OURS).contains(&number) {
        return;
    }
    if !file_names::alone() && (number == 1 || number == 2) {
        rules::needs(Rule::Output);
    }
    if !is_output(number) {
        file_objects::touch(object(number), site);
    }
    note_stale(number);
}

/// Where each thread has numbers of its own, one that stands for nothing would stand for something else in another order.
pub(crate) fn note_stale(number: c_int) {
    let ranges = rules::holds(Rule::Ranges) && !rules::holds(Rule::Table);
    if !ranges || !(0..OURS).contains(&number) || is_open(number) {
        return;
    }
    match state().opened {
        true => _ = rules::needs(Rule::Table),
        false => state().stale |= !file_names::alone(),
    }
}

/// The run is over. Nothing that went wrong is told with numbers that the kernel would not give.
pub fn conclude() {
    let world = world::get();
    if world.calls.descriptors.strange && !world.run.execution().errors.is_empty() {
        rules::needs(Rule::Table);
    }
}

/// What the running thread has found when it looked this number up: a descriptor to be used before its next operation.
pub fn found(number: c_int) -> c_int {
    found_open(number).0
}

/// The same, and what it stands for.
pub(crate) fn found_open(number: c_int) -> (c_int, Open) {
    if number >= OURS {
        // Nothing that the program knows of.
        return (-1, Open::default());
    }
    let me = world::get().current;
    let state = state();
    state.done.drain(..).for_each(shut);
    let mine = |found: &Use| (found.thread, found.number) == (me, number);
    let Some(index) = state.uses.iter().rposition(mine) else {
        return (descriptor_arguments::own(number), offsets::of(number));
    };
    let Use { open, kept, .. } = state.uses.swap_remove(index);
    state.done.extend(kept);
    (kept.unwrap_or(number), open)
}

/// A number is about to stand for something else: who has looked it up keeps what it found.
pub(crate) fn replace(number: c_int, site: Site) {
    let uses = state().uses.iter_mut();
    for found in uses.filter(|found| found.number == number && found.kept.is_none()) {
        found.kept = Some(copy(number, site));
    }
    file_objects::changing();
}

/// Whether all that was opened and closed so far comes before what the running thread does now.
fn ordered() -> bool {
    let world = world::get();
    let me = world.current;
    let now = (me, world.races.epoch(me));
    let last = world.calls.descriptors.last.replace(now);
    last.is_none_or(is_before)
}

/// Whether what a thread did in this epoch comes before what the running thread does now.
pub(crate) fn is_before((thread, epoch): (ThreadId, u32)) -> bool {
    let world = world::get();
    let clock = world.races.clock(world.current);
    clock.get(thread.index()).is_some_and(|it| epoch <= *it)
}

/// The running thread changes what a number stands for.
pub(crate) fn change(number: c_int, site: Site) {
    put_elsewhere(number);
    if !is_output(number) {
        file_objects::touch(object(number), site);
    }
    if !ordered() {
        rules::needs(Rule::Ranges);
    }
    replace(number, site);
}

/// The number that a thread gets which opens something: where all share them, the one that the kernel gave it.
fn choose(given: c_int, least: c_int) -> c_int {
    if !rules::holds(Rule::Ranges) {
        return given;
    }
    let known = |number: &c_int| state().known[*number as usize] || is_open(*number);
    let fresh = descriptor_ranges::of(world::get().slot(), most()).find(|number| !known(number));
    let Some(chosen) = fresh.filter(|_| least == 0) else {
        rules::needs(Rule::Table);
        return given;
    };
    state().strange |= chosen != given;
    chosen
}

/// How many the program can have.
fn most() -> c_int {
    let most = crate::core::resource_limits::descriptors();
    most.min(OURS as u64) as c_int
}

/// A call has opened a descriptor: the number that it is to have.
pub fn opened(given: c_int, site: Site) -> c_int {
    opened_from(given, 0, None, site)
}

/// The same, of two at once.
pub fn opened_both(given: &mut [c_int; 2], site: Site) {
    if file_names::alone() {
        return given.iter_mut().for_each(|one| *one = opened(*one, site));
    }
    // Both are out of the way before others can do anything.
    let hidden = given.map(|given| hide(given, site));
    for (given, hidden) in given.iter_mut().zip(hidden) {
        *given = opened(hidden.show(), site);
    }
}

/// The same, from some number on, and for something that is open already.
pub(crate) fn opened_from(given: c_int, least: c_int, open: Option<Open>, site: Site) -> c_int {
    if given < 0 || !world::active() {
        return given;
    }
    file_objects::changing();
    let most = most();
    if given >= most {
        shut(given);
        let what = alloc::format!("more than {most} descriptors");
        world::get().unsupported(&what, site);
    }
    let number = match file_names::alone() && ordered() {
        true => given,
        false => install(given, least, site),
    };
    known(number, open);
    number
}

/// From now on it stands or stood for something: this, or something new.
pub(crate) fn known(number: c_int, open: Option<Open>) {
    if let Some(known) = state().known.get_mut(number as usize) {
        *known = true;
        offsets::stands_for(number, open);
    }
}

/// Puts a descriptor where the running thread is to have it, by a step of its own.
fn install(given: c_int, least: c_int, site: Site) -> c_int {
    let hidden = hide(given, site);
    state().opened = true;
    if state().stale {
        rules::needs(Rule::Table);
    }
    let number = match rules::holds(Rule::Table) {
        true => {
            file_objects::touch(file_objects::TABLE, site);
            let lowest = (least..OURS).find(|number| !is_open(*number));
            let lowest = lowest.unwrap_or(given);
            replace(lowest, site);
            lowest
        }
        false => {
            let chosen = choose(given, least);
            change(chosen, site);
            chosen
        }
    };
    hidden.show_as(number);
    number
}

/// A descriptor is about to stand for something else.
pub fn replacing(descriptor: c_int, site: Site) {
    if (0..OURS).contains(&descriptor) {
        change(descriptor, site);
    }
}

/// A descriptor is about to be closed by the running thread.
pub fn closing(descriptor: c_int, site: Site) {
    if world::active() {
        replacing(descriptor, site);
        note_stale(descriptor);
    }
}
