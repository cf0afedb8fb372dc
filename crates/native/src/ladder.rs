//! The restart ladder: how a program is run again, from the fastest way to the most trusted one.
//!
//! *Decides:* on which rung a check starts and which rung comes next when state leaked between runs. *Called by:*
//! `program` and `session`. *Owns:* nothing.

use reweave_wire::{Restart, Threads};

/// The rungs that a check may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ladder {
    /// Starts warm, and steps down when state leaks between runs.
    #[default]
    Auto,
    /// Stays on one rung.
    Only(Restart),
}

const NAMES: [(&str, Restart); 3] = [
    ("warm", Restart::Warm),
    ("fork", Restart::Fork),
    ("exec", Restart::Exec),
];

impl Ladder {
    /// The rung to start on.
    pub fn first(self) -> Restart {
        match self {
            Ladder::Auto => Restart::Warm,
            Ladder::Only(rung) => rung,
        }
    }

    /// The rung below, if there is one that may be used.
    pub fn below(self, rung: Restart, threads: Threads) -> Option<Restart> {
        match (self, rung) {
            // A forked process has only the thread that forked.
            (Ladder::Auto, Restart::Warm) if threads == Threads::Os => Some(Restart::Exec),
            (Ladder::Auto, Restart::Warm) => Some(Restart::Fork),
            (Ladder::Auto, Restart::Fork) => Some(Restart::Exec),
            (Ladder::Auto, Restart::Exec) | (Ladder::Only(_), _) => None,
        }
    }
}

/// The name of a rung in result documents and state files.
pub fn rung_name(rung: Restart) -> &'static str {
    let known = NAMES.iter().find(|(_, known)| *known == rung);
    known.expect("all rungs are listed").0
}

/// The rung of this name.
pub fn rung_named(name: &str) -> Option<Restart> {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map(|(_, rung)| *rung)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rungs(ladder: Ladder, threads: Threads) -> Vec<&'static str> {
        let below = |rung: &Restart| ladder.below(*rung, threads);
        std::iter::successors(Some(ladder.first()), below)
            .map(rung_name)
            .collect()
    }

    #[test]
    fn only_an_automatic_check_steps_down() {
        let fibers = rungs(Ladder::Auto, Threads::Fiber);
        assert_eq!(fibers, ["warm", "fork", "exec"]);
        assert_eq!(rungs(Ladder::Auto, Threads::Os), ["warm", "exec"]);
        let only = Ladder::Only(Restart::Fork);
        assert_eq!(rungs(only, Threads::Fiber), ["fork"]);
        assert_eq!(rung_named("exec"), Some(Restart::Exec));
        assert_eq!(rung_named("auto"), None);
    }
}
