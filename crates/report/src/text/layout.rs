//! Rows of a listing and how they are put on a page: a column for each thread where that fits, else a narrow lane for each with its name
//! in the line, else the name alone. Source lines stand at the right where there is room.

use super::Style;

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
    /// The source line.
    pub source: Option<String>,
    /// Whether it is shown when others are folded.
    pub matters: bool,
    /// Whether the failure is about it: such lines are never folded.
    pub key: bool,
}

/// Of more lines that matter than these, those are shown that the failure is about, and those nearest to them.
const UNFOLDED: usize = 60;
/// Lines around one that the failure is about which are shown as well.
const NEAR: usize = 2;
/// Fewer hidden lines than this are not worth hiding.
const WORTH: usize = 3;
/// Least distance of two columns.
const PITCH: usize = 12;
/// Width of a lane, and the part of the page that lanes may take.
const LANE: usize = 2;
const LANES: usize = 3;
/// Least room that is worth a source line.
const SOURCE: usize = 24;
/// What a last line needs beside its column; the rest of it goes below.
const END: usize = 28;

/// The listing as text, and how many steps it leaves out.
pub(crate) fn listing(headers: &[String], rows: &[Row], style: Style) -> (String, usize) {
    let pieces = fold(rows, style.full);
    let shown: Vec<&Row> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Row(row) => Some(*row),
            Piece::Hidden(_) => None,
        })
        .collect();
    let page = Page::new(headers, &shown, style);
    let mut out = page.head();
    let mut hidden = 0;
    let mut at = 0;
    for piece in &pieces {
        match piece {
            Piece::Row(row) => {
                out += &page.row(row, at);
                at += 1;
            }
            Piece::Hidden(rows) => {
                let steps = rows.iter().filter(|row| row.step.is_some()).count();
                hidden += steps;
                let text = match (steps, rows.len()) {
                    (0, lines) => format!("{lines} lines"),
                    (1, _) => "1 step".into(),
                    (steps, _) => format!("{steps} steps"),
                };
                let digits = page.digits;
                out += &style.dim(&format!("{:>digits$}  {text}", "..."));
                out.push('\n');
            }
        }
    }
    (out, hidden)
}

/// How threads are told apart.
enum Threads {
    /// One column each, which begins here.
    Columns(Vec<usize>),
    /// A narrow lane each, and the name in front of the text.
    Lanes,
    /// The name in front of the text.
    Names,
}

/// How the lines of a listing are put on a page.
struct Page<'a> {
    style: Style,
    /// Threads that have lines, with what they are called.
    used: Vec<(usize, &'a str)>,
    /// For each of them, its first and last line.
    alive: Vec<(usize, usize)>,
    threads: Threads,
    digits: usize,
    places: usize,
    /// Where source lines begin.
    source: Option<usize>,
}

