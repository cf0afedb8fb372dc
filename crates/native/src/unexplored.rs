//! What a search could not explore because of a call or a piece of code: where, how the program came there, what to do.
//!
//! *Called by:* `session`, at the end of a search. *Owns:* the remedies.

use crate::subject::NativeSubject;
use reweave_check::{Subject, plan_of};
use reweave_model::{Execution, Site};
use reweave_report::Unexplored;
use reweave_wire::Note;

/// Runs that are made once more to see the stacks of their calls.
const STACKS: usize = 8;

/// What to do about calls whose names contain a word.
const REMEDIES: [(&[&str], &str); 7] = [
    (
        &["fork", "spawn", "exec", "process"],
        "test what happens in one process: call the function of the child from a thread of the test",
    ),
    (
        &[
            "socket", "accept", "connect", "listen", "send", "recv", "bind",
        ],
        "replace the connection in the test: a queue under a lock, or a file",
    ),
    (
        &["pipe", "poll", "select", "epoll", "which does not return"],
        "wait on a condition variable, a semaphore or an eventfd in the test",
    ),
    (
        &["signal", "kill", "sigaction", "timer"],
        "call the handler from a thread of the test",
    ),
    (
        &["an address"],
        "keep the block allocated while the threads run, or allocate it after main has begun",
    ),
    (
        &["mmap", "mapping", "shm"],
        "use memory of the program instead of a mapping in the test",
    ),
    (
        &["mount", "sethostname", "reboot", "setuid"],
        "leave the call out of the test",
    ),
];

const OTHERWISE: &str = "leave the call out of the test (-D), or make it before the threads begin; docs/limits.md lists what is refused";

const UNINSTRUMENTED: &str = "use the compiler's atomics (__atomic, <stdatomic.h>, <atomic>) instead of assembly, often a configure option or -D; build the rest with `reweave build`";

fn remedy(call: &str) -> &'static str {
    let names = |(words, _): &&(&[&str], &str)| words.iter().any(|word| call.contains(word));
    REMEDIES
        .iter()
        .find(names)
        .map_or(OTHERWISE, |(_, remedy)| remedy)
}

impl NativeSubject {
    /// Calls that were refused, and code without hooks, each place once.
    pub(crate) fn unexplored(&self) -> Vec<Unexplored> {
        let mut all: Vec<Unexplored> = Vec::new();
        let mut stacks = 0;
        for (call, site, execution) in self.refused() {
            let stack = match execution.filter(|_| stacks < STACKS) {
                Some(execution) => {
                    stacks += 1;
                    self.stack_at(&execution, site)
                }
                None => Vec::new(),
            };
            let known = self.position(site);
            let known = known.map(|at| at.to_string());
            let entry = Unexplored {
                reason: format!("unsupported: {call}"),
                // A call inside a library is placed where the program comes from.
                location: stack
                    .iter()
                    .find_map(|call| Some(call.rsplit_once(" at ")?.1.to_owned()))
                    .or(known),
                stack,
                remedy: Some(remedy(&call).into()),
            };
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        for reason in self.incomplete() {
            if let Some(place) = reason.strip_prefix("uninstrumented: ") {
                all.push(Unexplored {
                    location: Some(place.into()),
                    stack: Vec::new(),
                    remedy: Some(UNINSTRUMENTED.into()),
                    reason,
                });
            }
        }
        all
    }

    /// How the program comes to a call, seen in a run that is made once more.
    fn stack_at(&self, execution: &Execution, site: Site) -> Vec<String> {
        let Ok(seen) = self.observe(&plan_of(execution)) else {
            return Vec::new();
        };
        // A refused call keeps its thread from going on.
        let threads = seen.execution.threads.iter();
        let mut waiting = threads.zip(&seen.detail.last).filter_map(|(thread, last)| {
            let at = thread.pending?.site;
            (at == site).then(|| {
                std::iter::once(at)
                    .chain(last.iter().copied())
                    .collect::<Vec<_>>()
            })
        });
        waiting
            .next()
            .map_or_else(Vec::new, |stack| self.calls(&stack))
    }
}

/// What was refused, as a note and in words.
pub(crate) fn refused(note: &Note) -> Option<(String, Site)> {
    match note {
        Note::Unsupported { call, site } => Some((call.clone(), *site)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_remedies() {
        assert!(remedy("vfork").contains("in one process"));
        assert!(remedy("read, which does not return").contains("condition variable"));
        assert_eq!(remedy("sysfs"), OTHERWISE);
    }
}
