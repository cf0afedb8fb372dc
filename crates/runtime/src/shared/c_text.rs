//! Text of the program, as C has it.

use alloc::borrow::Cow;
use core::ffi::{CStr, c_char};

/// A nul-terminated text; null is the empty one.
///
/// # Safety
///
/// `text` is null, or points to bytes that end with a nul and are not changed for as long as the result is used.
pub unsafe fn text<'a>(text: *const c_char) -> Cow<'a, str> {
    if text.is_null() {
        return "".into();
    }
    // SAFETY: not null, so it ends with a nul, by this function's contract.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}
