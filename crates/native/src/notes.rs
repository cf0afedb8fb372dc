//! What workers noticed of a native program beside its errors, also as plain data.

use reweave_drive::{Libraries, Library, Note, Unit};
use reweave_model::Site;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Of all workers.
#[derive(Default)]
pub struct Noticed {
    pub notes: BTreeSet<Note>,
    /// What has to be visible.
    pub hidden: BTreeSet<Unit>,
    /// Runs lacked steps for that.
    pub lacking: bool,
    pub fault: Option<String>,
    /// What a run left behind in its process.
    pub left: Option<&'static str>,
}

/// What was noticed so far, and the memory whose accesses are explored, as plain data.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct StoredNotes {
    visible: Vec<(u64, u64)>,
    unsupported: Vec<(String, Site)>,
    warnings: Vec<(String, Site, u64)>,
    weak: Vec<Site>,
    #[serde(default)]
    libraries: Vec<(String, bool)>,
}

impl Noticed {
    /// As plain data. Races were either made visible, or are errors and stored as such.
    pub fn store(&self, visible: &[Unit], libraries: Vec<Library>) -> StoredNotes {
        let mut stored = StoredNotes {
            visible: visible.iter().map(|it| (it.place, it.bytes)).collect(),
            libraries: libraries
                .into_iter()
                .map(|it| (it.path, it.global))
                .collect(),
            ..StoredNotes::default()
        };
        for note in &self.notes {
            match note.clone() {
                Note::Unsupported { call, site } => stored.unsupported.push((call, site)),
                Note::Warning {
                    rule,
                    site,
                    address,
                } => stored.warnings.push((rule, site, address)),
                Note::Weak(site) => stored.weak.push(site),
                Note::Racy(_) | Note::Missing(_) => {}
            }
        }
        stored
    }
}

impl StoredNotes {
    /// Libraries that runs are known to open.
    pub fn libraries(&self) -> Libraries {
        named(&self.libraries)
    }

    /// Memory whose accesses are explored.
    pub fn units(&self) -> Vec<Unit> {
        let visible = self.visible.iter();
        visible
            .map(|&(place, bytes)| Unit { place, bytes })
            .collect()
    }
}

/// Libraries as they are written down: their paths, and whether others see their names.
pub fn named(libraries: &[(String, bool)]) -> Libraries {
    let library = |(path, global): &(String, bool)| Library {
        path: path.clone(),
        global: *global,
    };
    Libraries::new(libraries.iter().map(library).collect())
}

impl From<StoredNotes> for Noticed {
    fn from(stored: StoredNotes) -> Noticed {
        let unsupported = stored.unsupported.into_iter();
        let warnings = stored.warnings.into_iter();
        let notes = unsupported
            .map(|(call, site)| Note::Unsupported { call, site })
            .chain(warnings.map(|(rule, site, address)| Note::Warning {
                rule,
                site,
                address,
            }))
            .chain(stored.weak.into_iter().map(Note::Weak));
        Noticed {
            notes: notes.collect(),
            ..Noticed::default()
        }
    }
}
