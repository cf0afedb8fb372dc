//! Threads: creation, end, join, cancellation, `sched_yield`, `fork`.

use super::openmp;
use crate::{
    real,
    rotation::{Member, THREADS, Woken},
    schedule::Op,
    turn::{self, DETACHED, Step, Turn, active, hold, outside, synchronise},
};
use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
};
use libc::{EAGAIN, EBUSY, ETIMEDOUT, c_int, pthread_attr_t, pthread_t, timespec};

/// The handles of threads, by their numbers; 0 for those that are not known.
static HANDLES: [AtomicUsize; THREADS + 1] = [const { AtomicUsize::new(0) }; THREADS + 1];

/// Threads that were asked to end and have not.
static CANCELLED: [AtomicBool; THREADS + 1] = [const { AtomicBool::new(false) }; THREADS + 1];

/// The key whose destructor is a thread's end; one more than its number, 0 before there is one.
static KEY: AtomicU32 = AtomicU32::new(0);

/// What a new thread begins with.
struct Start {
    member: Member,
    function: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
}

#[cfg_attr(not(test), used)]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static BEGIN: extern "C" fn() = begin;

#[cfg_attr(not(test), used)]
#[cfg_attr(not(test), unsafe(link_section = ".fini_array"))]
static FINISH: extern "C" fn() = finish;

extern "C" fn begin() {
    let mut key = 0;
    // SAFETY: the functions passed have the types that libc wants, and stay.
    unsafe {
        if libc::pthread_key_create(&mut key, Some(ends)) == 0 {
            KEY.store(key + 1, Ordering::Relaxed);
        }
        libc::pthread_atfork(
            Some(turn::before_fork),
            Some(turn::after_fork),
            Some(turn::in_child),
        );
    }
    turn::begin();
    mark();
    // SAFETY: the call takes no pointers and has no conditions.
    HANDLES[turn::number() as usize]
        .store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
}

extern "C" fn finish() {
    turn::finish();
}

/// Lets the calling thread's end be noticed.
fn mark() {
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the key was created before the first thread, and is never deleted.
        unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
    }
}

/// The destructor. Others may synchronise, so it is the thread's end only in the last round of destructors but one.
extern "C" fn ends(rounds: *mut c_void) {
    let rounds = rounds.addr();
    if rounds < 3 {
        if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
            // SAFETY: the key was created before the first thread, and is never deleted.
            unsafe { libc::pthread_setspecific(key, ptr::without_provenance(rounds + 1)) };
        }
        return;
    }
    if active() {
        turn::end(ending);
    }
}

/// What joins wait for.
fn ending(member: Member) -> usize {
    ptr::from_ref(&HANDLES[member.number() as usize]).addr()
}

/// The thread with a handle.
fn known(handle: pthread_t) -> Option<Member> {
    let at = HANDLES
        .iter()
        .position(|known| known.load(Ordering::Relaxed) == handle as usize)?;
    Some(Member::of(at as u16))
}

/// Forgets a thread that has ended and is joined or detached.
fn forget(turn: &mut Turn<'_>, member: Member) {
    HANDLES[member.number() as usize].store(0, Ordering::Relaxed);
    turn.free(member);
}

/// Whether a thread was asked to end. Only steps change the answer.
pub(super) fn cancelled(member: Member) -> bool {
    CANCELLED[member.number() as usize].load(Ordering::Relaxed)
}

/// Ends the calling thread if it was asked to and allows it.
pub(super) fn test_cancel() {
    CANCELLED[turn::number() as usize].store(false, Ordering::Relaxed);
    // SAFETY: always; what is unwound has nothing to drop.
    unsafe { real!(pthread_testcancel: fn())() }
}

extern "C-unwind" fn start(given: *mut c_void) -> *mut c_void {
    let given = given.cast::<Start>();
    // SAFETY: `pthread_create` below made it for this thread alone.
    let Start {
        member,
        function,
        argument,
    } = unsafe { given.read() };
    turn::become_member(member);
    // SAFETY: it comes from `malloc`, and nothing refers to it any more.
    unsafe { libc::free(given.cast()) };
    mark();
    function(argument)
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_create(
    handle: *mut pthread_t,
    attributes: *const pthread_attr_t,
    function: extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    type Function = extern "C-unwind" fn(*mut c_void) -> *mut c_void;
    let real = real!(pthread_create: fn(*mut pthread_t, *const pthread_attr_t, Function, *mut c_void) -> c_int);
    if !active() {
        // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
        return unsafe { real(handle, attributes, function, argument) };
    }
    let mut made = None;
    let create = |member: Option<Member>| {
        made = member;
        let Some(member) = member else { return EAGAIN };
        // SAFETY: the caller's arguments; `start` frees what is allocated here.
        unsafe {
            let given = libc::malloc(size_of::<Start>()).cast::<Start>();
            if given.is_null() {
                return EAGAIN;
            }
            given.write(Start {
                member,
                function,
                argument,
            });
            let mut detached = 0;
            if !attributes.is_null() {
                real!(pthread_attr_getdetachstate: fn(*const pthread_attr_t, *mut c_int) -> c_int)(
                    attributes,
                    &mut detached,
                );
            }
            let number = member.number() as usize;
            DETACHED[number].store(detached == libc::PTHREAD_CREATE_DETACHED, Ordering::Relaxed);
            CANCELLED[number].store(false, Ordering::Relaxed);
            let created = real(handle, attributes, start, given.cast());
            match created {
                0 => HANDLES[number].store(*handle as usize, Ordering::Relaxed),
                _ => libc::free(given.cast()),
            }
            created
        }
    };
    let join = |turn: &mut Turn<'_>| {
        let member = turn.join()?;
        // OpenMP's threads take part only while their team works.
        if openmp::creates_team() {
            turn.leave(member);
        }
        Some(member)
    };
    let created = hold(Op::Create, join, create, |_, _| {});
    if let (Some(member), true) = (made, created != 0) {
        synchronise(Op::Create, |turn| {
            turn.discard(member);
            Step::Done(())
        });
    }
    created
}

