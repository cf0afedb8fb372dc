//! Workflow commands of GitHub's runners: annotations on the lines of a change.

use super::Shown;
use crate::text::spelled;

/// One line for each finding.
pub fn github(told: &[Shown]) -> String {
    told.iter().map(line).collect()
}

fn line(told: &Shown) -> String {
    let level = if told.warning { "warning" } else { "error" };
    let mut properties = Vec::new();
    if let Some(at) = told.places().first() {
        properties.push(format!("file={}", property(&at.file)));
        properties.push(format!("line={}", at.line));
        if at.column > 0 {
            properties.push(format!("col={}", at.column));
        }
    }
    properties.push(format!("title={}", property(&told.rule())));
    let mut message = told.finding.message.clone();
    if let Some(trace) = &told.finding.trace {
        message += &format!("\nreweave report {trace}");
    }
    format!("::{level} {}::{}\n", properties.join(","), data(&message))
}

/// The runner reads a command up to the end of its line.
fn data(text: &str) -> String {
    let text = text.replace('%', "%25");
    let text = text.replace('\r', "%0D").replace('\n', "%0A");
    // What else controls a terminal has no way to be written.
    spelled(&text).chars().filter(|c| !c.is_control()).collect()
}

/// A property ends at a comma or two colons.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
