//! An execution of a native program as a trace: sites become positions, addresses become names.
//!
//! *Decides:* what is shown for each event, thread, object and error. *Called by:* `subject`, when an error is confirmed or
//! a trace is replayed. *Owns:* nothing.

use crate::{program_names::ProgramNames, target::Observation};
use reweave_model::{Execution, Kind};
use reweave_report::{AccessEntry, Context, Options, Program, Trace, waiting};
use reweave_wire::{Accessed, Detail};
use std::collections::HashMap;

/// The trace of an execution.
pub(crate) fn named_trace(
    names: &ProgramNames,
    seen: &Observation,
    program: Program,
    max_steps: u32,
    output: String,
) -> Trace {
    let (execution, detail) = (&seen.execution, &seen.detail);
    let blame: Vec<_> = execution.errors.iter().map(|error| error.after).collect();
    let mut trace = Trace::from_execution(
        execution,
        Context {
            program,
            options: Options {
                max_steps,
                spurious_wakeups: execution.spurious,
                thread_ends: false,
            },
            site: &|site| names.position(site),
            output: Some(output).filter(|text| !text.is_empty()),
            blame: &blame,
        },
    );
    place_events(&mut trace, names, detail);
    place_pending(&mut trace, names, execution, detail);
    name_objects(&mut trace, names, detail);
    name_errors(&mut trace, names, detail);
    explain_waiting(&mut trace);
    trace
}

fn place_events(trace: &mut Trace, names: &ProgramNames, detail: &Detail) {
    for (event, stack) in trace.events.iter_mut().zip(&detail.stacks) {
        event.at = names.place_of(stack).or(event.at.take());
    }
}

/// Where threads stand that did not end.
fn place_pending(trace: &mut Trace, names: &ProgramNames, execution: &Execution, detail: &Detail) {
    for (index, thread) in trace.threads.iter_mut().enumerate() {
        let pending = execution.threads[index].pending;
        if let (Some(entry), Some(pending)) = (&mut thread.pending, pending) {
            let mut stack = vec![pending.site];
            stack.extend(detail.last.get(index).into_iter().flatten());
            entry.at = names.place_of(&stack);
        }
    }
}

fn name_objects(trace: &mut Trace, names: &ProgramNames, detail: &Detail) {
    let mut known = HashMap::new();
    for (entry, place) in trace.objects.iter_mut().zip(&detail.objects) {
        // Objects of the runtime keep their generic names.
        let thing = names.thing(place);
        let thing = thing.filter(|thing| !thing.name.starts_with("reweave_runtime"));
        if let Some(thing) = thing {
            let times = known.entry(thing.name.clone()).or_insert(0);
            *times += 1;
            entry.name = match *times {
                1 => thing.name,
                // Another kind of object at the same place, or a later one.
                again => format!("{}'{again}", thing.name),
            };
            entry.allocated = thing.allocated;
        }
    }
}

fn name_errors(trace: &mut Trace, names: &ProgramNames, detail: &Detail) {
    for (index, failure) in trace.errors.iter_mut().enumerate() {
        let stacks = detail.errors.get(index).filter(|stacks| !stacks.is_empty());
        if let Some(stacks) = stacks {
            let places: Vec<_> = stacks.iter().map(|stack| names.place_of(stack)).collect();
            if places.iter().all(Option::is_some) {
                failure.places = places.into_iter().flatten().collect();
                failure.stacks = stacks.iter().map(|stack| names.calls(stack)).collect();
                let accesses = detail.accesses.get(index).into_iter().flatten();
                let entry = |access: &Accessed| AccessEntry {
                    access: access.kind.name().into(),
                    thread: access.thread.0,
                    after: access.count,
                };
                failure.accesses = accesses.map(entry).collect();
            }
        }
        let about = detail.subjects.get(index).and_then(Option::as_ref);
        let thing = about.and_then(|place| names.thing(place));
        let thing = thing.map_or_else(|| "memory without a name".into(), |thing| thing.described());
        failure.message = failure.message.replace("{0}", &thing);
    }
}

/// What threads wait for, and where, if the run ended because no thread could go on.
fn explain_waiting(trace: &mut Trace) {
    let stuck = |kind: Kind| matches!(kind, Kind::Deadlock | Kind::Livelock);
    let mut errors = trace.errors.iter();
    let Some(index) = errors.position(|it| stuck(it.kind) && it.message.is_empty()) else {
        return;
    };
    trace.errors[index].message = waiting(trace);
    let threads = trace.threads.iter();
    let mut waiting: Vec<_> = threads.filter_map(|it| it.pending.as_ref()).collect();
    waiting.sort_by_key(|it| it.operation.name == "join");
    let places = waiting.into_iter().filter_map(|it| it.at.clone());
    trace.errors[index].places = places.collect();
}
