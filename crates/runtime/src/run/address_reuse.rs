//! Addresses that come back: an allocation may return the address of a block that was freed.
//!
//! Usually every block has an address of its own ([`heap`]), and whether a real allocator would return an old one makes no
//! difference. It does where an atomic operation uses the address of a block that was, or might have been, freed before: a
//! compare-exchange takes the new block for the old one (ABA).
//!
//! *When it matters.* An address is *used* by each atomic operation that reads, writes or compares it. A use that does not happen before
//! the free of the block is *stale*. If a run has a stale use, and the block of an allocation that does not happen before that free is
//! used too, the run names all places that allocate used blocks. Happens-before is the same in all orders of one class, so
//! some run of every search in which an address could come back and be mistaken shows it.
//!
//! *What follows.* The search restarts. Allocations at these places and frees of their blocks are operations then: an allocation has a new
//! address or one of the pool, by its outcome. All such blocks have room for the largest, so that any can
//! take the place of any. The runs with new addresses are still there, so that an access of freed memory is seen as one.
//!
//! *Mappings* never return. A run that uses addresses of one that it unmaps, and of another, makes the search incomplete.

use crate::{
    core::modules,
    run::{
        heap::{self, Block},
        hidden_objects::Hidden,
        operations::visible,
        slots,
        world::{self, World},
    },
};
use alloc::vec::Vec;
use core::{ffi::c_void, ops::Range};
use reweave_memory::Kind;
use reweave_model::{Op, Site, ThreadId};
use reweave_wire::{Note, Unit};

/// Where the program's mappings lie.
pub const MAPPED_AT: Range<usize> = 0x3100_0000_0000..0x4000_0000_0000;

/// Larger blocks are never given out twice.
const LARGEST: usize = 1 << 20;

/// What is known of addresses in the run at hand.
#[derive(Default)]
pub struct Addresses {
    /// Places whose allocations are operations, ascending.
    sites: Vec<u32>,
    /// Bytes that each of their blocks has room for.
    room: usize,
    /// Counts allocations and frees.
    moment: u32,
    frees: Vec<Freed>,
    /// Clocks of frees and joins, one after the other.
    clocks: Vec<u32>,
    /// Whether a use of some block is stale.
    stale: bool,
    /// Used addresses in mappings.
    mapped: Vec<usize>,
    unmapped: Vec<Range<usize>>,
}

/// A block was freed.
struct Freed {
    moment: u32,
    /// The clock of its thread.
    clock: KeptClock,
    /// A use of the block does not happen before.
    stale: bool,
    /// Whether an allocation can have the address again.
    returns: bool,
}

/// A clock in the list of clocks: begin and length.
#[derive(Clone, Copy)]
pub struct KeptClock(u32, u32);

/// When a block was allocated.
#[derive(Clone, Copy, Default)]
pub struct Born {
    pub moment: u32,
    pub thread: u32,
    pub epoch: u32,
}

impl Born {
    /// Whether it may be after something that was done at this moment, with this clock: it does not happen before.
    pub fn may_follow(self, moment: u32, clock: &[u32]) -> bool {
        let seen = clock.get(self.thread as usize);
        self.moment > moment || seen.is_none_or(|seen| *seen < self.epoch)
    }
}

impl Addresses {
    pub fn clear(&mut self) {
        self.moment = 0;
        self.stale = false;
        self.frees.clear();
        self.clocks.clear();
        self.mapped.clear();
        self.unmapped.clear();
    }

    /// Keeps a clock until the end of the run.
    pub fn keep(&mut self, clock: &[u32]) -> KeptClock {
        let kept = KeptClock(self.clocks.len() as u32, clock.len() as u32);
        self.clocks.extend_from_slice(clock);
        kept
    }

    pub fn clock(&self, kept: KeptClock) -> &[u32] {
        let KeptClock(begin, length) = kept;
        &self.clocks[begin as usize..][..length as usize]
    }

    /// Whether allocations at this place are operations.
    #[inline]
    fn covers(&self, site: u32) -> bool {
        !self.sites.is_empty() && self.sites.binary_search(&site).is_ok()
    }

    /// Whether allocations can return addresses of freed blocks in this search, or a use of one is stale.
    pub fn may_return(&self) -> bool {
        self.stale || !self.sites.is_empty() || !self.unmapped.is_empty()
    }

    /// Whether addresses of a mapping that was removed were used, and of another one.
    fn remaps(&self) -> bool {
        self.unmapped.iter().any(|range| {
            let mut mapped = self.mapped.iter();
            let within = mapped.clone().any(|address| range.contains(address));
            within && mapped.any(|address| !range.contains(address))
        })
    }

    /// Whether an allocation might be made after the free: it does not happen before.
    fn may_follow(&self, freed: &Freed, born: Born) -> bool {
        born.may_follow(freed.moment, self.clock(freed.clock))
    }
}

/// Takes in what the driver says, once.
pub fn prepare(units: &[Unit]) {
    let named = || units.iter().filter_map(|unit| unit.allocated_at());
    let mut world = world::borrow();
    let addresses = &mut world.addresses;
    addresses.sites = named().map(|(site, _)| site.0).collect();
    addresses.sites.sort_unstable();
    addresses.room = named().map(|(_, bytes)| bytes as usize).max().unwrap_or(0);
}

/// Room and alignment for blocks of this size.
fn room_for(bytes: usize, align: usize) -> usize {
    bytes.max(align).max(16).next_power_of_two()
}

/// When the running thread allocates a block or creates a thread, in a run.
pub fn born() -> Born {
    let mut world = world::borrow();
    let thread = world.current;
    let epoch = world.races.epoch(thread);
    Born {
        moment: world.next_moment(),
        thread: thread.0,
        epoch,
    }
}

