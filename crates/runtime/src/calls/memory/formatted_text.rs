//! Functions of the C library that write to memory of the program: text that is printed and taken apart, numbers, times, sorted arrays.
//! Programs are linked as for [`crate::calls::memory::strings`]. Writes are noted before they are made.
//!
//! A format says what else is read and written ([`crate::shared::formats`]).

use crate::{
    calls::memory::{
        static_buffers,
        strings::{ALL, Text, TextMut, read, span_of, span_without},
    },
    core::{
        cell::{self, RunValue},
        trampoline::Frame,
        variadic::{List, variadic},
    },
    outside_run, real,
    run::{accesses::range, spin, world},
    shared::formats::{self, Characters},
    trampoline,
};
use core::{
    ffi::{c_int, c_long, c_uint, c_ulong, c_void},
    ptr,
};

trampoline! {
    __wrap_vsprintf => print, "rcx";
    __wrap_vsnprintf => print_within, "r8";
    vasprintf => print_new, "rcx";
    __wrap_vsscanf => scan, "rcx";
    __wrap___isoc99_vsscanf => scan, "rcx";
    __wrap___isoc23_vsscanf => scan, "rcx";
    __wrap_strtol => signed, "rcx";
    __wrap_strtoll => signed, "rcx";
    __wrap___isoc23_strtol => signed, "rcx";
    __wrap___isoc23_strtoll => signed, "rcx";
    __wrap_strtoul => unsigned, "rcx";
    __wrap_strtoull => unsigned, "rcx";
    __wrap___isoc23_strtoul => unsigned, "rcx";
    __wrap___isoc23_strtoull => unsigned, "rcx";
    __wrap_strtod => fraction, "rdx";
    __wrap_strtof => short_fraction, "rdx";
    __wrap_atoi => integer, "rsi";
    __wrap_atol => long_integer, "rsi";
    __wrap_atoll => long_integer, "rsi";
    __wrap_strtok => next_token, "rdx";
    __wrap_strtok_r => next_token_of, "rcx";
    __wrap___strtok_r => next_token_of, "rcx";
    __wrap_qsort => sort, "r8";
    __wrap_qsort_r => sort_with, "r9";
    __wrap_strftime => print_time, "r8";
    __wrap_gmtime_r => split_time, "rdx";
    __wrap_localtime_r => split_local_time, "rdx";
    __wrap_asctime_r => time_as_text, "rdx";
    __wrap_ctime_r => seconds_as_text, "rdx";
    __wrap_rand_r => next_random, "rsi";
}

/// What is left of the text that this run's `strtok` takes apart.
static REST: RunValue<usize> = RunValue::new(0);

/// A new run.
pub fn clear() {
    REST.set(0);
}

variadic! {
    __wrap_sprintf => print, "2", "rdx", "rcx";
    __wrap_snprintf => print_within, "3", "rcx", "r8";
    asprintf => print_new, "2", "rdx", "rcx";
    __wrap_sscanf => scan, "2", "rdx", "rcx";
    __wrap___isoc99_sscanf => scan, "2", "rdx", "rcx";
    __wrap___isoc23_sscanf => scan, "2", "rdx", "rcx";
}

/// # Safety
///
/// As `vsprintf`: `format` is a C string, `list` has the arguments that it names, and `to` has room for the text.
unsafe extern "C" fn print(to: TextMut, format: Text, list: List, frame: &Frame) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        printed(to, ALL, format, list, frame);
        real!(vsprintf: fn(TextMut, Text, List) -> c_int)(to, format, list)
    }
}

/// Notes what is about to be printed.
///
/// # Safety
///
/// `format` is a C string, and `list` has the arguments that it names.
unsafe fn printed(to: TextMut, most: usize, format: Text, list: List, frame: &Frame) {
    let real = real!(vsnprintf: fn(TextMut, usize, Text, List) -> c_int);
    // SAFETY: by this function's contract. Printing uses a list up, so this is a copy; nothing is written to null with room for 0
    // bytes.
    unsafe {
        formats::printed(format as usize, Characters::Bytes, list, frame);
        let mut list = *list;
        let length = real(ptr::null_mut(), 0, format, &mut list);
        if length >= 0 {
            range(to as usize, most.min(length as usize + 1), true, frame);
        }
    }
}

