//! Calls that wait for something outside of the process. Their threads leave the rotation and come back to it, at a moment that the world
//! decides: programs that use them have as many orders as the world has.

use crate::{
    real,
    turn::{active, outside},
};
use libc::{
    c_char, c_int, c_void, epoll_event, fd_set, iovec, mmsghdr, msghdr, nfds_t, off_t, pid_t,
    pollfd, siginfo_t, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec, timeval,
};

macro_rules! outside {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty $(, if $waits:expr)?;)*) => { $(
        /// # Safety
        ///
        /// As libc's function.
        #[cfg_attr(not(test), unsafe(no_mangle))]
        pub unsafe extern "C-unwind" fn $name($($argument: $type),*) -> $result {
            let real = real!($name: fn($($type),*) -> $result);
            // SAFETY: the arguments are those that the caller gave to this function, which has the library's conditions.
            unsafe {
                match active() $(&& $waits)? {
                    true => outside(|| real($($argument),*)),
                    false => real($($argument),*),
                }
            }
        }
    )* };
}

/// Whether reading or writing may wait: files on disks and directories do not.
fn waits(descriptor: c_int) -> bool {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: errno belongs to this thread; the status is written where the call succeeds.
    unsafe {
        let errno = *libc::__errno_location();
        let found = libc::fstat(descriptor, status.as_mut_ptr());
        *libc::__errno_location() = errno;
        found == 0
            && matches!(
                status.assume_init().st_mode & libc::S_IFMT,
                libc::S_IFIFO | libc::S_IFSOCK | libc::S_IFCHR
            )
    }
}

/// As [`waits`], and writing to a terminal or to /dev/null does not.
fn waits_to_write(descriptor: c_int) -> bool {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: as for the call before, the caller keeps the library's conditions.
    unsafe {
        let errno = *libc::__errno_location();
        let found = libc::fstat(descriptor, status.as_mut_ptr());
        *libc::__errno_location() = errno;
        // Standard output and standard error are read by others, and not by this process.
        found == 0
            && descriptor > 2
            && matches!(
                status.assume_init().st_mode & libc::S_IFMT,
                libc::S_IFIFO | libc::S_IFSOCK
            )
    }
}

outside! {
    poll(all: *mut pollfd, count: nfds_t, time: c_int) -> c_int, if time != 0;
    ppoll(all: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t) -> c_int;
    select(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, time: *mut timeval) -> c_int;
    pselect(count: c_int, read: *mut fd_set, write: *mut fd_set, other: *mut fd_set, time: *const timespec, mask: *const sigset_t) -> c_int;
    epoll_wait(epoll: c_int, events: *mut epoll_event, most: c_int, time: c_int) -> c_int, if time != 0;
    epoll_pwait(epoll: c_int, events: *mut epoll_event, most: c_int, time: c_int, mask: *const sigset_t) -> c_int, if time != 0;
    accept(socket: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int;
    accept4(socket: c_int, address: *mut sockaddr, length: *mut socklen_t, flags: c_int) -> c_int;
    connect(socket: c_int, address: *const sockaddr, length: socklen_t) -> c_int;
    recv(socket: c_int, to: *mut c_void, length: size_t, flags: c_int) -> ssize_t;
    recvfrom(socket: c_int, to: *mut c_void, length: size_t, flags: c_int, address: *mut sockaddr, size: *mut socklen_t) -> ssize_t;
    recvmsg(socket: c_int, message: *mut msghdr, flags: c_int) -> ssize_t;
    recvmmsg(socket: c_int, messages: *mut mmsghdr, count: u32, flags: c_int, time: *mut timespec) -> c_int;
    send(socket: c_int, from: *const c_void, length: size_t, flags: c_int) -> ssize_t;
    sendto(socket: c_int, from: *const c_void, length: size_t, flags: c_int, address: *const sockaddr, size: socklen_t) -> ssize_t;
    sendmsg(socket: c_int, message: *const msghdr, flags: c_int) -> ssize_t;
    read(descriptor: c_int, to: *mut c_void, length: size_t) -> ssize_t, if waits(descriptor);
    readv(descriptor: c_int, to: *const iovec, count: c_int) -> ssize_t, if waits(descriptor);
    write(descriptor: c_int, from: *const c_void, length: size_t) -> ssize_t, if waits_to_write(descriptor);
    writev(descriptor: c_int, from: *const iovec, count: c_int) -> ssize_t, if waits_to_write(descriptor);
    splice(from: c_int, from_at: *mut off_t, to: c_int, to_at: *mut off_t, length: size_t, flags: u32) -> ssize_t;
    wait(status: *mut c_int) -> pid_t;
    waitpid(process: pid_t, status: *mut c_int, options: c_int) -> pid_t, if options & libc::WNOHANG == 0;
    wait3(status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> pid_t;
    wait4(process: pid_t, status: *mut c_int, options: c_int, usage: *mut libc::rusage) -> pid_t;
    waitid(kind: libc::idtype_t, id: libc::id_t, info: *mut siginfo_t, options: c_int) -> c_int;
    system(command: *const c_char) -> c_int;
    pclose(stream: *mut libc::FILE) -> c_int;
    pause() -> c_int;
    sigsuspend(mask: *const sigset_t) -> c_int;
    sigwait(set: *const sigset_t, signal: *mut c_int) -> c_int;
    sigwaitinfo(set: *const sigset_t, info: *mut siginfo_t) -> c_int;
    sigtimedwait(set: *const sigset_t, info: *mut siginfo_t, time: *const timespec) -> c_int;
    flock(descriptor: c_int, operation: c_int) -> c_int, if operation & libc::LOCK_NB == 0;
    lockf(descriptor: c_int, command: c_int, length: off_t) -> c_int, if command == libc::F_LOCK;
    msgrcv(queue: c_int, message: *mut c_void, size: size_t, kind: libc::c_long, flags: c_int) -> ssize_t;
    msgsnd(queue: c_int, message: *const c_void, size: size_t, flags: c_int) -> c_int;
    semop(set: c_int, operations: *mut c_void, count: size_t) -> c_int;
    getaddrinfo(name: *const c_char, service: *const c_char, hints: *const libc::addrinfo, found: *mut *mut libc::addrinfo) -> c_int;
}
