//! Classes of executions: when two executions count as the same. Used by the tests of `explore` and by those of `cli`, which compare native programs.

use reweave_model::*;

/// A name for the class of an execution.
pub fn class(execution: &Execution) -> String {
    Order::of(execution).name(execution)
}

/// A name for the class of an execution when who reads from whom is all that matters of atomics.
pub fn class_by_reads(execution: &Execution) -> String {
    Order::by_reads(execution).name(execution)
}

/// What every event of an execution comes after.
pub struct Order {
    /// Threads by path, so that they are in the same order in every execution.
    threads: Vec<usize>,
    /// Positions of each thread's events.
    lines: Vec<Vec<usize>>,
    /// For every event a row with a count for each thread: so many of its events are at or before this one.
    rows: Vec<u32>,
    /// Where every event reads from, if that is what matters of atomics: a position from 1.
    sources: Option<Vec<usize>>,
}

impl Order {
    pub fn of(execution: &Execution) -> Order {
        Order::by(execution, None)
    }

    /// When who reads from whom is all that matters of atomics.
    pub fn by_reads(execution: &Execution) -> Order {
        let mut last = vec![0; execution.objects.len()];
        let sources = execution.events.iter().zip(1..).map(|(event, number)| {
            let Some(object) = atomic(execution, event) else {
                return 0;
            };
            let source = last[object];
            let store = matches!(event.op, Op::Store(..));
            if event.access[0].unwrap().class == Class::Write {
                last[object] = number;
            }
            if store { 0 } else { source }
        });
        let sources = sources.collect();
        Order::by(execution, Some(sources))
    }

    fn by(execution: &Execution, sources: Option<Vec<usize>>) -> Order {
        let width = execution.threads.len();
        let mut threads: Vec<usize> = (0..width).collect();
        threads.sort_by_key(|thread| &execution.threads[*thread].path);
        let mut order = Order {
            threads,
            lines: vec![Vec::new(); width],
            rows: Vec::with_capacity(width * execution.events.len()),
            sources,
        };
        for position in 0..execution.events.len() {
            order.add(execution, position);
        }
        order
    }

    fn row(&self, position: usize) -> &[u32] {
        let width = self.threads.len();
        &self.rows[position * width..][..width]
    }

    /// Whether one event is, or comes before, another.
    pub fn before(&self, one: usize, other: usize, execution: &Execution) -> bool {
        let thread = execution.events[one].thread.index();
        self.row(one)[thread] <= self.row(other)[thread]
    }

    fn add(&mut self, execution: &Execution, position: usize) {
        let event = &execution.events[position];
        let mut row = vec![0; self.threads.len()];
        let join = |row: &mut Vec<u32>, other: usize| {
            for (mine, theirs) in row.iter_mut().zip(self.row(other)) {
                *mine = (*mine).max(*theirs);
            }
        };
        let step = |edge: Edge| self.lines[edge.thread.index()][edge.count as usize - 1];
        let thread = event.thread.index();
        match self.lines[thread].last() {
            Some(last) => join(&mut row, *last),
            None => {
                let mut born = execution.threads[thread].born;
                while born.count == 0 && born.thread.index() != 0 {
                    born = execution.threads[born.thread.index()].born;
                }
                if born.count > 0 {
                    join(&mut row, step(born));
                }
            }
        }
        if let Some(edge) = event.after.filter(|edge| edge.count > 0) {
            join(&mut row, step(edge));
        }
        let epochs = execution.epochs.iter();
        let epoch = epochs.filter(|epoch| **epoch as usize <= position).max();
        for earlier in (0..position).rev() {
            let other = &execution.events[earlier];
            let known = self.row(earlier)[other.thread.index()] <= row[other.thread.index()];
            let before = || epoch.is_some_and(|epoch| earlier < *epoch as usize);
            let depends = || match &self.sources {
                Some(sources) if atomic(execution, event).is_some() => {
                    sources[position] == earlier + 1
                }
                _ => other.conflicts(event),
            };
            if !known && (depends() || before()) {
                join(&mut row, earlier);
            }
        }
        row[thread] = self.lines[thread].len() as u32 + 1;
        self.lines[thread].push(position);
        self.rows.extend(row);
    }

