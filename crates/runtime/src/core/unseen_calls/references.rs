//! The references of loaded modules to functions of other modules, and how they are exchanged.

use crate::core::{modules, restore::PAGE, sys};
use alloc::vec::Vec;
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ops::Range,
};

/// Tags of a dynamic section.
const STRINGS: u64 = 5;
const SYMBOLS: u64 = 6;
const NAMED: u64 = 7;
const NAMED_BYTES: u64 = 8;
const STRINGS_BYTES: u64 = 10;
const FUNCTIONS_BYTES: u64 = 2;
const FUNCTIONS: u64 = 23;

/// Kinds of references to a name: an address in the data, one in the table of variables, one in the table of functions.
const ADDRESS: u64 = 1;
const VARIABLE: u64 = 6;
const FUNCTION: u64 = 7;

/// A module that is loaded.
pub(super) struct Loaded {
    bias: usize,
    headers: &'static [libc::Elf64_Phdr],
    /// It belongs to the C library and the like, or to the runtime.
    pub(super) is_system: bool,
    /// The runtime itself rests on it.
    is_base: bool,
}

/// Libraries that the runtime itself calls or that are part of it, by how the names of their files begin.
const BASE: [&[u8]; 9] = [
    b"libc.",
    b"libm.",
    b"ld-linux",
    b"libgcc_s.",
    b"libpthread.",
    b"libgomp.",
    b"libatomic.",
    b"libreweave_runtime.",
    b"linux-vdso.",
];

/// A reference to a function.
pub(super) struct Reference {
    /// Where the function's address stands.
    pub(super) place: usize,
    pub(super) name: &'static CStr,
    /// Zero for the function itself.
    addend: usize,
}

/// All modules that are loaded now.
pub(super) fn loaded() -> Vec<Loaded> {
    /// # Safety
    ///
    /// `info` is a valid entry, and `into` points to a live list of modules.
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, into: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry, whose headers stay while the module is loaded, and the pointer it was given below: a
        // live list that nothing else uses meanwhile.
        unsafe {
            let info = &*info;
            let name = CStr::from_ptr(info.dlpi_name).to_bytes();
            let file = name.rsplit(|byte| *byte == b'/').next().unwrap_or(name);
            (*into.cast::<Vec<Loaded>>()).push(Loaded {
                bias: info.dlpi_addr as usize,
                headers: core::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()),
                is_system: modules::is_system_library(name),
                is_base: BASE.iter().any(|base| file.starts_with(base)),
            });
        }
        0
    }
    let mut all: Vec<Loaded> = Vec::new();
    // SAFETY: `add` has the signature that `dl_iterate_phdr` calls, and `all` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut all).cast()) };
    all
}

