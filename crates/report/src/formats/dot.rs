//! The execution graph for Graphviz: threads as columns, program order downwards, and an arrow wherever one thread comes after another.

use crate::{
    happens_before::{Why, arrows},
    text::{Story, harmless},
    trace::Trace,
};
use std::fmt::Write;

/// One `digraph`.
pub fn dot(trace: &Trace) -> String {
    let trace = &harmless(trace);
    let story = Story::new(trace);
    let mut out = String::from("digraph execution {\n");
    let _ = writeln!(out, "  label={};", quoted(&title(trace)));
    out += "  node [shape=box, fontname=\"monospace\", fontsize=10];\n";
    out += "  edge [fontname=\"monospace\", fontsize=8];\n";
    for (thread, entry) in trace.threads.iter().enumerate() {
        let _ = writeln!(out, "  subgraph cluster_{thread} {{");
        let name = entry.name.as_ref().map(|name| format!(" {name}"));
        let label = format!("{}{}", entry.path, name.unwrap_or_default());
        let _ = writeln!(out, "    label={};", quoted(&label));
        let _ = writeln!(out, "    t{thread} [shape=point];");
        for step in &story.walked.steps[thread] {
            let at = trace.events[*step].at.as_ref();
            let at = at.map_or_else(String::new, |at| format!("\n{}", at.line()));
            let label = format!("{}  {}{at}", step + 1, story.event(*step));
            let _ = writeln!(out, "    s{} [label={}];", step + 1, quoted(&label));
        }
        if let Some(pending) = &entry.pending {
            let label = format!("{} ...", story.pending(pending));
            let label = quoted(&label);
            let _ = writeln!(out, "    p{thread} [label={label}, style=dashed];");
        }
        out += "  }\n";
    }
    for (thread, steps) in story.walked.steps.iter().enumerate() {
        let mut line = vec![format!("t{thread}")];
        line.extend(steps.iter().map(|step| format!("s{}", step + 1)));
        let pending = trace.threads[thread].pending.as_ref();
        line.extend(pending.map(|_| format!("p{thread}")));
        if line.len() > 1 {
            let _ = writeln!(out, "  {};", line.join(" -> "));
        }
        if thread > 0 {
            let entry = &trace.threads[thread];
            let from = story.walked.after(Some((entry.parent, entry.born_after)));
            let from =
                from.map_or_else(|| format!("t{}", entry.parent), |it| format!("s{}", it + 1));
            let _ = writeln!(
                out,
                "  {from} -> t{thread} [style=dotted, label=\"spawn\"];"
            );
        }
    }
    for arrow in arrows(trace, &story.walked) {
        let colour = match arrow.why {
            Why::ReadsFrom => "blue",
            Why::Lock => "red",
            Why::Wakes => "darkgreen",
            Why::Before => "gray",
        };
        let (from, to, why) = (arrow.from + 1, arrow.to + 1, arrow.why.name());
        let _ = writeln!(
            out,
            "  s{from} -> s{to} [color={colour}, label=\"{why}\", constraint=false];"
        );
    }
    out + "}\n"
}

fn title(trace: &Trace) -> String {
    match trace.errors.first() {
        Some(error) => format!("{}: {}", trace.program.name, error.kind.name()),
        None => trace.program.name.clone(),
    }
}

/// A string of the language: quotes and backslashes escaped, line ends as it spells them.
fn quoted(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", text.replace('\n', "\\n"))
}
