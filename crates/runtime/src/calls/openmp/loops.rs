//! Loops and sections whose parts are dealt out while they run. Who gets which part is settled by a counter: the n-th to ask gets the n-th part, and what
//! that is depends on nothing else.
//!
//! `schedule(runtime)` deals out single iterations, as libgomp does when `OMP_SCHEDULE` is not set.

use super::{Arguments, hidden, inside, meet, on_stack, openmp, region, team};
use crate::{accesses, calls::callers, hooks::Frame, world::perform};
use reweave_model::{Gate, Object, ObjectId, Op, Order, Rmw, RmwKind};

openmp! {
    GOMP_loop_dynamic_start => start::<false>;
    GOMP_loop_nonmonotonic_dynamic_start => start::<false>;
    GOMP_loop_guided_start => start::<true>;
    GOMP_loop_nonmonotonic_guided_start => start::<true>;
    GOMP_loop_runtime_start => start_single;
    GOMP_loop_nonmonotonic_runtime_start => start_single;
    GOMP_loop_maybe_nonmonotonic_runtime_start => start_single;
    GOMP_loop_ull_dynamic_start => start_unsigned::<false>;
    GOMP_loop_ull_nonmonotonic_dynamic_start => start_unsigned::<false>;
    GOMP_loop_ull_guided_start => start_unsigned::<true>;
    GOMP_loop_ull_nonmonotonic_guided_start => start_unsigned::<true>;
    GOMP_loop_ull_runtime_start => start_unsigned_single;
    GOMP_loop_ull_nonmonotonic_runtime_start => start_unsigned_single;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_start => start_unsigned_single;
}

openmp! {
    GOMP_loop_dynamic_next => next;
    GOMP_loop_nonmonotonic_dynamic_next => next;
    GOMP_loop_guided_next => next;
    GOMP_loop_nonmonotonic_guided_next => next;
    GOMP_loop_runtime_next => next;
    GOMP_loop_nonmonotonic_runtime_next => next;
    GOMP_loop_maybe_nonmonotonic_runtime_next => next;
    GOMP_loop_ull_dynamic_next => next;
    GOMP_loop_ull_nonmonotonic_dynamic_next => next;
    GOMP_loop_ull_guided_next => next;
    GOMP_loop_ull_nonmonotonic_guided_next => next;
    GOMP_loop_ull_runtime_next => next;
    GOMP_loop_ull_nonmonotonic_runtime_next => next;
    GOMP_loop_ull_maybe_nonmonotonic_runtime_next => next;
    GOMP_loop_end => end;
    GOMP_loop_end_nowait => end_at_once;
}

openmp! {
    GOMP_parallel_loop_dynamic => parallel::<false>;
    GOMP_parallel_loop_nonmonotonic_dynamic => parallel::<false>;
    GOMP_parallel_loop_guided => parallel::<true>;
    GOMP_parallel_loop_nonmonotonic_guided => parallel::<true>;
    GOMP_parallel_loop_runtime => parallel_single;
    GOMP_parallel_loop_nonmonotonic_runtime => parallel_single;
    GOMP_parallel_loop_maybe_nonmonotonic_runtime => parallel_single;
    GOMP_parallel_sections => parallel_sections;
    GOMP_sections_start => start_sections;
    GOMP_sections_next => next_section;
    GOMP_sections_end => end;
    GOMP_sections_end_nowait => end_at_once;
}

/// What is dealt out.
pub struct Share {
    /// Counts who asked.
    counter: ObjectId,
    first: i128,
    step: i128,
    /// How many iterations.
    count: u64,
    chunk: u64,
    /// Parts grow smaller with what is left for each of the team.
    guided: bool,
}

impl Share {
    /// So many parts, by number.
    pub fn sections(count: u32) -> Share {
        Share::new(1, i128::from(count) + 1, 1, 1, false)
    }

    /// Of a loop over `long`.
    fn signed([first, end, step]: [usize; 3], chunk: usize, guided: bool) -> Share {
        let wide = |number| i128::from(number as i64);
        Share::new(wide(first), wide(end), wide(step), chunk as u64, guided)
    }

    /// Of a loop over `unsigned long long`, which may go down: its step is then as large as the whole range less.
    fn unsigned(up: usize, bounds: [usize; 3], chunk: usize, guided: bool) -> Share {
        let [first, end, step] = bounds.map(|number| number as i128);
        let step = match up & 0xff {
            0 => step - (1 << 64),
            _ => step,
        };
        Share::new(first, end, step, chunk as u64, guided)
    }

    fn new(first: i128, end: i128, step: i128, chunk: u64, guided: bool) -> Share {
        let forward = step > 0;
        let span = if forward { end - first } else { first - end };
        let count = match span {
            1.. => (span - 1) / step.abs().max(1) + 1,
            _ => 0,
        };
        Share {
            counter: hidden(Object::Atomic(0)),
            first,
            step,
            count: count as u64,
            chunk: chunk.max(1),
            guided,
        }
    }