impl Loaded {
    fn ranges(&self, kind: u32, access: u32) -> impl Iterator<Item = Range<usize>> + '_ {
        let fits = move |header: &&libc::Elf64_Phdr| {
            header.p_type == kind && header.p_flags & access == access
        };
        self.headers.iter().filter(fits).map(|header| {
            let start = self.bias + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        })
    }

    /// Whether code of it was compiled with hooks.
    pub(super) fn is_hooked(&self) -> bool {
        !self.is_system && self.names_any(|name| name.starts_with(b"__tsan_"))
    }

    /// Whether it has no hooks, and the runtime does not rest on it.
    pub(super) fn is_foreign(&self) -> bool {
        !self.is_base && !self.is_hooked()
    }

    /// Where its code lies.
    pub(super) fn code(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.ranges(libc::PT_LOAD, libc::PF_X)
    }

    /// What its dynamic section has under a tag.
    fn value(&self, tag: u64) -> Option<usize> {
        let dynamic = self.ranges(libc::PT_DYNAMIC, 0).next()?;
        let entries = (dynamic.end - dynamic.start) / 16;
        // SAFETY: the dynamic section of a loaded module, with as many entries as its header says.
        let entries =
            unsafe { core::slice::from_raw_parts(dynamic.start as *const [u64; 2], entries) };
        let mut entries = entries.iter().take_while(|entry| entry[0] != 0);
        let found = entries.find(|entry| entry[0] == tag)?;
        Some(found[1] as usize)
    }

    /// As [`Loaded::value`], for an address, which the loader has or has not moved to where the module lies.
    fn address(&self, tag: u64) -> Option<usize> {
        let value = self.value(tag)?;
        Some(match value < self.bias {
            true => value + self.bias,
            false => value,
        })
    }

    /// Whether one of the names that it has for the loader fits.
    pub(super) fn names_any(&self, fits: impl Fn(&[u8]) -> bool) -> bool {
        let (Some(strings), Some(bytes)) = (self.address(STRINGS), self.value(STRINGS_BYTES))
        else {
            return false;
        };
        // SAFETY: the string table of a loaded module has as many bytes as the module says.
        let strings = unsafe { core::slice::from_raw_parts(strings as *const u8, bytes) };
        strings.split(|byte| *byte == 0).any(fits)
    }

    /// Its references to names.
    pub(super) fn references(&self) -> Vec<Reference> {
        let mut found = Vec::new();
        let (Some(symbols), Some(strings)) = (self.address(SYMBOLS), self.address(STRINGS)) else {
            return found;
        };
        for (table, bytes) in [(NAMED, NAMED_BYTES), (FUNCTIONS, FUNCTIONS_BYTES)] {
            let (Some(table), Some(bytes)) = (self.address(table), self.value(bytes)) else {
                continue;
            };
            // SAFETY: a table of references of a loaded module, with as many bytes as the module says.
            let table =
                unsafe { core::slice::from_raw_parts(table as *const [u64; 3], bytes / 24) };
            for [offset, about, addend] in table {
                let (symbol, kind) = ((about >> 32) as usize, about & 0xffff_ffff);
                if symbol == 0 || !matches!(kind, ADDRESS | VARIABLE | FUNCTION) {
                    continue;
                }
                // SAFETY: the number of a symbol in a table of references is one of the module's symbols, whose name lies in its strings.
                let name = unsafe {
                    let symbol = &*(symbols as *const libc::Elf64_Sym).add(symbol);
                    CStr::from_ptr((strings + symbol.st_name as usize) as *const c_char)
                };
                found.push(Reference {
                    place: self.bias + *offset as usize,
                    name,
                    addend: *addend as usize,
                });
            }
        }
        found
    }

    /// Makes references stand for other functions.
    ///
    /// # Safety
    ///
    /// The places are references of this module, and the new functions do what the old ones do.
    pub(super) unsafe fn set(&self, changes: &[(usize, usize)]) {
        for (place, function) in changes {
            let page = place & !(PAGE - 1);
            // A reference that is not aligned may lie on two pages.
            let bytes = (place + 8 - page).next_multiple_of(PAGE);
            // What the loader protects once it has filled it in. The last page, if it is not full, stays as it is.
            let mut protected = self.ranges(libc::PT_GNU_RELRO, 0);
            let protected =
                protected.any(|range| range.start <= *place && *place < range.end & !(PAGE - 1));
            // SAFETY: the place belongs to the module's data, which was writable while the loader filled it in; nothing else runs.
            unsafe {
                sys::protect(page, bytes, libc::PROT_READ | libc::PROT_WRITE);
                (*place as *mut usize).write_unaligned(*function);
                if protected {
                    sys::protect(page, bytes, libc::PROT_READ);
                }
            }
        }
    }

    /// The address of a variable that it defines.
    pub(super) fn variable(&self, name: &CStr) -> Option<usize> {
        /// A variable, among kinds of symbols.
        const OBJECT: u8 = 1;
        let (symbols, strings) = (self.address(SYMBOLS)?, self.address(STRINGS)?);
        let bytes = self.value(STRINGS_BYTES)?;
        // The strings follow the symbols, of which there is no count. There may be other tables between the two.
        let count = strings.checked_sub(symbols)? / size_of::<libc::Elf64_Sym>();
        // SAFETY: the symbol table of a loaded module and all that lies before its strings is mapped; a name is read only if it lies among
        // the strings, which end with a nul.
        unsafe {
            let symbols = core::slice::from_raw_parts(symbols as *const libc::Elf64_Sym, count);
            let is_it = |symbol: &&libc::Elf64_Sym| {
                symbol.st_shndx != 0
                    && symbol.st_info & 0xf == OBJECT
                    && (symbol.st_name as usize) < bytes
                    && CStr::from_ptr((strings + symbol.st_name as usize) as *const c_char) == name
            };
            let found = symbols.iter().find(is_it)?;
            Some(self.bias + found.st_value as usize)
        }
    }
}

impl Reference {
    /// The function that it stands for now; `None`: it stands for a part of something.
    pub(super) fn target(&self) -> Option<usize> {
        // SAFETY: the loader has filled the reference in, and it stays mapped with its module.
        let target = unsafe { (self.place as *const usize).read_unaligned() };
        (self.addend == 0 && target != 0).then_some(target)
    }
}
