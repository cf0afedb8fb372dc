//! What memory held when a run failed, and which threads slept: part of the detail of a run that is to be shown.

use crate::{
    report::Stack,
    words::{Malformed, Reader, Writer},
};
use alloc::vec::Vec;
use reweave_model::{Site, ThreadId};

/// Memory at the moment of the failure, or at the end of the run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MemoryImage {
    /// Memory that could be read.
    pub regions: Vec<Region>,
    /// The functions that threads were in, the innermost of each thread first.
    pub frames: Vec<StackFrame>,
    /// Writes that were seen, in their order: of each address the latest ones.
    pub writes: Vec<MemoryWrite>,
}

/// Some memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Region {
    /// The address of its first byte.
    pub start: u64,
    /// The same as a site, where it is a module's.
    pub site: Option<Site>,
    /// What it held.
    pub bytes: Vec<u8>,
}

/// A function that a thread was in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackFrame {
    /// The thread.
    pub thread: ThreadId,
    /// Where in the function it was.
    pub site: Site,
    /// The stack pointer before the call that entered it.
    pub end: u64,
}

/// A write to some memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MemoryWrite {
    /// Where.
    pub address: u64,
    /// How much.
    pub bytes: u32,
    /// Which thread wrote.
    pub thread: ThreadId,
    /// After how many of its events.
    pub count: u32,
    /// At which place.
    pub site: Site,
    /// What the memory held before and after it, where it is small.
    pub values: Option<(u64, u64)>,
}

/// A thread slept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slept {
    /// Which.
    pub thread: ThreadId,
    /// After how many of its events.
    pub count: u32,
    /// Where.
    pub stack: Stack,
}

pub(crate) fn write_image(out: &mut Writer<'_>, image: &MemoryImage) {
    out.word(image.regions.len() as u64);
    for region in &image.regions {
        out.word(region.start);
        let site = region.site.map_or(0, |site| site.0);
        out.pair(region.site.is_some().into(), site);
        out.bytes(&region.bytes);
    }
    out.word(image.frames.len() as u64);
    for frame in &image.frames {
        out.pair(frame.thread.0, frame.site.0);
        out.word(frame.end);
    }
    out.word(image.writes.len() as u64);
    for write in &image.writes {
        out.word(write.address);
        out.pair(write.bytes, write.thread.0);
        out.pair(write.count, write.site.0);
        let (before, after) = write.values.unwrap_or_default();
        out.word(write.values.is_some().into());
        out.word(before);
        out.word(after);
    }
}

pub(crate) fn read_image(from: &mut Reader<'_>) -> Result<MemoryImage, Malformed> {
    let mut image = MemoryImage::default();
    for _ in 0..from.count()? {
        let start = from.word()?;
        let (known, site) = from.pair()?;
        image.regions.push(Region {
            start,
            site: (known != 0).then_some(Site(site)),
            bytes: from.bytes()?,
        });
    }
    for _ in 0..from.count()? {
        let (thread, site) = from.pair()?;
        image.frames.push(StackFrame {
            thread: ThreadId(thread),
            site: Site(site),
            end: from.word()?,
        });
    }
    for _ in 0..from.count()? {
        let address = from.word()?;
        let (bytes, thread) = from.pair()?;
        let (count, site) = from.pair()?;
        let known = from.word()? != 0;
        let values = (from.word()?, from.word()?);
        image.writes.push(MemoryWrite {
            address,
            bytes,
            thread: ThreadId(thread),
            count,
            site: Site(site),
            values: known.then_some(values),
        });
    }
    Ok(image)
}
