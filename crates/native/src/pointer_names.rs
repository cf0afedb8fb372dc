//! Names of what no variable leads to, by its type: blocks of the heap (`node#2.lock`), and what pointers point to (`&nodes[0]`).
//!
//! *Decides:* of which type a block is, and how values of pointers are written. *Called by:* `named_trace`. *Owns:* the numbers of blocks
//! of each type, in the order in which they are named.

use crate::{
    memory_names::{MemoryNames, Thing, bytes_of, join, part, written},
    program_names::ProgramNames,
};
use reweave_model::{Execution, ObjectId, Site};
use reweave_report::ValueType;
use reweave_toolchain::symbols::{Shape, Symbols, Type};
use reweave_wire::{Detail, Place, PlaceKind, Stack};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// Types have names that can be read at a glance.
const LONGEST: usize = 32;

/// See the module.
pub(crate) struct PointerNames<'a> {
    names: &'a ProgramNames,
    memory: &'a MemoryNames<'a>,
    /// What lies where values of atomics point to.
    places: BTreeMap<u64, &'a Place>,
    /// Where objects are.
    objects: BTreeSet<u64>,
    known: RefCell<Known<'a>>,
}

#[derive(Default)]
struct Known<'a> {
    /// Of each block the type, and the how-many-th of that it is.
    blocks: BTreeMap<u64, Option<(&'a Symbols, Type, String, usize)>>,
    numbers: BTreeMap<String, usize>,
}

/// The block that a place is in, how far in, and its length.
pub(crate) fn block_of(place: &Place) -> Option<(u64, u64, u64)> {
    match place.kind {
        PlaceKind::Heap { offset, bytes, .. } => {
            Some((place.address.checked_sub(offset)?, offset, bytes))
        }
        _ => None,
    }
}

