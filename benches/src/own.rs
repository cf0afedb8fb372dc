//! The second section, Reweave alone: does the rate hold as programs grow, what does a second worker bring, does memory stay flat.
//! Each figure comes from a child of its own, like a cell (`own workers <n> <program>`, `own memory <program>`).

use std::{
    process::Command,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use reweave_bench_cell::{Outcome, Program, executions_started, process_cpu_s};

use crate::{
    child::{self, Cell},
    reweave,
    table::{grouped, seconds, short, show},
    tools::{Tool, this_executable},
};

/// First word of a child's line.
const MARK: &str = "@own";
/// Wall-clock seconds a child of this section may take.
const WALL_S: u64 = 300;
/// CPU seconds after which the memory search is cut; it has long shown its trend by then.
const MEMORY_CAP_S: f64 = 120.0;
/// Executions after which the first memory sample is taken: pools and caches are warm by then.
const WARM: u64 = 10_000;
/// A million executions.
const MEMORY_PROGRAM: Program = Program::Readers(20);

/// The child's side; the parent passes what it expects.
pub(crate) fn child(words: &[&str]) {
    match words {
        ["workers", workers, program] => workers_child(
            workers.parse().expect("the parent passes a number"),
            program.parse().expect("the parent passes a program's name"),
        ),
        ["memory", program] => {
            memory_child(program.parse().expect("the parent passes a program's name"));
        }
        _ => unreachable!("the parent knows the two"),
    }
}

/// The parent's side: runs and prints the section.
pub(crate) fn print() {
    print_rate();
    print_workers();
    print_memory();
}

fn print_rate() {
    println!("\nReweave, rate over N on lastzero(N), 1 worker\n");
    println!("| N | executions | per CPU second | events per execution | events per CPU second |");
    println!("| --- | --- | --- | --- | --- |");
    let own = Tool::own();
    for n in 3..=12 {
        match child::cell(&own, Program::Lastzero(n)) {
            Cell::Said(Outcome::Done { search, cpu_s }) => {
                let rate = search.executions as f64 / cpu_s;
                let events = lastzero_events(n);
                println!(
                    "| {n} | {} | {} | {events:.1} | {} |",
                    grouped(search.executions),
                    short(rate),
                    short(rate * events)
                );
            }
            cell => println!("| {n} | {} | - | - | - |", show(cell)),
        }
    }
}

/// Mean events of an execution of lastzero(N): N spawns, N joins, a load and a store in each of N threads, and the scan's loads.
///
/// The scan stops at index i >= 1 after N - i + 1 loads, or reaches 0 after N. Counted in units of 2^(N-2) traces (see
/// `Program::ideal`): i = N twice, each of 1..N once, 0 twice, N + 3 in all. The sum of loads is then
/// 2 * 1 + (2 + ... + N) + 2 * N = (N^2 + 5N + 2) / 2.
fn lastzero_events(n: usize) -> f64 {
    let n = n as f64;
    let scan = (n * n + 5.0 * n + 2.0) / (2.0 * (n + 3.0));
    4.0 * n + scan
}

fn print_workers() {
    println!("\nReweave, 2 workers against 1, wall seconds (CPU seconds)\n");
    // A search of about ten seconds: each N takes a little more than twice its predecessor.
    for n in 13..=20 {
        let program = Program::Lastzero(n);
        let one = match timed(1, program) {
            Ok(one) if one.wall_s < 8.0 && n < 20 => continue,
            Ok(one) => one,
            Err(how) => return println!("{program}, 1 worker: {how}"),
        };
        let two = match timed(2, program) {
            Ok(two) => two,
            Err(how) => return println!("{program}, 2 workers: {how}"),
        };
        let same = if one.counts == two.counts {
            "same counts"
        } else {
            "COUNTS DIFFER"
        };
        println!("| program | 1 worker | 2 workers | times as fast | executions (given up) |");
        println!("| --- | --- | --- | --- | --- |");
        println!(
            "| {program} | {} ({}) | {} ({}) | {:.2} | {} ({}), {} ({}): {same} |",
            seconds(one.wall_s),
            seconds(one.cpu_s),
            seconds(two.wall_s),
            seconds(two.cpu_s),
            one.wall_s / two.wall_s,
            grouped(one.counts.0),
            grouped(one.counts.1),
            grouped(two.counts.0),
            grouped(two.counts.1),
        );
        return;
    }
}

struct Timed {
    /// Executions, given up.
    counts: (u64, u64),
    wall_s: f64,
    cpu_s: f64,
}

fn timed(workers: usize, program: Program) -> Result<Timed, String> {
    let words = own_line(&["workers", &workers.to_string(), &program.to_string()])?;
    match words[..] {
        [executions, blocked, wall_s, cpu_s] => Ok(Timed {
            counts: (executions as u64, blocked as u64),
            wall_s,
            cpu_s,
        }),
        _ => Err("said nothing".to_owned()),
    }
}

fn workers_child(workers: usize, program: Program) {
    let (wall, cpu) = (Instant::now(), process_cpu_s());
    let search = reweave::search(program, workers);
    println!(
        "{MARK} {} {} {} {}",
        search.executions,
        search.blocked,
        wall.elapsed().as_secs_f64(),
        process_cpu_s() - cpu
    );
}

fn print_memory() {
    println!("\nReweave, memory on {MEMORY_PROGRAM}, 1 worker (VmRSS; peak is VmHWM)\n");
    match own_line(&["memory", &MEMORY_PROGRAM.to_string()]).as_deref() {
        Ok(&[early, early_kb, late, late_kb, peak_kb]) => println!(
            "{:.1} MB after {} executions, {:.1} MB after {}, peak {:.1} MB",
            early_kb / 1e3,
            grouped(early as u64),
            late_kb / 1e3,
            grouped(late as u64),
            peak_kb / 1e3
        ),
        Ok(_) => println!("failed: said nothing"),
        Err(how) => println!("failed: {how}"),
    }
}

/// The first and the last sample so far: executions, kB.
static SAMPLES: Mutex<Option<[(u64, u64); 2]>> = Mutex::new(None);

fn memory_child(program: Program) {
    thread::spawn(sample);
    reweave::search(program, 1);
    say_memory();
}

/// Samples from outside the search, so that no I/O happens in an execution; ends the process at the cap.
fn sample() {
    while executions_started() < WARM {
        thread::sleep(Duration::from_millis(1));
    }
    let early = (executions_started(), status_kb("VmRSS:"));
    while process_cpu_s() < MEMORY_CAP_S {
        let late = (executions_started(), status_kb("VmRSS:"));
        *SAMPLES.lock().expect("no holder panics") = Some([early, late]);
        thread::sleep(Duration::from_millis(20));
    }
    say_memory();
    std::process::exit(0);
}

fn say_memory() {
    if let Some([early, late]) = *SAMPLES.lock().expect("no holder panics") {
        let peak = status_kb("VmHWM:");
        println!(
            "{MARK} {} {} {} {} {peak}",
            early.0, early.1, late.0, late.1
        );
    }
}

fn status_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.parse().ok())
        .expect("Linux has the field, in kB")
}

/// The numbers of a child's line.
fn own_line(args: &[&str]) -> Result<Vec<f64>, String> {
    let mut command = Command::new(this_executable());
    command.arg("own").args(args);
    let text = child::lines(command, Duration::from_secs(WALL_S))?;
    let line = text.lines().find_map(|line| line.strip_prefix(MARK));
    let words = line.unwrap_or_default().split_whitespace();
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}
