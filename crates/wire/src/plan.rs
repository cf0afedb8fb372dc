//! Plans as words.

use crate::{
    rules::Rules,
    words::{Malformed, Reader, Writer},
};
use alloc::{string::String, vec::Vec};
use reweave_model::{Choice, Mark, OpKind, Plan, Policy, Site, Step, ThreadId};

/// One run to make.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// How.
    pub plan: Plan,
    /// With stacks, places and output.
    pub detail: bool,
    /// Threads that go no further than this.
    pub dooms: Vec<Doom>,
}

/// A process ended, or had to be ended, while this thread ran. When the same is run again, the thread stops in time, and the run comes to
/// its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Doom {
    /// Which thread.
    pub thread: ThreadId,
    /// After how many of its steps.
    pub count: u32,
    /// What would happen then.
    pub death: Death,
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Death {
    /// It went on for ever and had to be ended.
    Endless,
    /// By this signal.
    Signal(u32),
    /// By itself, with this status.
    Status(u32),
    /// Its runtime could not go on.
    GivenUp,
    /// It waited for ever in this system call, which is not under control, and had to be ended.
    Waits(u32),
}

impl Death {
    fn words(self) -> (u32, u32) {
        match self {
            Death::Endless => (0, 0),
            Death::Signal(signal) => (1, signal),
            Death::Status(status) => (2, status),
            Death::GivenUp => (3, 0),
            Death::Waits(call) => (4, call),
        }
    }

    fn read(words: (u32, u32)) -> Result<Death, Malformed> {
        Ok(match words {
            (0, _) => Death::Endless,
            (1, signal) => Death::Signal(signal),
            (2, status) => Death::Status(status),
            (3, _) => Death::GivenUp,
            (4, call) => Death::Waits(call),
            _ => return Err(Malformed),
        })
    }
}

/// What a process receives when it is started.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Beginning {
    /// Memory whose plain accesses are visible operations.
    pub units: Vec<Unit>,
    /// Rules that all runs follow.
    pub rules: Rules,
    /// Slots that runs are known to need.
    pub slots: Vec<u32>,
    /// Where copies of the files go that it changes.
    pub disk: String,
    /// Libraries that runs are known to open.
    pub libraries: Vec<Library>,
}

/// A library that runs open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Library {
    /// Or a name that the loader finds.
    pub path: String,
    /// Whether its names are seen by others.
    pub global: bool,
}

/// Bytes whose plain accesses are visible operations, because some raced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Unit {
    /// Where: an address, or an offset in the program's modules with [`Unit::STATIC`] added, which is the same wherever they lie.
    pub place: u64,
    /// How many.
    pub bytes: u64,
}

impl Unit {
    /// See [`Unit::place`].
    pub const STATIC: u64 = 1 << 63;

    /// See [`Unit::allocated`].
    const ALLOCATED: u64 = 3 << 62;
    /// Bits below the site.
    const BELOW: u32 = 28;

    /// No memory, but all blocks that are allocated at a place: their addresses may be those of freed ones. `bytes` is what a block needs
    /// at most.
    pub fn allocated(site: Site, bytes: u64) -> Unit {
        Unit {
            place: Unit::ALLOCATED | u64::from(site.0) << Unit::BELOW,
            bytes: bytes.min((1 << Unit::BELOW) - 1),
        }
    }

    /// The place whose blocks are meant, if some are, and what a block needs at most.
    pub fn allocated_at(self) -> Option<(Site, u64)> {
        let site = self.place.checked_sub(Unit::ALLOCATED)? >> Unit::BELOW;
        Some((Site(u32::try_from(site).ok()?), self.bytes))
    }

    /// Units that cover the same bytes and do not overlap.
    pub fn merged(units: impl IntoIterator<Item = Unit>) -> Vec<Unit> {
        let mut units: Vec<Unit> = units.into_iter().collect();
        units.sort();
        let mut merged: Vec<Unit> = Vec::new();
        for unit in units {
            match merged.last_mut() {
                Some(last) if unit.place < last.place + last.bytes => {
                    let end = (last.place + last.bytes).max(unit.place + unit.bytes);
                    last.bytes = end - last.place;
                }
                _ => merged.push(unit),
            }
        }
        merged
    }
}

