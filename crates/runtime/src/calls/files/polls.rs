//! `poll` and `select`: see [`crate::kernel::readiness`].

use crate::{
    core::trampoline::Frame,
    kernel::readiness::{self, Awaiting, Patience, Pollable, wait_for},
    outside_run, real,
    run::{accesses, call_sites, cancellation, operations::failed, world},
    shared::{
        deadlines::{self, Deadline, SECOND},
        injected_faults,
    },
    trampoline,
};
use alloc::vec::Vec;
use core::ffi::{c_int, c_short};
use libc::{
    POLLERR, POLLHUP, POLLIN, POLLOUT, fd_set, nfds_t, pollfd, sigset_t, timespec, timeval,
};

trampoline! {
    poll => wait_for_some, "rcx";
    __poll => wait_for_some, "rcx";
    __poll_chk => wait_for_some_checked, "r8";
    ppoll => wait_for_some_exactly, "r8";
    __ppoll_chk => wait_for_some_exactly_checked, "r9";
    select => wait_for_sets, "r9";
    __select => wait_for_sets, "r9";
}

/// Waits no longer than so many nanoseconds; `None`: for ever.
pub(crate) fn patience(ns: Option<u64>, frame: &Frame) -> Patience<'_> {
    let Some(ns) = ns else {
        return Patience::Endless;
    };
    if ns == 0 {
        return Patience::None;
    }
    Patience::Until(Deadline::within(ns, Some(frame)))
}

/// The time limit of `poll`.
pub(crate) fn milliseconds(limit: c_int) -> Option<u64> {
    u64::try_from(limit).ok().map(|limit| limit * 1_000_000)
}

/// Sleeps for so long: no descriptor is waited for. A cancellation point.
fn sleep(ns: u64, frame: &Frame) -> c_int {
    cancellation::point(frame);
    deadlines::sleep(ns, frame);
    0
}

/// `poll`.
///
/// # Safety
///
/// As POSIX demands of the caller: `list` points to `count` entries.
unsafe extern "C" fn wait_for_some(
    list: *mut pollfd,
    count: nfds_t,
    limit: c_int,
    frame: &Frame,
) -> c_int {
    outside_run!(poll: fn(list: *mut pollfd, count: nfds_t, limit: c_int) -> c_int);
    // SAFETY: the entries are there, as the caller promises.
    unsafe { polled((list, count as usize), milliseconds(limit), "poll", frame) }
}

/// `__poll_chk`.
///
/// # Safety
///
/// As [`wait_for_some`].
unsafe extern "C" fn wait_for_some_checked(
    list: *mut pollfd,
    count: nfds_t,
    limit: c_int,
    _: usize,
    frame: &Frame,
) -> c_int {
    // SAFETY: the caller's promise is the same.
    unsafe { wait_for_some(list, count, limit, frame) }
}

/// `ppoll`.
///
/// # Safety
///
/// As Linux demands of the caller: `list` points to `count` entries, `time` and `mask` are null or point to a time and to a set.
unsafe extern "C" fn wait_for_some_exactly(
    list: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
    frame: &Frame,
) -> c_int {
    outside_run!(ppoll: fn(list: *mut pollfd, count: nfds_t, time: *const timespec, mask: *const sigset_t) -> c_int);
    if !mask.is_null() {
        let site = call_sites::site(&frame.return_address);
        world::unsupported("ppoll with a mask", site);
    }
    let mut limit = None;
    if !time.is_null() {
        // SAFETY: not null, so it points to a time, as the caller promises.
        limit = deadlines::to_ns(unsafe { deadlines::read(time, Some(frame)) });
        if limit.is_none() {
            return failed(libc::EINVAL);
        }
    }
    // SAFETY: the entries are there, as the caller promises.
    unsafe { polled((list, count as usize), limit, "ppoll", frame) }
}

/// `__ppoll_chk`.
///
/// # Safety
///
/// As [`wait_for_some_exactly`].
unsafe extern "C" fn wait_for_some_exactly_checked(
    list: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
    room: usize,
    frame: &Frame,
) -> c_int {
    let real = real!(__ppoll_chk: fn(*mut pollfd, nfds_t, *const timespec, *const sigset_t, usize) -> c_int);
    // SAFETY: passed on unchanged; if the entries fit, the caller's promise is the one that `ppoll` needs.
    unsafe {
        match count as usize > room / size_of::<pollfd>() {
            true => real(list, count, time, mask, room),
            false => wait_for_some_exactly(list, count, time, mask, frame),
        }
    }
}

