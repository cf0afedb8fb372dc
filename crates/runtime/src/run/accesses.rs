//! Plain accesses: how they are checked, and what is wrong with them.
//!
//! They are checked and never scheduled. The world says with [`set_mode`] what is to be done with them; most of the time a look at one
//! cell of the shadow is all.

use crate::{
    core::{
        cell::RunValue,
        modules,
        trampoline::{Frame, forget_below},
    },
    run::{
        atomic_peeks, closed_code, dooms, foreign_code, object_lifetimes, racy_units, spin, world,
    },
};
use alloc::{format, string::String, vec::Vec};
use core::ffi::{CStr, c_char};
use reweave_memory::{Clash, Kind};
use reweave_model::{Kind as ErrorKind, Site, ThreadId};
use reweave_wire::Note;

/// What is done with a plain access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Mode {
    /// Nothing: no run, or nobody looks.
    Nothing = 0,
    /// Compared with all others.
    Check,
    /// The thread is alone: only memory that was given back matters.
    Freed,
}

/// Looked at by assembly, too.
pub static MODE: RunValue<Mode> = RunValue::new(Mode::Nothing);

#[inline]
fn mode() -> Mode {
    MODE.get()
}

pub fn set_mode(mode: Mode) {
    MODE.set(mode);
}

/// An access of the program.
#[inline]
pub fn access(address: usize, bytes: usize, kind: Kind, pc: usize) {
    if kind == Kind::Write {
        if dooms::ours(address) && world::active() {
            dooms::trespass(address, pc);
        }
        spin::wrote(address, bytes);
    }
    compare(address, bytes, kind, pc);
}

/// An access of the program to its own stack: what it writes there shows when it is parked.
pub fn access_own_stack(address: usize, bytes: usize, kind: Kind, pc: usize) {
    compare(address, bytes, kind, pc);
}

#[inline]
fn compare(address: usize, bytes: usize, kind: Kind, pc: usize) {
    atomic_peeks::plain(address, bytes);
    match mode() {
        Mode::Nothing => {}
        Mode::Check => {
            // SAFETY: an access of the program: no borrow is alive while its code runs, nor in the library calls that
            // report their accesses.
            let world = unsafe { world::borrow_in_hook() };
            if !world.shadow.hot(address, bytes, kind) {
                record(address, bytes, kind, pc);
                forget_below();
            }
        }
        Mode::Freed => look(address, bytes, kind, pc),
    }
}

#[inline(never)]
fn record(address: usize, bytes: usize, kind: Kind, pc: usize) {
    let site = modules::site(pc);
    let mut world = world::borrow();
    let world = &mut *world;
    if world.detail {
        world.log(address, bytes, kind, site);
    }
    world.note_access(address, bytes, kind);
    let clock = world.races.clock(world.current);
    let clash = world.shadow.record(clock, address, bytes, kind, site);
    if clash.is_some() {
        world.clashes(kind, site);
    }
}

#[inline(never)]
fn look(address: usize, bytes: usize, kind: Kind, pc: usize) {
    let mut world = world::borrow();
    if let Some(clash) = world.shadow.freed(address, bytes) {
        world.clash(&clash, kind, modules::site(pc));
    }
}

/// A range that a library call reads or writes for the program.
pub fn range(address: usize, bytes: usize, write: bool, frame: &Frame) {
    let kind = if write { Kind::Write } else { Kind::Read };
    if bytes > 0 {
        racy_units::visible(address, bytes, kind, frame);
    }
}

/// The same for what lies at an argument of a program's own call, where only the place of the call is known. What other libraries do is
/// their own matter.
pub fn argument(address: usize, bytes: usize, write: bool, return_address: usize) {
    if address != 0 && !modules::is_library(return_address) {
        let frame = Frame {
            registers: [0; 6],
            return_address,
        };
        range(address, bytes, write, &frame);
    }
}

/// As [`argument`], of a text that is read to its end.
///
/// # Safety
///
/// `text` is null or points to bytes that end with a nul.
pub unsafe fn text_argument(text: *const c_char, return_address: usize) {
    if !text.is_null() {
        // SAFETY: not null, so it ends with a nul, by this function's contract.
        let bytes = unsafe { CStr::from_ptr(text) }.count_bytes() + 1;
        argument(text as usize, bytes, false, return_address);
    }
}

impl world::World {
    /// After something that another thread can know of: accesses from now on are told apart from those before.
    #[inline]
    pub fn refresh(&mut self) {
        let me = self.current;
        foreign_code::beside(!self.races.alone(me));
        if !self.check_races {
            return;
        }
        closed_code::refresh();
        if self.races.alone(me) {
            set_mode(if self.freed {
                Mode::Freed
            } else {
                Mode::Nothing
            });
            return;
        }
        set_mode(Mode::Check);
        self.shadow.turn(me, self.races.epoch(me));
    }

    /// The running thread has done what may synchronise it with any other: nothing that could be ordered by it is reported as a race.
    pub fn synchronised_unseen(&mut self) {
        self.races.unknown(self.current);
        self.refresh();
    }

    /// The running thread's operation touched this memory.
    #[inline]
    pub fn touch(&mut self, address: usize, bytes: usize, kind: Kind, site: Site) {
        match mode() {
            Mode::Nothing => {}
            Mode::Check => {
                if self.detail {
                    self.log(address, bytes, kind, site);
                }
                self.note_access(address, bytes, kind);
                let clock = self.races.clock(self.current);
                if self
                    .shadow
                    .access(clock, address, bytes, kind, site)
                    .is_some()
                {
                    self.clashes(kind, site);
                }
            }
            Mode::Freed => {
                if let Some(clash) = self.shadow.freed(address, bytes) {
                    self.clash(&clash, kind, site);
                }
            }
        }
    }

