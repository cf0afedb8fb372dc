//! Messages on standard error, by functions of the C library that compose them, and end the process with them.
//!
//! The C library would end the process by its own `exit`, which is not under control.

use crate::{
    calls::streams::stream_cancellation::{StreamUse, during},
    core::{
        trampoline::Frame,
        variadic::{List, variadic},
    },
    kernel::start_state,
    real,
    run::{process_end, world},
    shared::formats::{self, Characters},
    trampoline,
};
use core::{
    ffi::{c_char, c_int, c_uint, c_void},
    ptr,
};
use libc::FILE;

trampoline! {
    verr => end_with_reason, "rcx";
    verrx => end_with_words, "rcx";
}

variadic! {
    warn => reason, "1", "rsi", "rdx";
    warnx => words, "1", "rsi", "rdx";
    err => end_with_reason, "2", "rdx", "rcx";
    errx => end_with_words, "2", "rdx", "rcx";
    error => tell, "3", "rcx", "r8";
    error_at_line => tell_of_place, "5", "r9", "r11";
}

type Text = *const c_char;

/// `vwarn`: what the format says, and what `errno` stands for.
///
/// # Safety
///
/// As the C library demands of the caller: a format, and a list of arguments that fit it.
unsafe extern "C" fn reason(format: Text, list: List, frame: &Frame) {
    let real = real!(vwarn: fn(Text, List));
    // SAFETY: format and list are as the caller promises, and passed on unchanged.
    on_error(frame, || unsafe { real(format, list) });
}

/// `vwarnx`: what the format says.
///
/// # Safety
///
/// As [`reason`].
unsafe extern "C" fn words(format: Text, list: List, frame: &Frame) {
    let real = real!(vwarnx: fn(Text, List));
    // SAFETY: format and list are as the caller promises, and passed on unchanged.
    on_error(frame, || unsafe { real(format, list) });
}

/// `verr`.
///
/// # Safety
///
/// As [`reason`].
unsafe extern "C" fn end_with_reason(status: c_int, format: Text, list: List, frame: &Frame) -> ! {
    // SAFETY: format and list are as the caller promises, and passed on unchanged.
    unsafe {
        reason(format, list, frame);
        process_end::exit(status, frame)
    }
}

/// `verrx`.
///
/// # Safety
///
/// As [`reason`].
unsafe extern "C" fn end_with_words(status: c_int, format: Text, list: List, frame: &Frame) -> ! {
    // SAFETY: format and list are as the caller promises, and passed on unchanged.
    unsafe {
        words(format, list, frame);
        process_end::exit(status, frame)
    }
}

/// Writes to standard error.
fn on_error(frame: &Frame, write: impl FnOnce()) {
    let [_, error] = start_state::outputs();
    // SAFETY: standard error is a stream.
    unsafe { during(error, StreamUse::Writes, true, frame, write) };
}

/// `error`: standard output is flushed first.
///
/// # Safety
///
/// As [`reason`].
unsafe extern "C" fn tell(status: c_int, number: c_int, format: Text, list: List, frame: &Frame) {
    let real = real!(error: fn(c_int, c_int, Text, Text));
    // SAFETY: format and list are as the caller promises; the text that was composed is passed as an argument of `%s`.
    unsafe {
        told(status, format, list, frame, |text| {
            real(0, number, c"%s".as_ptr(), text);
        });
    }
}

/// `error_at_line`.
///
/// # Safety
///
/// As [`reason`]; `file` ends with a nul.
unsafe extern "C" fn tell_of_place(
    status: c_int,
    number: c_int,
    file: Text,
    line: c_uint,
    format: Text,
    list: List,
) {
    let real = real!(error_at_line: fn(c_int, c_int, Text, c_uint, Text, Text));
    // SAFETY: the arguments are as the caller promises; the trampoline has put the frame behind the list.
    unsafe {
        let frame = &*list.add(1).cast::<Frame>();
        told(status, format, list, frame, |text| {
            real(0, number, file, line, c"%s".as_ptr(), text);
        });
    }
}

/// Composes a message, has it written, and ends the process unless the status is 0.
///
/// # Safety
///
/// As [`reason`].
unsafe fn told(status: c_int, format: Text, list: List, frame: &Frame, write: impl FnOnce(Text)) {
    let compose = real!(vasprintf: fn(*mut *mut c_char, Text, List) -> c_int);
    let flush = real!(fflush: fn(*mut FILE) -> c_int);
    let mut text = ptr::null_mut();
    let output = start_state::output();
    // SAFETY: format and list are as the caller promises; standard output is a stream; the text was allocated by `vasprintf` and
    // is used here only.
    unsafe {
        if world::active() {
            formats::printed(format as usize, Characters::Bytes, list, frame);
        }
        let composed = compose(&mut text, format, list) >= 0;
        during(output, StreamUse::Flushes, true, frame, || {
            flush(output as *mut FILE)
        });
        on_error(frame, || write(if composed { text } else { format }));
        if composed {
            libc::free(text.cast::<c_void>());
        }
        if status != 0 {
            process_end::exit(status, frame);
        }
    }
}
