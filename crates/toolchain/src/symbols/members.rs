//! Which part of an object an access means: `.lock`, `[3].owner`, `.{head,tail}`.
//!
//! The path goes to the most deeply nested member that holds all of the access. It ends above what a library hides: members
//! with reserved names declared in a foreign header, so that a `pthread_mutex_t` or a `std::atomic<int>` is one thing.
//! Bases of classes, anonymous structures and unions add nothing to the path.

use gimli::{AttributeValue, Operation, constants as dw};

use super::debug_info::{Die, Entry, HOPS, Info};

/// Entries looked at for one answer; more only where types of a damaged file contain themselves.
const PATIENCE: u32 = 20_000;

/// Members named one by one when an access touches several.
const LISTED: usize = 3;

/// A path into an object of this type, for an access of `size` bytes (0 counts as 1) at `offset`; `+n` for the rest of
/// the way where the path does not lead to the very place.
pub(super) fn path(info: &Info, kind: Die, offset: u64, size: u64) -> String {
    let mut walk = Walk::new(info);
    let part = walk.part(kind, offset, size.max(1));
    if part.rest == 0 {
        part.path
    } else {
        format!("{}+{}", part.path, part.rest)
    }
}

/// Bytes of an object of this type; `None`: not told, as for an array without bounds.
pub(super) fn size(info: &Info, kind: Die) -> Option<u64> {
    Walk::new(info).size(kind)
}

/// A type without typedefs and qualifiers.
pub(super) fn bare(info: &Info, kind: Die) -> Option<(Die, Entry)> {
    Walk::new(info).bare(kind)
}

/// Members and bases of a structure, with their types and where they begin. Members of some bits are left out.
pub(super) fn fields(info: &Info, structure: Die) -> Vec<(Option<String>, Die, u64)> {
    let fields = Walk::new(info).fields(structure).into_iter();
    let whole = fields.filter(|field| !field.bits);
    whole
        .map(|field| (field.name, field.kind, field.begin))
        .collect()
}

struct Walk<'a> {
    info: &'a Info,
    patience: u32,
    /// Types that contain one another, around the one that is looked at.
    depth: usize,
}

/// An answer, from some type on.
#[derive(Default)]
struct Part {
    path: String,
    /// From where the path leads to the beginning of the access.
    rest: u64,
    /// The path leads to something of the very size of the access.
    fits: bool,
    /// The inside of a library's type: nothing is to be said about a place in it.
    closed: bool,
}

/// A member or a base of a structure; bytes `begin..end` of it.
struct Field {
    name: Option<String>,
    kind: Die,
    begin: u64,
    end: u64,
    bits: bool,
}

impl Field {
    fn holds(&self, offset: u64, size: u64) -> bool {
        self.begin <= offset && offset.saturating_add(size) <= self.end
    }

    fn meets(&self, offset: u64, size: u64) -> bool {
        self.begin < offset.saturating_add(size) && offset < self.end
    }
}

