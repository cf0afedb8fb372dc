//! `malloc` and its relatives, and C++'s `new` and `delete`. In a driven program all blocks, the first ones included, come from the
//! runtime's heap for the program ([`heap`]).

use crate::{
    core::{modules, program_start::driven, restore::PAGE, trampoline::Frame},
    real,
    run::{accesses, heap, operations::failed, world},
    trampoline,
};
use core::{
    ffi::{c_int, c_void},
    ptr,
};

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
    match world::active() {
        true => modules::site(frame.return_address).0,
        false => 1,
    }
}

/// Returns what libc's own function returns, unless the program is driven.
macro_rules! undriven {
    ($name:ident : fn($($argument:ident : $type:ty),*) $(-> $result:ty)?) => {
        if !driven() {
            // SAFETY: the caller promises of these arguments what the function of this name demands, and libc's own gets them.
            return unsafe { real!($name: fn($($type),*) $(-> $result)?)($($argument),*) };
        }
    };
}

extern "C" fn allocate(bytes: usize, frame: &Frame) -> *mut c_void {
    undriven!(malloc: fn(bytes: usize) -> *mut c_void);
    heap::allocate(bytes, 16, site(frame))
}

extern "C" fn allocate_zeroed(count: usize, bytes: usize, frame: &Frame) -> *mut c_void {
    undriven!(calloc: fn(count: usize, bytes: usize) -> *mut c_void);
    let Some(bytes) = count.checked_mul(bytes) else {
        return ptr::null_mut();
    };
    let block = heap::allocate(bytes, 16, site(frame));
    if !block.is_null() {
        // SAFETY: the block was just allocated with `bytes` bytes, and no other code knows it.
        unsafe { ptr::write_bytes(block.cast::<u8>(), 0, bytes) };
    }
    block
}

/// # Safety
///
/// As `realloc`: `old` is null or a block that the caller does not use any more. Others are reported.
unsafe extern "C" fn reallocate(old: *mut c_void, bytes: usize, frame: &Frame) -> *mut c_void {
    undriven!(realloc: fn(old: *mut c_void, bytes: usize) -> *mut c_void);
    let site = site(frame);
    if old.is_null() {
        return heap::allocate(bytes, 16, site);
    }
    if bytes == 0 {
        // As glibc does.
        heap::release(old as usize, site);
        return ptr::null_mut();
    }
    let block = world::heap().block(old as usize);
    let Some(block) = block.filter(|block| block.freed == 0) else {
        heap::release(old as usize, site);
        return heap::allocate(bytes, 16, site);
    };
    let new = heap::allocate(bytes, 16, site);
    if !new.is_null() {
        // SAFETY: `old` is a live block of `block.bytes` bytes, `new` one of `bytes` bytes that no other code knows, so they do
        // not overlap.
        unsafe { ptr::copy_nonoverlapping(old.cast::<u8>(), new.cast(), bytes.min(block.bytes)) };
        heap::release(old as usize, site);
    }
    new
}

/// # Safety
///
/// As `reallocarray`: `old` is null or a block that the caller does not use any more. Others are reported.
unsafe extern "C" fn reallocate_array(
    old: *mut c_void,
    count: usize,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    match count.checked_mul(bytes) {
        // SAFETY: this function has the same contract.
        Some(bytes) => unsafe { reallocate(old, bytes, frame) },
        None => {
            failed(libc::ENOMEM);
            ptr::null_mut()
        }
    }
}

/// # Safety
///
/// As `free`: `block` is null or a block that the caller does not use any more. Others are reported.
unsafe extern "C" fn release(block: *mut c_void, frame: &Frame) {
    undriven!(free: fn(block: *mut c_void));
    if block.is_null() {
        return;
    }
    let site = site(frame);
    heap::release(block as usize, site);
}

/// # Safety
///
/// As `memalign`: `align` is a power of two.
unsafe extern "C" fn allocate_aligned(align: usize, bytes: usize, frame: &Frame) -> *mut c_void {
    undriven!(memalign: fn(align: usize, bytes: usize) -> *mut c_void);
    heap::allocate(bytes, align, site(frame))
}

extern "C" fn allocate_pages(bytes: usize, frame: &Frame) -> *mut c_void {
    // SAFETY: the size of a page is a power of two.
    unsafe { allocate_aligned(PAGE, bytes, frame) }
}

extern "C" fn allocate_whole_pages(bytes: usize, frame: &Frame) -> *mut c_void {
    let whole = bytes.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
    // SAFETY: the size of a page is a power of two.
    unsafe { allocate_aligned(PAGE, whole, frame) }
}

/// # Safety
///
/// As `posix_memalign`: `into` points to room for a pointer, `align` is a power of two.
unsafe extern "C" fn allocate_aligned_into(
    into: *mut *mut c_void,
    align: usize,
    bytes: usize,
    frame: &Frame,
) -> c_int {
    undriven!(posix_memalign: fn(into: *mut *mut c_void, align: usize, bytes: usize) -> c_int);
    let block = heap::allocate(bytes, align, site(frame));
    if block.is_null() {
        return libc::ENOMEM;
    }
    accesses::range(into as usize, size_of::<usize>(), true, frame);
    // SAFETY: `into` points to room for a pointer, by this function's contract.
    unsafe { *into = block };
    0
}

/// # Safety
///
/// As `malloc_usable_size`: `block` is null or a block.
unsafe extern "C" fn usable(block: *mut c_void, _: &Frame) -> usize {
    undriven!(malloc_usable_size: fn(block: *mut c_void) -> usize);
    let block = world::heap().block(block as usize);
    block.map_or(0, |block| block.bytes)
}

/// There are no blocks of this size. `std::bad_alloc` is not thrown: on a machine with more memory the program would not see it.
#[cold]
fn too_large(bytes: usize, frame: &Frame) -> ! {
    if world::active() {
        let site = modules::site(frame.return_address);
        world::unsupported("new of a gigabyte or more", site);
    }
    crate::give_up(format_args!(
        "there is no memory for `new` of {bytes} bytes"
    ))
}

extern "C" fn new(bytes: usize, frame: &Frame) -> *mut c_void {
    let block = allocate(bytes.max(1), frame);
    if block.is_null() {
        too_large(bytes, frame);
    }
    block
}

extern "C" fn new_or_null(bytes: usize, _: usize, frame: &Frame) -> *mut c_void {
    allocate(bytes.max(1), frame)
}

/// # Safety
///
/// As `operator new`: `align` is a power of two.
unsafe extern "C" fn new_aligned(bytes: usize, align: usize, frame: &Frame) -> *mut c_void {
    // SAFETY: this function has the same contract.
    let block = unsafe { allocate_aligned(align, bytes.max(1), frame) };
    if block.is_null() {
        too_large(bytes, frame);
    }
    block
}

/// # Safety
///
/// As `operator delete`: `block` is null or a block that the caller does not use any more. Others are reported.
unsafe extern "C" fn delete_sized(block: *mut c_void, _: usize, frame: &Frame) {
    // SAFETY: this function has the same contract.
    unsafe { release(block, frame) }
}

/// # Safety
///
/// As `operator delete`: `block` is null or a block that the caller does not use any more. Others are reported.
unsafe extern "C" fn delete_sized_aligned(block: *mut c_void, _: usize, _: usize, frame: &Frame) {
    // SAFETY: this function has the same contract.
    unsafe { release(block, frame) }
}
