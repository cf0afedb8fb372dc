//! Prints every ratchet's number beside its limit. `--tighten` lowers the limits of numbers that have shrunk; `--rewrite` also raises them, for code
//! that moves from crate to crate; `--places` names every place.

use reweave_testing::tidy::{self, limits};
use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let asked = |option: &str| env::args().skip(1).any(|argument| argument == option);
    let lines = limits::compare(&tidy::ratchets());
    let mut rule = String::new();
    for line in &lines {
        if line.rule != rule {
            rule.clone_from(&line.rule);
            let same = lines.iter().filter(|line| line.rule == rule);
            let (current, limit) = same.fold((0, 0), |(current, limit), line| {
                (current + line.current, limit + line.limit)
            });
            let keys = lines.iter().filter(|line| line.rule == rule).count();
            println!("{rule}: {current} in {keys} (limit {limit})");
        }
        let mark = match line.current.cmp(&line.limit) {
            std::cmp::Ordering::Greater => "  GROWN",
            std::cmp::Ordering::Less => "  shrunk",
            std::cmp::Ordering::Equal => "",
        };
        println!(
            "  {:>5} of {:>5}  {}{mark}",
            line.current, line.limit, line.key
        );
        if asked("--places") {
            for place in &line.places {
                println!("                  {place}");
            }
        }
    }
    if asked("--tighten") || asked("--rewrite") {
        limits::write(&lines, asked("--rewrite"));
        return ExitCode::SUCCESS;
    }
    match limits::broken(&lines).is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}
