//! Entries of the debug information: finds them, follows their references, and says what they are called.
//!
//! It owns what is read of each unit. Everything is asked for by [`Die`], which may point anywhere: a damaged file ends in
//! `None`, and chains of references are followed for [`HOPS`] steps at most.

use std::{cell::OnceCell, collections::HashMap, sync::Arc};

use gimli::{
    AttributeValue, DebugInfoOffset, Dwarf, EndianArcSlice, LittleEndian, Reader, Unit, UnitOffset,
    UnitRef, UnitType, constants as dw,
};

use super::{
    demangle, source_paths,
    unit_outline::{Outline, Static},
};

/// The file's bytes, or a part of them.
pub(super) type Bytes = EndianArcSlice<LittleEndian>;
pub(super) type Entry = gimli::DebuggingInformationEntry<Bytes>;
type Value = AttributeValue<Bytes>;

/// More references one after the other than any compiler writes: typedefs of typedefs, scopes in scopes.
pub(super) const HOPS: usize = 64;

/// Where an entry stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Die {
    pub(super) unit: usize,
    pub(super) offset: UnitOffset,
}

/// All units of a file.
pub(super) struct Info {
    dwarf: Arc<Dwarf<Bytes>>,
    /// In the order of the section, then those of `.debug_types`.
    units: Vec<Unit<Bytes>>,
    outlines: Vec<OnceCell<Outline>>,
    /// Types that stand in a unit of their own, by signature.
    signatures: HashMap<u64, Die>,
}

impl Info {
    /// Reads the headers of the units, as far as they can be read.
    pub(super) fn new(dwarf: Arc<Dwarf<Bytes>>) -> Info {
        let mut headers = Vec::new();
        let mut compiled = dwarf.units();
        while let Ok(Some(header)) = compiled.next() {
            headers.push(header);
        }
        let mut types = dwarf.type_units();
        while let Ok(Some(header)) = types.next() {
            headers.push(header);
        }
        let mut units = Vec::new();
        let mut signatures = HashMap::new();
        for header in headers {
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            if let UnitType::Type {
                type_signature,
                type_offset,
            } = unit.header.type_()
            {
                let die = Die {
                    unit: units.len(),
                    offset: type_offset,
                };
                signatures.insert(type_signature.0, die);
            }
            units.push(unit);
        }
        let outlines = units.iter().map(|_| OnceCell::new()).collect();
        Info {
            dwarf,
            units,
            outlines,
            signatures,
        }
    }

