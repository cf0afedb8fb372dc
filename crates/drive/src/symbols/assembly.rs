//! Atomic instructions that no hook stands for: the programmer's own assembly.
//!
//! Compilers make a call of a hook out of every atomic operation in code that they instrument. An instruction with a lock prefix, or an
//! exchange with memory, that is left there was written by hand.

use std::ops::Range;

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind, read::elf::ElfFile64};

/// How names of hooks begin.
const HOOKS: &[u8] = b"__tsan_";

/// Where each of them ends. A file that refers to no hook was compiled without.
pub(super) fn find(file: &ElfFile64<'_>) -> Vec<u64> {
    let mut symbols = file.dynamic_symbols();
    let hooked = symbols.any(|symbol| {
        let name = symbol.name_bytes().unwrap_or_default();
        symbol.is_undefined() && name.starts_with(HOOKS)
    });
    let mut found = Vec::new();
    if hooked {
        let starts = functions(file);
        for section in file.sections() {
            if section.kind() == SectionKind::Text {
                search(&section, &starts, &mut found);
            }
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
