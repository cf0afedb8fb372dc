//! Formatted output to streams, and formatted input from them.

use crate::{
    calls::streams::stream_cancellation::{StreamUse, during},
    core::{
        trampoline::Frame,
        variadic::{List, variadic},
    },
    kernel::start_state,
    real,
    run::world,
    shared::formats::{self, Characters},
    trampoline,
};
use core::ffi::c_int;

trampoline! {
    vfprintf => print, "rcx";
    __vfprintf_chk => print_checked, "r8";
    vprintf => print_output, "rdx";
    __vprintf_chk => print_output_checked, "rcx";
    vfwprintf => print_wide, "rcx";
    vwprintf => print_wide_output, "rdx";
    __vfwprintf_chk => print_wide_checked, "r8";
    __vwprintf_chk => print_wide_output_checked, "rcx";
    vfscanf => scan, "rcx";
    __vfscanf => scan, "rcx";
    __isoc99_vfscanf => scan_standard, "rcx";
    __isoc23_vfscanf => scan_newer, "rcx";
    vscanf => scan_input, "rdx";
    __isoc99_vscanf => scan_input_standard, "rdx";
    __isoc23_vscanf => scan_input_newer, "rdx";
    vfwscanf => scan_wide, "rcx";
    __isoc99_vfwscanf => scan_wide_standard, "rcx";
    __isoc23_vfwscanf => scan_wide_newer, "rcx";
    vwscanf => scan_wide_input, "rdx";
    __isoc99_vwscanf => scan_wide_input_standard, "rdx";
    __isoc23_vwscanf => scan_wide_input_newer, "rdx";
}

variadic! {
    fprintf => print, "2", "rdx", "rcx";
    __fprintf_chk => print_checked, "3", "rcx", "r8";
    printf => print_output, "1", "rsi", "rdx";
    __printf_chk => print_output_checked, "2", "rdx", "rcx";
    fwprintf => print_wide, "2", "rdx", "rcx";
    wprintf => print_wide_output, "1", "rsi", "rdx";
    __fwprintf_chk => print_wide_checked, "3", "rcx", "r8";
    __wprintf_chk => print_wide_output_checked, "2", "rdx", "rcx";
    fscanf => scan, "2", "rdx", "rcx";
    __isoc99_fscanf => scan_standard, "2", "rdx", "rcx";
    __isoc23_fscanf => scan_newer, "2", "rdx", "rcx";
    scanf => scan_input, "1", "rsi", "rdx";
    __isoc99_scanf => scan_input_standard, "1", "rsi", "rdx";
    __isoc23_scanf => scan_input_newer, "1", "rsi", "rdx";
    fwscanf => scan_wide, "2", "rdx", "rcx";
    __isoc99_fwscanf => scan_wide_standard, "2", "rdx", "rcx";
    __isoc23_fwscanf => scan_wide_newer, "2", "rdx", "rcx";
    wscanf => scan_wide_input, "1", "rsi", "rdx";
    __isoc99_wscanf => scan_wide_input_standard, "1", "rsi", "rdx";
    __isoc23_wscanf => scan_wide_input_newer, "1", "rsi", "rdx";
}

/// Defines functions that take any number of arguments by those that take a list.
macro_rules! by_list {
    ($($name:ident => $real:ident, $by:ident, $characters:ident, $does:ident, [$($stream:expr)?], ($($argument:ident: $type:ty),*);)*) => {$(
        #[doc = concat!("`", stringify!($real), "`.")]
        ///
        /// # Safety
        ///
        /// As the C standard demands of the caller: a format, and a list of arguments that fit it.
        unsafe extern "C" fn $name($($argument: $type,)* list: List, frame: &Frame) -> c_int {
            let stream = by_list!(@stream [$($stream)?] $($argument)*);
            let format = by_list!(@format $($argument)*);
            let real = real!($real: fn($($type,)* List) -> c_int);
            // SAFETY: the arguments are as the caller promises, and passed on unchanged.
            unsafe {
                during(stream, StreamUse::$does, true, frame, || {
                    let call = || real($($argument,)* list);
                    $by(format, Characters::$characters, list, frame, call)
                })
            }
        }
    )*};
    (@stream [$stream:expr] $($argument:ident)*) => { $stream };
    (@stream [] $first:ident $($argument:ident)*) => { $first };
    (@format $format:ident) => { $format };
    (@format $first:ident $($more:ident)+) => { by_list!(@format $($more)+) };
}

by_list! {
    print => vfprintf, printing, Bytes, Writes, [], (stream: usize, format: usize);
    print_checked => __vfprintf_chk, printing, Bytes, Writes, [], (stream: usize, flag: usize, format: usize);
    print_output => vprintf, printing, Bytes, Writes, [start_state::output()], (format: usize);
    print_output_checked => __vprintf_chk, printing, Bytes, Writes, [start_state::output()], (flag: usize, format: usize);
    print_wide => vfwprintf, printing, Wide, Writes, [], (stream: usize, format: usize);
    print_wide_output => vwprintf, printing, Wide, Writes, [start_state::output()], (format: usize);
    print_wide_checked => __vfwprintf_chk, printing, Wide, Writes, [], (stream: usize, flag: usize, format: usize);
    print_wide_output_checked => __vwprintf_chk, printing, Wide, Writes, [start_state::output()], (flag: usize, format: usize);
    scan => vfscanf, scanning, Bytes, Reads, [], (stream: usize, format: usize);
    scan_standard => __isoc99_vfscanf, scanning, Bytes, Reads, [], (stream: usize, format: usize);
    scan_newer => __isoc23_vfscanf, scanning, Bytes, Reads, [], (stream: usize, format: usize);
    scan_input => vscanf, scanning, Bytes, Reads, [start_state::input()], (format: usize);
    scan_input_standard => __isoc99_vscanf, scanning, Bytes, Reads, [start_state::input()], (format: usize);
    scan_input_newer => __isoc23_vscanf, scanning, Bytes, Reads, [start_state::input()], (format: usize);
    scan_wide => vfwscanf, scanning, Wide, Reads, [], (stream: usize, format: usize);
    scan_wide_standard => __isoc99_vfwscanf, scanning, Wide, Reads, [], (stream: usize, format: usize);
    scan_wide_newer => __isoc23_vfwscanf, scanning, Wide, Reads, [], (stream: usize, format: usize);
    scan_wide_input => vwscanf, scanning, Wide, Reads, [start_state::input()], (format: usize);
    scan_wide_input_standard => __isoc99_vwscanf, scanning, Wide, Reads, [start_state::input()], (format: usize);
    scan_wide_input_newer => __isoc23_vwscanf, scanning, Wide, Reads, [start_state::input()], (format: usize);
}

/// Notes what is about to be printed; `real` has the C library do it.
///
/// # Safety
///
/// `format` is a C string of such characters, and `list` has the arguments that it names.
unsafe fn printing(
    format: usize,
    characters: Characters,
    list: List,
    frame: &Frame,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if world::active() {
        // SAFETY: format and list fit each other, by this function's contract.
        unsafe { formats::printed(format, characters, list, frame) };
    }
    real()
}

/// Has the C library read by `real`, and notes what that has written.
///
/// # Safety
///
/// `format` is a C string of such characters, and `list` has the arguments that it names, which `real` uses.
unsafe fn scanning(
    format: usize,
    characters: Characters,
    list: List,
    frame: &Frame,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !world::active() {
        return real();
    }
    // SAFETY: by this function's contract; `real` has just made the call.
    unsafe {
        let places = formats::to_scan(format, characters, list, frame);
        let result = real();
        places.scanned(result, frame);
        result
    }
}
