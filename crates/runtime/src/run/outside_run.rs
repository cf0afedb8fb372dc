//! Calls outside of runs, which are libc's own.

/// Returns what libc's own function returns, unless a run is going on:
/// `outside_run!(pthread_mutex_lock: fn(mutex: *mut Mutex) -> c_int);`
///
/// For the first lines of a function that stands for the named one: with the same arguments, under the same contract.
#[macro_export]
macro_rules! outside_run {
    ($name:ident : fn($($argument:ident : $type:ty),* $(,)?) $(-> $result:ty)?) => {
        if !$crate::run::world::active() {
            let real = $crate::real!($name: fn($($type),*) $(-> $result)?);
            // SAFETY: the caller promises of these arguments what the function of this name demands, and libc's own gets them.
            #[allow(unused_unsafe)]
            return unsafe { real($($argument),*) };
        }
    };
}

/// As [`outside_run!`], for functions that do not return.
#[macro_export]
macro_rules! leave_outside_run {
    ($name:ident : fn($($argument:ident : $type:ty),*)) => {
        if !$crate::run::world::active() {
            let real = $crate::real!($name: fn($($type),*) -> !);
            // SAFETY: the caller promises of these arguments what the function of this name demands, and libc's own gets them.
            #[allow(unused_unsafe)]
            unsafe { real($($argument),*) }
        }
    };
}
