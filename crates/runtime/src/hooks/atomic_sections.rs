//! Atomic sections, as the software-verification competition has them: between `__VERIFIER_atomic_begin` and
//! `__VERIFIER_atomic_end`, and in functions named `__VERIFIER_atomic_...`.
//!
//! The addresses of such functions come from the program's table of symbols; the hooks at the beginning and the end of functions
//! ask whether it is one of them. A section is a lock that all sections share; sections nest.

use crate::{
    core::{
        cell::{ASIDE, RunCell, RunValue},
        families::Birth,
        modules,
        per_thread::PerThread,
        program_symbols, sys,
    },
    run::{callers::calls_end, hidden_objects::Hidden, operations::visible, world},
};
use alloc::vec::Vec;
use core::{ffi::CStr, ops::Range};
use reweave_model::{Op, Site};

/// Whether the program has functions that are atomic by name.
static ANY: RunValue<bool> = RunValue::new(false);

/// Where they lie, in rising order.
static FUNCTIONS: RunCell<Vec<Range<usize>>, ASIDE> = RunCell::new(Vec::new());

/// The sections that a thread is in.
#[derive(Default)]
struct Sections {
    depth: u32,
    /// Functions among them that are atomic by name: where the thread's list of callers ends within, and their sites.
    functions: Vec<(*mut usize, Site)>,
}

static SECTIONS: PerThread<Sections> = PerThread::new();

/// A new run.
pub fn clear() {
    SECTIONS.clear();
}

pub fn thread_begins(birth: &Birth) {
    SECTIONS.take_over(birth);
}

/// Uses the running thread's sections. The closure must not switch threads.
fn with_own<R>(what: impl FnOnce(&mut Sections) -> R) -> R {
    let me = world::borrow().current;
    SECTIONS.with(me, what)
}

/// Whether the program has functions that are atomic by name.
#[inline]
pub fn any() -> bool {
    ANY.get()
}

/// The running thread is at the beginning of a function, which is the last on its list.
#[cold]
pub fn entered(pc: usize) {
    let is_atomic = {
        let functions = FUNCTIONS.borrow();
        let after = functions.partition_point(|function| function.start <= pc);
        after > 0 && pc < functions[after - 1].end
    };
    if is_atomic {
        let site = modules::site(pc);
        enter(site);
        with_own(|own| own.functions.push((calls_end(), site)));
    }
}

/// The running thread is at the end of the last function on its list.
#[cold]
pub fn leaving() {
    let left = with_own(|own| own.functions.pop_if(|(end, _)| *end == calls_end()));
    if let Some((_, site)) = left {
        leave(site);
    }
}

/// The running thread begins an atomic section, or one within another.
pub fn enter(site: Site) {
    let depth = with_own(|own| {
        own.depth += 1;
        own.depth
    });
    if depth == 1 {
        visible(Op::Lock(Hidden::Section.object()), site);
    }
}

/// The running thread comes to the end of a section.
pub fn leave(site: Site) {
    let before = with_own(|own| {
        let before = own.depth;
        own.depth = before.saturating_sub(1);
        before
    });
    if before == 1 {
        visible(Op::Unlock(Hidden::Section.object()), site);
    }
}

/// Finds the functions in the program's file, once.
pub fn prepare() {
    let Some(file) = map(c"/proc/self/exe") else {
        return;
    };
    let start = modules::program().start;
    let mut found = FUNCTIONS.borrow();
    found.clear();
    if let Some(symbols) = program_symbols::functions(file) {
        let symbols = symbols.filter(|(name, _)| is_atomic(name));
        found.extend(symbols.map(|(_, range)| start + range.start..start + range.end));
    }
    found.sort_unstable_by_key(|function| function.start);
    ANY.set(!found.is_empty());
    // SAFETY: `file` is exactly what `map` has mapped, and it is not used any more.
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
    // SAFETY: the path is a C string. The descriptor is used here only. The mapping is new, as long as the file, and stays until
    // `prepare` unmaps it.
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
