//! The functions behind ours: libc's own.

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
    /// Of this name.
    pub const fn new(name: &'static CStr) -> Real {
        Real {
            name,
            found: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    /// Where it is.
    pub fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: the name is a C string.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if found.is_null() {
            crate::messages::give_up(format_args!(
                "the libraries of this program have no `{}`",
                self.name.to_str().unwrap_or("?")
            ));
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls libc's own version: `real!(pthread_mutex_lock: fn(*mut pthread_mutex_t) -> c_int)(mutex)`.
#[macro_export]
macro_rules! real {
    ($name:ident : fn($($argument:ty),*) $(-> $result:ty)?) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new(
            match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zeros"),
            },
        );
        #[allow(unused_unsafe, reason = "it is also used in unsafe blocks")]
        // SAFETY: libc's function of this name has this type.
        let function = unsafe {
            core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C-unwind" fn($($argument),*) $(-> $result)?>(REAL.get())
        };
        function
    }};
}
