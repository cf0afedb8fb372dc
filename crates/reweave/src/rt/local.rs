//! Thread-local values of a check's threads.
//!
//! *Decides:* when they are made and dropped: made at first use, dropped when the thread ends, the last made first, as std does.
//! *Called by:* the `thread_local!` shim; the thread's end. *Owns:* the values, in the thread's task.
//!
//! Real thread-locals belong to the fiber and would outlive the execution; these are reset in every execution.

use super::task;
use std::{any::Any, mem::needs_drop, rc::Rc};

/// The values of one thread, in the order they were made.
#[derive(Default)]
pub(crate) struct Locals(Vec<Local>);

struct Local {
    key: usize,
    /// `None` once it is being dropped.
    value: Option<Rc<dyn Any>>,
    /// Whether dropping it does anything. Others stay usable to the very end of the thread, also in destructors, as in std.
    drops: bool,
}

/// The value that the running thread of the check has for a thread-local variable (by its address), made at first use. `None`
/// once it was destroyed. It stays where it is until the thread ends. Only on a fiber of a check.
pub(crate) fn local<T: 'static>(key: usize, make: impl FnOnce() -> T) -> Option<*const T> {
    let task = task().expect("asked only in a check");
    if task.silent_falls.get() > 0 {
        super::arcs::visible(task);
    }
    let locals = &task.locals;
    let find = || {
        let locals = locals.borrow();
        let found = locals.0.iter().find(|local| local.key == key)?;
        Some(found.value.as_ref().map(|value| {
            let value = value.downcast_ref::<T>();
            std::ptr::from_ref(value.expect("a key belongs to one variable"))
        }))
    };
    if let Some(found) = find() {
        return found;
    }
    // The initialiser may use other variables, or this one.
    let value = Rc::new(make());
    let place = Rc::as_ptr(&value);
    locals.borrow_mut().0.push(Local {
        key,
        value: Some(value),
        drops: needs_drop::<T>(),
    });
    Some(place)
}

/// Drops the running thread's values.
pub(crate) fn drop_all() {
    let locals = &task().expect("at the end of a thread").locals;
    let mut place = locals.borrow().0.len();
    while place > 0 {
        // A destructor may make more of them; those come last and go next.
        let value = {
            let mut locals = locals.borrow_mut();
            let waits = |local: &Local| local.drops && local.value.is_some();
            let last = locals.0.iter().rposition(waits);
            place = last.map_or(0, |last| last + 1);
            last.and_then(|last| locals.0[last].value.take())
        };
        drop(value);
    }
}
