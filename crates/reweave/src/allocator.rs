//! Memory that an execution leaves behind.
//!
//! [`Allocator`] is std's own, plus a note of each block that a thread of a check allocates while a check with
//! [`Builder::leaks`](crate::Builder::leaks) is on. *Called by:* the program, as its global allocator; `rt::target`, which owns a [`Ledger`] for
//! each worker, opens it for each execution and reads the balance at its end. *Owns:* the table of noted blocks, by address.
//!
//! Not noted: what is allocated outside of a check's threads, and what the runtime allocates on a thread of the check while it has its
//! own state in use. A block that is resized stays what it was, so memory from outside that grows inside is nobody's leak. A block may be
//! freed anywhere, at any time.
//!
//! What is allocated once and kept (a lazily made static, a buffer that grew) is left behind by one execution only: the target
//! runs an execution again before it calls it leaking.

use crate::rt;
use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    },
};

/// Std's allocator, which can tell what an execution leaves behind. To be installed in a test binary that asks for
/// [`Builder::leaks`](crate::Builder::leaks):
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: reweave::Allocator = reweave::Allocator;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Allocator;

// SAFETY: all memory is the system allocator's, asked for as the caller asks.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is not of size 0, as the caller promises.
        let block = unsafe { System.alloc(layout) };
        if WATCHING.load(Relaxed) != 0 {
            note(block, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the layout is not of size 0, as the caller promises.
        let block = unsafe { System.alloc_zeroed(layout) };
        if WATCHING.load(Relaxed) != 0 {
            note(block, layout.size());
        }
        block
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if WATCHING.load(Relaxed) != 0 {
            strike(block);
        }
        // SAFETY: the block is the system allocator's, with this layout: all memory of `alloc` is.
        unsafe { System.dealloc(block, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // Before: once it is freed another thread may get the address.
        let owner = match WATCHING.load(Relaxed) {
            0 => None,
            _ => strike(block),
        };
        // SAFETY: the block is the system allocator's, with this layout; the caller promises that `bytes` is not 0 and fits.
        let moved = unsafe { System.realloc(block, layout, bytes) };
        if let Some(owner) = owner {
            match moved.is_null() {
                false => enter(moved, Block { bytes, ..owner }),
                true => enter(block, owner),
            }
        }
        moved
    }
}

/// What one worker's execution has allocated and not freed.
#[derive(Default)]
pub(crate) struct Ledger {
    /// Which execution it is.
    stamp: AtomicU32,
    blocks: AtomicUsize,
    bytes: AtomicUsize,
}

/// Keeps the allocator watching.
pub(crate) struct Watch {
    pub(crate) ledger: Arc<Ledger>,
}

struct Block {
    ledger: Arc<Ledger>,
    stamp: u32,
    bytes: usize,
}

/// How many ledgers are open; without one the allocator is just the system's.
static WATCHING: AtomicUsize = AtomicUsize::new(0);

const SHARDS: usize = 16;

/// Noted blocks, by address.
static BLOCKS: [Mutex<Option<HashMap<usize, Block>>>; SHARDS] =
    [const { Mutex::new(None) }; SHARDS];

thread_local! {
    /// The table is in use by this thread: its own memory is not noted.
    static BUSY: Cell<bool> = const { Cell::new(false) };
    /// Counts the allocations of a thread that tries whether the allocator is installed.
    static TRIED: Cell<usize> = const { Cell::new(0) };
}

impl Watch {
    /// `None`: [`Allocator`] is not the program's global allocator.
    pub(crate) fn new() -> Option<Watch> {
        WATCHING.fetch_add(1, Relaxed);
        let watch = Watch {
            ledger: Arc::default(),
        };
        let before = TRIED.get();
        drop(std::hint::black_box(Box::new(0_u64)));
        (TRIED.get() != before).then_some(watch)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        WATCHING.fetch_sub(1, Relaxed);
    }
}

impl Ledger {
    /// An execution begins.
    pub(crate) fn open(&self, stamp: u32) {
        self.stamp.store(stamp, Relaxed);
        self.blocks.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
    }

    /// Blocks and bytes that it has allocated and not freed.
    pub(crate) fn balance(&self) -> (usize, usize) {
        (self.blocks.load(Relaxed), self.bytes.load(Relaxed))
    }
}

#[cold]
fn note(block: *mut u8, bytes: usize) {
    if block.is_null() || BUSY.get() {
        return;
    }
    TRIED.set(TRIED.get().wrapping_add(1));
    let Some(ledger) = rt::ledger() else { return };
    let stamp = ledger.stamp.load(Relaxed);
    let owner = Block {
        ledger: ledger.clone(),
        stamp,
        bytes,
    };
    enter(block, owner);
}

fn enter(block: *mut u8, owner: Block) {
    let Block {
        ledger,
        stamp,
        bytes,
    } = &owner;
    if *stamp == ledger.stamp.load(Relaxed) {
        ledger.blocks.fetch_add(1, Relaxed);
        ledger.bytes.fetch_add(*bytes, Relaxed);
    }
    in_shard(block, |blocks| blocks.insert(block as usize, owner));
}

#[cold]
fn strike(block: *mut u8) -> Option<Block> {
    if BUSY.get() {
        return None;
    }
    let owner = in_shard(block, |blocks| blocks.remove(&(block as usize)))?;
    if owner.stamp == owner.ledger.stamp.load(Relaxed) {
        owner.ledger.blocks.fetch_sub(1, Relaxed);
        owner.ledger.bytes.fetch_sub(owner.bytes, Relaxed);
    }
    Some(owner)
}

/// Uses the part of the table that an address belongs to. What was there before goes when the table is free again.
fn in_shard<T>(block: *mut u8, f: impl FnOnce(&mut HashMap<usize, Block>) -> T) -> T {
    let shard = &BLOCKS[(block as usize >> 4) % SHARDS];
    BUSY.set(true);
    let result = {
        let mut blocks = shard.lock().unwrap_or_else(PoisonError::into_inner);
        f(blocks.get_or_insert_default())
    };
    BUSY.set(false);
    result
}
