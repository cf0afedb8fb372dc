//! What memory holds when a run fails, for a run that is to be shown: variables, blocks of the heap, stacks, and which access wrote what.
//!
//! *Decides:* how much of it is kept. *Called by:* `process_end` and `serve`, only where detail is asked for. *Owns:* nothing. Memory is
//! read by a system call, so an address that is not mapped is an answer and no fault.

use crate::{
    core::{modules, sys},
    run::{snapshot, world, world::World},
};
use alloc::{vec, vec::Vec};
use reweave_model::{Site, ThreadId};
use reweave_wire::{MemoryImage, Region, StackFrame};

/// Bytes that are kept of one module's variables, of one block, of one end of a stack, and of all blocks.
const VARIABLES: usize = 1 << 20;
const BLOCK: usize = 4 << 10;
const STACK: usize = 32 << 10;
const HEAP: usize = 1 << 20;

/// How far down a stack is searched for frames.
const SEARCHED: usize = 256 << 10;

/// Copies memory; whether all of it could be read.
pub fn read(address: usize, into: &mut [u8]) -> bool {
    let local = [into.as_mut_ptr() as usize, into.len()];
    let remote = [address, into.len()];
    // SAFETY: the kernel writes to `into` alone, as long as it is, and says where `address` cannot be read.
    let done = unsafe {
        let (local, remote) = (&raw const local as usize, &raw const remote as usize);
        let own = sys::call(libc::SYS_getpid, [0; 6]) as usize;
        sys::call(libc::SYS_process_vm_readv, [own, local, 1, remote, 1, 0])
    };
    done == into.len() as isize
}

/// A small value in memory.
pub fn value(address: usize, bytes: usize) -> Option<u64> {
    let mut word = [0; 8];
    let into = word.get_mut(..bytes).filter(|into| !into.is_empty())?;
    read(address, into).then(|| u64::from_le_bytes(word))
}

fn region(start: usize, bytes: usize, site: Option<Site>) -> Option<Region> {
    let mut copy = vec![0; bytes];
    (bytes > 0 && read(start, &mut copy)).then_some(Region {
        start: start as u64,
        site,
        bytes: copy,
    })
}

impl World {
    /// Where the frames of a thread's functions end (their canonical frame addresses), with the place in each; innermost first.
    ///
    /// Return addresses are known from the compiler's hooks; they are searched for on the stack, from its beginning on. A frame pointer
    /// beside one confirms it.
    pub fn frames(&self, thread: ThreadId, innermost: Site) -> Vec<StackFrame> {
        let (top, callers) = (self.threads[thread.index()].top, self.callers(thread));
        let low = self.reach(thread);
        if callers.is_empty() || low >= top {
            return Vec::new();
        }
        let mut stack = vec![0; top - low];
        if !read(low, &mut stack) {
            return Vec::new();
        }
        let word = |at: usize| {
            let bytes = stack.get(at..at + 8)?;
            bytes.try_into().ok().map(usize::from_le_bytes)
        };
        let mut frames = Vec::new();
        let mut from = stack.len() & !7;
        let mut last: Option<usize> = None;
        for (index, caller) in callers.iter().enumerate() {
            let places = (0..from / 8).rev().map(|word| word * 8);
            let places = places.filter(|at| word(*at) == Some(*caller));
            let linked = |at: &usize| {
                let pointer = at.checked_sub(8).and_then(word);
                pointer
                    .zip(last)
                    .is_some_and(|(pointer, last)| pointer == low + last - 8)
            };
            let Some(at) = places
                .clone()
                .find(linked)
                .or_else(|| places.clone().next())
            else {
                continue;
            };
            let inner = callers.get(index + 1).map(|inner| modules::site(*inner));
            frames.push(StackFrame {
                thread,
                site: inner.unwrap_or(innermost),
                end: (low + at + 8) as u64,
            });
            (from, last) = (at, Some(at));
        }
        frames.reverse();
        frames
    }

    /// How far down a thread's stack is of interest.
    fn reach(&self, thread: ThreadId) -> usize {
        let here = 0_usize;
        let record = &self.threads[thread.index()];
        let low = match thread == self.current {
            true => &raw const here as usize,
            false => record.saved(),
        };
        let least = record.top.saturating_sub(SEARCHED);
        (if low > record.top {
            least
        } else {
            low.max(least)
        }) & !7
    }

    /// The place that a thread has come to.
    fn stands_at(&self, thread: ThreadId) -> Site {
        let ended = self.run.execution().threads.get(thread.index());
        let pending = self.run.pending(thread).copied();
        let pending = pending.or(ended.and_then(|record| record.pending));
        pending.map_or(Site(0), |pending| pending.site)
    }

    /// The frame that an address of a thread's stack is in: the place in its function, and the distance from the frame's end.
    pub fn frame_around(&self, thread: ThreadId, address: usize) -> Option<(Site, i64)> {
        let frames = self.frames(thread, self.stands_at(thread));
        let around = frames.iter().find(|frame| frame.end > address as u64)?;
        Some((
            around.site,
            (address as u64).wrapping_sub(around.end).cast_signed(),
        ))
    }

    /// Everything, now; `site` is where the running thread is.
    pub fn image(&mut self, site: Site) -> MemoryImage {
        let mut image = MemoryImage::default();
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            if self.threads[index].finished {
                continue;
            }
            let innermost = match thread == self.current {
                true => site,
                false => self.stands_at(thread),
            };
            image.frames.extend(self.frames(thread, innermost));
            let (low, top) = (self.reach(thread), self.threads[index].top);
            let whole = top.saturating_sub(low);
            if whole <= 2 * STACK {
                image.regions.extend(region(low, whole, None));
            } else {
                image.regions.extend(region(low, STACK, None));
                image.regions.extend(region(top - STACK, STACK, None));
            }
        }
        image.regions.extend(variables());
        image.regions.extend(blocks());
        image.writes = self.watched.writes();
        image
    }
}

/// The variables of the program and its own libraries.
fn variables() -> Vec<Region> {
    let mut own = Vec::new();
    modules::each(|module| {
        if !module.library {
            own.push((module.start, module.end));
        }
    });
    let mut regions = Vec::new();
    for (from, upto) in snapshot::writable() {
        for (start, end) in &own {
            let (from, upto) = (from.max(*start), upto.min(*end));
            if from < upto {
                let bytes = (upto - from).min(VARIABLES);
                regions.extend(region(from, bytes, Some(modules::site(from))));
            }
        }
    }
    regions
}

/// The blocks that are in use.
fn blocks() -> Vec<Region> {
    let blocks: Vec<(usize, usize)> = {
        let heap = world::heap();
        let own = heap
            .left()
            .map(|block| (block.start, block.bytes.min(BLOCK)));
        own.collect()
    };
    let mut left = HEAP;
    let mut regions = Vec::new();
    for (start, bytes) in blocks {
        let Some(rest) = left.checked_sub(bytes) else {
            break;
        };
        left = rest;
        regions.extend(region(start, bytes, None));
    }
    regions
}
