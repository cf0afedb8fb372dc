//! What memory is called, and what it holds: from the variables of the program along its pointers, by the types that debug information
//! gives them.
//!
//! *Decides:* by which path a block of the heap is called (`queue->lock`), how a value is written, which variables a condition names.
//! *Called by:* `named_trace`. *Owns:* the paths that were found. Memory is as it was at the failure, or at the end of the run.

use crate::{conditions::paths, program_names::ProgramNames};
use reweave_model::Site;
use reweave_toolchain::symbols::{Shape, Symbols, Type};
use reweave_wire::{MemoryImage, MemoryWrite, StackFrame};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// Steps of the walk through memory, and elements of an array that are looked at.
const PATIENCE: usize = 50_000;
const ELEMENTS: u64 = 64;

/// Members inside of each other.
const DEEPEST: usize = 12;

/// A variable, or a part of one: where it is and what it holds.
#[derive(Clone)]
pub(crate) struct Thing<'a> {
    pub(crate) symbols: &'a Symbols,
    pub(crate) address: u64,
    pub(crate) kind: Type,
}

/// A variable that a condition names.
pub(crate) struct Named<'a> {
    pub(crate) name: String,
    pub(crate) value: String,
    /// The last write to it.
    pub(crate) written: Option<MemoryWrite>,
    pub(crate) thing: Thing<'a>,
}

/// A block of the heap, by the pointer that was found first.
struct Claim<'a> {
    /// The pointer: `queue`, `pool.workers`.
    path: String,
    /// What it points to, and where.
    thing: Thing<'a>,
    fit: Fit,
    /// Where the pointer is; 0: in a register.
    holder: u64,
}

/// How much of a block a pointer's type says.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Part,
    Array,
    Whole,
}

/// See the module.
pub(crate) struct MemoryNames<'a> {
    image: &'a MemoryImage,
    names: &'a ProgramNames,
    /// Blocks by their first byte.
    claims: BTreeMap<u64, Claim<'a>>,
    /// Objects by the name of their type; `None`: there are several.
    by_type: HashMap<String, Option<Thing<'a>>>,
    /// Fixed variables by name.
    globals: HashMap<String, Thing<'a>>,
    /// First bytes and lengths of the blocks.
    blocks: BTreeMap<u64, u64>,
}

