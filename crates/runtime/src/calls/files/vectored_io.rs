//! Reading and writing by descriptor, into and from several blocks of memory: see [`crate::calls::files::read_write`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        open_description::{Place, read, write},
        program_memory::ProgramMemory,
    },
    real, trampoline,
};
use core::ffi::c_int;

trampoline! {
    readv => read_blocks, "rcx";
    writev => write_blocks, "rcx";
    preadv => read_blocks_at, "r8";
    preadv64 => read_blocks_at, "r8";
    pwritev => write_blocks_at, "r8";
    pwritev64 => write_blocks_at, "r8";
    preadv2 => read_blocks_with, "r9";
    preadv64v2 => read_blocks_with, "r9";
    pwritev2 => write_blocks_with, "r9";
    pwritev64v2 => write_blocks_with, "r9";
}

/// Where a call begins that may have an offset.
fn place(offset: i64) -> Place {
    match offset {
        -1 => Place::Offset,
        offset => Place::At(offset),
    }
}

/// Defines calls that read or write blocks: with which function of the C library, from where on, with which further arguments.
macro_rules! by_blocks {
    ($($name:ident => $transfer:ident, $real:ident, $call:literal, $place:expr $(, $argument:ident: $type:ty)*;)*) => {$(
        #[doc = concat!("`", $call, "`.")]
        ///
        /// # Safety
        ///
        /// As POSIX demands of the caller: `list` points to `count` blocks, which are there.
        unsafe extern "C" fn $name(
            descriptor: c_int,
            list: *const libc::iovec,
            count: c_int,
            $($argument: $type,)*
            frame: &Frame,
        ) -> isize {
            let place: fn($($type),*) -> Place = $place;
            let place = place($($argument),*);
            // SAFETY: the list has so many entries, as the caller promises, and stays until the call returns.
            let memory = unsafe { ProgramMemory::blocks(list, count) };
            $transfer(descriptor, ($call, place), &memory, frame, |descriptor| {
                let real = real!($real: fn(c_int, *const libc::iovec, c_int $(, $type)*) -> isize);
                // SAFETY: the list is as the caller promises; a descriptor that is not open is an error of the call.
                unsafe { real(descriptor, list, count $(, $argument)*) }
            })
        }
    )*};
}

by_blocks! {
    read_blocks => read, readv, "readv", || Place::Offset;
    write_blocks => write, writev, "writev", || Place::Offset;
    read_blocks_at => read, preadv64, "preadv", Place::At, offset: i64;
    write_blocks_at => write, pwritev64, "pwritev", Place::At, offset: i64;
    read_blocks_with => read, preadv64v2, "preadv2", |offset, _| place(offset), offset: i64, flags: c_int;
    write_blocks_with => write, pwritev64v2, "pwritev2", |offset, _| place(offset), offset: i64, flags: c_int;
}
