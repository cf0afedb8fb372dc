//! That a million executions leave nothing behind, in the driver or in the program.

use crate::rates::build;
use reweave_explore::{AlgorithmName, Flow, Options, Search};
use reweave_native::{Launch, NativeTarget};
use reweave_toolchain::Kit;
use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// 2^20 executions.
const PROGRAM: (&str, u32) = ("readers", 20);

/// After so many executions memory is looked at.
const LOOKS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

pub fn print(kit: &Kit) {
    print_of(kit, AlgorithmName::Optimal);
    print_of(kit, AlgorithmName::Rf);
}

fn print_of(kit: &Kit, algorithm: AlgorithmName) {
    let (name, size) = PROGRAM;
    let title = format!("{name}({size}) by {}", algorithm.name());
    println!("{title:>21}   driver MB  program MB");
    let built = build(kit, name, size).expect("it compiles");
    let launch = Launch::new(built.program.clone());
    let mut search = Search::new(Options {
        algorithm,
        ..Options::default()
    });
    let done = AtomicU64::new(0);
    let target = |_| NativeTarget::start(&launch).expect("the program starts");
    let after = |_: &_, _: &_| {
        let done = done.fetch_add(1, Relaxed) + 1;
        if LOOKS.contains(&done) {
            let children = children().iter().map(|child| resident(child)).sum::<f64>();
            println!("{done:>21} {:>11.2} {children:>11.2}", resident("self"));
        }
        Flow::Continue
    };
    let explored = search.run(1, target, || Flow::Continue, after);
    explored.expect("it does the same again");
    println!();
}

/// Processes that this one has started.
pub fn children() -> Vec<String> {
    let threads = fs::read_dir("/proc/self/task").expect("Linux");
    let list = |thread: std::io::Result<fs::DirEntry>| {
        let path = thread.expect("Linux").path().join("children");
        fs::read_to_string(path).unwrap_or_default()
    };
    let lists: String = threads.map(list).collect();
    lists.split_ascii_whitespace().map(str::to_owned).collect()
}

/// Megabytes that a process has in memory.
pub fn resident(process: &str) -> f64 {
    let pages = fs::read_to_string(format!("/proc/{process}/statm")).expect("Linux");
    let resident = pages.split(' ').nth(1).and_then(|pages| pages.parse().ok());
    resident.unwrap_or(0.0) * 4096.0 / 1e6
}

/// Megabytes that a process had in memory at most.
pub fn peak(process: &str) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse().ok());
    kilobytes.unwrap_or(0.0) * 1024.0 / 1e6
}
