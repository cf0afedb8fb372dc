//! `std::thread_local!` under control.
//!
//! *Decides:* where a variable's value is. *Called by:* the program under test. *Owns:* nothing: outside of a check the value is std's
//! thread-local; in a check the runtime keeps it with the thread of the check, from its first use to the thread's end. So
//! every execution begins without values, though fibers are used again.

use crate::rt;
use std::{
    cell::{Cell, RefCell},
    error, fmt, thread,
};

/// As `std::thread_local!`: variables of which every thread has its own. In a check, every thread of the check.
///
/// ```
/// use std::cell::Cell;
///
/// reweave::thread_local! {
///     static COUNT: Cell<u32> = const { Cell::new(0) };
///     static NAME: String = String::from("nobody");
/// }
/// COUNT.set(COUNT.get() + 1);
/// assert_eq!(COUNT.get(), 1);
/// NAME.with(|name| assert_eq!(name, "nobody"));
/// ```
#[macro_export]
macro_rules! thread_local {
    () => {};
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $t = const $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = const $init:block) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$t> = {
            const INIT: fn() -> $t = || const $init;
            ::std::thread_local! { static OUTSIDE: $t = const $init; }
            $crate::thread::LocalKey::__new(&OUTSIDE, INIT)
        };
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr; $($rest:tt)*) => {
        $crate::thread_local!($(#[$attr])* $vis static $name: $t = $init);
        $crate::thread_local!($($rest)*);
    };
    ($(#[$attr:meta])* $vis:vis static $name:ident: $t:ty = $init:expr) => {
        $(#[$attr])* $vis static $name: $crate::thread::LocalKey<$t> = {
            const INIT: fn() -> $t = || $init;
            ::std::thread_local! { static OUTSIDE: $t = INIT(); }
            $crate::thread::LocalKey::__new(&OUTSIDE, INIT)
        };
    };
}

/// As `std::thread::LocalKey`; made by [`thread_local!`](crate::thread_local).
pub struct LocalKey<T: 'static> {
    outside: &'static thread::LocalKey<T>,
    init: fn() -> T,
}

/// As `std::thread::AccessError`, which cannot be made outside of std: the variable is being or was destroyed.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessError;

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    pub const fn __new(outside: &'static thread::LocalKey<T>, init: fn() -> T) -> LocalKey<T> {
        LocalKey { outside, init }
    }

    /// This thread's value, made now if this is its first use.
    ///
    /// # Panics
    /// When it was destroyed.
    #[track_caller]
    pub fn with<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.try_with(f).unwrap_or_else(|error| gone(error))
    }

    /// As [`with`](LocalKey::with), for a value that may be gone.
    pub fn try_with<F, R>(&'static self, f: F) -> Result<R, AccessError>
    where
        F: FnOnce(&T) -> R,
    {
        if rt::task().is_none() {
            return self.outside.try_with(f).map_err(|_| AccessError);
        }
        self.checked(self.init).map(f)
    }

    /// The value of a thread of a check. It stays until the thread ends, and `&'static self` is no lifetime of the value: the
    /// reference must not leave the call.
    fn checked<'a>(&'static self, make: impl FnOnce() -> T) -> Result<&'a T, AccessError> {
        let key = std::ptr::from_ref(self) as usize;
        let value = rt::local(key, make).ok_or(AccessError)?;
        // SAFETY: `local` gives a valid pointer to a value that stays in place until its thread ends; callers use the reference
        // only during a call on that thread.
        Ok(unsafe { &*value })
    }

    /// Puts a value there that was not made yet, without the variable's own initialiser; else `put` gets it.
    #[track_caller]
    fn initialize_with(&'static self, value: T, put: impl FnOnce(&T, T)) {
        let mut value = Some(value);
        let made = self.checked(|| value.take().expect("made once"));
        let made = made.unwrap_or_else(|error| gone(error));
        if let Some(value) = value {
            put(made, value);
        }
    }
}

#[cold]
#[track_caller]
fn gone<R>(error: AccessError) -> R {
    panic!("cannot access a Thread Local Storage value during or after destruction: {error:?}")
}

impl<T: 'static> LocalKey<Cell<T>> {
    /// Sets the value; the initialiser is not run for it.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if rt::task().is_none() {
            return self.outside.set(value);
        }
        self.initialize_with(Cell::new(value), |cell, value| cell.set(value.into_inner()));
    }

    /// A copy of the value.
    #[track_caller]
    pub fn get(&'static self) -> T
    where
        T: Copy,
    {
        self.with(Cell::get)
    }

    /// The value, leaving the default.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(Cell::take)
    }

    /// The value, leaving another.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> LocalKey<RefCell<T>> {
    /// A look at the value.
    #[track_caller]
    pub fn with_borrow<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&T) -> R,
    {
        self.with(|cell| f(&cell.borrow()))
    }

    /// A change of the value.
    #[track_caller]
    pub fn with_borrow_mut<F, R>(&'static self, f: F) -> R
    where
        F: FnOnce(&mut T) -> R,
    {
        self.with(|cell| f(&mut cell.borrow_mut()))
    }

    /// Sets the value; the initialiser is not run for it.
    #[track_caller]
    pub fn set(&'static self, value: T) {
        if rt::task().is_none() {
            return self.outside.set(value);
        }
        let value = RefCell::new(value);
        self.initialize_with(value, |cell, value| {
            *cell.borrow_mut() = value.into_inner();
        });
    }

    /// The value, leaving the default.
    #[track_caller]
    pub fn take(&'static self) -> T
    where
        T: Default,
    {
        self.with(RefCell::take)
    }

    /// The value, leaving another.
    #[track_caller]
    pub fn replace(&'static self, value: T) -> T {
        self.with(|cell| cell.replace(value))
    }
}

impl<T: 'static> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}

impl fmt::Debug for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessError").finish()
    }
}

impl fmt::Display for AccessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt("already destroyed", f)
    }
}

impl error::Error for AccessError {}
