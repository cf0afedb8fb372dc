//! Random programs of several processes that talk through pipes and sockets, and of threads that share an epoll: what they come to, against oracles of their own.
//!
//! The oracles (`oracle.rs`, those of `sockets` and `epoll`) know nothing of Reweave: they have processes with tables of what is open, queues, and
//! every order of their steps. The compiled program is explored, and the outcomes must be the same set: what every process has read and
//! what its calls returned, folded into one number, or a deadlock. `dfs` must meet each of them, and so must `optimal` and `rf`, which
//! meet each class once.
//!
//! `REWEAVE_CASES` sets the number of programs, `REWEAVE_SEED` the seed of the first one.

mod epoll;
mod harness;
mod oracle;
mod program;
mod sockets;

use harness::{Outcome, compare, compare_calls, compile};
use reweave_native::Rule;
use std::{collections::BTreeSet, env};

/// Programs in one file.
const BATCH: usize = 30;

fn number(variable: &str, usual: u64) -> u64 {
    let text = env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A kind of random programs.
struct Kind<P> {
    random: fn(u64) -> P,
    outcomes: fn(&P) -> BTreeSet<Outcome>,
    source: fn(&[&P]) -> String,
    /// What is known about the programs before they run.
    rules: &'static [Rule],
    /// Whether they are built with hooks.
    hooks: bool,
}

/// Compares random programs of a kind with their oracle.
fn check<P: std::fmt::Display>(kind: &Kind<P>, first: u64, cases: u64) {
    let cases = number("REWEAVE_CASES", cases) as usize;
    let first = number("REWEAVE_SEED", first);
    let mut seeds = first..;
    let (mut compared, mut outcomes, mut deadlocks) = (0, 0, 0);
    while compared < cases {
        let mut batch: Vec<(u64, P, BTreeSet<Outcome>)> = Vec::new();
        while batch.len() < BATCH {
            let seed = seeds.next().expect("there is no end to them");
            let program = (kind.random)(seed);
            let expected = (kind.outcomes)(&program);
            // Where all comes to the same there is little to find.
            if expected.len() > 1 || seed.is_multiple_of(16) {
                batch.push((seed, program, expected));
            }
        }
        let place = tempfile::tempdir().expect("there is room for files");
        let programs: Vec<&P> = batch.iter().map(|(_, program, _)| program).collect();
        let path = compile(place.path(), &(kind.source)(&programs), kind.hooks);
        let compare = if kind.hooks { compare } else { compare_calls };
        for (number, (seed, program, expected)) in batch.iter().enumerate() {
            if compared == cases {
                break;
            }
            let text = format!("REWEAVE_SEED={seed} REWEAVE_CASES=1\n{program}");
            if compare(&path, number, kind.rules, expected, &text) {
                compared += 1;
                outcomes += expected.len();
                deadlocks += usize::from(expected.contains(&Outcome::Deadlock));
            }
        }
    }
    println!("{compared} programs, {outcomes} outcomes, {deadlocks} with deadlocks");
    assert!(cases < 20 || deadlocks * 10 > cases && (cases - deadlocks) * 10 > cases);
}

#[test]
fn random_processes_with_pipes_come_to_what_they_should() {
    let kind = Kind {
        random: program::random,
        outcomes: oracle::outcomes,
        source: program::source,
        rules: &[Rule::Processes],
        hooks: true,
    };
    check(&kind, 1800, 40);
}

#[test]
fn random_processes_with_sockets_come_to_what_they_should() {
    let kind = Kind {
        random: sockets::random,
        outcomes: sockets::outcomes,
        source: sockets::source,
        rules: &[Rule::Processes],
        hooks: true,
    };
    check(&kind, 5200, 24);
}

#[test]
fn random_threads_with_an_epoll_come_to_what_they_should() {
    let kind = Kind {
        random: epoll::random,
        outcomes: epoll::outcomes,
        source: epoll::source,
        rules: &[],
        hooks: true,
    };
    check(&kind, 7300, 30);
}

#[test]
fn the_same_is_explored_in_programs_without_hooks() {
    let processes = Kind {
        random: program::random,
        outcomes: oracle::outcomes,
        source: program::source,
        rules: &[Rule::Processes],
        hooks: false,
    };
    check(&processes, 2400, 20);
    let sockets = Kind {
        random: sockets::random,
        outcomes: sockets::outcomes,
        source: sockets::source,
        rules: &[Rule::Processes],
        hooks: false,
    };
    check(&sockets, 5700, 20);
    let threads = Kind {
        random: epoll::random,
        outcomes: epoll::outcomes,
        source: epoll::source,
        rules: &[],
        hooks: false,
    };
    check(&threads, 7900, 20);
}
