//! The happens-before kernel: for every event of an execution the set of events it depends on, as a vector clock.
//!
//! An event comes after its thread's earlier events, the creation of its thread, the step named by its edge, every
//! earlier conflicting touch of an object, and everything before an epoch. All algorithms ask this one place. Owns its
//! tables and reuses them from execution to execution; [`Happens::analyse`] recomputes only what lies behind the
//! prefix that the last execution shares with this one.
//!
//! Invariant: no event comes after a later one, so the last event of a [row](Happens::row) is the row's own.

use reweave_model::{Access, Class, Edge, Event, Execution, ObjectId, ThreadId};

/// Tables about one execution.
#[derive(Debug, Default)]
pub(crate) struct Happens {
    /// Quads in a row: enough for all threads. Never shrinks.
    width: usize,
    /// One row an event: how many events of each thread are at or before it.
    rows: Vec<Quad>,
    /// How many events of each thread were done before the position that was [sought](Happens::seek) last.
    done: Vec<Quad>,
    sought: u32,
    /// What the tables know of each event.
    keys: Vec<Key>,
    /// Where each event stands: asked more often than all else.
    spots: Vec<Spot>,
    /// Positions of each thread's events.
    of_thread: Vec<Vec<u32>>,
    of_object: Vec<Vec<Touch>>,
    /// Whether the last execution had epochs: then nothing of it is kept.
    epochs: bool,
    /// Events behind these are of no thread of the program, and are not kept.
    real: usize,
    kept: u32,
    nothing: Vec<Quad>,
}

/// Counts of four threads: what a vector register holds, on every machine of this kind. (There it has a maximum of signed
/// numbers in few steps, and none of unsigned ones.)
pub(crate) type Quad = [i32; 4];

/// Where an event stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    thread: ThreadId,
    /// Which event of its thread it is, from 0.
    nth: i32,
}

impl Spot {
    /// Whether it is in a set given by counts, some of many sets that lie one after the other: the first of its counts is here.
    #[inline]
    pub fn is_in(self, counts: &Row, start: usize) -> bool {
        self.nth < counts.as_flattened()[4 * start + self.thread.index()]
    }
}

/// What rows are made from.
#[derive(Clone, Copy, Debug)]
struct Key {
    outcome: u16,
    after: Option<Edge>,
    access: [Option<Access>; 2],
    /// How many touches of each object there are before.
    places: [u32; 2],
}

/// An event that touches an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    /// Which event.
    pub position: u32,
    /// In which way.
    pub class: Class,
    /// How many touches there are up to the last [`Class::Write`], this one included.
    settled: u32,
}

impl Happens {
    /// Computes the tables for an execution.
    pub fn analyse(&mut self, execution: &Execution) {
        self.analyse_rest(execution, 0, execution.events.len());
    }

    /// The same, for an execution that is known to have so many events first like the one before it.
    /// Only the first `real` ones are events of the program.
    pub fn analyse_rest(&mut self, execution: &Execution, told: u32, real: usize) {
        self.real = self.real.min(real);
        let kept = self.keep_prefix(execution, told as usize);
        self.real = real;
        self.kept = kept as u32;
        for position in kept..execution.events.len() {
            self.append(execution, position);
        }
    }

    /// How many events the execution begins with like the one before it.
    pub fn kept(&self) -> u32 {
        self.kept
    }

    fn keep_prefix(&mut self, execution: &Execution, told: usize) -> usize {
        let threads = execution.threads.len();
        let epochs = std::mem::replace(&mut self.epochs, !execution.epochs.is_empty());
        let mut kept = 0;
        let old = self.width;
        if threads > 4 * self.width {
            self.width = threads.div_ceil(4);
        } else if !epochs && !self.epochs {
            // Programs are deterministic: the same choices make the same events.
            let same = |((key, spot), event): &((&Key, &Spot), &Event)| {
                spot.thread == event.thread
                    && key.outcome == event.outcome
                    && key.access == event.access
                    && key.after == event.after
            };
            let known = self.keys.iter().zip(&self.spots);
            let both = known.zip(&execution.events).skip(told);
            kept = told + both.take_while(same).count();
        }
        kept = kept.min(self.real);
        self.seek(self.sought.min(kept as u32));
        let spots = self.spots.drain(kept..);
        for (key, spot) in self.keys.drain(kept..).zip(spots).rev() {
            self.of_thread[spot.thread.index()].pop();
            for access in key.access.into_iter().flatten() {
                self.of_object[access.object.index()].pop();
            }
        }
        if self.of_thread.len() < threads {
            self.of_thread.resize_with(threads, Vec::new);
        }
        if self.of_object.len() < execution.objects.len() {
            self.of_object
                .resize_with(execution.objects.len(), Vec::new);
        }
        self.rows
            .resize(execution.events.len() * self.width, [0; 4]);
        if self.width > old {
            self.done.resize(self.width, [0; 4]);
            self.nothing.resize(self.width, [0; 4]);
        }
        kept
    }

