//! Worksharing constructs: the iterations of loops, sections, and `single`, which are divided among the threads of a team.
//!
//! Each construct consists of parts that are the same for all threads, and each thread comes to all parts in the same order. To
//! take a part is to try for its lock, which is never released: that orders nothing but the tries. With a static schedule, parts
//! are not taken but known.

use crate::{
    calls::openmp::{
        answer, change_place,
        entry_points::{Call, entries},
        hidden, place, regions,
        settings::{Schedule, settings},
        size_of_team, with_team,
    },
    core::objects::Sort,
    run::{accesses, operations::visible, spin},
};
use alloc::vec::Vec;
use reweave_model::{Object, ObjectId, Op, Site};

entries! {
    GOMP_loop_static_start => |call: &Call| signed(call, Some(Schedule::Static), false);
    GOMP_loop_dynamic_start => |call: &Call| signed(call, Some(Schedule::Dynamic), false);
    GOMP_loop_nonmonotonic_dynamic_start => |call: &Call| signed(call, Some(Schedule::Dynamic), false);
    GOMP_loop_guided_start => |call: &Call| signed(call, Some(Schedule::Guided), false);
    GOMP_loop_nonmonotonic_guided_start => |call: &Call| signed(call, Some(Schedule::Guided), false);
    GOMP_loop_runtime_start => |call: &Call| signed(call, None, false);
    GOMP_loop_nonmonotonic_runtime_start => |call: &Call| signed(call, None, false);
    GOMP_loop_maybe_nonmonotonic_runtime_start => |call: &Call| signed(call, None, false);
    GOMP_loop_ordered_static_start => |call: &Call| signed(call, Some(Schedule::Static), true);
    GOMP_loop_ordered_dynamic_start => |call: &Call| signed(call, Some(Schedule::Dynamic), true);
    GOMP_loop_ordered_guided_start => |call: &Call| signed(call, Some(Schedule::Guided), true);
    GOMP_loop_ordered_runtime_start => |call: &Call| signed(call, None, true);
    GOMP_loop_ull_static_start => |call: &Call| unsigned(call, Some(Schedule::Static), false);
    GOMP_loop_ull_dynamic_start => |call: &Call| unsigned(call, Some(Schedule::Dynamic), false);
    GOMP_loop_ull_nonmonotonic_dynamic_start => |call: &Call| unsigned(call, Some(Schedule::Dynamic), false);
    GOMP_loop_ull_guided_start => |call: &Call| unsigned(call, Some(Schedule::Guided), false);
    GOMP_loop_ull_nonmonotonic_guided_start => |call: &Call| unsigned(call, Some(Schedule::Guided), false);
    GOMP_loop_ull_runtime_start => |call: &Call| unsigned(call, None, false);
    GOMP_loop_ull_nonmonotonic_runtime_start => |call: &Call| unsigned(call, None, false);
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start => |call: &Call| unsigned(call, None, false);
    GOMP_loop_ull_ordered_static_start => |call: &Call| unsigned(call, Some(Schedule::Static), true);
    GOMP_loop_ull_ordered_dynamic_start => |call: &Call| unsigned(call, Some(Schedule::Dynamic), true);
    GOMP_loop_ull_ordered_guided_start => |call: &Call| unsigned(call, Some(Schedule::Guided), true);
    GOMP_loop_ull_ordered_runtime_start => |call: &Call| unsigned(call, None, true);
    GOMP_loop_static_next => next;
    GOMP_loop_dynamic_next => next;
    GOMP_loop_nonmonotonic_dynamic_next => next;
    GOMP_loop_guided_next => next;
    GOMP_loop_nonmonotonic_guided_next => next;
    GOMP_loop_runtime_next => next;
    GOMP_loop_nonmonotonic_runtime_next => next;
    GOMP_loop_maybe_nonmonotonic_runtime_next => next;
    GOMP_loop_ordered_static_next => next;
    GOMP_loop_ordered_dynamic_next => next;
    GOMP_loop_ordered_guided_next => next;
    GOMP_loop_ordered_runtime_next => next;
    GOMP_loop_ull_static_next => next;
    GOMP_loop_ull_dynamic_next => next;
    GOMP_loop_ull_nonmonotonic_dynamic_next => next;
    GOMP_loop_ull_guided_next => next;
    GOMP_loop_ull_nonmonotonic_guided_next => next;
    GOMP_loop_ull_runtime_next => next;
    GOMP_loop_ull_nonmonotonic_runtime_next => next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next => next;
    GOMP_loop_ull_ordered_static_next => next;
    GOMP_loop_ull_ordered_dynamic_next => next;
    GOMP_loop_ull_ordered_guided_next => next;
    GOMP_loop_ull_ordered_runtime_next => next;
    GOMP_loop_end => end;
    GOMP_loop_end_cancel => end;
    GOMP_loop_end_nowait => |_: &Call| 0;
    GOMP_ordered_start => ordered;
    GOMP_ordered_end => |_: &Call| 0;
    GOMP_sections_start => |call: &Call| { begin(sections(call.argument(0))); section(call) };
    GOMP_sections_next => section;
    GOMP_sections_end => end;
    GOMP_sections_end_cancel => end;
    GOMP_sections_end_nowait => |_: &Call| 0;
    GOMP_single_start => |call: &Call| answer(single(call.site()));
    GOMP_single_copy_start => copy_start;
    GOMP_single_copy_end => copy_end;
}

