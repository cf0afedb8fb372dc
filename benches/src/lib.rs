//! Reweave against its peers: the same programs, one table, one run (`cargo bench`, or `cargo bench -- lastzero` for the rows whose
//! name contains a word).
//!
//! The parent process prints; each cell is filled by a child, an executable of the tool's own, so that a tool that hangs or
//! aborts loses only its cell. Numbers are `executions / CPU seconds / executions per CPU second`, see
//! [`reweave_bench_cell::measure`].
//!
//! With the feature `reweave`: its column, and a second section on scaling, workers and memory.

mod child;
#[cfg(feature = "reweave")]
mod own;
#[cfg(feature = "reweave")]
mod reweave;
mod table;
mod tools;

use reweave_bench_cell::{CAP_S, Program};

use crate::tools::Tool;

const PROGRAMS: [Program; 11] = [
    Program::Mutex(3),
    Program::Mutex(4),
    Program::Lastzero(3),
    Program::Lastzero(6),
    Program::Lastzero(9),
    Program::Lastzero(12),
    Program::Readers(4),
    Program::Readers(8),
    Program::Readers(12),
    Program::Senders(6),
    Program::Senders(8),
];

/// Parent or child, by the first argument.
pub fn main() {
    // cargo passes `--bench` of its own accord.
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words[..] {
        #[cfg(feature = "reweave")]
        ["cell", _] => reweave_bench_cell::fill(reweave::run),
        #[cfg(feature = "reweave")]
        ["own", ..] => own::child(&words[1..]),
        [] => parent(""),
        [filter] => parent(filter),
        _ => {
            eprintln!("at most one argument: a part of the programs' names");
            std::process::exit(2);
        }
    }
}

fn parent(filter: &str) {
    let tools = Tool::all();
    println!(
        "executions / CPU seconds / executions per CPU second; in brackets how many are enough"
    );
    println!(
        "CPU time of the whole process; cells are cut after {CAP_S} CPU seconds, then: executions begun / their rate\n"
    );
    let programs = PROGRAMS
        .into_iter()
        .filter(|p| p.to_string().contains(filter));
    table::print(&tools, programs);
    #[cfg(feature = "reweave")]
    if filter.is_empty() {
        own::print();
    }
}
