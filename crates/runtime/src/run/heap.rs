//! The program's allocator.
//!
//! Each thread of the program allocates in an arena of its own, by slot, from the beginning of it on: an address is a function of
//! the thread's path and of how much it has allocated before, never of the order of the run. Nothing is given out twice within a run, so
//! an access to freed memory is always seen as one; the exception is in [`address_reuse`]. What is allocated outside of runs (before `main`, by libc for parked threads) lies in an arena that is
//! part of what every run begins with.

use crate::{
    core::{cell::RunValue, channel, sys},
    run::{
        address_reuse::{self, Born},
        slots, world,
    },
};
use alloc::{format, vec::Vec};
use core::{ffi::c_void, ops::Range, ptr, sync::atomic::Ordering};
use reweave_model::{Kind, Site};

const HEAPS_AT: usize = 0x2000_0000_0000;
const STRIDE: usize = 1 << 30;
/// All arenas lie in so many bytes.
const SPAN: usize = (SYSTEM + 1) * STRIDE;
/// The arena of what is allocated outside of runs.
const SYSTEM: usize = slots::MOST;
/// Mapped at a time.
const PIECE: usize = 1 << 20;
/// Stands before every block.
pub const HEADER: usize = 16;
const MAGIC: u32 = 0x7277_6d65;
/// What new memory holds: nothing that a program can take for its own, and the same in every run.
const FRESH: u8 = 0xa5;
/// Larger blocks come as zeroed pages.
const LARGE: usize = 128 << 10;
/// An arena of which a run has used more gives its pages back.
const MUCH: usize = 32 << 20;

/// Bytes that a thread can have by the program's own word.
pub static LIMIT: RunValue<usize> = RunValue::new(usize::MAX);

/// Bytes that a thread can have, of each kind. Not those of all threads together: whether there is memory left would depend on what others
/// did.
pub fn most() -> usize {
    match channel::header().max_memory.load(Ordering::Relaxed) as usize {
        0 => usize::MAX,
        most => most,
    }
}

#[derive(Clone, Copy)]
pub struct Block {
    pub start: usize,
    pub bytes: usize,
    /// Where it was allocated, as a site.
    pub site: u32,
    /// Where it was freed; 0: it was not.
    pub freed: u32,
    /// The how-many-th free of the run that was.
    pub free: u32,
    /// When it was allocated; outside of runs, never.
    pub born: Born,
    /// Bytes that any block at its address can have, if another can take its place; 0: none can.
    pub room: usize,
    pub align: usize,
    /// An atomic operation had to do with its address.
    pub used: bool,
}

/// The address in the heap that a word of the program may stand for, also with a tag above or below.
#[inline]
pub fn address_in(word: u64) -> Option<usize> {
    const ABOVE: u64 = !(u64::MAX << 48);
    let within = |address: u64| address.wrapping_sub(HEAPS_AT as u64) < (SPAN as u64);
    let plain = word & ABOVE;
    if within(plain) {
        return Some(plain as usize);
    }
    within(word >> 16).then_some((word >> 16) as usize)
}

/// The part of an arena that is in use.
pub struct Used<'a> {
    pub memory: Range<usize>,
    pub blocks: &'a [Block],
}

#[derive(Clone)]
struct Arena {
    used: usize,
    mapped: usize,
    blocks: Vec<Block>,
    large: bool,
}

#[derive(Clone)]
pub struct Heap {
    arenas: Vec<Arena>,
    /// Blocks of the system's arena that were freed in this run.
    freed: Vec<usize>,
}

pub enum Free {
    Done(Block),
    Twice(Block),
    Unknown,
}

impl Heap {
    pub const fn new() -> Heap {
        Heap {
            arenas: Vec::new(),
            freed: Vec::new(),
        }
    }

    fn arena(&mut self, number: usize) -> &mut Arena {
        while self.arenas.len() <= number {
            self.arenas.push(Arena {
                used: 0,
                mapped: 0,
                blocks: Vec::new(),
                large: false,
            });
        }
        &mut self.arenas[number]
    }

    fn index(number: usize) -> usize {
        // The system's arena is the first in the table, so that the table is short.
        if number == SYSTEM { 0 } else { number + 1 }
    }

