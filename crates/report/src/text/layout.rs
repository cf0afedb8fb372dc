//! Rows of a listing and how they are put on a page: one column a thread where that fits, else one line after the other
//! with the thread's name in front.

use super::Style;
use std::collections::BTreeSet;

/// One line of the listing.
pub(crate) struct Row {
    /// The event, from 0; `None`: something that is no event.
    pub step: Option<usize>,
    /// Stands in the place of the step's number when there is none.
    pub sign: &'static str,
    /// Whose line it is, as an index into the headers.
    pub thread: usize,
    /// `file:line`.
    pub place: String,
    /// What happened.
    pub text: String,
}

/// Longest listing that is not folded, and what is left of a longer one at both ends.
const UNFOLDED: usize = 60;
const FIRST: usize = 12;
const LAST: usize = 40;
/// Fewer hidden lines than this are not worth hiding.
const WORTH: usize = 3;
/// More threads than this are never put side by side.
const COLUMNS: usize = 4;
/// Least distance of two columns.
const PITCH: usize = 12;

/// The listing as text. `keep`: events that are shown whatever is folded.
pub(crate) fn listing(
    headers: &[String],
    rows: &[Row],
    keep: &BTreeSet<usize>,
    style: Style,
) -> String {
    let numbers = rows.iter().filter_map(|row| row.step).max().unwrap_or(0) + 1;
    let digits = numbers.to_string().len().max(4);
    let places = rows.iter().map(|row| width(&row.place)).max().unwrap_or(0);
    let places = places.max("place".len());
    let gutter = digits + 2 + places + 2;
    let starts = columns(headers, rows, style.width.saturating_sub(gutter));
    let mut out = String::new();
    if let Some(starts) = &starts {
        let mut line = format!("{:>digits$}  {}", "step", pad("place", places + 2));
        for (header, start) in headers.iter().zip(starts) {
            line = pad(&line, gutter + start) + header;
        }
        out += &style.dim(line.trim_end());
        out.push('\n');
    }
    let names = headers
        .iter()
        .map(|header| width(header))
        .max()
        .unwrap_or(0);
    for piece in fold(rows, keep, style.full) {
        match piece {
            Piece::Row(row) => {
                let number = row
                    .step
                    .map_or(row.sign.to_owned(), |step| (step + 1).to_string());
                let front = format!("{number:>digits$}  {}  ", pad(&row.place, places));
                let text = match &starts {
                    Some(starts) => " ".repeat(starts[row.thread]) + &row.text,
                    None => pad(&format!("[{}]", headers[row.thread]), names + 4) + &row.text,
                };
                out += &style.dim(&front);
                out += style.thread(row.thread, text.trim_end()).as_str();
            }
            Piece::Hidden(rows) => {
                let steps = rows.iter().filter(|row| row.step.is_some()).count();
                let text = match (steps, rows.len()) {
                    (0, lines) => format!("{lines} more lines"),
                    (1, _) => "1 more step".into(),
                    (steps, _) => format!("{steps} more steps"),
                };
                let line = format!("{:>digits$}  {text}", "...");
                out += &style.dim(&line);
            }
        }
        out.push('\n');
    }
    out
}

/// Where each thread's column begins, if they fit. A line has only one cell, so a cell may reach into the columns to its
/// right; only the page's edge is a limit.
fn columns(headers: &[String], rows: &[Row], room: usize) -> Option<Vec<usize>> {
    if headers.len() > COLUMNS {
        return None;
    }
    let mut widest: Vec<usize> = headers.iter().map(|header| width(header)).collect();
    for row in rows {
        widest[row.thread] = widest[row.thread].max(width(&row.text));
    }
    let apart = |index: usize| PITCH.max(width(&headers[index]) + 2);
    // The latest place at which each column can begin, so that it and those after it have room.
    let mut latest = vec![0; headers.len()];
    let mut edge = usize::MAX;
    for index in (0..headers.len()).rev() {
        edge = room.checked_sub(widest[index])?.min(edge);
        latest[index] = edge;
        if index > 0 {
            edge = edge.checked_sub(apart(index - 1))?;
        }
    }
    let mut starts = Vec::with_capacity(headers.len());
    let mut natural = 0;
    for (need, latest) in widest.iter().zip(&latest) {
        let start = natural.min(*latest);
        starts.push(start);
        natural = start + need + 2;
    }
    // Cells that overlap read better at even distances.
    if let (Some(last), true) = (starts.last().copied(), starts.len() > 2) {
        let gaps = starts.len() - 1;
        let even: Vec<usize> = (0..=gaps).map(|index| last * index / gaps).collect();
        let fits = even
            .iter()
            .zip(&widest)
            .all(|(start, need)| start + need <= room);
        let spaced = (0..gaps).all(|index| even[index + 1] >= even[index] + apart(index));
        if fits && spaced {
            return Some(even);
        }
    }
    Some(starts)
}

enum Piece<'a> {
    Row(&'a Row),
    /// Lines that are not shown.
    Hidden(&'a [Row]),
}

fn fold<'a>(rows: &'a [Row], keep: &BTreeSet<usize>, full: bool) -> Vec<Piece<'a>> {
    if full || rows.len() <= UNFOLDED {
        return rows.iter().map(Piece::Row).collect();
    }
    let shown = |index: usize| {
        index < FIRST
            || index + LAST >= rows.len()
            || rows[index].sign == "!"
            || rows[index].step.is_some_and(|step| keep.contains(&step))
    };
    let mut pieces = Vec::new();
    let mut index = 0;
    while index < rows.len() {
        let hidden = (index..rows.len())
            .take_while(|index| !shown(*index))
            .count();
        if hidden >= WORTH {
            pieces.push(Piece::Hidden(&rows[index..index + hidden]));
            index += hidden;
        } else {
            let upto = (index + hidden.max(1)).min(rows.len());
            pieces.extend(rows[index..upto].iter().map(Piece::Row));
            index = upto;
        }
    }
    pieces
}

/// Columns on a terminal, as far as that matters for names and paths.
pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

/// With blanks at the end, up to a width.
pub(crate) fn pad(text: &str, to: usize) -> String {
    let blanks = to.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}

/// Breaks a text into lines of at most `to` columns, at blanks where there are some, and keeps its own line ends.
pub(crate) fn wrap(text: &str, to: usize, indent: &str) -> String {
    let room = to.saturating_sub(width(indent)).max(20);
    let mut out = String::new();
    for line in text.lines() {
        let own: String = line.chars().take_while(|c| *c == ' ').collect();
        let mut current = own.clone();
        for word in line.split_whitespace() {
            if width(&current) > width(&own) && width(&current) + 1 + width(word) > room {
                out += &format!("{indent}{current}\n");
                current = own.clone();
            }
            if width(&current) > width(&own) {
                current.push(' ');
            }
            current += word;
        }
        out += format!("{indent}{current}").trim_end();
        out.push('\n');
    }
    out
}
