//! loom, by `model::Builder::check` with its defaults, without `--cfg loom`: that flag is a convention for the user's own imports.
//! Executions are the closure's calls; loom does not tell the number itself.
//!
//! The programs are given the form in which loom explores least: std's `Arc` (with its own, mutex(3) takes 6,225 executions, not
//! 414) and no joins but in mutex, since loom runs every thread to its end anyway (with joins, lastzero(3) takes 2,691, not 153).

use loom::model::Builder;
use reweave_bench_cell::{Outcome, Program, Search, executions_started, measure};

reweave_bench_cell::std_programs!(loom, std::sync::Arc, leave);

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
