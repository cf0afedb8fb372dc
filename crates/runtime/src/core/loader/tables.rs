//! What is in a library, by its own tables.

use crate::core::{
    loader::{Locals, Map},
    restore::PAGE,
};
use alloc::vec::Vec;
use core::{
    ffi::{CStr, c_char},
    ops::Range,
};

pub const NEEDED: usize = 1;
pub const FUNCTIONS_BYTES: usize = 2;
pub const STRINGS: usize = 5;
pub const SYMBOLS: usize = 6;
pub const NAMED: usize = 7;
pub const NAMED_BYTES: usize = 8;
pub const INIT: usize = 12;
pub const FINI: usize = 13;
pub const SONAME: usize = 14;
pub const FUNCTIONS: usize = 23;
pub const INIT_ARRAY: usize = 25;
pub const FINI_ARRAY: usize = 26;
pub const INIT_ARRAY_BYTES: usize = 27;
pub const FINI_ARRAY_BYTES: usize = 28;
pub const GNU_HASH: usize = 0x6fff_fef5;
pub const VERSIONS: usize = 0x6fff_fff0;

/// The entries of a library's dynamic section.
///
/// # Safety
/// The loader has mapped it.
pub unsafe fn entries(map: *const Map) -> impl Iterator<Item = *mut [usize; 2]> {
    // SAFETY: the caller passes a loaded library, whose dynamic section ends with an entry of tag 0.
    unsafe {
        let first = (*map).dynamic;
        core::iter::successors(Some(first), |entry| Some(entry.add(1)))
            .take_while(|entry| (**entry)[0] != 0)
    }
}

pub const EXECUTABLE: u32 = 1;
pub const WRITABLE: u32 = 2;
pub const READABLE: u32 = 4;

/// Where the parts of a library are that have some access.
///
/// # Safety
/// It was mapped there, its own header first.
pub unsafe fn segments(start: usize, access: u32) -> Vec<Range<usize>> {
    let loaded =
        |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD && header.p_flags & access != 0;
    let range = |header: &libc::Elf64_Phdr| {
        let first = start + header.p_vaddr as usize;
        let end = first + header.p_memsz as usize;
        first & !(PAGE - 1)..end.next_multiple_of(PAGE)
    };
    // SAFETY: the caller passes where a loaded module begins, with its ELF header.
    let headers = unsafe { headers(start) };
    headers.iter().filter(loaded).map(range).collect()
}

/// # Safety
/// As [`segments`].
pub unsafe fn locals(start: usize) -> Option<Locals> {
    // SAFETY: the caller passes where a loaded module begins, with its ELF header.
    let mut headers = unsafe { headers(start) }.iter();
    let locals = headers.find(|header| header.p_type == libc::PT_TLS)?;
    Some(Locals {
        image: start + locals.p_vaddr as usize,
        set: locals.p_filesz as usize,
        bytes: locals.p_memsz as usize,
    })
}

/// # Safety
/// As [`segments`].
pub unsafe fn headers(start: usize) -> &'static [libc::Elf64_Phdr] {
    // SAFETY: the caller passes where a loaded module begins, with its ELF header.
    unsafe {
        let header = &*(start as *const libc::Elf64_Ehdr);
        let first = (start + header.e_phoff as usize) as *const libc::Elf64_Phdr;
        core::slice::from_raw_parts(first, header.e_phnum.into())
    }
}

/// What the names in a library stand for.
pub fn references(map: *const Map) -> Vec<usize> {
    const ADDRESS: usize = 1;
    const VARIABLE: usize = 6;
    const FUNCTION: usize = 7;
    let mut found = Vec::new();
    // SAFETY: a library that stays; the loader has made places of its tables addresses, and has filled in what they tell of.
    unsafe {
        let start = (*map).start;
        let value = |tag| entries(map).find(|entry| (**entry)[0] == tag);
        for (table, bytes) in [(NAMED, NAMED_BYTES), (FUNCTIONS, FUNCTIONS_BYTES)] {
            let (Some(table), Some(bytes)) = (value(table), value(bytes)) else {
                continue;
            };
            let table = (*table)[1] as *const [usize; 3];
            for [offset, about, _] in core::slice::from_raw_parts(table, (*bytes)[1] / 24) {
                let named = about >> 32 != 0;
                if named && matches!(about & 0xffff_ffff, ADDRESS | VARIABLE | FUNCTION) {
                    found.push(((start + offset) as *const usize).read_unaligned());
                }
            }
        }
    }
    found
}

/// Texts that a library's dynamic section has under some tag.
pub fn texts(map: *const Map, tag: usize) -> Vec<&'static CStr> {
    // SAFETY: a library that stays; the loader has made the place of its strings an address.
    unsafe {
        let value =
            |wanted| move |entry: *mut [usize; 2]| ((*entry)[0] == wanted).then_some((*entry)[1]);
        let Some(strings) = entries(map).find_map(value(STRINGS)) else {
            return Vec::new();
        };
        let places = entries(map).filter_map(value(tag));
        let texts = places.map(|place| CStr::from_ptr((strings + place) as *const c_char));
        texts.collect()
    }
}