    /// The same for two executions exactly when one can be made from the other by swapping neighbours that are independent: each
    /// event with its causes, and where it reads from if that matters, thread by thread.
    pub fn key(&self, execution: &Execution) -> Vec<u64> {
        let mut key = vec![execution.end as u64];
        for &thread in &self.threads {
            let path = &execution.threads[thread].path;
            key.push(path.len() as u64);
            key.extend(path.iter().map(|step| u64::from(*step)));
            key.push(self.lines[thread].len() as u64);
            for &position in &self.lines[thread] {
                let event = &execution.events[position];
                let kind = u64::from(event.op.kind().0);
                let outcome = u64::from(event.outcome);
                key.push(kind | outcome << 8 | u64::from(event.ok) << 32);
                key.push(fingerprint(event));
                let row = self.row(position);
                key.extend(self.threads.iter().map(|other| u64::from(row[*other])));
                if let Some(sources) = &self.sources {
                    key.extend(self.source(execution, sources[position]));
                }
            }
            let pending = execution.threads[thread].pending;
            key.push(pending.map_or(u64::MAX, |pending| pending.op.kind().0.into()));
        }
        key
    }

    /// A write by its thread and its place there; zeros for what was there before all writes.
    fn source(&self, execution: &Execution, number: usize) -> [u64; 2] {
        let Some(position) = number.checked_sub(1) else {
            return [0, 0];
        };
        let thread = execution.events[position].thread.index();
        let rank = self.threads.iter().position(|other| *other == thread);
        [
            rank.expect("every thread has one") as u64 + 1,
            self.row(position)[thread].into(),
        ]
    }

    /// The same for people.
    pub fn name(&self, execution: &Execution) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for &thread in &self.threads {
            write!(out, "\n{:?}:", execution.threads[thread].path).unwrap();
            for &position in &self.lines[thread] {
                let event = &execution.events[position];
                let row = self.row(position);
                let clock: Vec<u32> = self.threads.iter().map(|other| row[*other]).collect();
                let name = event.op.kind().name();
                let (outcome, ok) = (event.outcome, event.ok);
                let result = fingerprint(event);
                write!(out, " {name}.{outcome}.{ok}={result}{clock:?}").unwrap();
                let source = self.sources.as_ref().map_or(0, |sources| sources[position]);
                if let Some(source) = source.checked_sub(1) {
                    let thread = execution.events[source].thread.index();
                    let path = &execution.threads[thread].path;
                    write!(out, "<{path:?}.{}", self.row(source)[thread]).unwrap();
                }
            }
            if let Some(pending) = &execution.threads[thread].pending {
                write!(out, " ?{}", pending.op.kind().name()).unwrap();
            }
        }
        out
    }
}

/// The same execution as it would be if writers took their locks in one step.
pub fn in_one_step(execution: &Execution) -> Execution {
    let foretells = |op: Op| match op {
        Op::WriteBegin(lock) => match execution.objects[lock.index()] {
            Object::RwLock { readers_first, .. } => readers_first,
            _ => false,
        },
        _ => false,
    };
    let real = |op: Op| match op {
        Op::WriteBegin(lock) | Op::WriteAcquire(lock) if foretells(Op::WriteBegin(lock)) => {
            Op::TryWriteLock(lock)
        }
        other => other,
    };
    // How many of a thread's first events are left.
    let left = |edge: Edge| {
        let mine = execution
            .events
            .iter()
            .filter(|event| event.thread == edge.thread);
        let count = mine
            .take(edge.count as usize)
            .filter(|event| !foretells(event.op))
            .count();
        Edge {
            count: count as u32,
            ..edge
        }
    };
    let mut one = execution.clone();
    one.events.retain(|event| !foretells(event.op));
    for event in &mut one.events {
        event.op = real(event.op);
        event.after = event.after.map(left);
    }
    for thread in &mut one.threads {
        thread.born = left(thread.born);
        if let Some(pending) = &mut thread.pending {
            pending.op = real(pending.op);
        }
    }
    for epoch in &mut one.epochs {
        let before = execution.events[..*epoch as usize].iter();
        *epoch = before.filter(|event| !foretells(event.op)).count() as u32;
    }
    one
}

fn atomic(execution: &Execution, event: &Event) -> Option<usize> {
    let object = event.op.object()?.index();
    let atomic = matches!(execution.objects[object], Object::Atomic(_));
    let touches = matches!(
        event.op,
        Op::Load(_) | Op::Store(..) | Op::Rmw(..) | Op::CompareExchange { .. }
    );
    (atomic && touches).then_some(object)
}

/// Results that name threads by number are left out: numbers depend on the order of creation.
fn fingerprint(event: &Event) -> u64 {
    match event.op {
        Op::NotifyOne(_) => 0,
        _ => event.result,
    }
}
