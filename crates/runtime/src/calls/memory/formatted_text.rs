//! Functions of the C library that write to memory of the program: text that is printed and taken apart, numbers, times, sorted arrays.
//! Programs are linked as for [`crate::calls::memory::strings`]. What is written is noted before it is.
//!
//! *May miss* what `sprintf` reads by `%s` and where `sscanf` puts what it finds.

use crate::{
    calls::memory::{
        static_buffers,
        strings::{ALL, Text, TextMut, read, span_of, span_without},
    },
    core::{spin, world},
    hooks::{
        Frame,
        accesses::range,
        variadic::{List, variadic},
    },
    real, trampoline,
};
use core::{
    ffi::{c_int, c_long, c_uint, c_ulong, c_void},
    ptr,
};

trampoline! {
    __wrap_vsprintf => print, "rcx";
    __wrap_vsnprintf => print_within, "r8";
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
    __wrap_rand_r => next_random, "rsi";
}

/// Of a run: what `strtok` has not looked at yet.
#[derive(Default)]
pub struct State {
    rest: usize,
}

impl State {
    pub fn clear(&mut self) {
        self.rest = 0;
    }
}

variadic! {
    __wrap_sprintf => print, "2", "rdx", "rcx";
    __wrap_snprintf => print_within, "3", "rcx", "r8";
    __wrap_sscanf => scan, "2", "rdx", "rcx";
    __wrap___isoc99_sscanf => scan, "2", "rdx", "rcx";
    __wrap___isoc23_sscanf => scan, "2", "rdx", "rcx";
}

unsafe extern "C" fn print(to: TextMut, format: Text, list: List, frame: &Frame) -> c_int {
    // SAFETY: as below.
    unsafe {
        printed(to, ALL, format, list, frame);
        real!(vsprintf: fn(TextMut, Text, List) -> c_int)(to, format, list)
    }
}

/// Notes what is about to be printed.
unsafe fn printed(to: TextMut, most: usize, format: Text, list: List, frame: &Frame) {
    let real = real!(vsnprintf: fn(TextMut, usize, Text, List) -> c_int);
    // SAFETY: the program's own arguments. A list that was gone through is used up, so this is a copy.
    unsafe {
        let mut list = *list;
        let length = real(ptr::null_mut(), 0, format, &mut list);
        if length >= 0 {
            range(to as usize, most.min(length as usize + 1), true, frame);
        }
    }
}

unsafe extern "C" fn print_within(
    to: TextMut,
    bytes: usize,
    format: Text,
    list: List,
    frame: &Frame,
) -> c_int {
    // SAFETY: the program's own call.
    unsafe {
        printed(to, bytes, format, list, frame);
        real!(vsnprintf: fn(TextMut, usize, Text, List) -> c_int)(to, bytes, format, list)
    }
}

unsafe extern "C" fn scan(text: Text, format: Text, list: List, frame: &Frame) -> c_int {
    spin::disturbed();
    // SAFETY: the program's own call.
    unsafe {
        read(text, ALL, frame);
        real!(vsscanf: fn(Text, Text, List) -> c_int)(text, format, list)
    }
}

/// Notes that a number was read up to its end, which is told if the program wants to know.
unsafe fn number(text: Text, stopped: TextMut, end: *mut TextMut, frame: &Frame) {
    let length = stopped as usize - text as usize;
    range(text as usize, length + 1, false, frame);
    if !end.is_null() {
        range(end as usize, size_of::<TextMut>(), true, frame);
        // SAFETY: the program's own variable.
        unsafe { *end = stopped };
    }
}

unsafe extern "C" fn signed(text: Text, end: *mut TextMut, base: c_int, frame: &Frame) -> c_long {
    let mut stopped = text.cast_mut();
    // SAFETY: the program's own call.
    unsafe {
        let real = real!(strtol: fn(Text, *mut TextMut, c_int) -> c_long);
        let value = real(text, &mut stopped, base);
        number(text, stopped, end, frame);
        value
    }
}

