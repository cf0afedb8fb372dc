//! `pipe` and `pipe2`: see [`crate::kernel::endpoints`].

use crate::{
    core::trampoline::Frame,
    kernel::{
        descriptor_table,
        endpoints::{EndKind, Endpoint},
        open_description::{self, Modelled},
        pipes::{Called, PIPE_CAPACITY, PipeId},
        start_state,
    },
    real,
    run::{accesses, call_sites, world},
    trampoline,
};
use core::ffi::c_int;
use reweave_model::Object;

trampoline! {
    pipe => make, "rsi";
    __pipe => make, "rsi";
    pipe2 => make_with, "rdx";
}

/// `pipe`.
///
/// # Safety
///
/// As POSIX demands of the caller: `ends` points to room for two descriptors.
unsafe extern "C" fn make(ends: *mut c_int, frame: &Frame) -> c_int {
    // SAFETY: `ends` is what `pipe2` asks for too.
    unsafe { make_with(ends, 0, frame) }
}

/// `pipe2`.
///
/// # Safety
///
/// As [`make`].
unsafe extern "C" fn make_with(ends: *mut c_int, flags: c_int, frame: &Frame) -> c_int {
    let real = real!(pipe2: fn(*mut c_int, c_int) -> c_int);
    let bytes = size_of::<[c_int; 2]>();
    start_state::descriptors_change();
    if world::active() {
        world::snapshot().touch_range(ends as usize, bytes);
    }
    // SAFETY: this function's own arguments, with the same contract.
    let result = unsafe { real(ends, flags) };
    if !world::active() || result != 0 {
        return result;
    }
    accesses::range(ends as usize, bytes, true, frame);
    let site = call_sites::site(&frame.return_address);
    if flags & libc::O_DIRECT != 0 {
        world::unsupported("pipe2 with O_DIRECT", site);
    }
    // SAFETY: the call went well, so two descriptors lie there.
    let mut both: [c_int; 2] = unsafe { ends.cast::<[c_int; 2]>().read() };
    descriptor_table::opened_both(&mut both, site);
    // SAFETY: there is room for two descriptors, as the caller promises.
    unsafe { ends.cast::<[c_int; 2]>().write(both) };
    let [reader, writer] = both;
    let pipe = PipeId::new(Called::Pipe { reader, writer }, Object::pipe(PIPE_CAPACITY));
    let reader = Endpoint {
        input: Some(pipe),
        output: None,
        kind: EndKind::Pipe,
    };
    let writer = Endpoint {
        input: None,
        output: Some(pipe),
        kind: EndKind::Pipe,
    };
    for (number, endpoint) in both.into_iter().zip([reader, writer]) {
        let description = open_description::create(Some(Modelled::Endpoint(endpoint)));
        descriptor_table::note_open(number, Some(description));
    }
    0
}
