//! Reweave, by its builder with the default algorithm.

use reweave_bench_cell::{Outcome, Program, Search, measure};

reweave_bench_cell::std_programs!(reweave, reweave::sync::Arc, join);

pub(crate) fn run(program: Program) -> Outcome {
    measure(|| search(program, 1))
}

/// One complete search.
pub(crate) fn search(program: Program, workers: usize) -> Search {
    let report = reweave::Builder::new()
        .workers(workers)
        .run(move || body(program));
    assert!(
        report.errors.is_empty(),
        "{program} has no bug, {} reported",
        report.errors.len()
    );
    assert!(report.complete, "no bound was set, yet {program} was cut");
    Search {
        executions: report.executions,
        blocked: report.blocked,
    }
}
