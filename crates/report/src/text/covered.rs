//! What a search covered, for people: what never met, what met in one order only, where it branches.

use super::{Style, clean, grouped, layout::wrap, summary::counted};
use crate::{
    coverage::{Coverage, Met, PlacePair},
    result::ResultDocument,
};

/// Pairs, stretches of lines and places of a kind that are named; the page has all.
const NAMED: usize = 5;

/// The lines about it; empty if it was not asked for.
pub(super) fn lines(result: &ResultDocument, style: Style) -> String {
    let Some(coverage) = &result.coverage else {
        return String::new();
    };
    let mut out = wrap(&headline(coverage), style.width, "  ");
    if let Some(lines) = &coverage.lines {
        let (reached, known) = (grouped(lines.reached), grouped(lines.known));
        let files = lines.unreached.iter().map(|file| clean(&file.spelled()));
        let never = match some(&files.collect::<Vec<_>>()) {
            Some(files) => format!("; never: {files}"),
            None => String::new(),
        };
        let text = format!("lines: {reached} of {known} reached{never}");
        out += &wrap(&text, style.width, "  ");
    }
    let one_order = match result.complete {
        true => "always in this order (the other is impossible, or makes no difference)",
        false => "in this order only, so far",
    };
    for (met, what) in [(Met::Never, "never met"), (Met::OneOrder, one_order)] {
        let such = coverage.pairs.iter().filter(|pair| pair.met == met);
        let names: Vec<String> = such.map(name).collect();
        if let Some(names) = some(&names) {
            out += &wrap(&format!("{what}: {names}"), style.width, "  ");
        }
    }
    if let Some(branches) = branches(coverage) {
        out += &wrap(&branches, style.width, "  ");
    }
    out
}

fn headline(coverage: &Coverage) -> String {
    let places = counted(coverage.places.len() as u64, "place");
    let count = |met, how: &str| match coverage.count(met) {
        0 => None,
        many => Some(format!("{} {how}", grouped(many))),
    };
    let parts = [
        count(Met::Both, "met in both orders"),
        count(Met::OneOrder, "in one order only"),
        count(Met::Ordered, "in an order that something else gives them"),
        count(Met::Never, "never"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let pairs = counted(coverage.pairs.len() as u64, "pair");
    let how = match parts.is_empty() {
        true => String::new(),
        false => format!(": {}", parts.join(", ")),
    };
    format!("covered: {places} with visible operations; {pairs} of them on the same objects{how}")
}

/// `a.c:3 and a.c:9`, the earlier one first where there is one.
fn name(pair: &PlacePair) -> String {
    if pair.first == pair.second {
        return clean(&format!("{} in two threads", pair.first));
    }
    let (first, second) = match pair.in_order == 0 && pair.reversed > 0 {
        true => (&pair.second, &pair.first),
        false => (&pair.first, &pair.second),
    };
    let between = match pair.met {
        Met::Never => "and",
        _ => "before",
    };
    clean(&format!("{first} {between} {second}"))
}

/// The first of them, and how many there are beside these.
fn some(names: &[String]) -> Option<String> {
    let left = names.len().saturating_sub(NAMED);
    let named = names.get(..NAMED).unwrap_or(names).join("; ");
    match (names.len(), left) {
        (0, _) => None,
        (_, 0) => Some(named),
        _ => Some(format!("{named}; and {} more", grouped(left as u64))),
    }
}

/// Where most branches leave.
fn branches(coverage: &Coverage) -> Option<String> {
    let all = coverage.branches();
    let busiest = coverage.busiest();
    let named = busiest.iter().take(NAMED).map(|place| {
        let percent = place.branches * 100 / all.max(1);
        let what = place.operations.join(", ");
        clean(&format!("{} ({what}) {percent}%", place.location))
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("branches most at {}", named.join("; ")))
}