impl<'a> PointerNames<'a> {
    pub(crate) fn new(
        names: &'a ProgramNames,
        memory: &'a MemoryNames<'a>,
        detail: &'a Detail,
    ) -> PointerNames<'a> {
        let places = detail.pointers.iter();
        PointerNames {
            names,
            memory,
            places: places.map(|place| (place.address, place)).collect(),
            objects: detail.objects.iter().map(|place| place.address).collect(),
            known: RefCell::default(),
        }
    }

    /// What a place is called for people, where that is more than its name. It was used from these stacks.
    pub(crate) fn label(&self, place: &Place, stacks: &[&Stack]) -> Option<String> {
        match (&place.kind, block_of(place)) {
            (_, Some((start, offset, _))) => self.memory.label(start, offset).or_else(|| {
                let (symbols, kind, name) = self.typed(place, stacks)?;
                Some(join(&name, &symbols.path(kind, offset, 1)))
            }),
            (PlaceKind::Stack { site, offset, .. }, _) => {
                let (symbols, address) = self.names.find(*site)?;
                symbols.local(address, *offset, 1)
            }
            _ => None,
        }
    }

    /// What the whole block is called that a place is in.
    pub(crate) fn block(&self, place: &Place, stacks: &[&Stack]) -> Option<String> {
        let (start, _, bytes) = block_of(place)?;
        let path = self.memory.pointed(start, 0, bytes);
        let path = path.filter(|path| !path.starts_with('&'));
        path.or_else(|| Some(self.typed(place, stacks)?.2))
    }

    /// What lies at a place.
    pub(crate) fn thing(&self, place: &Place) -> Option<Thing<'a>> {
        let Some((start, offset, _)) = block_of(place) else {
            return self.local(place).or(self.memory.fixed(place.address));
        };
        self.memory.in_block(start, offset).or_else(|| {
            let (symbols, kind, _) = self.typed(place, &[])?;
            Some(Thing {
                symbols,
                address: place.address,
                kind: part(symbols, kind, offset, 0)?,
            })
        })
    }

    /// A variable on a stack.
    fn local(&self, place: &Place) -> Option<Thing<'a>> {
        let PlaceKind::Stack { site, offset, .. } = place.kind else {
            return None;
        };
        let (symbols, address) = self.names.find(site)?;
        symbols.locals(address).into_iter().find_map(|variable| {
            let rest = u64::try_from(offset.checked_sub(variable.place)?).ok()?;
            (rest < symbols.size(variable.kind)?).then_some(())?;
            Some(Thing {
                symbols,
                address: place.address,
                kind: part(symbols, variable.kind, rest, 0)?,
            })
        })
    }

    /// How the values of an atomic are written.
    pub(crate) fn values(
        &self,
        thing: &Thing<'a>,
        execution: &Execution,
        object: ObjectId,
    ) -> Option<ValueType> {
        let Shape::Pointer(Some(target)) = thing.symbols.scalar(thing.kind)? else {
            return crate::memory_names::value_type(&thing.symbols.scalar(thing.kind)?);
        };
        let own = |event: &&reweave_model::Event| event.op.object() == Some(object);
        let first = match execution.objects.get(object.index()) {
            Some(reweave_model::Object::Atomic(word)) => Some(*word),
            _ => None,
        };
        let later = execution.events.iter().filter(own);
        let words: BTreeSet<u64> = later.flat_map(|it| it.values()).chain(first).collect();
        // A number is no pointer, whatever the type that was found: all of them lead somewhere, or to nothing.
        if words.iter().any(|word| (1..4096).contains(word)) {
            return None;
        }
        let names = words.into_iter().filter_map(|word| {
            let name = self.pointer(word, thing.symbols, target)?;
            Some((word.cast_signed(), name))
        });
        Some(ValueType::Enum {
            names: names.collect(),
            bytes: 8,
        })
    }

    /// A value of so many bytes in a variable, where its type says what it means.
    pub(crate) fn told(&self, thing: &Thing<'a>, word: u64, bytes: u64) -> Option<String> {
        let shape = thing.symbols.scalar(thing.kind)?;
        match &shape {
            _ if bytes_of(&shape) != Some(bytes) => None,
            Shape::Pointer(Some(target)) => self.pointer(word, thing.symbols, *target),
            Shape::Pointer(None) => None,
            shape => Some(written(shape, word)),
        }
    }

    /// What a pointer to something of a type says. Low bits that no such pointer has are a tag.
    fn pointer(&self, word: u64, symbols: &'a Symbols, target: Type) -> Option<String> {
        let bytes = symbols.size(target).unwrap_or(1);
        let tag = if bytes.is_multiple_of(8) { word & 7 } else { 0 };
        let tagged = match tag {
            0 => String::new(),
            tag => format!("+{tag}"),
        };
        if word == 0 {
            return Some("null".into());
        }
        let mut place = (*self.places.get(&word)?).clone();
        place.address -= tag;
        let name = match &mut place.kind {
            PlaceKind::Static { offset } => {
                let class = symbols.type_name(target);
                let typed = class.and_then(|class| self.memory.typed(place.address, &class));
                let (symbols, address) = self.names.find(Site(*offset - tag as u32))?;
                format!("&{}", typed.or_else(|| symbols.variable(address, bytes))?)
            }
            PlaceKind::Stack { site, offset, .. } => {
                let (symbols, address) = self.names.find(*site)?;
                format!(
                    "&{}",
                    symbols.local(address, *offset - tag.cast_signed(), bytes)?
                )
            }
            PlaceKind::Heap { offset, .. } => {
                *offset = offset.checked_sub(tag)?;
                self.in_heap(&place, bytes, symbols, target)?
            }
            _ => return None,
        };
        Some(name + &tagged)
    }

    /// Which block it is is said by its number: paths change while the program runs.
    fn in_heap(
        &self,
        place: &Place,
        bytes: u64,
        symbols: &'a Symbols,
        target: Type,
    ) -> Option<String> {
        let (start, offset, length) = block_of(place)?;
        let path = self.memory.pointed(start, offset, bytes);
        if path.is_some() && self.memory.steady(start, &self.objects) {
            return path;
        }
        if offset == 0 && bytes == length {
            self.known(start, Some((symbols, target)));
        }
        let (symbols, kind, name) = self.typed(place, &[])?;
        // Its first member may be as long as it is.
        if offset == 0 && bytes == length {
            return Some(format!("&{name}"));
        }
        Some(format!(
            "&{}",
            join(&name, &symbols.path(kind, offset, bytes))
        ))
    }

    /// The type of a block and its name.
    fn typed(&self, place: &Place, stacks: &[&Stack]) -> Option<(&'a Symbols, Type, String)> {
        let (start, _, bytes) = block_of(place)?;
        let PlaceKind::Heap { site, .. } = place.kind else {
            return None;
        };
        if !self.known.borrow().blocks.contains_key(&start) {
            let mut sites = std::iter::once(site).chain(stacks.iter().copied().flatten().copied());
            let kind = sites.find_map(|site| self.pointed_at(site, bytes));
            self.known(start, kind);
        }
        let known = self.known.borrow();
        let (symbols, kind, name, number) = known.blocks.get(&start)?.as_ref()?;
        Some((symbols, *kind, format!("{name}#{number}")))
    }

    fn known(&self, start: u64, kind: Option<(&'a Symbols, Type)>) {
        let mut known = self.known.borrow_mut();
        let known = &mut *known;
        if matches!(known.blocks.get(&start), Some(Some(_))) {
            return;
        }
        let named = kind.and_then(|(symbols, kind)| {
            let name = short(&symbols.spoken_name(kind)?)?;
            let number = known.numbers.entry(name.clone()).or_default();
            *number += 1;
            Some((symbols, kind, name, *number))
        });
        known.blocks.insert(start, named);
    }

    /// The only type of this size that variables of the function at a site point to.
    fn pointed_at(&self, site: Site, bytes: u64) -> Option<(&'a Symbols, Type)> {
        let (symbols, address) = self.names.find(site)?;
        let fits = |kind: &Type| symbols.size(*kind) == Some(bytes);
        let own = |kind: &Type| {
            let name = symbols.spoken_name(*kind);
            name.is_some_and(|name| short(&name).is_some())
                && matches!(symbols.shape(*kind), Shape::Structure(_))
        };
        let kinds = symbols.pointees(address).into_iter().map(|(_, kind)| kind);
        let kinds: Vec<Type> = kinds.filter(fits).filter(own).collect();
        let first = *kinds.first()?;
        let name = symbols.spoken_name(first);
        let same = |kind: &Type| symbols.spoken_name(*kind) == name;
        kinds.iter().all(same).then_some((symbols, first))
    }
}

/// The name of a type without scopes and arguments; none for what belongs to a library.
fn short(name: &str) -> Option<String> {
    let plain = name.split('<').next()?;
    let foreign = ["std::", "__", "pthread_"];
    if foreign.iter().any(|it| plain.starts_with(it)) {
        return None;
    }
    let last = plain.rsplit("::").next()?;
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let readable = !last.is_empty() && last.chars().all(word) && last.len() <= LONGEST;
    readable.then(|| last.to_owned())
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn types_of_libraries_name_nothing() {
        assert_eq!(short("moodycamel::Queue<int, 3>").as_deref(), Some("Queue"));
        assert_eq!(short("node").as_deref(), Some("node"));
        assert_eq!(short("std::mutex"), None);
        assert_eq!(short("pthread_mutex_t"), None);
        assert_eq!(short("pool::{lambda}"), None);
    }
}
