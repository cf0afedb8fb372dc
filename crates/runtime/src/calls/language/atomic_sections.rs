//! Functions that are atomic by their name: `__VERIFIER_atomic_...`, as the software-verification competition has it. Their addresses come from the
//! program's own table of symbols; the hooks at the beginning and the end of functions ask whether it is one of them.

use crate::{
    calls::language::verifier,
    core::{sys, world},
    hooks::calls_end,
};
use alloc::vec::Vec;
use core::{
    cell::UnsafeCell,
    ffi::CStr,
    ops::Range,
    sync::atomic::{AtomicBool, Ordering},
};

static ANY: AtomicBool = AtomicBool::new(false);

struct Global(UnsafeCell<Vec<Range<usize>>>);
// SAFETY: one OS thread, and written once.
unsafe impl Sync for Global {}
static FUNCTIONS: Global = Global(UnsafeCell::new(Vec::new()));

fn functions() -> &'static mut Vec<Range<usize>> {
    // SAFETY: as above.
    unsafe { &mut *FUNCTIONS.0.get() }
}

/// Whether there are any.
#[inline]
pub fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// The running thread is at the beginning of a function, which is the last on its list.
#[cold]
pub fn entered(pc: usize) {
    let functions = functions();
    let after = functions.partition_point(|function| function.start <= pc);
    if after > 0 && pc < functions[after - 1].end {
        let site = world::get().site(pc);
        verifier::enter(site);
        let own = &mut world::get().me().own_calls.verifier;
        own.functions.push((calls_end(), site));
    }
}

/// The running thread is at the end of the last function on its list.
#[cold]
pub fn leaving() {
    let own = &mut world::get().me().own_calls.verifier;
    if let Some((_, site)) = own.functions.pop_if(|(end, _)| *end == calls_end()) {
        verifier::leave(site);
    }
}

/// Finds the functions in the program's file.
pub fn prepare() {
    let Some(file) = map(c"/proc/self/exe") else {
        return;
    };
    let start = crate::core::modules::program().start;
    let found = functions();
    found.clear();
    if let Some(symbols) = table(file) {
        let symbols = symbols.filter(|(name, _)| is_atomic(name));
        found.extend(symbols.map(|(_, range)| start + range.start..start + range.end));
    }
    found.sort_unstable_by_key(|function| function.start);
    ANY.store(!found.is_empty(), Ordering::Relaxed);
    // SAFETY: mapped above, and not needed any more.
    unsafe {
        let place = file.as_ptr() as usize;
        sys::call(libc::SYS_munmap, [place, file.len(), 0, 0, 0, 0]);
    }
}

fn is_atomic(name: &[u8]) -> bool {
    let ends = [&b"begin"[..], b"end"];
    let rest = name.strip_prefix(b"__VERIFIER_atomic_");
    rest.is_some_and(|rest| !ends.contains(&rest))
}

/// A whole file, to be read.
fn map(path: &CStr) -> Option<&'static [u8]> {
    // SAFETY: a valid path; the descriptor is used here only, the mapping is new.
    unsafe {
        let flags = (libc::O_RDONLY | libc::O_CLOEXEC) as usize;
        let path = path.as_ptr() as usize;
        let at = libc::AT_FDCWD as usize;
        let file = sys::call(libc::SYS_openat, [at, path, flags, 0, 0, 0]);
        if file < 0 {
            return None;
        }
        let seek = [file as usize, 0, libc::SEEK_END as usize, 0, 0, 0];
        let bytes = sys::call(libc::SYS_lseek, seek).max(0) as usize;
        let (access, kind) = (libc::PROT_READ as usize, libc::MAP_PRIVATE as usize);
        let memory = sys::call(libc::SYS_mmap, [0, bytes, access, kind, file as usize, 0]);
        sys::call(libc::SYS_close, [file as usize, 0, 0, 0, 0, 0]);
        (memory > 0).then(|| core::slice::from_raw_parts(memory as *const u8, bytes))
    }
}

/// A number of so many bytes at some place of a file; `None` where the file ends before.
fn number(file: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let digits = file.get(at..at.checked_add(bytes)?)?;
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(digits);
    Some(usize::from_le_bytes(word))
}

/// The functions that a file defines: names and places, as its symbol table has them.
fn table(file: &[u8]) -> Option<impl Iterator<Item = (&[u8], Range<usize>)>> {
    const SYMBOL_TABLE: usize = 2;
    const HEADER: usize = 64;
    const SYMBOL: usize = 24;
    // 64 bits, little-endian.
    if file.get(..6)? != b"\x7fELF\x02\x01" || number(file, 0x3a, 2)? != HEADER {
        return None;
    }
    let headers = number(file, 0x28, 8)?;
    let count = number(file, 0x3c, 2)?;
    let header = move |index: usize| {
        let at = headers.checked_add(index * HEADER)?;
        Some((number(file, at + 4, 4)?, at))
    };
    let content = move |at: usize| {
        let start = number(file, at + 0x18, 8)?;
        file.get(start..start.checked_add(number(file, at + 0x20, 8)?)?)
    };
    let mut tables = (0..count).filter_map(header);
    let (_, at) = tables.find(|(kind, _)| *kind == SYMBOL_TABLE)?;
    let symbols = content(at)?;
    let (_, names) = header(number(file, at + 0x28, 4)?)?;
    let names = content(names)?;
    let symbols = symbols.chunks_exact(SYMBOL);
    Some(symbols.filter_map(|symbol| function(symbol, names)))
}

/// Name and place of a symbol, if it is a function that is defined here.
fn function<'a>(symbol: &[u8], names: &'a [u8]) -> Option<(&'a [u8], Range<usize>)> {
    const FUNCTION: usize = 2;
    let kind = number(symbol, 4, 1)? & 15;
    let section = number(symbol, 6, 2)?;
    let (start, bytes) = (number(symbol, 8, 8)?, number(symbol, 16, 8)?);
    let name = names.get(number(symbol, 0, 4)?..)?;
    let name = name.split(|byte| *byte == 0).next()?;
    let end = start.checked_add(bytes)?;
    (kind == FUNCTION && section != 0).then_some((name, start..end))
}