/// What both calls do.
///
/// # Safety
///
/// So many entries lie there.
unsafe fn polled(
    (list, count): (*mut pollfd, usize),
    limit: Option<u64>,
    call: &str,
    frame: &Frame,
) -> c_int {
    if let (0, Some(ns)) = (count, limit) {
        return sleep(ns, frame);
    }
    let bytes = count * size_of::<pollfd>();
    accesses::range(list as usize, bytes, false, frame);
    world::snapshot().touch_range(list as usize, bytes);
    // SAFETY: the entries are there, as the caller promises.
    let mut entries: Vec<pollfd> = (0..count)
        .map(|at| unsafe { list.add(at).read() })
        .collect();
    let site = call_sites::site(&frame.return_address);
    if limit != Some(0) && injected_faults::interrupts(site) {
        return failed(libc::EINTR);
    }
    let _awaiting = Awaiting::new(entries.iter().map(|entry| entry.fd));
    let asked: Vec<Option<Pollable>> = entries
        .iter()
        .map(|entry| (entry.fd >= 0).then(|| readiness::look_up(entry.fd, call, site)))
        .collect();
    let mut ready = 0;
    wait_for(patience(limit, frame), call, frame, |looks| {
        ready = 0;
        for (entry, asked) in entries.iter_mut().zip(&asked) {
            entry.revents = asked.map_or(0, |asked| looks.events(asked, entry.events));
            ready += c_int::from(entry.revents != 0);
        }
        ready > 0
    });
    for (at, entry) in entries.iter().enumerate() {
        // SAFETY: the entry is there, as the caller promises.
        let revents = unsafe { &raw mut (*list.add(at)).revents };
        accesses::range(revents as usize, size_of::<c_short>(), true, frame);
        // SAFETY: the entry is there, as the caller promises, and this field of it is not borrowed.
        unsafe { revents.write(entry.revents) };
    }
    ready
}

/// `select`.
///
/// # Safety
///
/// As POSIX demands of the caller: the sets and `time` are null or point to sets and to a time.
unsafe extern "C" fn wait_for_sets(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
    frame: &Frame,
) -> c_int {
    outside_run!(select: fn(count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set, time: *mut timeval) -> c_int);
    let mut limit = None;
    if !time.is_null() {
        accesses::range(time as usize, size_of::<timeval>(), false, frame);
        // SAFETY: not null, so it points to a time, as the caller promises.
        let time = unsafe { &*time };
        let (Ok(seconds), Ok(rest)) = (u64::try_from(time.tv_sec), u64::try_from(time.tv_usec))
        else {
            return failed(libc::EINVAL);
        };
        limit = Some(seconds.saturating_mul(SECOND).saturating_add(rest * 1000));
    }
    if !(0..=libc::FD_SETSIZE as c_int).contains(&count) {
        return failed(libc::EINVAL);
    }
    // SAFETY: the sets are there, as the caller promises.
    unsafe { selected([read, write, except], count, limit, frame) }
}

/// A descriptor in some of the sets.
struct Selected {
    number: c_int,
    /// In which it is.
    asked: [bool; 3],
    pollable: Pollable,
    found: [bool; 3],
}

/// In which sets a descriptor is.
fn asked(sets: &[*mut fd_set; 3], number: c_int) -> [bool; 3] {
    sets.map(|set| {
        // SAFETY: not null, so a set lies there, as the caller of `select` promises; it has room for this number.
        !set.is_null() && unsafe { libc::FD_ISSET(number, set) }
    })
}

fn is_asked(sets: &[*mut fd_set; 3], number: c_int) -> bool {
    asked(sets, number) != [false; 3]
}

/// # Safety
///
/// The sets are null or lie there.
unsafe fn selected(
    sets: [*mut fd_set; 3],
    count: c_int,
    limit: Option<u64>,
    frame: &Frame,
) -> c_int {
    let nothing = count == 0 || sets.iter().all(|set| set.is_null());
    if let (true, Some(ns)) = (nothing, limit) {
        return sleep(ns, frame);
    }
    let bytes = (count as usize).div_ceil(64) * 8;
    for set in sets.into_iter().filter(|set| !set.is_null()) {
        accesses::range(set as usize, bytes, false, frame);
        world::snapshot().touch_range(set as usize, bytes);
    }
    let site = call_sites::site(&frame.return_address);
    let _awaiting = Awaiting::new((0..count).filter(|number| is_asked(&sets, *number)));
    let mut all = Vec::new();
    for number in 0..count {
        let asked = asked(&sets, number);
        if asked != [false; 3] {
            let pollable = readiness::look_up(number, "select", site);
            if matches!(pollable, Pollable::Closed) {
                return failed(libc::EBADF);
            }
            all.push(Selected {
                number,
                asked,
                pollable,
                found: [false; 3],
            });
        }
    }
    let mut ready = 0;
    wait_for(patience(limit, frame), "select", frame, |looks| {
        ready = 0;
        for one in &mut all {
            let wanted = [POLLIN, POLLOUT, 0];
            let wanted = wanted.into_iter().zip(one.asked);
            let wanted = wanted.fold(0, |sum, (event, asked)| sum | if asked { event } else { 0 });
            let events = looks.events(one.pollable, wanted);
            let counts = [POLLIN | POLLHUP | POLLERR, POLLOUT | POLLERR, 0];
            for ((found, asked), counts) in one.found.iter_mut().zip(one.asked).zip(counts) {
                *found = asked && events & counts != 0;
                ready += c_int::from(*found);
            }
        }
        ready > 0
    });
    for (place, set) in sets
        .into_iter()
        .enumerate()
        .filter(|(_, set)| !set.is_null())
    {
        accesses::range(set as usize, bytes, true, frame);
        for one in all
            .iter()
            .filter(|one| one.asked[place] && !one.found[place])
        {
            // SAFETY: not null, so a set lies there, as the caller promises; it has room for this number.
            unsafe { libc::FD_CLR(one.number, set) };
        }
    }
    ready
}