    pub(super) fn unit(&self, index: usize) -> UnitRef<'_, Bytes> {
        UnitRef::new(&self.dwarf, &self.units[index])
    }

    /// Which unit of ours another reader of the same file means.
    pub(super) fn same(&self, unit: &Unit<Bytes>) -> Option<usize> {
        let offset = unit.header.offset();
        self.units
            .iter()
            .position(|own| own.header.offset() == offset)
    }

    pub(super) fn count(&self) -> usize {
        self.units.len()
    }

    pub(super) fn units(&self) -> impl Iterator<Item = UnitRef<'_, Bytes>> {
        (0..self.units.len()).map(|index| self.unit(index))
    }

    fn outline(&self, unit: usize) -> &Outline {
        self.outlines[unit].get_or_init(|| Outline::read(self.unit(unit)))
    }

    /// Variables that live as long as the program or a thread.
    pub(super) fn statics(&self) -> impl Iterator<Item = (Die, Static)> {
        (0..self.units.len()).flat_map(|unit| {
            let statics = self.outline(unit).statics.iter();
            statics.map(move |&(offset, place)| (Die { unit, offset }, place))
        })
    }

    pub(super) fn entry(&self, die: Die) -> Option<Entry> {
        let unit = self.units.get(die.unit)?;
        unit.entry(die.offset).ok()
    }

    /// The entries directly below this one.
    pub(super) fn children(&self, die: Die) -> Vec<Entry> {
        let mut found = Vec::new();
        let Some(unit) = self.units.get(die.unit) else {
            return found;
        };
        let Ok(mut tree) = unit.entries_tree(Some(die.offset)) else {
            return found;
        };
        if let Ok(root) = tree.root() {
            let mut children = root.children();
            while let Ok(Some(child)) = children.next() {
                found.push(child.entry().clone());
            }
        }
        found
    }

    fn reference(&self, unit: usize, value: Value) -> Option<Die> {
        match value {
            AttributeValue::UnitRef(offset) => Some(Die { unit, offset }),
            AttributeValue::DebugInfoRef(at) => self.anywhere(at),
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// The entry at an offset in the section.
    fn anywhere(&self, at: DebugInfoOffset) -> Option<Die> {
        self.units.iter().enumerate().find_map(|(unit, own)| {
            let offset = at.to_unit_offset(&own.header)?;
            Some(Die { unit, offset })
        })
    }

    /// The entry that says the rest about this one: a declaration, or what was inlined here.
    fn origin(&self, unit: usize, entry: &Entry) -> Option<Die> {
        let value = entry
            .attr_value(dw::DW_AT_abstract_origin)
            .or_else(|| entry.attr_value(dw::DW_AT_specification))?;
        self.reference(unit, value)
    }

    /// An attribute of an entry or of one it refers to for the rest, with the unit that it stands in.
    fn attribute(&self, mut die: Die, name: dw::DwAt) -> Option<(usize, Value)> {
        for _ in 0..HOPS {
            let entry = self.entry(die)?;
            if let Some(value) = entry.attr_value(name) {
                return Some((die.unit, value));
            }
            die = self.origin(die.unit, &entry)?;
        }
        None
    }

    /// The type of a variable, a member, an array's elements, or what a typedef stands for.
    pub(super) fn type_of(&self, die: Die) -> Option<Die> {
        let (unit, value) = self.attribute(die, dw::DW_AT_type)?;
        self.reference(unit, value)
    }

    /// The full type of a declaration, in a unit of its own.
    pub(super) fn signed(&self, entry: &Entry) -> Option<Die> {
        match entry.attr_value(dw::DW_AT_signature)? {
            AttributeValue::DebugTypesRef(signature) => self.signatures.get(&signature.0).copied(),
            _ => None,
        }
    }

    /// The name as written in the source, with no scope.
    pub(super) fn name(&self, die: Die) -> Option<String> {
        let (unit, value) = self.attribute(die, dw::DW_AT_name)?;
        self.text(unit, value)
    }

    pub(super) fn text(&self, unit: usize, value: Value) -> Option<String> {
        let text = self.unit(unit).attr_string(value).ok()?;
        Some(text.to_string_lossy().ok()?.into_owned())
    }

    /// The name with namespaces, classes and functions around it: `Pool::instance`, `worker::count`.
    pub(super) fn qualified(&self, die: Die) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = Some(die);
        for _ in 0..HOPS {
            let Some(die) = at else { break };
            let entry = self.entry(die)?;
            at = self.origin(die.unit, &entry);
            if at.is_some() {
                continue;
            }
            at = self.parent(die);
            if at.is_some_and(|class| self.is_lambda(class)) {
                parts.push(demangle::LAMBDA.to_owned());
                at = at.and_then(|class| self.parent(class));
                continue;
            }
            // Of an inline namespace such as `__cxx11` the members belong to the one around it.
            if at.is_some() && entry.attr(dw::DW_AT_export_symbols).is_none() {
                let name = entry.attr_value(dw::DW_AT_name);
                parts.extend(name.and_then(|name| self.text(die.unit, name)));
            }
        }
        parts.reverse();
        (!parts.is_empty()).then(|| demangle::readable(&parts.join("::")))
    }

    /// Whether a class is what a compiler makes of a lambda: without a name, but with a call operator.
    pub(super) fn is_lambda(&self, class: Die) -> bool {
        let is_call = |entry: &Entry| {
            entry.tag() == dw::DW_TAG_subprogram && {
                let name = entry.attr_value(dw::DW_AT_name);
                let name = name.and_then(|name| self.text(class.unit, name));
                name.as_deref() == Some("operator()")
            }
        };
        let bare = self.entry(class).is_some_and(|entry| {
            let tags = [dw::DW_TAG_structure_type, dw::DW_TAG_class_type];
            tags.contains(&entry.tag()) && entry.attr(dw::DW_AT_name).is_none()
        });
        bare && self.children(class).iter().any(is_call)
    }

    /// The entry around this one; none for the unit itself.
    pub(super) fn parent(&self, die: Die) -> Option<Die> {
        let outline = self.outlines.get(die.unit).map(|_| self.outline(die.unit));
        let offset = outline?.parent(die.offset)?;
        Some(Die {
            unit: die.unit,
            offset,
        })
    }

    /// Whether an entry comes from outside the program's own directories: a library's header.
    pub(super) fn foreign(&self, die: Die) -> bool {
        let Some((unit, AttributeValue::FileIndex(index))) =
            self.attribute(die, dw::DW_AT_decl_file)
        else {
            return true;
        };
        self.file(unit, index)
            .is_none_or(|file| file.starts_with('/'))
    }

    /// A file of a unit, as someone in the directory of the compilation would type it.
    pub(super) fn file(&self, index: usize, file: u64) -> Option<String> {
        let unit = self.unit(index);
        let header = unit.line_program.as_ref()?.header();
        let file = header.file(file)?;
        let name = self.text(index, file.path_name())?;
        let directory = file.directory(header);
        let directory = directory.and_then(|directory| self.text(index, directory));
        let mut path = std::path::PathBuf::from(directory.unwrap_or_default());
        path.push(name);
        Some(source_paths::shorten(
            &path.to_string_lossy(),
            &directory_of(unit),
        ))
    }
}

/// The compiler of a unit, with its command line.
pub(super) fn producer_of(unit: UnitRef<'_, Bytes>) -> String {
    let value = root_value(unit, dw::DW_AT_producer);
    let text = value.and_then(|value| unit.attr_string(value).ok());
    let text = text.and_then(|text| Some(text.to_string_lossy().ok()?.into()));
    text.unwrap_or_default()
}

/// What the compiler calls a unit.
pub(super) fn name_of(unit: UnitRef<'_, Bytes>) -> Option<String> {
    Some(unit.name.as_ref()?.to_string_lossy().ok()?.into())
}

/// The source of a unit that a compiler made code of; assembly has none.
pub(super) fn source_of(unit: UnitRef<'_, Bytes>) -> Option<String> {
    let assembly = AttributeValue::Language(dw::DW_LANG_Mips_Assembler);
    if root_value(unit, dw::DW_AT_language).is_none_or(|value| value == assembly) {
        return None;
    }
    unit.unit_ranges().ok()?.next().ok()??;
    let name = unit.name.as_ref()?.to_string_lossy().ok()?;
    Some(source_paths::shorten(&name, &directory_of(unit)))
}

fn root_value(unit: UnitRef<'_, Bytes>, name: gimli::DwAt) -> Option<Value> {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten()?;
    root.attr_value(name)
}

/// The directory in which the compiler was started.
pub(super) fn directory_of(unit: UnitRef<'_, Bytes>) -> String {
    let directory = unit.comp_dir.as_ref();
    let directory = directory.and_then(|directory| Some(directory.to_string_lossy().ok()?.into()));
    directory.unwrap_or_default()
}
