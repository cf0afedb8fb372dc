//! Unwinding: who called, what a C++ program was ended by, and threads that leave by `pthread_exit`.
//!
//! The unwinder is libgcc's, which every C++ program has; it is looked up once, before memory is copied. Without it only the
//! cleanup handlers of C code run.

use crate::{
    calls::process::process_end,
    core::{call_sites, world},
    hooks::Frame,
    trampoline,
};
use alloc::{boxed::Box, format, string::String};
use core::{
    ffi::{CStr, c_char, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use reweave_model::{Kind, Site};

trampoline! {
    __pthread_register_cancel => register, "rsi";
    __pthread_unregister_cancel => unregister, "rsi";
    __pthread_unwind_next => unwind_next, "rsi";
}

/// A function that may not be there.
pub(crate) struct Symbol {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Symbol {
    const fn new(name: &'static CStr) -> Symbol {
        Symbol {
            name,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn find(&self) {
        // SAFETY: a valid name.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Option<*mut c_void> {
        let found = self.found.load(Ordering::Relaxed);
        (!found.is_null()).then_some(found)
    }
}

macro_rules! symbols {
    ($($symbol:ident $name:literal;)*) => {
        $(pub(crate) static $symbol: Symbol = Symbol::new($name);)*
        const SYMBOLS: &[&Symbol] = &[$(&$symbol),*];
    };
}

symbols! {
    FORCED_UNWIND c"_Unwind_ForcedUnwind";
    BACKTRACE c"_Unwind_Backtrace";
    GET_IP c"_Unwind_GetIP";
    GET_CFA c"_Unwind_GetCFA";
    GET_START c"_Unwind_GetRegionStart";
    GET_REGISTER c"_Unwind_GetGR";
    LONG_JUMP c"longjmp";
    EXCEPTION_TYPE c"__cxa_current_exception_type";
    GLOBALS c"__cxa_get_globals";
    DEMANGLE c"__cxa_demangle";
    STD_EXCEPTION c"_ZTISt9exception";
}

/// A symbol as a function of this type.
macro_rules! function {
    ($symbol:ident: fn($($argument:ty),*) $(-> $result:ty)?) => {
        $symbol.get().map(|found| {
            // SAFETY: the library's function of this name has this type.
            unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(found) }
        })
    };
}

pub(crate) use function;

/// Looks everything up.
pub fn prepare() {
    FORCED_UNWIND.find();
    if FORCED_UNWIND.get().is_none() {
        // SAFETY: a library that only has functions; as libc's own `pthread_exit` does.
        unsafe {
            libc::dlopen(
                c"libgcc_s.so.1".as_ptr(),
                libc::RTLD_NOW | libc::RTLD_GLOBAL,
            );
        }
    }
    for symbol in SYMBOLS {
        symbol.find();
    }
    // What it sets up at its first use is part of what every run begins with.
    call_sites::here();
}

/// `std::terminate` came to its end: what it was about.
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
    // SAFETY: asks the C++ library; a type has a name.
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
    // SAFETY: the result is null or a new text, which is ours to free.
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
    // SAFETY: libstdc++'s layout: the first global is the header; a class that ends with 1 means a reference to another exception.
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
/// There is one, and this is its type.
unsafe fn what(thrown: *const TypeInfo) -> Option<String> {
    let (mut object, _) = caught()?;
    let base = STD_EXCEPTION.get()? as *const TypeInfo;
    // SAFETY: the fifth virtual function of a type says whether a handler for it takes the thrown type and moves the pointer to that
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
        Some(process_end::text(what(object)).into_owned())
    }
}

/// What the unwinder wants of an exception.
#[repr(C, align(16))]
#[derive(Default)]
pub struct Leaving {
    class: u64,
    cleanup: usize,
    private: [usize; 2],
}

/// Leaves the running thread: destructors and cleanup handlers run, innermost first; then it is at its end.
pub fn unwind() -> ! {
    crate::calls::threads::cancellation::leaving();
    type Stop =
        unsafe extern "C" fn(c_int, c_int, u64, *mut Leaving, *mut c_void, *mut c_void) -> c_int;
    if let Some(forced) = function!(FORCED_UNWIND: fn(*mut Leaving, Stop, *mut c_void) -> c_int) {
        let leaving = &mut world::get().me().own_calls.threads.leaving;
        let leaving: *mut Leaving = &mut **leaving.get_or_insert_with(Box::default);
        // SAFETY: it lives in the thread's record, for frames are left on the way; it does not come back.
        unsafe {
            (*leaving).class = u64::from_be_bytes(*b"RWVEEXIT");
            (*leaving).cleanup = swallowed as *const () as usize;
            forced(leaving, stop, ptr::null_mut());
        }
    }
    next_cleanup(usize::MAX);
    crate::calls::threads::lifecycle::at_end()
}

/// Called before each frame is left.
unsafe extern "C" fn stop(
    _: c_int,
    actions: c_int,
    _: u64,
    _: *mut Leaving,
    context: *mut c_void,
    _: *mut c_void,
) -> c_int {
    const END_OF_STACK: c_int = 16;
    let stack = function!(GET_CFA: fn(*mut c_void) -> usize);
    let start = function!(GET_START: fn(*mut c_void) -> usize);
    // SAFETY: the unwinder's own context.
    let (stack, start) = unsafe {
        (
            stack.map_or(usize::MAX, |stack| stack(context)),
            start.map_or(0, |start| start(context)),
        )
    };
    next_cleanup(stack);
    // The outermost frame is ours.
    if actions & END_OF_STACK != 0 || start == world::get().me().entry as usize {
        crate::calls::threads::lifecycle::at_end();
    }
    0
}

/// Goes on with the innermost cleanup handler of C code whose function lies below this place of the stack, if there is one.
fn next_cleanup(stack: usize) {
    let cleanups = &mut world::get().me().own_calls.threads.cleanups;
    if let Some(innermost) = cleanups.pop_if(|buffer| *buffer < stack)
        && let Some(jump) = function!(LONG_JUMP: fn(*mut c_void, c_int))
    {
        // SAFETY: the function that set it is still there; the handler ends with `__pthread_unwind_next`.
        unsafe { jump(innermost as *mut c_void, 1) };
    }
}

/// A `catch (...)` that does not throw on.
unsafe extern "C" fn swallowed(_: c_int, _: *mut Leaving) {
    let site = call_sites::here();
    let message = "a catch block holds up a thread that leaves by pthread_exit";
    process_end::fail(Kind::Assertion, message.into(), site)
}

unsafe extern "C" fn register(buffer: *mut c_void, _: &Frame) {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { crate::real!(__pthread_register_cancel: fn(*mut c_void))(buffer) };
    }
    let own = &mut world::get().me().own_calls.threads;
    own.cleanups.push(buffer as usize);
}

unsafe extern "C" fn unregister(buffer: *mut c_void, _: &Frame) {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { crate::real!(__pthread_unregister_cancel: fn(*mut c_void))(buffer) };
    }
    let own = &mut world::get().me().own_calls.threads;
    own.cleanups.pop_if(|known| *known == buffer as usize);
}

/// A cleanup handler has run.
unsafe extern "C" fn unwind_next(buffer: *mut c_void, _: &Frame) -> ! {
    if !world::active() {
        // SAFETY: the program's own argument.
        unsafe { crate::real!(__pthread_unwind_next: fn(*mut c_void))(buffer) };
    }
    unwind()
}
