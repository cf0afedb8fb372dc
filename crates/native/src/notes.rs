//! Notes: what workers observed of a native program besides its errors, also as plain data.
//!
//! *Called by:* `subject` and `worker_target`. *Owns:* the notes of one search.

use crate::loaded_libraries::LoadedLibraries;
use reweave_model::{Execution, Kind, Site};
use reweave_report::{Finding, Position};
use reweave_wire::{Note, Rule, Rules, Unit};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The notes of all workers.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) all: BTreeSet<Note>,
    /// For what was refused, an execution that came there.
    pub(crate) met: BTreeMap<(String, Site), Execution>,
    /// Memory whose accesses must become visible.
    pub(crate) hidden: BTreeSet<Unit>,
    /// Rules that must be followed.
    pub(crate) needed: Rules,
    /// Whether runs lacked steps because of those.
    pub(crate) lacking: bool,
    /// What a run left behind in its process.
    pub(crate) leftover: Option<&'static str>,
}

/// Notes, and how runs are modelled because of them, as plain data.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StoredNotes {
    visible: Vec<(u64, u64)>,
    #[serde(default)]
    rules: Vec<String>,
    unsupported: Vec<(String, Site)>,
    warnings: Vec<(String, Site, u64)>,
    weak: Vec<Site>,
    #[serde(default)]
    unseen: Vec<Site>,
    #[serde(default)]
    libraries: Vec<(String, bool)>,
    #[serde(default)]
    names_files: bool,
}

impl Notes {
    /// As plain data. Races were either made visible, or are errors and stored as such.
    pub(crate) fn store(
        &self,
        visible: &[Unit],
        rules: Rules,
        libraries: Vec<(String, bool)>,
    ) -> StoredNotes {
        let mut stored = StoredNotes {
            visible: visible.iter().map(|it| (it.place, it.bytes)).collect(),
            rules: rules.iter().map(|it| it.name().into()).collect(),
            libraries,
            ..StoredNotes::default()
        };
        for note in &self.all {
            match note.clone() {
                Note::Unsupported { call, site } => stored.unsupported.push((call, site)),
                Note::Warning {
                    rule,
                    site,
                    address,
                } => stored.warnings.push((rule, site, address)),
                Note::Weak(site) => stored.weak.push(site),
                Note::Unseen(site) => stored.unseen.push(site),
                Note::NamesFiles => stored.names_files = true,
                Note::Racy(_) | Note::Missing(_) | Note::Needs(_) | Note::Returns(_) => {}
            }
        }
        stored
    }

    /// Places that ask for less than sequential consistency.
    pub(crate) fn weak_orders(&self) -> u64 {
        let weak = self.all.iter();
        weak.filter(|note| matches!(note, Note::Weak(_))).count() as u64
    }

    /// Whether a run named a file.
    pub(crate) fn names_files(&self) -> bool {
        self.all.contains(&Note::NamesFiles)
    }

    /// The warnings, each place and rule once.
    pub(crate) fn warnings(&self, position: impl Fn(Site) -> Option<Position>) -> Vec<Finding> {
        let mut findings: Vec<Finding> = Vec::new();
        for note in &self.all {
            let Note::Warning { rule, site, .. } = note else {
                continue;
            };
            let location = position(*site).map(|at| at.to_string());
            let (kind, message) = warning(rule);
            let rule = &public_rule(rule);
            let same = |it: &&mut Finding| {
                it.rule.as_ref() == Some(rule) && it.location == location && it.message == message
            };
            match findings.iter_mut().find(same) {
                Some(known) => known.seen += 1,
                None => findings.push(Finding {
                    kind,
                    rule: Some(rule.clone()),
                    message: message.into(),
                    location,
                    events: 0,
                    trace: None,
                    seen: 1,
                    doubtful: false,
                    because: None,
                }),
            }
        }
        findings
    }
}

/// The rule of a warning, as results have it.
fn public_rule(rule: &str) -> String {
    match rule.starts_with("mpi-") {
        true => "leak".into(),
        false => rule.into(),
    }
}

/// The kind and text of a warning.
fn warning(rule: &str) -> (Kind, &'static str) {
    match rule {
        "not-destroyed" => (
            Kind::Misuse,
            "was made by an _init call and never destroyed",
        ),
        "unjoined" => (
            Kind::Misuse,
            "a thread that was neither joined nor detached",
        ),
        "leak" => (Kind::Memory, "memory that is still there at the end"),
        "main-returned-early" => (
            Kind::Misuse,
            "main ends the program while another thread still has something to do",
        ),
        "mpi-request" => (Kind::Memory, "a request that was never completed"),
        "mpi-type" => (Kind::Memory, "a data type that was never freed"),
        "mpi-communicator" => (Kind::Memory, "a communicator that was never freed"),
        _ => (Kind::Misuse, "is not good use"),
    }
}

impl StoredNotes {
    /// Libraries that runs are known to open.
    pub(crate) fn libraries(&self) -> LoadedLibraries {
        LoadedLibraries::from_stored(&self.libraries)
    }

    /// Rules that runs follow.
    pub(crate) fn rules(&self) -> Rules {
        stored_rules(&self.rules, &self.visible)
    }

    /// Memory whose accesses are explored.
    pub(crate) fn units(&self) -> Vec<Unit> {
        stored_units(&self.visible)
    }
}

/// Where versions before 0.2 stored rules, by number, as if they were memory.
const OLD_RULES: std::ops::Range<u64> = 1 << 62..1 << 63;

/// Rules as traces and state files store them: by name.
pub(crate) fn stored_rules(names: &[String], visible: &[(u64, u64)]) -> Rules {
    let old = visible.iter().filter_map(|(place, _)| {
        let number = place.checked_sub(OLD_RULES.start)?;
        Rule::numbered(number)
    });
    let named = names.iter().filter_map(|name| Rule::named(name));
    named.chain(old).collect()
}

/// Memory as traces and state files store it: place and length.
pub(crate) fn stored_units(visible: &[(u64, u64)]) -> Vec<Unit> {
    let memory = visible
        .iter()
        .filter(|(place, _)| !OLD_RULES.contains(place));
    memory
        .map(|&(place, bytes)| Unit { place, bytes })
        .collect()
}

impl From<StoredNotes> for Notes {
    fn from(stored: StoredNotes) -> Notes {
        let unsupported = stored.unsupported.into_iter();
        let warnings = stored.warnings.into_iter();
        let notes = unsupported
            .map(|(call, site)| Note::Unsupported { call, site })
            .chain(warnings.map(|(rule, site, address)| Note::Warning {
                rule,
                site,
                address,
            }))
            .chain(stored.weak.into_iter().map(Note::Weak))
            .chain(stored.unseen.into_iter().map(Note::Unseen))
            .chain(stored.names_files.then_some(Note::NamesFiles));
        Notes {
            all: notes.collect(),
            ..Notes::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace of an older version lists the rule `names`, number 3, among the memory.
    #[test]
    fn rules_of_old_traces_are_understood() {
        let visible = [(1 << 62 | 3, 1), (1 << 63 | 8, 4)];
        let rules = stored_rules(&["keys".into()], &visible);
        assert!(rules.iter().eq([Rule::Names, Rule::Keys]));
        let memory = Unit {
            place: 1 << 63 | 8,
            bytes: 4,
        };
        assert_eq!(stored_units(&visible), [memory]);
    }
}
