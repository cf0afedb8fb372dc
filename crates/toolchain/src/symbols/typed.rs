//! Variables with their types: which there are, what a type is made of, how a value of it is written.
//!
//! *Decides:* how values look. *Called by:* `reweave-native`, which knows what memory held. *Owns:* nothing.

use super::{
    Symbols,
    debug_info::{Die, Entry, HOPS, Info},
    locals::Search,
    members, output,
};
use gimli::{AttributeValue, constants as dw};

/// A type of one file's debug information.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Type(Die);

/// A variable with a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its name, with scopes.
    pub name: String,
    /// Its address, or its distance from the end of its function's frame.
    pub place: i64,
    /// What it holds.
    pub kind: Type,
}

/// What a type is.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Shape {
    Signed {
        bytes: u64,
    },
    Unsigned {
        bytes: u64,
    },
    Character,
    Bool,
    Float {
        bytes: u64,
    },
    Enum {
        names: Vec<(i64, String)>,
        bytes: u64,
    },
    /// To what, where that is known.
    Pointer(Option<Type>),
    /// Members and bases (those have no name).
    Structure(Vec<Member>),
    Array {
        element: Type,
        count: u64,
    },
    Other,
}

/// A member of a structure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// `None`: a base, or what has no name.
    pub name: Option<String>,
    /// Where it begins.
    pub offset: u64,
    /// What it is.
    pub kind: Type,
}

impl Symbols {
    /// All variables that have a fixed place.
    pub fn globals(&self) -> Vec<Variable> {
        let info = self.info();
        let statics = self.statics().program.iter();
        let known = statics.filter_map(|(address, die)| {
            Some(Variable {
                name: info.qualified(*die)?,
                place: address.cast_signed(),
                kind: Type(info.type_of(*die)?),
            })
        });
        known.collect()
    }

    /// The variables that the function at this return address keeps in its frame at that place.
    pub fn locals(&self, return_address: u64) -> Vec<Variable> {
        self.search(return_address, 0, 1)
            .map_or_else(Vec::new, |search| search.all())
            .into_iter()
            .map(|(name, place, kind)| Variable {
                name,
                place,
                kind: Type(kind),
            })
            .collect()
    }

    /// The types that variables of the function at this return address point to, also of those that lie in registers.
    pub fn pointees(&self, return_address: u64) -> Vec<(String, Type)> {
        let all = self.search(return_address, 0, 1);
        let all = all.map_or_else(Vec::new, |search| search.pointers());
        let known = all
            .into_iter()
            .filter_map(|(name, kind)| match self.shape(Type(kind)) {
                Shape::Pointer(Some(target)) => Some((name, target)),
                _ => None,
            });
        known.collect()
    }

    pub(super) fn search(&self, return_address: u64, offset: i64, size: u64) -> Option<Search<'_>> {
        let address = return_address.checked_sub(1)?;
        let unit = self.unit_at(address)?;
        let mut frames = output(self.lines()?.find_frames(address))?.ok()?;
        let mut function = None;
        while let Ok(Some(frame)) = frames.next() {
            function = frame.dw_die_offset;
        }
        let info = self.info();
        Some(Search {
            info,
            function: Die {
                unit: info.same(&unit)?,
                offset: function?,
            },
            address,
            cfa: self.unwinding.cfa(address),
            offset,
            size,
        })
    }

    /// What a type is, without typedefs and qualifiers.
    pub fn shape(&self, kind: Type) -> Shape {
        shape(self.info(), kind.0).unwrap_or(Shape::Other)
    }

    /// The name of a type, with scopes.
    pub fn type_name(&self, kind: Type) -> Option<String> {
        let (die, _) = members::bare(self.info(), kind.0)?;
        self.info().qualified(die)
    }

    /// What programmers call a type: by its typedef, or its own name.
    pub fn spoken_name(&self, kind: Type) -> Option<String> {
        let info = self.info();
        let mut die = kind.0;
        for _ in 0..HOPS {
            let entry = info.entry(die)?;
            match entry.tag() {
                dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type => die = info.type_of(die)?,
                dw::DW_TAG_typedef => return info.qualified(die),
                _ => return self.type_name(Type(die)),
            }
        }
        None
    }

    /// Bytes of a type.
    pub fn size(&self, kind: Type) -> Option<u64> {
        members::size(self.info(), kind.0)
    }

    /// The path to the member at an offset: `.lock`, `[3].owner`.
    pub fn path(&self, kind: Type, offset: u64, size: u64) -> String {
        members::path(self.info(), kind.0, offset, size)
    }

    /// The single value that a type holds, also inside of a library's structure such as `std::atomic<int>`.
    pub fn scalar(&self, mut kind: Type) -> Option<Shape> {
        for _ in 0..8 {
            match self.shape(kind) {
                Shape::Structure(members) => {
                    // Bases without members of their own lie at the beginning too.
                    let filled = members.iter().filter(|it| !self.is_empty(it.kind));
                    let [only] = filled.collect::<Vec<_>>()[..] else {
                        return None;
                    };
                    kind = only.kind;
                }
                Shape::Array { .. } | Shape::Other => return None,
                shape => return Some(shape),
            }
        }
        None
    }

    fn is_empty(&self, kind: Type) -> bool {
        matches!(self.shape(kind), Shape::Structure(members) if members.iter().all(|it| self.is_empty(it.kind)))
    }
}

fn shape(info: &Info, kind: Die) -> Option<Shape> {
    let (die, entry) = members::bare(info, kind)?;
    let bytes = || members::size(info, die).filter(|bytes| (1..=8).contains(bytes));
    Some(match entry.tag() {
        dw::DW_TAG_base_type => base(&entry, bytes()?),
        dw::DW_TAG_enumeration_type => Shape::Enum {
            names: names(info, die),
            bytes: bytes()?,
        },
        dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
            Shape::Pointer(info.type_of(die).map(Type))
        }
        dw::DW_TAG_atomic_type => return shape(info, info.type_of(die)?),
        dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
            let members = members::fields(info, die).into_iter();
            let members = members.map(|(name, kind, offset)| Member {
                name,
                offset,
                kind: Type(kind),
            });
            Shape::Structure(members.collect())
        }
        dw::DW_TAG_array_type => {
            let element = info.type_of(die)?;
            let each = members::size(info, element).filter(|each| *each > 0)?;
            Shape::Array {
                element: Type(element),
                count: members::size(info, die).unwrap_or(0) / each,
            }
        }
        _ => Shape::Other,
    })
}

fn base(entry: &Entry, bytes: u64) -> Shape {
    match entry.attr_value(dw::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => match encoding {
            dw::DW_ATE_boolean => Shape::Bool,
            dw::DW_ATE_signed_char | dw::DW_ATE_unsigned_char => Shape::Character,
            dw::DW_ATE_signed => Shape::Signed { bytes },
            dw::DW_ATE_float => Shape::Float { bytes },
            _ => Shape::Unsigned { bytes },
        },
        _ => Shape::Unsigned { bytes },
    }
}

fn names(info: &Info, die: Die) -> Vec<(i64, String)> {
    let children = info.children(die).into_iter();
    let known = children.filter(|entry| entry.tag() == dw::DW_TAG_enumerator);
    let known = known.filter_map(|entry| {
        let value = entry.attr_value(dw::DW_AT_const_value)?;
        let number = value
            .sdata_value()
            .or_else(|| value.udata_value().map(u64::cast_signed));
        let name = entry.attr_value(dw::DW_AT_name)?;
        Some((number?, info.text(die.unit, name)?))
    });
    known.collect()
}
