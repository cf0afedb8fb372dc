//! Numbers that may only shrink, and the file that keeps them: lines of a rule, a key without blanks, and a number.

use super::tree::{read, root};
use std::{collections::BTreeMap, fmt::Write, fs};

const FILE: &str = "crates/testing/limits.txt";

const HEAD: &str = "\
# Numbers that may only shrink: rule, what it is about, limit. `scripts/ratchets` shows them beside the current numbers, and
# `scripts/ratchets --tighten` lowers the limits of those that have shrunk.
";

/// Something that a ratchet counts. Several with the same rule and key are added up.
#[derive(Clone, Debug)]
pub struct Found {
    pub rule: &'static str,
    pub key: String,
    pub number: usize,
    /// Where, as `file:line`.
    pub place: String,
}

/// One number beside its limit.
pub struct Line {
    pub rule: String,
    pub key: String,
    pub current: usize,
    pub limit: usize,
    pub places: Vec<String>,
}

type Key = (String, String);

fn limits(text: &str) -> BTreeMap<Key, usize> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let mut words = line.split(' ');
            let mut next = || words.next().unwrap_or_else(|| panic!("{FILE}: {line}"));
            let key = (next().into(), next().into());
            let number = next().parse();
            (key, number.unwrap_or_else(|_| panic!("{FILE}: {line}")))
        })
        .collect()
}

/// Everything that was found, and everything that has a limit.
pub fn compare(found: &[Found]) -> Vec<Line> {
    lines(found, &limits(&read(FILE)))
}

fn lines(found: &[Found], limits: &BTreeMap<Key, usize>) -> Vec<Line> {
    let mut lines: BTreeMap<Key, Line> = BTreeMap::new();
    let new = |(rule, key): &Key| Line {
        rule: rule.clone(),
        key: key.clone(),
        current: 0,
        limit: 0,
        places: Vec::new(),
    };
    for (key, limit) in limits {
        let line = lines.entry(key.clone()).or_insert_with(|| new(key));
        line.limit = *limit;
    }
    for one in found {
        let key = (one.rule.to_owned(), one.key.clone());
        let line = lines.entry(key.clone()).or_insert_with(|| new(&key));
        line.current += one.number;
        line.places.push(one.place.clone());
    }
    lines.into_values().collect()
}

/// What breaks a rule: numbers that have grown, and limits that are too high by now.
pub fn broken(lines: &[Line]) -> Vec<String> {
    let lines = lines.iter().filter(|line| line.current != line.limit);
    let tell = |line: &Line| {
        let (current, limit) = (line.current, line.limit);
        let number = format!("{} {}: {current}, limit {limit}", line.rule, line.key);
        match current > limit {
            true => format!("{number} ({})", line.places.join(", ")),
            false => format!("{number}; it has shrunk: run `scripts/ratchets --tighten`"),
        }
    };
    lines.map(tell).collect()
}

/// Writes the limits that these numbers call for. Only `grown` raises limits and makes new ones.
pub fn write(lines: &[Line], grown: bool) {
    let mut text = HEAD.to_owned();
    for line in lines {
        let limit = match grown {
            true => line.current,
            false => line.current.min(line.limit),
        };
        if limit > 0 {
            writeln!(text, "{} {} {limit}", line.rule, line.key).expect("memory is enough");
        }
    }
    fs::write(root().join(FILE), text).expect("the file can be written");
}

#[test]
fn growing_and_shrinking_are_both_noticed() {
    let found = |rule, key: &str, number| Found {
        rule,
        key: key.into(),
        number,
        place: "here:1".into(),
    };
    let limits = limits("# none\nlong a 2\nlong b 5\nlong gone 1\n");
    let found = [
        found("long", "a", 1),
        found("long", "a", 1),
        found("long", "b", 4),
        found("long", "new", 1),
    ];
    let wrong = broken(&lines(&found, &limits));
    let begins: Vec<&str> = wrong
        .iter()
        .map(|line| line.split(';').next().unwrap_or_default())
        .collect();
    assert_eq!(
        begins,
        [
            "long b: 4, limit 5",
            "long gone: 0, limit 1",
            "long new: 1, limit 0 (here:1)"
        ]
    );
}