    /// A new block of so many bytes, with room for so many.
    pub fn allocate(
        &mut self,
        number: usize,
        (bytes, room): (usize, usize),
        align: usize,
        site: u32,
        born: Born,
    ) -> *mut u8 {
        let base = HEAPS_AT + number * STRIDE;
        let arena = self.arena(Heap::index(number));
        let align = align.max(16);
        let start = (base + arena.used + HEADER).next_multiple_of(align);
        let Some(end) = start.checked_add(bytes.max(room).max(1)) else {
            return ptr::null_mut();
        };
        let used = (end - base).next_multiple_of(16);
        if used > STRIDE || number != SYSTEM && used > LIMIT.get().min(most()) {
            return ptr::null_mut();
        }
        if used > arena.mapped {
            let more = (used - arena.mapped).next_multiple_of(PIECE);
            if sys::map(base + arena.mapped, more.min(STRIDE - arena.mapped)).is_none() {
                return ptr::null_mut();
            }
            arena.mapped += more;
        }
        arena.used = used;
        let index = arena.blocks.len() as u32;
        arena.blocks.push(Block {
            start,
            bytes,
            site,
            freed: 0,
            free: 0,
            born,
            room,
            align,
            used: false,
        });
        // SAFETY: `HEADER` bytes before the block and the block itself lie below `arena.used`, all of which
        // is mapped for this heap alone.
        unsafe {
            let header = (start - HEADER) as *mut u32;
            header.write(index);
            header.add(1).write(MAGIC);
            if bytes < LARGE {
                ptr::write_bytes(start as *mut u8, FRESH, bytes);
            } else {
                arena.large = true;
            }
        }
        start as *mut u8
    }

    /// A block takes the place of the freed one at this address; whether it can.
    pub fn again(&mut self, address: usize, bytes: usize, site: u32, born: Born) -> bool {
        let Some((number, index)) = self.find(address) else {
            return false;
        };
        let block = &mut self.arenas[Heap::index(number)].blocks[index];
        if block.freed == 0 || bytes > block.room {
            return false;
        }
        (block.bytes, block.site, block.born) = (bytes, site, born);
        (block.freed, block.used) = (0, false);
        // SAFETY: the freed block has room for `bytes` bytes, and the program has no other block there.
        unsafe { ptr::write_bytes(address as *mut u8, FRESH, bytes) };
        true
    }

    /// An atomic operation has to do with an address: the block that it is in.
    pub fn used(&mut self, address: usize) -> Option<Block> {
        let (number, index, _) = self.around(address)?;
        let block = &mut self.arenas[Heap::index(number)].blocks[index];
        block.used = true;
        Some(*block)
    }

    /// All blocks whose addresses were used.
    pub fn all_used(&self) -> impl Iterator<Item = &Block> + '_ {
        let all = self.arenas.iter().flat_map(|arena| arena.blocks.iter());
        all.filter(|block| block.used)
    }

    fn find(&mut self, address: usize) -> Option<(usize, usize)> {
        let number = address.checked_sub(HEAPS_AT)? / STRIDE;
        let base = HEAPS_AT + number * STRIDE;
        let arena = self.arenas.get(Heap::index(number))?;
        if number > SYSTEM || address < base + HEADER || address >= base + arena.used {
            return None;
        }
        // SAFETY: `HEADER` bytes before the block and the block itself lie below `arena.used`, all of which
        // is mapped for this heap alone.
        let (index, magic) = unsafe {
            let header = (address - HEADER) as *const u32;
            (header.read_unaligned(), header.add(1).read_unaligned())
        };
        let block = arena.blocks.get(index as usize)?;
        (magic == MAGIC && block.start == address).then_some((number, index as usize))
    }

    /// The block that begins at this address.
    pub fn block(&mut self, address: usize) -> Option<Block> {
        let (number, index) = self.find(address)?;
        Some(self.arenas[Heap::index(number)].blocks[index])
    }

    /// The block that this address is in: whose arena, the how-many-th there.
    pub fn around(&self, address: usize) -> Option<(usize, usize, Block)> {
        let number = address.checked_sub(HEAPS_AT)? / STRIDE;
        let arena = self.arenas.get(Heap::index(number))?;
        if number > SYSTEM {
            return None;
        }
        let after = arena.blocks.partition_point(|block| block.start <= address);
        let index = after.checked_sub(1)?;
        let block = arena.blocks[index];
        (address < block.start + block.bytes.max(1)).then_some((number, index, block))
    }

    /// Frees a block, which is the how-many-th of the run.
    pub fn free(&mut self, address: usize, nth: usize, site: u32) -> Free {
        let Some((number, index)) = self.find(address) else {
            return Free::Unknown;
        };
        // What was freed outside of runs is so in all of them.
        if number == SYSTEM && world::active() {
            self.freed.push(index);
        }
        let block = &mut self.arenas[Heap::index(number)].blocks[index];
        if block.freed != 0 {
            return Free::Twice(*block);
        }
        block.freed = site.max(1);
        block.free = nth as u32;
        Free::Done(*block)
    }

    /// Whether a thread has given most of what it had back: not that it has too much is why there is no more then, but that nothing is given
    /// out twice.
    fn mostly_freed(&self, number: usize) -> bool {
        let Some(arena) = self.arenas.get(Heap::index(number)) else {
            return false;
        };
        let left = arena.blocks.iter().filter(|block| block.freed == 0);
        number != SYSTEM && left.map(|block| block.bytes).sum::<usize>() < arena.used / 2
    }

    /// All that this run has freed.
    pub fn freed(&self) -> impl Iterator<Item = Block> + '_ {
        let all = self.arenas.iter().flat_map(|arena| arena.blocks.iter());
        all.filter(|block| block.freed != 0).copied()
    }

    /// All that this run has allocated and not freed.
    pub fn left(&self) -> impl Iterator<Item = Block> + '_ {
        let own = self.arenas.iter().skip(1);
        own.flat_map(|arena| arena.blocks.iter())
            .filter(|block| block.freed == 0)
            .copied()
    }

    /// Before a run: everything of the one before is gone.
    pub fn reset(&mut self) {
        for (index, arena) in self.arenas.iter_mut().enumerate().skip(1) {
            if arena.large || arena.used > MUCH {
                // SAFETY: the run that used the arena is over: no thread of the program goes on, and its
                // blocks are forgotten below.
                unsafe { sys::discard(HEAPS_AT + (index - 1) * STRIDE, arena.mapped) };
                arena.large = false;
            }
            arena.used = 0;
            arena.blocks.clear();
        }
        for index in self.freed.drain(..) {
            self.arenas[0].blocks[index].freed = 0;
            self.arenas[0].blocks[index].used = false;
        }
    }

    /// What the threads of the run at hand have in use.
    pub fn in_use(&self) -> impl Iterator<Item = Used<'_>> + '_ {
        let own = self.arenas.iter().enumerate().skip(1);
        own.filter(|(_, arena)| arena.used > 0)
            .map(|(index, arena)| {
                let start = HEAPS_AT + (index - 1) * STRIDE;
                Used {
                    memory: start..start + arena.used,
                    blocks: &arena.blocks,
                }
            })
    }

    /// Blocks of the system's arena that were freed in this run.
    pub fn freed_before(&self) -> &[usize] {
        &self.freed
    }

    /// What lies in the system's arena.
    pub fn system(&self) -> (usize, usize) {
        let used = self.arenas.first().map_or(0, |arena| arena.used);
        let base = HEAPS_AT + SYSTEM * STRIDE;
        (base, base + used.next_multiple_of(4096))
    }

    /// What is allocated there from now on lies on pages of its own.
    pub fn close_page(&mut self) {
        if let Some(arena) = self.arenas.first_mut() {
            arena.used = arena.used.next_multiple_of(4096);
        }
    }
}

