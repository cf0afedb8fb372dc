//! Trace-event JSON, which Perfetto and Chrome's own viewer open: a track for each thread, a slice for each step, arrows between them.
//!
//! Time is the number of the step: a thousandth of a second each, as there is no other time in an execution.

use crate::{
    happens_before::arrows,
    text::{Story, harmless, harmless_json},
    trace::Trace,
};
use serde_json::{Value, json};

/// Microseconds from step to step, and how long one takes.
const STEP: usize = 1000;
const TAKES: usize = 800;

/// One JSON document.
pub fn chrome(trace: &Trace) -> String {
    let trace = &harmless(trace);
    let story = Story::new(trace);
    let mut events = vec![json!({
        "name": "process_name", "ph": "M", "pid": 1, "args": { "name": trace.program.name },
    })];
    for (thread, entry) in trace.threads.iter().enumerate() {
        let name = entry.name.as_ref().map(|name| format!(" {name}"));
        let name = format!("{}{}", entry.path, name.unwrap_or_default());
        events.push(json!({
            "name": "thread_name", "ph": "M", "pid": 1, "tid": thread, "args": { "name": name },
        }));
        events.push(json!({
            "name": "thread_sort_index", "ph": "M", "pid": 1, "tid": thread,
            "args": { "sort_index": thread },
        }));
    }
    for (step, event) in trace.events.iter().enumerate() {
        let at = event.at.as_ref().map(ToString::to_string);
        events.push(json!({
            "name": story.event(step), "cat": event.operation.name, "ph": "X", "pid": 1, "tid": event.thread,
            "ts": step * STEP, "dur": TAKES, "args": { "step": step + 1, "at": at },
        }));
    }
    for (thread, entry) in trace.threads.iter().enumerate() {
        let Some(pending) = &entry.pending else {
            continue;
        };
        let at = pending.at.as_ref().map(ToString::to_string);
        events.push(json!({
            "name": format!("{} ...", story.pending(pending)), "cat": "pending", "ph": "X", "pid": 1, "tid": thread,
            "ts": trace.events.len() * STEP, "dur": TAKES, "args": { "at": at },
        }));
    }
    for (id, arrow) in arrows(trace, &story.walked).iter().enumerate() {
        events.push(end_of_arrow("s", id, arrow.from, arrow.why.name(), trace));
        events.push(end_of_arrow("f", id, arrow.to, arrow.why.name(), trace));
    }
    for error in &trace.errors {
        let (thread, _) = error.after.unwrap_or((0, 0));
        let step = story.walked.after(error.after);
        let when = step.map_or(trace.events.len(), |step| step + 1);
        events.push(json!({
            "name": error.kind.name(), "cat": "error", "ph": "i", "s": "g", "pid": 1, "tid": thread,
            "ts": when * STEP, "args": { "message": error.message },
        }));
    }
    let document = json!({ "traceEvents": events, "displayTimeUnit": "ms" });
    harmless_json(&format!("{document:#}\n"))
}

fn end_of_arrow(phase: &str, id: usize, step: usize, why: &str, trace: &Trace) -> Value {
    let mut end = json!({
        "name": why, "cat": "order", "ph": phase, "id": id, "pid": 1, "tid": trace.events[step].thread,
        "ts": step * STEP + TAKES / 2,
    });
    if phase == "f" {
        // Ends in the slice around it, not at the next one.
        end["bp"] = "e".into();
    }
    end
}
