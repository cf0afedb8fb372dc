//! A search in one line, and a result document as a page.

use super::{
    Large, Part, Span, Style, clean, covered, grouped,
    layout::{pad, width, wrap},
    unexplored::{self, reasons},
};
use crate::result::{Finding, Multiplies, ResultDocument};

/// One line: `complete, 6 executions, no error under sequential consistency`.
pub fn summary(result: &ResultDocument) -> String {
    let runs = counted(result.executions, "execution");
    if !result.errors.is_empty() {
        let (all, certain) = (result.errors.len() as u64, result.certain() as u64);
        let errors = match all - certain {
            0 => counted(all, "error"),
            doubtful if certain == 0 => counted(doubtful, "doubtful error"),
            doubtful => format!("{} and {doubtful} doubtful", counted(certain, "error")),
        };
        let stopped = result
            .incomplete
            .iter()
            .any(|why| why == "stopped-at-error");
        let rest = if result.complete {
            "; everything was explored".into()
        } else if stopped && result.incomplete.len() == 1 {
            "; stopped there".into()
        } else {
            format!("; incomplete: {}", reasons(result))
        };
        return format!("{errors} found in {runs}{rest}");
    }
    if result.complete {
        return format!("complete, {runs}, no error under sequential consistency");
    }
    format!(
        "incomplete ({}), {runs}, no error so far under sequential consistency",
        reasons(result)
    )
}

/// The whole document for people.
pub fn render_result(result: &ResultDocument, style: Style) -> String {
    render_untold(result, 0, style)
}

/// The document for people who have read the stories of its first errors already.
pub fn render_untold(result: &ResultDocument, told: usize, style: Style) -> String {
    let headline = format!("{}: {}", clean(&result.program), clean(&summary(result)));
    let mut out = style.bold(&headline);
    out.push('\n');
    out += &wrap(&clean(&facts(result).join(", ")), style.width, "  ");
    if let Some(age) = cached(result) {
        out += &wrap(&age, style.width, "  ");
    }
    if result.weak_orders > 0 {
        let places = counted(result.weak_orders, "place");
        let text = format!(
            "{places} asking for less than sequential consistency; what only weaker orders can do was not \
             explored"
        );
        out += &wrap(&text, style.width, "  ");
    }
    for why in result
        .incomplete
        .iter()
        .filter(|why| *why != "stopped-at-error" && !unexplored::is_listed(result, why))
    {
        out += &wrap(
            &format!("not explored: {}", explain(why)),
            style.width,
            "  ",
        );
    }
    out += &unexplored::unseen(result, style);
    for error in result.errors.iter().filter(|error| error.doubtful) {
        let at = error.location.as_deref().unwrap_or("?");
        let because = error.because.as_deref().unwrap_or_default();
        let text = format!("doubtful: the {} at {at}: {because}", error.kind.name());
        out += &wrap(&clean(&text), style.width, "  ");
    }
    for known in &result.suppressed {
        let at = known.location.as_deref().unwrap_or("?");
        let (kind, seen) = (known.kind.name(), counted(known.seen, "execution"));
        let text = format!(
            "known: {kind} at {at}, in {seen}; what it can do was explored: {}",
            known.reason
        );
        out += &wrap(&clean(&text), style.width, "  ");
    }
    out += &unexplored::lines(result, style);
    if let Some(size) = size(result) {
        out += &wrap(&size, style.width, "  ");
    }
    out += &covered::lines(result, style);
    for advice in advice(result) {
        out += &wrap(&advice, style.width, "  ");
    }
    let errors = result.errors.get(told..).unwrap_or_default();
    for (title, findings) in [("error", errors), ("warning", &result.warnings)] {
        for finding in findings {
            out.push('\n');
            out += &one(title, finding, style);
        }
    }
    out
}

/// How it was explored, and how much there was.
fn facts(result: &ResultDocument) -> Vec<String> {
    let because = result.algorithm_because.as_ref();
    let because = because.map_or(String::new(), |why| format!(", since {}", clean(why)));
    let mut facts = vec![
        format!(
            "algorithm {} ({}){because}",
            result.algorithm, result.equivalence
        ),
        counted(result.events, "event"),
        format!("at most {}", counted(result.threads_max.into(), "thread")),
        format!("{:.3} s", result.elapsed_s),
        counted(result.workers.into(), "worker"),
    ];
    if let Some(duplicates) = result.duplicates {
        let least = if result.duplicates_missed {
            "at least "
        } else {
            ""
        };
        facts.push(format!(
            "{least}{} run before",
            counted(duplicates, "execution")
        ));
    }
    if result.blocked > 0 {
        let by = result.blocked_by;
        facts.push(format!(
            "{} given up ({} by assume, {} redundant)",
            counted(result.blocked, "run"),
            grouped(by.assume),
            grouped(by.redundant)
        ));
    }
    facts
}

/// That nothing was explored.
fn cached(result: &ResultDocument) -> Option<String> {
    let age = Span(result.cached_s?);
    Some(format!(
        "not explored again: nothing has changed since this was found, {age} ago (--no-cache explores it)"
    ))
}