/// Waits for a thread's end in the rotation. `None`: it was never seen.
///
/// # Safety
///
/// `until` points to a time.
unsafe fn wait_for_end(
    handle: pthread_t,
    until: Option<(libc::clockid_t, *const timespec)>,
) -> Option<c_int> {
    let member = known(handle).filter(|member| member.number() != turn::number())?;
    let mut end = None;
    loop {
        let ended = synchronise(Op::Join, |turn| {
            if cancelled(turn.me()) {
                return Step::Done(None);
            }
            if turn.ended(member) {
                forget(turn, member);
                return Step::Done(Some(0));
            }
            match turn.woken() {
                Some(Woken::TimedOut) => return Step::Done(Some(ETIMEDOUT)),
                Some(Woken::Cancelled) => return Step::Done(None),
                _ => {}
            }
            if let (Some((clock, until)), None) = (until, end) {
                // SAFETY: the caller keeps the condition of this function.
                end = Some(unsafe { super::deadline(turn, clock, until) });
            }
            Step::Wait(ending(member), end)
        });
        match ended {
            Some(result) => return Some(result),
            None => test_cancel(),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_join(handle: pthread_t, result: *mut *mut c_void) -> c_int {
    let join = real!(pthread_join: fn(pthread_t, *mut *mut c_void) -> c_int);
    // SAFETY: the caller's arguments. A thread that has ended here is about to end.
    unsafe {
        if !active() {
            return join(handle, result);
        }
        match wait_for_end(handle, None) {
            Some(_) => join(handle, result),
            None => outside(|| join(handle, result)),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_tryjoin_np(
    handle: pthread_t,
    result: *mut *mut c_void,
) -> c_int {
    let join = real!(pthread_join: fn(pthread_t, *mut *mut c_void) -> c_int);
    let Some(member) = known(handle).filter(|_| active()) else {
        // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
        return unsafe {
            real!(pthread_tryjoin_np: fn(pthread_t, *mut *mut c_void) -> c_int)(handle, result)
        };
    };
    let ended = synchronise(Op::Join, |turn| {
        let ended = turn.ended(member);
        if ended {
            forget(turn, member);
        }
        Step::Done(ended)
    });
    match ended {
        // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
        true => unsafe { join(handle, result) },
        false => EBUSY,
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_timedjoin_np(
    handle: pthread_t,
    result: *mut *mut c_void,
    until: *const timespec,
) -> c_int {
    // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
    unsafe { pthread_clockjoin_np(handle, result, libc::CLOCK_REALTIME, until) }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_clockjoin_np(
    handle: pthread_t,
    result: *mut *mut c_void,
    clock: libc::clockid_t,
    until: *const timespec,
) -> c_int {
    let real = real!(pthread_clockjoin_np: fn(pthread_t, *mut *mut c_void, libc::clockid_t, *const timespec) -> c_int);
    // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
    unsafe {
        if !active() {
            return real(handle, result, clock, until);
        }
        match wait_for_end(handle, Some((clock, until))) {
            Some(0) => {
                real!(pthread_join: fn(pthread_t, *mut *mut c_void) -> c_int)(handle, result)
            }
            Some(error) => error,
            None => outside(|| real(handle, result, clock, until)),
        }
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_detach(handle: pthread_t) -> c_int {
    let detach = real!(pthread_detach: fn(pthread_t) -> c_int);
    // SAFETY: the caller passes the handle of a thread that was not joined.
    unsafe {
        let Some(member) = known(handle).filter(|_| active()) else {
            return detach(handle);
        };
        synchronise(Op::Detach, |turn| {
            let detached = detach(handle);
            if detached == 0 {
                HANDLES[member.number() as usize].store(0, Ordering::Relaxed);
                DETACHED[member.number() as usize].store(true, Ordering::Relaxed);
                if turn.ended(member) {
                    turn.free(member);
                }
            }
            Step::Done(detached)
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn pthread_cancel(handle: pthread_t) -> c_int {
    let cancel = real!(pthread_cancel: fn(pthread_t) -> c_int);
    // SAFETY: the caller passes the handle of a thread that was not joined.
    unsafe {
        let Some(member) = known(handle).filter(|_| active()) else {
            return cancel(handle);
        };
        // Cancelling oneself may end the thread at once.
        if member.number() == turn::number() {
            synchronise(Op::Cancel, |_| Step::Done(()));
            return cancel(handle);
        }
        synchronise(Op::Cancel, |turn| {
            let cancelled = cancel(handle);
            if cancelled == 0 && !turn.ended(member) {
                CANCELLED[member.number() as usize].store(true, Ordering::Relaxed);
                turn.cancel(member);
            }
            Step::Done(cancelled)
        })
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn sched_yield() -> c_int {
    match active() {
        true => synchronise(Op::Yield, |_| Step::Done(0)),
        // SAFETY: the call takes no pointers and has no conditions.
        false => unsafe { real!(sched_yield: fn() -> c_int)() },
    }
}

/// # Safety
///
/// As libc's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C-unwind" fn fork() -> libc::pid_t {
    let fork = real!(fork: fn() -> libc::pid_t);
    match active() {
        // SAFETY: the call takes no pointers and has no conditions.
        true => hold(Op::Fork, |_| (), |()| unsafe { fork() }, |_, _| {}),
        // SAFETY: the call takes no pointers and has no conditions.
        false => unsafe { fork() },
    }
}