impl<'a> Walk<'a> {
    fn new(info: &'a Info) -> Walk<'a> {
        Walk {
            info,
            patience: PATIENCE,
            depth: 0,
        }
    }

    /// Answers about a type inside others, unless it is too deep inside.
    fn inside<T>(&mut self, answer: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth == HOPS || !self.step() {
            return None;
        }
        self.depth += 1;
        let answer = answer(self);
        self.depth -= 1;
        answer
    }

    /// Counts an entry; false when enough were looked at.
    fn step(&mut self) -> bool {
        self.patience = self.patience.saturating_sub(1);
        self.patience > 0
    }

    /// What a type is without typedefs and qualifiers, in the unit that tells all of it.
    fn bare(&mut self, mut kind: Die) -> Option<(Die, Entry)> {
        for _ in 0..HOPS {
            let entry = self.info.entry(kind)?;
            if let Some(full) = self.info.signed(&entry) {
                kind = full;
                continue;
            }
            match entry.tag() {
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type => kind = self.info.type_of(kind)?,
                _ => return Some((kind, entry)),
            }
        }
        None
    }

    fn size(&mut self, kind: Die) -> Option<u64> {
        self.inside(|walk| walk.size_of(kind))
    }

    fn size_of(&mut self, kind: Die) -> Option<u64> {
        let (kind, entry) = self.bare(kind)?;
        if let Some(size) = number(&entry, dw::DW_AT_byte_size) {
            return Some(size);
        }
        match entry.tag() {
            dw::DW_TAG_array_type => {
                let (lengths, element) = self.lengths(kind)?;
                let mut lengths = lengths.into_iter();
                lengths.try_fold(element, |size, length| {
                    size.checked_mul(length.filter(|&length| length > 0)?)
                })
            }
            dw::DW_TAG_atomic_type => {
                let inside = self.info.type_of(kind)?;
                self.size(inside)
            }
            dw::DW_TAG_pointer_type
            | dw::DW_TAG_reference_type
            | dw::DW_TAG_rvalue_reference_type => Some(8),
            _ => None,
        }
    }

    /// How many elements an array has in each dimension, and the size of an element.
    fn lengths(&mut self, array: Die) -> Option<(Vec<Option<u64>>, u64)> {
        let element = self.info.type_of(array)?;
        let element = self.size(element)?;
        let mut lengths = Vec::new();
        for entry in self.info.children(array) {
            if entry.tag() == dw::DW_TAG_subrange_type && self.step() {
                let bound = number(&entry, dw::DW_AT_upper_bound);
                let bound = bound.map(|bound| bound.wrapping_add(1));
                lengths.push(number(&entry, dw::DW_AT_count).or(bound));
            }
        }
        (element > 0 && !lengths.is_empty()).then_some((lengths, element))
    }

    fn part(&mut self, kind: Die, offset: u64, size: u64) -> Part {
        let part = self.inside(|walk| walk.part_of(kind, offset, size));
        part.unwrap_or_else(|| whole(offset))
    }

    fn part_of(&mut self, kind: Die, offset: u64, size: u64) -> Option<Part> {
        let (kind, entry) = self.bare(kind)?;
        match entry.tag() {
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                Some(self.structure(kind, &entry, offset, size))
            }
            dw::DW_TAG_array_type => self.array(kind, offset, size),
            // An atomic structure is read and written as a whole.
            dw::DW_TAG_atomic_type => Some(closed()),
            _ => Some(Part {
                fits: self.size(kind) == Some(size),
                ..whole(offset)
            }),
        }
    }

    fn array(&mut self, array: Die, offset: u64, size: u64) -> Option<Part> {
        let (lengths, element) = self.lengths(array)?;
        let mut path = String::new();
        let mut rest = offset;
        for (at, length) in lengths.iter().enumerate() {
            // All of the inner dimensions.
            let inner = lengths[at + 1..].iter();
            let stride = inner.fold(element, |size, length| {
                size.saturating_mul(length.unwrap_or(1).max(1))
            });
            let first = rest / stride;
            let last = rest.saturating_add(size - 1) / stride;
            let everything = first == 0 && Some(last.saturating_add(1)) == *length;
            rest %= stride;
            if first != last {
                if !everything {
                    path += &format!("[{first}...{last}]");
                }
                return Some(Part {
                    path,
                    rest: 0,
                    ..Part::default()
                });
            }
            path += &format!("[{first}]");
        }
        let element = self.info.type_of(array)?;
        let inner = self.part(element, rest, size);
        Some(Part {
            path: path + &inner.path,
            ..inner
        })
    }

    fn structure(&mut self, kind: Die, entry: &Entry, offset: u64, size: u64) -> Part {
        let name = self.info.name(kind);
        let foreign = self.info.foreign(kind);
        let hidden = |name: &str| foreign && reserved(name);
        // A type that is only declared tells nothing about its inside.
        let unknown = entry.attr(dw::DW_AT_declaration).is_some();
        if unknown || name.as_deref().is_some_and(hidden) {
            return closed();
        }
        let fields = self.fields(kind);
        let mut best: Option<Part> = None;
        for field in &fields {
            if field.bits || !field.holds(offset, size) {
                continue;
            }
            // The one member of a `std::array`, in two libraries.
            let shown = field.name.as_deref();
            let shown = shown.filter(|name| !["_M_elems", "__elems_"].contains(name));
            if shown.is_some_and(hidden) {
                return closed();
            }
            let inner = self.part(field.kind, offset - field.begin, size);
            let part = match shown {
                Some(name) => Part {
                    path: format!(".{name}{}", inner.path),
                    ..inner
                },
                None if inner.path.is_empty() && !inner.closed => Part {
                    rest: offset,
                    ..inner
                },
                None => inner,
            };
            // Last: a base without members of its own lies where the first member does.
            let tells = |part: &Part| part.closed || !part.path.is_empty();
            let rank = |part: &Part| (part.rest == 0, part.fits, tells(part));
            if best.as_ref().is_none_or(|best| rank(best) < rank(&part)) {
                best = Some(part);
            }
        }
        let total = number(entry, dw::DW_AT_byte_size);
        let everything = offset == 0 && total.is_some_and(|total| size >= total);
        best.or_else(|| everything.then(Part::default))
            .unwrap_or_else(|| several(&fields, hidden, offset, size))
    }

