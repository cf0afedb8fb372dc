//! `malloc` and its family, of a driven program from the very first one on.

use crate::{
    core::{
        entry::driven,
        heap::{self, Free},
        restore::PAGE,
        world,
    },
    hooks::{Frame, accesses},
    real, trampoline,
};
use alloc::format;
use core::{
    ffi::{c_int, c_void},
    ptr,
};
use reweave_model::{Kind, Site};

trampoline! {
    malloc => allocate, "rsi";
    calloc => allocate_zeroed, "rdx";
    realloc => reallocate, "rdx";
    reallocarray => reallocate_array, "rcx";
    free => release, "rsi";
    memalign => allocate_aligned, "rdx";
    aligned_alloc => allocate_aligned, "rdx";
    valloc => allocate_pages, "rsi";
    pvalloc => allocate_whole_pages, "rsi";
    posix_memalign => allocate_aligned_into, "rcx";
    malloc_usable_size => usable, "rsi";
    // C++: `new` and `delete` of all kinds, so that a block is known by the line that asked for it.
    _Znwm => new, "rsi";
    _Znam => new, "rsi";
    _ZnwmRKSt9nothrow_t => new_or_null, "rdx";
    _ZnamRKSt9nothrow_t => new_or_null, "rdx";
    _ZnwmSt11align_val_t => new_aligned, "rdx";
    _ZnamSt11align_val_t => new_aligned, "rdx";
    _ZdlPv => release, "rsi";
    _ZdaPv => release, "rsi";
    _ZdlPvm => delete_sized, "rdx";
    _ZdaPvm => delete_sized, "rdx";
    _ZdlPvSt11align_val_t => delete_sized, "rdx";
    _ZdaPvSt11align_val_t => delete_sized, "rdx";
    _ZdlPvmSt11align_val_t => delete_sized_aligned, "rcx";
    _ZdaPvmSt11align_val_t => delete_sized_aligned, "rcx";
}

fn site(frame: &Frame) -> u32 {
    if world::active() {
        world::get().site(frame.return_address).0
    } else {
        1
    }
}

unsafe extern "C" fn allocate(bytes: usize, frame: &Frame) -> *mut c_void {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(malloc: fn(usize) -> *mut c_void)(bytes) };
    }
    heap::allocate(bytes, 16, site(frame))
}

unsafe extern "C" fn allocate_zeroed(count: usize, bytes: usize, frame: &Frame) -> *mut c_void {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(calloc: fn(usize, usize) -> *mut c_void)(count, bytes) };
    }
    let Some(bytes) = count.checked_mul(bytes) else {
        return ptr::null_mut();
    };
    let block = heap::allocate(bytes, 16, site(frame));
    if !block.is_null() {
        // SAFETY: the block is that large.
        unsafe { ptr::write_bytes(block.cast::<u8>(), 0, bytes) };
    }
    block
}

unsafe extern "C" fn reallocate(old: *mut c_void, bytes: usize, frame: &Frame) -> *mut c_void {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(realloc: fn(*mut c_void, usize) -> *mut c_void)(old, bytes) };
    }
    let site = site(frame);
    if old.is_null() {
        return heap::allocate(bytes, 16, site);
    }
    if bytes == 0 {
        // As glibc does.
        give_back(old as usize, site);
        return ptr::null_mut();
    }
    let block = world::heap().block(old as usize);
    let Some(block) = block.filter(|block| block.freed == 0) else {
        give_back(old as usize, site);
        return heap::allocate(bytes, 16, site);
    };
    let new = heap::allocate(bytes, 16, site);
    if !new.is_null() {
        // SAFETY: both are that large, and the new one is nobody else's yet.
        unsafe { ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), bytes.min(block.bytes)) };
        give_back(old as usize, site);
    }
    new
}

