//! The runtime's own memory: never the program's, never restored.

use core::alloc::{GlobalAlloc, Layout};

struct Own;

#[global_allocator]
static OWN: Own = Own;

// SAFETY: stub
unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, _: Layout) -> *mut u8 {
        core::ptr::null_mut()
    }
    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}