/// # Safety
///
/// As `vsnprintf`: `format` is a C string, `list` has the arguments that it names, and `to` is writable for `bytes` bytes.
unsafe extern "C" fn print_within(
    to: TextMut,
    bytes: usize,
    format: Text,
    list: List,
    frame: &Frame,
) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        printed(to, bytes, format, list, frame);
        real!(vsnprintf: fn(TextMut, usize, Text, List) -> c_int)(to, bytes, format, list)
    }
}

/// # Safety
///
/// As `vasprintf`: `format` is a C string, `list` has the arguments that it names, and `to` points to room for a pointer.
unsafe extern "C" fn print_new(to: *mut TextMut, format: Text, list: List, frame: &Frame) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        if world::active() {
            formats::printed(format as usize, Characters::Bytes, list, frame);
            range(to as usize, size_of::<TextMut>(), true, frame);
        }
        real!(vasprintf: fn(*mut TextMut, Text, List) -> c_int)(to, format, list)
    }
}

/// # Safety
///
/// As `vsscanf`: `text` and `format` are C strings, and `list` has the variables that `format` names.
unsafe extern "C" fn scan(text: Text, format: Text, list: List, frame: &Frame) -> c_int {
    spin::disturbed();
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        read(text, ALL, frame);
        let places = formats::to_scan(format as usize, Characters::Bytes, list, frame);
        let result = real!(vsscanf: fn(Text, Text, List) -> c_int)(text, format, list);
        places.scanned(result, frame);
        result
    }
}

/// Notes that a number was read up to its end, and writes the end to the program's variable, if there is one.
///
/// # Safety
///
/// `text` and `stopped` point into one C string; `end` is null or points to room for a pointer.
unsafe fn number(text: Text, stopped: TextMut, end: *mut TextMut, frame: &Frame) {
    let length = stopped as usize - text as usize;
    range(text as usize, length + 1, false, frame);
    if !end.is_null() {
        range(end as usize, size_of::<TextMut>(), true, frame);
        // SAFETY: not null, so it points to room for a pointer, by this function's contract.
        unsafe { *end = stopped };
    }
}

/// # Safety
///
/// As `strtol`: `text` is a C string, `end` is null or points to room for a pointer.
unsafe extern "C" fn signed(text: Text, end: *mut TextMut, base: c_int, frame: &Frame) -> c_long {
    let mut stopped = text.cast_mut();
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let real = real!(strtol: fn(Text, *mut TextMut, c_int) -> c_long);
        let value = real(text, &mut stopped, base);
        number(text, stopped, end, frame);
        value
    }
}

/// # Safety
///
/// As `strtoul`: `text` is a C string, `end` is null or points to room for a pointer.
unsafe extern "C" fn unsigned(
    text: Text,
    end: *mut TextMut,
    base: c_int,
    frame: &Frame,
) -> c_ulong {
    let mut stopped = text.cast_mut();
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let real = real!(strtoul: fn(Text, *mut TextMut, c_int) -> c_ulong);
        let value = real(text, &mut stopped, base);
        number(text, stopped, end, frame);
        value
    }
}

/// # Safety
///
/// As `strtod`: `text` is a C string, `end` is null or points to room for a pointer.
unsafe extern "C" fn fraction(text: Text, end: *mut TextMut, frame: &Frame) -> f64 {
    let mut stopped = text.cast_mut();
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let value = real!(strtod: fn(Text, *mut TextMut) -> f64)(text, &mut stopped);
        number(text, stopped, end, frame);
        value
    }
}

