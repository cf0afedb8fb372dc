//! Functions on memory and strings. Programs are linked so that their calls come here by the name `__wrap_...`; other libraries keep
//! libc's own. Accesses of these functions are checked against other threads' accesses, as if the program had made them byte by
//! byte.

use crate::{
    core::{modules, program_start::driven, trampoline::Frame},
    real,
    run::{accesses::range, heap, world},
    trampoline,
};
use core::{
    ffi::{c_char, c_int, c_void},
    ptr,
};

trampoline! {
    __wrap_memcpy => copy, "rcx";
    __wrap_memmove => copy, "rcx";
    __tsan_memcpy => copy, "rcx";
    __tsan_memmove => copy, "rcx";
    __wrap_mempcpy => copy_to_end, "rcx";
    __wrap_bcopy => copy_backwards_named, "rcx";
    __wrap_memccpy => copy_until, "r8";
    __wrap_memset => fill, "rcx";
    __tsan_memset => fill, "rcx";
    __wrap_bzero => zero, "rdx";
    __wrap_explicit_bzero => zero, "rdx";
    __wrap_memcmp => compare, "rcx";
    __wrap_bcmp => compare, "rcx";
    __wrap_memchr => find_byte, "rcx";
    __wrap_memrchr => find_last_byte, "rcx";
    __wrap_memmem => find_bytes, "r8";
    __wrap_strlen => length, "rsi";
    __wrap_strnlen => length_within, "rdx";
    __wrap_strcpy => copy_string, "rdx";
    __wrap_stpcpy => copy_string_to_end, "rdx";
    __wrap_strncpy => copy_string_within, "rcx";
    __wrap_stpncpy => copy_string_within_to_end, "rcx";
    __wrap_strcat => append, "rdx";
    __wrap_strncat => append_within, "rcx";
    __wrap_strcmp => compare_strings, "rdx";
    __wrap_strncmp => compare_strings_within, "rcx";
    __wrap_strcasecmp => compare_letters, "rdx";
    __wrap_strncasecmp => compare_letters_within, "rcx";
    __wrap_strchr => find_char, "rdx";
    __wrap_index => find_char, "rdx";
    __wrap_strchrnul => find_char_or_end, "rdx";
    __wrap_strrchr => find_last_char, "rdx";
    __wrap_rindex => find_last_char, "rdx";
    __wrap_strstr => find_string, "rdx";
    __wrap_strspn => span_of, "rdx";
    __wrap_strcspn => span_without, "rdx";
    __wrap_strpbrk => find_one_of, "rdx";
    __wrap_strdup => duplicate, "rsi";
    __wrap_strndup => duplicate_within, "rdx";
}

pub(crate) type Text = *const c_char;
pub(crate) type TextMut = *mut c_char;

/// A length or a number of bytes that is no limit.
pub(crate) const ALL: usize = usize::MAX;

/// Notes that a string was read with its nul, or so much of it; its length within that.
///
/// # Safety
///
/// `text` is a C string, or `most` bytes of it are readable.
pub(crate) unsafe fn read(text: Text, most: usize, frame: &Frame) -> usize {
    // SAFETY: by this function's contract, `text` is a C string or readable for as many bytes as are asked for.
    let length = unsafe { libc::strnlen(text, most) };
    range(
        text as usize,
        length.saturating_add(1).min(most),
        false,
        frame,
    );
    length
}

/// Notes that these bytes are copied.
fn moved(to: usize, from: usize, bytes: usize, frame: &Frame) {
    range(from, bytes, false, frame);
    range(to, bytes, true, frame);
}

/// # Safety
///
/// As `memmove`: `from` is readable and `to` writable for `bytes` bytes.
unsafe extern "C" fn copy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    moved(to as usize, from as usize, bytes, frame);
    // SAFETY: by this function's contract; `memmove` allows ranges that overlap.
    unsafe { libc::memmove(to, from, bytes) }
}

/// # Safety
///
/// As `mempcpy`: `from` is readable and `to` writable for `bytes` bytes.
unsafe extern "C" fn copy_to_end(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe { copy(to, from, bytes, frame).byte_add(bytes) }
}