/// Writes what a process receives at its start, where its plans will be.
pub fn write_beginning(out: &mut Writer<'_>, beginning: &Beginning) {
    out.word(beginning.units.len() as u64);
    for unit in &beginning.units {
        out.word(unit.place);
        out.word(unit.bytes);
    }
    out.word(beginning.rules.bits().into());
    out.word(beginning.slots.len() as u64);
    for slot in &beginning.slots {
        out.word((*slot).into());
    }
    out.bytes(beginning.disk.as_bytes());
    out.word(beginning.libraries.len() as u64);
    for library in &beginning.libraries {
        out.bytes(library.path.as_bytes());
        out.word(library.global.into());
    }
}

/// Reads it.
pub fn read_beginning(from: &mut Reader<'_>) -> Result<Beginning, Malformed> {
    let mut beginning = Beginning::default();
    for _ in 0..from.count()? {
        beginning.units.push(Unit {
            place: from.word()?,
            bytes: from.word()?,
        });
    }
    beginning.rules = Rules::read(from.word()?)?;
    for _ in 0..from.count()? {
        beginning.slots.push(from.word()? as u32);
    }
    beginning.disk = from.text()?;
    for _ in 0..from.count()? {
        beginning.libraries.push(Library {
            path: from.text()?,
            global: from.word()? != 0,
        });
    }
    Ok(beginning)
}

/// Writes a request.
pub fn write_request(out: &mut Writer<'_>, plan: &Plan, detail: bool, dooms: &[Doom]) {
    out.word(dooms.len() as u64);
    for doom in dooms {
        out.pair(doom.thread.0, doom.count);
        let (kind, number) = doom.death.words();
        out.pair(kind, number);
    }
    out.pair(plan.steps.len() as u32, plan.sleep.len() as u32);
    out.pair(plan.max_steps, detail.into());
    match plan.policy {
        Policy::First => out.word(0),
        Policy::Stay => out.word(1),
        Policy::Random(seed) => {
            out.word(2);
            out.word(seed);
        }
        Policy::Pct {
            seed,
            changes,
            steps,
        } => {
            out.word(3);
            out.word(seed);
            out.pair(changes, steps);
        }
        Policy::Loops => out.word(4),
        Policy::States { livelock } => out.word(5 + u64::from(livelock)),
    }
    for step in &plan.steps {
        let ok = match step.ok {
            None => 0,
            Some(false) => 1,
            Some(true) => 2,
        };
        let kind = u32::from(step.kind.0) | ok << 8 | u32::from(step.choice.outcome) << 16;
        out.pair(step.choice.thread.0, kind);
        out.word(step.site.0.into());
    }
    for choice in &plan.sleep {
        out.pair(choice.thread.0, choice.outcome.into());
    }
}

/// Reads a request over another one.
pub fn read_request(from: &mut Reader<'_>, into: &mut Request) -> Result<(), Malformed> {
    into.dooms.clear();
    for _ in 0..from.count()? {
        let (thread, count) = from.pair()?;
        into.dooms.push(Doom {
            thread: ThreadId(thread),
            count,
            death: Death::read(from.pair()?)?,
        });
    }
    let plan = &mut into.plan;
    let (steps, sleep) = from.pair()?;
    let (max_steps, detail) = from.pair()?;
    plan.max_steps = max_steps;
    into.detail = detail != 0;
    plan.policy = match from.word()? {
        0 => Policy::First,
        1 => Policy::Stay,
        2 => Policy::Random(from.word()?),
        3 => {
            let seed = from.word()?;
            let (changes, steps) = from.pair()?;
            Policy::Pct {
                seed,
                changes,
                steps,
            }
        }
        4 => Policy::Loops,
        kind @ (5 | 6) => Policy::States {
            livelock: kind == 6,
        },
        _ => return Err(Malformed),
    };
    plan.steps.clear();
    for _ in 0..steps {
        let (thread, kind) = from.pair()?;
        let site = from.word()? as u32;
        plan.steps.push(Step {
            choice: Choice {
                thread: ThreadId(thread),
                outcome: (kind >> 16) as u16,
            },
            kind: OpKind(kind as u8),
            site: Site(site),
            ok: match kind >> 8 & 0xff {
                0 => None,
                ok => Some(ok == 2),
            },
            mark: Mark::Default,
        });
    }
    plan.sleep.clear();
    for _ in 0..sleep {
        let (thread, outcome) = from.pair()?;
        plan.sleep.push(Choice {
            thread: ThreadId(thread),
            outcome: outcome as u16,
        });
    }
    Ok(())
}
