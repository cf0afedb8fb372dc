//! Rules: expensive modelling that is off until a run shows that it matters. Then the search restarts with the rule on.

use crate::words::Malformed;

/// One rule. All runs of a search follow it, or none does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Rule {
    /// Threads get descriptors from ranges of their own: they open and close them in no order.
    Ranges,
    /// All changes of descriptors are in one order: some descriptors are used after they were closed, when they may stand for something else.
    Table,
    /// Standard output and standard error are descriptors like others: they are closed or redirected.
    Output,
    /// A call that names a file locks all names: directories, links and names are made, renamed and removed.
    Names,
    /// A call that uses a key of thread-specific values checks that the key still exists.
    Keys,
    /// Which libraries are open matters to calls that look for names and to code in libraries: some are closed, and names come and go, while other threads run.
    Libraries,
    /// Calls on streams take their locks, and the list of streams has a lock: threads hold such locks, or flush all streams at once.
    Streams,
    /// The position of an open file belongs to the file: threads share what is open, in no order.
    Positions,
    /// Registering functions for the end of the process and calling them is in one order: several threads do so.
    Handlers,
    /// Drawing random numbers is in one order: several threads do so.
    Random,
    /// Which signals are pending for the process is an object: another thread than the first, which gets them, asks for it.
    Pending,
    /// A call that looks a descriptor up changes it: ends of pipes and sockets are closed while other threads use them.
    Closing,
    /// The program has several processes: the runtime's memory is shared by all of them.
    Processes,
    /// Which of its children have ended is an object of each process: one waits for any of several, or only asks.
    Children,
}

impl Rule {
    /// All rules with the names by which files store them, in the order of their numbers.
    const NAMES: [(Rule, &'static str); 14] = [
        (Rule::Ranges, "ranges"),
        (Rule::Table, "table"),
        (Rule::Output, "output"),
        (Rule::Names, "names"),
        (Rule::Keys, "keys"),
        (Rule::Libraries, "libraries"),
        (Rule::Streams, "streams"),
        (Rule::Positions, "positions"),
        (Rule::Handlers, "handlers"),
        (Rule::Random, "random"),
        (Rule::Pending, "pending"),
        (Rule::Closing, "closing"),
        (Rule::Processes, "processes"),
        (Rule::Children, "children"),
    ];

    /// The name by which files store it.
    pub fn name(self) -> &'static str {
        Rule::NAMES[self as usize].1
    }

    /// The rule that is stored by this name.
    pub fn named(name: &str) -> Option<Rule> {
        let mut known = Rule::NAMES.iter();
        known.find(|(_, own)| *own == name).map(|(rule, _)| *rule)
    }

    /// The rule with this number: its place in the declaration.
    pub fn numbered(number: u64) -> Option<Rule> {
        let known = Rule::NAMES.get(usize::try_from(number).ok()?);
        known.map(|(rule, _)| *rule)
    }

    pub(crate) fn read(number: u64) -> Result<Rule, Malformed> {
        Rule::numbered(number).ok_or(Malformed)
    }
}

/// A set of rules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rules(u32);

impl Rules {
    /// Whether the rule is in the set.
    pub const fn contains(self, rule: Rule) -> bool {
        self.0 & 1 << rule as u32 != 0
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The same with one rule more.
    #[must_use]
    pub const fn with(self, rule: Rule) -> Rules {
        Rules(self.0 | 1 << rule as u32)
    }

    /// In the order of their numbers.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        let all = Rule::NAMES.into_iter().map(|(rule, _)| rule);
        all.filter(move |rule| self.contains(*rule))
    }

    /// One bit for each rule.
    pub const fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn read(word: u64) -> Result<Rules, Malformed> {
        match word >> Rule::NAMES.len() {
            0 => Ok(Rules(word as u32)),
            _ => Err(Malformed),
        }
    }
}

impl Extend<Rule> for Rules {
    fn extend<T: IntoIterator<Item = Rule>>(&mut self, rules: T) {
        *self = rules.into_iter().fold(*self, Rules::with);
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<T: IntoIterator<Item = Rule>>(rules: T) -> Rules {
        rules.into_iter().fold(Rules::default(), Rules::with)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_names_and_sets_agree() {
        for (number, (rule, name)) in Rule::NAMES.into_iter().enumerate() {
            assert_eq!(rule as usize, number);
            assert_eq!((rule.name(), Rule::named(name)), (name, Some(rule)));
            assert_eq!(Rule::read(number as u64), Ok(rule));
        }
        assert_eq!(Rule::named("memory"), None);
        let unknown = Rule::NAMES.len() as u64;
        assert_eq!(Rule::read(unknown), Err(Malformed));
        let some: Rules = [Rule::Names, Rule::Ranges].into_iter().collect();
        assert!(some.iter().eq([Rule::Ranges, Rule::Names]));
        assert!(!some.contains(Rule::Table) && !some.is_empty());
        assert_eq!(Rules::read(some.bits().into()), Ok(some));
        assert_eq!(Rules::read(1 << unknown), Err(Malformed));
    }
}
