//! Atomic instructions that no hook stands for: the programmer's own assembly, or code that was built without hooks.
//!
//! Compilers make a call of a hook out of every atomic operation in code that they instrument. An instruction with a lock prefix, or an
//! exchange with memory, that is left there was written by hand.

use std::{
    fs::{self, File},
    ops::Range,
    path::Path,
};

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, ReadCache, SectionKind, SymbolKind,
    read::elf::ElfFile64,
};

/// How names of hooks begin.
const HOOKS: &[u8] = b"__tsan_";

/// Whether a program or library names hooks: else it was compiled without. Reads no more of the file than it takes to know.
pub fn has_hooks(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    let cache = ReadCache::new(file);
    let Ok(file) = ElfFile64::<Endianness, _>::parse(&cache) else {
        return false;
    };
    let names = file.section_by_name(".dynstr");
    let names = names
        .and_then(|names| names.data().ok())
        .unwrap_or_default();
    names.windows(HOOKS.len()).any(|part| part == HOOKS)
}

/// Instructions of a file that synchronise threads, or enter the kernel, and that only a disassembler sees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Atomic instructions.
    pub atomics: u64,
    /// System calls that do not go through the C library.
    pub system_calls: u64,
}

/// Counts the instructions of a file; `None`: it cannot be read.
pub fn census(path: &Path) -> Option<Census> {
    let bytes = fs::read(path).ok()?;
    let file = ElfFile64::<Endianness>::parse(&*bytes).ok()?;
    let mut census = Census::default();
    each_instruction(&file, |instruction| {
        census.atomics += u64::from(is_atomic(instruction));
        census.system_calls += u64::from(instruction.mnemonic() == Mnemonic::Syscall);
    });
    Some(census)
}

/// Where each of them ends.
pub(super) fn find(file: &ElfFile64<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    each_instruction(file, |instruction| {
        if is_atomic(instruction) {
            found.push(instruction.next_ip());
        }
    });
    found
}

fn each_instruction(file: &ElfFile64<'_>, mut what: impl FnMut(&Instruction)) {
    let starts = functions(file);
    for section in file.sections() {
        if section.kind() == SectionKind::Text {
            search(&section, &starts, &mut what);
        }
    }
}

/// Where functions begin, ascending.
fn functions(file: &ElfFile64<'_>) -> Vec<u64> {
    let functions = file.symbols().filter(|symbol| {
        let inside = !symbol.is_undefined();
        inside && symbol.kind() == SymbolKind::Text
    });
    let mut starts: Vec<u64> = functions.map(|symbol| symbol.address()).collect();
    starts.sort_unstable();
    starts
}

/// Looks at each function by itself: what lies between two of them need not be code.
fn search<'a>(
    section: &impl ObjectSection<'a>,
    starts: &[u64],
    what: &mut impl FnMut(&Instruction),
) {
    let Ok(bytes) = section.data() else { return };
    let begin = section.address();
    let end = begin + bytes.len() as u64;
    let mut at = begin;
    while at < end {
        let next = starts.partition_point(|start| *start <= at);
        let next = starts.get(next).map_or(end, |next| end.min(*next));
        let part = Range {
            start: (at - begin) as usize,
            end: (next - begin) as usize,
        };
        let decoder = Decoder::with_ip(64, &bytes[part], at, DecoderOptions::NONE);
        decoder
            .into_iter()
            .for_each(|instruction| what(&instruction));
        at = next;
    }
}

fn is_atomic(instruction: &Instruction) -> bool {
    let memory = || instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg && memory()
}
