//! Variables on the stack: where a function keeps them, counted from its canonical frame address (the stack pointer before
//! the call that entered it).

use gimli::{
    AttributeValue, BaseAddresses, CfaRule, EhFrame, Expression, Operation, Register, UnitRef,
    UnwindContext, UnwindSection, constants as dw,
};

use super::{
    Cfa,
    debug_info::{Bytes, Die, Entry, HOPS, Info},
    members,
};

const RBP: Register = Register(6);
const RSP: Register = Register(7);

/// `.eh_frame`: how each function's frame is found.
pub(super) struct Unwinding {
    pub(super) section: EhFrame<Bytes>,
    pub(super) bases: BaseAddresses,
}

impl Unwinding {
    pub(super) fn cfa(&self, address: u64) -> Option<Cfa> {
        let mut context = UnwindContext::new();
        let row = self.section.unwind_info_for_address(
            &self.bases,
            &mut context,
            address,
            EhFrame::cie_from_offset,
        );
        match *row.ok()?.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => match register {
                RBP => Some(Cfa::BasePointer(offset)),
                RSP => Some(Cfa::StackPointer(offset)),
                _ => None,
            },
            CfaRule::Expression(_) => None,
        }
    }
}

/// One question: who lies at this offset in the frame of this function, while it is at this address?
pub(super) struct Search<'a> {
    pub(super) info: &'a Info,
    pub(super) function: Die,
    pub(super) address: u64,
    pub(super) cfa: Option<Cfa>,
    pub(super) offset: i64,
    pub(super) size: u64,
}

/// A variable that holds the place, how deeply its scope is nested, and whether the address is inside that scope.
struct Candidate {
    name: String,
    rank: (bool, usize),
}

