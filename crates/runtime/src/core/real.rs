//! The functions that stand behind ours: libc's own.

use crate::core::loader;
use core::{
    ffi::{CStr, c_void},
    sync::atomic::{AtomicPtr, Ordering},
};

/// The next definition of a symbol after ours, looked up once.
pub struct Real {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    pub const fn new(name: &'static CStr) -> Real {
        Real {
            name,
            found: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    pub fn name(&self) -> &'static CStr {
        self.name
    }

    #[inline]
    pub fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.find() } else { found }
    }

    /// As [`Real::get`], of a library that linkers leave out, since all that programs need of it is here.
    pub fn get_from(&self, library: &CStr) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() {
            // SAFETY: the name is a C string, and loading one of libc's own companions runs only its
            // initialisers.
            unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        }
        self.get()
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        let Some(found) = loader::next(self.name) else {
            crate::give_up(format_args!(
                "the C library has no `{}`",
                self.name.to_str().unwrap_or("?")
            ));
        };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls libc's own version: `real!(pthread_join: fn(pthread_t, *mut *mut c_void) -> c_int)(thread, result)`.
#[macro_export]
macro_rules! real {
    ($name:ident : fn($($argument:ty),*) $(-> $result:ty)?) => {{
        static REAL: $crate::core::real::Real = $crate::core::real::Real::new(
            // SAFETY: the text is an identifier followed by the only nul.
            unsafe { core::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) },
        );
        // SAFETY: the caller of the macro names libc's function with the signature that its manual gives.
        #[allow(unused_unsafe)]
        unsafe {
            core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(REAL.get())
        }
    }};
}