/// # Safety
///
/// As `strtof`: `text` is a C string, `end` is null or points to room for a pointer.
unsafe extern "C" fn short_fraction(text: Text, end: *mut TextMut, frame: &Frame) -> f32 {
    let mut stopped = text.cast_mut();
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let value = real!(strtof: fn(Text, *mut TextMut) -> f32)(text, &mut stopped);
        number(text, stopped, end, frame);
        value
    }
}

/// # Safety
///
/// As `atoi`: `text` is a C string.
unsafe extern "C" fn integer(text: Text, frame: &Frame) -> c_int {
    // SAFETY: by this function's contract, which is no weaker; null is allowed for the end.
    unsafe { signed(text, ptr::null_mut(), 10, frame) as c_int }
}

/// # Safety
///
/// As `atol`: `text` is a C string.
unsafe extern "C" fn long_integer(text: Text, frame: &Frame) -> c_long {
    // SAFETY: by this function's contract, which is no weaker; null is allowed for the end.
    unsafe { signed(text, ptr::null_mut(), 10, frame) }
}

/// The next token, null if there is none, and what is left behind it.
///
/// # Safety
///
/// `text` is a C string that can be written, `between` a C string.
unsafe fn token(text: TextMut, between: Text, frame: &Frame) -> (TextMut, TextMut) {
    // SAFETY: by this function's contract; spans end at the nul at the latest, so all pointers stay within the text.
    unsafe {
        let start = text.add(span_of(text, between, frame));
        if *start == 0 {
            return (ptr::null_mut(), start);
        }
        let end = start.add(span_without(start, between, frame));
        if *end == 0 {
            return (start, end);
        }
        range(end as usize, 1, true, frame);
        *end = 0;
        (start, end.add(1))
    }
}

/// # Safety
///
/// As `strtok`: `text` is null or a C string that can be written, `between` a C string.
unsafe extern "C" fn next_token(text: TextMut, between: Text, frame: &Frame) -> TextMut {
    outside_run!(strtok: fn(text: TextMut, between: Text) -> TextMut);
    let shared = static_buffers::rest_of_text();
    let text = match text.is_null() {
        true => {
            range(shared, 8, false, frame);
            REST.get() as TextMut
        }
        false => text,
    };
    if text.is_null() {
        return text;
    }
    // SAFETY: by this function's contract; what is left of an earlier text is a C string as well.
    let (found, rest) = unsafe { token(text, between, frame) };
    range(shared, 8, true, frame);
    cell::changed();
    REST.set(rest as usize);
    found
}

/// # Safety
///
/// As `strtok_r`: `text` is null or a C string that can be written, `between` a C string, `rest` the caller's pointer.
unsafe extern "C" fn next_token_of(
    text: TextMut,
    between: Text,
    rest: *mut TextMut,
    frame: &Frame,
) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let text = match text.is_null() {
            true => {
                range(rest as usize, size_of::<TextMut>(), false, frame);
                *rest
            }
            false => text,
        };
        let (found, left) = token(text, between, frame);
        range(rest as usize, size_of::<TextMut>(), true, frame);
        *rest = left;
        found
    }
}

type Array = *mut c_void;
type Compare = extern "C" fn(*const c_void, *const c_void) -> c_int;
type CompareWith = extern "C" fn(*const c_void, *const c_void, *mut c_void) -> c_int;