impl Search<'_> {
    /// Variables whose scope contains the address come first, the innermost of them; then one whose scope has ended.
    pub(super) fn run(&self) -> Option<String> {
        let mut found: Option<Candidate> = None;
        let base = self.base();
        self.scope(self.function, base, (true, 0), &mut |candidate| {
            if found.as_ref().is_none_or(|old| old.rank < candidate.rank) {
                found = Some(candidate);
            }
        });
        found.map(|candidate| candidate.name)
    }

    /// All variables that lie in the frame while the function is at the address: name, offset, type.
    pub(super) fn all(&self) -> Vec<(String, i64, Die)> {
        let mut found = Vec::new();
        let base = self.base();
        self.live(self.function, base, 0, &mut found);
        found
    }

    /// All variables and parameters of the function and of what is inlined at the address, wherever they are.
    pub(super) fn pointers(&self) -> Vec<(String, Die)> {
        let mut found = Vec::new();
        let mut scopes = vec![self.function];
        while let Some(scope) = scopes.pop().filter(|_| found.len() < 4 * HOPS) {
            for entry in self.info.children(scope) {
                let die = Die {
                    unit: scope.unit,
                    offset: entry.offset(),
                };
                match entry.tag() {
                    dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                        found.extend(self.info.name(die).zip(self.info.type_of(die)));
                    }
                    dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine
                        if self.inside(scope.unit, &entry) =>
                    {
                        scopes.push(die);
                    }
                    _ => {}
                }
            }
        }
        found
    }

    fn live(
        &self,
        scope: Die,
        base: Option<i64>,
        depth: usize,
        found: &mut Vec<(String, i64, Die)>,
    ) {
        if depth > HOPS {
            return;
        }
        for entry in self.info.children(scope) {
            let die = Die {
                unit: scope.unit,
                offset: entry.offset(),
            };
            match entry.tag() {
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                    let unit = self.info.unit(die.unit);
                    let Some(location) = entry.attr_value(dw::DW_AT_location) else {
                        continue;
                    };
                    let here = self.expressions(unit, location).into_iter();
                    let here = here.filter(|(_, here)| *here);
                    let begin = here
                        .filter_map(|(expression, here)| self.begin(unit, expression, here, base))
                        .next();
                    let known = begin.and_then(|begin| {
                        Some((self.info.name(die)?, begin, self.info.type_of(die)?))
                    });
                    found.extend(known);
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine
                    if self.inside(scope.unit, &entry) =>
                {
                    self.live(die, base, depth + 1, found);
                }
                _ => {}
            }
        }
    }

    /// Where a variable begins that lies in the frame.
    fn begin(
        &self,
        unit: UnitRef<'_, Bytes>,
        expression: Expression<Bytes>,
        here: bool,
        base: Option<i64>,
    ) -> Option<i64> {
        let (base, offset) = match single(unit, expression)? {
            Operation::FrameOffset { offset } => (base?, offset),
            Operation::RegisterOffset {
                register, offset, ..
            } if here => (self.register(register)?, offset),
            _ => return None,
        };
        base.checked_add(offset)
    }

    fn scope(
        &self,
        scope: Die,
        base: Option<i64>,
        rank: (bool, usize),
        found: &mut impl FnMut(Candidate),
    ) {
        let (live, depth) = rank;
        if depth > HOPS {
            return;
        }
        for entry in self.info.children(scope) {
            let die = Die {
                unit: scope.unit,
                offset: entry.offset(),
            };
            match entry.tag() {
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                    if let Some((name, here)) = self.variable(die, &entry, base) {
                        let rank = (live && here, depth);
                        found(Candidate { name, rank });
                    }
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine => {
                    let live = live && self.inside(scope.unit, &entry);
                    self.scope(die, base, (live, depth + 1), found);
                }
                _ => {}
            }
        }
    }

    fn inside(&self, unit: usize, entry: &Entry) -> bool {
        let Ok(mut ranges) = self.info.unit(unit).die_ranges(entry) else {
            return false;
        };
        while let Ok(Some(range)) = ranges.next() {
            if (range.begin..range.end).contains(&self.address) {
                return true;
            }
        }
        false
    }

    /// The name of the variable with the path to the place, if it holds the place, and whether it does so here: optimised
    /// code may forget that a variable is still where it was.
    fn variable(&self, die: Die, entry: &Entry, base: Option<i64>) -> Option<(String, bool)> {
        let unit = self.info.unit(die.unit);
        let kind = self.info.type_of(die)?;
        let size = members::size(self.info, kind)?;
        for (expression, here) in self.expressions(unit, entry.attr_value(dw::DW_AT_location)?) {
            let begin = self.begin(unit, expression, here, base);
            let inside = begin.and_then(|begin| self.offset.checked_sub(begin));
            let inside = inside.and_then(|inside| u64::try_from(inside).ok());
            if let Some(inside) = inside.filter(|&inside| inside < size) {
                let path = members::path(self.info, kind, inside, self.size);
                return Some((self.info.name(die)? + &path, here));
            }
        }
        None
    }

    /// Where something is, and whether it is so at the address, of something that may move; that first.
    fn expressions(
        &self,
        unit: UnitRef<'_, Bytes>,
        location: AttributeValue<Bytes>,
    ) -> Vec<(Expression<Bytes>, bool)> {
        if let AttributeValue::Exprloc(expression) = location {
            return vec![(expression, true)];
        }
        let mut found = Vec::new();
        if let Ok(Some(mut locations)) = unit.attr_locations(location) {
            while let Ok(Some(location)) = locations.next() {
                let here = location.range.begin..location.range.end;
                found.push((location.data, here.contains(&self.address)));
            }
        }
        found.sort_by_key(|&(_, here)| !here);
        found
    }

    /// The frame base of the function, counted from its canonical frame address.
    fn base(&self) -> Option<i64> {
        let unit = self.info.unit(self.function.unit);
        let entry = self.info.entry(self.function)?;
        let expressions = self.expressions(unit, entry.attr_value(dw::DW_AT_frame_base)?);
        let (expression, _) = expressions.into_iter().find(|&(_, here)| here)?;
        match single(unit, expression)? {
            Operation::CallFrameCFA => Some(0),
            Operation::Register { register } => self.register(register),
            Operation::RegisterOffset {
                register, offset, ..
            } => self.register(register)?.checked_add(offset),
            _ => None,
        }
    }

    /// Where a register points, counted from the canonical frame address.
    fn register(&self, register: Register) -> Option<i64> {
        match (self.cfa?, register) {
            (Cfa::BasePointer(offset), RBP) | (Cfa::StackPointer(offset), RSP) => {
                offset.checked_neg()
            }
            _ => None,
        }
    }
}

/// The operation of an expression that has but one.
fn single(unit: UnitRef<'_, Bytes>, expression: Expression<Bytes>) -> Option<Operation<Bytes>> {
    let mut operations = expression.operations(unit.encoding());
    let first = operations.next().ok()?;
    operations.next().ok()?.is_none().then_some(first)?
}
