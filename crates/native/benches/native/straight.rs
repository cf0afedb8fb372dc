//! What hooks cost in code that does nothing visible: `straight.c`, with another thread there so that accesses are checked, against the same
//! without hooks.

use crate::{processor_time, root};
use reweave_explore::Target;
use reweave_model::Plan;
use reweave_native::{Launch, NativeTarget};
use reweave_toolchain::{
    Kit,
    compile::{self},
};
use std::{ffi::OsString, path::Path, process::Command};

/// Functions of `straight.c`.
const KERNELS: [&str; 3] = ["sort", "tree", "checksum"];

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
    let source = root().join("crates/native/benches/native/straight.c");
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
    let run = |_| {
        let status = Command::new(&program).status();
        assert!(status.is_ok_and(|status| status.success()), "it runs");
    };
    milliseconds(|| (0..RUNS).for_each(run)) / f64::from(RUNS)
}

/// Milliseconds with hooks, under the runtime.
fn hooked(kit: &Kit, kernel: &str) -> f64 {
    let built = compile::build(kit, words(kernel)).expect("it compiles");
    let launch = Launch::new(built.program.clone());
    let runs = |count: u32| {
        let mut native = NativeTarget::start(&launch).expect("it starts");
        for _ in 0..count {
            native.run(&Plan::default()).expect("it runs");
        }
    };
    let first = milliseconds(|| runs(1));
    (milliseconds(|| runs(1 + RUNS)) - first) / f64::from(RUNS)
}

/// Of processor time.
fn milliseconds(work: impl FnOnce()) -> f64 {
    let used = processor_time();
    work();
    (processor_time() - used) * 1e3
}
