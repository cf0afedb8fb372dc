//! Descriptors: which number stands for what, who gets which, who closes one that others use.
//!
//! As in the kernel a call first looks its descriptor up and then does what it does, to what it has found, whoever closes the descriptor in
//! between. Each number is an object: to look it up is a load, to open or close it changes it. Two steps of one object each keep the rule that what an
//! event does follows from its object alone.
//!
//! Which number is the lowest that is free depends on all that was opened and closed. As long as that happens in an order that the program itself makes, the
//! kernel's answer is the right one. Where threads open files in no order ([`Rule::Ranges`]) each has a range of its own, and nobody can tell the orders
//! apart but by the numbers themselves; a number is used again by who closed it. Only if one is used that was closed (so that it might stand for
//! another thread's file) all orders are gone through ([`Rule::Table`]): all numbers are one object then.

use super::{disk, files, rules};
use crate::{sys, world};
use alloc::vec::Vec;
use core::ffi::c_int;
use files::OURS;
use reweave_model::{Site, ThreadId};
use reweave_wire::Rule;

/// Of a run.
#[derive(Default)]
pub struct State {
    /// Who has looked a number up and not used what it found.
    uses: Vec<Use>,
    /// Descriptors out of the program's reach that are of no more use.
    done: Vec<c_int>,
    /// Who opened or closed one last, and when.
    last: Option<(ThreadId, u32)>,
    /// Numbers that stand or stood for something.
    known: Vec<bool>,
    /// Some were opened beside other threads; some were used after they were closed.
    opened: bool,
    stale: bool,
}

impl State {
    pub fn clear(&mut self) {
        let kept = self.uses.drain(..).filter_map(|found| found.kept);
        self.done.extend(kept);
        self.done.drain(..).for_each(shut);
        self.last = None;
        self.known.clear();
        self.known.resize(OURS as usize, false);
        for descriptor in files::open_at_start() {
            self.known[descriptor as usize] = true;
        }
        (self.opened, self.stale) = (false, false);
    }
}

struct Use {
    thread: ThreadId,
    number: c_int,
    /// What it stood for, if it stands for something else by now; -1: nothing.
    kept: Option<c_int>,
}

/// Of a thread.
#[derive(Default)]
pub struct Own {
    /// Numbers that it closed and may have again.
    closed: Vec<c_int>,
}

/// How many numbers a thread has for itself where each has a range.
const RANGE: c_int = 32;
/// The first that is nobody's standard stream.
const FIRST: c_int = 3;

fn state() -> &'static mut State {
    &mut world::get().calls.descriptors
}

fn own() -> &'static mut Own {
    &mut world::get().me().own_calls.descriptors
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

pub(super) fn shut(descriptor: c_int) {
    if descriptor >= 0 {
        // SAFETY: one of ours, or one that is put elsewhere.
        unsafe { sys::call(libc::SYS_close, [descriptor as usize, 0, 0, 0, 0, 0]) };
    }
}

fn is_open(descriptor: c_int) -> bool {
    ask(descriptor, libc::F_GETFD, 0) >= 0
}

/// A copy out of the program's reach.
pub(super) fn copy(descriptor: c_int) -> c_int {
    ask(descriptor, libc::F_DUPFD_CLOEXEC, files::COPIES as c_int).max(-1)
}

/// What goes to the terminal is no operation, unless somebody puts it elsewhere.
fn is_output(number: c_int) -> bool {
    (number == 1 || number == 2) && !rules::holds(Rule::Output)
}

/// The object that a number is looked up in.
fn object(number: c_int) -> usize {
    match rules::holds(Rule::Table) {
        true => files::TABLE,
        false => files::DESCRIPTORS + number as usize,
    }
}

/// The running thread looks a number up. What that stands for now is what it will use: see [`found`].
pub fn look_up(number: c_int, site: Site) {
    if !(0..OURS).contains(&number) || is_output(number) {
        return;
    }
    if !disk::alone() {
        files::look_at(object(number), site);
    }
    note_stale(number);
    if !disk::alone() {
        let thread = world::get().current;
        state().uses.push(Use {
            thread,
            number,
            kept: None,
        });
    }
}

/// What belongs to the number itself, and not to what it stands for, is about to be changed.
pub(super) fn mark(number: c_int, site: Site) {
    if !(0..OURS).contains(&number) {
        return;
    }
    if !disk::alone() && (number == 1 || number == 2) {
        rules::needs(Rule::Output);
    }
    if !is_output(number) {
        files::touch(object(number), site);
    }
    note_stale(number);
}

/// Where each thread has numbers of its own, one that was closed would long stand for something else.
fn note_stale(number: c_int) {
    if !rules::holds(Rule::Ranges) || rules::holds(Rule::Table) {
        return;
    }
    let known = state().known.get(number as usize) == Some(&true);
    if known && !is_open(number) {
        state().stale = true;
        if state().opened {
            rules::needs(Rule::Table);
        }
    }
}