/// What a team shares at one worksharing construct: kept for as long as the team is.
#[derive(Default)]
pub struct Share {
    /// The locks of the parts, as far as the first thread has come.
    parts: Vec<ObjectId>,
    /// Of each part of an ordered loop: whether those before it are done.
    turns: Vec<ObjectId>,
    /// What the thread that did a `single` has for the others.
    copied: usize,
}

/// How a construct is divided, and how far the thread has come.
#[derive(Clone, Copy)]
pub struct Sharing {
    schedule: Schedule,
    chunk: u64,
    /// The first value, what is added to come to the next, and where that ends.
    first: i128,
    step: i128,
    end: i128,
    count: u64,
    /// The next part, and with which iteration that begins.
    part: usize,
    from: u64,
    ordered: bool,
    /// In an ordered loop: the part that the thread is in, and whether its turn has come.
    turn: Option<(usize, bool)>,
}

/// One part: its number, its first iteration, how many there are.
struct Part {
    number: usize,
    from: u64,
    length: u64,
}

impl Sharing {
    fn over(first: i128, end: i128, step: i128, (schedule, chunk): (Schedule, u64)) -> Sharing {
        let distance = if step < 0 { first - end } else { end - first };
        let count = (distance.max(0) as u128).div_ceil(step.unsigned_abs().max(1));
        Sharing {
            schedule,
            chunk,
            first,
            step,
            end,
            count: count as u64,
            part: 0,
            from: 0,
            ordered: false,
            turn: None,
        }
    }

    /// Goes on to the next part, of a team of this size.
    fn advance(&mut self, size: u32) -> Option<Part> {
        let (number, from) = (self.part, self.from);
        let (left, size) = (self.count - from, u64::from(size));
        let length = match self.schedule {
            Schedule::Static if self.chunk == 0 => {
                self.count / size + u64::from((number as u64) < self.count % size)
            }
            Schedule::Static | Schedule::Dynamic => self.chunk.max(1),
            Schedule::Guided => left.div_ceil(size).max(self.chunk).max(1),
        };
        let length = length.min(left);
        self.part += 1;
        self.from += length;
        (length > 0).then_some(Part {
            number,
            from,
            length,
        })
    }

    /// The value of an iteration; one after the last is where the loop ends.
    fn value(&self, iteration: u64) -> u64 {
        let value = match iteration < self.count {
            true => self.first + i128::from(iteration) * self.step,
            false => self.end,
        };
        value as u64
    }
}

/// A loop that begins with its region: its bounds and its step follow the wanted number of threads.
pub fn combined(call: &Call, schedule: Schedule) -> Sharing {
    bounded(call, 3, (schedule, call.argument(6) as u64))
}

/// As [`combined`], where the schedule is a setting.
pub fn combined_runtime(call: &Call) -> Sharing {
    bounded(call, 3, settings().schedule)
}

fn bounded(call: &Call, at: usize, schedule: (Schedule, u64)) -> Sharing {
    let value = |index| call.argument(index) as i64 as i128;
    Sharing::over(value(at), value(at + 1), value(at + 2), schedule)
}

/// So many sections, which are numbered from 1.
pub fn sections(count: usize) -> Sharing {
    let end = i128::from(count as u32) + 1;
    Sharing::over(1, end, 1, (Schedule::Dynamic, 1))
}

fn begin(sharing: Sharing) {
    change_place(|place| {
        place.shares += 1;
        place.sharing = Some(sharing);
    });
}

/// Uses what the team shares out at the construct that the running thread is in; `None`: it is alone. The closure must not switch
/// threads.
fn with_share<R>(what: impl FnOnce(&mut Share) -> R) -> Option<R> {
    let place = place();
    with_team(&place, |team| {
        if team.shares.len() < place.shares {
            team.shares.resize_with(place.shares, Share::default);
        }
        team.shares.get_mut(place.shares - 1).map(what)
    })
    .flatten()
}

