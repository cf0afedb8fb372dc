//! What a target hands back for each plan.

use crate::{
    execution::{read_execution, write_execution},
    memory_image::{MemoryImage, Slept, read_image, write_image},
    plan::Unit,
    previous_events::PreviousEvents,
    rules::Rule,
    words::{Malformed, Reader, Writer},
};
use alloc::{string::String, vec::Vec};
use reweave_model::{Choice, Divergence, Execution, Mark, OpKind, Site, Step, ThreadId};

/// Return addresses, innermost first.
pub type Stack = Vec<Site>;

/// One run, as the target saw it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// What happened. After a divergence, as far as it went.
    pub execution: Execution,
    /// The program did not do what the plan expected.
    pub divergence: Option<Divergence>,
    /// What else was noticed.
    pub notes: Vec<Note>,
    /// What was asked for beyond that.
    pub detail: Option<Detail>,
    previous: PreviousEvents,
}

/// Something to say that is no error of the execution.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum Note {
    /// A call that cannot be controlled was reached.
    Unsupported { call: String, site: Site },
    /// A warning, about the thing at `address` (0: about none).
    Warning {
        rule: String,
        site: Site,
        address: u64,
    },
    /// A place that asks for less than sequential consistency, when it is met for the first time.
    Weak(Site),
    /// Two accesses of these bytes raced.
    Racy(Unit),
    /// This run lacks steps: accesses of these bytes, for which a loop waits.
    Missing(Unit),
    /// An instruction that is not understood, so that its accesses are not known.
    Unseen(Site),
    /// This run lacks steps: a rule matters that it does not follow.
    Needs(Rule),
    /// Addresses of these blocks should have come back.
    Returns(Unit),
    /// A file was named, so what the program does may depend on files.
    NamesFiles,
}

/// What lies at an address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The address itself.
    pub address: u64,
    /// What kind of memory it is in.
    pub kind: PlaceKind,
}

/// Kinds of memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[allow(missing_docs)]
pub enum PlaceKind {
    #[default]
    Unknown,
    /// A variable of a module: its offset there, as a site.
    Static { offset: u32 },
    /// A block of the heap: the how-many-th of which thread, where it was allocated, how long it is, how far in.
    Heap {
        thread: Vec<u32>,
        number: u32,
        site: Site,
        bytes: u64,
        offset: u64,
    },
    /// On a thread's stack, so far below its beginning; in a function that is at this place (0: not known), so far from the end of its
    /// frame.
    Stack {
        thread: u32,
        below: u64,
        site: Site,
        offset: i64,
    },
    /// No memory, but what goes by this name.
    Named(String),
}

/// An access that an error is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Accessed {
    /// Of which thread.
    pub thread: ThreadId,
    /// After how many of its events; `None`: that is not known any more.
    pub count: Option<u32>,
    /// What it did.
    pub kind: AccessKind,
    /// What the memory held after it, and how many bytes that is.
    pub value: Option<(u64, u32)>,
}

/// What an access does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum AccessKind {
    Read = 0,
    Write = 1,
    AtomicRead = 2,
    AtomicWrite = 3,
    Free = 4,
}

impl AccessKind {
    const ALL: [AccessKind; 5] = [
        AccessKind::Read,
        AccessKind::Write,
        AccessKind::AtomicRead,
        AccessKind::AtomicWrite,
        AccessKind::Free,
    ];

    /// As a noun.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::AtomicRead => "atomic read",
            AccessKind::AtomicWrite => "atomic write",
            AccessKind::Free => "free",
        }
    }
}

/// Asked for only when an execution is to be shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Detail {
    /// Of every event.
    pub stacks: Vec<Stack>,
    /// Of every thread's last position.
    pub last: Vec<Stack>,
    /// For every site of every error, its stack.
    pub errors: Vec<Vec<Stack>>,
    /// For every site of every error that is about accesses, the access.
    pub accesses: Vec<Vec<Accessed>>,
    /// What each error is about.
    pub subjects: Vec<Option<Place>>,
    /// Of every object.
    pub objects: Vec<Place>,
    /// What lies where values of atomics point to.
    pub pointers: Vec<Place>,
    /// Threads that slept.
    pub sleeps: Vec<Slept>,
    /// What memory held.
    pub memory: MemoryImage,
    /// What the program wrote.
    pub output: Vec<u8>,
}

/// Writes a report, its length first.
pub fn write_report(out: &mut Writer<'_>, report: &Parts<'_>) {
    let length = out.reserve();
    let start = out.len();
    write_execution(out, report.execution);
    match report.divergence {
        None => out.word(0),
        Some(divergence) => {
            out.word(1);
            write_divergence(out, divergence);
        }
    }
    out.word(report.notes.len() as u64);
    for note in report.notes {
        write_note(out, note);
    }
    match report.detail {
        None => out.word(0),
        Some(detail) => {
            out.word(1);
            write_detail(out, detail);
        }
    }
    out.patch(length, (out.len() - start) as u64);
}