    fn append(&mut self, execution: &Execution, position: usize) {
        let event = &execution.events[position];
        if self.epochs {
            let epochs = &execution.epochs;
            let before = epochs.partition_point(|epoch| *epoch as usize <= position);
            self.seek(before.checked_sub(1).map_or(0, |last| epochs[last]));
        }
        let thread = event.thread.index();
        let nth = self.of_thread[thread].len();
        let last = self.coming_last(execution, event.thread, nth);
        let (earlier, row) = self.rows.split_at_mut(position * self.width);
        let row = &mut row[..self.width];
        let known = Known {
            width: self.width,
            rows: earlier,
            spots: &self.spots,
        };
        // Program order and creation.
        copy(row, last.map_or(&self.nothing, |last| known.row(last)));
        if let Some(edge) = event.after {
            if let Some(step) = edge.count.checked_sub(1) {
                let step = self.of_thread[edge.thread.index()][step as usize];
                join(row, known.row(step));
            }
            // A thread that did nothing itself may have been created late.
            if let Some(born) = born(&self.of_thread, execution, edge.thread) {
                join(row, known.row(born));
            }
        }
        if self.epochs {
            join(row, &self.done);
        }
        let mut places = [0; 2];
        for (access, place) in event.access.into_iter().zip(&mut places) {
            let Some(access) = access else {
                continue;
            };
            let touching = &mut self.of_object[access.object.index()];
            let unsettled = unsettled(touching, access.class);
            let first = first_outside(&self.of_thread, row, unsettled.len());
            let unsettled = unsettled.iter().rev();
            for touch in unsettled.take_while(|touch| touch.position >= first) {
                if access.class.conflicts(touch.class) && !known.holds(row, touch.position) {
                    join(row, known.row(touch.position));
                }
            }
            *place = touching.len() as u32;
            let settled = match access.class {
                Class::Write => *place + 1,
                _ => touching.last().map_or(0, |touch| touch.settled),
            };
            touching.push(Touch {
                position: position as u32,
                class: access.class,
                settled,
            });
        }
        row.as_flattened_mut()[thread] = nth as i32 + 1;
        self.of_thread[thread].push(position as u32);
        self.spots.push(Spot {
            thread: event.thread,
            nth: nth as i32,
        });
        self.keys.push(Key {
            outcome: event.outcome,
            after: event.after,
            access: event.access,
            places,
        });
    }

    /// The last of what a thread has behind it when it comes to its `nth` event, done or not: program order and creation
    /// only.
    pub fn coming_last(&self, execution: &Execution, thread: ThreadId, nth: usize) -> Option<u32> {
        match nth.checked_sub(1) {
            Some(last) => Some(self.of_thread[thread.index()][last]),
            None => born(&self.of_thread, execution, thread),
        }
    }

    /// All of it.
    pub fn coming(&self, execution: &Execution, thread: ThreadId, nth: usize) -> &Row {
        match self.coming_last(execution, thread, nth) {
            Some(last) => self.row(last),
            None => &self.nothing,
        }
    }

    /// The events at or before an event: a count for each thread, and some zeros.
    #[inline]
    pub fn row(&self, position: u32) -> &Row {
        &self.rows[position as usize * self.width..][..self.width]
    }

    /// Makes [`Happens::done`] be about a position. Cheap when the last one was near.
    pub fn seek(&mut self, position: u32) {
        let done = self.done.as_flattened_mut();
        while self.sought < position {
            done[self.spots[self.sought as usize].thread.index()] += 1;
            self.sought += 1;
        }
        while self.sought > position {
            self.sought -= 1;
            done[self.spots[self.sought as usize].thread.index()] -= 1;
        }
    }

    /// How many events of each thread were done before the position that was sought last.
    #[inline]
    pub fn done(&self) -> &Row {
        &self.done
    }

    /// The events of a set given by counts that were not done before the position that was sought last, in order.
    pub fn behind(&self, row: &Row, out: &mut Vec<u32>) {
        let counts = row.as_flattened().iter().zip(self.done.as_flattened());
        for (line, (count, done)) in self.of_thread.iter().zip(counts) {
            if count > done {
                out.extend_from_slice(&line[*done as usize..*count as usize]);
            }
        }
        out.sort_unstable();
    }

    /// A position before which all events are in a set; 0 where finding it would take longer than looking at so many events.
    pub fn first_outside(&self, row: &Row, instead_of: usize) -> u32 {
        first_outside(&self.of_thread, row, instead_of)
    }

