//! What hooks cost in code that does nothing visible: `straight.c`, with another thread there so that accesses are checked, against the same
//! without hooks.

use crate::root;
use reweave_drive::{
    Launch, Native,
    compile::{self, Kit},
};
use reweave_model::{Plan, Policy};
use std::{ffi::OsString, path::Path, process::Command, time::Instant};

/// Functions of `straight.c`.
const KERNELS: [&str; 3] = ["sort", "tree", "checksum"];

/// Of so many runs the fastest counts.
const RUNS: u32 = 5;

pub fn print(kit: &Kit) {
    println!(
        "{:<20} {:>10} {:>10} {:>10}",
        "straight", "without ms", "hooked ms", "times"
    );
    for kernel in KERNELS {
        let without = plain(kernel);
        let hooked = hooked(kit, kernel);
        let times = hooked / without;
        println!("{kernel:<20} {without:>10.1} {hooked:>10.1} {times:>10.1}");
    }
    println!();
}

fn words(kernel: &str) -> Vec<OsString> {
    let source = root().join("crates/drive/benches/native/straight.c");
    let kernel = format!("-DKERNEL={kernel}");
    vec![source.into(), kernel.into(), "-O2".into()]
}

/// Milliseconds without hooks.
fn plain(kernel: &str) -> f64 {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("straight-{kernel}"));
    let status = Command::new("cc")
        .args(words(kernel))
        .args(["-pthread", "-o"])
        .arg(&program)
        .status();
    assert!(status.is_ok_and(|status| status.success()), "it compiles");
    fastest(|| {
        let status = Command::new(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "it runs");
    })
}

/// Milliseconds with hooks, under the runtime.
fn hooked(kit: &Kit, kernel: &str) -> f64 {
    let built = compile::build(kit, words(kernel)).expect("it compiles");
    let mut native = Native::start(&Launch::new(built.program.clone())).expect("it starts");
    let plan = Plan {
        policy: Policy::First,
        ..Plan::default()
    };
    fastest(|| {
        native.observe(&plan).expect("it runs");
    })
}

fn fastest(run: impl FnMut()) -> f64 {
    let mut run = run;
    let time = |_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}
