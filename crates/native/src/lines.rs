//! Which lines of a program its runs reach.
//!
//! *Decides:* at which places processes watch for the first run, and what counts as a line that was reached. *Called by:* `process`,
//! at the beginning and the end of each; `subject`, for what came out. *Owns:* the places that were not reached yet.

use reweave_report::{LineCoverage, UnreachedLines};
use reweave_toolchain::symbols::{LineStart, Symbols};
use reweave_wire::LINES_BYTES;
use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

/// See the module. One for all processes of a program.
#[derive(Debug)]
pub struct Lines {
    starts: Vec<LineStart>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Offsets in the program, ascending, with whether they were reached.
    places: BTreeMap<u32, bool>,
    /// A process could not watch for all of them.
    blind: bool,
}

impl Lines {
    /// Of a program; `None`: it has no line table, or too large a one.
    pub fn of(program: &Path) -> Option<Lines> {
        let starts = Symbols::load(program).ok()?.line_starts();
        let offsets = starts.iter().map(|start| u32::try_from(start.address).ok());
        let places = offsets.map(|offset| Some((offset?, false)));
        let places: BTreeMap<u32, bool> = places.collect::<Option<_>>()?;
        let fits = !places.is_empty() && places.len() <= LINES_BYTES / 8;
        fits.then(|| Lines {
            starts,
            known: Mutex::new(Known {
                places,
                blind: false,
            }),
        })
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what a new process is to watch; how many places there are.
    pub(crate) fn watch(&self, words: &[AtomicU64]) -> u32 {
        let known = self.known();
        let left = known.places.iter().filter(|(_, reached)| !**reached);
        let mut count = 0;
        for (word, (offset, _)) in words.iter().zip(left) {
            word.store(reweave_wire::LineStart::new(*offset).0, Relaxed);
            count += 1;
        }
        count
    }

    /// Takes in what a process has reached.
    pub(crate) fn collect<'a>(&self, words: impl Iterator<Item = &'a AtomicU64>) {
        let mut known = self.known();
        for word in words {
            let start = reweave_wire::LineStart(word.load(Relaxed));
            known.blind |= !start.is_set();
            if start.is_reached() {
                // The program can write anything there: only what is known counts.
                if let Some(reached) = known.places.get_mut(&start.offset()) {
                    *reached = true;
                }
            }
        }
    }

    /// What was reached so far; `None`: that is not known.
    pub(crate) fn coverage(&self) -> Option<LineCoverage> {
        let known = self.known();
        if known.blind {
            return None;
        }
        // A line may begin at several places.
        let mut lines: BTreeMap<(&str, u32), bool> = BTreeMap::new();
        for start in &self.starts {
            let reached = known.places.get(&(start.address as u32));
            let line = lines.entry((&start.file, start.line)).or_default();
            *line |= reached.is_some_and(|reached| *reached);
        }
        Some(LineCoverage {
            known: lines.len() as u64,
            reached: lines.values().filter(|reached| **reached).count() as u64,
            unreached: stretches(&lines),
        })
    }
}

/// Lines that were not reached, those without a reached one between them together.
fn stretches(lines: &BTreeMap<(&str, u32), bool>) -> Vec<UnreachedLines> {
    let mut files: Vec<UnreachedLines> = Vec::new();
    let mut goes_on = false;
    for (&(file, line), &reached) in lines {
        let same = files.last().is_some_and(|last| last.file == file);
        if reached {
            goes_on = false;
            continue;
        }
        if !same {
            files.push(UnreachedLines {
                file: file.to_owned(),
                lines: Vec::new(),
            });
        }
        let last = files.last_mut().expect("one was pushed if there was none");
        match last.lines.last_mut() {
            Some(stretch) if goes_on && same => stretch.1 = line,
            _ => last.lines.push((line, line)),
        }
        goes_on = true;
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line 4 has no code, so 3 and 5 belong together; lines of two files never do.
    #[test]
    fn lines_without_a_reached_one_between_them_are_one_stretch() {
        let lines = [
            (("a.c", 2), true),
            (("a.c", 3), false),
            (("a.c", 5), false),
            (("a.c", 6), true),
            (("a.c", 9), false),
            (("b.c", 1), false),
        ];
        let spelled = stretches(&lines.into_iter().collect());
        let spelled: Vec<String> = spelled.iter().map(UnreachedLines::spelled).collect();
        assert_eq!(spelled, ["a.c:3-5, 9", "b.c:1"]);
    }
}
