//! SARIF 2.1.0, which editors and code scanning read: one result for each finding, with a code flow that has a flow for each thread.

use super::Shown;
use crate::{
    position::Position,
    text::{Story, clean, harmless, harmless_json, mattering},
    trace::Trace,
};
use serde_json::{Map, Value, json};

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// One log with one run.
pub fn sarif(told: &[Shown]) -> String {
    let mut rules: Vec<String> = told.iter().map(Shown::rule).collect();
    rules.sort();
    rules.dedup();
    let results: Vec<Value> = told.iter().map(|told| result(told, &rules)).collect();
    let rules: Vec<Value> = rules
        .iter()
        .map(|id| json!({ "id": id, "shortDescription": { "text": describe(id) } }))
        .collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "reweave",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            } },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    harmless_json(&format!("{log:#}\n"))
}

fn describe(rule: &str) -> &'static str {
    match rule.split('/').next().unwrap_or_default() {
        "data-race" => "Two accesses, one of them a write, that nothing orders",
        "deadlock" => "No thread can go on",
        "assertion" => "An assertion, an abort, an uncaught exception or a panic",
        "crash" => "A fatal signal",
        "exit-status" => "The program ended with a status other than 0",
        "memory" => "Memory that is used after it was freed, freed twice or never",
        "livelock" => "A thread spins with nobody left to change what it waits for",
        _ => "Wrong use of a synchronisation interface",
    }
}

fn result(told: &Shown, rules: &[String]) -> Value {
    let (rule, finding) = (told.rule(), &told.finding);
    let message = match finding.message.is_empty() {
        true => describe(&rule),
        false => finding.message.as_str(),
    };
    let places = told.places();
    let mut result = json!({
        "ruleIndex": rules.iter().position(|known| *known == rule),
        "level": if told.warning { "warning" } else { "error" },
        "message": { "text": words(message) },
        "locations": places.iter().take(1).map(|at| location(at, None)).collect::<Vec<_>>(),
        "ruleId": rule,
    });
    if places.len() > 1 {
        let others = places[1..].iter().zip(1..).map(|(at, id)| {
            let mut other = location(at, Some("also here"));
            other["id"] = id.into();
            other
        });
        result["relatedLocations"] = others.collect();
    }
    let flows = told.trace.as_ref().map(flows).unwrap_or_default();
    if !flows.is_empty() {
        let text = "How it came about: every thread's steps, in the order of the execution.";
        result["codeFlows"] = json!([{ "message": { "text": text }, "threadFlows": flows }]);
    }
    result
}

/// The steps of each thread that did some at known places.
fn flows(trace: &Trace) -> Vec<Value> {
    let trace = &harmless(trace);
    let story = Story::new(trace);
    let matter = mattering(&story);
    let mut flows = Vec::new();
    for (thread, entry) in trace.threads.iter().enumerate() {
        let steps = &story.walked.steps[thread];
        let done = steps.iter().filter_map(|step| {
            let at = trace.events[*step].at.as_ref()?;
            let matters = matter.as_ref().is_none_or(|matter| matter.contains(step));
            Some(stop(at, &story.event(*step), *step, matters))
        });
        let pending = entry.pending.as_ref().and_then(|pending| {
            let text = match story.wait(thread as u32, pending) {
                Some(wait) => wait.text(),
                None => format!("was about to {}", story.pending(pending)),
            };
            Some(stop(pending.at.as_ref()?, &text, trace.events.len(), true))
        });
        let locations: Vec<Value> = done.chain(pending).collect();
        if !locations.is_empty() {
            let name = entry.name.as_ref().map(|name| format!(" {name}"));
            let name = format!("{}{}", entry.path, name.unwrap_or_default());
            flows.push(json!({
                "id": entry.path,
                "message": { "text": format!("thread {name}") },
                "locations": locations,
            }));
        }
    }
    flows
}

fn stop(at: &Position, text: &str, step: usize, matters: bool) -> Value {
    json!({
        "location": location(at, Some(text)),
        "executionOrder": step + 1,
        "importance": if matters { "essential" } else { "unimportant" },
    })
}

fn location(at: &Position, message: Option<&str>) -> Value {
    let mut region = Map::new();
    region.insert("startLine".into(), at.line.max(1).into());
    if at.column > 0 {
        region.insert("startColumn".into(), at.column.into());
    }
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&at.file) },
            "region": region,
        },
    });
    if let Some(text) = message {
        location["message"] = json!({ "text": words(text) });
    }
    location
}

/// Words of the program that make no link and control nothing.
fn words(text: &str) -> String {
    clean(text).replace("](", "] (")
}

/// A file's name as a reference: bytes that have a meaning there, or none at all, are escaped.
fn uri(file: &str) -> String {
    let mut uri = String::from(if file.starts_with('/') { "file://" } else { "" });
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(byte.into()),
            b'/' | b'.' | b'-' | b'_' | b'~' | b'+' => uri.push(byte.into()),
            other => uri += &format!("%{other:02X}"),
        }
    }
    uri
}
