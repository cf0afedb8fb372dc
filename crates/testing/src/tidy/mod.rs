//! Rules about the tree itself: `crates/cli/tests/tidy.rs` checks them, `scripts/ratchets`, `scripts/import-graph` and `scripts/calls` show them.
//!
//! A *ratchet* is a number that may only shrink. All of them are in `crates/testing/limits.txt`, one line each; a number that has shrunk
//! must be lowered there (`scripts/ratchets --tighten`), so that it cannot grow again.

pub mod calls;
pub mod crates;
pub mod english;
pub mod families;
pub mod functions;
pub mod limits;
pub mod strays;
pub mod tree;
pub mod types;
pub mod unsafety;

use limits::Found;
use tree::Source;

/// What every ratchet finds in the tree.
pub fn ratchets() -> Vec<Found> {
    let sources = tree::sources();
    let mut found = functions::long(&sources);
    found.extend(types::string_errors(&sources));
    found.extend(types::states(&sources));
    found.extend(unsafety::short_reasons(&sources));
    found.extend(unsafety::undocumented_functions(&sources));
    found.extend(families::exceptions(&families::imports(&sources)));
    found.extend(english::odd_words(&sources, &tree::pages()));
    found
}

/// Files of crates, of which those without an own `src` or `tests` folder are left out.
pub(crate) fn of_crates(sources: &[Source]) -> impl Iterator<Item = (&str, &Source)> {
    let parts = |source| Some((Source::package(source)?, source));
    sources.iter().filter_map(parts)
}
