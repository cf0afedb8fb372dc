//! Turns: a thread synchronises when it is its turn, and waits here when it has to wait for another thread.
//!
//! *Decides:* when a thread goes on. *Called by:* everything in `calls`. *Owns:* the rotation and the schedule, behind one lock, and a word
//! for each thread on which it sleeps. *Invariants:* bodies of steps run under the lock and never wait; the program's allocator is not
//! called under the lock, because it may synchronise too.
//!
//! A thread that has the turn keeps it while it computes, so a step is usually a lock, a look and an unlock.

use crate::{
    clock::{futex_wait, futex_wake, now, sleep},
    messages::{give_up, warn},
    rotation::{Member, Rotation, THREADS, Woken},
    schedule::{self, Departure, Op, Schedule},
};
use core::{
    cell::{Cell, UnsafeCell},
    ffi::CStr,
    sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering},
    time::Duration,
};

/// What a body of a step says.
pub enum Step<R> {
    /// The step is done, with this result.
    Done(R),
    /// The thread waits for a wake-up of this object, and the body is called again in its next turn.
    Wait(usize, Option<Deadline>),
}

/// The end of a timed wait: by turns, so that it is the same each time, and by the clock, so that it is not too early.
#[derive(Clone, Copy)]
pub struct Deadline {
    turn: u64,
    at: Duration,
}

/// What a body may do in its turn.
pub struct Turn<'a> {
    rotation: &'a mut Rotation,
    outside: &'a mut u32,
    me: Member,
    woken: Option<Woken>,
}

struct Global {
    lock: AtomicU32,
    state: UnsafeCell<Scheduler>,
    words: [AtomicU32; THREADS + 1],
    /// Objects that signal handlers posted while their thread was in here.
    pending: [AtomicUsize; 64],
}

struct Scheduler {
    rotation: Rotation,
    schedule: Schedule,
    /// Threads that are outside.
    outside: u32,
    /// Steps since the turn was passed on.
    kept: u32,
}

// SAFETY: the state is only reached through `Guard`, which holds the lock.
unsafe impl Sync for Global {}

static GLOBAL: Global = Global {
    lock: AtomicU32::new(0),
    state: UnsafeCell::new(Scheduler {
        rotation: Rotation::new(),
        schedule: Schedule::new(),
        outside: 0,
        kept: 0,
    }),
    words: [const { AtomicU32::new(0) }; THREADS + 1],
    pending: [const { AtomicUsize::new(0) }; 64],
};

// A thread's word.
const AWAKE: u32 = 0;
const SPINS: u32 = 1;
const SLEEPS: u32 = 2;

/// How often a thread looks at its word before it sleeps: some microseconds, less than a switch takes.
const LOOKS: u32 = 200;

/// So many steps end a turn, whatever they are: a thread that only signals would keep it for ever.
const MOST_KEPT: u32 = 8;

/// A thread that waits so long for a turn says what it waits for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The length of a turn, where times are counted in turns.
const TURN: Duration = Duration::from_micros(1);

thread_local! {
    static ME: Cell<u16> = const { Cell::new(0) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    static SECTIONS: Cell<u32> = const { Cell::new(0) };
}

struct Guard;

impl Guard {
    fn lock() -> Guard {
        let word = &GLOBAL.lock;
        if word
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            for _ in 0..100 {
                core::hint::spin_loop();
                if word
                    .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
                {
                    return Guard;
                }
            }
            while word.swap(2, Ordering::Acquire) != 0 {
                futex_wait(word, 2, None);
            }
        }
        Guard
    }

    #[allow(
        clippy::mut_from_ref,
        reason = "there is one guard at a time, and it hands out one borrow at a time"
    )]
    fn state(&mut self) -> &mut Scheduler {
        // SAFETY: the lock is held by this guard, and the borrow lives no longer than the borrow of the guard.
        unsafe { &mut *GLOBAL.state.get() }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if GLOBAL.lock.swap(0, Ordering::Release) == 2 {
            futex_wake(&GLOBAL.lock);
        }
    }
}

/// Whether calls of this thread are scheduled. They are not inside of a step: an allocator or a signal handler that synchronises there gets
/// libc's own functions.
pub fn active() -> bool {
    !INSIDE.get()
}

