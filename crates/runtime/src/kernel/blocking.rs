//! Operations of open descriptions that may have to wait: in the model, and as cancellation points.

use crate::{
    core::trampoline::Frame,
    kernel::waits::{self, Ended},
    run::{
        call_sites,
        operations::visible,
        world::{Done, poll},
    },
};
use core::cell::Cell;
use reweave_model::{GONE, ObjectId, Op, Order};

/// The thread was cancelled while it waited. Its caller acts on that.
pub(crate) struct Cancelled;

/// Performs an operation on an object, made with whether it only tries. One that `waits` does so in the model.
pub(crate) fn perform(
    object: ObjectId,
    op: impl Fn(bool) -> Op,
    waits: bool,
    frame: &Frame,
) -> Result<Done, Cancelled> {
    let site = call_sites::site(&frame.return_address);
    let done = if waits && waits::used() {
        let last = Cell::new(None);
        let attempt = || {
            let done = visible(op(true), site);
            last.set(Some(done));
            done.ok || is_final(op(true), done)
        };
        if waits::until_done(object, attempt, site) == Ended::Cancelled {
            return Err(Cancelled);
        }
        last.take().expect("it was attempted")
    } else {
        poll(op(!waits), frame, site, Order::SeqCst, None)
    };
    if done.ok && waits::used() {
        waits::post(object, || {}, site);
    }
    Ok(done)
}

/// Whether an operation that failed would fail again for ever.
fn is_final(op: Op, done: Done) -> bool {
    matches!(op, Op::Put { .. } | Op::Get { .. }) && done.result == GONE
}
