//! The one kind of cell for the runtime's global state.
//!
//! At any moment at most one OS thread runs code of the runtime in a driven program: fibers share one OS thread, and with
//! `--threads os` the other threads sleep on a futex until the running one hands over. So global state needs no locks. It
//! still must not be borrowed twice: [`RunCell::borrow`] hands out a guard, a second borrow while the guard lives ends the
//! process with the two places named, and a guard must not be alive when threads are switched.
//!
//! *Invariant:* no [`Borrow`] is alive across a switch of threads, nor while code of the program runs.

use core::{
    cell::UnsafeCell,
    mem::MaybeUninit,
    ops::{Deref, DerefMut},
    panic::Location,
};

const FREE: u8 = 0;
const BORROWED: u8 = 1;
const EMPTY: u8 = 2;

/// Whether a fault has interrupted a thread, which never goes on. It may have borrowed any cell.
static INTERRUPTED: RunValue<bool> = RunValue::new(false);

/// A fault has interrupted the running thread: what it has borrowed can be borrowed by others from now on. The process is not used
/// for another run, so this is never taken back.
///
/// # Safety
///
/// The interrupted code never goes on.
pub unsafe fn interrupted() {
    INTERRUPTED.set(true);
}

/// Global state that is borrowed for a scope. See the module.
pub struct RunCell<T, const ASIDE: bool = false> {
    state: UnsafeCell<u8>,
    value: UnsafeCell<MaybeUninit<T>>,
    #[cfg(debug_assertions)]
    borrower: UnsafeCell<Option<&'static Location<'static>>>,
}

// SAFETY: at most one OS thread at a time runs code that reaches the cell, and a hand-over between OS threads is a futex,
// which orders memory (see the module).
unsafe impl<T, const ASIDE: bool> Sync for RunCell<T, ASIDE> {}

impl<T, const ASIDE: bool> RunCell<T, ASIDE> {
    /// A cell that holds a value from the beginning.
    pub const fn new(value: T) -> RunCell<T, ASIDE> {
        RunCell {
            state: UnsafeCell::new(FREE),
            value: UnsafeCell::new(MaybeUninit::new(value)),
            #[cfg(debug_assertions)]
            borrower: UnsafeCell::new(None),
        }
    }

    /// A cell that gets its value by [`RunCell::fill`] before it is borrowed.
    pub const fn empty() -> RunCell<T, ASIDE> {
        RunCell {
            state: UnsafeCell::new(EMPTY),
            value: UnsafeCell::new(MaybeUninit::uninit()),
            #[cfg(debug_assertions)]
            borrower: UnsafeCell::new(None),
        }
    }

    /// Gives an empty cell its value.
    pub fn fill(&self, value: T) {
        // SAFETY: one OS thread at a time comes here, and an empty cell has no borrow.
        unsafe {
            assert!(*self.state.get() == EMPTY, "a cell is filled once");
            (*self.value.get()).write(value);
            *self.state.get() = FREE;
        }
    }

