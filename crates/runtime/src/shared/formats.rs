//! What formatted output reads of the program's memory, and formatted input writes: found by the format, before or after the C library
//! takes the arguments.
//!
//! A format is taken apart as far as it is understood; of what stands behind an unknown conversion nothing is noted.

use crate::{
    core::{trampoline::Frame, variadic::List},
    run::accesses::range,
};
use alloc::vec::Vec;
use core::ffi::{c_char, c_int};

mod parse;
#[cfg(test)]
mod tests;

use parse::{Class, Conversion, Direction, Limit, Use};

/// How a format is written down.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Characters {
    Bytes,
    /// Of four bytes each.
    Wide,
}

/// The values of a list's arguments, as far as they are pointers or integers.
///
/// # Safety
///
/// The list has arguments of these classes.
unsafe fn values(classes: &[Class], list: List) -> Vec<u64> {
    /// Where vector registers end among those that were saved.
    const VECTORS_END: usize = 176;
    // SAFETY: a list that the compiler or a trampoline has made, by this function's contract; this is a copy, so that it is not used up.
    let [offsets, overflow, saved] = unsafe { *list };
    let (mut general, mut vector) = (offsets as u32 as usize, (offsets >> 32) as usize);
    let (mut overflow, saved) = (overflow as usize, saved as usize);
    let mut from_stack = |bytes: usize, align: usize| {
        let at = overflow.next_multiple_of(align);
        overflow = at + bytes;
        at
    };
    let mut fetch = |class: &Class| {
        let at = match class {
            Class::Word if general < 48 => {
                general += 8;
                saved + general - 8
            }
            Class::Float if vector < VECTORS_END => {
                vector += 16;
                saved + vector - 16
            }
            Class::Word | Class::Float => from_stack(8, 8),
            Class::LongDouble => from_stack(16, 16),
        };
        // SAFETY: an argument of this class lies there, by this function's contract and the rules of calls on this machine.
        unsafe { (at as *const u64).read() }
    };
    classes.iter().map(&mut fetch).collect()
}

/// A format with the values of its arguments.
pub struct Formatted {
    conversions: Vec<Conversion>,
    values: Vec<u64>,
}

impl Formatted {
    /// # Safety
    ///
    /// `format` is a C string of such characters, and `list` has the arguments that it names.
    unsafe fn new(
        format: usize,
        characters: Characters,
        direction: Direction,
        list: List,
        frame: &Frame,
    ) -> Formatted {
        // SAFETY: format and list fit each other, by this function's contract.
        let text = unsafe { characters_of(format, characters, frame) };
        let conversions = parse::conversions(&text, direction);
        let classes = parse::classes(&conversions);
        // SAFETY: the format names arguments of these classes, and the list has them, by this function's contract.
        let values = unsafe { values(&classes, list) };
        Formatted {
            conversions,
            values,
        }
    }

    fn value(&self, argument: usize) -> usize {
        self.values[argument] as usize
    }
}

/// Notes that a format was read; its characters.
///
/// # Safety
///
/// `format` is a C string of such characters.
unsafe fn characters_of(format: usize, characters: Characters, frame: &Frame) -> Vec<u32> {
    // SAFETY: a C string ends with a nul, by this function's contract.
    unsafe {
        match characters {
            Characters::Bytes => {
                let length = libc::strlen(format as *const c_char);
                range(format, length + 1, false, frame);
                let bytes = core::slice::from_raw_parts(format as *const u8, length);
                bytes.iter().map(|byte| u32::from(*byte)).collect()
            }
            Characters::Wide => {
                let length = wide_length(format, usize::MAX);
                range(format, 4 * (length + 1), false, frame);
                core::slice::from_raw_parts(format as *const u32, length).to_vec()
            }
        }
    }
}

/// The length of a text of wide characters, within a limit.
///
/// # Safety
///
/// `text` ends with a nul, or has as many characters as the limit says.
unsafe fn wide_length(text: usize, most: usize) -> usize {
    let at = |index: usize| (text as *const u32).wrapping_add(index);
    // SAFETY: the characters before the nul or the limit are readable, by this function's contract, and so is the nul.
    (0..most)
        .find(|index| unsafe { at(*index).read() } == 0)
        .unwrap_or(most)
}

/// Notes what is about to be printed: the format and the texts among its arguments are read, `%n` is written.
///
/// # Safety
///
/// `format` is a C string of such characters, and `list` has the arguments that it names.
pub unsafe fn printed(format: usize, characters: Characters, list: List, frame: &Frame) {
    // SAFETY: format and list fit each other, by this function's contract.
    let formatted = unsafe { Formatted::new(format, characters, Direction::Out, list, frame) };
    for conversion in &formatted.conversions {
        let Some(argument) = conversion.argument else {
            continue;
        };
        let at = formatted.value(argument);
        if at == 0 {
            continue;
        }
        let most = match conversion.limit {
            Limit::None => usize::MAX,
            Limit::Fixed(most) => most,
            // A negative one is none.
            Limit::Argument(number) => {
                usize::try_from(formatted.value(number) as c_int).unwrap_or(usize::MAX)
            }
        };
        // SAFETY: the argument is what the conversion takes, by this function's contract.
        let (bytes, writes) = unsafe {
            match conversion.takes {
                Use::Text => {
                    let length = libc::strnlen(at as *const c_char, most);
                    (length.saturating_add(1).min(most), false)
                }
                Use::WideText => (4 * wide_length(at, most).saturating_add(1).min(most), false),
                Use::Place(bytes) => (bytes, true),
                Use::Value => continue,
            }
        };
        range(at, bytes, writes, frame);
    }
}

/// What is about to be read by formatted input.
///
/// # Safety
///
/// `format` is a C string of such characters, and `list` has the arguments that it names.
pub unsafe fn to_scan(
    format: usize,
    characters: Characters,
    list: List,
    frame: &Frame,
) -> Formatted {
    // SAFETY: format and list fit each other, by this function's contract.
    unsafe { Formatted::new(format, characters, Direction::In, list, frame) }
}

impl Formatted {
    /// Notes what was written: the places of the first conversions, so many that a result of the call says.
    ///
    /// # Safety
    ///
    /// A call for formatted input with this format and these arguments has just returned `result`.
    pub unsafe fn scanned(&self, result: c_int, frame: &Frame) {
        let mut left = usize::try_from(result).unwrap_or(0);
        for conversion in &self.conversions {
            let Some(argument) = conversion.argument else {
                continue;
            };
            if left == 0 && (conversion.counts || conversion.after_words) {
                break;
            }
            left -= usize::from(conversion.counts);
            let at = self.value(argument);
            // SAFETY: the call has written there what the conversion says.
            let bytes = unsafe {
                match conversion.takes {
                    Use::Text => libc::strlen(at as *const c_char) + 1,
                    Use::WideText => 4 * (wide_length(at, usize::MAX) + 1),
                    Use::Place(bytes) => bytes,
                    Use::Value => continue,
                }
            };
            range(at, bytes, true, frame);
        }
    }
}
