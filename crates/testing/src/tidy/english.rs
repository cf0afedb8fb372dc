//! Words that plain English has better ones for, in comments and documents.

use super::{limits::Found, tree::Source};

/// *report*, *restart*, *cross-check*: see the glossary.
const WORDS: [&str; 3] = ["anew", "held against", "is told"];

fn count(text: &str) -> usize {
    let text = text.to_lowercase();
    let part = |c: char| c.is_alphanumeric();
    let mut count = 0;
    for word in WORDS {
        for (at, _) in text.match_indices(word) {
            let before = text[..at].chars().next_back().is_some_and(part);
            let after = text[at + word.len()..].chars().next().is_some_and(part);
            count += usize::from(!before && !after);
        }
    }
    count
}

/// The comment of a line of Rust; a string that looks like one counts as well.
fn comment(line: &str) -> &str {
    line.find("//").map_or("", |at| &line[at..])
}

pub fn odd_words(sources: &[Source], pages: &[Source]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut add = |source: &Source, number: usize, line: usize| {
        if number > 0 && source.package() != Some("testing") {
            let first = source.path.split('/').next().unwrap_or_default();
            let top = if source.path.contains('/') {
                first
            } else {
                "docs"
            };
            found.push(Found {
                rule: "odd-english",
                key: source.package().unwrap_or(top).into(),
                number,
                place: format!("{}:{line}", source.path),
            });
        }
    };
    for source in sources {
        for (line, text) in source
            .text
            .lines()
            .zip(1..)
            .map(|(text, line)| (line, text))
        {
            add(source, count(comment(text)), line);
        }
    }
    for page in pages {
        for (text, line) in page.text.lines().zip(1..) {
            add(page, count(text), line);
        }
    }
    found
}

#[test]
fn words_are_whole() {
    assert_eq!(count("Begins anew; canewood; what IS TOLD is tolder"), 2);
    assert_eq!(comment("let anew = 1; // anew"), "// anew");
}
