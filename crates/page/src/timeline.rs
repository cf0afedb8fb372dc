//! What only the model knows of each row: who holds an object, what is in it, who cannot go on.
//!
//! The trace is walked once. A trace that makes no sense to the model is known up to the step that cannot be.

use crate::rows::{Kind, Row};
use reweave_model::{Gate, Object, ObjectId, OnceState, Op, Pending, Site, ThreadId};
use reweave_report::{PendingEntry, Story, Walk, holders};
use std::collections::VecDeque;

/// All that is known.
pub(crate) struct Timeline {
    /// In order of rows; those of the beginning come first, with row 0.
    pub changes: Vec<Change>,
    pub waits: Vec<Wait>,
    /// The first row of which nothing is known.
    pub known: usize,
}

/// After a row an object is like this.
pub(crate) struct Change {
    pub row: usize,
    pub object: u32,
    pub state: ObjectView,
}

/// An object as people see it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ObjectView {
    pub holders: Vec<u32>,
    pub value: String,
}

/// A thread cannot go on from one row (first) to another (last); both show it waiting. One that could have gone on in between, and
/// came too late, waits throughout.
pub(crate) struct Wait {
    pub thread: u32,
    pub first: usize,
    pub last: usize,
    /// For what.
    pub object: Option<u32>,
    /// For whose end.
    pub of: Option<u32>,
}

/// Walks through the rows.
pub(crate) fn timeline(story: &Story<'_>, rows: &[Row]) -> Timeline {
    let trace = story.trace;
    let mut builder = TimelineBuilder {
        story,
        walk: Walk::new(trace),
        views: Vec::new(),
        threads: Vec::new(),
        timeline: Timeline {
            changes: Vec::new(),
            waits: Vec::new(),
            known: rows.len(),
        },
    };
    builder.begin(rows);
    for (index, row) in rows.iter().enumerate() {
        if !builder.row(index, row) {
            builder.timeline.known = index;
            break;
        }
    }
    builder.finish()
}

struct TimelineBuilder<'a> {
    story: &'a Story<'a>,
    walk: Walk<'a>,
    /// Of each object, as told last.
    views: Vec<ObjectView>,
    threads: Vec<ThreadProgress>,
    timeline: Timeline,
}

/// A thread on its way.
struct ThreadProgress {
    born: bool,
    /// What it still does, and what it never does.
    ahead: VecDeque<Pending>,
    /// For each row of it that is still to come, whether it is such an operation: before that it does something else.
    rows: VecDeque<bool>,
    /// It cannot go on since this row, for this.
    stuck: Option<(usize, Op)>,
    /// It could go on since this row, if nobody comes first.
    free: Option<usize>,
}

impl TimelineBuilder<'_> {
    fn begin(&mut self, rows: &[Row]) {
        let trace = self.story.trace;
        for (index, object) in self.walk.machine().objects().iter().enumerate() {
            let state = look(self.story, index as u32, object);
            self.views.push(state.clone());
            self.timeline.changes.push(Change {
                row: 0,
                object: index as u32,
                state,
            });
        }
        for index in 0..trace.threads.len() {
            self.threads.push(ThreadProgress {
                born: index == 0,
                ahead: VecDeque::new(),
                rows: VecDeque::new(),
                stuck: None,
                free: None,
            });
        }
        for row in rows {
            if let Some(thread) = row.thread {
                let operation = matches!(row.kind, Kind::Step(_) | Kind::Pending);
                self.threads[thread as usize].rows.push_back(operation);
            }
        }
        for event in &trace.events {
            let next = event.operation.to_op().map(|op| pending(op, None));
            self.threads[event.thread as usize].ahead.extend(next);
        }
        for (course, thread) in self.threads.iter_mut().zip(&trace.threads) {
            course.ahead.extend(thread.pending.as_ref().and_then(wish));
        }
    }

    /// `false`: the model cannot follow.
    fn row(&mut self, index: usize, row: &Row) -> bool {
        if let Some(thread) = row.thread {
            self.threads[thread as usize].rows.pop_front();
        }
        match row.kind {
            Kind::Access(_) | Kind::Failure(_) => {}
            Kind::Pending => return true,
            Kind::Spawn(child) => self.threads[child as usize].born = true,
            Kind::Step(event) => {
                if self.walk.step().is_none() {
                    return false;
                }
                let event = &self.story.trace.events[event];
                self.go(event.thread, index);
                self.threads[event.thread as usize].ahead.pop_front();
                let operation = &event.operation;
                let touched = [operation.object, operation.mutex, operation.atomic];
                for object in touched.into_iter().flatten() {
                    self.look(index, object);
                }
            }
        }
        self.wait(index);
        true
    }

    fn look(&mut self, row: usize, object: u32) {
        let state = look(
            self.story,
            object,
            self.walk.machine().object(ObjectId(object)),
        );
        if self.views[object as usize] != state {
            self.views[object as usize] = state.clone();
            self.timeline.changes.push(Change { row, object, state });
        }
    }

    /// Who can go on after a row, and who cannot.
    fn wait(&mut self, row: usize) {
        for index in 0..self.threads.len() as u32 {
            let thread = &self.threads[index as usize];
            let come = thread.born && thread.rows.front().is_none_or(|operation| *operation);
            let next = thread.ahead.front().filter(|_| come);
            let stuck = next.filter(|next| {
                let free = self.walk.machine().enabled(ThreadId(index), next);
                !free && !matches!(next.op, Op::Assume(_))
            });
            let stuck = stuck.map(|next| next.op);
            let thread = &mut self.threads[index as usize];
            match (thread.stuck, stuck) {
                (None, Some(op)) => thread.stuck = Some((row, op)),
                (Some(_), Some(_)) => thread.free = None,
                (Some(_), None) => thread.free = thread.free.or(Some(row)),
                (None, None) => {}
            }
        }
    }

    /// At this row a thread goes on.
    fn go(&mut self, thread: u32, row: usize) {
        let course = &mut self.threads[thread as usize];
        let free = course.free.take().unwrap_or(row);
        if let Some((first, op)) = course.stuck.take() {
            self.timeline.waits.push(Wait {
                thread,
                first,
                last: free - 1,
                object: op.object().map(|object| object.0),
                of: match op {
                    Op::Join(other) => Some(other.0),
                    _ => None,
                },
            });
        }
    }

    fn finish(mut self) -> Timeline {
        for thread in 0..self.threads.len() as u32 {
            self.go(thread, self.timeline.known);
        }
        self.timeline
    }
}

