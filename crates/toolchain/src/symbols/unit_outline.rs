//! One pass over a unit: which entry lies in which, and which variables have a fixed place.

use gimli::{AttributeValue, Operation, UnitOffset, UnitRef, constants as dw};

use super::debug_info::Bytes;

/// Where a variable lies that is not on a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Static {
    /// At this address.
    Program(u64),
    /// At this offset in the block that each thread has.
    Thread(u64),
}

/// What is known of a unit after one pass.
#[derive(Default)]
pub(super) struct Outline {
    /// Entry and the entry around it, ascending.
    parents: Vec<(UnitOffset, UnitOffset)>,
    pub(super) statics: Vec<(UnitOffset, Static)>,
}

impl Outline {
    /// Reads the unit, up to the first damage.
    pub(super) fn read(unit: UnitRef<'_, Bytes>) -> Outline {
        let mut outline = Outline::default();
        // An error ends the pass; what was found before it stays.
        let _ = outline.fill(unit);
        outline
    }

    fn fill(&mut self, unit: UnitRef<'_, Bytes>) -> gimli::Result<()> {
        let mut entries = unit.entries_raw(None)?;
        let mut around: Vec<UnitOffset> = Vec::new();
        let mut attributes = Vec::new();
        while !entries.is_empty() {
            let offset = entries.next_offset();
            let Some(abbreviation) = entries.read_abbreviation()? else {
                around.pop();
                continue;
            };
            if let Some(&parent) = around.last() {
                self.parents.push((offset, parent));
            }
            if abbreviation.has_children() {
                around.push(offset);
            }
            if abbreviation.tag() != dw::DW_TAG_variable {
                entries.skip_attributes(abbreviation.attributes())?;
                continue;
            }
            entries.read_attributes(abbreviation.attributes(), &mut attributes)?;
            let location = attributes
                .iter()
                .find(|attribute| attribute.name() == dw::DW_AT_location);
            let place = location.and_then(|location| place(unit, location.value()));
            self.statics.extend(place.map(|place| (offset, place)));
        }
        Ok(())
    }

    pub(super) fn parent(&self, entry: UnitOffset) -> Option<UnitOffset> {
        let at = self
            .parents
            .binary_search_by_key(&entry.0, |(entry, _)| entry.0);
        Some(self.parents[at.ok()?].1)
    }
}

/// The place that a location says, if it is a fixed one.
fn place(unit: UnitRef<'_, Bytes>, location: AttributeValue<Bytes>) -> Option<Static> {
    let AttributeValue::Exprloc(expression) = location else {
        return None;
    };
    let mut operations = expression.operations(unit.encoding());
    let mut place = match operations.next().ok()?? {
        Operation::Address { address } => Static::Program(address),
        Operation::AddressIndex { index } => Static::Program(unit.address(index).ok()?),
        Operation::UnsignedConstant { value } => Static::Thread(value),
        Operation::ConstantIndex { index } => Static::Thread(unit.address(index).ok()?),
        _ => return None,
    };
    // A constant is the place of a thread's variable only if the next operation says so.
    let mut meant = matches!(place, Static::Program(_));
    while let Some(operation) = operations.next().ok()? {
        match (operation, &mut place) {
            (Operation::TLS, Static::Thread(_)) => meant = true,
            (Operation::PlusConstant { value }, Static::Program(at) | Static::Thread(at)) => {
                *at = at.checked_add(value)?;
            }
            _ => return None,
        }
    }
    // Variables that the linker dropped are at zero.
    (meant && place != Static::Program(0)).then_some(place)
}
