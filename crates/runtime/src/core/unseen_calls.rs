//! Calls that may change what no hook sees: the state of a library, of the C library, of the kernel.
//!
//! A loop that waits is known by its rounds being equal, and what a library keeps for itself is no part of a round. So every call that leaves
//! the instrumented code counts as a change, unless it is known to make none ([`harmless`]). The program's modules have the addresses of such
//! functions in their tables of references. Before the first run each of these addresses is exchanged for that of a *stub*: it adds one to
//! [`UNSEEN`] and goes on to the function, with all registers as they were.
//!
//! *Called by:* the start of the process ([`install`]). *Asked by:* the spin detection, which compares [`UNSEEN`] before and after.

mod harmless;
mod references;

use crate::core::{
    cell::{ASIDE, RunCell, RunValue},
    restore::PAGE,
    sys,
};
use alloc::{collections::BTreeMap, vec::Vec};
use core::{ffi::CStr, ops::Range};
use references::{Loaded, Reference};

/// How many calls were made, in all runs, that may have changed what no hook sees.
pub static UNSEEN: RunValue<u64> = RunValue::new(0);

/// The running thread has changed something that no hook sees.
#[inline]
pub fn count_one() {
    UNSEEN.set(UNSEEN.get().wrapping_add(1));
}

/// Stubs that were made, by the functions that they go on to.
static STUBS: RunCell<Stubs, ASIDE> = RunCell::new(Stubs {
    known: BTreeMap::new(),
    next: 0,
    end: 0,
});

/// Memory for stubs is mapped in pieces of this size.
const PIECE: usize = 16 * PAGE;

struct Stubs {
    known: BTreeMap<usize, usize>,
    /// Where the next one is written, and where the room for them ends.
    next: usize,
    end: usize,
}

/// Functions that the program names and that are harmless, by address.
static HARMLESS: RunCell<Vec<usize>, ASIDE> = RunCell::new(Vec::new());

/// Functions that are harmless for some first arguments.
static SPARED: RunCell<Vec<(usize, Vec<usize>)>, ASIDE> = RunCell::new(Vec::new());

/// Code of a library without hooks, in whole pages.
pub struct Foreign {
    pub start: usize,
    pub bytes: usize,
    /// It is none of the libraries that every program rests on, and nothing else stands for what it does.
    pub is_unknown: bool,
}

/// The code of all libraries without hooks, but for those that the runtime itself rests on.
pub fn foreign() -> Vec<Foreign> {
    let modules = references::loaded();
    let foreign = modules.iter().filter(|module| module.is_foreign());
    let code = foreign.flat_map(|module| {
        module.code().map(|code| {
            let start = code.start & !(PAGE - 1);
            Foreign {
                start,
                bytes: (code.end - start).next_multiple_of(PAGE),
                is_unknown: !module.is_system,
            }
        })
    });
    code.collect()
}

/// Whether a function begins at this address that the program names and that is known to change nothing, called with this first argument.
pub fn is_harmless_call(address: usize, first: usize) -> bool {
    let spared = |(function, streams): &(usize, Vec<usize>)| {
        *function == address && streams.contains(&first)
    };
    HARMLESS.borrow().contains(&address) || SPARED.borrow().iter().any(spared)
}

/// Puts stubs into all modules of the program. Can be called again when more of them were loaded.
pub fn install() {
    let modules = references::loaded();
    let own = || modules.iter().filter(|module| !module.is_system);
    let outputs = Outputs::find(&modules);
    let hooked = own().filter(|module| module.is_hooked());
    let hooked: Vec<Range<usize>> = hooked.flat_map(Loaded::code).collect();
    let code: Vec<Range<usize>> = modules.iter().flat_map(Loaded::code).collect();
    let within = |ranges: &[Range<usize>], place| ranges.iter().any(|range| range.contains(&place));
    let exchanged = |reference: &Reference| {
        let target = reference.target()?;
        let name = reference.name;
        if !within(&code, target) || within(&hooked, target) {
            return None;
        }
        if harmless::is_harmless(name.to_bytes()) {
            HARMLESS.borrow().push(target);
            return None;
        }
        let spared = outputs.spared_by(name);
        if !spared.is_empty() {
            SPARED.borrow().push((target, spared.into()));
        }
        let stub = STUBS.borrow().stub(target, spared)?;
        Some((reference.place, stub))
    };
    for module in own() {
        let changes: Vec<_> = module.references().iter().filter_map(exchanged).collect();
        // SAFETY: the places are those of the module's references, and a stub does what the function behind it does.
        unsafe { module.set(&changes) };
    }
}

/// The standard streams of C++, narrow and wide. What is written there is no change that the program could see.
struct Outputs([Vec<usize>; 2]);

