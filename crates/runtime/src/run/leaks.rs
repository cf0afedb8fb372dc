//! Memory that is left at the end of a run: a leak when nothing points to it any more.
//!
//! What this run allocated can be pointed to only from memory that was written since `main`: hot pages, live stacks, what library calls
//! keep, what the program has mapped, and blocks that are themselves pointed to. Anything that looks like a pointer to or into a block counts as one.
//! Pointers lie at multiples of eight, but for those in packed structures: what is not found at these places is looked for at all others.

use crate::{
    core::{families, restore::PAGE},
    run::{
        heap::Block,
        world::{self, World},
    },
};
use alloc::vec::Vec;
use core::ops::Range;
use reweave_model::{Kind, Site};
use reweave_wire::Note;

/// After a run that ended as it should.
pub fn conclude() {
    let mut blocks: Vec<_> = world::heap().left().collect();
    if blocks.is_empty() {
        return;
    }
    world::borrow().peek_all();
    blocks.sort_unstable_by_key(|block| block.start);
    let mut search = Search {
        reached: alloc::vec![false; blocks.len()],
        found: Vec::new(),
        blocks,
    };
    families::each_kept(&mut |kept| search.consider(kept));
    let roots = roots(&mut search);
    for every in [size_of::<usize>(), 1] {
        if search.reached.iter().all(|reached| *reached) {
            break;
        }
        search.look_at_all(&roots, every);
    }
    let mut world = world::borrow();
    let mut sites: Vec<(u32, bool)> = Vec::new();
    for (block, reached) in search.blocks.iter().zip(&search.reached) {
        let place = (block.site, *reached);
        if !sites.contains(&place) {
            sites.push(place);
            world.left_behind(block.start, Site(block.site), *reached);
        }
    }
}

/// Memory in which pointers may lie. What is no memory of the program is considered at once.
fn roots(search: &mut Search) -> Vec<Range<usize>> {
    let mut roots: Vec<Range<usize>> = Vec::new();
    let snapshot = world::snapshot();
    roots.extend(snapshot.hot().iter().map(|(page, _)| *page..page + PAGE));
    roots.extend(snapshot.parts().map(|(start, end)| start..end));
    drop(snapshot);
    let world = world::borrow();
    roots.extend(world.live_stacks().map(|(start, end)| start..end));
    // What a thread returned waits for a join.
    let left = world.threads.iter();
    for thread in left.filter(|thread| !thread.joined && !thread.detached) {
        search.consider(thread.result as usize);
    }
    roots
}

/// A search for blocks that something points to.
struct Search {
    /// By address.
    blocks: Vec<Block>,
    reached: Vec<bool>,
    /// Blocks that were reached and not looked into yet.
    found: Vec<usize>,
}

impl Search {
    /// Something that may be a pointer.
    fn consider(&mut self, word: usize) {
        let after = self.blocks.partition_point(|block| block.start <= word);
        let Some(index) = after.checked_sub(1) else {
            return;
        };
        let block = &self.blocks[index];
        if word <= block.start + block.bytes && !self.reached[index] {
            self.reached[index] = true;
            self.found.push(index);
        }
    }

    /// Looks for pointers at so many bytes from each other.
    fn look(&mut self, memory: Range<usize>, every: usize) {
        let mut address = memory.start.next_multiple_of(every);
        while address + size_of::<usize>() <= memory.end {
            // SAFETY: the callers pass hot pages, live stacks, mappings and live blocks, all of which are mapped and readable; the
            // word is within the range.
            let word = unsafe { (address as *const usize).read_unaligned() };
            self.consider(word);
            address += every;
        }
    }

    /// Looks into these, and into all blocks that are reached.
    fn look_at_all(&mut self, roots: &[Range<usize>], every: usize) {
        self.found = (0..self.blocks.len())
            .filter(|index| self.reached[*index])
            .collect();
        for root in roots {
            self.look(root.clone(), every);
        }
        // Copies of pages: what the program has mapped may not be readable.
        families::each_mapped_page(&mut |page| {
            let start = page.as_ptr() as usize;
            self.look(start..start + PAGE, every);
        });
        while let Some(index) = self.found.pop() {
            let block = self.blocks[index];
            self.look(block.start..block.start + block.bytes, every);
        }
    }
}

impl World {
    fn live_stacks(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let end = crate::run::process_end::ending();
        self.threads
            .iter()
            .enumerate()
            .filter_map(move |(index, thread)| {
                match end.filter(|(who, _)| who.index() == index) {
                    // Below its call of `exit` lies what is left of calls that have returned.
                    Some((_, frame)) => Some((frame?, thread.top)),
                    None => (!thread.finished).then(|| (thread.saved(), thread.top)),
                }
            })
    }

    fn left_behind(&mut self, address: usize, site: Site, reached: bool) {
        if !reached {
            let message = "{0} is never freed, and nothing points to it at the end".into();
            self.error_about(Kind::Memory, Some("leak"), message, &[site], address);
        } else if self.is_program(site) {
            self.notes.push(Note::Warning {
                rule: "leak".into(),
                site,
                address: address as u64,
            });
        }
    }
}