impl<'a> MemoryNames<'a> {
    /// Walks through memory. `more` are blocks that memory does not have any more.
    pub(crate) fn new(
        names: &'a ProgramNames,
        image: &'a MemoryImage,
        more: impl Iterator<Item = (u64, u64)>,
    ) -> MemoryNames<'a> {
        let blocks = image.regions.iter().filter(|region| region.site.is_none());
        let mut blocks: BTreeMap<u64, u64> = blocks
            .map(|region| (region.start, region.bytes.len() as u64))
            .collect();
        for (start, bytes) in more {
            blocks.entry(start).or_insert(bytes);
        }
        let mut known = MemoryNames {
            image,
            names,
            claims: BTreeMap::new(),
            by_type: HashMap::new(),
            globals: HashMap::new(),
            blocks,
        };
        known.walk();
        known.guess();
        known
    }

    fn walk(&mut self) {
        let mut todo: VecDeque<(String, Thing<'a>, usize)> = VecDeque::new();
        for region in &self.image.regions {
            let Some(site) = region.site else {
                continue;
            };
            let Some((symbols, from)) = self.names.find(site) else {
                continue;
            };
            let within = from..from + region.bytes.len() as u64;
            for variable in symbols.globals() {
                let place = variable.place.cast_unsigned();
                if within.contains(&place) {
                    let thing = Thing {
                        symbols,
                        address: region.start + (place - from),
                        kind: variable.kind,
                    };
                    self.globals.insert(variable.name.clone(), thing.clone());
                    todo.push_back((variable.name, thing, 0));
                }
            }
        }
        for frame in &self.image.frames {
            let locals = self.locals(frame).into_iter();
            let own = locals.filter(|(name, _)| !of_library(name));
            todo.extend(own.map(|(name, thing)| (name, thing, 0)));
        }
        let mut patience = PATIENCE;
        while let Some((path, thing, depth)) = todo.pop_front() {
            patience = match patience.checked_sub(1) {
                Some(left) if depth <= DEEPEST => left,
                _ => return,
            };
            self.visit(path, thing, depth, &mut todo);
        }
    }

    /// Blocks that no pointer in memory leads to: a pointer in a register may, if there is one block of the size of what it points to.
    fn guess(&mut self) {
        let frames = self.image.frames.iter();
        let mut pointers: Vec<(String, &'a Symbols, Type, u64)> = Vec::new();
        for (symbols, address) in frames.filter_map(|frame| self.names.find(frame.site)) {
            for (name, kind) in symbols.pointees(address) {
                let Some(size) = symbols.size(kind).filter(|size| *size > 8) else {
                    continue;
                };
                if symbols
                    .type_name(kind)
                    .is_some_and(|name| !name.starts_with("std::"))
                {
                    pointers.push((name, symbols, kind, size));
                }
            }
        }
        for (name, symbols, kind, size) in pointers {
            let mut same = self.blocks.iter().filter(|(_, bytes)| **bytes == size);
            let (Some((start, _)), None) = (same.next(), same.next()) else {
                continue;
            };
            let start = *start;
            let whole = |known: &Claim<'_>| known.fit == Fit::Whole;
            if self.on_stack(start) || self.claims.get(&start).is_some_and(whole) {
                continue;
            }
            // `this` names nothing, but its class does.
            let path = match name.as_str() {
                "this" => symbols.type_name(kind).unwrap_or(name),
                own if of_library(own) => symbols.type_name(kind).unwrap_or(name),
                _ => name,
            };
            let thing = Thing {
                symbols,
                address: start,
                kind,
            };
            if let Some(class) = symbols.type_name(kind) {
                self.by_type.insert(class, Some(thing.clone()));
            }
            let claim = Claim {
                path,
                thing,
                fit: Fit::Whole,
                holder: 0,
            };
            self.claims.insert(start, claim);
        }
    }

    /// The variables that a frame has in memory.
    fn locals(&self, frame: &StackFrame) -> Vec<(String, Thing<'a>)> {
        let Some((symbols, address)) = self.names.find(frame.site) else {
            return Vec::new();
        };
        let locals = symbols.locals(address).into_iter();
        let things = locals.map(|variable| {
            let thing = Thing {
                symbols,
                address: frame.end.wrapping_add_signed(variable.place),
                kind: variable.kind,
            };
            (variable.name, thing)
        });
        things.collect()
    }

    fn visit(
        &mut self,
        path: String,
        thing: Thing<'a>,
        depth: usize,
        todo: &mut VecDeque<(String, Thing<'a>, usize)>,
    ) {
        let symbols = thing.symbols;
        match symbols.shape(thing.kind) {
            Shape::Structure(members) => {
                if let Some(name) = symbols.type_name(thing.kind) {
                    let again = |known: &Option<Thing<'_>>| {
                        known
                            .as_ref()
                            .is_some_and(|known| known.address == thing.address)
                    };
                    let known = self
                        .by_type
                        .entry(name)
                        .or_insert_with(|| Some(thing.clone()));
                    if !again(known) {
                        *known = None;
                    }
                }
                for member in members {
                    let part = Thing {
                        symbols,
                        address: thing.address.wrapping_add(member.offset),
                        kind: member.kind,
                    };
                    todo.push_back((inside(&path, member.name.as_deref()), part, depth + 1));
                }
            }
            Shape::Array { element, count } => {
                let Some(size) = symbols
                    .size(element)
                    .filter(|_| holds_pointers(symbols, element, 0))
                else {
                    return;
                };
                for index in 0..count.min(ELEMENTS) {
                    let part = Thing {
                        symbols,
                        address: thing.address.wrapping_add(index * size),
                        kind: element,
                    };
                    todo.push_back((format!("{path}[{index}]"), part, depth + 1));
                }
            }
            Shape::Pointer(Some(target)) => {
                let Some(to) = self.word(thing.address, 8) else {
                    return;
                };
                let target = Thing {
                    kind: target,
                    address: to,
                    symbols,
                };
                self.claim(path, thing.address, target, depth, todo);
            }
            _ => {}
        }
    }

    /// A pointer of this path leads to a block.
    fn claim(
        &mut self,
        path: String,
        holder: u64,
        target: Thing<'a>,
        depth: usize,
        todo: &mut VecDeque<(String, Thing<'a>, usize)>,
    ) {
        let to = target.address;
        let Some((start, bytes)) = self.blocks.range(..=to).next_back() else {
            return;
        };
        let (start, bytes) = (*start, *bytes);
        let symbols = target.symbols;
        let Some(size) = symbols.size(target.kind).filter(|size| *size > 0) else {
            return;
        };
        // What points into the middle of a block says nothing about its beginning; a stack is no block.
        if to != start || self.on_stack(start) {
            return;
        }
        // A pointer to the first member claims less than one to all of it.
        let fit = match bytes {
            all if all == size => Fit::Whole,
            all if all % size == 0 => Fit::Array,
            _ => Fit::Part,
        };
        if self
            .claims
            .get(&start)
            .is_some_and(|known| known.fit >= fit)
        {
            return;
        }
        let count = (bytes / size).max(1);
        for index in 0..count.min(ELEMENTS) {
            let part = Thing {
                address: start + index * size,
                ..target.clone()
            };
            let name = match count {
                1 => format!("{path}->"),
                _ => format!("{path}[{index}]"),
            };
            todo.push_back((name, part, depth + 1));
        }
        self.claims.insert(
            start,
            Claim {
                path,
                thing: target,
                fit,
                holder,
            },
        );
    }

    fn on_stack(&self, address: u64) -> bool {
        let frames = self.image.frames.iter();
        let mut near = frames.filter(|frame| frame.end >= address);
        near.any(|frame| frame.end - address < 8 << 20)
    }

    /// What an address in a block is called.
    pub(crate) fn label(&self, start: u64, offset: u64) -> Option<String> {
        let (name, thing, rest) = self.claimed(start, offset)?;
        Some(join(&name, &thing.symbols.path(thing.kind, rest, 1)))
    }

    /// The element of a claimed block that an offset is in, and the rest of the way.
    fn claimed(&self, start: u64, offset: u64) -> Option<(String, &Thing<'a>, u64)> {
        let claim = self.claims.get(&start)?;
        let size = claim.thing.symbols.size(claim.thing.kind)?;
        let count = self.blocks.get(&start)? / size;
        let index = offset / size;
        let name = match (count, index) {
            (0 | 1, 0) => format!("{}->", claim.path),
            _ => format!("{}[{index}]", claim.path),
        };
        Some((name, &claim.thing, offset % size))
    }

    /// The variable of a block at an offset.
    pub(crate) fn in_block(&self, start: u64, offset: u64) -> Option<Thing<'a>> {
        let (_, thing, rest) = self.claimed(start, offset)?;
        part(thing.symbols, thing.kind, rest, 0).map(|kind| Thing {
            symbols: thing.symbols,
            address: start + offset,
            kind,
        })
    }

    /// A few bytes of memory as a number.
    fn word(&self, address: u64, bytes: u64) -> Option<u64> {
        let region = self.image.regions.iter().find(|region| {
            let offset = address.checked_sub(region.start);
            offset.is_some_and(|offset| offset + bytes <= region.bytes.len() as u64)
        })?;
        let from = (address - region.start) as usize;
        let mut word = [0; 8];
        word.get_mut(..bytes as usize)?
            .copy_from_slice(&region.bytes[from..from + bytes as usize]);
        Some(u64::from_le_bytes(word))
    }

    /// What a variable held.
    fn value(&self, thing: &Thing<'a>) -> Option<String> {
        let shape = thing.symbols.scalar(thing.kind)?;
        let word = self.word(thing.address, bytes_of(&shape)?)?;
        Some(match shape {
            Shape::Pointer(target) => self.pointer(word, thing.symbols, target)?,
            shape => written(&shape, word),
        })
    }

    /// What a pointer says: a name for what is there.
    fn pointer(&self, word: u64, symbols: &Symbols, target: Option<Type>) -> Option<String> {
        if word == 0 {
            return Some("null".into());
        }
        let bytes = target.and_then(|target| symbols.size(target)).unwrap_or(1);
        let class = target.and_then(|target| symbols.type_name(target));
        let typed = class.and_then(|class| self.typed(word, &class));
        if let Some(name) = typed.or_else(|| self.fixed_name(word, bytes)) {
            return Some(format!("&{name}"));
        }
        let (start, _) = self.blocks.range(..=word).next_back()?;
        self.pointed(*start, word - start, bytes)
    }

    /// The fixed variable of a type at an address: `nodes[0]`.
    pub(crate) fn typed(&self, address: u64, target: &str) -> Option<String> {
        self.globals.iter().find_map(|(name, thing)| {
            let offset = address.checked_sub(thing.address)?;
            let inside = offset < thing.symbols.size(thing.kind)?;
            let way = inside.then(|| way(thing.symbols, thing.kind, offset, target, 0))??;
            Some(name.clone() + &way)
        })
    }

    /// The fixed variable at an address, or the part of it that has so many bytes.
    fn fixed_name(&self, address: u64, bytes: u64) -> Option<String> {
        let region = self.image.regions.iter().find(|region| {
            let end = region.start + region.bytes.len() as u64;
            region.site.is_some() && (region.start..end).contains(&address)
        })?;
        let site = Site(region.site?.0 + (address - region.start) as u32);
        let (symbols, place) = self.names.find(site)?;
        symbols.variable(place, bytes)
    }

    /// The address of so many bytes in a block: `queue` where that is what points there, or `&queue->lock`.
    pub(crate) fn pointed(&self, start: u64, offset: u64, bytes: u64) -> Option<String> {
        let (name, thing, rest) = self.claimed(start, offset)?;
        let whole = rest == 0 && thing.symbols.size(thing.kind) <= Some(bytes);
        Some(match name.strip_suffix("->") {
            Some(pointer) if whole => pointer.to_owned(),
            _ => format!(
                "&{}",
                join(&name, &thing.symbols.path(thing.kind, rest, bytes))
            ),
        })
    }

    /// Whether a block is called by a variable that is no atomic and has not changed: by the same name in all of the run.
    pub(crate) fn steady(&self, start: u64, atomics: &BTreeSet<u64>) -> bool {
        self.claims.get(&start).is_some_and(|claim| {
            let fixed = claim.holder != 0 && !atomics.contains(&claim.holder);
            fixed && !claim.path.contains("->") && self.writes(claim.holder, 8).count() <= 1
        })
    }

    /// The writes to a variable, in their order.
    fn writes(&self, address: u64, bytes: u64) -> impl DoubleEndedIterator<Item = &MemoryWrite> {
        self.image.writes.iter().filter(move |write| {
            write.address < address + bytes && address < write.address + u64::from(write.bytes)
        })
    }

    /// The last write to a variable.
    fn written(&self, thing: &Thing<'a>) -> Option<&MemoryWrite> {
        let bytes = bytes_of(&thing.symbols.scalar(thing.kind)?)?;
        self.writes(thing.address, bytes).next_back()
    }

    /// What a variable held before all writes, and after each; nothing where some of them wrote more or less than the variable.
    pub(crate) fn history(
        &self,
        thing: &Thing<'a>,
    ) -> Option<(String, Vec<(MemoryWrite, String)>)> {
        let shape = thing.symbols.scalar(thing.kind)?;
        let bytes = bytes_of(&shape)?;
        let told = |word: u64| match &shape {
            Shape::Pointer(target) => {
                let name = self.pointer(word, thing.symbols, *target);
                name.unwrap_or_else(|| "a pointer".into())
            }
            shape => written(shape, word),
        };
        let (mut first, mut changes) = (None, Vec::new());
        for write in self.writes(thing.address, bytes) {
            let (before, after) = write.values?;
            if (write.address, u64::from(write.bytes)) != (thing.address, bytes) {
                return None;
            }
            first.get_or_insert_with(|| told(before));
            changes.push((*write, told(after)));
        }
        Some((first?, changes))
    }

    /// The variables that a condition names, with their values and last writes, as a function at this frame sees them.
    pub(crate) fn variables(&self, condition: &str, frame: Option<&StackFrame>) -> Vec<Named<'a>> {
        let mut known: Vec<Named<'a>> = Vec::new();
        for path in paths(condition) {
            let Some(thing) = self.resolve(&path, frame) else {
                continue;
            };
            if let Some(value) = self.value(&thing) {
                let name = path.concat();
                if known.iter().all(|other| other.name != name) {
                    known.push(Named {
                        name,
                        value,
                        written: self.written(&thing).copied(),
                        thing,
                    });
                }
            }
        }
        known
    }

    /// A path such as `queue`, `->`, `count`.
    fn resolve(&self, path: &[String], frame: Option<&StackFrame>) -> Option<Thing<'a>> {
        let (first, rest) = path.split_first()?;
        let mut thing = self.named(first, frame)?;
        let mut parts = rest.iter();
        while let Some(part) = parts.next() {
            thing = match part.as_str() {
                "." => self.member(&thing, parts.next()?)?,
                "->" => self.member(&self.follow(&thing)?, parts.next()?)?,
                "[" => {
                    let index = self.index(parts.next()?, frame)?;
                    parts.next();
                    self.element(&thing, index)?
                }
                _ => return None,
            };
        }
        Some(thing)
    }

    fn named(&self, name: &str, frame: Option<&StackFrame>) -> Option<Thing<'a>> {
        if let Some(frame) = frame {
            let local = self.locals(frame).into_iter().find(|(own, _)| own == name);
            if let Some((_, thing)) = local {
                return Some(thing);
            }
            // A member of the object whose function it is, where there is but one object of its class.
            let function = self.names.function(frame.site);
            let class = function.as_deref().and_then(|it| it.rsplit_once("::"));
            let object = class.and_then(|(class, _)| self.by_type.get(class)?.clone());
            if let Some(member) = object.and_then(|object| self.member(&object, name)) {
                return Some(member);
            }
            // A static variable of the function.
            let inner = function.map(|function| format!("{function}::{name}"));
            if let Some(thing) = inner.and_then(|inner| self.globals.get(&inner)) {
                return Some(thing.clone());
            }
        }
        let suffix = format!("::{name}");
        let scoped = || {
            let mut scoped = self
                .globals
                .iter()
                .filter(|(known, _)| known.ends_with(&suffix));
            let found = scoped.next()?.1.clone();
            scoped.next().is_none().then_some(found)
        };
        self.globals.get(name).cloned().or_else(scoped)
    }

    fn member(&self, thing: &Thing<'a>, name: &str) -> Option<Thing<'a>> {
        let mut todo = vec![(thing.clone(), 0)];
        while let Some((thing, depth)) = todo.pop() {
            let Shape::Structure(members) = thing.symbols.shape(thing.kind) else {
                continue;
            };
            for member in members {
                let part = Thing {
                    symbols: thing.symbols,
                    address: thing.address.wrapping_add(member.offset),
                    kind: member.kind,
                };
                match member.name.as_deref() {
                    Some(own) if own == name => return Some(part),
                    None if depth < DEEPEST => todo.push((part, depth + 1)),
                    _ => {}
                }
            }
        }
        None
    }

    fn follow(&self, thing: &Thing<'a>) -> Option<Thing<'a>> {
        let Shape::Pointer(Some(kind)) = thing.symbols.scalar(thing.kind)? else {
            return None;
        };
        Some(Thing {
            symbols: thing.symbols,
            address: self.word(thing.address, 8).filter(|to| *to != 0)?,
            kind,
        })
    }

    fn index(&self, text: &str, frame: Option<&StackFrame>) -> Option<u64> {
        text.parse().ok().or_else(|| {
            let thing = self.named(text, frame)?;
            let bytes = bytes_of(&thing.symbols.scalar(thing.kind)?)?;
            self.word(thing.address, bytes)
        })
    }

    fn element(&self, thing: &Thing<'a>, index: u64) -> Option<Thing<'a>> {
        let (address, kind) = match thing.symbols.shape(thing.kind) {
            Shape::Array { element, .. } => (thing.address, element),
            Shape::Pointer(Some(target)) => (self.word(thing.address, 8)?, target),
            _ => return None,
        };
        let size = thing.symbols.size(kind)?;
        Some(Thing {
            symbols: thing.symbols,
            address: address.checked_add(index.checked_mul(size)?)?,
            kind,
        })
    }

    /// The variable at an address of the program.
    pub(crate) fn fixed(&self, address: u64) -> Option<Thing<'a>> {
        self.globals.values().find_map(|thing| {
            let offset = address.checked_sub(thing.address)?;
            let size = thing.symbols.size(thing.kind)?;
            let kind = (offset < size).then(|| part(thing.symbols, thing.kind, offset, 0))??;
            Some(Thing {
                symbols: thing.symbols,
                address,
                kind,
            })
        })
    }
}

/// The way to a part of a type with a name, at an offset.
fn way(symbols: &Symbols, kind: Type, offset: u64, target: &str, depth: usize) -> Option<String> {
    if offset == 0 && symbols.type_name(kind).as_deref() == Some(target) {
        return Some(String::new());
    }
    if depth > DEEPEST {
        return None;
    }
    match symbols.shape(kind) {
        Shape::Structure(members) => members.iter().find_map(|member| {
            let rest = offset.checked_sub(member.offset)?;
            let within = rest < symbols.size(member.kind)?;
            let way = within.then(|| way(symbols, member.kind, rest, target, depth + 1))??;
            Some(inside("", member.name.as_deref()) + &way)
        }),
        Shape::Array { element, .. } => {
            let size = symbols.size(element).filter(|size| *size > 0)?;
            let way = way(symbols, element, offset % size, target, depth + 1)?;
            Some(format!("[{}]{way}", offset / size))
        }
        _ => None,
    }
}

/// The type of what begins at an offset, as far as a scalar.
pub(crate) fn part(symbols: &Symbols, kind: Type, offset: u64, depth: usize) -> Option<Type> {
    if offset == 0 && symbols.scalar(kind).is_some() {
        return Some(kind);
    }
    if depth > DEEPEST {
        return None;
    }
    match symbols.shape(kind) {
        Shape::Structure(members) => members.iter().find_map(|member| {
            let rest = offset.checked_sub(member.offset)?;
            let size = symbols.size(member.kind)?;
            (rest < size).then(|| part(symbols, member.kind, rest, depth + 1))?
        }),
        Shape::Array { element, .. } => {
            let size = symbols.size(element).filter(|size| *size > 0)?;
            part(symbols, element, offset % size, depth + 1)
        }
        _ => None,
    }
}

/// Whether no program may call a variable so.
fn of_library(name: &str) -> bool {
    name.starts_with("__")
}

fn holds_pointers(symbols: &Symbols, kind: Type, depth: usize) -> bool {
    match symbols.shape(kind) {
        Shape::Pointer(_) => true,
        Shape::Structure(members) if depth < 4 => members
            .iter()
            .any(|member| holds_pointers(symbols, member.kind, depth + 1)),
        Shape::Array { element, .. } if depth < 4 => holds_pointers(symbols, element, depth + 1),
        _ => false,
    }
}

/// A member of something. What a library keeps inside (`_M_ptr`) adds nothing.
fn inside(path: &str, member: Option<&str>) -> String {
    match member.filter(|name| !name.starts_with('_')) {
        Some(name) => join(path, &format!(".{name}")),
        None => path.to_owned(),
    }
}

/// `queue->` and `.lock` are `queue->lock`.
pub(crate) fn join(path: &str, more: &str) -> String {
    match (path.strip_suffix("->"), more.strip_prefix('.')) {
        (Some(_), Some(member)) => format!("{path}{member}"),
        (Some(pointer), None) if more.is_empty() => format!("*{pointer}"),
        (Some(pointer), None) => format!("(*{pointer}){more}"),
        _ => format!("{path}{more}"),
    }
}

/// Bytes of a scalar.
pub(crate) fn bytes_of(shape: &Shape) -> Option<u64> {
    Some(match shape {
        Shape::Signed { bytes } | Shape::Unsigned { bytes } | Shape::Enum { bytes, .. } => *bytes,
        Shape::Float { bytes } => Some(*bytes).filter(|bytes| [4, 8].contains(bytes))?,
        Shape::Character | Shape::Bool => 1,
        Shape::Pointer(_) => 8,
        Shape::Structure(_) | Shape::Array { .. } | Shape::Other => return None,
    })
}

/// A value as its programmer would write it.
pub(crate) fn written(shape: &Shape, word: u64) -> String {
    use reweave_report::ValueType;
    let known = value_type(shape).and_then(|kind: ValueType| kind.told(word));
    known.unwrap_or_else(|| match shape {
        Shape::Character => match u8::try_from(word & 0xff).map(char::from) {
            Ok(c) if c.is_ascii_graphic() => format!("'{c}'"),
            _ => (word & 0xff).to_string(),
        },
        Shape::Float { bytes: 4 } => f32::from_bits(word as u32).to_string(),
        Shape::Float { .. } => f64::from_bits(word).to_string(),
        _ if word < 1 << 32 => word.to_string(),
        _ => format!("{word:#x}"),
    })
}

/// How values of a scalar are written, for a trace.
pub(crate) fn value_type(shape: &Shape) -> Option<reweave_report::ValueType> {
    use reweave_report::ValueType;
    match shape {
        Shape::Signed { bytes } => Some(ValueType::Signed {
            bytes: *bytes as u32,
        }),
        Shape::Bool => Some(ValueType::Bool),
        Shape::Enum { names, bytes } => Some(ValueType::Enum {
            names: names.clone(),
            bytes: *bytes as u32,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_as_in_c() {
        assert_eq!(join("queue->", ".lock"), "queue->lock");
        assert_eq!(join("queue->", ""), "*queue");
        assert_eq!(join("nodes[2]", ".lock"), "nodes[2].lock");
        assert_eq!(inside("pool->", Some("_M_ptr")), "pool->");
    }
}
