//! Shuttle, by its depth-first scheduler without a bound: its one exhaustive mode. It prunes nothing.

use reweave_bench_cell::{Outcome, Program, Search, measure};
use shuttle::{Config, Runner, scheduler::DfsScheduler};

reweave_bench_cell::std_programs!(shuttle, shuttle::sync::Arc, join);

fn main() {
    reweave_bench_cell::fill(run);
}

fn run(program: Program) -> Outcome {
    measure(|| {
        let runner = Runner::new(DfsScheduler::new(None, false), Config::new());
        Search {
            executions: runner.run(move || body(program)) as u64,
            blocked: 0,
        }
    })
}