/// An allocation at a place where it is an operation; `None`: it is none here.
pub fn allocate(bytes: usize, align: usize, site: u32) -> Option<*mut c_void> {
    let room = {
        let world = world::borrow();
        let addresses = &world.addresses;
        let fits = room_for(bytes, align) <= addresses.room;
        (addresses.covers(site) && fits).then_some(addresses.room)?
    };
    let pool = Hidden::Freed.object();
    let wanted = visible(Op::Allocate(pool), Site(site)).result;
    let taken = wanted != 0 && visible(Op::Reuse(pool, wanted), Site(site)).ok;
    let (address, born) = (wanted as usize, born());
    let again = taken && world::heap().again(address, bytes, site, born);
    if !again {
        return Some(heap::allocate_new((bytes, room), room, site, born));
    }
    let mut world = world::borrow();
    // Nothing that was known of the old block is true of the new one.
    world
        .shadow
        .forget(address - heap::HEADER, heap::HEADER + room);
    world.refresh();
    Some(address as *mut c_void)
}

/// A block is about to be freed: an operation, if allocations may return its address.
pub fn before_free(address: usize, site: u32) {
    if world::borrow().addresses.sites.is_empty() {
        return;
    }
    let block = world::heap().block(address);
    let covered = block.is_some_and(|block| block.freed == 0 && block.room > 0);
    if covered {
        visible(Op::Free(Hidden::Freed.object(), address as u64), Site(site));
    }
}

impl World {
    /// A number that grows.
    pub fn next_moment(&mut self) -> u32 {
        self.addresses.moment += 1;
        self.addresses.moment
    }

    /// The running thread has freed a block.
    pub fn address_freed(&mut self, block: &Block, site: Site) {
        let me = self.current;
        self.shadow.turn(me, self.races.epoch(me));
        let clock = self.races.clock(me);
        let mark = block.start - heap::HEADER;
        let stale = self.shadow.free(clock, mark, 8, site).is_some();
        let clock = self.races.clock(me);
        let addresses = &mut self.addresses;
        addresses.moment += 1;
        addresses.stale |= stale;
        let clock = addresses.keep(clock);
        addresses.frees.push(Freed {
            moment: addresses.moment,
            clock,
            stale,
            returns: block.born.moment > 0,
        });
    }

    /// How many blocks the run has freed.
    pub fn frees(&self) -> usize {
        self.addresses.frees.len()
    }

    /// The running thread's operation, which began in this epoch, reads, writes or compares these words.
    #[inline]
    pub fn use_words(&mut self, words: [u64; 3], epoch: u32, site: Site) {
        for word in words {
            if let Some(address) = heap::address_in(word) {
                self.use_address(address, epoch, site);
            } else if MAPPED_AT.contains(&(word as usize)) {
                self.use_mapping(word as usize);
            } else if let Some(slot) = slots::slot_of(word as usize) {
                self.use_slot(slot, epoch, site);
            }
        }
    }

    /// The running thread is about to use a value of several words.
    pub fn use_parts(&mut self, value: &[u8], site: Site) {
        let epoch = self.races.epoch(self.current);
        for part in value.as_chunks::<8>().0 {
            self.use_words([u64::from_le_bytes(*part), 0, 0], epoch, site);
        }
    }

    #[cold]
    fn use_mapping(&mut self, address: usize) {
        let mapped = &mut self.addresses.mapped;
        if !mapped.contains(&address) {
            mapped.push(address);
        }
    }

    /// The running thread has unmapped memory.
    pub fn unmapped(&mut self, range: Range<usize>) {
        self.addresses.unmapped.push(range);
    }

    #[inline(never)]
    fn use_address(&mut self, address: usize, epoch: u32, site: Site) {
        let Some(block) = world::heap().used(address) else {
            return;
        };
        if block.freed != 0 {
            self.addresses.stale = true;
            let freed = self.addresses.frees.get_mut(block.free as usize);
            if let Some(freed) = freed {
                freed.stale = true;
            }
            return;
        }
        let me: ThreadId = self.current;
        self.shadow.turn(me, epoch);
        let mark = block.start - heap::HEADER;
        let clock = self.races.clock(me);
        self.shadow.access(clock, mark, 8, Kind::AtomicRead, site);
    }
}

/// After a run: names the places whose addresses should have come back.
pub fn conclude() {
    let mut world = world::borrow();
    if world.addresses.remaps() {
        let what = "an address of a mapping that returns after it was unmapped";
        world.note_unsupported(what, Site(1));
    }
    if !world.addresses.stale {
        return;
    }
    let heap = world::heap();
    let used = || heap.all_used().filter(|block| block.born.moment > 0);
    let addresses = &world.addresses;
    let matters =
        |freed: &&Freed| freed.stale && used().any(|block| addresses.may_follow(freed, block.born));
    let mut matter = addresses.frees.iter().filter(matters).peekable();
    if matter.peek().is_none() {
        return;
    }
    let lost = matter.any(|freed| !freed.returns);
    let mut places: Vec<(u32, usize)> = used()
        .filter(|block| !addresses.covers(block.site) || block.room == 0)
        .map(|block| (block.site, room_for(block.bytes, block.align)))
        .collect();
    places.sort_unstable();
    places.dedup();
    drop(heap);
    if lost {
        let what = "an address that returns after it was allocated before main and freed";
        world.note_unsupported(what, Site(1));
    }
    for (site, room) in places {
        let site = Site(site);
        if room > LARGEST {
            world.note_unsupported("an address of a large block that returns", site);
        } else if modules::is_c_library(site) {
            world.note_unsupported("an address that returns from the C library", site);
        } else {
            world.note(Note::Returns(Unit::allocated(site, room as u64)));
        }
    }
}
