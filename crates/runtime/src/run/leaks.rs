//! Memory that is left at the end of a run: a leak when nothing points to it any more.
//!
//! What this run allocated can be pointed to only from memory that was written since `main`: hot pages, live stacks, what library calls
//! keep, what the program has mapped, and blocks that are themselves pointed to. Anything that looks like a pointer to or into a block counts as one.

use crate::{
    core::{families, restore::PAGE},
    run::world::{self, World},
};
use alloc::vec::Vec;
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
    let mut reached = alloc::vec![false; blocks.len()];
    let mut found: Vec<usize> = Vec::new();
    let mut look = |start: usize, end: usize, found: &mut Vec<usize>| {
        let mut address = start.next_multiple_of(8);
        while address + 8 <= end {
            // SAFETY: the callers below pass hot pages, live stacks, mappings and live blocks, all of which
            // are mapped and readable; the word is within the range.
            let word = unsafe { (address as *const usize).read_volatile() };
            address += 8;
            let Some(index) = blocks
                .partition_point(|block| block.start <= word)
                .checked_sub(1)
            else {
                continue;
            };
            let block = &blocks[index];
            if word <= block.start + block.bytes && !reached[index] {
                reached[index] = true;
                found.push(index);
            }
        }
    };
    let snapshot = world::snapshot();
    for (page, _) in snapshot.hot() {
        look(*page, page + PAGE, &mut found);
    }
    for (start, end) in snapshot.parts() {
        look(start, end, &mut found);
    }
    drop(snapshot);
    families::each_mapped_page(&mut |page| {
        let start = page.as_ptr() as usize;
        look(start, start + PAGE, &mut found);
    });
    let mut world = world::borrow();
    for (start, end) in world.live_stacks() {
        look(start, end, &mut found);
    }
    while let Some(index) = found.pop() {
        let block = blocks[index];
        look(block.start, block.start + block.bytes, &mut found);
    }
    let mut sites: Vec<(u32, bool)> = Vec::new();
    for (block, reached) in blocks.iter().zip(&reached) {
        let place = (block.site, *reached);
        if !sites.contains(&place) {
            sites.push(place);
            world.left_behind(block.start, Site(block.site), *reached);
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
