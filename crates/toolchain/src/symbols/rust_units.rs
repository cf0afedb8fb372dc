//! Which of a program's units in Rust have hooks.
//!
//! rustc does not say so in debug information. But with hooks comes a constructor of this unit's own, and symbol tables list what is of one object
//! after its name, which for rustc is the unit's.

use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::HashSet;

/// What every unit with hooks has.
const CONSTRUCTOR: &str = "tsan.module_ctor";

/// Numbers that the machine does not compute with. It gets its operands in registers.
const ARITHMETIC: &str = "library/compiler-builtins/";

/// Whether a compiler's name for itself is rustc's.
pub(super) fn is_rust(producer: &str) -> bool {
    producer.contains("(rustc version ")
}

fn is_mangled(name: &str) -> bool {
    name.starts_with("_R") || name.starts_with("_ZN")
}

/// The units with hooks.
pub(super) struct RustUnits(HashSet<String>);

impl RustUnits {
    pub(super) fn read(file: &object::read::elf::ElfFile64<'_>) -> RustUnits {
        let mut found = HashSet::new();
        let mut object = "";
        for symbol in file.symbols() {
            let Ok(name) = symbol.name() else { continue };
            if symbol.kind() == SymbolKind::File {
                object = name;
            } else if name == CONSTRUCTOR {
                found.insert(object.to_owned());
            }
        }
        RustUnits(found)
    }

    /// Whether a unit has hooks, or has no use for any. Its name is that of a source, a mark and the object's.
    pub(super) fn have_hooks(&self, unit: &str) -> bool {
        let object = unit.split_once("/@/").map_or(unit, |(_, object)| object);
        self.0.contains(object) || unit.contains(ARITHMETIC)
    }

    /// Whether a mangled name is that of a function in a crate whose units have hooks: it has the crate's name in it, after its length.
    pub(super) fn have_function(&self, name: &str) -> bool {
        // An object is called `crate.hash-cgu.0`.
        let crates = self.0.iter().filter_map(|object| object.split_once('.'));
        let mut crates = crates.map(|(name, _)| format!("{}{name}", name.len()));
        is_mangled(name) && crates.any(|part| name.contains(&part))
    }
}
