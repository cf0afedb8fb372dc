//! Explores a program that is already built: `rate PROGRAM [ARGS]`.

use reweave_drive::{Launch, Native, Restart};
use reweave_explore::{Algorithm, Flow, Options, Search};
use std::{path::PathBuf, time::Instant};

fn main() {
    let mut args = std::env::args_os().skip(1);
    let program = PathBuf::from(args.next().expect("a program"));
    let launch = Launch {
        args: args.collect(),
        restart: match std::env::var_os("FORK") {
            Some(_) => Restart::Fork,
            None => Restart::Warm,
        },
        ..Launch::new(program)
    };
    let mut search = Search::new(Options {
        algorithm: Algorithm::Optimal,
        ..Options::default()
    });
    let start = Instant::now();
    search
        .run(
            1,
            |_| Native::start(&launch).expect("starts"),
            || Flow::Continue,
            |_, execution| {
                if let Some(error) = execution.errors.first() {
                    println!("{error:?}");
                    return Flow::Stop;
                }
                Flow::Continue
            },
        )
        .expect("deterministic");
    let totals = search.totals();
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{totals:?}\n{seconds:.3} s, {:.0} executions/s, {:.2} M events/s",
        totals.runs() as f64 / seconds,
        totals.events as f64 / seconds / 1e6
    );
}
