//! Copies of threads' handles in the program's memory: what a program could compare with the handle of a later thread.
//!
//! *Decides:* which of several handles are left somewhere. *Called by:* [`thread_identities`](super::thread_identities), while a
//! thread is joined or created. *Owns:* nothing. Memory is read by a system call, since the program may have protected it.
//!
//! Anything that looks like a handle counts as one, so a copy that is never used again counts, too.

use crate::{
    core::{families, modules, restore::PAGE},
    run::{
        memory_image, slots,
        world::{self, World},
    },
};
use alloc::{vec, vec::Vec};
use core::ops::Range;

/// Bytes of registers that a call saves below its return address: [`Frame`](crate::core::trampoline::Frame).
const REGISTERS: usize = 6 * size_of::<usize>();

/// A handle to look for.
pub struct Wanted {
    pub handle: usize,
    /// A place that does not count.
    pub except: usize,
    pub found: usize,
}

/// Counts the copies of these handles. The running thread's stack is live from `stack` on.
pub fn count(wanted: &mut [Wanted], stack: usize) {
    let probe = 1_usize;
    if !memory_image::read(&raw const probe as usize, &mut [0; 8]) {
        // Nothing can be read here, so there may be copies of all.
        wanted.iter_mut().for_each(|one| one.found = usize::MAX);
        return;
    }
    wanted.sort_unstable_by_key(|one| one.handle);
    for range in memory(stack) {
        look_into(range, wanted);
    }
    families::each_mapped_page(&mut |page| consider(usize::MAX, page, wanted));
}

/// Where variables, blocks of the heap and live parts of stacks lie.
fn memory(stack: usize) -> Vec<Range<usize>> {
    let snapshot = world::snapshot();
    let hot = snapshot.hot().iter();
    let mut memory: Vec<Range<usize>> = hot.map(|(page, _)| *page..page + PAGE).collect();
    drop(snapshot);
    let blocks = world::heap();
    memory.extend(
        blocks
            .left()
            .map(|block| block.start..block.start + block.bytes),
    );
    drop(blocks);
    let world = world::borrow();
    let running = world.current.index();
    let threads = world.threads.iter().enumerate();
    let live = threads.filter(|(_, thread)| !thread.finished);
    memory.extend(live.map(|(index, thread)| match index == running {
        true => stack..thread.top,
        false => world.own_stack(index),
    }));
    memory
}

impl World {
    /// The live part of a waiting thread's stack, from the registers on that the program had at its call. Below lie frames of the
    /// runtime's, which knows handles as well.
    fn own_stack(&self, index: usize) -> Range<usize> {
        let thread = &self.threads[index];
        let (low, top) = (thread.saved(), thread.top);
        let pending = self.run.execution().threads[index].pending;
        let called = pending.and_then(|pending| modules::address_of(pending.site.0 as usize));
        let Some(called) = called.filter(|_| low < top) else {
            return low..top;
        };
        let mut words = vec![0; top - low];
        if !memory_image::read(low, &mut words) {
            return low..top;
        }
        let (words, _) = words.as_chunks::<8>();
        let is_called = |word: &[u8; 8]| usize::from_le_bytes(*word) == called;
        match words.iter().position(is_called) {
            Some(place) => low + place * 8 - REGISTERS.min(place * 8)..top,
            None => low..top,
        }
    }
}

fn look_into(range: Range<usize>, wanted: &mut [Wanted]) {
    const WORDS: usize = 8192;
    const WORD: usize = size_of::<usize>();
    let mut start = range.start.next_multiple_of(WORD);
    let mut copy = Vec::new();
    while start + WORD <= range.end {
        let bytes = (range.end - start).min(WORDS * WORD) & !(WORD - 1);
        copy.resize(bytes, 0);
        if memory_image::read(start, &mut copy) {
            let (words, _) = copy.as_chunks::<WORD>();
            let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
            consider(start, &words, wanted);
        }
        start += bytes;
    }
}

/// Looks at words that lie at this address, or nowhere in particular.
fn consider(start: usize, words: &[u64], wanted: &mut [Wanted]) {
    for (index, word) in words.iter().enumerate() {
        let word = *word as usize;
        if slots::slot_of(word).is_none() {
            continue;
        }
        let Ok(found) = wanted.binary_search_by_key(&word, |one| one.handle) else {
            continue;
        };
        let place = start.wrapping_add(index * size_of::<usize>());
        if place != wanted[found].except && !within_descriptor(place) {
            wanted[found].found += 1;
        }
    }
}

/// Whether an address is in what the C library keeps of a parked thread: its frames, and its descriptor, where the handle points to.
fn within_descriptor(place: usize) -> bool {
    let Some(number) = slots::slot_of(place) else {
        return false;
    };
    let slot = world::borrow().slots.get(number);
    slot.is_some_and(|slot| place >= slot.own || (slot.top..slot.frames_end).contains(&place))
}
