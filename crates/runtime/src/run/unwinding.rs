//! The unwinder, and threads that leave by unwinding: `pthread_exit` and cancellation.
//!
//! The unwinder is libgcc's, which every C++ program has; it is looked up once, before memory is copied. Without it only the
//! cleanup handlers of C code run. `call_sites.rs` uses it to find callers, `exceptions.rs` to describe an exception.

use crate::{
    core::{families::Birth, per_thread::PerThread},
    run::{call_sites, cancellation, process_end, thread_end, world},
};
use alloc::{boxed::Box, vec::Vec};
use core::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};
use reweave_model::Kind;

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

    /// Looks it up; libraries that are loaded later are not searched.
    fn find(&self) {
        // SAFETY: the name ends with a nul.
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
            // SAFETY: libgcc, libstdc++ and libc define the function of this name with this type.
            unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(found) }
        })
    };
}

pub(crate) use function;

/// Looks everything up, once, before memory is copied.
pub fn prepare() {
    FORCED_UNWIND.find();
    if FORCED_UNWIND.get().is_none() {
        // SAFETY: the name ends with a nul; the library has no constructors that call the program. libc's own `pthread_exit`
        // loads it in the same way.
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

/// What the unwinder wants of an exception.
#[repr(C, align(16))]
#[derive(Default)]
struct Leaving {
    class: u64,
    cleanup: usize,
    private: [usize; 2],
}

/// What unwinding keeps of a thread.
#[derive(Default)]
struct Unwound {
    /// Cleanup handlers of C code that are in place, innermost last, by the addresses of their jump buffers.
    cleanups: Vec<usize>,
    /// The exception that leaves the thread. In a box, since the unwinder keeps its address.
    leaving: Option<Box<Leaving>>,
}

static UNWOUND: PerThread<Unwound> = PerThread::new();

/// A new run.
pub fn clear() {
    UNWOUND.clear();
}

pub fn thread_begins(birth: &Birth) {
    UNWOUND.take_over(birth);
}

/// Uses what is kept of the running thread. The closure must not switch threads.
fn with_own<R>(what: impl FnOnce(&mut Unwound) -> R) -> R {
    let me = world::borrow().current;
    UNWOUND.with(me, what)
}

/// The running thread puts a cleanup handler in place.
pub fn push_cleanup(buffer: usize) {
    with_own(|own| own.cleanups.push(buffer));
}

/// The running thread takes away a cleanup handler.
pub fn pop_cleanup(buffer: usize) {
    with_own(|own| own.cleanups.pop_if(|known| *known == buffer));
}

/// Leaves the running thread: destructors and cleanup handlers run, innermost first; then it is at its end.
pub fn unwind() -> ! {
    cancellation::leaving();
    type Stop =
        unsafe extern "C" fn(c_int, c_int, u64, *mut Leaving, *mut c_void, *mut c_void) -> c_int;
    if let Some(forced) = function!(FORCED_UNWIND: fn(*mut Leaving, Stop, *mut c_void) -> c_int) {
        let leaving: *mut Leaving = with_own(|own| {
            let leaving = &mut **own.leaving.get_or_insert_with(Box::default);
            leaving.class = u64::from_be_bytes(*b"RWVEEXIT");
            leaving.cleanup = swallowed as *const () as usize;
            ptr::from_mut(leaving)
        });
        // SAFETY: `leaving` lies in a box that stays until the next run begins, since frames are left on the way. `stop` has the
        // type that the unwinder calls. No borrow is alive, and the call does not come back.
        unsafe { forced(leaving, stop, ptr::null_mut()) };
    }
    next_cleanup(usize::MAX);
    thread_end::at_end()
}

/// Called before each frame is left.
///
/// # Safety
///
/// Called by the unwinder, with the context of a frame.
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
    // SAFETY: `context` is the unwinder's own, which its functions take.
    let (stack, start) = unsafe {
        (
            stack.map_or(usize::MAX, |stack| stack(context)),
            start.map_or(0, |start| start(context)),
        )
    };
    next_cleanup(stack);
    let outermost = world::borrow().me().entry as usize;
    if actions & END_OF_STACK != 0 || start == outermost {
        thread_end::at_end();
    }
    0
}

/// Continues with the innermost cleanup handler of C code whose function lies below this place of the stack, if there is one.
fn next_cleanup(stack: usize) {
    let innermost = with_own(|own| own.cleanups.pop_if(|buffer| *buffer < stack));
    if let Some(innermost) = innermost
        && let Some(jump) = function!(LONG_JUMP: fn(*mut c_void, c_int))
    {
        // SAFETY: the function that filled the buffer has not returned, else it would have taken its handler away; the handler
        // ends with `__pthread_unwind_next`. No borrow is alive.
        unsafe { jump(innermost as *mut c_void, 1) };
    }
}

/// Called for a `catch (...)` that does not throw on.
extern "C" fn swallowed(_: c_int, _: *mut Leaving) {
    let site = call_sites::here();
    let message = "a catch block holds up a thread that leaves by pthread_exit";
    process_end::fail(Kind::Assertion, message.into(), site)
}
