//! What a trace file must not say: the invariants of [`Trace`], checked for every file that is read.

use crate::{
    operation::Operation,
    trace::{Trace, end_of, parse_path},
};
use reweave_model::{ObjectKind, Op};

impl Trace {
    /// What contradicts the invariants.
    pub(crate) fn flaw(&self) -> Option<String> {
        if self.plan.len() != self.events.len() {
            let (steps, events) = (self.plan.len(), self.events.len());
            return Some(format!("the plan has {steps} steps for {events} events"));
        }
        if end_of(&self.end).is_none() {
            return Some(format!("no execution ends with `{}`", self.end));
        }
        self.flaw_of_threads()
            .or_else(|| self.flaw_of_events())
            .or_else(|| self.flaw_of_stacks())
            .or_else(|| {
                let accesses = self.errors.iter().flat_map(|error| &error.accesses);
                let accesses = accesses.map(|access| (access.thread, 0));
                let blamed = self.errors.iter().filter_map(|error| error.after);
                blamed
                    .chain(accesses)
                    .find(|(thread, _)| *thread as usize >= self.threads.len())
                    .map(|(thread, _)| {
                        format!("an error names thread {thread}, which is not there")
                    })
            })
    }

    fn flaw_of_threads(&self) -> Option<String> {
        if self.threads.first()?.path != "main" {
            return Some("its first thread is not `main`".into());
        }
        for (index, thread) in self.threads.iter().enumerate() {
            let path = &thread.path;
            let numbers = parse_path(path);
            let known = numbers.is_some() && self.threads[..index].iter().all(|t| t.path != *path);
            let parent = self
                .threads
                .get(thread.parent as usize)
                .filter(|_| thread.parent as usize + usize::from(index > 0) <= index);
            if !known || parent.is_none() {
                return Some(format!(
                    "thread {index} has the path `{path}` and an impossible parent"
                ));
            }
            if let Some(pending) = &thread.pending {
                if let Some(flaw) = self.flaw_of(&pending.operation) {
                    return Some(format!("what `{path}` waits for: {flaw}"));
                }
            }
        }
        None
    }

    fn flaw_of_events(&self) -> Option<String> {
        if self.threads.is_empty() {
            return Some("it has no thread".into());
        }
        let mut holders = self
            .objects
            .iter()
            .flat_map(|object| object.state.holders());
        if holders.any(|thread| thread as usize >= self.threads.len()) {
            return Some("an object is held by a thread that is not there".into());
        }
        for (index, (step, event)) in self.plan.iter().zip(&self.events).enumerate() {
            let number = index + 1;
            if step.0 != event.thread || step.2 != event.operation.name {
                return Some(format!("step {number} of the plan is not event {number}"));
            }
            let threads = self.threads.len();
            let outside = |thread: u32| thread as usize >= threads;
            if outside(event.thread) || event.after.is_some_and(|(thread, _)| outside(thread)) {
                return Some(format!("event {number} names a thread that is not there"));
            }
            if let Some(flaw) = self.flaw_of(&event.operation) {
                return Some(format!("event {number}: {flaw}"));
            }
        }
        None
    }

    fn flaw_of_stacks(&self) -> Option<String> {
        let events = self.events.iter().map(|event| event.stack);
        let pending = self.threads.iter().filter_map(|it| it.pending.as_ref());
        let mut named = events.chain(pending.map(|it| it.stack)).flatten();
        if let Some(missing) = named.find(|stack| *stack as usize >= self.stacks.len()) {
            return Some(format!("stack {missing} is not there"));
        }
        let sleeps = self.sleeps.iter().map(|sleep| sleep.thread);
        let variables = self.errors.iter().flat_map(|error| &error.variables);
        let written = variables.filter_map(|variable| Some(variable.written?.0));
        let changes = self.watched.iter().flat_map(|it| &it.changes);
        let changed = changes.map(|change| change.thread);
        let mut named = sleeps.chain(written).chain(changed);
        let missing = named.find(|thread| *thread as usize >= self.threads.len())?;
        Some(format!("thread {missing} is not there"))
    }

    fn flaw_of(&self, operation: &Operation) -> Option<String> {
        let Some(op) = operation.to_op() else {
            return Some(format!(
                "`{}` with these fields is no operation",
                operation.name
            ));
        };
        if let Op::Join(thread) = op {
            return (thread.index() >= self.threads.len())
                .then(|| format!("thread {} is not there", thread.0));
        }
        // Also fields that this operation does not have: they are looked up too.
        let fields = [
            (operation.mutex, Some(ObjectKind::Mutex)),
            (operation.atomic, Some(ObjectKind::Atomic)),
            (operation.object, op.kind().object_kind()),
        ];
        for (object, kind) in fields {
            let Some(object) = object else {
                continue;
            };
            let Some(entry) = self.objects.get(object as usize) else {
                return Some(format!("object {object} is not there"));
            };
            let actual = entry.state.to_object().kind();
            if kind.is_some_and(|kind| kind != actual) {
                return Some(format!("`{}` on a {}", operation.name, actual.name()));
            }
        }
        None
    }
}
