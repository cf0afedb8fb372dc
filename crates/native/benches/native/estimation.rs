//! What it costs to say how large a search is: searches by `rf` with probing and without.
//!
//! Processor time of engine and program, the least of several turns, and the memory of both at most.

use crate::table::measure;
use reweave_toolchain::Kit;

/// Programs of 9,000 to 400,000 executions, of which the time is not mostly the compiler's.
const PROGRAMS: &[(&str, u32)] = &[
    ("casrot", 11),
    ("fib-bench", 5),
    ("lastzero", 15),
    ("parker", 16),
    ("readers", 17),
    ("sigma", 8),
    ("race-parametric", 5),
    ("approxds-append", 6),
];

/// How often each is measured.
const TURNS: usize = 7;

pub fn print(kit: &Kit) {
    println!(
        "{:<20} {:>10} {:>8} {:>8} {:>7} {:>8} {:>8}",
        "estimation", "executions", "without", "with", "cost", "MB", "MB"
    );
    for (name, size) in PROGRAMS {
        let mut least = [[f64::INFINITY; 2]; 2];
        let mut runs = 0.0;
        for _ in 0..TURNS {
            for (least, probing) in least.iter_mut().zip([false, true]) {
                let seen = measure(kit, name, *size, 1, probing).expect("it can be measured");
                let [executions, seconds, _, _, most] = seen;
                runs = executions;
                *least = [least[0].min(seconds), least[1].min(most)];
            }
        }
        let [[without, before], [with, after]] = least;
        println!(
            "{:<20} {runs:>10} {without:>8.3} {with:>8.3} {:>+6.1}% {before:>8.1} {after:>8.1}",
            format!("{name}({size})"),
            (with / without - 1.0) * 100.0,
        );
    }
    println!();
}