unsafe extern "C" fn reallocate_array(
    old: *mut c_void,
    count: usize,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: as the call itself.
        Some(bytes) => unsafe { reallocate(old, bytes, frame) },
        None => {
            crate::core::operations::failed(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn release(block: *mut c_void, frame: &Frame) {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(free: fn(*mut c_void))(block) };
    }
    if block.is_null() {
        return;
    }
    let site = site(frame);
    give_back(block as usize, site);
}

unsafe extern "C" fn allocate_aligned(align: usize, bytes: usize, frame: &Frame) -> *mut c_void {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(memalign: fn(usize, usize) -> *mut c_void)(align, bytes) };
    }
    heap::allocate(bytes, align, site(frame))
}

unsafe extern "C" fn allocate_pages(bytes: usize, frame: &Frame) -> *mut c_void {
    // SAFETY: as the call itself.
    unsafe { allocate_aligned(PAGE, bytes, frame) }
}

unsafe extern "C" fn allocate_whole_pages(bytes: usize, frame: &Frame) -> *mut c_void {
    let whole = bytes.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
    // SAFETY: as the call itself.
    unsafe { allocate_aligned(PAGE, whole, frame) }
}

unsafe extern "C" fn allocate_aligned_into(
    into: *mut *mut c_void,
    align: usize,
    bytes: usize,
    frame: &Frame,
) -> c_int {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe {
            real!(posix_memalign: fn(*mut *mut c_void, usize, usize) -> c_int)(into, align, bytes)
        };
    }
    let block = heap::allocate(bytes, align, site(frame));
    if block.is_null() {
        return libc::ENOMEM;
    }
    accesses::range(into as usize, size_of::<usize>(), true, frame);
    // SAFETY: the program's own variable.
    unsafe { *into = block };
    0
}

unsafe extern "C" fn usable(block: *mut c_void, _: &Frame) -> usize {
    if !driven() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(malloc_usable_size: fn(*mut c_void) -> usize)(block) };
    }
    let block = world::heap().block(block as usize);
    block.map_or(0, |block| block.bytes)
}

/// Gives a block back. Wrong ones are errors of the run.
pub fn give_back(address: usize, site: u32) {
    let freed = world::heap().free(address, site);
    if !world::active() {
        return;
    }
    let world = world::get();
    let site = Site(site);
    match freed {
        Free::Done(block) => world.give_back(block.start, block.bytes, site),
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

/// No block is this large here. Throwing `std::bad_alloc` would be another program.
#[cold]
fn too_large(bytes: usize, frame: &Frame) -> ! {
    if world::active() {
        let world = world::get();
        let site = world.site(frame.return_address);
        world.unsupported("new of a gigabyte or more", site);
    }
    crate::give_up(format_args!(
        "there is no memory for `new` of {bytes} bytes"
    ))
}

unsafe extern "C" fn new(bytes: usize, frame: &Frame) -> *mut c_void {
    // SAFETY: as for C.
    let block = unsafe { allocate(bytes.max(1), frame) };
    if block.is_null() {
        too_large(bytes, frame);
    }
    block
}

unsafe extern "C" fn new_or_null(bytes: usize, _: usize, frame: &Frame) -> *mut c_void {
    // SAFETY: as for C.
    unsafe { allocate(bytes.max(1), frame) }
}

unsafe extern "C" fn new_aligned(bytes: usize, align: usize, frame: &Frame) -> *mut c_void {
    // SAFETY: as for C.
    let block = unsafe { allocate_aligned(align, bytes.max(1), frame) };
    if block.is_null() {
        too_large(bytes, frame);
    }
    block
}

unsafe extern "C" fn delete_sized(block: *mut c_void, _: usize, frame: &Frame) {
    // SAFETY: as for C.
    unsafe { release(block, frame) }
}

unsafe extern "C" fn delete_sized_aligned(block: *mut c_void, _: usize, _: usize, frame: &Frame) {
    // SAFETY: as for C.
    unsafe { release(block, frame) }
}