/// # Safety
///
/// As `qsort`: `array` has `count` elements of `bytes` bytes, which `compare` compares.
unsafe extern "C" fn sort(
    array: Array,
    count: usize,
    bytes: usize,
    compare: Compare,
    frame: &Frame,
) {
    range(array as usize, count.saturating_mul(bytes), true, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { real!(qsort: fn(Array, usize, usize, Compare))(array, count, bytes, compare) };
}

/// # Safety
///
/// As `qsort_r`: `array` has `count` elements of `bytes` bytes, which `compare` compares.
unsafe extern "C" fn sort_with(
    array: Array,
    count: usize,
    bytes: usize,
    compare: CompareWith,
    argument: *mut c_void,
    frame: &Frame,
) {
    range(array as usize, count.saturating_mul(bytes), true, frame);
    let real = real!(qsort_r: fn(Array, usize, usize, CompareWith, *mut c_void));
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { real(array, count, bytes, compare, argument) };
}

/// # Safety
///
/// As `strftime`: `format` is a C string, `time` points to a time, `to` is writable for `bytes` bytes.
unsafe extern "C" fn print_time(
    to: TextMut,
    bytes: usize,
    format: Text,
    time: *const libc::tm,
    frame: &Frame,
) -> usize {
    let real = real!(strftime: fn(TextMut, usize, Text, *const libc::tm) -> usize);
    range(time as usize, size_of::<libc::tm>(), false, frame);
    let mut first = [0; 512];
    // SAFETY: by this function's contract, which is that of libc's function; `first` is writable for `most` bytes.
    unsafe {
        let most = bytes.min(first.len());
        match real(first.as_mut_ptr(), most, format, time) {
            0 => spin::disturbed(),
            length => range(to as usize, length + 1, true, frame),
        }
        real(to, bytes, format, time)
    }
}

type Time = *const libc::time_t;
type Parts = *mut libc::tm;

/// # Safety
///
/// As `gmtime_r`: `time` points to a time, `into` to room for its parts.
unsafe extern "C" fn split_time(time: Time, into: Parts, frame: &Frame) -> Parts {
    range(time as usize, size_of::<libc::time_t>(), false, frame);
    range(into as usize, size_of::<libc::tm>(), true, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { real!(gmtime_r: fn(Time, Parts) -> Parts)(time, into) }
}

/// # Safety
///
/// As `localtime_r`: `time` points to a time, `into` to room for its parts.
unsafe extern "C" fn split_local_time(time: Time, into: Parts, frame: &Frame) -> Parts {
    range(time as usize, size_of::<libc::time_t>(), false, frame);
    range(into as usize, size_of::<libc::tm>(), true, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { real!(localtime_r: fn(Time, Parts) -> Parts)(time, into) }
}

/// # Safety
///
/// As `asctime_r`: `time` points to a time, `into` has room for its text.
unsafe extern "C" fn time_as_text(time: *const libc::tm, into: TextMut, frame: &Frame) -> TextMut {
    let real = real!(asctime_r: fn(*const libc::tm, TextMut) -> TextMut);
    range(time as usize, size_of::<libc::tm>(), false, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { text_of_time(into, |to| real(time, to), frame) }
}

/// # Safety
///
/// As `ctime_r`: `time` points to a time, `into` has room for its text.
unsafe extern "C" fn seconds_as_text(time: Time, into: TextMut, frame: &Frame) -> TextMut {
    let real = real!(ctime_r: fn(Time, TextMut) -> TextMut);
    range(time as usize, size_of::<libc::time_t>(), false, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { text_of_time(into, |to| real(time, to), frame) }
}

/// What `write` writes into `into`, noted before it is written. A year has eleven characters at most, all else twenty.
///
/// # Safety
///
/// `write` writes the text of a time, or fails; `into` has room for that.
unsafe fn text_of_time(
    into: TextMut,
    write: impl Fn(TextMut) -> TextMut,
    frame: &Frame,
) -> TextMut {
    let mut text = [0; 64];
    if !write(text.as_mut_ptr()).is_null() {
        // SAFETY: `write` left a C string there.
        let length = unsafe { libc::strlen(text.as_ptr()) };
        range(into as usize, length + 1, true, frame);
    }
    write(into)
}

/// # Safety
///
/// As `rand_r`: `seed` points to the caller's seed.
unsafe extern "C" fn next_random(seed: *mut c_uint, frame: &Frame) -> c_int {
    range(seed as usize, size_of::<c_uint>(), false, frame);
    range(seed as usize, size_of::<c_uint>(), true, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { real!(rand_r: fn(*mut c_uint) -> c_int)(seed) }
}
