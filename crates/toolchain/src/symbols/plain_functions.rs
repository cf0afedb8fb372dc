//! Functions of objects that were compiled elsewhere, without hooks and without debug information, and linked into an instrumented program.
//!
//! *Called by:* [`Symbols::plain_functions`](super::Symbols::plain_functions), which knows what debug information covers. *Never names:* a function
//! that accesses no memory but its stack, and what every program is linked with (the beginning of the process, the compiler's own library).

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind, read::elf::ElfFile64};
use std::ops::Range;

/// A function of the C++ library. A file that has it is linked with all of that library.
const OF_CXX: &str = "__cxa_throw";

/// Of the C library, linked into every program that calls them.
const OF_LIBC: [&str; 4] = ["_start", "atexit", "at_quick_exit", "pthread_atfork"];

/// The names of functions that access memory, of those for whose addresses nobody speaks.
pub(super) fn accessing(file: &ElfFile64<'_>, is_unknown: impl Fn(u64) -> bool) -> Vec<String> {
    let tables = tables(file);
    let mut found = Vec::new();
    let has_cxx = file
        .symbols()
        .any(|symbol| !symbol.is_undefined() && symbol.name() == Ok(OF_CXX));
    for symbol in file.symbols() {
        let inside = symbol.kind() == SymbolKind::Text && symbol.size() > 0;
        let Some(section) = symbol.section_index().filter(|_| inside) else {
            continue;
        };
        let Ok(name) = symbol.name() else { continue };
        // The compiler's own library is hidden, so its names are local after linking.
        let of_compiler = match symbol.is_local() {
            true => has_cxx || name.starts_with("__"),
            false => has_cxx && name.starts_with("__") || is_of_cxx(name),
        };
        if of_compiler || OF_LIBC.contains(&name) || !is_unknown(symbol.address()) {
            continue;
        }
        let section = file.section_by_index(section);
        let code = section.and_then(|it| it.data_range(symbol.address(), symbol.size()));
        let Ok(Some(code)) = code else { continue };
        let mut code = Decoder::with_ip(64, code, symbol.address(), DecoderOptions::NONE);
        if code.iter().any(|it| accesses(&it, &tables)) {
            found.push(name.to_owned());
        }
    }
    found.sort_unstable();
    found
}

/// Whether a function is one of the C++ library: in its namespaces, or an operator for memory. (A thunk only leads to another function.)
fn is_of_cxx(name: &str) -> bool {
    const BEGINNINGS: [&str; 15] = [
        "St",
        "Sa",
        "Sb",
        "Ss",
        "Si",
        "So",
        "Sd",
        "9__gnu_cxx",
        "10__cxxabiv1",
        "nw",
        "na",
        "dl",
        "da",
        "T",
        "GTt",
    ];
    let Some(name) = name.strip_prefix("_Z") else {
        return false;
    };
    let name = name.trim_start_matches(['N', 'K', 'O', 'R']);
    name.contains("_txnal_") || BEGINNINGS.iter().any(|begin| name.starts_with(begin))
}

/// Memory that nobody writes to once the program runs: constants, and the linker's tables of addresses.
fn tables(file: &ElfFile64<'_>) -> Vec<Range<u64>> {
    let kept = file.sections().filter(|section| {
        let written = matches!(
            section.kind(),
            SectionKind::Data | SectionKind::UninitializedData
        );
        let name = section.name().unwrap_or_default();
        !written || name.starts_with(".got") || name.starts_with(".data.rel.ro")
    });
    kept.map(|section| section.address()..section.address() + section.size())
        .collect()
}

/// Whether an instruction accesses memory that another thread may know of.
fn accesses(instruction: &Instruction, tables: &[Range<u64>]) -> bool {
    if matches!(
        instruction.mnemonic(),
        Mnemonic::Lea | Mnemonic::Nop | Mnemonic::Call | Mnemonic::Jmp
    ) {
        return false;
    }
    instruction.op_kinds().any(|kind| match kind {
        OpKind::Memory => {
            let own_stack = matches!(instruction.memory_base(), Register::RSP | Register::RBP);
            let of_thread = instruction.segment_prefix() == Register::FS;
            let constant = instruction.is_ip_rel_memory_operand()
                && within(tables, instruction.ip_rel_memory_address());
            !(own_stack || of_thread || constant)
        }
        OpKind::MemorySegSI
        | OpKind::MemorySegESI
        | OpKind::MemorySegRSI
        | OpKind::MemorySegDI
        | OpKind::MemorySegEDI
        | OpKind::MemorySegRDI
        | OpKind::MemoryESDI
        | OpKind::MemoryESEDI
        | OpKind::MemoryESRDI => true,
        _ => false,
    })
}

fn within(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cxx_library_is_known_by_its_names() {
        for name in [
            "_ZNSt6thread15_M_start_threadEv",
            "_ZNKSs4sizeEv",
            "_ZNKRSt7__cxx1115basic_stringbufIcE3strEv",
            "_ZN9__gnu_cxx9free_listC1Ev",
            "_Znwm",
            "_ZdlPv",
            "_ZThn16_NSdD0Ev",
        ] {
            assert!(is_of_cxx(name), "{name}");
        }
        for name in [
            "main",
            "next",
            "_Z4nextv",
            "_ZN3lib4nextEv",
            "_ZNK6Stack3topEv",
        ] {
            assert!(!is_of_cxx(name), "{name}");
        }
    }
}