impl Outputs {
    fn find(modules: &[Loaded]) -> Outputs {
        // A program that gives a stream another buffer may read what it has written there.
        const REDIRECTS: &[u8] =
            b"_ZNSt9basic_iosIcSt11char_traitsIcEE5rdbufEPSt15basic_streambufIcS1_E";
        let named = |wanted: &[u8]| {
            let mut own = modules.iter().filter(|module| !module.is_system);
            own.any(|module| module.names_any(|name| name == wanted))
        };
        let redirects = named(REDIRECTS);
        // The first module that defines a variable is that whose one is used.
        let variable = |name: &CStr| match redirects || !named(name.to_bytes()) {
            true => None,
            false => modules.iter().find_map(|module| module.variable(name)),
        };
        let all = |names: [&CStr; 3]| names.into_iter().filter_map(variable).collect();
        Outputs([
            all([c"_ZSt4cout", c"_ZSt4cerr", c"_ZSt4clog"]),
            all([c"_ZSt5wcout", c"_ZSt5wcerr", c"_ZSt5wclog"]),
        ])
    }

    /// The streams that a function may be called with, as its first argument, without changing anything.
    fn spared_by(&self, name: &CStr) -> &[usize] {
        match harmless::writes_to(name.to_bytes()) {
            Some(harmless::Width::Narrow) => &self.0[0],
            Some(harmless::Width::Wide) => &self.0[1],
            None => &[],
        }
    }
}

impl Stubs {
    /// The stub that goes on to a function; `None`: there is no memory for it. It counts nothing if the first argument is one of `spared`.
    fn stub(&mut self, target: usize, spared: &[usize]) -> Option<usize> {
        if let Some(stub) = self.known.get(&target) {
            return Some(*stub);
        }
        let code = code(UNSEEN.as_ptr() as usize, target, spared);
        let bytes = code.len().next_multiple_of(16);
        if self.next + bytes > self.end {
            let room = sys::map_own(PIECE)? as usize;
            (self.next, self.end) = (room, room + PIECE);
        }
        let stub = self.next;
        // SAFETY: the bytes lie in memory that was mapped for stubs, behind all others; no stub of this piece runs meanwhile.
        unsafe {
            let (piece, all) = (self.end - PIECE, libc::PROT_READ | libc::PROT_WRITE);
            sys::protect(piece, PIECE, all);
            core::ptr::copy_nonoverlapping(code.as_ptr(), stub as *mut u8, code.len());
            if !sys::protect(piece, PIECE, libc::PROT_READ | libc::PROT_EXEC) {
                return None;
            }
        }
        self.next += bytes;
        self.known.insert(target, stub);
        Some(stub)
    }
}

/// The code of a stub: adds one to the word at `counter`, unless `rdi` is one of `spared`, and jumps to `target`. It changes no register and
/// only flags, which are free at the beginning of a function.
fn code(counter: usize, target: usize, spared: &[usize]) -> Vec<u8> {
    const PUSH_RAX: u8 = 0x50;
    const POP_RAX: u8 = 0x58;
    const SET_RAX: [u8; 2] = [0x48, 0xb8];
    const COMPARE_RDI_RAX: [u8; 3] = [0x48, 0x39, 0xc7];
    const JUMP_IF_EQUAL: u8 = 0x74;
    const ADD_ONE_AT_RAX: [u8; 3] = [0x48, 0xff, 0x00];
    const JUMP_BY_NEXT_WORD: [u8; 6] = [0xff, 0x25, 0, 0, 0, 0];
    /// Bytes of a comparison with its jump, and of the addition.
    const COMPARISON: usize = 15;
    const ADDITION: usize = 13;
    let mut code = alloc::vec![PUSH_RAX];
    for (index, stream) in spared.iter().enumerate() {
        let behind = COMPARISON * (spared.len() - index - 1) + ADDITION;
        code.extend(SET_RAX);
        code.extend(stream.to_le_bytes());
        code.extend(COMPARE_RDI_RAX);
        code.extend([JUMP_IF_EQUAL, behind as u8]);
    }
    code.extend(SET_RAX);
    code.extend(counter.to_le_bytes());
    code.extend(ADD_ONE_AT_RAX);
    code.push(POP_RAX);
    code.extend(JUMP_BY_NEXT_WORD);
    code.extend(target.to_le_bytes());
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn twice(number: usize) -> usize {
        2 * number
    }

    /// Makes a stub of `twice` and calls it with a number: what it returns, and what it has counted.
    fn called(number: usize, spared: &[usize]) -> (usize, u64) {
        let mut counter = 0_u64;
        let counter = &raw mut counter;
        let code = code(counter as usize, twice as *const () as usize, spared);
        // SAFETY: fresh memory for the code, which is that of a function with the type of `twice`; `counter` is a live local.
        unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let room = libc::mmap(core::ptr::null_mut(), PAGE, access, flags, -1, 0);
            assert_ne!(room, libc::MAP_FAILED);
            core::ptr::copy_nonoverlapping(code.as_ptr(), room.cast(), code.len());
            let stub: extern "C" fn(usize) -> usize = core::mem::transmute(room);
            let result = (stub(number), *counter);
            libc::munmap(room, PAGE);
            result
        }
    }

    #[test]
    fn a_stub_counts_and_goes_on() {
        assert_eq!(called(21, &[]), (42, 1));
    }

    #[test]
    fn a_stub_does_not_count_a_call_that_is_spared() {
        let spared = [1, 2, 3];
        for number in 1..=3 {
            assert_eq!(called(number, &spared), (2 * number, 0));
        }
        assert_eq!(called(4, &spared), (8, 1));
    }
}