/// What the running thread has found when it looked this number up: a descriptor to be used before its next operation.
pub fn found(number: c_int) -> c_int {
    let me = world::get().current;
    let state = state();
    state.done.drain(..).for_each(shut);
    let mine = |found: &Use| (found.thread, found.number) == (me, number);
    let Some(index) = state.uses.iter().rposition(mine) else {
        return number;
    };
    let Some(kept) = state.uses.swap_remove(index).kept else {
        return number;
    };
    state.done.push(kept);
    kept
}

/// A number is about to stand for something else: who has looked it up keeps what it found.
pub(super) fn replace(number: c_int) {
    let uses = state().uses.iter_mut();
    for found in uses.filter(|found| found.number == number && found.kept.is_none()) {
        found.kept = Some(copy(number));
    }
    files::changing();
}

/// Whether all that was opened and closed so far comes before what the running thread does now.
fn ordered() -> bool {
    let world = world::get();
    let me = world.current;
    let now = (me, world.races.epoch(me));
    let last = world.calls.descriptors.last.replace(now);
    let clock = world.races.clock(me);
    last.is_none_or(|(thread, epoch)| clock.get(thread.index()).is_some_and(|it| epoch <= *it))
}

/// The running thread changes what a number stands for.
pub(super) fn change(number: c_int, site: Site) {
    let alone = disk::alone();
    if !alone && (number == 1 || number == 2) {
        rules::needs(Rule::Output);
    }
    if !is_output(number) {
        files::touch(object(number), site);
    }
    if !ordered() {
        rules::needs(Rule::Ranges);
    }
    replace(number);
}

/// The number that a thread gets which opens something: where all share them, the one that the kernel gave it.
fn choose(given: c_int, least: c_int) -> c_int {
    if !rules::holds(Rule::Ranges) {
        return given;
    }
    let free = |number: &c_int| *number >= least && !is_open(*number);
    let again = own().closed.iter().copied().filter(free).min();
    let start = FIRST + RANGE * world::get().slot() as c_int;
    let range = start.max(least)..(start + RANGE).min(OURS);
    let fresh = |number: &c_int| !state().known[*number as usize] && !is_open(*number);
    let fresh = range.clone().find(fresh);
    let chosen = again.into_iter().chain(fresh).min();
    chosen.unwrap_or_else(|| {
        rules::needs(Rule::Table);
        given
    })
}

/// A call has opened a descriptor: the number that it is to have.
pub fn opened(given: c_int, site: Site) -> c_int {
    opened_from(given, 0, site)
}

/// The same, of two at once.
pub fn opened_both(given: &mut [c_int; 2], site: Site) {
    if disk::alone() {
        return given.iter_mut().for_each(|one| *one = opened(*one, site));
    }
    // Both are out of the way before others can do anything.
    let hidden = given.map(copy);
    given.iter().copied().for_each(shut);
    for (given, hidden) in given.iter_mut().zip(hidden) {
        let low = ask(hidden, libc::F_DUPFD, 0);
        shut(hidden);
        *given = opened(low, site);
    }
}

pub(super) fn opened_from(given: c_int, least: c_int, site: Site) -> c_int {
    if given < 0 || !world::active() {
        return given;
    }
    files::changing();
    let number = match disk::alone() && ordered() {
        true => given,
        false => install(given, least, site),
    };
    own().closed.retain(|closed| *closed != number);
    known(number);
    number
}

/// From now on it stands or stood for something.
pub(super) fn known(number: c_int) {
    if let Some(known) = state().known.get_mut(number as usize) {
        *known = true;
    }
}

/// Puts a descriptor where the running thread is to have it, by a step of its own.
fn install(given: c_int, least: c_int, site: Site) -> c_int {
    let hidden = copy(given);
    let flags = match ask(given, libc::F_GETFD, 0) & libc::FD_CLOEXEC {
        0 => 0,
        _ => libc::O_CLOEXEC as usize,
    };
    shut(given);
    state().opened = true;
    if state().stale {
        rules::needs(Rule::Table);
    }
    let number = match rules::holds(Rule::Table) {
        true => {
            files::touch(files::TABLE, site);
            let lowest = (least..OURS).find(|number| !is_open(*number));
            let lowest = lowest.unwrap_or(given);
            replace(lowest);
            lowest
        }
        false => {
            let chosen = choose(given, least);
            change(chosen, site);
            chosen
        }
    };
    let arguments = [hidden as usize, number as usize, flags, 0, 0, 0];
    // SAFETY: the number is free.
    unsafe { sys::call(libc::SYS_dup3, arguments) };
    shut(hidden);
    number
}

/// A descriptor is about to stand for something else.
pub fn replacing(descriptor: c_int, site: Site) {
    if (0..OURS).contains(&descriptor) {
        change(descriptor, site);
    }
}

/// The running thread closes a descriptor, and may have the number again.
pub fn closed(descriptor: c_int) {
    if (0..OURS).contains(&descriptor) && is_open(descriptor) {
        own().closed.push(descriptor);
    }
}

/// A descriptor is about to be closed by the running thread.
pub fn closing(descriptor: c_int, site: Site) {
    if world::active() {
        replacing(descriptor, site);
        note_stale(descriptor);
        closed(descriptor);
    }
}
