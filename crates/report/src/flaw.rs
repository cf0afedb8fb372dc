//! What a trace file must not say: the invariants of [`Trace`], checked for every file that is read.

use crate::{
    operation::Operation,
    trace::{Trace, end_of, parse_path},
};
use reweave_model::Op;

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
            .or_else(|| {
                let mut blamed = self.errors.iter().filter_map(|error| error.after);
                blamed
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
        let mutex = operation.mutex.map(|mutex| (mutex, "mutex"));
        let atomic = operation.atomic.map(|atomic| (atomic, "atomic"));
        let object = operation.object.zip(kind_for(op));
        for (object, kind) in [mutex, atomic, object].into_iter().flatten() {
            let Some(entry) = self.objects.get(object as usize) else {
                return Some(format!("object {object} is not there"));
            };
            let actual = entry.state.to_object().kind_name();
            if !kind.is_empty() && actual != kind {
                return Some(format!("`{}` on a {actual}", operation.name));
            }
        }
        None
    }
}

/// The kind of object that an operation is done on; empty: any.
fn kind_for(op: Op) -> Option<&'static str> {
    Some(match op {
        Op::Join(_) | Op::Any(_) | Op::Assume(_) => return None,
        Op::Rmw(..) | Op::CompareExchange { .. } => "atomic",
        // Any object can be looked at; forgetting that a mutex is poisoned is a store to it.
        Op::Load(_) | Op::Store(..) | Op::Await(..) => "",
        Op::Lock(_) | Op::TryLock(_) | Op::Unlock(_) | Op::UnlockClean(_) => "mutex",
        Op::ReadLock(_)
        | Op::TryReadLock(_)
        | Op::ReadUnlock(_)
        | Op::WriteBegin(_)
        | Op::WriteAcquire(_)
        | Op::TryWriteLock(_)
        | Op::WriteUnlock(_) => "rwlock",
        Op::Enqueue { .. }
        | Op::EnqueueIf { .. }
        | Op::Wake { .. }
        | Op::NotifyOne(_)
        | Op::NotifyAll(_) => "condvar",
        Op::SemAcquire { .. } | Op::SemTryAcquire(_) | Op::SemRelease(_) => "semaphore",
        Op::Arrive(_) | Op::Leave(_) => "barrier",
        Op::OnceBegin { .. } | Op::OnceEnd(..) => "once",
        Op::Send(_)
        | Op::TrySend(_)
        | Op::Handoff(..)
        | Op::Recv { .. }
        | Op::TryRecv(_)
        | Op::SenderAdd(_)
        | Op::SenderDrop(_)
        | Op::ReceiverDrop(_) => "channel",
        Op::Park { .. } | Op::Unpark(_) => "parker",
    })
}
