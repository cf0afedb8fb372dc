//! Clocks, deadlines and sleeps in virtual time, for everything that has a time limit. See [`crate::run::times`] for how virtual
//! time moves.

use crate::{
    core::trampoline::Frame,
    run::{
        accesses, call_sites,
        hidden_objects::Hidden,
        operations::visible,
        perform::perform_timed,
        spin,
        world::{self, Done, poll},
    },
};
use core::ffi::c_long;
use libc::{clockid_t, time_t, timespec};
use reweave_conduct::LOOK;
use reweave_model::{Gate, Op, Order, Site};

/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;

/// Nanoseconds of a microsecond.
pub const MICROSECOND: u64 = 1000;

/// Where the clocks are when a run begins: 2026 began, and the machine had run for a while.
pub const CALENDAR: u64 = 1_767_225_600 * SECOND;
const MONOTONIC: u64 = 1000 * SECOND;

/// What a clock shows at the beginning of a run; `None`: there is no such clock.
pub fn beginning(clock: clockid_t) -> Option<u64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(CALENDAR),
        libc::CLOCK_MONOTONIC
        | libc::CLOCK_MONOTONIC_RAW
        | libc::CLOCK_MONOTONIC_COARSE
        | libc::CLOCK_BOOTTIME => Some(MONOTONIC),
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => Some(0),
        _ => None,
    }
}

/// What a clock counts.
pub fn unit_ns(clock: clockid_t) -> u64 {
    match clock {
        libc::CLOCK_REALTIME_COARSE | libc::CLOCK_MONOTONIC_COARSE => 4_000_000,
        _ => 1,
    }
}

/// Nanoseconds as seconds and the rest.
pub fn to_timespec(ns: u64) -> timespec {
    timespec {
        tv_sec: (ns / SECOND) as time_t,
        tv_nsec: (ns % SECOND) as c_long,
    }
}

/// Nanoseconds; those before 1970 are 0. `None`: it is no time.
pub fn to_ns(time: &timespec) -> Option<u64> {
    if !(0..SECOND as c_long).contains(&time.tv_nsec) {
        return None;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Some(
        seconds
            .saturating_mul(SECOND)
            .saturating_add(time.tv_nsec as u64),
    )
}

/// A time that the program gives a call.
///
/// # Safety
///
/// `time` points to a `timespec`, which is not changed for as long as the result is used.
pub unsafe fn read<'a>(time: *const timespec, frame: Option<&Frame>) -> &'a timespec {
    if let Some(frame) = frame {
        let from = frame.return_address;
        accesses::argument(time as usize, size_of::<timespec>(), false, from);
    }
    // SAFETY: `time` points to a `timespec` that stays as it is, by this function's contract.
    unsafe { &*time }
}

/// When something times out.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    /// In nanoseconds since the beginning of the run.
    ns: u64,
    /// Of the call that has the time limit, where the registers at the call are known.
    frame: Option<&'a Frame>,
}

impl<'a> Deadline<'a> {
    /// By a clock that a thread can wait for. `None`: there is no such clock, or it is no time.
    ///
    /// # Safety
    ///
    /// If the clock is one of those, `time` points to a `timespec`.
    pub unsafe fn new(
        clock: clockid_t,
        time: *const timespec,
        frame: Option<&'a Frame>,
    ) -> Option<Deadline<'a>> {
        if !matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_MONOTONIC) {
            return None;
        }
        // SAFETY: `time` points to a `timespec`, by this function's contract.
        let time = to_ns(unsafe { read(time, frame) })?;
        let ns = time.saturating_sub(beginning(clock)?);
        Some(Deadline { ns, frame })
    }

    /// So long from now.
    ///
    /// # Safety
    ///
    /// `time` points to a `timespec`.
    pub unsafe fn after(time: *const timespec, frame: Option<&'a Frame>) -> Option<Deadline<'a>> {
        // SAFETY: `time` points to a `timespec`, by this function's contract.
        let time = to_ns(unsafe { read(time, frame) })?;
        Some(Deadline::within(time, frame))
    }

    /// So many nanoseconds from now.
    pub fn within(ns: u64, frame: Option<&'a Frame>) -> Deadline<'a> {
        let now = world::borrow().time_ns();
        let ns = now.saturating_add(ns);
        Deadline { ns, frame }
    }

    /// The running thread has waited until then.
    pub fn reached(self) {
        world::borrow().advance_to(self.ns);
    }
}

/// The gate of an operation of the running thread that may time out and is known by `key`. It is performed next.
pub fn gate(key: Op, until: Deadline<'_>, site: Site) -> Gate {
    let repeats = spin::repeats(key, site, until.frame);
    world::borrow().timed_gate(key, site, repeats)
}

/// An operation that may time out: it does when it goes before what it waits for.
pub fn perform_until(op: Op, until: Deadline<'_>, site: Site) -> Done {
    perform_gated(op, op, gate(op, until, site), until, site)
}

/// As [`perform_until`], when [`gate`] was asked already.
pub fn perform_gated(op: Op, key: Op, gate: Gate, until: Deadline<'_>, site: Site) -> Done {
    let done = perform_timed(op, key, gate, site);
    world::borrow().timed(key, site, done.ok);
    if !done.ok {
        until.reached();
    }
    done
}

/// The running thread looks at the clock: its time in nanoseconds since the beginning of the run. All looks are ordered, as a program can
/// see which was the first. Of the time it sees full units.
pub fn look(unit_ns: u64, frame: &Frame) -> u64 {
    let site = call_sites::site(&frame.return_address);
    let clock = Hidden::Clock.object();
    let acted = world::borrow().me().acted;
    visible(Op::Rmw(clock, LOOK), site);
    let mut world = world::borrow();
    // To look changes nothing.
    world.me().acted = acted;
    if unit_ns > MICROSECOND {
        let me = world.current;
        world.run.look_at_coarse_clock(me);
    }
    world.look_at_clock()
}

/// Sleeps in a row after which the other threads get their turn.
const SLEEPS: u32 = 1000;

/// The running thread sleeps so long. That is no operation: no other thread waits for it. A thread that does nothing but sleep
/// loads, from some time on, something that never changes: if it does so for ever it is found to be a loop that waits
/// ([`crate::run::spin`]), and the others go on.
pub fn sleep(ns: u64, frame: &Frame) {
    let acted = {
        let mut world = world::borrow();
        let me = world.current;
        if ns > 0 && world.detail {
            let site = call_sites::site(&frame.return_address);
            world.watch_sleep(site);
        }
        world.advance(ns);
        if world.run.pause(me) < SLEEPS {
            return;
        }
        world.me().acted
    };
    let site = call_sites::site(&frame.return_address);
    let nothing = Op::Load(Hidden::Nothing.object());
    poll(nothing, frame, site, Order::SeqCst, None);
    let mut world = world::borrow();
    // The load is nothing that the program did.
    world.me().acted = acted;
    let me = world.current;
    world.run.keep_pausing(me);
}
