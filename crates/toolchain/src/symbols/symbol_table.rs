//! The symbol table of the file, for programs and variables without debug information.

use object::{Object, ObjectSymbol, SymbolKind};

use super::demangle;

/// A function or variable of the symbol table.
pub(super) struct Symbol {
    pub(super) address: u64,
    pub(super) size: u64,
    name: String,
}

/// What the symbol table names, each ascending by address.
#[derive(Default)]
pub(super) struct SymbolTable {
    functions: Vec<Symbol>,
    variables: Vec<Symbol>,
    thread_variables: Vec<Symbol>,
}

impl SymbolTable {
    pub(super) fn read(file: &object::read::elf::ElfFile64<'_>) -> SymbolTable {
        let mut table = SymbolTable::default();
        let symbols = file.symbols().chain(file.dynamic_symbols());
        for symbol in symbols.filter(|symbol| !symbol.is_undefined()) {
            let list = match symbol.kind() {
                SymbolKind::Text => &mut table.functions,
                SymbolKind::Data => &mut table.variables,
                SymbolKind::Tls => &mut table.thread_variables,
                _ => continue,
            };
            if let Ok(name) = symbol.name() {
                list.push(Symbol {
                    address: symbol.address(),
                    size: symbol.size(),
                    name: name.to_owned(),
                });
            }
        }
        // Of several names for one place, the one with fewest underscores in front is the one people use.
        let marks = |name: &str| name.len() - name.trim_start_matches('_').len();
        for list in [
            &mut table.functions,
            &mut table.variables,
            &mut table.thread_variables,
        ] {
            list.sort_by(|a, b| {
                let key = |named: &Symbol| (named.address, marks(&named.name));
                key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
            });
            list.dedup_by_key(|named| named.address);
        }
        table
    }

    /// The function around this address.
    pub(super) fn function(&self, address: u64) -> Option<String> {
        Some(find(&self.functions, address)?.demangled())
    }

    pub(super) fn variable(&self, address: u64) -> Option<&Symbol> {
        find(&self.variables, address)
    }

    pub(super) fn thread_variable(&self, offset: u64) -> Option<&Symbol> {
        find(&self.thread_variables, offset)
    }
}

impl Symbol {
    pub(super) fn demangled(&self) -> String {
        demangle::demangle(&self.name)
    }

    /// `table+24`.
    pub(super) fn with_offset(&self, address: u64) -> String {
        let name = self.demangled();
        match address.saturating_sub(self.address) {
            0 => name,
            offset => format!("{name}+{offset}"),
        }
    }
}

/// The one that contains this address.
fn find(list: &[Symbol], address: u64) -> Option<&Symbol> {
    let after = list.partition_point(|named| named.address <= address);
    let named = &list[after.checked_sub(1)?];
    (address - named.address < named.size).then_some(named)
}