/// The next part that is the running thread's.
fn take(site: Site) -> Option<(Sharing, Part)> {
    loop {
        let place = place();
        place.sharing?;
        let size = size_of_team(&place);
        spin::disturbed();
        let (sharing, part) = change_place(|place| {
            let sharing = place.sharing.as_mut()?;
            let part = sharing.advance(size)?;
            Some((*sharing, part))
        })?;
        let mine = match sharing.schedule {
            Schedule::Static => part.number as u64 % u64::from(size) == u64::from(place.number),
            _ => size == 1 || try_for(part.number, site),
        };
        if mine {
            return Some((sharing, part));
        }
    }
}

/// Whether the running thread is the first that tries for this part.
fn try_for(part: usize, site: Site) -> bool {
    let lock = with_share(|share| {
        if part == share.parts.len() {
            share.parts.push(hidden(Sort::Mutex, Object::mutex()));
        }
        share.parts[part]
    });
    lock.is_none_or(|lock| visible(Op::TryLock(lock), site).ok)
}

/// A loop over signed numbers begins: bounds, step and chunk, unless the schedule is a setting.
fn signed(call: &Call, schedule: Option<Schedule>, ordered: bool) -> usize {
    let (schedule, into) = match schedule {
        Some(schedule) => ((schedule, call.argument(3) as u64), 4),
        None => (settings().schedule, 3),
    };
    begin(Sharing {
        ordered,
        ..bounded(call, 0, schedule)
    });
    iterations(call, into)
}

/// The same over unsigned ones: whether they go up comes first.
fn unsigned(call: &Call, schedule: Option<Schedule>, ordered: bool) -> usize {
    let (schedule, into) = match schedule {
        Some(schedule) => ((schedule, call.argument(4) as u64), 5),
        None => (settings().schedule, 4),
    };
    let value = |index| call.argument(index) as i128;
    let step = match call.argument(0) as u8 {
        0 => call.argument(3) as i64 as i128,
        _ => value(3),
    };
    begin(Sharing {
        ordered,
        ..Sharing::over(value(1), value(2), step, schedule)
    });
    iterations(call, into)
}

fn next(call: &Call) -> usize {
    iterations(call, 0)
}

/// Takes the next part of a loop, and writes its beginning and end to the variables that two arguments point to.
fn iterations(call: &Call, into: usize) -> usize {
    let site = call.site();
    end_turn(site);
    let Some((sharing, part)) = take(site) else {
        return answer(false);
    };
    if sharing.ordered && size_of_team(&place()) > 1 {
        set_turn(Some((part.number, false)));
    }
    for (index, iteration) in [part.from, part.from + part.length].into_iter().enumerate() {
        let variable = call.argument(into + index);
        accesses::range(variable, 8, true, &call.frame);
        // SAFETY: compiled code passes the address of a variable of eight bytes.
        unsafe { *(variable as *mut u64) = sharing.value(iteration) };
    }
    answer(true)
}

fn end(call: &Call) -> usize {
    regions::wait(call.site());
    0
}

/// A semaphore for each part of an ordered loop: the thread of the part before releases it.
fn turn(part: usize) -> ObjectId {
    let turn = with_share(|share| {
        while share.turns.len() <= part {
            let first = u64::from(share.turns.is_empty());
            let turn = hidden(Sort::Semaphore, Object::Semaphore(first));
            share.turns.push(turn);
        }
        share.turns[part]
    });
    turn.expect("several threads share it")
}

/// Waits until the parts before the running thread's own are done.
fn wait_turn(site: Site) -> Option<usize> {
    let (part, come) = place().sharing?.turn?;
    if !come {
        let object = turn(part);
        let timed = false;
        visible(Op::SemAcquire { object, timed }, site);
        set_turn(Some((part, true)));
    }
    Some(part)
}

fn end_turn(site: Site) {
    if let Some(part) = wait_turn(site) {
        visible(Op::SemRelease(turn(part + 1)), site);
        set_turn(None);
    }
}

fn set_turn(turn: Option<(usize, bool)>) {
    change_place(|place| {
        let sharing = place.sharing.as_mut();
        sharing.expect("in an ordered loop").turn = turn;
    });
}

fn ordered(call: &Call) -> usize {
    wait_turn(call.site());
    0
}

/// The next section of the running thread, 0 if there is none.
fn section(call: &Call) -> usize {
    take(call.site()).map_or(0, |(sharing, part)| sharing.value(part.from) as usize)
}

/// Whether the running thread is the one that does it.
fn single(site: Site) -> bool {
    begin(sections(1));
    take(site).is_some()
}

/// As [`single`]; the other threads get what that one has for them.
fn copy_start(call: &Call) -> usize {
    let site = call.site();
    if single(site) {
        return 0;
    }
    regions::wait(site);
    with_share(|share| share.copied).unwrap_or(0)
}

fn copy_end(call: &Call) -> usize {
    with_share(|share| share.copied = call.argument(0));
    regions::wait(call.site());
    0
}
