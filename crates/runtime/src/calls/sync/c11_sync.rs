//! C11's locks, condition variables and one-time initialisation: those of POSIX, under other names and with other answers.

use crate::{
    calls::sync::{condvars, mutexes, once},
    core::trampoline::Frame,
    shared::c11_answers::answer,
    trampoline,
};
use core::{ffi::c_int, mem::MaybeUninit, ptr};
use libc::{
    pthread_cond_t as Condvar, pthread_mutex_t as Mutex, pthread_mutexattr_t as Attributes,
    timespec,
};

trampoline! {
    mtx_init => init_mutex, "rdx";
    mtx_destroy => destroy_mutex, "rsi";
    mtx_lock => lock, "rsi";
    mtx_trylock => try_lock, "rsi";
    mtx_timedlock => timed_lock, "rdx";
    mtx_unlock => unlock, "rsi";
    cnd_init => init_condition, "rsi";
    cnd_destroy => destroy_condition, "rsi";
    cnd_wait => wait, "rdx";
    cnd_timedwait => timed_wait, "rcx";
    cnd_signal => signal, "rsi";
    cnd_broadcast => broadcast, "rsi";
    call_once => call_once_only, "rdx";
}

/// # Safety
///
/// As `mtx_init`: `mutex` points to room for a mutex.
unsafe extern "C" fn init_mutex(mutex: *mut Mutex, kind: c_int, frame: &Frame) -> c_int {
    const RECURSIVE: c_int = 1;
    let mut attributes = MaybeUninit::<Attributes>::uninit();
    // SAFETY: the attributes are a local, which is initialised before it is used; `mutex` points to room for a mutex, by this
    // function's contract.
    unsafe {
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        if kind & RECURSIVE != 0 {
            let recursive = libc::PTHREAD_MUTEX_RECURSIVE;
            libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), recursive);
        }
        answer(mutexes::init(mutex, attributes.as_ptr(), frame))
    }
}

/// # Safety
///
/// As `mtx_destroy`: `mutex` points to a mutex.
unsafe extern "C" fn destroy_mutex(mutex: *mut Mutex, frame: &Frame) {
    // SAFETY: `pthread_mutex_destroy` gets these arguments, and demands the same of them.
    unsafe { mutexes::destroy(mutex, frame) };
}

/// # Safety
///
/// As `mtx_lock`: `mutex` points to a mutex.
unsafe extern "C" fn lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: `pthread_mutex_lock` gets these arguments, and demands the same of them.
    answer(unsafe { mutexes::lock(mutex, frame) })
}

/// # Safety
///
/// As `mtx_trylock`: `mutex` points to a mutex.
unsafe extern "C" fn try_lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: `pthread_mutex_trylock` gets these arguments, and demands the same of them.
    answer(unsafe { mutexes::try_lock(mutex, frame) })
}

/// # Safety
///
/// As `mtx_timedlock`: `mutex` points to a mutex, `until` to a time.
unsafe extern "C" fn timed_lock(mutex: *mut Mutex, until: *const timespec, frame: &Frame) -> c_int {
    // SAFETY: `pthread_mutex_timedlock` gets these arguments, and demands the same of them.
    answer(unsafe { mutexes::timed_lock(mutex, until, frame) })
}

/// # Safety
///
/// As `mtx_unlock`: `mutex` points to a mutex.
unsafe extern "C" fn unlock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: `pthread_mutex_unlock` gets these arguments, and demands the same of them.
    answer(unsafe { mutexes::unlock(mutex, frame) })
}

/// # Safety
///
/// As `cnd_init`: `condvar` points to room for a condition variable.
unsafe extern "C" fn init_condition(condvar: *mut Condvar, frame: &Frame) -> c_int {
    // SAFETY: `pthread_cond_init` gets these arguments, and demands the same of them.
    answer(unsafe { condvars::init(condvar, ptr::null(), frame) })
}

/// # Safety
///
/// As `cnd_destroy`: `condvar` points to a condition variable.
unsafe extern "C" fn destroy_condition(condvar: *mut Condvar, frame: &Frame) {
    // SAFETY: `pthread_cond_destroy` gets these arguments, and demands the same of them.
    unsafe { condvars::destroy(condvar, frame) };
}

/// # Safety
///
/// As `cnd_wait`: `condvar` points to a condition variable, `mutex` to a mutex.
unsafe extern "C" fn wait(condvar: *mut Condvar, mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: `pthread_cond_wait` gets these arguments, and demands the same of them.
    answer(unsafe { condvars::wait(condvar, mutex, frame) })
}

/// # Safety
///
/// As `cnd_timedwait`: `condvar` points to a condition variable, `mutex` to a mutex, `until` to a time.
unsafe extern "C" fn timed_wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    // SAFETY: `pthread_cond_timedwait` gets these arguments, and demands the same of them.
    answer(unsafe { condvars::timed_wait(condvar, mutex, until, frame) })
}

/// # Safety
///
/// As `cnd_signal`: `condvar` points to a condition variable.
unsafe extern "C" fn signal(condvar: *mut Condvar, frame: &Frame) -> c_int {
    // SAFETY: `pthread_cond_signal` gets these arguments, and demands the same of them.
    answer(unsafe { condvars::signal(condvar, frame) })
}

/// # Safety
///
/// As `cnd_broadcast`: `condvar` points to a condition variable.
unsafe extern "C" fn broadcast(condvar: *mut Condvar, frame: &Frame) -> c_int {
    // SAFETY: `pthread_cond_broadcast` gets these arguments, and demands the same of them.
    answer(unsafe { condvars::broadcast(condvar, frame) })
}

/// # Safety
///
/// As `call_once`: `flag` points to a flag for this, `routine` can be called.
unsafe extern "C" fn call_once_only(flag: *mut c_int, routine: extern "C" fn(), frame: &Frame) {
    // SAFETY: `pthread_once` gets these arguments, and demands the same of them.
    unsafe { once::once(flag, routine, frame) };
}
