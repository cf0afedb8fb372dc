//! One cell of the table, as seen by the process that fills it: which program, how it is measured, and the line in which the
//! result goes back to the parent. Every tool's executable calls [`fill`]; its searches are run by [`measure()`], which owns the
//! only counters of the process.

mod measure;
mod outcome;
mod program;
mod std_programs;

pub use measure::{CAP_S, count_execution, executions_started, measure, process_cpu_s};
pub use outcome::{Outcome, Search};
pub use program::Program;

/// The `main` of a cell's process: the last argument names the program, `run` fills the cell, its line goes to stdout.
pub fn fill(run: impl FnOnce(Program) -> Outcome) {
    let program: Program = std::env::args()
        .next_back()
        .expect("the parent passes a program's name")
        .parse()
        .expect("the parent passes a program's name");
    println!("{}", run(program).to_line());
}
