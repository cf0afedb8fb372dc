//! Prints the table, a row as soon as its cells are there.

use std::io::Write;

use reweave_bench_cell::{CAP_S, Outcome, Program};

use crate::{
    child::{self, Cell},
    tools::Tool,
};

/// Wide enough for `12,345,678 / 0.0000123 / 123k`.
const CELL_WIDTH: usize = 30;
/// Wide enough for `lastzero(12) [15,360]`.
const NAME_WIDTH: usize = 22;

/// Runs every program under every tool and prints as it goes.
pub(crate) fn print(tools: &[Tool], programs: impl Iterator<Item = Program>) {
    row("program", tools.iter().map(|t| t.heading.to_owned()));
    row("---", tools.iter().map(|_| "---".to_owned()));
    for program in programs {
        let name = format!("{program} [{}]", grouped(program.ideal()));
        row(
            &name,
            tools.iter().map(|tool| show(child::cell(tool, program))),
        );
    }
}

fn row(name: &str, cells: impl Iterator<Item = String>) {
    print!("| {name:<NAME_WIDTH$} |");
    for cell in cells {
        print!(" {cell:<CELL_WIDTH$} |");
        // A broken pipe shows at the next `print!`.
        let _ = std::io::stdout().flush();
    }
    println!();
}

/// A cell's text.
pub(crate) fn show(cell: Cell) -> String {
    match cell {
        Cell::Said(Outcome::Done { search, cpu_s }) => {
            let blocked = match search.blocked {
                0 => String::new(),
                n => format!(" (+{} given up)", grouped(n)),
            };
            let rate = search.executions as f64 / cpu_s;
            format!(
                "{}{blocked} / {} / {}",
                grouped(search.executions),
                seconds(cpu_s),
                short(rate)
            )
        }
        Cell::Said(Outcome::Capped { started, cpu_s }) => {
            let rate = started as f64 / cpu_s;
            format!("> {CAP_S} s ({} / {})", grouped(started), short(rate))
        }
        Cell::Said(Outcome::Refused(why)) => why,
        Cell::Lost(how) => format!("failed: {how}"),
    }
}

/// `15360` as `15,360`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Two digits that count.
pub(crate) fn seconds(s: f64) -> String {
    let decimals = (1.0 - s.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{s:.decimals$}")
}

/// `180000.0` as `180k`.
pub(crate) fn short(rate: f64) -> String {
    match rate {
        r if r >= 1e7 => format!("{:.0}M", r / 1e6),
        r if r >= 1e6 => format!("{:.1}M", r / 1e6),
        r if r >= 1e4 => format!("{:.0}k", r / 1e3),
        r if r >= 1e3 => format!("{:.1}k", r / 1e3),
        r => format!("{r:.0}"),
    }
}
