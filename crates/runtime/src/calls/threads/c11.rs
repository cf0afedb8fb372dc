//! The threads of C11: those of POSIX, under other names and with other answers.

use crate::{
    calls::{
        sync::{condvars, mutexes, once},
        threads::{joins, lifecycle},
        time::clocks,
    },
    core::world,
    hooks::Frame,
    real, trampoline,
};
use core::{
    ffi::{c_int, c_uint, c_void},
    mem::MaybeUninit,
    ptr,
};
use libc::{
    pthread_cond_t as Condvar, pthread_mutex_t as Mutex, pthread_mutexattr_t as Attributes,
    pthread_t as Handle, timespec,
};

trampoline! {
    thrd_create => create, "rcx";
    thrd_join => join, "rdx";
    thrd_detach => detach, "rsi";
    thrd_exit => exit, "rsi";
    thrd_sleep => sleep, "rdx";
    thrd_yield => give_way, "rdi";
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
    tss_create => create_key, "rdx";
    tss_delete => delete_key, "rsi";
}

const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

/// An error number of POSIX as C11 has it.
fn answer(error: c_int) -> c_int {
    match error {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// Its result is the lower half of what functions of POSIX return.
type Start = extern "C" fn(*mut c_void) -> *mut c_void;

unsafe extern "C" fn create(
    handle: *mut Handle,
    start: Start,
    argument: *mut c_void,
    frame: &Frame,
) -> c_int {
    if !world::active() {
        let real = real!(thrd_create: fn(*mut Handle, Start, *mut c_void) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(handle, start, argument) };
    }
    // SAFETY: as the call itself.
    answer(unsafe { lifecycle::create(handle, ptr::null(), start, argument, frame) })
}

unsafe extern "C" fn join(handle: Handle, result: *mut c_int, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own arguments.
        return unsafe { real!(thrd_join: fn(Handle, *mut c_int) -> c_int)(handle, result) };
    }
    let mut value = ptr::null_mut();
    // SAFETY: as the call itself.
    unsafe {
        let error = joins::join(handle, &mut value, frame);
        if error == 0 && !result.is_null() {
            *result = value as c_int;
        }
        answer(error)
    }
}

unsafe extern "C" fn detach(handle: Handle, frame: &Frame) -> c_int {
    if !world::active() {
        // SAFETY: the program's own argument.
        return unsafe { real!(thrd_detach: fn(Handle) -> c_int)(handle) };
    }
    // SAFETY: as the call itself.
    answer(unsafe { joins::detach(handle, frame) })
}

unsafe extern "C" fn exit(result: c_int, frame: &Frame) -> ! {
    if !world::active() {
        // SAFETY: a number.
        unsafe { real!(thrd_exit: fn(c_int))(result) };
    }
    // SAFETY: as the call itself.
    unsafe { lifecycle::exit(result as usize as *mut c_void, frame) }
}

unsafe extern "C" fn sleep(time: *const timespec, left: *mut timespec, frame: &Frame) -> c_int {
    if !world::active() {
        let real = real!(thrd_sleep: fn(*const timespec, *mut timespec) -> c_int);
        // SAFETY: the program's own arguments.
        return unsafe { real(time, left) };
    }
    // SAFETY: as the call itself.
    match unsafe { clocks::nano_sleep(time, left, frame) } {
        0 => 0,
        _ => -2,
    }
}

unsafe extern "C" fn give_way(frame: &Frame) {
    // SAFETY: no arguments.
    unsafe { clocks::give_way(frame) };
}

unsafe extern "C" fn init_mutex(mutex: *mut Mutex, kind: c_int, frame: &Frame) -> c_int {
    const RECURSIVE: c_int = 1;
    let mut attributes = MaybeUninit::<Attributes>::uninit();
    // SAFETY: as the call itself; the attributes are a local.
    unsafe {
        libc::pthread_mutexattr_init(attributes.as_mut_ptr());
        if kind & RECURSIVE != 0 {
            let recursive = libc::PTHREAD_MUTEX_RECURSIVE;
            libc::pthread_mutexattr_settype(attributes.as_mut_ptr(), recursive);
        }
        answer(mutexes::init(mutex, attributes.as_ptr(), frame))
    }
}

unsafe extern "C" fn destroy_mutex(mutex: *mut Mutex, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { mutexes::destroy(mutex, frame) };
}

unsafe extern "C" fn lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { mutexes::lock(mutex, frame) })
}

unsafe extern "C" fn try_lock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { mutexes::try_lock(mutex, frame) })
}

unsafe extern "C" fn timed_lock(mutex: *mut Mutex, until: *const timespec, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { mutexes::timed_lock(mutex, until, frame) })
}

unsafe extern "C" fn unlock(mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { mutexes::unlock(mutex, frame) })
}

unsafe extern "C" fn init_condition(condvar: *mut Condvar, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { condvars::init(condvar, ptr::null(), frame) })
}

unsafe extern "C" fn destroy_condition(condvar: *mut Condvar, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { condvars::destroy(condvar, frame) };
}

unsafe extern "C" fn wait(condvar: *mut Condvar, mutex: *mut Mutex, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { condvars::wait(condvar, mutex, frame) })
}

unsafe extern "C" fn timed_wait(
    condvar: *mut Condvar,
    mutex: *mut Mutex,
    until: *const timespec,
    frame: &Frame,
) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { condvars::timed_wait(condvar, mutex, until, frame) })
}

unsafe extern "C" fn signal(condvar: *mut Condvar, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { condvars::signal(condvar, frame) })
}

unsafe extern "C" fn broadcast(condvar: *mut Condvar, frame: &Frame) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { condvars::broadcast(condvar, frame) })
}

unsafe extern "C" fn call_once_only(flag: *mut c_int, routine: extern "C" fn(), frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { once::once(flag, routine, frame) };
}

unsafe extern "C" fn create_key(
    key: *mut c_uint,
    destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    frame: &Frame,
) -> c_int {
    // SAFETY: as the call itself.
    answer(unsafe { lifecycle::key_create(key, destroy, frame) })
}

unsafe extern "C" fn delete_key(key: c_uint, frame: &Frame) {
    // SAFETY: as the call itself.
    unsafe { lifecycle::key_delete(key, frame) };
}