    /// The value, until the guard is dropped.
    #[inline(always)]
    #[track_caller]
    pub fn borrow(&self) -> Borrow<'_, T, ASIDE> {
        // SAFETY: one OS thread at a time comes here; the flag is not kept by reference anywhere.
        unsafe {
            if *self.state.get() != FREE {
                self.take_over(Location::caller());
            }
            *self.state.get() = BORROWED;
            #[cfg(debug_assertions)]
            {
                *self.borrower.get() = Some(Location::caller());
            }
        }
        Borrow { cell: self }
    }

    /// As [`RunCell::borrow`]; nothing while the value is borrowed or not made yet.
    #[inline]
    #[track_caller]
    pub fn try_borrow(&self) -> Option<Borrow<'_, T, ASIDE>> {
        // SAFETY: one OS thread at a time comes here; the flag is not kept by reference anywhere.
        let free = unsafe { *self.state.get() } == FREE;
        free.then(|| self.borrow())
    }

    /// Where the value lies, for hooks that cannot afford the check of a borrow.
    pub fn raw(&self) -> *mut T {
        self.value.get().cast()
    }

    /// Ends a borrow whose owner was interrupted by a fault.
    ///
    /// # Safety
    ///
    /// The code that holds the borrow never runs again: its thread is frozen where the fault interrupted it.
    pub unsafe fn reclaim(&self) {
        // SAFETY: by the caller, no guard that counts is alive.
        unsafe {
            if *self.state.get() == BORROWED {
                *self.state.get() = FREE;
            }
        }
    }

    /// The value is borrowed already, or there is none. That is allowed only where a fault has interrupted the code that borrowed
    /// it; else the process ends.
    #[cold]
    #[inline(never)]
    fn take_over(&self, second: &'static Location<'static>) {
        // SAFETY: one OS thread at a time comes here; the flag is not kept by reference anywhere.
        let borrowed = unsafe { *self.state.get() } == BORROWED;
        if !borrowed || !INTERRUPTED.get() {
            self.refuse(second);
        }
    }

    fn refuse(&self, second: &'static Location<'static>) -> ! {
        #[cfg(debug_assertions)]
        // SAFETY: one OS thread at a time comes here.
        if let Some(first) = unsafe { *self.borrower.get() } {
            crate::give_up(format_args!(
                "the state borrowed at {first} is borrowed again at {second}"
            ));
        }
        crate::give_up(format_args!(
            "the runtime's state is borrowed at {second} while it is in use or not made yet"
        ))
    }
}

/// Of a cell that is changed in a run and either belongs to the states of the run, or has no effect on what the program does next. See
/// [`CHANGED`].
pub const ASIDE: bool = true;

/// Whether any cell was changed that is not [`ASIDE`]: states of the run do not hold what it keeps.
pub static CHANGED: RunValue<bool> = RunValue::new(false);

/// Something has changed that no state holds.
#[inline(always)]
pub fn changed() {
    CHANGED.set(true);
}

/// A borrow of a [`RunCell`].
pub struct Borrow<'a, T, const ASIDE: bool = false> {
    cell: &'a RunCell<T, ASIDE>,
}

impl<T, const ASIDE: bool> Deref for Borrow<'_, T, ASIDE> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the flag is BORROWED for as long as the guard lives, so this is the only reference, and a cell that is not
        // EMPTY has a value.
        unsafe { (*self.cell.value.get()).assume_init_ref() }
    }
}

impl<T, const ASIDE: bool> DerefMut for Borrow<'_, T, ASIDE> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        if !ASIDE {
            changed();
        }
        // SAFETY: as for `deref`: the guard is the only way to the value, and it is borrowed mutably here.
        unsafe { (*self.cell.value.get()).assume_init_mut() }
    }
}

impl<T, const ASIDE: bool> Drop for Borrow<'_, T, ASIDE> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: one OS thread at a time comes here; the value is no longer reachable through this guard.
        unsafe { *self.cell.state.get() = FREE };
    }
}

/// A small global value that is copied in and out, never borrowed. Assembly may look at it.
#[repr(transparent)]
pub struct RunValue<T: Copy>(UnsafeCell<T>);

// SAFETY: at most one OS thread at a time runs code that reaches the value (see the module).
unsafe impl<T: Copy> Sync for RunValue<T> {}

impl<T: Copy> RunValue<T> {
    pub const fn new(value: T) -> RunValue<T> {
        RunValue(UnsafeCell::new(value))
    }

    /// Where the value lies, for assembly that stores it.
    pub const fn as_ptr(&self) -> *mut T {
        self.0.get()
    }

    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: one OS thread at a time comes here, and no reference to the value exists anywhere.
        unsafe { *self.0.get() }
    }

    #[inline(always)]
    pub fn set(&self, value: T) {
        // SAFETY: one OS thread at a time comes here, and no reference to the value exists anywhere.
        unsafe { *self.0.get() = value };
    }
}
