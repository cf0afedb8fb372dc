//! An execution of a native program as a trace: sites become positions, addresses become names.
//!
//! *Decides:* what is shown for each event, thread, object and error. *Called by:* `subject`, when an error is confirmed or
//! a trace is replayed. *Owns:* nothing.

use crate::{
    memory_names::{MemoryNames, Named},
    pointer_names::{PointerNames, block_of},
    program_names::{ProgramNames, Thing},
    target::Observation,
};
use reweave_model::{Execution, Kind, ObjectId};
use reweave_report::{
    AccessEntry, CallEntry, ChangeEntry, Context, ObjectState, Options, Position, Program,
    SleepEntry, Trace, VariableEntry, WatchedEntry, waiting,
};
use reweave_wire::{Accessed, Detail, Slept, Stack};
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
    name_threads(&mut trace, names, execution, detail);
    name_objects(&mut trace, names, detail);
    let starts = detail
        .objects
        .iter()
        .chain(detail.subjects.iter().flatten());
    let blocks = starts.chain(&detail.pointers).filter_map(block_of);
    let blocks = blocks.map(|(start, _, bytes)| (start, bytes));
    let memory = MemoryNames::new(names, &detail.memory, blocks);
    let pointers = PointerNames::new(names, &memory, detail);
    label_objects(&mut trace, &pointers, execution, detail);
    let about = name_errors(&mut trace, names, &pointers, detail);
    name_variables(&mut trace, names, &memory, detail);
    watch_raced(&mut trace, &memory, &pointers, detail, &about);
    place_sleeps(&mut trace, names, detail);
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
fn name_threads(trace: &mut Trace, names: &ProgramNames, execution: &Execution, detail: &Detail) {
    let events = trace.events.iter().zip(&detail.stacks);
    let events = events.map(|(event, stack)| (event.thread, stack));
    let last: Vec<Stack> = (0..execution.threads.len())
        .map(|index| where_it_stands(execution, detail, index))
        .collect();
    let last = (0..).zip(&last);
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

/// The stack of what a thread had come to.
fn where_it_stands(execution: &Execution, detail: &Detail, index: usize) -> Stack {
    let pending = execution.threads[index].pending;
    let calls = detail.last.get(index).into_iter().flatten().copied();
    pending
        .map(|pending| pending.site)
        .into_iter()
        .chain(calls)
        .collect()
}

/// Where threads stand that did not end.
fn place_pending(
    trace: &mut Trace,
    stacks: &mut Stacks<'_>,
    execution: &Execution,
    detail: &Detail,
) {
    for (index, thread) in trace.threads.iter_mut().enumerate() {
        if let Some(entry) = &mut thread.pending {
            let stack = where_it_stands(execution, detail, index);
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

fn label_objects(
    trace: &mut Trace,
    pointers: &PointerNames<'_>,
    execution: &Execution,
    detail: &Detail,
) {
    let mut known: HashMap<String, u32> = HashMap::new();
    for (index, place) in detail.objects.iter().enumerate().take(trace.objects.len()) {
        let object = ObjectId(index as u32);
        let used = execution.events.iter().zip(&detail.stacks);
        let used = used.filter(|(event, _)| event.op.object() == Some(object));
        let stacks: Vec<&Stack> = used.take(USES).map(|(_, stack)| stack).collect();
        let entry = &mut trace.objects[index];
        if let Some(label) = pointers.label(place, &stacks) {
            let times = known.entry(label.clone()).or_insert(0);
            *times += 1;
            entry.label = Some(match *times {
                1 => label,
                again => format!("{label}'{again}"),
            });
        }
        if matches!(entry.state, ObjectState::Atomic { .. }) {
            let thing = pointers.thing(place);
            entry.values = thing.and_then(|thing| pointers.values(&thing, execution, object));
        }
    }
}

/// Uses of an object that are asked for its type.
const USES: usize = 3;

/// The variables that failed assertions name.
fn name_variables(
    trace: &mut Trace,
    names: &ProgramNames,
    memory: &MemoryNames<'_>,
    detail: &Detail,
) {
    let objects: Vec<u64> = detail.objects.iter().map(|place| place.address).collect();
    let mut found = Vec::new();
    let mut watched: Vec<WatchedEntry> = Vec::new();
    for (index, failure) in trace.errors.iter().enumerate() {
        let condition = failure.message.strip_prefix("assertion `");
        let condition = condition.and_then(|text| text.strip_suffix("` failed"));
        let (Some(condition), Some((thread, _))) = (condition, failure.after) else {
            continue;
        };
        let frames = detail.memory.frames.iter();
        let frame = frames.clone().find(|frame| frame.thread.0 == thread);
        for variable in memory.variables(condition, frame) {
            let Named {
                name,
                value,
                written: write,
                thing,
            } = variable;
            let object = objects.iter().position(|known| *known == thing.address);
            if object.is_none() {
                watched.extend(watch(memory, &thing, &name));
            }
            let changed =
                object.and_then(|object| last_change(trace, object as u32, failure.after));
            let written = write.map(|write| (write.thread.0, write.count)).or(changed);
            let at = write.and_then(|write| names.position(write.site));
            let at = at.or_else(|| step_at(trace, changed?));
            found.push((
                index,
                VariableEntry {
                    name,
                    value,
                    written,
                    at,
                },
            ));
        }
    }
    for (index, variable) in found {
        trace.errors[index].variables.push(variable);
    }
    trace.watched.extend(watched);
}

/// A variable that no event is about: what it held, from its writes.
fn watch(
    memory: &MemoryNames<'_>,
    thing: &crate::memory_names::Thing<'_>,
    name: &str,
) -> Option<WatchedEntry> {
    let (first, changes) = memory.history(thing)?;
    let change = |(write, value): (reweave_wire::MemoryWrite, String)| ChangeEntry {
        thread: write.thread.0,
        after: write.count,
        value,
    };
    Some(WatchedEntry {
        name: name.to_owned(),
        first,
        changes: changes.into_iter().map(change).collect(),
    })
}

/// Variables that races are about are watched as well.
fn watch_raced(
    trace: &mut Trace,
    memory: &MemoryNames<'_>,
    pointers: &PointerNames<'_>,
    detail: &Detail,
    names: &[Option<String>],
) {
    for (index, failure) in trace.errors.iter().enumerate() {
        let about = detail.subjects.get(index).and_then(Option::as_ref);
        let about = about.filter(|_| failure.kind == Kind::DataRace);
        let thing = about.and_then(|place| pointers.thing(place));
        let Some((thing, name)) = thing.zip(names[index].as_deref()) else {
            continue;
        };
        if trace.watched.iter().all(|known| known.name != name) {
            trace.watched.extend(watch(memory, &thing, name));
        }
    }
}

/// The last event that changed an atomic, up to so many events of a thread: its thread, and how many that had done then.
fn last_change(trace: &Trace, object: u32, after: Option<(u32, u32)>) -> Option<(u32, u32)> {
    let mut moment = after?;
    while moment.1 == 0 && moment.0 != 0 {
        let thread = trace.threads.get(moment.0 as usize)?;
        moment = (thread.parent, thread.born_after);
    }
    if moment.1 == 0 {
        return None;
    }
    let mut done: HashMap<u32, u32> = HashMap::new();
    let mut last = None;
    for event in &trace.events {
        let own = done.entry(event.thread).or_insert(0);
        *own += 1;
        let changes = ["store", "read-modify-write", "compare-exchange"];
        let operation = &event.operation;
        if event.ok && operation.object == Some(object) && changes.contains(&&*operation.name) {
            last = Some((event.thread, *own));
        }
        if (event.thread, *own) == moment {
            break;
        }
    }
    last
}

fn step_at(trace: &Trace, (thread, count): (u32, u32)) -> Option<Position> {
    let own = trace.events.iter().filter(|event| event.thread == thread);
    own.clone().nth(count.checked_sub(1)? as usize)?.at.clone()
}

fn place_sleeps(trace: &mut Trace, names: &ProgramNames, detail: &Detail) {
    let sleep = |slept: &Slept| SleepEntry {
        thread: slept.thread.0,
        after: slept.count,
        at: names.place_of(&slept.stack),
    };
    trace.sleeps = detail.sleeps.iter().map(sleep).collect();
}

/// What each error is about; the names of that.
fn name_errors(
    trace: &mut Trace,
    names: &ProgramNames,
    pointers: &PointerNames<'_>,
    detail: &Detail,
) -> Vec<Option<String>> {
    let mut about_errors = Vec::new();
    for (index, failure) in trace.errors.iter_mut().enumerate() {
        let stacks = detail.errors.get(index).filter(|stacks| !stacks.is_empty());
        if let Some(stacks) = stacks {
            let places: Vec<_> = stacks.iter().map(|stack| names.place_of(stack)).collect();
            if places.iter().all(Option::is_some) {
                failure.places = places.into_iter().flatten().collect();
                failure.stacks = stacks.iter().map(|stack| names.calls(stack)).collect();
                let accesses = detail.accesses.get(index).into_iter().flatten();
                let about = detail.subjects.get(index).and_then(Option::as_ref);
                let thing = about.and_then(|place| pointers.thing(place));
                let value = |access: &Accessed| {
                    let (word, bytes) = access.value?;
                    let thing = thing.as_ref();
                    let told = thing.and_then(|thing| pointers.told(thing, word, bytes.into()));
                    told.or_else(|| (word < 1 << 32).then(|| word.to_string()))
                };
                let entry = |access: &Accessed| AccessEntry {
                    value: value(access),
                    access: access.kind.name().into(),
                    thread: access.thread.0,
                    after: access.count,
                };
                failure.accesses = accesses.map(entry).collect();
            }
        }
        let about = detail.subjects.get(index).and_then(Option::as_ref);
        let stacks: Vec<&Stack> = stacks.into_iter().flatten().collect();
        let whole = matches!(failure.rule.as_deref(), Some("leak" | "double-free"));
        let label = about.and_then(|place| match whole {
            true => pointers.block(place, &stacks),
            false => pointers.label(place, &stacks),
        });
        let thing = about.and_then(|place| names.thing(place));
        let allocated = thing.as_ref().and_then(|thing| thing.allocated.clone());
        let thing = match label {
            Some(name) => Some(Thing { name, allocated }),
            None => thing,
        };
        about_errors.push(thing.as_ref().map(|thing| thing.name.clone()));
        let thing = thing.map_or_else(|| "memory without a name".into(), |thing| thing.described());
        failure.message = failure.message.replace("{0}", &thing);
    }
    about_errors
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