    /// Memory is given back, which is a write to all of it.
    pub fn give_back(&mut self, address: usize, bytes: usize, site: Site) {
        if !self.check_races {
            return;
        }
        self.freed = true;
        if mode() == Mode::Check {
            self.note_access(address, bytes.max(1), Kind::Free);
        }
        if self.detail {
            self.log(address, bytes.max(1), Kind::Free, site);
        }
        let me = self.current;
        self.shadow.turn(me, self.races.epoch(me));
        let clock = self.races.clock(me);
        if self
            .shadow
            .free(clock, address, bytes.max(1), site)
            .is_some()
        {
            self.clashes(Kind::Free, site);
        }
        self.refresh();
    }

    /// What was freed before a fork is freed in the memory of the new process, too; this is its thread.
    pub fn freed_before_fork(&mut self, thread: ThreadId) {
        if !self.check_races {
            return;
        }
        self.shadow.turn(thread, self.races.epoch(thread));
        let clock = self.races.clock(thread);
        for block in world::heap().freed() {
            let (bytes, site) = (block.bytes.max(1), Site(block.freed));
            self.shadow.free(clock, block.start, bytes, site);
        }
    }

    /// All accesses that the last one clashes with.
    #[cold]
    fn clashes(&mut self, kind: Kind, site: Site) {
        let found: Vec<Clash> = self.shadow.clashes().into();
        for clash in &found {
            self.clash(clash, kind, site);
        }
    }

    /// Two accesses that should not be.
    #[cold]
    pub fn clash(&mut self, first: &Clash, kind: Kind, site: Site) {
        let sites = [first.site, site];
        let ClashError {
            kind: error,
            rule,
            message,
        } = self.clash_error(first, kind, sites);
        let same = |known: &reweave_model::Error| {
            let turned = [site, first.site];
            known.kind == error && (known.sites == sites || known.sites == turned)
        };
        if error == ErrorKind::DataRace {
            self.note(Note::Racy(self.unit(first.address, first.bytes)));
            if !self.report_races {
                return;
            }
        }
        if !self.run.execution().errors.iter().any(same) {
            self.error_about(error, rule, message, &sites, first.address);
            if self.detail {
                self.accesses_of(first, kind, site);
            }
        }
    }

    /// Which error two clashing accesses are, the later one by the running thread.
    fn clash_error(&self, first: &Clash, kind: Kind, sites: [Site; 2]) -> ClashError {
        let (me, other) = (self.path_name(self.current), self.path_name(first.thread));
        let kinds = (first.kind, kind);
        let closed = closed_code::name_at(first.address);
        let closed = closed.and_then(|library| closed_library(&library, kinds, &me, &other));
        if let Some(error) = closed.or_else(|| freed_memory(kinds, &me, &other)) {
            return error;
        }
        let object = object_lifetimes::unordered(self.objects.known(), first.address, sites);
        match object {
            Some((rule, message)) => ClashError {
                kind: ErrorKind::Misuse,
                rule: Some(rule),
                message: message.into(),
            },
            None => data_race(kinds, &me, &other),
        }
    }

    /// A thread by its path from the first thread: `main.1.2`.
    fn path_name(&self, thread: ThreadId) -> String {
        let path = &self.run.execution().threads[thread.index()].path;
        path.iter()
            .fold(String::from("main"), |name, step| format!("{name}.{step}"))
    }
}

/// An error that two clashing accesses are. `{0}` in its message stands for the memory.
struct ClashError {
    kind: ErrorKind,
    rule: Option<&'static str>,
    message: String,
}

impl ClashError {
    fn memory(rule: &'static str, message: String) -> ClashError {
        ClashError {
            kind: ErrorKind::Memory,
            rule: Some(rule),
            message,
        }
    }
}

/// Code or data of a library that one of the accesses closes; `None`: neither does.
fn closed_library(
    library: &str,
    (first, second): (Kind, Kind),
    me: &str,
    other: &str,
) -> Option<ClashError> {
    let message = match (first, second) {
        (Kind::Free, _) => format!("{me} uses {library} after {other} closed it"),
        (_, Kind::Free) => {
            format!("{me} closes {library}, which nothing orders after its use by {other}")
        }
        _ => return None,
    };
    Some(ClashError::memory("use-after-free", message))
}

/// Memory that one of the accesses frees; `None`: neither does.
fn freed_memory((first, second): (Kind, Kind), me: &str, other: &str) -> Option<ClashError> {
    Some(match (first, second) {
        (Kind::Free, Kind::Free) => {
            let message = format!("{{0}} was freed by {other} and again by {me}");
            ClashError::memory("double-free", message)
        }
        (Kind::Free, _) => {
            let message = format!("{me} {} {{0}} after {other} freed it", verb(second));
            ClashError::memory("use-after-free", message)
        }
        (_, Kind::Free) => {
            let access = noun(first);
            let message =
                format!("{me} frees {{0}}, which nothing orders after the {access} by {other}");
            ClashError::memory("use-after-free", message)
        }
        _ => return None,
    })
}

/// Two accesses to live memory that nothing orders.
fn data_race((first, second): (Kind, Kind), me: &str, other: &str) -> ClashError {
    let (first, second) = (noun(first), noun(second));
    ClashError {
        kind: ErrorKind::DataRace,
        rule: None,
        message: format!("{first} by {other} and {second} by {me} of {{0}}: nothing orders them"),
    }
}

fn noun(kind: Kind) -> &'static str {
    match kind {
        Kind::AtomicRead => "atomic read",
        Kind::AtomicWrite => "atomic write",
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Free => "free",
    }
}

fn verb(kind: Kind) -> &'static str {
    match kind {
        Kind::AtomicRead | Kind::Read => "reads",
        _ => "writes",
    }
}