/// Does a step of the calling thread when it is its turn. The body is called under the lock; what it does must not wait.
pub fn synchronise<R>(op: Op, mut body: impl FnMut(&mut Turn<'_>) -> Step<R>) -> R {
    let mut guard = enter();
    let mut woken = None;
    loop {
        let me = me(&mut guard);
        guard = wait_for_turn(guard, me, op);
        let state = guard.state();
        match body(&mut Turn {
            woken,
            ..Turn::of(state, me)
        }) {
            Step::Done(result) => {
                pass(state, me, op);
                leave(guard);
                return result;
            }
            Step::Wait(key, deadline) => {
                state
                    .rotation
                    .block(me, key, deadline.map(|deadline| deadline.turn));
                kick(state);
                guard = wait_for_wake_up(guard, me);
                let why = guard.state().rotation.woken(me);
                if let (Woken::TimedOut, Some(deadline)) = (why, deadline) {
                    // Turns went faster than the clock. Nobody else goes on earlier for it: the turn is what others wait for.
                    let early = deadline.at.saturating_sub(now());
                    if !early.is_zero() {
                        drop(guard);
                        sleep(early);
                        guard = Guard::lock();
                    }
                }
                woken = Some(why);
            }
        }
    }
}

/// Holds the turn during something that may take long or allocate, as `pthread_create`.
pub fn hold<T, R>(
    op: Op,
    before: impl FnOnce(&mut Turn<'_>) -> T,
    body: impl FnOnce(T) -> R,
    after: impl FnOnce(&mut Turn<'_>, &R),
) -> R {
    let mut guard = enter();
    let caller = me(&mut guard);
    guard = wait_for_turn(guard, caller, op);
    let prepared = before(&mut Turn::of(guard.state(), caller));
    drop(guard);
    let result = body(prepared);
    let mut guard = Guard::lock();
    // After a fork the caller has another number.
    let caller = me(&mut guard);
    let state = guard.state();
    after(&mut Turn::of(state, caller), &result);
    pass(state, caller, op);
    leave(guard);
    result
}

/// Runs something that waits for the world outside of the process. Other threads take their turns meanwhile.
pub fn outside<R>(body: impl FnOnce() -> R) -> R {
    if SECTIONS.get() > 0 {
        return body();
    }
    step_out(Op::Leave);
    let result = body();
    // The caller looks at errno.
    // SAFETY: errno is a variable of this thread, which is always there.
    let errno = unsafe { *libc::__errno_location() };
    step_in(Op::Rejoin);
    // SAFETY: as for the call before, the caller keeps the library's conditions.
    unsafe { *libc::__errno_location() = errno };
    result
}

/// Takes the calling thread out of the rotation, when it is its turn.
pub fn step_out(op: Op) {
    let mut guard = enter();
    let me = me(&mut guard);
    guard = wait_for_turn(guard, me, op);
    let state = guard.state();
    if state.rotation.runs(me) {
        state.rotation.leave(me);
        state.outside += 1;
    }
    kick(state);
    leave(guard);
}

/// Puts it back.
pub fn step_in(op: Op) {
    let mut guard = enter();
    let me = me(&mut guard);
    if guard.state().schedule.follows() {
        guard = wait_for_turn(guard, me, op);
    } else {
        depart(guard.state(), me, op);
    }
    let state = guard.state();
    if state.rotation.outside(me) {
        state.rotation.rejoin(me);
        state.outside -= 1;
    }
    kick(state);
    leave(guard);
}

/// Begins a section: until its end the thread's steps are done as soon as they can be.
pub fn enter_section() {
    if SECTIONS.replace(SECTIONS.get() + 1) == 0 {
        step_out(Op::Enter);
    }
}

/// Ends a section.
pub fn exit_section() {
    match SECTIONS.get() {
        0 => {}
        1 => {
            SECTIONS.set(0);
            step_in(Op::Exit);
        }
        more => SECTIONS.set(more - 1),
    }
}

impl<'a> Turn<'a> {
    fn of(state: &'a mut Scheduler, me: Member) -> Turn<'a> {
        Turn {
            rotation: &mut state.rotation,
            outside: &mut state.outside,
            me,
            woken: None,
        }
    }

    /// Why the wait before this call of the body ended; `None` in its first call.
    pub fn woken(&self) -> Option<Woken> {
        self.woken
    }

    /// Wakes the thread that has waited longest for an object.
    pub fn wake_one(&mut self, key: usize) -> Option<Member> {
        let woken = self.rotation.wake_one(key)?;
        self.rouse(woken);
        Some(woken)
    }

    /// Wakes all threads that wait for an object.
    pub fn wake_all(&mut self, key: usize) -> u32 {
        let mut woken = 0;
        while self.wake_one(key).is_some() {
            woken += 1;
        }
        woken
    }

    /// Cancels a thread's wait, if it waits.
    pub fn cancel(&mut self, member: Member) {
        if self.rotation.waits(member) {
            self.rotation.wake(member, Woken::Cancelled);
            self.rouse(member);
        }
    }

    /// The end of a wait that may take so long.
    pub fn deadline(&self, wait: Duration) -> Deadline {
        let turns = wait.as_nanos() / TURN.as_nanos();
        Deadline {
            turn: self
                .rotation
                .turns()
                .saturating_add(u64::try_from(turns).unwrap_or(u64::MAX))
                .saturating_add(1),
            at: now().saturating_add(wait),
        }
    }

    /// The end of a wait that takes so many turns at most.
    pub fn deadline_in_turns(&self, turns: u64) -> Deadline {
        Deadline {
            turn: self
                .rotation
                .turns()
                .saturating_add(turns)
                .saturating_add(1),
            at: Duration::ZERO,
        }
    }

    /// The calling thread.
    pub fn me(&self) -> Member {
        self.me
    }

    /// Adds a thread. `None` if there are too many.
    pub fn join(&mut self) -> Option<Member> {
        self.rotation.join()
    }

    /// Takes a thread out of the rotation; it may be the calling one.
    pub fn leave(&mut self, member: Member) {
        if self.rotation.runs(member) {
            self.rotation.leave(member);
            *self.outside += 1;
        }
    }

    /// Puts a thread back that is out of it.
    pub fn rejoin(&mut self, member: Member) {
        if self.rotation.outside(member) {
            self.rotation.rejoin(member);
            *self.outside -= 1;
        }
    }

    /// Takes back a thread that was added and never ran.
    pub fn discard(&mut self, member: Member) {
        self.rotation.end(member);
        self.rotation.free(member);
    }

    /// Whether a thread is at its end.
    pub fn ended(&self, member: Member) -> bool {
        self.rotation.ended(member)
    }

    /// Forgets a thread that has ended.
    pub fn free(&mut self, member: Member) {
        self.rotation.free(member);
    }

    /// A thread that was woken outside of the ring gets no turn, so it is woken here.
    fn rouse(&self, member: Member) {
        if self.rotation.outside(member) {
            awake(member);
        }
    }
}

/// The calling thread is at its end.
pub fn end(key: impl FnOnce(Member) -> usize) {
    let mut guard = enter();
    let me = me(&mut guard);
    if guard.state().rotation.outside(me) {
        // A thread of OpenMP's pool ends when the library likes. Its number is not given again, or other numbers would depend on that.
        guard.state().outside -= 1;
        guard.state().rotation.end(me);
        return;
    }
    guard = wait_for_turn(guard, me, Op::End);
    let state = guard.state();
    state.rotation.end(me);
    Turn::of(state, me).wake_all(key(me));
    if DETACHED[me.number() as usize].load(Ordering::Relaxed) {
        state.rotation.free(me);
    }
    kick(state);
    // The thread stays inside: what it still does is the thread library's.
    drop(guard);
}

/// Threads that nobody joins.
pub static DETACHED: [AtomicBool; THREADS + 1] = [const { AtomicBool::new(false) }; THREADS + 1];

/// Makes the calling thread this member.
pub fn become_member(member: Member) {
    ME.set(member.number());
}

/// The calling thread's number, 0 if it was never seen.
pub fn number() -> u16 {
    ME.get()
}

/// A semaphore or futex was posted while the thread was in here (by a signal handler): its waiters are woken as soon as the lock is free.
pub fn post_later(key: usize) {
    for pending in &GLOBAL.pending {
        if pending
            .compare_exchange(0, key, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
        {
            return;
        }
    }
}

/// Reads what the command wants, and begins with the first thread.
pub fn begin() {
    let mut guard = enter();
    me(&mut guard);
    let state = guard.state();
    let number = schedule::variable(c"REWEAVE_RUN_PROCESSES").map_or(0, schedule::process_number);
    let mut begun = |name, begin: fn(&mut Schedule, &CStr) -> bool, problem| {
        let Some(path) = schedule::variable(name) else {
            return;
        };
        let mut room = [0; 4096];
        let begun = schedule::path_of(path, number, &mut room)
            .is_some_and(|path| begin(&mut state.schedule, path));
        if !begun {
            give_up(format_args!(
                "{}: {problem}",
                path.to_str().unwrap_or("the schedule")
            ));
        }
    };
    begun(
        c"REWEAVE_RUN_RECORD",
        Schedule::record,
        "the order of this process cannot be written",
    );
    begun(
        c"REWEAVE_RUN_FOLLOW",
        Schedule::follow,
        "there is no order for this process",
    );
    leave(guard);
}

/// The process ends.
pub fn finish() {
    if active() {
        let mut guard = enter();
        guard.state().schedule.finish();
        leave(guard);
    }
}

/// Before a fork: nothing is under way.
pub extern "C" fn before_fork() {
    core::mem::forget(Guard::lock());
}

/// In the parent.
pub extern "C" fn after_fork() {
    drop(Guard);
}

/// In the child: the calling thread is the only one, with a file of its own.
pub extern "C" fn in_child() {
    GLOBAL.lock.store(1, Ordering::Relaxed);
    let mut guard = Guard;
    let state = guard.state();
    state.schedule.forget();
    state.outside = 0;
    state.rotation.clear();
    for word in &GLOBAL.words {
        word.store(AWAKE, Ordering::Relaxed);
    }
    ME.set(0);
    me(&mut guard);
    drop(guard);
    let inside = INSIDE.get();
    begin();
    // A child of `hold` is still in there.
    INSIDE.set(inside);
}

fn enter() -> Guard {
    INSIDE.set(true);
    let mut guard = Guard::lock();
    drain(guard.state());
    guard
}

fn leave(guard: Guard) {
    drop(guard);
    INSIDE.set(false);
    if GLOBAL.pending[0].load(Ordering::Relaxed) != 0 {
        leave(enter());
    }
}

fn drain(state: &mut Scheduler) {
    if GLOBAL.pending[0].load(Ordering::Relaxed) == 0 {
        return;
    }
    for pending in GLOBAL.pending.iter().rev() {
        let key = pending.swap(0, Ordering::AcqRel);
        let woken = if key == 0 {
            None
        } else {
            state.rotation.wake_one(key)
        };
        if let Some(woken) = woken {
            awake(woken);
        }
    }
    kick(state);
}

/// The calling thread; one that the thread library made without us is added when it is first seen.
fn me(guard: &mut Guard) -> Member {
    match ME.get() {
        0 => {
            let Some(me) = guard.state().rotation.join() else {
                give_up(format_args!("more than {THREADS} threads"));
            };
            ME.set(me.number());
            me
        }
        number => Member::of(number),
    }
}

fn pass(state: &mut Scheduler, me: Member, op: Op) {
    if state.rotation.runs(me) {
        state.kept += 1;
        if op.keeps() && state.kept < MOST_KEPT {
            return;
        }
        state.rotation.pass();
    }
    state.kept = 0;
    kick(state);
}

/// Wakes the thread that goes on next.
fn kick(state: &mut Scheduler) {
    if state.schedule.follows() {
        // Timeouts are in the file, too.
        while let Some((member, Op::TimedOut)) = state.schedule.next() {
            if !state.rotation.waits(member) {
                break;
            }
            depart(state, member, Op::TimedOut);
            state.rotation.wake(member, Woken::TimedOut);
        }
        if let Some((member, _)) = state.schedule.next() {
            return awake(member);
        }
    }
    while let Some(late) = state.rotation.overdue() {
        depart(state, late, Op::TimedOut);
        state.rotation.wake(late, Woken::TimedOut);
        awake(late);
    }
    let next = state
        .rotation
        .holder()
        .or_else(|| state.rotation.next_timeout());
    match next {
        Some(next) => awake(next),
        None if state.outside == 0 && state.rotation.any_waits() => warn(format_args!(
            "all threads wait for each other; the program does not go on"
        )),
        None => {}
    }
}

/// Whether it is a thread's turn.
fn may_go(state: &Scheduler, me: Member) -> bool {
    match state.schedule.next() {
        Some((next, _)) if state.schedule.follows() => next == me,
        _ => state.rotation.outside(me) || state.rotation.holder() == Some(me),
    }
}

/// Waits for the turn, and notes the step.
fn wait_for_turn(mut guard: Guard, me: Member, op: Op) -> Guard {
    while !may_go(guard.state(), me) {
        guard = pause(guard, me, None);
    }
    depart(guard.state(), me, op);
    guard
}

fn wait_for_wake_up(mut guard: Guard, me: Member) -> Guard {
    loop {
        let state = guard.state();
        if !state.rotation.waits(me) {
            return guard;
        }
        let mut left = None;
        if state.rotation.next_timeout() == Some(me) && !state.schedule.follows() {
            // Nothing runs, so only time ends this.
            let early = state
                .rotation
                .deadline_of(me)
                .saturating_sub(state.rotation.turns());
            let early = TURN.saturating_mul(u32::try_from(early).unwrap_or(u32::MAX));
            if early.is_zero() || IDLE_SINCE.get().is_some_and(|since| now() >= since + early) {
                state.rotation.skip_to(me);
                kick(state);
                IDLE_SINCE.set(None);
                continue;
            }
            let since = IDLE_SINCE.get().unwrap_or_else(now);
            IDLE_SINCE.set(Some(since));
            left = Some((since + early).saturating_sub(now()));
        } else {
            IDLE_SINCE.set(None);
        }
        guard = pause(guard, me, left);
    }
}

thread_local! {
    /// Since when this thread's timeout is all that the process waits for.
    static IDLE_SINCE: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Sleeps until another thread wakes this one, or until the time is over.
fn pause(mut guard: Guard, me: Member, time: Option<Duration>) -> Guard {
    let word = &GLOBAL.words[me.number() as usize];
    word.store(SPINS, Ordering::Relaxed);
    let (turns, waits) = (
        guard.state().rotation.turns(),
        guard.state().rotation.waits(me),
    );
    drop(guard);
    for _ in 0..LOOKS {
        if word.load(Ordering::Acquire) != SPINS {
            return Guard::lock();
        }
        core::hint::spin_loop();
    }
    if word
        .compare_exchange(SPINS, SLEEPS, Ordering::AcqRel, Ordering::Acquire)
        .is_ok()
    {
        futex_wait(word, SLEEPS, Some(time.unwrap_or(PATIENCE)));
    }
    let mut guard = Guard::lock();
    let state = guard.state();
    if time.is_none()
        && !waits
        && word.load(Ordering::Relaxed) == SLEEPS
        && state.rotation.turns() == turns
    {
        impatient(state, me);
    }
    drain(state);
    guard
}

/// A thread has waited long for its turn.
#[cold]
fn impatient(state: &Scheduler, me: Member) {
    match (state.schedule.next(), state.rotation.holder()) {
        (Some((next, op)), _) if state.schedule.follows() => warn(format_args!(
            "thread {} should {} next by the schedule, and has not come to it for {} s",
            next.number(),
            op.text(),
            PATIENCE.as_secs()
        )),
        (_, Some(holder)) if holder != me => warn(format_args!(
            "thread {} has had the turn for {} s without synchronising; if it waits for another thread by looking at memory, it needs \
             sched_yield() in its loop, or reweave_section_enter()",
            holder.number(),
            PATIENCE.as_secs()
        )),
        _ => {}
    }
}

/// Wakes a thread that sleeps on its word.
fn awake(member: Member) {
    let word = &GLOBAL.words[member.number() as usize];
    if word.swap(AWAKE, Ordering::AcqRel) == SLEEPS {
        futex_wake(word);
    }
}

/// Notes a step in the schedule.
fn depart(state: &mut Scheduler, me: Member, op: Op) {
    match state.schedule.step(me, op) {
        Ok(()) => {}
        Err(Departure::Longer) => {
            state.schedule.abandon();
            warn(format_args!(
                "the program goes on after the end of the schedule; from here on the order is its own"
            ));
        }
        Err(Departure::Other { line, expected }) => give_up(format_args!(
            "the program does not follow the schedule: at line {line} thread {} should {}, but does {}",
            me.number(),
            expected.text(),
            op.text()
        )),
    }
}
