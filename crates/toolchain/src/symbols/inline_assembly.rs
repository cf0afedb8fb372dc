//! Atomic instructions that no hook stands for: the programmer's own assembly.
//!
//! Compilers make a call of a hook out of every atomic operation in code that they instrument. An instruction with a lock prefix, or an
//! exchange with memory, that is left there was written by hand.

use std::{fs::File, ops::Range, path::Path};

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

/// Where each of them ends.
pub(super) fn find(file: &ElfFile64<'_>) -> Vec<u64> {
    let mut found = Vec::new();
    let starts = functions(file);
    for section in file.sections() {
        if section.kind() == SectionKind::Text {
            search(&section, &starts, &mut found);
        }
    }
    found
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
fn search<'a>(section: &impl ObjectSection<'a>, starts: &[u64], found: &mut Vec<u64>) {
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
        let atomic = decoder.into_iter().filter(is_atomic);
        found.extend(atomic.map(|instruction| instruction.next_ip()));
        at = next;
    }
}

fn is_atomic(instruction: &Instruction) -> bool {
    let memory = || instruction.op_kinds().any(|kind| kind == OpKind::Memory);
    instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg && memory()
}
