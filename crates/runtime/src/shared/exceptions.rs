//! C++ exceptions, as libstdc++ keeps them: which one a thread handles, and what it says of itself.

use crate::{
    run::{
        process_end,
        unwinding::{DEMANGLE, EXCEPTION_TYPE, GLOBALS, STD_EXCEPTION, function},
    },
    shared::c_text::text,
};
use alloc::{format, string::String};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
};
use reweave_model::{Kind, Site};

/// `std::terminate` came to its end: the running thread fails, with the exception that was not caught.
pub fn terminate(site: Site) -> ! {
    let message = match uncaught() {
        Some(what) => format!("uncaught exception: {what}"),
        None => "std::terminate was called".into(),
    };
    process_end::fail(Kind::Assertion, message, site)
}

/// The exception at hand: its type, and what it says.
fn uncaught() -> Option<String> {
    let current = function!(EXCEPTION_TYPE: fn() -> *const TypeInfo)?;
    // SAFETY: the C++ library answers with null or with the type of the exception at hand, whose name ends with a nul.
    unsafe {
        let thrown = current();
        if thrown.is_null() {
            return None;
        }
        let name = CStr::from_ptr((*thrown).name);
        let name = demangled(name).unwrap_or_else(|| name.to_string_lossy().into_owned());
        Some(match what(thrown) {
            Some(what) => format!("{name}: {what}"),
            None => name,
        })
    }
}

/// `std::type_info`, as the C++ ABI has it.
#[repr(C)]
struct TypeInfo {
    table: *const Virtual,
    name: *const c_char,
}

/// An entry of a table of virtual functions.
type Virtual = *mut c_void;

fn demangled(name: &CStr) -> Option<String> {
    let demangle =
        function!(DEMANGLE: fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char)?;
    let mut status = 0;
    // SAFETY: the name ends with a nul; the result is null or a new text from `malloc`, which is freed once.
    unsafe {
        let text = demangle(name.as_ptr(), ptr::null_mut(), ptr::null_mut(), &mut status);
        if text.is_null() {
            return None;
        }
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        Some(owned)
    }
}

/// libstdc++'s header before a thrown object: its size, and where in it the class of the exception and the number of handlers stand.
const HEADER: usize = 112;
const CLASS_AT: usize = 80;
const HANDLERS_AT: usize = 40;

/// The exception that the running thread has caught last: the object that was thrown, and how many handlers are at it.
pub fn caught() -> Option<(*mut c_void, c_int)> {
    const CLASS: u64 = u64::from_be_bytes(*b"GNUCC++\0");
    let globals = function!(GLOBALS: fn() -> *const *const u8)?;
    // SAFETY: by libstdc++'s layout the first global is null or the header of the exception caught last, which has these fields;
    // a class that ends with 1 means a reference to another exception.
    unsafe {
        let header = *globals();
        if header.is_null() {
            return None;
        }
        let class = header.add(CLASS_AT).cast::<u64>().read();
        let object = match class {
            CLASS => header.add(HEADER).cast_mut().cast(),
            _ if class == CLASS | 1 => header.cast::<*mut c_void>().read(),
            _ => return None,
        };
        Some((object, header.add(HANDLERS_AT).cast::<c_int>().read()))
    }
}

/// What the exception at hand says of itself, if it is a `std::exception`.
///
/// # Safety
///
/// The running thread handles an exception, and `thrown` is its type.
unsafe fn what(thrown: *const TypeInfo) -> Option<String> {
    let (mut object, _) = caught()?;
    let base = STD_EXCEPTION.get()? as *const TypeInfo;
    // SAFETY: by the C++ ABI, the fifth virtual function of a type says whether a handler for it takes the thrown type and moves the pointer to that
    // part. The third one of a `std::exception` is `what`.
    unsafe {
        type Catch =
            unsafe extern "C" fn(*const TypeInfo, *const TypeInfo, *mut *mut c_void, u32) -> bool;
        let catch: Catch = core::mem::transmute((*base).table.add(4).read());
        if !catch(base, thrown, &mut object, 1) {
            return None;
        }
        type What = unsafe extern "C" fn(*mut c_void) -> *const c_char;
        let table = object.cast::<*const Virtual>().read();
        let what: What = core::mem::transmute(table.add(2).read());
        Some(text(what(object)).into_owned())
    }
}
