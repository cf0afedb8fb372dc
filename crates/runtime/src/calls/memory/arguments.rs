//! Functions of the C and C++ libraries that read or write a few bytes where their arguments point, and do nothing else: sets of signals,
//! attributes, floating-point numbers as text.

use crate::{kernel::passed_calls::passes, run::accesses::argument};
use core::{ffi::CStr, mem::size_of};
use libc::{
    itimerval, pthread_attr_t as Thread, pthread_barrierattr_t as Barrier,
    pthread_condattr_t as Condvar, pthread_mutexattr_t as Mutex, pthread_rwlockattr_t as RwLock,
};

passes! {
    sigemptyset => writes::<Set>;
    sigfillset => writes::<Set>;
    sigaddset => writes::<Set>;
    sigdelset => writes::<Set>;
    sigismember => reads::<Set>;
    sigisemptyset => reads::<Set>;
    sigorset => combines;
    sigandset => combines;
    getitimer => writes_second::<itimerval>;
    pthread_attr_destroy => writes::<Thread>;
    pthread_attr_setguardsize => writes::<Thread>;
    pthread_attr_setdetachstate => writes::<Thread>;
    pthread_attr_setinheritsched => writes::<Thread>;
    pthread_attr_setschedparam => writes::<Thread>;
    pthread_attr_setschedpolicy => writes::<Thread>;
    pthread_attr_setscope => writes::<Thread>;
    pthread_attr_getstack => reads::<Thread>;
    pthread_attr_getstacksize => reads::<Thread>;
    pthread_attr_getguardsize => reads::<Thread>;
    pthread_attr_getdetachstate => reads::<Thread>;
    pthread_attr_getinheritsched => reads::<Thread>;
    pthread_attr_getschedparam => reads::<Thread>;
    pthread_attr_getschedpolicy => reads::<Thread>;
    pthread_attr_getscope => reads::<Thread>;
    pthread_mutexattr_destroy => writes::<Mutex>;
    pthread_mutexattr_setrobust => writes::<Mutex>;
    pthread_mutexattr_setpshared => writes::<Mutex>;
    pthread_mutexattr_gettype => reads::<Mutex>;
    pthread_mutexattr_getrobust => reads::<Mutex>;
    pthread_mutexattr_getpshared => reads::<Mutex>;
    pthread_condattr_init => writes::<Condvar>;
    pthread_condattr_destroy => writes::<Condvar>;
    pthread_condattr_setclock => writes::<Condvar>;
    pthread_condattr_setpshared => writes::<Condvar>;
    pthread_condattr_getclock => reads::<Condvar>;
    pthread_condattr_getpshared => reads::<Condvar>;
    pthread_rwlockattr_init => writes::<RwLock>;
    pthread_rwlockattr_destroy => writes::<RwLock>;
    pthread_rwlockattr_setkind_np => writes::<RwLock>;
    pthread_rwlockattr_setpshared => writes::<RwLock>;
    pthread_rwlockattr_getkind_np => reads::<RwLock>;
    pthread_rwlockattr_getpshared => reads::<RwLock>;
    pthread_barrierattr_init => writes::<Barrier>;
    pthread_barrierattr_destroy => writes::<Barrier>;
    pthread_barrierattr_setpshared => writes::<Barrier>;
    pthread_barrierattr_getpshared => reads::<Barrier>;
    _ZSt10from_charsPKcS0_RfSt12chars_format => reads_number::<4>;
    _ZSt10from_charsPKcS0_RdSt12chars_format => reads_number::<8>;
    _ZSt10from_charsPKcS0_ReSt12chars_format => reads_number::<16>;
    _ZSt8to_charsPcS_f => writes_number;
    _ZSt8to_charsPcS_fSt12chars_format => writes_number;
    _ZSt8to_charsPcS_fSt12chars_formati => writes_number;
    _ZSt8to_charsPcS_d => writes_number;
    _ZSt8to_charsPcS_dSt12chars_format => writes_number;
    _ZSt8to_charsPcS_dSt12chars_formati => writes_number;
    _ZSt8to_charsPcS_e => writes_number;
    _ZSt8to_charsPcS_eSt12chars_format => writes_number;
    _ZSt8to_charsPcS_eSt12chars_formati => writes_number;
}

/// The part of a set of signals that is in use.
type Set = u64;

fn writes<T>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    argument(arguments[0], size_of::<T>(), true, *from);
}

fn reads<T>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    argument(arguments[0], size_of::<T>(), false, *from);
}

fn writes_second<T>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    argument(arguments[1], size_of::<T>(), true, *from);
}

fn combines(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    argument(arguments[1], size_of::<Set>(), false, *from);
    argument(arguments[2], size_of::<Set>(), false, *from);
    argument(arguments[0], size_of::<Set>(), true, *from);
}

/// `std::from_chars`: from a text to the third argument.
fn reads_number<const BYTES: usize>(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    let [first, last, number, ..] = *arguments;
    argument(first, last.saturating_sub(first), false, *from);
    argument(number, BYTES, true, *from);
}

/// `std::to_chars`.
fn writes_number(_: &'static CStr, arguments: &[usize; 6], from: &usize) {
    let [first, last, ..] = *arguments;
    argument(first, last.saturating_sub(first), true, *from);
}
