//! Addresses as sums: a constant, and multiples of values that are not known. Two addresses are the same when their sums are.

use std::collections::{HashMap, HashSet};

/// A value that is not known, by a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Unknown(u32);

/// A sum, modulo 2^64.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct Form {
    pub constant: i64,
    /// Ascending, with factors other than zero.
    pub terms: Vec<(Unknown, i64)>,
}

impl Form {
    pub fn number(constant: i64) -> Form {
        Form {
            constant,
            terms: Vec::new(),
        }
    }

    pub fn plus(mut self, other: &Form) -> Form {
        self.constant = self.constant.wrapping_add(other.constant);
        for &(unknown, factor) in &other.terms {
            match self.terms.binary_search_by_key(&unknown, |term| term.0) {
                Ok(at) => {
                    self.terms[at].1 = self.terms[at].1.wrapping_add(factor);
                    if self.terms[at].1 == 0 {
                        self.terms.remove(at);
                    }
                }
                Err(at) => self.terms.insert(at, (unknown, factor)),
            }
        }
        self
    }

    pub fn times(mut self, factor: i64) -> Form {
        self.constant = self.constant.wrapping_mul(factor);
        for term in &mut self.terms {
            term.1 = term.1.wrapping_mul(factor);
        }
        self.terms.retain(|term| term.1 != 0);
        self
    }

    /// How far this lies behind another address, if that is a number.
    pub fn behind(&self, other: &Form) -> Option<i64> {
        (self.terms == other.terms).then(|| self.constant.wrapping_sub(other.constant))
    }
}

/// What a value was made of another by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Extension {
    /// The lower bits, with zeros above.
    Zero(usize),
    /// The lower bits, with copies of the highest of them above.
    Sign(usize),
}

impl Extension {
    fn of(self, number: i64) -> i64 {
        match self {
            Extension::Zero(bytes) => number & (u64::MAX >> (64 - 8 * bytes)) as i64,
            Extension::Sign(bytes) => {
                let above = 64 - 8 * bytes;
                number << above >> above
            }
        }
    }
}

/// Gives values that are not known their numbers.
#[derive(Default)]
pub(super) struct Unknowns {
    count: u32,
    symbols: HashMap<String, Unknown>,
    extended: HashMap<(Extension, Form), Unknown>,
    stacks: HashSet<Unknown>,
}

impl Unknowns {
    fn next(&mut self) -> Unknown {
        self.count += 1;
        Unknown(self.count)
    }

    /// A value that is equal to no other.
    pub fn fresh(&mut self) -> Form {
        one(self.next())
    }

    /// An address in the frame of the function.
    pub fn stack(&mut self) -> Form {
        let unknown = self.next();
        self.stacks.insert(unknown);
        one(unknown)
    }

    pub fn is_stack(&self, form: &Form) -> bool {
        form.terms.iter().any(|term| self.stacks.contains(&term.0))
    }

    /// The address of a symbol.
    pub fn symbol(&mut self, name: &str) -> Form {
        if let Some(&known) = self.symbols.get(name) {
            return one(known);
        }
        let unknown = self.next();
        self.symbols.insert(name.to_owned(), unknown);
        one(unknown)
    }

    /// The same of the same value.
    pub fn extended(&mut self, extension: Extension, of: Form) -> Form {
        if of.terms.is_empty() {
            return Form::number(extension.of(of.constant));
        }
        let key = (extension, of);
        if let Some(&known) = self.extended.get(&key) {
            return one(known);
        }
        let unknown = self.next();
        self.extended.insert(key, unknown);
        one(unknown)
    }
}

fn one(unknown: Unknown) -> Form {
    Form {
        constant: 0,
        terms: vec![(unknown, 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_equal_however_they_are_made() {
        let mut unknowns = Unknowns::default();
        let (array, index) = (unknowns.symbol("array"), unknowns.fresh());
        let scaled = index.clone().times(4);
        let hooked = scaled.clone().plus(&array);
        let accessed = unknowns.symbol("array").plus(&index.clone().times(4));
        assert_eq!(hooked, accessed);
        assert_eq!(accessed.plus(&Form::number(8)).behind(&hooked), Some(8));
        assert_eq!(index.behind(&array), None);
        assert_eq!(scaled.plus(&index.times(-4)), Form::number(0));
    }

    #[test]
    fn extensions_of_equal_values_are_equal() {
        let mut unknowns = Unknowns::default();
        let value = unknowns.fresh();
        let first = unknowns.extended(Extension::Sign(4), value.clone());
        assert_eq!(unknowns.extended(Extension::Sign(4), value.clone()), first);
        assert_ne!(unknowns.extended(Extension::Zero(4), value), first);
        let minus = |extension| Unknowns::default().extended(extension, Form::number(-1));
        assert_eq!(minus(Extension::Zero(4)), Form::number(0xffff_ffff));
        assert_eq!(minus(Extension::Sign(1)), Form::number(-1));
    }
}
