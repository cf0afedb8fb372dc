//! What a thread that cannot go on waits for, and who could end that.

use super::phrase::Story;
use crate::{
    trace::{Failure, PendingEntry},
    walk::Hold,
};
use reweave_model::{Object, ObjectId, Op, ThreadId, Waiting};

/// Why a thread cannot go on.
pub struct Wait {
    /// Without its subject: `waits for mutex#1`.
    pub what: String,
    /// What more there is to say: `, held by main since step 3 (a.c:7)`.
    pub more: String,
    /// The same in a few words, to stand behind the operation: `main has it since step 3`.
    pub brief: String,
    /// Who would have to go on first, and the step since which they keep it, where there is one.
    pub on: Vec<(u32, Option<usize>)>,
    /// Events that it refers to.
    pub steps: Vec<usize>,
}

impl Wait {
    /// A sentence without its subject.
    pub fn text(&self) -> String {
        format!("{}{}", self.what, self.more)
    }
}

impl Story<'_> {
    /// What an unfinished thread waits for, and who could end that.
    pub fn wait(&self, thread: u32, pending: &PendingEntry) -> Option<Wait> {
        let op = pending.operation.to_op()?;
        let object = op.object();
        let name = object.map_or("?", |object| self.trace.object_name(object.0));
        if let (Op::Await(..), None) = (op, pending.saw) {
            let what = format!("waits for {name} or something else to change");
            return Some(simple(&what, "nothing changes"));
        }
        let spins = pending.saw.is_some() || matches!(op, Op::Await(..));
        if spins {
            return Some(self.spins(op, pending.saw, name));
        }
        let waiting = op.kind().waiting()?;
        let (what, brief) = (waiting.about(name), waiting.brief);
        let wait = match op {
            Op::Join(other) => self.joins(other, waiting),
            Op::Wake { condvar, .. } => self.unnotified(thread, condvar, simple(&what, brief)),
            Op::SemAcquire { object, .. } => {
                let takers = ["acquire", "try-acquire"];
                self.since(what, brief, object, &takers, "taken")
            }
            Op::Take { object, .. } => self.since(what, brief, object, &["take"], "taken"),
            Op::Leave(object) | Op::Arrive(object) => {
                simple(&format!("{what}{}", self.at_barrier(object)), brief)
            }
            Op::Park { .. } if self.has_signals() => simple(
                "waits for a signal, and nobody sends one",
                "nobody sends one",
            ),
            _ => self.held(thread, op, simple(&what, brief)),
        };
        Some(wait)
    }

    fn spins(&self, op: Op, saw: Option<u64>, name: &str) -> Wait {
        let seen = match op {
            Op::Await(_, seen) => Some(seen),
            _ => saw,
        };
        let object = op.object().filter(|object| self.has_value(*object));
        let (Some(seen), Some(object)) = (seen, object) else {
            return simple(&format!("spins until {name} changes"), "nobody changes it");
        };
        let word = self.word(op, seen);
        let what = format!("spins until {name} is something else than {word}");
        let writes = ["store", "read-modify-write", "compare-exchange"];
        self.since(what, "nobody changes it", object, &writes, "written")
    }

    fn joins(&self, other: ThreadId, waiting: Waiting) -> Wait {
        let unfinished = self.trace.threads[other.index()].pending.is_some();
        let more = match unfinished {
            true if self.failed(other) => ", which failed",
            true => ", which is not at its end",
            false => "",
        };
        Wait {
            more: more.into(),
            on: vec![(other.0, None)],
            ..simple(&waiting.about(self.thread(other.0)), waiting.brief)
        }
    }

    /// With the last step that did one of these to the object.
    fn since(
        &self,
        what: String,
        brief: &str,
        object: ObjectId,
        names: &[&str],
        done: &str,
    ) -> Wait {
        let mut wait = simple(&what, brief);
        let last = self.trace.events.iter().rposition(|event| {
            let operation = &event.operation;
            event.ok && operation.object == Some(object.0) && names.contains(&&*operation.name)
        });
        if let Some(step) = last {
            let who = self.thread(self.trace.events[step].thread);
            wait.more = format!(
                "; {done} last by {who} in step {}{}",
                step + 1,
                self.at(step)
            );
            wait.steps.push(step);
        }
        wait
    }

    /// With the threads that hold the object, if it can be held.
    fn held(&self, me: u32, op: Op, mut wait: Wait) -> Wait {
        let Some(object) = op.object() else {
            return wait;
        };
        let acquires = matches!(op, Op::WriteAcquire(_));
        let holds = self.walked.held[object.index()].iter();
        // A writer that is announced does not wait for itself.
        let own = |hold: &&Hold| !acquires || hold.thread != me || self.readers_first(object);
        let (mut long, mut short) = (Vec::new(), Vec::new());
        for Hold { thread, since } in holds.filter(own).copied() {
            wait.steps.push(since);
            wait.on.push((thread, Some(since)));
            let who = match thread == me {
                true => "itself",
                false => self.thread(thread),
            };
            let step = since + 1;
            long.push(format!("{who} since step {step}{}", self.at(since)));
            short.push(format!("{who} has it since step {step}"));
        }
        if !long.is_empty() {
            wait.more = format!(", held by {}", long.join(" and "));
            wait.brief = short.join(", ");
        }
        wait
    }

    /// ` (file:line)` of a step.
    fn at(&self, step: usize) -> String {
        let at = self.trace.events[step].at.as_ref();
        at.map_or_else(String::new, |at| format!(" ({})", at.line()))
    }

    /// A notification that came too early is the usual reason for a wait without end.
    fn unnotified(&self, thread: u32, condvar: ObjectId, mut wait: Wait) -> Wait {
        let notified = self.trace.events.iter().rposition(|event| {
            matches!(event.op(), Op::NotifyOne(object) | Op::NotifyAll(object) if object == condvar)
        });
        let Some(index) = notified else {
            wait.more = "; there was none at all".into();
            return wait;
        };
        wait.steps.push(index);
        let (step, who) = (index + 1, self.thread(self.trace.events[index].thread));
        wait.more = match &self.walked.before[index].waiters {
            Some(waiters) if waiters.is_empty() => {
                format!("; the last one, step {step} by {who}, found nobody waiting")
            }
            _ if matches!(self.trace.events[index].op(), Op::NotifyAll(_)) => {
                format!("; the last one, step {step} by {who}, came before this wait")
            }
            _ => match self.trace.events[index].result.checked_sub(1) {
                Some(woken) if woken == u64::from(thread) => {
                    format!("; the last one, step {step} by {who}, came before this wait")
                }
                Some(woken) if (woken as usize) < self.trace.threads.len() => {
                    let woken = self.thread(woken as u32);
                    format!("; the last one, step {step} by {who}, was for {woken}")
                }
                _ => format!("; the last one, step {step} by {who}, was for another"),
            },
        };
        wait
    }

    fn at_barrier(&self, barrier: ObjectId) -> String {
        let Some(state) = &self.walked.machine else {
            return String::new();
        };
        match state.object(barrier) {
            Object::Barrier { size, arrived, .. } if !arrived.is_empty() => {
                format!(", to which {} of {size} threads have come", arrived.len())
            }
            _ => String::new(),
        }
    }

    /// Threads that have not come to their end, with what they had come to. A thread that an error ended is none of them.
    pub fn unfinished(&self) -> impl Iterator<Item = (ThreadId, &PendingEntry)> {
        let threads = self.trace.threads.iter().enumerate();
        threads
            .filter_map(|(index, thread)| Some((ThreadId(index as u32), thread.pending.as_ref()?)))
            .filter(|(thread, _)| !self.failed(*thread))
    }

    /// Whether an error ended the thread.
    pub fn failed(&self, thread: ThreadId) -> bool {
        let pending = self.trace.threads[thread.index()].pending.as_ref();
        let frozen = pending.is_some_and(|pending| pending.operation.name == "assume");
        let blamed = |error: &Failure| error.after.is_some_and(|(blamed, _)| blamed == thread.0);
        frozen && self.trace.errors.iter().any(blamed)
    }
}

fn simple(what: &str, brief: &str) -> Wait {
    Wait {
        what: what.into(),
        more: String::new(),
        brief: brief.into(),
        on: Vec::new(),
        steps: Vec::new(),
    }
}
