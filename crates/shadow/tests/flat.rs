//! Memory stays flat over many runs. The only test of its process, so that it can look at the whole of it.

use reweave_model::{Site, ThreadId};
use reweave_shadow::{Kind, Shadow};

const DATA: usize = 0x7000_0000_1000;

#[test]
fn many_runs_use_the_memory_of_the_first_ones() {
    let mut shadow = Shadow::new(reweave_shadow::fresh).expect("there is address space");
    let mut early = 0;
    let runs = 100_000;
    for run in 0..runs {
        if run == 1000 {
            early = resident();
        }
        shadow.clear();
        // Three threads that know nothing of each other: own memory, and a place where their reads pile up.
        for epoch in 1..5 {
            for thread in 0..3 {
                let clock = [0, 1, 2].map(|other| if other == thread { epoch } else { 0 });
                shadow.turn(ThreadId(thread as u32), epoch);
                let mut access = |address, bytes, kind| {
                    assert_eq!(shadow.access(&clock, address, bytes, kind, Site(1)), None);
                };
                access(DATA + 256 * thread, 64, Kind::Write);
                access(DATA + 4096, 32, Kind::Read);
                access(DATA + 4096 + epoch as usize, 8, Kind::AtomicRead);
            }
        }
    }
    // A word for each run would be 800 KB.
    let late = resident();
    assert!(late < early + 400_000, "{early} bytes, then {late}");
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let numbers = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages = numbers.split(' ').nth(1).expect("a second number");
    pages.parse::<usize>().expect("a number of pages") * 4096
}
