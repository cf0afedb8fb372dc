//! Calls on streams: see [`crate::calls::streams::stream_objects`] for what they touch, and [`crate::calls::streams::stream_locks`]
//! for the lock that most of them take.

use crate::{
    calls::streams::stream_cancellation::{StreamUse, during},
    core::{real::Real, trampoline::Frame},
    kernel::{passed_calls::called_with, start_state},
    real,
    run::{accesses, world},
    trampoline,
};
use core::ffi::{CStr, c_char, c_int, c_void};
use libc::FILE;

trampoline! {
    fread => stream_read, "r8";
    fread_unlocked => stream_read_unlocked, "r8";
    __fread_chk => stream_read_checked, "r9";
    fwrite => stream_write, "r8";
    fwrite_unlocked => stream_write_unlocked, "r8";
    fgets => stream_line, "rcx";
    fgets_unlocked => stream_line_unlocked, "rcx";
    __fgets_chk => stream_line_checked, "r8";
    getline => stream_new_line, "rcx";
    getdelim => stream_up_to, "r8";
    __getdelim => stream_up_to, "r8";
    fputs => put_text, "rdx";
    fputs_unlocked => put_text_unlocked, "rdx";
    puts => put_line, "rsi";
}

/// Which stream a call is about.
enum Which {
    Argument(usize),
    Input,
    Output,
    Error,
}

impl Which {
    fn among(&self, arguments: &[usize; 6]) -> usize {
        match self {
            Which::Argument(number) => arguments[*number],
            Which::Input => start_state::input(),
            Which::Output => start_state::output(),
            Which::Error => start_state::outputs()[1],
        }
    }
}

struct Call {
    real: Real,
    which: Which,
    does: StreamUse,
    /// Whether it takes the lock of the stream.
    locks: bool,
}

/// Makes a call with its first six arguments.
///
/// # Safety
///
/// The arguments are as the function of this name demands of its caller.
unsafe extern "C" fn called(call: &Call, arguments: &[usize; 6], frame: &Frame) -> isize {
    type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize) -> isize;
    // SAFETY: a function with at most six arguments, all of them in registers; it ignores those that it does not take.
    let real: Function = unsafe { core::mem::transmute(call.real.get()) };
    let [a, b, c, d, e, f] = *arguments;
    let stream = call.which.among(arguments);
    // SAFETY: the arguments are as the caller promises, and one of them is the stream, or it is a standard stream.
    unsafe {
        during(stream, call.does, call.locks, frame, || {
            real(a, b, c, d, e, f)
        })
    }
}

/// Defines calls on streams: on which, what they do, whether they take its lock.
macro_rules! on_streams {
    ($which:expr, $does:ident, $locks:literal: $($name:ident)*) => {$(
        const _: () = {
            static CALL: Call = Call {
                // SAFETY: a name of a function has no nul, so the one that is added is the only one, at the end.
                real: Real::new(unsafe {
                    CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes())
                }),
                which: $which,
                does: StreamUse::$does,
                locks: $locks,
            };
            called_with!($name, CALL, called);
        };
    )*};
}

// What is read.
on_streams! { Which::Argument(0), Reads, true:
    fgetc getc fgetwc getwc getw
}
on_streams! { Which::Argument(0), Moves, true: fseek fseeko fseeko64 fsetpos fsetpos64 }
on_streams! { Which::Argument(0), Rewinds, true: rewind }
on_streams! { Which::Argument(0), Looks, true: ftell ftello ftello64 fgetpos fgetpos64 feof ferror clearerr fwide }
on_streams! { Which::Argument(1), Looks, true: ungetc ungetwc }
on_streams! { Which::Argument(2), Reads, true: fgetws }
on_streams! { Which::Argument(0), Reads, false: fgetc_unlocked getc_unlocked fgetwc_unlocked getwc_unlocked }
on_streams! { Which::Argument(0), Looks, false: feof_unlocked ferror_unlocked clearerr_unlocked }
on_streams! { Which::Argument(2), Reads, false: fgetws_unlocked }
// What compilers leave of those that take one character: an empty buffer is filled, a full one written.
on_streams! { Which::Argument(0), Reads, false: __underflow __uflow __wunderflow __wuflow }
on_streams! { Which::Argument(0), Writes, false: __overflow __woverflow }
on_streams! { Which::Input, Reads, true: getchar getwchar }
on_streams! { Which::Input, Reads, false: getchar_unlocked getwchar_unlocked }