    /// Members and bases, in the order of the source.
    fn fields(&mut self, structure: Die) -> Vec<Field> {
        let mut fields = Vec::new();
        let lambda = self.info.is_lambda(structure);
        for entry in self.info.children(structure) {
            if !self.step() {
                break;
            }
            fields.extend(self.field(structure.unit, &entry, lambda));
        }
        // An array without bounds reaches to the next member, or as far as it likes.
        for at in 0..fields.len() {
            if fields[at].end == u64::MAX {
                let next = fields.iter().map(|field| field.begin);
                let next = next.filter(|&begin| begin > fields[at].begin).min();
                fields[at].end = next.unwrap_or(u64::MAX);
            }
        }
        fields
    }

    fn field(&mut self, unit: usize, entry: &Entry, lambda: bool) -> Option<Field> {
        let base = entry.tag() == dw::DW_TAG_inheritance;
        let member = entry.tag() == dw::DW_TAG_member;
        // Static members are variables, declared here and defined elsewhere.
        let declared = entry.attr(dw::DW_AT_declaration).is_some();
        if !(base || member) || declared {
            return None;
        }
        let die = Die {
            unit,
            offset: entry.offset(),
        };
        let kind = self.info.type_of(die)?;
        let name = self.info.name(die).filter(|_| member).map(|name| {
            if name.starts_with("_vptr") {
                "vptr".to_owned()
            } else if lambda {
                // What was captured, as it was called outside.
                name.trim_start_matches("__").to_owned()
            } else {
                name
            }
        });
        let begin = place(unit, entry, self.info)?;
        let bits = number(entry, dw::DW_AT_bit_size);
        let (begin, end) = match bits {
            Some(bits) => self.bits(entry, kind, begin, bits)?,
            None => {
                let size = self.size(kind);
                let end = size.map_or(u64::MAX, |size| begin.saturating_add(size));
                (begin, end)
            }
        };
        Some(Field {
            name,
            kind,
            begin,
            end,
            bits: bits.is_some(),
        })
    }

    /// The bytes that a bit-field touches.
    fn bits(&mut self, entry: &Entry, kind: Die, begin: u64, bits: u64) -> Option<(u64, u64)> {
        let first = match number(entry, dw::DW_AT_data_bit_offset) {
            Some(first) => first,
            None => {
                // Before version 5: counted from the most significant bit of a unit of storage.
                let own = number(entry, dw::DW_AT_byte_size);
                let unit = own.or_else(|| self.size(kind))?.checked_mul(8)?;
                let above = number(entry, dw::DW_AT_bit_offset).unwrap_or(0);
                let first = begin.checked_mul(8)?.checked_add(unit)?;
                first.checked_sub(above)?.checked_sub(bits)?
            }
        };
        Some((first / 8, first.checked_add(bits)?.div_ceil(8)))
    }
}

/// No path into what is looked at.
fn whole(offset: u64) -> Part {
    Part {
        rest: offset,
        ..Part::default()
    }
}

fn closed() -> Part {
    Part {
        closed: true,
        ..Part::default()
    }
}

/// The answer where no single member holds the access: the members it touches.
fn several(fields: &[Field], hidden: impl Fn(&str) -> bool, offset: u64, size: u64) -> Part {
    let met = fields.iter().filter(|field| field.meets(offset, size));
    let names: Option<Vec<&str>> = met.map(|field| field.name.as_deref()).collect();
    let names = names.unwrap_or_default();
    if names.iter().any(|name| hidden(name)) {
        return closed();
    }
    let path = match names.as_slice() {
        [] => return whole(offset),
        [name] => format!(".{name}"),
        [first, .., last] if names.len() > LISTED => format!(".{{{first}...{last}}}"),
        names => format!(".{{{}}}", names.join(",")),
    };
    Part {
        path,
        ..Part::default()
    }
}

/// Where a member or a base begins; `None` for a virtual base, which only the object itself knows.
fn place(unit: usize, entry: &Entry, info: &Info) -> Option<u64> {
    match entry.attr_value(dw::DW_AT_data_member_location) {
        None => Some(0),
        Some(AttributeValue::Exprloc(expression)) => {
            let mut operations = expression.operations(info.unit(unit).encoding());
            match operations.next().ok()?? {
                Operation::PlusConstant { value } => Some(value),
                _ => None,
            }
        }
        Some(value) => value.udata_value(),
    }
}

fn number(entry: &Entry, name: dw::DwAt) -> Option<u64> {
    entry.attr_value(name)?.udata_value()
}

/// Names that the language keeps for its implementation.
fn reserved(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next() == Some(b'_')
        && bytes
            .next()
            .is_some_and(|second| second == b'_' || second.is_ascii_uppercase())
}
