//! An execution of a native program as a trace: sites become positions, addresses become names.
//!
//! *Decides:* what is shown for each event, thread, object and error. *Called by:* `subject`, when an error is confirmed or
//! a trace is replayed. *Owns:* nothing.

use crate::{program_names::ProgramNames, target::Observation};
use reweave_model::{Execution, Kind};
use reweave_report::{AccessEntry, CallEntry, Context, Options, Program, Trace, waiting};
use reweave_wire::{Accessed, Detail, Stack};
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
    let mut stacks = Stacks::new(names);
    place_events(&mut trace, &mut stacks, detail);
    place_pending(&mut trace, &mut stacks, execution, detail);
    trace.stacks = stacks.list;
    name_threads(&mut trace, names, detail);
    name_objects(&mut trace, names, detail);
    name_errors(&mut trace, names, detail);
    explain_waiting(&mut trace);
    trace
}

/// Stacks of calls, each once.
struct Stacks<'a> {
    names: &'a ProgramNames,
    list: Vec<Vec<CallEntry>>,
    known: HashMap<Stack, Option<u32>>,
}

impl Stacks<'_> {
    fn new(names: &ProgramNames) -> Stacks<'_> {
        Stacks {
            names,
            list: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// The number of a stack; `None`: nothing is known of it.
    fn number(&mut self, stack: &Stack) -> Option<u32> {
        if let Some(known) = self.known.get(stack) {
            return *known;
        }
        let calls = self.names.entries(stack);
        let number = (!calls.is_empty()).then(|| {
            // Sites that differ may be one line.
            let same = self.list.iter().position(|known| *known == calls);
            same.unwrap_or_else(|| {
                self.list.push(calls);
                self.list.len() - 1
            }) as u32
        });
        self.known.insert(stack.clone(), number);
        number
    }
}

fn place_events(trace: &mut Trace, stacks: &mut Stacks<'_>, detail: &Detail) {
    for (event, stack) in trace.events.iter_mut().zip(&detail.stacks) {
        event.at = stacks.names.place_of(stack).or(event.at.take());
        event.stack = stacks.number(stack);
    }
}

/// The functions that threads began with: the outermost call of anything that they did.
fn name_threads(trace: &mut Trace, names: &ProgramNames, detail: &Detail) {
    let events = trace.events.iter().zip(&detail.stacks);
    let events = events.map(|(event, stack)| (event.thread, stack));
    let last = (0..).zip(&detail.last);
    let accesses = detail.accesses.iter().zip(&detail.errors);
    let accesses = accesses.flat_map(|(accesses, stacks)| {
        let threads = accesses.iter().map(|access| access.thread.0);
        threads.zip(stacks)
    });
    let mut known: HashMap<u32, &Stack> = HashMap::new();
    for (thread, stack) in events.chain(last).chain(accesses) {
        let own = known.entry(thread).or_insert(stack);
        if own.is_empty() {
            *own = stack;
        }
    }
    for (index, thread) in trace.threads.iter_mut().enumerate().skip(1) {
        let stack = known.get(&(index as u32));
        thread.start = stack.and_then(|stack| names.start(stack));
    }
}

/// Where threads stand that did not end.
fn place_pending(
    trace: &mut Trace,
    stacks: &mut Stacks<'_>,
    execution: &Execution,
    detail: &Detail,
) {
    for (index, thread) in trace.threads.iter_mut().enumerate() {
        let pending = execution.threads[index].pending;
        if let (Some(entry), Some(pending)) = (&mut thread.pending, pending) {
            let mut stack = vec![pending.site];
            stack.extend(detail.last.get(index).into_iter().flatten());
            entry.at = stacks.names.place_of(&stack);
            entry.stack = stacks.number(&stack);
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