/// # Safety
///
/// As `bcopy`: `from` is readable and `to` writable for `bytes` bytes.
unsafe extern "C" fn copy_backwards_named(
    from: *const c_void,
    to: *mut c_void,
    bytes: usize,
    frame: &Frame,
) {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe { copy(to, from, bytes, frame) };
}

/// # Safety
///
/// As `memccpy`: `from` is readable and `to` writable up to the byte, or for `most` bytes.
unsafe extern "C" fn copy_until(
    to: *mut c_void,
    from: *const c_void,
    byte: c_int,
    most: usize,
    frame: &Frame,
) -> *mut c_void {
    // SAFETY: by this function's contract; `memchr` reads no further than the byte, and as many bytes are copied as it read.
    unsafe {
        let found = libc::memchr(from, byte, most);
        let bytes = match found.is_null() {
            true => most,
            false => found as usize - from as usize + 1,
        };
        let end = copy_to_end(to, from, bytes, frame);
        if found.is_null() {
            ptr::null_mut()
        } else {
            end
        }
    }
}

/// # Safety
///
/// As `memset`: `to` is writable for `bytes` bytes.
unsafe extern "C" fn fill(
    to: *mut c_void,
    byte: c_int,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    range(to as usize, bytes, true, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { libc::memset(to, byte, bytes) }
}

/// # Safety
///
/// As `bzero`: `to` is writable for `bytes` bytes.
unsafe extern "C" fn zero(to: *mut c_void, bytes: usize, frame: &Frame) {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe { fill(to, 0, bytes, frame) };
}

/// # Safety
///
/// As `memcmp`: both are readable for `bytes` bytes.
unsafe extern "C" fn compare(
    one: *const c_void,
    two: *const c_void,
    bytes: usize,
    frame: &Frame,
) -> c_int {
    let (a, b) = (one.cast::<u8>(), two.cast::<u8>());
    // Bytes behind the first difference need not be looked at.
    // SAFETY: by this function's contract, which is that of libc's function.
    let same = (0..bytes).take_while(|at| unsafe { *a.add(*at) == *b.add(*at) });
    let looked = same.count().saturating_add(1).min(bytes);
    both(one as usize, two as usize, looked, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { libc::memcmp(one, two, bytes) }
}

/// Notes that bytes were read up to what was found in them.
fn searched(start: *const c_void, found: *const c_void, bytes: usize, frame: &Frame) {
    let looked = match found.is_null() {
        true => bytes,
        false => found as usize - start as usize + 1,
    };
    range(start as usize, looked, false, frame);
}

/// # Safety
///
/// As `memchr`: `start` is readable up to the byte, or for `bytes` bytes.
unsafe extern "C" fn find_byte(
    start: *const c_void,
    byte: c_int,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    // SAFETY: by this function's contract, which is that of libc's function.
    let found = unsafe { libc::memchr(start, byte, bytes) };
    searched(start, found, bytes, frame);
    found
}

/// # Safety
///
/// As `memrchr`: `start` is readable for `bytes` bytes.
unsafe extern "C" fn find_last_byte(
    start: *const c_void,
    byte: c_int,
    bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    range(start as usize, bytes, false, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe { libc::memrchr(start, byte, bytes) }
}

/// # Safety
///
/// As `memmem`: `start` and `wanted` are readable for as many bytes as are said.
unsafe extern "C" fn find_bytes(
    start: *const c_void,
    bytes: usize,
    wanted: *const c_void,
    wanted_bytes: usize,
    frame: &Frame,
) -> *mut c_void {
    range(wanted as usize, wanted_bytes, false, frame);
    // SAFETY: by this function's contract, which is that of libc's function.
    let found = unsafe { libc::memmem(start, bytes, wanted, wanted_bytes) };
    let read = match found.is_null() {
        true => bytes,
        false => found as usize - start as usize + wanted_bytes,
    };
    range(start as usize, read, false, frame);
    found
}

/// # Safety
///
/// As `strlen`: `text` is a C string.
unsafe extern "C" fn length(text: Text, frame: &Frame) -> usize {
    // SAFETY: by this function's contract, `text` is a C string or readable for as many bytes as are asked for.
    unsafe { read(text, ALL, frame) }
}

/// # Safety
///
/// As `strnlen`: `text` is a C string, or `most` bytes of it are readable.
unsafe extern "C" fn length_within(text: Text, most: usize, frame: &Frame) -> usize {
    // SAFETY: by this function's contract, `text` is a C string or readable for as many bytes as are asked for.
    unsafe { read(text, most, frame) }
}

/// # Safety
///
/// As `strcpy`: `from` is a C string, and `to` has room for it.
unsafe extern "C" fn copy_string(to: TextMut, from: Text, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe {
        copy_string_to_end(to, from, frame);
    }
    to
}

/// # Safety
///
/// As `stpcpy`: `from` is a C string, and `to` has room for it.
unsafe extern "C" fn copy_string_to_end(to: TextMut, from: Text, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let length = read(from, ALL, frame);
        range(to as usize, length + 1, true, frame);
        libc::memmove(to.cast(), from.cast(), length + 1);
        to.add(length)
    }
}

/// # Safety
///
/// As `strncpy`: `from` is a C string or readable for `most` bytes, and `to` is writable for `most` bytes.
unsafe extern "C" fn copy_string_within(
    to: TextMut,
    from: Text,
    most: usize,
    frame: &Frame,
) -> TextMut {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe { copy_string_within_to_end(to, from, most, frame) };
    to
}

/// # Safety
///
/// As `stpncpy`: `from` is a C string or readable for `most` bytes, and `to` is writable for `most` bytes.
unsafe extern "C" fn copy_string_within_to_end(
    to: TextMut,
    from: Text,
    most: usize,
    frame: &Frame,
) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let length = read(from, most, frame);
        range(to as usize, most, true, frame);
        libc::memmove(to.cast(), from.cast(), length);
        libc::memset(to.add(length).cast(), 0, most - length);
        to.add(length)
    }
}

