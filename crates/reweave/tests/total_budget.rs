//! One budget for all checks of a program, by way of the environment.

use reweave::{
    Builder, Report,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};
use std::{process::Command, time::Duration};

/// 12! orders: no budget is enough.
fn endless() {
    let count = Arc::new(AtomicUsize::new(0));
    let others: Vec<_> = (0..12)
        .map(|value| {
            let count = count.clone();
            thread::spawn(move || count.fetch_add(value, SeqCst))
        })
        .collect();
    for other in others {
        other.join().unwrap();
    }
}

const TOTAL: Duration = Duration::from_millis(1600);

/// Three checks, one after the other; does something only when it is run by the other test.
#[test]
fn child() {
    if std::env::var_os("REWEAVE_TOTAL_BUDGET").is_none() {
        return;
    }
    let reports: Vec<Report> = (0..3).map(|_| Builder::new().run(endless)).collect();
    for report in &reports {
        assert_eq!(report.incomplete, ["budget"]);
        assert!(report.executions > 0, "each gets something");
    }
    let all: Duration = reports.iter().map(|report| report.elapsed).sum();
    assert!(all < 2 * TOTAL, "{all:?}");
    // One's own smaller budget stays.
    let own = Builder::new().budget(Duration::ZERO).run(endless);
    assert_eq!(own.executions, 0);
}

#[test]
fn checks_share_a_budget() {
    let mut child = Command::new(std::env::current_exe().expect("running"));
    child.args(["--exact", "child", "--nocapture"]);
    child.env("REWEAVE_TOTAL_BUDGET", format!("{}ms", TOTAL.as_millis()));
    let output = child.output().expect("this binary can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let mut wrong = Command::new(std::env::current_exe().expect("running"));
    wrong.args(["--exact", "child", "--nocapture"]);
    wrong.env("REWEAVE_TOTAL_BUDGET", "soon");
    let output = wrong.output().expect("this binary can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("REWEAVE_TOTAL_BUDGET=soon: a time such as"));
}