/// Whose arena the running code allocates in.
fn arena() -> usize {
    if world::active() {
        world::borrow().slot()
    } else {
        SYSTEM
    }
}

pub fn allocate(bytes: usize, align: usize, site: u32) -> *mut c_void {
    if !world::active() {
        return allocate_new((bytes, 0), align, site, Born::default());
    }
    let block = match address_reuse::allocate(bytes, align, site) {
        Some(block) => block,
        None => allocate_new((bytes, 0), align, site, address_reuse::born()),
    };
    if !block.is_null() && arena() != SYSTEM {
        world::borrow().me().spin.allocated(bytes);
    }
    block
}

/// A block at a new address.
pub fn allocate_new(sizes: (usize, usize), align: usize, site: u32, born: Born) -> *mut c_void {
    let number = arena();
    let block = world::heap().allocate(number, sizes, align, site, born);
    if block.is_null() {
        let mostly_freed = world::heap().mostly_freed(number);
        if mostly_freed {
            let what = "a thread that allocates more than it may have, though most of it was freed";
            world::unsupported(what, Site(site));
        }
        // SAFETY: libc returns the address of the running thread's own `errno`.
        unsafe { *libc::__errno_location() = libc::ENOMEM };
    }
    block.cast()
}

/// Frees a block for the program, as `free` does. Wrong ones are errors of the run.
pub fn release(address: usize, site: u32) {
    if !world::active() {
        world::heap().free(address, 0, site);
        return;
    }
    address_reuse::before_free(address, site);
    let nth = world::borrow().frees();
    let freed = world::heap().free(address, nth, site);
    let mut world = world::borrow();
    let site = Site(site);
    match freed {
        Free::Done(block) => {
            world.me().spin.freed(block.bytes);
            world.address_freed(&block, site);
            world.give_back(block.start, block.bytes, site);
        }
        Free::Twice(block) => {
            let message = "{0} is freed a second time".into();
            let sites = [Site(block.freed), site];
            world.error_about(Kind::Memory, Some("double-free"), message, &sites, address);
        }
        Free::Unknown => {
            let message = format!("{address:#x} is freed, and was never allocated");
            world.error(Kind::Memory, Some("double-free"), message, &[site]);
        }
    }
}