/// # Safety
///
/// As `strcat`: both are C strings, and `to` has room for `from` behind its own.
unsafe extern "C" fn append(to: TextMut, from: Text, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe { append_within(to, from, ALL, frame) }
}

/// # Safety
///
/// As `strncat`: `to` is a C string with room behind it, `from` a C string or readable for `most` bytes.
unsafe extern "C" fn append_within(to: TextMut, from: Text, most: usize, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let before = read(to, ALL, frame);
        let length = read(from, most, frame);
        let end = to.add(before);
        range(end as usize, length + 1, true, frame);
        libc::memmove(end.cast(), from.cast(), length);
        end.add(length).write(0);
    }
    to
}

/// Notes that two strings were read up to their first difference.
///
/// # Safety
///
/// `one` and `two` are C strings, or equal and readable for `most` bytes.
unsafe fn compared(one: Text, two: Text, most: usize, same: fn(u8) -> u8, frame: &Frame) {
    let mut at = 0;
    while at < most {
        // SAFETY: by this function's contract; neither string is read behind its nul.
        let (a, b) = unsafe { (*one.add(at) as u8, *two.add(at) as u8) };
        at += 1;
        if same(a) != same(b) || a == 0 {
            break;
        }
    }
    both(one as usize, two as usize, at, frame);
}

/// Two texts are read. One that is compared with itself is read once: two reads at one site would look like a loop.
fn both(one: usize, two: usize, bytes: usize, frame: &Frame) {
    range(one, bytes, false, frame);
    if one != two {
        range(two, bytes, false, frame);
    }
}

fn itself(byte: u8) -> u8 {
    byte
}

fn folded(byte: u8) -> u8 {
    byte.to_ascii_lowercase()
}

/// # Safety
///
/// As `strcmp`: `one` and `two` are C strings.
unsafe extern "C" fn compare_strings(one: Text, two: Text, frame: &Frame) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        compared(one, two, ALL, itself, frame);
        libc::strcmp(one, two)
    }
}

/// # Safety
///
/// As `strncmp`: `one` and `two` are C strings, or equal and readable for `most` bytes.
unsafe extern "C" fn compare_strings_within(
    one: Text,
    two: Text,
    most: usize,
    frame: &Frame,
) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        compared(one, two, most, itself, frame);
        libc::strncmp(one, two, most)
    }
}

/// # Safety
///
/// As `strcasecmp`: `one` and `two` are C strings.
unsafe extern "C" fn compare_letters(one: Text, two: Text, frame: &Frame) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        compared(one, two, ALL, folded, frame);
        libc::strcasecmp(one, two)
    }
}

