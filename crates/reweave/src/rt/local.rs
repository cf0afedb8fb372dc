//! Thread-local values of a check's threads.
//!
//! *Decides:* when they are made and dropped: made at first use, dropped when the thread ends, the last made first, as std does.
//! *Called by:* the `thread_local!` shim; the thread's end. *Owns:* the values, in the thread's task.
//!
//! Real thread-locals belong to the fiber and would outlive the execution; these begin anew in every one.

use super::task;
use std::{any::Any, rc::Rc};

/// The values of one thread, in the order they were made; `None` once it is being dropped.
#[derive(Default)]
pub(crate) struct Locals(Vec<(usize, Option<Rc<dyn Any>>)>);

/// The value that the running thread of the check has for a thread-local variable (by its address), made at first use. `None`
/// once it was destroyed. It stays where it is until the thread ends. Only on a fiber of a check.
pub(crate) fn local<T: 'static>(key: usize, make: impl FnOnce() -> T) -> Option<*const T> {
    let locals = &task().expect("asked only in a check").locals;
    let find = || {
        let locals = locals.borrow();
        let found = locals.0.iter().find(|(other, _)| *other == key)?;
        Some(found.1.as_ref().map(|value| {
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
    locals.borrow_mut().0.push((key, Some(value)));
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
            let last = locals.0.iter().rposition(|(_, value)| value.is_some());
            place = last.map_or(0, |last| last + 1);
            last.and_then(|last| locals.0[last].1.take())
        };
        drop(value);
    }
}