unsafe extern "C" fn unsigned(
    text: Text,
    end: *mut TextMut,
    base: c_int,
    frame: &Frame,
) -> c_ulong {
    let mut stopped = text.cast_mut();
    // SAFETY: the program's own call.
    unsafe {
        let real = real!(strtoul: fn(Text, *mut TextMut, c_int) -> c_ulong);
        let value = real(text, &mut stopped, base);
        number(text, stopped, end, frame);
        value
    }
}

unsafe extern "C" fn fraction(text: Text, end: *mut TextMut, frame: &Frame) -> f64 {
    let mut stopped = text.cast_mut();
    // SAFETY: the program's own call.
    unsafe {
        let value = real!(strtod: fn(Text, *mut TextMut) -> f64)(text, &mut stopped);
        number(text, stopped, end, frame);
        value
    }
}

unsafe extern "C" fn integer(text: Text, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    unsafe { signed(text, ptr::null_mut(), 10, frame) as c_int }
}

unsafe extern "C" fn long_integer(text: Text, frame: &Frame) -> c_long {
    // SAFETY: as the call itself.
    unsafe { signed(text, ptr::null_mut(), 10, frame) }
}

/// The next token, null if there is none, and what is left behind it.
unsafe fn token(text: TextMut, between: Text, frame: &Frame) -> (TextMut, TextMut) {
    // SAFETY: the program's own text.
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

unsafe extern "C" fn next_token(text: TextMut, between: Text, frame: &Frame) -> TextMut {
    if !world::active() {
        // SAFETY: the program's own call.
        return unsafe { real!(strtok: fn(TextMut, Text) -> TextMut)(text, between) };
    }
    let shared = static_buffers::rest_of_text();
    let text = match text.is_null() {
        true => {
            range(shared, 8, false, frame);
            world::get().calls.texts.rest as TextMut
        }
        false => text,
    };
    if text.is_null() {
        return text;
    }
    // SAFETY: as above.
    let (found, rest) = unsafe { token(text, between, frame) };
    range(shared, 8, true, frame);
    world::get().calls.texts.rest = rest as usize;
    found
}

unsafe extern "C" fn next_token_of(
    text: TextMut,
    between: Text,
    rest: *mut TextMut,
    frame: &Frame,
) -> TextMut {
    // SAFETY: the program's own call.
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

unsafe extern "C" fn sort(
    array: Array,
    count: usize,
    bytes: usize,
    compare: Compare,
    frame: &Frame,
) {
    range(array as usize, count.saturating_mul(bytes), true, frame);
    // SAFETY: the program's own call.
    unsafe { real!(qsort: fn(Array, usize, usize, Compare))(array, count, bytes, compare) };
}

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
    // SAFETY: the program's own call.
    unsafe { real(array, count, bytes, compare, argument) };
}

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
    // SAFETY: the program's own call, and the same with a place of ours.
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

unsafe extern "C" fn split_time(time: Time, into: Parts, frame: &Frame) -> Parts {
    range(time as usize, size_of::<libc::time_t>(), false, frame);
    range(into as usize, size_of::<libc::tm>(), true, frame);
    // SAFETY: the program's own call.
    unsafe { real!(gmtime_r: fn(Time, Parts) -> Parts)(time, into) }
}

unsafe extern "C" fn split_local_time(time: Time, into: Parts, frame: &Frame) -> Parts {
    range(time as usize, size_of::<libc::time_t>(), false, frame);
    range(into as usize, size_of::<libc::tm>(), true, frame);
    // SAFETY: the program's own call.
    unsafe { real!(localtime_r: fn(Time, Parts) -> Parts)(time, into) }
}

unsafe extern "C" fn next_random(seed: *mut c_uint, frame: &Frame) -> c_int {
    range(seed as usize, size_of::<c_uint>(), false, frame);
    range(seed as usize, size_of::<c_uint>(), true, frame);
    // SAFETY: the program's own call.
    unsafe { real!(rand_r: fn(*mut c_uint) -> c_int)(seed) }
}
