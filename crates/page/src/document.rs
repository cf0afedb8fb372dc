//! The HTML around the data.
//!
//! The page's policy lets nothing run and nothing style it but the two pieces of text that this crate brings along, by their
//! hashes, and nothing be fetched at all. Data stands in a script element of another type, which browsers do not run, and
//! has no character that could end it.

use crate::data::data;
use base64::{Engine, prelude::BASE64_STANDARD};
use reweave_report::{Trace, is_unseen, presented, spelled};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Where a page leads.
#[derive(Clone, Copy, Default)]
pub struct Links<'a> {
    /// The line that runs the execution again.
    pub again: Option<&'a str>,
    /// The list that the page belongs to.
    pub home: Option<&'a str>,
}

/// The script, in the order in which its parts build on each other.
const SCRIPT: &str = concat!(
    include_str!("../assets/theme.js"),
    include_str!("../assets/trace.js"),
    include_str!("../assets/elements.js"),
    include_str!("../assets/lanes.js"),
    include_str!("../assets/source.js"),
    include_str!("../assets/panels.js"),
    include_str!("../assets/page.js"),
);
const STYLE: &str = concat!(
    include_str!("../assets/common.css"),
    include_str!("../assets/page.css")
);
const BODY: &str = include_str!("../assets/page.html");

/// A trace as one HTML file.
pub fn page(trace: &Trace, links: &Links<'_>) -> String {
    let title = format!("{} – Reweave", trace.program.name);
    let shown = presented(trace);
    let data = json(&data(&shown, links));
    let data = format!("<script type=\"application/json\" id=\"data\">{data}</script>\n");
    document(&title, STYLE, SCRIPT, &format!("{BODY}{data}"))
}

/// A whole document with its policy.
pub(crate) fn document(title: &str, style: &str, script: &str, body: &str) -> String {
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data:; form-action 'self'; base-uri 'none'",
        hash(script),
        hash(style)
    );
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<link rel=\"icon\" href=\"{ICON}\">\n<style>{style}</style>\n</head>\n<body>\n{body}\
         <script type=\"module\">{script}</script>\n</body>\n</html>\n",
        escape(title)
    )
}

/// Two threads crossing.
const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16' fill='none' \
    stroke-width='2.5'%3E%3Cpath d='M4 1c0 7 8 7 8 14' stroke='%232f6fde'/%3E%3Cpath d='M12 1c0 7-8 7-8 14' \
    stroke='%23d9480f'/%3E%3C/svg%3E";

fn hash(text: &str) -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!("'sha256-{hash}'")
}

/// Text that is no markup, in an element or an attribute.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in spelled(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !c.is_whitespace() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// JSON that cannot end the element it stands in, nor a line of a script.
fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).expect("tables have string keys");
    // A character that turns the direction of text would do so in the page too: its name is shown, with its backslash.
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_unseen(c) {
            true => {
                shown.push('\\');
                shown.extend(c.escape_unicode());
            }
            false => shown.push(c),
        }
    }
    shown
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