    /// Whether an event is in a set given by counts.
    #[inline]
    pub fn in_row(&self, row: &Row, position: u32) -> bool {
        self.spot(position).is_in(row, 0)
    }

    /// Where an event stands.
    #[inline]
    pub fn spot(&self, position: u32) -> Spot {
        self.spots[position as usize]
    }

    /// Whether one event is another or comes after it.
    #[inline]
    pub fn after(&self, position: u32, earlier: u32) -> bool {
        self.spot(earlier)
            .is_in(&self.rows, position as usize * self.width)
    }

    /// Whether all that an event depends on is among the first so many events of each thread; it is itself the next one
    /// of its thread.
    pub fn ready(&self, position: u32, counts: &Row) -> bool {
        let mut missing = [0; 4];
        for (needed, done) in self.row(position).iter().zip(counts) {
            for lane in 0..4 {
                missing[lane] += i32::from(needed[lane] > done[lane]);
            }
        }
        missing.iter().sum::<i32>() <= 1
    }

    /// Which event of its thread it is, from 0.
    #[inline]
    pub fn nth(&self, position: u32) -> usize {
        self.spots[position as usize].nth as usize
    }

    /// Whose event it is.
    #[inline]
    pub fn thread(&self, position: u32) -> ThreadId {
        self.spots[position as usize].thread
    }

    /// Positions of a thread's events.
    #[inline]
    pub fn of_thread(&self, thread: ThreadId) -> &[u32] {
        &self.of_thread[thread.index()]
    }

    /// The events that touch an object.
    #[inline]
    pub fn of_object(&self, object: ObjectId) -> &[Touch] {
        &self.of_object[object.index()]
    }

    /// Those before an event.
    #[inline]
    pub fn before(&self, position: u32, object: ObjectId) -> &[Touch] {
        let touching = self.of_object(object);
        let key = &self.keys[position as usize];
        let touches = |access: &Option<Access>| access.is_some_and(|at| at.object == object);
        let place = match key.access.iter().position(touches) {
            Some(nth) => key.places[nth] as usize,
            None => touching.partition_point(|touch| touch.position < position),
        };
        &touching[..place]
    }
}

/// A set of events that is closed under "before": how many events of each thread it holds.
pub(crate) type Row = [Quad];

/// What is known of the events before the one whose row is being made.
struct Known<'a> {
    width: usize,
    rows: &'a Row,
    spots: &'a [Spot],
}

impl Known<'_> {
    fn holds(&self, row: &Row, position: u32) -> bool {
        self.spots[position as usize].is_in(row, 0)
    }

    fn row(&self, position: u32) -> &Row {
        &self.rows[position as usize * self.width..][..self.width]
    }
}

fn first_outside(of_thread: &[Vec<u32>], row: &Row, instead_of: usize) -> u32 {
    if instead_of < 4 * of_thread.len() {
        return 0;
    }
    let counts = row.as_flattened().iter();
    let firsts = of_thread.iter().zip(counts);
    let firsts = firsts.filter_map(|(line, count)| line.get(*count as usize));
    firsts.min().copied().unwrap_or(u32::MAX)
}

/// The event that brought a thread to life.
fn born(of_thread: &[Vec<u32>], execution: &Execution, thread: ThreadId) -> Option<u32> {
    let mut thread = thread;
    loop {
        let born = execution.threads[thread.index()].born;
        if let Some(last) = born.count.checked_sub(1) {
            return Some(of_thread[born.thread.index()][last as usize]);
        }
        if born.thread == thread {
            return None;
        }
        thread = born.thread;
    }
}

/// Those of the touches before one of a class that may matter to it: of what is only read and written, the last write, and
/// for a write the reads since.
pub(crate) fn unsettled(touching: &[Touch], class: Class) -> &[Touch] {
    let settled = touching.last().map_or(0, |touch| touch.settled as usize);
    let last_write = settled.saturating_sub(1);
    match class {
        Class::Read => &touching[last_write..settled],
        Class::Write => &touching[last_write..],
        _ => touching,
    }
}

/// How many events of a thread a set holds.
#[inline]
pub(crate) fn count(row: &Row, thread: ThreadId) -> u32 {
    row.as_flattened()[thread.index()] as u32
}

/// Adds the next event of a thread.
#[inline]
pub(crate) fn add_next(row: &mut Row, thread: ThreadId) {
    row.as_flattened_mut()[thread.index()] += 1;
}

/// Adds one set of events to another.
#[inline]
pub(crate) fn join(row: &mut Row, other: &Row) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        for lane in 0..4 {
            mine[lane] = mine[lane].max(theirs[lane]);
        }
    }
}

/// Rows are short: a loop is faster than a call.
#[inline]
fn copy(row: &mut Row, other: &Row) {
    for (mine, theirs) in row.iter_mut().zip(other) {
        *mine = *theirs;
    }
}