/// How large a search is that did not come to its end.
fn size(result: &ResultDocument) -> Option<String> {
    let estimate = result.estimate.filter(|estimate| estimate.covered < 1.0)?;
    let left = estimate.seconds.unwrap_or(f64::INFINITY) - result.elapsed_s;
    Some(format!(
        "explored: {} of about {} executions; the rest would take about {}",
        Part(estimate.covered),
        Large(estimate.executions_log10),
        Span(left.max(0.0))
    ))
}

/// A search that would take longer than this gets advice.
const PATIENCE_S: f64 = 60.0;

/// What to do about a search that is too large to finish.
fn advice(result: &ResultDocument) -> Vec<String> {
    let unfinished = ["budget", "max-executions", "interrupted"];
    let cut = result
        .incomplete
        .iter()
        .any(|why| unfinished.contains(&why.as_str()));
    let left = result.estimate.map_or(0.0, |estimate| {
        estimate.seconds.unwrap_or(f64::INFINITY) - result.elapsed_s
    });
    if !cut || left < PATIENCE_S {
        return Vec::new();
    }
    let mut advice = vec![
        "advice: --preemptions 2 explores all schedules with at most two preemptions, which most errors need; --algorithm pct samples random ones".to_owned(),
    ];
    if let Some(place) = &result.multiplies {
        advice.push(multiplies(place));
    }
    advice
}

/// The loop or the threads that make a search large, and what would make it smaller.
fn multiplies(place: &Multiplies) -> String {
    let Multiplies {
        location,
        thread,
        times,
        threads,
        steps,
        of,
    } = place;
    let share = format!(
        "{} of the {} steps that can meet other threads",
        grouped(*steps),
        grouped(*of)
    );
    let most = match (*times, *threads) {
        (3.., _) => format!(
            "a loop comes to {location} {} times in {thread}; {share} are there: a test with fewer rounds is much smaller",
            grouped(*times)
        ),
        (_, 3..) => format!(
            "{threads} threads come to {location}; {share} are there: a test with one thread less is much smaller"
        ),
        _ => format!("{share} are at {location}: a test with less of it is smaller"),
    };
    clean(&most)
}

fn one(title: &str, finding: &Finding, style: Style) -> String {
    let rule = finding.rule.as_ref().map(|rule| format!(" ({rule})"));
    let at = finding.location.as_ref().map(|at| format!(" at {at}"));
    let head = format!(
        "{title}: {}{}{}",
        finding.kind.name(),
        rule.unwrap_or_default(),
        at.unwrap_or_default()
    );
    let mut out = style.red(&clean(&head));
    out.push('\n');
    out += &wrap(&clean(&finding.message), style.width, "  ");
    let seen = match finding.seen {
        1 => "seen in one execution".to_owned(),
        n => format!("seen in {}", counted(n, "execution")),
    };
    out += &match finding.events {
        0 => format!("  {seen}\n"),
        steps => format!("  {seen}, shown in {}\n", counted(steps, "step")),
    };
    if let Some(trace) = &finding.trace {
        out += &format!("  reweave report {}\n", clean(trace));
    }
    out
}

/// What a reason of incompleteness means, and what to do about it.
fn explain(why: &str) -> String {
    let known = [
        (
            "budget",
            "what was left when the time was up; `check --resume` goes on there",
        ),
        (
            "interrupted",
            "what was left when the check was interrupted; `check --resume` goes on there",
        ),
        (
            "max-executions",
            "what was left after the largest number of executions that was asked for; `check --resume` goes on there",
        ),
        (
            "max-steps",
            "what comes after the step limit in executions that were cut there",
        ),
        (
            "timeouts",
            "more timeouts in a row, in a loop that is in another state each time (it may compute its deadlines from the clock)",
        ),
        (
            "clocks",
            "whether threads that ask for the time in seconds, or in other coarse units, get the same answer",
        ),
        (
            "preemptions",
            "executions with more preemptions than were asked for",
        ),
        (
            "sampling",
            "whatever the random choice of executions did not meet",
        ),
        (
            "races",
            "what the racy accesses can do beyond the order in which they were run",
        ),
        ("races-unchecked", "races, which were not looked for"),
        (
            "calls-only",
            "what threads do in memory between their library calls, and races: the program was built without hooks",
        ),
    ];
    match known.iter().find(|(name, _)| *name == why) {
        Some((name, text)) => format!("{text} ({name})"),
        None => clean(why),
    }
}

/// `1 execution`, `7,168 executions`.
pub(crate) fn counted(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(n))
}

/// Two columns, for short tables.
pub(crate) fn table(rows: &[(String, String)], to: usize) -> String {
    let left = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0) + 2;
    let mut out = String::new();
    for (name, text) in rows {
        let body = wrap(text, to, &" ".repeat(left + 2));
        let first = format!("  {}", pad(name, left));
        out += &first;
        out += body.trim_start_matches(' ');
    }
    out
}