/// # Safety
///
/// As `strncasecmp`: `one` and `two` are C strings, or equal and readable for `most` bytes.
unsafe extern "C" fn compare_letters_within(
    one: Text,
    two: Text,
    most: usize,
    frame: &Frame,
) -> c_int {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        compared(one, two, most, folded, frame);
        libc::strncasecmp(one, two, most)
    }
}

/// # Safety
///
/// As `strchr`: `text` is a C string.
unsafe extern "C" fn find_char(text: Text, byte: c_int, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let end = find_char_or_end(text, byte, frame);
        if *end == byte as c_char {
            end
        } else {
            ptr::null_mut()
        }
    }
}

/// # Safety
///
/// As `strchrnul`: `text` is a C string.
unsafe extern "C" fn find_char_or_end(text: Text, byte: c_int, frame: &Frame) -> TextMut {
    let mut end = text;
    // SAFETY: `text` is a C string, by this function's contract, and is not read behind its nul.
    unsafe {
        while *end != 0 && *end != byte as c_char {
            end = end.add(1);
        }
    }
    range(
        text as usize,
        end as usize - text as usize + 1,
        false,
        frame,
    );
    end.cast_mut()
}

/// # Safety
///
/// As `strrchr`: `text` is a C string.
unsafe extern "C" fn find_last_char(text: Text, byte: c_int, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        read(text, ALL, frame);
        libc::strrchr(text, byte)
    }
}

/// # Safety
///
/// As `strstr`: `text` and `wanted` are C strings.
unsafe extern "C" fn find_string(text: Text, wanted: Text, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let length = read(wanted, ALL, frame);
        let found = libc::strstr(text, wanted);
        match found.is_null() {
            true => {
                read(text, ALL, frame);
            }
            false => {
                let looked = found as usize - text as usize + length;
                range(text as usize, looked, false, frame);
            }
        }
        found
    }
}

/// # Safety
///
/// As `strspn`: `text` and `bytes` are C strings.
pub(crate) unsafe extern "C" fn span_of(text: Text, bytes: Text, frame: &Frame) -> usize {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        read(bytes, ALL, frame);
        let length = libc::strspn(text, bytes);
        range(text as usize, length + 1, false, frame);
        length
    }
}

/// # Safety
///
/// As `strcspn`: `text` and `bytes` are C strings.
pub(crate) unsafe extern "C" fn span_without(text: Text, bytes: Text, frame: &Frame) -> usize {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        read(bytes, ALL, frame);
        let length = libc::strcspn(text, bytes);
        range(text as usize, length + 1, false, frame);
        length
    }
}

/// # Safety
///
/// As `strpbrk`: `text` and `bytes` are C strings.
unsafe extern "C" fn find_one_of(text: Text, bytes: Text, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is that of libc's function.
    unsafe {
        let found = text.add(span_without(text, bytes, frame));
        if *found == 0 {
            ptr::null_mut()
        } else {
            found.cast_mut()
        }
    }
}

/// # Safety
///
/// As `strdup`: `text` is a C string.
unsafe extern "C" fn duplicate(text: Text, frame: &Frame) -> TextMut {
    // SAFETY: by this function's contract, which is no weaker.
    unsafe { duplicate_within(text, ALL, frame) }
}

/// # Safety
///
/// As `strndup`: `text` is a C string, or `most` bytes of it are readable.
unsafe extern "C" fn duplicate_within(text: Text, most: usize, frame: &Frame) -> TextMut {
    // SAFETY: `text` is readable for `length` bytes, by this function's contract; the copy has `length + 1` bytes, and no other code
    // knows it.
    unsafe {
        let length = read(text, most, frame);
        let copy: TextMut = match driven() {
            true => {
                let site = match world::active() {
                    true => modules::site(frame.return_address).0,
                    false => 1,
                };
                heap::allocate(length + 1, 16, site).cast()
            }
            false => real!(malloc: fn(usize) -> TextMut)(length + 1),
        };
        if !copy.is_null() {
            ptr::copy_nonoverlapping(text, copy, length);
            copy.add(length).write(0);
        }
        copy
    }
}