fn pending(op: Op, saw: Option<u64>) -> Pending {
    Pending {
        gate: saw.map_or(Gate::Open, Gate::Word),
        ..Pending::new(op, Site::ANY)
    }
}

fn wish(entry: &PendingEntry) -> Option<Pending> {
    Some(pending(entry.operation.to_op()?, entry.saw))
}

/// What people want to know of an object.
fn look(story: &Story<'_>, number: u32, object: &Object) -> ObjectView {
    let value = match object {
        Object::Atomic(word) => story.value(number, *word),
        Object::Mutex { holder: None, .. } => "free".into(),
        Object::Mutex { .. } => "locked".into(),
        Object::RwLock {
            acquired: true,
            writer: Some(_),
            ..
        } => "locked for writing".into(),
        Object::RwLock {
            readers, writer, ..
        } => {
            let readers = match readers.len() {
                0 => "free".to_owned(),
                1 => "1 reader".to_owned(),
                more => format!("{more} readers"),
            };
            let waits =
                writer.map(|writer| format!(", {} is next to write", story.thread(writer.0)));
            readers + &waits.unwrap_or_default()
        }
        Object::Condvar(waiters) => match waiters.len() {
            0 => "nobody waits".into(),
            1 => "1 waits".into(),
            more => format!("{more} wait"),
        },
        Object::Semaphore(count) => format!("{count} left"),
        Object::Barrier { size, arrived, .. } => format!("{} of {size} are here", arrived.len()),
        Object::Once(OnceState::New) => "not begun".into(),
        Object::Once(OnceState::Running(_)) => "under way".into(),
        Object::Once(OnceState::Done) => "done".into(),
        Object::Once(OnceState::Failed) => "failed".into(),
        Object::Channel {
            queue,
            senders,
            receiver,
            ..
        } => {
            let gone = match (senders, receiver) {
                (_, false) => ", receiver gone",
                (0, true) => ", senders gone",
                _ => "",
            };
            let plural = if queue.len() == 1 { "" } else { "s" };
            format!("{} message{plural}{gone}", queue.len())
        }
        Object::Parker(true) => "token there".into(),
        Object::Parker(false) => "no token".into(),
        Object::Pool(freed) => match freed.len() {
            0 => "empty".into(),
            1 => "1 address".into(),
            more => format!("{more} addresses"),
        },
        Object::Pipe(pipe) => {
            let gone = match (pipe.writers, pipe.readers) {
                (_, 0) => ", readers gone",
                (0, _) => ", writers gone",
                _ => "",
            };
            format!("{} of {}{gone}", pipe.held(), pipe.capacity)
        }
    };
    ObjectView {
        holders: holders(object),
        value,
    }
}