/// A report that is about to be written.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Parts<'a> {
    pub execution: &'a Execution,
    pub divergence: Option<&'a Divergence>,
    pub notes: &'a [Note],
    pub detail: Option<&'a Detail>,
}

/// Reads a report over another one.
pub fn read_report(from: &mut Reader<'_>, into: &mut Report) -> Result<(), Malformed> {
    from.count()?;
    read_execution(from, &mut into.execution, &mut into.previous)?;
    into.divergence = match from.word()? {
        0 => None,
        _ => Some(read_divergence(from)?),
    };
    into.notes.clear();
    for _ in 0..from.count()? {
        let note = read_note(from)?;
        into.notes.push(note);
    }
    into.detail = match from.word()? {
        0 => None,
        _ => Some(read_detail(from)?),
    };
    Ok(())
}

fn write_divergence(out: &mut Writer<'_>, divergence: &Divergence) {
    out.word(divergence.step as u64);
    let step = &divergence.expected;
    out.pair(step.choice.thread.0, step.choice.outcome.into());
    out.pair(step.kind.0.into(), step.site.0);
    out.word(match step.ok {
        None => 0,
        Some(false) => 1,
        Some(true) => 2,
    });
    match divergence.actual {
        None => out.word(u64::MAX),
        Some((kind, site)) => out.pair(kind.0.into(), site.0),
    }
}

fn read_divergence(from: &mut Reader<'_>) -> Result<Divergence, Malformed> {
    let step = from.word()? as usize;
    let (thread, outcome) = from.pair()?;
    let (kind, site) = from.pair()?;
    let ok = match from.word()? {
        0 => None,
        ok => Some(ok == 2),
    };
    let actual = match from.word()? {
        u64::MAX => None,
        word => Some((OpKind(word as u8), Site((word >> 32) as u32))),
    };
    Ok(Divergence {
        step,
        expected: Step {
            choice: Choice {
                thread: ThreadId(thread),
                outcome: outcome as u16,
            },
            kind: OpKind(kind as u8),
            site: Site(site),
            ok,
            mark: Mark::Default,
        },
        actual,
    })
}

fn write_note(out: &mut Writer<'_>, note: &Note) {
    match note {
        Note::Unsupported { call, site } => {
            out.pair(0, site.0);
            out.bytes(call.as_bytes());
        }
        Note::Warning {
            rule,
            site,
            address,
        } => {
            out.pair(1, site.0);
            out.bytes(rule.as_bytes());
            out.word(*address);
        }
        Note::Weak(site) => out.pair(2, site.0),
        Note::Racy(unit) => write_unit(out, 3, unit),
        Note::Missing(unit) => write_unit(out, 4, unit),
        Note::Needs(rule) => out.pair(5, *rule as u32),
        Note::Unseen(site) => out.pair(6, site.0),
        Note::Returns(unit) => write_unit(out, 7, unit),
        Note::NamesFiles => out.pair(8, 0),
    }
}

fn write_unit(out: &mut Writer<'_>, kind: u64, unit: &Unit) {
    out.word(kind);
    out.word(unit.place);
    out.word(unit.bytes);
}

fn read_unit(from: &mut Reader<'_>) -> Result<Unit, Malformed> {
    Ok(Unit {
        place: from.word()?,
        bytes: from.word()?,
    })
}

fn read_note(from: &mut Reader<'_>) -> Result<Note, Malformed> {
    let (kind, site) = from.pair()?;
    let site = Site(site);
    Ok(match kind {
        0 => Note::Unsupported {
            call: from.text()?,
            site,
        },
        1 => Note::Warning {
            rule: from.text()?,
            site,
            address: from.word()?,
        },
        2 => Note::Weak(site),
        3 => Note::Racy(read_unit(from)?),
        4 => Note::Missing(read_unit(from)?),
        5 => Note::Needs(Rule::read(site.0.into())?),
        6 => Note::Unseen(site),
        7 => Note::Returns(read_unit(from)?),
        8 => Note::NamesFiles,
        _ => return Err(Malformed),
    })
}

fn write_stack(out: &mut Writer<'_>, stack: &Stack) {
    out.word(stack.len() as u64);
    for site in stack {
        out.word(u64::from(site.0));
    }
}

fn read_stack(from: &mut Reader<'_>) -> Result<Stack, Malformed> {
    let mut stack = Stack::new();
    for _ in 0..from.count()? {
        stack.push(Site(from.word()? as u32));
    }
    Ok(stack)
}

fn read_stacks(from: &mut Reader<'_>) -> Result<Vec<Stack>, Malformed> {
    let mut stacks = Vec::new();
    for _ in 0..from.count()? {
        stacks.push(read_stack(from)?);
    }
    Ok(stacks)
}

