//! The runtime's own memory: mapped apart from the program's, never restored.
//!
//! Sizes are rounded up to powers of two, and what is given back goes to a list for its size: a run that does what an earlier one
//! did gets along with what that one left. One OS thread uses it, so there are no locks.

use crate::core::sys;
use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    ptr,
};

const SMALLEST: usize = 16;
const CHUNK: usize = 1 << 20;

struct Lists {
    free: [*mut u8; 48],
    bump: *mut u8,
    left: usize,
}

struct Own(UnsafeCell<Lists>);

// SAFETY: only the one OS thread that runs the program's threads allocates.
unsafe impl Sync for Own {}

#[cfg_attr(not(test), global_allocator)]
static OWN: Own = Own(UnsafeCell::new(Lists {
    free: [ptr::null_mut(); 48],
    bump: ptr::null_mut(),
    left: 0,
}));

fn class(layout: Layout) -> (usize, usize) {
    let size = layout
        .size()
        .max(layout.align())
        .max(SMALLEST)
        .next_power_of_two();
    (size, size.trailing_zeros() as usize)
}

// SAFETY: blocks are as large as asked for, aligned to their size (at least, up to a page, in chunks that begin at pages), and
// disjoint.
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, class) = class(layout);
        // SAFETY: one OS thread at a time allocates (see the module), and nothing between here and the end of
        // the function allocates again.
        let lists = unsafe { &mut *self.0.get() };
        let head = lists.free[class];
        if !head.is_null() {
            // SAFETY: a block on a free list is ours, and its first word is the next block of the list.
            lists.free[class] = unsafe { *head.cast() };
            return head;
        }
        if size >= CHUNK {
            return sys::map_own(size).unwrap_or(ptr::null_mut());
        }
        let gap = lists.bump.align_offset(size.min(4096));
        if lists.left < size + gap {
            let Some(chunk) = sys::map_own(CHUNK) else {
                return ptr::null_mut();
            };
            lists.bump = chunk;
            lists.left = CHUNK;
        }
        let gap = lists.bump.align_offset(size.min(4096));
        // SAFETY: the chunk has at least `size + gap` bytes left, as checked above.
        unsafe {
            let block = lists.bump.add(gap);
            lists.bump = block.add(size);
            lists.left -= size + gap;
            block
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let (_, class) = class(layout);
        // SAFETY: one thread; the block is ours again and large enough for a pointer.
        unsafe {
            let lists = &mut *self.0.get();
            *block.cast() = lists.free[class];
            lists.free[class] = block;
        }
    }
}