// What is written.
on_streams! { Which::Argument(0), Sets, true: setbuf setbuffer setlinebuf setvbuf }
on_streams! { Which::Argument(1), Writes, true: fputc putc fputwc putwc fputws putw }
on_streams! { Which::Argument(0), Flushes, false: fflush_unlocked }
on_streams! { Which::Argument(1), Writes, false:
    fputc_unlocked putc_unlocked fputwc_unlocked putwc_unlocked fputws_unlocked
}
on_streams! { Which::Output, Writes, true: putchar putwchar }
on_streams! { Which::Output, Writes, false: putchar_unlocked putwchar_unlocked }
on_streams! { Which::Error, Writes, true: perror psignal psiginfo vwarn vwarnx }

/// Defines calls that differ in whether they take the stream's lock.
macro_rules! by_lock {
    ($($name:ident => $by:ident, $real:ident, $locks:literal, ($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[doc = concat!("`", stringify!($real), "`.")]
        ///
        /// # Safety
        ///
        /// As the C standard demands of the caller.
        unsafe extern "C" fn $name($($argument: $type,)* frame: &Frame) -> $result {
            let real = real!($real: fn($($type),*) -> $result);
            // SAFETY: the arguments are as the caller promises, and passed on unchanged.
            unsafe { $by(($($argument),*), $locks, frame, real) }
        }
    )*};
}

by_lock! {
    stream_read => read_pieces, fread, true, (into: *mut c_void, bytes: usize, count: usize, stream: *mut FILE) -> usize;
    stream_read_unlocked => read_pieces, fread_unlocked, false, (into: *mut c_void, bytes: usize, count: usize, stream: *mut FILE) -> usize;
    stream_write => write_pieces, fwrite, true, (from: *const c_void, bytes: usize, count: usize, stream: *mut FILE) -> usize;
    stream_write_unlocked => write_pieces, fwrite_unlocked, false, (from: *const c_void, bytes: usize, count: usize, stream: *mut FILE) -> usize;
    put_text => put, fputs, true, (text: *const c_char, stream: *mut FILE) -> c_int;
    put_text_unlocked => put, fputs_unlocked, false, (text: *const c_char, stream: *mut FILE) -> c_int;
    stream_line => read_line, fgets, true, (into: *mut c_char, bytes: c_int, stream: *mut FILE) -> *mut c_char;
    stream_line_unlocked => read_line, fgets_unlocked, false, (into: *mut c_char, bytes: c_int, stream: *mut FILE) -> *mut c_char;
}

/// Reads `count` items; `real` has the C library do it.
///
/// # Safety
///
/// As the C standard demands of a caller of `fread`: there is room for the items, and `stream` is a stream.
unsafe fn read_pieces(
    (into, bytes, count, stream): (*mut c_void, usize, usize, *mut FILE),
    locks: bool,
    frame: &Frame,
    real: unsafe extern "C" fn(*mut c_void, usize, usize, *mut FILE) -> usize,
) -> usize {
    let reads = || {
        if world::active() {
            world::snapshot().touch_range(into as usize, bytes.saturating_mul(count));
        }
        // SAFETY: the arguments are as the caller promises, and passed on unchanged.
        let got = unsafe { real(into, bytes, count, stream) };
        if world::active() {
            accesses::range(into as usize, got * bytes, true, frame);
        }
        got
    };
    // SAFETY: a stream, as the caller promises.
    unsafe { during(stream as usize, StreamUse::Reads, locks, frame, reads) }
}

/// `__fread_chk`: the C library ends the program if more is asked for than there is room.
///
/// # Safety
///
/// As `fread`, or `room` is less than what is asked for.
unsafe extern "C" fn stream_read_checked(
    into: *mut c_void,
    room: usize,
    bytes: usize,
    count: usize,
    stream: *mut FILE,
    frame: &Frame,
) -> usize {
    let real = real!(__fread_chk: fn(*mut c_void, usize, usize, usize, *mut FILE) -> usize);
    // SAFETY: passed on unchanged; if the items fit, the caller's promise is the one that `fread` needs.
    unsafe {
        match bytes.saturating_mul(count) > room {
            true => real(into, room, bytes, count, stream),
            false => stream_read(into, bytes, count, stream, frame),
        }
    }
}

/// Writes `count` items; `real` has the C library do it.
///
/// # Safety
///
/// As the C standard demands of a caller of `fwrite`: the items are there, and `stream` is a stream.
unsafe fn write_pieces(
    (from, bytes, count, stream): (*const c_void, usize, usize, *mut FILE),
    locks: bool,
    frame: &Frame,
    real: unsafe extern "C" fn(*const c_void, usize, usize, *mut FILE) -> usize,
) -> usize {
    if world::active() {
        accesses::range(from as usize, bytes.saturating_mul(count), false, frame);
    }
    // SAFETY: the arguments are as the caller promises, and passed on unchanged.
    unsafe {
        during(stream as usize, StreamUse::Writes, locks, frame, || {
            real(from, bytes, count, stream)
        })
    }
}

/// A text is read before it is written.
///
/// # Safety
///
/// `text` is null or ends with a nul.
unsafe fn note_text(text: *const c_char, frame: &Frame) {
    if world::active() && !text.is_null() {
        // SAFETY: not null, so it ends with a nul, as the caller promises.
        let length = unsafe { CStr::from_ptr(text) }.count_bytes();
        accesses::range(text as usize, length + 1, false, frame);
    }
}

/// `puts`.
///
/// # Safety
///
/// As the C standard demands of the caller: `text` ends with a nul.
unsafe extern "C" fn put_line(text: *const c_char, frame: &Frame) -> c_int {
    let real = real!(puts: fn(*const c_char) -> c_int);
    let output = start_state::output();
    // SAFETY: the text is as the caller promises; standard output is a stream.
    unsafe {
        note_text(text, frame);
        during(output, StreamUse::Writes, true, frame, || real(text))
    }
}

/// Writes a text; `real` has the C library do it.
///
/// # Safety
///
/// As the C standard demands of a caller of `fputs`: `text` ends with a nul, and `stream` is a stream.
unsafe fn put(
    (text, stream): (*const c_char, *mut FILE),
    locks: bool,
    frame: &Frame,
    real: unsafe extern "C" fn(*const c_char, *mut FILE) -> c_int,
) -> c_int {
    // SAFETY: the arguments are as the caller promises, and passed on unchanged.
    unsafe {
        note_text(text, frame);
        during(stream as usize, StreamUse::Writes, locks, frame, || {
            real(text, stream)
        })
    }
}

type Line = unsafe extern "C" fn(*mut c_char, c_int, *mut FILE) -> *mut c_char;

/// Reads a line; `real` has the C library do it.
///
/// # Safety
///
/// As the C standard demands of a caller of `fgets`: there is room for `bytes` bytes, and `stream` is a stream.
unsafe fn read_line(
    (into, bytes, stream): (*mut c_char, c_int, *mut FILE),
    locks: bool,
    frame: &Frame,
    real: Line,
) -> *mut c_char {
    // SAFETY: the arguments are as the caller promises, and passed on unchanged; what was read ends with a nul.
    unsafe {
        during(stream as usize, StreamUse::Reads, locks, frame, || {
            let got = real(into, bytes, stream);
            if !got.is_null() && world::active() {
                let length = CStr::from_ptr(got).count_bytes();
                accesses::range(into as usize, length + 1, true, frame);
            }
            got
        })
    }
}

/// `__fgets_chk`: the C library ends the program if more is asked for than there is room.
///
/// # Safety
///
/// As `fgets`, or `room` is less than `bytes`.
unsafe extern "C" fn stream_line_checked(
    into: *mut c_char,
    room: usize,
    bytes: c_int,
    stream: *mut FILE,
    frame: &Frame,
) -> *mut c_char {
    let real = real!(__fgets_chk: fn(*mut c_char, usize, c_int, *mut FILE) -> *mut c_char);
    // SAFETY: passed on unchanged; if the line fits, the caller's promise is the one that `fgets` needs.
    unsafe {
        match bytes.max(0) as usize > room {
            true => real(into, room, bytes, stream),
            false => stream_line(into, bytes, stream, frame),
        }
    }
}

/// `getline`.
///
/// # Safety
///
/// As [`stream_up_to`].
unsafe extern "C" fn stream_new_line(
    line: *mut *mut c_char,
    bytes: *mut usize,
    stream: *mut FILE,
    frame: &Frame,
) -> isize {
    // SAFETY: the arguments are as the caller promises.
    unsafe { stream_up_to(line, bytes, b'\n'.into(), stream, frame) }
}

/// `getdelim`.
///
/// # Safety
///
/// As POSIX demands of the caller: the variables hold null or allocated memory and its size, and `stream` is a stream.
unsafe extern "C" fn stream_up_to(
    line: *mut *mut c_char,
    bytes: *mut usize,
    end: c_int,
    stream: *mut FILE,
    frame: &Frame,
) -> isize {
    let real = real!(getdelim: fn(*mut *mut c_char, *mut usize, c_int, *mut FILE) -> isize);
    let looks = world::active();
    if looks {
        accesses::range(line as usize, size_of::<usize>(), true, frame);
        accesses::range(bytes as usize, size_of::<usize>(), true, frame);
    }
    // SAFETY: the arguments are as the caller promises; what was read lies where `line` points now.
    unsafe {
        during(stream as usize, StreamUse::Reads, true, frame, || {
            let got = real(line, bytes, end, stream);
            if looks && got >= 0 {
                accesses::range(*line as usize, got as usize + 1, true, frame);
            }
            got
        })
    }
}
