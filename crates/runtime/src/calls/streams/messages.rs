//! Messages on standard error, by functions of libc that compose them, and end the process with them.
//!
//! libc would end the process by its own `exit`, of which nobody would hear.

use crate::{
    calls::streams::stream_cancellation::{Does, during},
    core::process_end,
    hooks::{
        Frame,
        variadic::{List, variadic},
    },
    kernel::file_objects,
    real, trampoline,
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

/// What the format says, and what `errno` stands for.
unsafe extern "C" fn reason(format: Text, list: List, frame: &Frame) {
    let real = real!(vwarn: fn(Text, List));
    // SAFETY: the program's own arguments.
    on_error(frame, || unsafe { real(format, list) });
}

unsafe extern "C" fn words(format: Text, list: List, frame: &Frame) {
    let real = real!(vwarnx: fn(Text, List));
    // SAFETY: the program's own arguments.
    on_error(frame, || unsafe { real(format, list) });
}

unsafe extern "C" fn end_with_reason(status: c_int, format: Text, list: List, frame: &Frame) -> ! {
    // SAFETY: as the call itself.
    unsafe {
        reason(format, list, frame);
        process_end::exit(status, frame)
    }
}

unsafe extern "C" fn end_with_words(status: c_int, format: Text, list: List, frame: &Frame) -> ! {
    // SAFETY: as the call itself.
    unsafe {
        words(format, list, frame);
        process_end::exit(status, frame)
    }
}

fn on_error(frame: &Frame, write: impl FnOnce()) {
    during(file_objects::outputs()[1], Does::Writes, true, frame, write);
}

/// Standard output comes first.
unsafe extern "C" fn tell(status: c_int, number: c_int, format: Text, list: List, frame: &Frame) {
    let real = real!(error: fn(c_int, c_int, Text, Text));
    // SAFETY: as the call itself.
    unsafe {
        told(status, format, list, frame, |text| {
            real(0, number, c"%s".as_ptr(), text);
        });
    }
}

unsafe extern "C" fn tell_of_place(
    status: c_int,
    number: c_int,
    file: Text,
    line: c_uint,
    format: Text,
    list: List,
) {
    let real = real!(error_at_line: fn(c_int, c_int, Text, c_uint, Text, Text));
    // SAFETY: as the call itself; the frame lies behind the list.
    unsafe {
        let frame = &*list.add(1).cast::<Frame>();
        told(status, format, list, frame, |text| {
            real(0, number, file, line, c"%s".as_ptr(), text);
        });
    }
}

/// Composes a message, has it written, and ends the process unless the status is 0.
unsafe fn told(status: c_int, format: Text, list: List, frame: &Frame, write: impl FnOnce(Text)) {
    let compose = real!(vasprintf: fn(*mut *mut c_char, Text, List) -> c_int);
    let flush = real!(fflush: fn(*mut FILE) -> c_int);
    let mut text = ptr::null_mut();
    let output = file_objects::output();
    // SAFETY: the program's own arguments, libc's own stream; the text is nobody else's.
    unsafe {
        let composed = compose(&mut text, format, list) >= 0;
        during(output, Does::Flushes, true, frame, || {
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
