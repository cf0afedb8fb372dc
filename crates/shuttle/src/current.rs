//! The running task. Labels, tags and vector clocks of shuttle are missing.

use reweave::thread;

/// A task: a thread, or a future that was spawned. The same in every execution for one that is created in the same order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct TaskId(usize);

impl From<usize> for TaskId {
    fn from(number: usize) -> TaskId {
        TaskId(number)
    }
}

impl From<TaskId> for usize {
    fn from(id: TaskId) -> usize {
        id.0
    }
}

/// The running task.
///
/// # Panics
/// Outside of a check.
pub fn me() -> TaskId {
    get_current_task().expect("called outside of a check")
}

/// The running task, in a check.
pub fn get_current_task() -> Option<TaskId> {
    let number = thread::current().id().number()?;
    Some(TaskId(number as usize))
}
