//! loom, by `model::Builder::check` with its defaults, without `--cfg loom`: that flag is a convention for the user's own
//! imports. `Arc` is std's, which is loom's better side: its own makes mutex(3) 6,225 executions, this 414. Executions are the closure's calls; loom does not tell the number itself.

use loom::model::Builder;
use reweave_bench_cell::{Outcome, Program, Search, executions_started, measure};

reweave_bench_cell::std_programs!(loom, std::sync::Arc);

fn main() {
    reweave_bench_cell::fill(run);
}

fn run(program: Program) -> Outcome {
    if program.threads() > loom::MAX_THREADS {
        return Outcome::Refused(format!("at most {} threads", loom::MAX_THREADS));
    }
    measure(|| {
        let before = executions_started();
        Builder::new().check(move || body(program));
        Search {
            executions: executions_started() - before,
            blocked: 0,
        }
    })
}