impl<'a> Page<'a> {
    fn new(headers: &'a [String], rows: &[&Row], style: Style) -> Page<'a> {
        let numbers = rows.iter().filter_map(|row| row.step).max().unwrap_or(0) + 1;
        let places = rows.iter().map(|row| width(&row.place)).max().unwrap_or(0);
        let of = |thread: usize| {
            let mut lines = (0..rows.len()).filter(|line| rows[*line].thread == thread);
            let first = lines.next()?;
            Some((first, lines.next_back().unwrap_or(first)))
        };
        let used: Vec<(usize, &str)> = headers
            .iter()
            .enumerate()
            .filter(|(thread, _)| of(*thread).is_some())
            .map(|(thread, header)| (thread, header.as_str()))
            .collect();
        let alive = used.iter().filter_map(|(thread, _)| of(*thread)).collect();
        let mut page = Page {
            style,
            used,
            alive,
            threads: Threads::Names,
            digits: numbers.to_string().len().max(4),
            places: places.max("place".len()),
            source: None,
        };
        let room = style.width.saturating_sub(page.gutter());
        let names: Vec<&str> = page.used.iter().map(|(_, name)| *name).collect();
        let need = |row: &&Row| match row.step {
            Some(_) => width(&row.text),
            None => width(&row.text).min(END),
        };
        let needs: Vec<(usize, usize)> = rows
            .iter()
            .map(|row| (page.column(row.thread), need(row)))
            .collect();
        page.threads = match columns(&names, &needs, room) {
            Some(starts) => Threads::Columns(starts),
            None if page.used.len() * LANE * LANES <= style.width => Threads::Lanes,
            None => Threads::Names,
        };
        page.source = page.source_column(rows);
        page
    }

    fn gutter(&self) -> usize {
        self.digits + 2 + self.places + 2
    }

    /// Which of the threads that have lines it is.
    fn column(&self, thread: usize) -> usize {
        let found = self.used.iter().position(|(used, _)| *used == thread);
        found.expect("a line is of a thread that has lines")
    }

    fn head(&self) -> String {
        let digits = self.digits;
        let mut line = format!("{:>digits$}  {}", "step", pad("place", self.places + 2));
        match &self.threads {
            Threads::Columns(starts) => {
                for ((_, header), start) in self.used.iter().zip(starts) {
                    line = pad(&line, self.gutter() + start) + header;
                }
            }
            Threads::Lanes | Threads::Names => {
                line = pad(&line, self.gutter() + self.lanes());
                line += "thread";
            }
        }
        if let Some(source) = self.source {
            line = pad(&line, source) + "source";
        }
        self.style.dim(line.trim_end()) + "\n"
    }

    /// Columns that lanes take.
    fn lanes(&self) -> usize {
        match self.threads {
            Threads::Lanes => self.used.len() * LANE + 1,
            Threads::Columns(_) | Threads::Names => 0,
        }
    }

    /// What stands between the gutter and the text of a line.
    fn lead(&self, row: &Row, at: usize) -> String {
        let column = self.column(row.thread);
        if let Threads::Columns(starts) = &self.threads {
            return " ".repeat(starts[column]);
        }
        let mut lead = String::new();
        if let Threads::Lanes = self.threads {
            for (lane, (first, last)) in self.alive.iter().enumerate() {
                lead += match lane == column {
                    true => "* ",
                    false if (*first..*last).contains(&at) => "| ",
                    false => "  ",
                };
            }
            lead.push(' ');
        }
        let names = self.used.iter().map(|(_, name)| width(name)).max();
        lead + &pad(self.used[column].1, names.unwrap_or(0) + 2)
    }

    fn row(&self, row: &Row, at: usize) -> String {
        let digits = self.digits;
        let number = row
            .step
            .map_or(row.sign.to_owned(), |step| (step + 1).to_string());
        let front = format!("{number:>digits$}  {}  ", pad(&row.place, self.places));
        let lead = self.lead(row, at);
        let indent = width(&front) + width(&lead);
        let text = wrap(&row.text, self.style.width.saturating_sub(indent), "");
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        let mut out = self.style.dim(&front);
        let mut line = lead + first;
        let end = width(&front) + width(&line);
        if let (Some(source), Some(text)) = (self.source, &row.source) {
            if end + 2 <= source {
                let room = self.style.width - source;
                line = pad(&line, source - width(&front));
                out += &self.style.thread(row.thread, &line);
                out += &self.style.dim(&cut(text, room));
                line.clear();
            }
        }
        out += self.style.thread(row.thread, line.trim_end()).as_str();
        out.push('\n');
        for line in lines {
            let line = format!("{}{line}", " ".repeat(indent));
            out += &(self.style.thread(row.thread, &line) + "\n");
        }
        out
    }

    /// Where source lines fit beside most lines.
    fn source_column(&self, rows: &[&Row]) -> Option<usize> {
        let end = |row: &&Row| self.gutter() + width(&self.lead(row, 0)) + width(&row.text);
        let mut ends: Vec<usize> = rows
            .iter()
            .filter(|row| row.source.is_some())
            .map(end)
            .collect();
        ends.sort();
        let fits = |end: &&usize| **end + 2 + SOURCE <= self.style.width;
        let most = ends.iter().filter(fits).count() * 3 >= ends.len() * 2;
        let last = ends.iter().rev().find(fits)?;
        let headers = match &self.threads {
            Threads::Columns(starts) => starts
                .last()
                .zip(self.used.last())
                .map_or(0, |(start, (_, header))| start + width(header)),
            Threads::Lanes | Threads::Names => 0,
        };
        let source = (self.gutter() + headers).max(*last) + 2;
        (most && source + SOURCE <= self.style.width).then_some(source)
    }
}

/// Where each thread's column begins, if they fit. A line has only one cell, so a cell may reach into the columns to its
/// right; only the page's edge is a limit.
fn columns(headers: &[&str], needs: &[(usize, usize)], room: usize) -> Option<Vec<usize>> {
    let mut widest: Vec<usize> = headers.iter().map(|header| width(header)).collect();
    for (column, need) in needs {
        widest[*column] = widest[*column].max(*need);
    }
    let apart = |index: usize| PITCH.max(width(headers[index]) + 2);
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

fn fold(rows: &[Row], full: bool) -> Vec<Piece<'_>> {
    let shown = match full {
        true => vec![true; rows.len()],
        false => chosen(rows),
    };
    let mut pieces = Vec::new();
    let mut index = 0;
    while index < rows.len() {
        let hidden = shown[index..].iter().take_while(|shown| !**shown).count();
        let rest = index + hidden == rows.len();
        if hidden >= WORTH || (hidden > 0 && rest) {
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

/// Which lines are shown: those that matter, or, of too many, what the failure is about, what stands near it, where another thread goes on,
/// and then the latest.
fn chosen(rows: &[Row]) -> Vec<bool> {
    let mattering: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].matters).collect();
    let key = |row: usize| rows[row].key || rows[row].step.is_none();
    let mut ranked: Vec<(u8, usize)> = Vec::with_capacity(mattering.len());
    for (nth, row) in mattering.iter().enumerate() {
        let around = nth.saturating_sub(NEAR)..(nth + NEAR + 1).min(mattering.len());
        let before = nth.checked_sub(1).map(|before| &rows[mattering[before]]);
        let rank = match () {
            () if mattering.len() <= UNFOLDED || key(*row) => 0,
            () if around.clone().any(|near| key(mattering[near])) => 1,
            () if before.is_some_and(|before| before.thread != rows[*row].thread) => 2,
            () => 3,
        };
        ranked.push((rank, *row));
    }
    ranked.sort_by_key(|(rank, row)| (*rank, std::cmp::Reverse(*row)));
    let mut shown = vec![false; rows.len()];
    for (number, (rank, row)) in ranked.into_iter().enumerate() {
        shown[row] = rank == 0 || number < UNFOLDED;
    }
    shown
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

/// At most so many columns, with a sign where something is missing.
pub(crate) fn cut(text: &str, to: usize) -> String {
    match width(text) <= to {
        true => text.into(),
        false => text.chars().take(to.saturating_sub(2)).collect::<String>() + "..",
    }
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
