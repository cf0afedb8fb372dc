//! Long jumps, which are libc's own. The signal mask that goes with them is the runtime's and not the kernel's, so it is kept and
//! restored here.

use crate::{
    core::{families::Birth, per_thread::PerThread},
    kernel::{passed_calls::passes, signals},
    run::{call_sites, world},
};
use alloc::vec::Vec;
use core::ffi::{CStr, c_int};

passes! {
    __sigsetjmp => set;
    longjmp => jump;
    _longjmp => jump;
    siglongjmp => jump;
    __longjmp_chk => jump;
}

/// The signal masks that go with jump buffers, by their addresses.
type Masks = Vec<(usize, u64)>;

static MASKS: PerThread<Masks> = PerThread::new();

/// A new run.
pub fn clear() {
    MASKS.clear();
}

pub fn thread_begins(birth: &Birth) {
    MASKS.take_over_or_copy(birth);
}

/// Uses the running thread's masks. The closure must not switch threads.
fn with_own<R>(what: impl FnOnce(&mut Masks) -> R) -> R {
    let me = world::borrow().current;
    MASKS.with(me, what)
}

/// Offset of the flag in a buffer that says whether the mask was kept.
const KEPT_AT: usize = 64;

fn set(_: &'static CStr, arguments: &[usize; 6], _: &usize) {
    let [buffer, keeps, ..] = *arguments;
    let mask = (keeps as c_int != 0).then(signals::blocked);
    with_own(|masks| {
        masks.retain(|(known, _)| *known != buffer);
        masks.extend(mask.map(|mask| (buffer, mask)));
    });
}

fn jump(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    let buffer = arguments[0];
    // SAFETY: the program passes a buffer that `sigsetjmp` has filled, so the flag in it is readable.
    let kept = unsafe { *((buffer + KEPT_AT) as *const c_int) } != 0;
    let mask = with_own(|masks| {
        let found = masks.iter().find(|(known, _)| *known == buffer);
        found.map(|(_, mask)| *mask)
    });
    if let Some(mask) = mask.filter(|_| kept) {
        signals::block(mask, call_sites::site(from));
    }
}
