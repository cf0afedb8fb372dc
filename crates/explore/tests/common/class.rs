//! What a class of executions is. Also part of `crates/cli/tests/random`, which compares native programs.

use reweave_model::*;

/// A name for the class of an execution: the same for two executions exactly when one can be made from the other by
/// swapping neighbours that are independent. Each event with its causes, threads by path.
pub fn class(execution: &Execution) -> String {
    use std::fmt::Write;
    let events = &execution.events;
    let mut counts = vec![0u32; execution.threads.len()];
    let mut clocks: Vec<Vec<u32>> = Vec::new();
    let mut lines: Vec<Vec<usize>> = vec![Vec::new(); execution.threads.len()];
    for (j, event) in events.iter().enumerate() {
        let mut clock = vec![0u32; execution.threads.len()];
        let join = |clock: &mut Vec<u32>, other: &Vec<u32>| {
            for (a, b) in clock.iter_mut().zip(other) {
                *a = (*a).max(*b);
            }
        };
        let t = event.thread.index();
        match lines[t].last() {
            Some(last) => join(&mut clock, &clocks[*last]),
            None => {
                let mut thread = t;
                loop {
                    let born = execution.threads[thread].born;
                    if born.count > 0 {
                        join(
                            &mut clock,
                            &clocks[lines[born.thread.index()][born.count as usize - 1]],
                        );
                    }
                    if born.count > 0 || born.thread.index() == thread {
                        break;
                    }
                    thread = born.thread.index();
                }
            }
        }
        if let Some(edge) = event.after {
            if edge.count > 0 {
                join(
                    &mut clock,
                    &clocks[lines[edge.thread.index()][edge.count as usize - 1]],
                );
            }
        }
        let epoch = execution.epochs.iter().filter(|e| **e as usize <= j).max();
        for i in 0..j {
            if events[i].conflicts(event) || epoch.is_some_and(|e| i < *e as usize) {
                join(&mut clock, &clocks[i]);
            }
        }
        counts[t] += 1;
        clock[t] = counts[t];
        lines[t].push(j);
        clocks.push(clock);
    }
    let mut order: Vec<usize> = (0..execution.threads.len()).collect();
    order.sort_by_key(|t| execution.threads[*t].path.clone());
    let mut out = String::new();
    for &t in &order {
        write!(out, "\n{:?}:", execution.threads[t].path).unwrap();
        for &j in &lines[t] {
            let e = &events[j];
            let clock: Vec<u32> = order.iter().map(|t| clocks[j][*t]).collect();
            write!(
                out,
                " {:?}.{}.{}={}{:?}",
                e.op.kind().name(),
                e.outcome,
                e.ok,
                fingerprint(e),
                clock
            )
            .unwrap();
        }
        if let Some(pending) = &execution.threads[t].pending {
            write!(out, " ?{}", pending.op.kind().name()).unwrap();
        }
    }
    out
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

/// Results that name threads by number are left out: numbers depend on the order of creation.
fn fingerprint(event: &Event) -> u64 {
    match event.op {
        Op::NotifyOne(_) => 0,
        _ => event.result,
    }
}
