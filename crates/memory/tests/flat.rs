//! Memory stays flat over many runs, and in a long one. The only test of its process, so that it can look at the whole of it.

use reweave_memory::{Kind, Shadow};
use reweave_model::{Site, ThreadId};

const DATA: usize = 0x7000_0000_1000;

#[test]
fn memory_stays_flat() {
    let mut shadow = Shadow::new(reweave_memory::fresh).expect("there is address space");
    many_runs(&mut shadow);
    a_long_run(&mut shadow);
}

fn many_runs(shadow: &mut Shadow) {
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

/// Reads of many threads pile up in one place, and are done with at the next write.
fn a_long_run(shadow: &mut Shadow) {
    shadow.clear();
    let mut early = 0;
    for round in 1..50_000 {
        if round == 1000 {
            early = resident();
        }
        for thread in 0..10 {
            // Knows the writes, not the other reads; the writer knows all.
            let mut clock = if thread == 9 { [round; 10] } else { [0; 10] };
            clock[9] = round - u32::from(thread != 9);
            clock[thread] = round;
            shadow.turn(ThreadId(thread as u32), round);
            let kind = if thread == 9 { Kind::Write } else { Kind::Read };
            assert_eq!(shadow.access(&clock, DATA, 8, kind, Site(1)), None);
        }
    }
    // Segments have 8 bytes each, 4 MB. Short lists that were given up for longer ones have about 100 bytes a round, 5 MB.
    let late = resident();
    assert!(late < early + 6_500_000, "{early} bytes, then {late}");
}

/// Bytes of memory that this process has.
fn resident() -> usize {
    let numbers = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages = numbers.split(' ').nth(1).expect("a second number");
    pages.parse::<usize>().expect("a number of pages") * 4096
}