fn write_stacks(out: &mut Writer<'_>, stacks: &[Stack]) {
    out.word(stacks.len() as u64);
    for stack in stacks {
        write_stack(out, stack);
    }
}

fn write_place(out: &mut Writer<'_>, place: &Place) {
    out.word(place.address);
    match &place.kind {
        PlaceKind::Unknown => out.word(0),
        PlaceKind::Static { offset } => out.pair(1, *offset),
        PlaceKind::Heap {
            thread,
            number,
            site,
            bytes,
            offset,
        } => {
            out.pair(2, *number);
            out.pair(site.0, thread.len() as u32);
            out.word(*bytes);
            out.word(*offset);
            for place in thread {
                out.word(u64::from(*place));
            }
        }
        PlaceKind::Stack {
            thread,
            below,
            site,
            offset,
        } => {
            out.pair(3, *thread);
            out.word(*below);
            out.word(site.0.into());
            out.word(offset.cast_unsigned());
        }
        PlaceKind::Named(name) => {
            out.pair(4, 0);
            out.bytes(name.as_bytes());
        }
    }
}

fn read_place(from: &mut Reader<'_>) -> Result<Place, Malformed> {
    let address = from.word()?;
    let (kind, number) = from.pair()?;
    let kind = match kind {
        0 => PlaceKind::Unknown,
        1 => PlaceKind::Static { offset: number },
        2 => {
            let (site, length) = from.pair()?;
            let bytes = from.word()?;
            let offset = from.word()?;
            let mut thread = Vec::new();
            for _ in 0..length {
                thread.push(from.word()? as u32);
            }
            PlaceKind::Heap {
                thread,
                number,
                site: Site(site),
                bytes,
                offset,
            }
        }
        3 => PlaceKind::Stack {
            thread: number,
            below: from.word()?,
            site: Site(from.word()? as u32),
            offset: from.word()?.cast_signed(),
        },
        4 => PlaceKind::Named(from.text()?),
        _ => return Err(Malformed),
    };
    Ok(Place { address, kind })
}

fn write_detail(out: &mut Writer<'_>, detail: &Detail) {
    write_stacks(out, &detail.stacks);
    write_stacks(out, &detail.last);
    out.word(detail.errors.len() as u64);
    for stacks in &detail.errors {
        write_stacks(out, stacks);
    }
    out.word(detail.accesses.len() as u64);
    for accesses in &detail.accesses {
        out.word(accesses.len() as u64);
        for access in accesses {
            out.pair(access.thread.0, access.kind as u32);
            out.pair(
                access.count.is_some().into(),
                access.count.unwrap_or_default(),
            );
            let (value, bytes) = access.value.unwrap_or_default();
            out.pair(access.value.is_some().into(), bytes);
            out.word(value);
        }
    }
    out.word(detail.subjects.len() as u64);
    for subject in &detail.subjects {
        out.word(subject.is_some().into());
        if let Some(place) = subject {
            write_place(out, place);
        }
    }
    for places in [&detail.objects, &detail.pointers] {
        out.word(places.len() as u64);
        for place in places {
            write_place(out, place);
        }
    }
    out.word(detail.sleeps.len() as u64);
    for slept in &detail.sleeps {
        out.pair(slept.thread.0, slept.count);
        write_stack(out, &slept.stack);
    }
    write_image(out, &detail.memory);
    out.bytes(&detail.output);
}

fn read_detail(from: &mut Reader<'_>) -> Result<Detail, Malformed> {
    let mut detail = Detail {
        stacks: read_stacks(from)?,
        last: read_stacks(from)?,
        ..Detail::default()
    };
    for _ in 0..from.count()? {
        detail.errors.push(read_stacks(from)?);
    }
    for _ in 0..from.count()? {
        let mut accesses = Vec::new();
        for _ in 0..from.count()? {
            let (thread, kind) = from.pair()?;
            let kind = AccessKind::ALL.get(kind as usize).ok_or(Malformed)?;
            let (known, count) = from.pair()?;
            accesses.push(Accessed {
                thread: ThreadId(thread),
                count: (known != 0).then_some(count),
                kind: *kind,
                value: {
                    let (known, bytes) = from.pair()?;
                    let value = from.word()?;
                    (known != 0).then_some((value, bytes))
                },
            });
        }
        detail.accesses.push(accesses);
    }
    for _ in 0..from.count()? {
        let subject = match from.word()? {
            0 => None,
            _ => Some(read_place(from)?),
        };
        detail.subjects.push(subject);
    }
    for places in [&mut detail.objects, &mut detail.pointers] {
        for _ in 0..from.count()? {
            places.push(read_place(from)?);
        }
    }
    for _ in 0..from.count()? {
        let (thread, count) = from.pair()?;
        detail.sleeps.push(Slept {
            thread: ThreadId(thread),
            count,
            stack: read_stack(from)?,
        });
    }
    detail.memory = read_image(from)?;
    detail.output = from.bytes()?;
    Ok(detail)
}