    /// The n-th part, as iterations; `None`: there are no more.
    fn part(&self, n: u64, threads: u64) -> Option<(u64, u64)> {
        if !self.guided {
            let from = n
                .checked_mul(self.chunk)
                .filter(|from| *from < self.count)?;
            return Some((from, self.count.min(from.saturating_add(self.chunk))));
        }
        let mut from = 0;
        for _ in 0..n {
            from += self.guided_part(self.count - from, threads);
        }
        (from < self.count).then(|| (from, from + self.guided_part(self.count - from, threads)))
    }

    fn guided_part(&self, left: u64, threads: u64) -> u64 {
        left.div_ceil(threads).max(self.chunk).min(left)
    }

    fn at(&self, iteration: u64) -> i128 {
        self.first + i128::from(iteration) * self.step
    }
}

/// The running thread comes to the next share of its team, which is `new` if it is the first there; its counter.
pub fn next_share(new: impl FnOnce() -> Share) -> ObjectId {
    let index = inside().shares;
    inside().shares += 1;
    if team().shares.len() == index {
        let share = new();
        team().shares.push(share);
    }
    team().shares[index].counter
}

/// The next part of the share that the running thread is at.
fn deal(frame: &Frame) -> Option<(i128, i128)> {
    let index = inside().shares.checked_sub(1)?;
    let another = Rmw {
        kind: RmwKind::Add,
        operand: 1,
        bits: 64,
    };
    let op = Op::Rmw(team().shares[index].counter, another);
    let site = callers::site(&frame.return_address);
    let n = perform(op, Gate::Open, site, Order::SeqCst, None).result;
    let threads = u64::from(team().size);
    let share = &team().shares[index];
    let (from, to) = share.part(n, threads)?;
    Some((share.at(from), share.at(to)))
}

/// Tells the program of its next part, if there is one.
fn tell(from: usize, to: usize, frame: &Frame) -> usize {
    let Some((first, end)) = deal(frame) else {
        return 0;
    };
    for (place, number) in [(from, first), (to, end)] {
        accesses::range(place, 8, true, frame);
        // SAFETY: the program's own variable.
        unsafe { *(place as *mut u64) = number as u64 };
    }
    1
}

extern "C" fn start<const GUIDED: bool>(
    &[first, end, step, chunk, from, to]: &Arguments,
    frame: &Frame,
) -> usize {
    next_share(|| Share::signed([first, end, step], chunk, GUIDED));
    tell(from, to, frame)
}

extern "C" fn start_single(&[first, end, step, from, to, _]: &Arguments, frame: &Frame) -> usize {
    next_share(|| Share::signed([first, end, step], 1, false));
    tell(from, to, frame)
}

extern "C" fn start_unsigned<const GUIDED: bool>(
    &[up, first, end, step, chunk, from]: &Arguments,
    frame: &Frame,
) -> usize {
    next_share(|| Share::unsigned(up, [first, end, step], chunk, GUIDED));
    tell(from, on_stack(frame, 0), frame)
}

extern "C" fn start_unsigned_single(
    &[up, first, end, step, from, to]: &Arguments,
    frame: &Frame,
) -> usize {
    next_share(|| Share::unsigned(up, [first, end, step], 1, false));
    tell(from, to, frame)
}

extern "C" fn next(&[from, to, ..]: &Arguments, frame: &Frame) -> usize {
    tell(from, to, frame)
}

extern "C" fn end(_: &Arguments, frame: &Frame) -> usize {
    meet(callers::site(&frame.return_address))
}

extern "C" fn end_at_once(_: &Arguments, _: &Frame) -> usize {
    0
}

extern "C" fn parallel<const GUIDED: bool>(
    &[body, data, threads, first, end, step]: &Arguments,
    frame: &Frame,
) -> usize {
    let share = Share::signed([first, end, step], on_stack(frame, 0), GUIDED);
    region(body, data, threads, Some(share), frame)
}

extern "C" fn parallel_single(
    &[body, data, threads, first, end, step]: &Arguments,
    frame: &Frame,
) -> usize {
    let share = Share::signed([first, end, step], 1, false);
    region(body, data, threads, Some(share), frame)
}

extern "C" fn parallel_sections(
    &[body, data, threads, count, ..]: &Arguments,
    frame: &Frame,
) -> usize {
    region(
        body,
        data,
        threads,
        Some(Share::sections(count as u32)),
        frame,
    )
}

/// Sections go by number, from 1.
extern "C" fn start_sections(arguments: &Arguments, frame: &Frame) -> usize {
    next_share(|| Share::sections(arguments[0] as u32));
    next_section(arguments, frame)
}

extern "C" fn next_section(_: &Arguments, frame: &Frame) -> usize {
    deal(frame).map_or(0, |(section, _)| section as usize)
}
