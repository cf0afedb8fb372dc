//! C11's threads: the same objects as those of pthreads, under other names.

use super::{conditions, mutexes, once, sleeps, threads};
use core::ffi::c_void;
use libc::{
    EBUSY, ENOMEM, ETIMEDOUT, c_int, pthread_cond_t, pthread_mutex_t, pthread_once_t, pthread_t,
    timespec,
};

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn answer(result: c_int) -> c_int {
    match result {
        0 => SUCCESS,
        EBUSY => BUSY,
        ENOMEM => NO_MEMORY,
        ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

macro_rules! forwards {
    ($($name:ident($($argument:ident: $type:ty),*) = $target:path;)*) => { $(
        /// # Safety
        ///
        /// As libc's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
            answer(unsafe { $target($($argument),*) })
        }
    )* };
}

forwards! {
    mtx_lock(mutex: *mut pthread_mutex_t) = mutexes::pthread_mutex_lock;
    mtx_trylock(mutex: *mut pthread_mutex_t) = mutexes::pthread_mutex_trylock;
    mtx_timedlock(mutex: *mut pthread_mutex_t, until: *const timespec) = mutexes::pthread_mutex_timedlock;
    mtx_unlock(mutex: *mut pthread_mutex_t) = mutexes::pthread_mutex_unlock;
    cnd_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) = conditions::pthread_cond_wait;
    cnd_timedwait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, until: *const timespec) = conditions::pthread_cond_timedwait;
    cnd_signal(condition: *mut pthread_cond_t) = conditions::pthread_cond_signal;
    cnd_broadcast(condition: *mut pthread_cond_t) = conditions::pthread_cond_broadcast;
    thrd_detach(thread: pthread_t) = threads::pthread_detach;
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn call_once(
    once: *mut pthread_once_t,
    routine: extern "C-unwind" fn(),
) {
    // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
    unsafe { once::pthread_once(once, routine) };
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn thrd_create(
    thread: *mut pthread_t,
    function: extern "C-unwind" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> c_int {
    struct Start(extern "C-unwind" fn(*mut c_void) -> c_int, *mut c_void);
    extern "C-unwind" fn start(given: *mut c_void) -> *mut c_void {
        // SAFETY: `thrd_create` made it for this thread alone, with `malloc`.
        let Start(function, argument) = unsafe { given.cast::<Start>().read() };
        // SAFETY: as for the call before, the caller keeps the library's conditions.
        unsafe { libc::free(given) };
        core::ptr::without_provenance_mut(function(argument) as isize as usize)
    }
    // SAFETY: the caller's arguments; `start` frees what is allocated here.
    unsafe {
        let given = libc::malloc(size_of::<Start>()).cast::<Start>();
        if given.is_null() {
            return NO_MEMORY;
        }
        given.write(Start(function, argument));
        let created = threads::pthread_create(thread, core::ptr::null(), start, given.cast());
        if created != 0 {
            libc::free(given.cast());
        }
        match created {
            0 => SUCCESS,
            libc::EAGAIN | ENOMEM => NO_MEMORY,
            _ => ERROR,
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn thrd_join(thread: pthread_t, result: *mut c_int) -> c_int {
    let mut value = core::ptr::null_mut();
    // SAFETY: the caller's thread, and a place of our own.
    let joined = unsafe { threads::pthread_join(thread, &mut value) };
    if joined == 0 && !result.is_null() {
        // SAFETY: the caller passes a place for the result, or none.
        unsafe { *result = value.addr() as c_int };
    }
    answer(joined)
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn thrd_yield() {
    // SAFETY: the call takes no pointers and has no conditions.
    unsafe { threads::sched_yield() };
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn thrd_sleep(time: *const timespec, left: *mut timespec) -> c_int {
    // SAFETY: the caller passes valid times, as libc's function requires.
    match unsafe { sleeps::nanosleep(time, left) } {
        0 => 0,
        _ => -2,
    }
}
