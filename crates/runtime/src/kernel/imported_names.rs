//! Which functions the program's modules name for the loader.

use crate::core::modules;
use core::ffi::{CStr, c_int, c_void};

/// Names to look for, and whether one was found.
struct Search<'a> {
    names: &'a [&'a CStr],
    found: bool,
}

/// Whether a module of the program names one of these functions.
pub(crate) fn names_any(names: &[&CStr]) -> bool {
    let mut search = Search {
        names,
        found: false,
    };
    let data = (&raw mut search).cast::<c_void>();
    // SAFETY: `look` takes what `dl_iterate_phdr` passes, and `data` points to a `Search` that outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(look), data) };
    search.found
}

/// Looks at a module.
///
/// # Safety
///
/// `info` is an entry of a loaded module, as the loader passes it, and `data` points to a [`Search`].
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: promised by the caller: the loader's entry and the search are valid until this function returns, and nothing else
    // uses the search.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search<'_>>()) };
    if modules::is_library(info.dlpi_addr as usize) {
        return 0;
    }
    // SAFETY: the entry is that of a loaded module.
    let strings = unsafe { strings(info) };
    let mut strings = strings.split(|byte| *byte == 0);
    let wanted = |name: &[u8]| search.names.iter().any(|known| known.to_bytes() == name);
    search.found |= strings.any(wanted);
    0
}

/// The names that a loaded module has for the loader.
///
/// # Safety
///
/// `info` is an entry of a module that is loaded and stays so.
unsafe fn strings(info: &libc::dl_phdr_info) -> &[u8] {
    const END: u64 = 0;
    const STRINGS: u64 = 5;
    const STRINGS_BYTES: u64 = 10;
    let base = info.dlpi_addr;
    // SAFETY: the loader's entry has so many headers; the dynamic section that one of them names is mapped and ends with an entry
    // `END`; its string table is mapped and has as many bytes as it says. All of that stays while the module is loaded.
    unsafe {
        let headers = core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
        let mut dynamic = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_DYNAMIC);
        let Some(dynamic) = dynamic.next() else {
            return &[];
        };
        let mut entry = (base + dynamic.p_vaddr) as *const [u64; 2];
        let (mut place, mut bytes) = (0, 0);
        while (*entry)[0] != END {
            match *entry {
                [STRINGS, value] => place = value,
                [STRINGS_BYTES, value] => bytes = value,
                _ => {}
            }
            entry = entry.add(1);
        }
        if place == 0 {
            return &[];
        }
        // The loader makes an address of it where it can.
        let place = if place < base { base + place } else { place };
        core::slice::from_raw_parts(place as *const u8, bytes as usize)
    }
}
