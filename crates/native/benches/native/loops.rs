//! Programs with loops that wait or retry (`programs/loops`), explored as `reweave check` does: by `rf`, which restarts without failed rounds once
//! it sees that a loop waits.
//!
//! Complete executions, discarded ones and processor time, of the program's compilation too; beside them what GenMC 0.11 (`--sc`) and Nidhugg 0.4
//! (`--sc --optimal`) needed for the programs of their own repositories that ours were written after, measured once.

use crate::{Watched, processor_time, root};
use reweave_explore::{Flow, Options, Search};
use reweave_native::{Launch, NativeTarget};
use reweave_toolchain::{Kit, compile};
use std::ffi::OsString;

/// Processor seconds after which a search is stopped.
const PATIENCE: f64 = 20.0;

/// A program with its macros, and what GenMC and Nidhugg needed.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static str,
);

const ROWS: &[Row] = &[
    ("taslock", &["N=4"], "-", "-"),
    ("spinlock", &["N=4"], "576", "576 + 1084"),
    ("ticketlock", &["N=5"], "120", "120"),
    ("ttaslock", &["N=3"], "36 + 58", "36"),
    ("mcs", &["N=3"], "66", "0 + 282"),
    ("twalock", &["N=3"], "96", "96"),
    ("rwlock", &["N=2"], "14 + 20", "64"),
    ("seqlock", &["N=2"], "18 + 110", "-"),
    ("barrier", &["N=4"], "24", "-"),
    ("mpmc-queue", &["N=1"], "3 + 2", "3 + 5"),
    (
        "treiber-stack",
        &["N=3", "READERS=2"],
        "6120 + 3336",
        "6120 + 3336",
    ),
    ("ms-queue", &["N=2", "READERS=2"], "-", "-"),
    ("combiner", &["N=3"], "-", "-"),
];

/// Prints the table.
pub fn print(kit: &Kit) {
    println!(
        "{:<28} {:>10} {:>10} {:>8}  {:<16} {:>12} {:>12}",
        "loops", "complete", "discarded", "seconds", "equivalence", "GenMC", "Nidhugg"
    );
    for (name, defines, genmc, nidhugg) in ROWS {
        let program = format!("{name}({})", defines.join(", "));
        match measure(kit, name, defines) {
            Ok(line) => println!("{program:<28} {line} {genmc:>12} {nidhugg:>12}"),
            Err(why) => println!("{program:<28} {why}"),
        }
    }
    println!();
}

fn measure(kit: &Kit, name: &str, defines: &[&str]) -> Result<String, String> {
    let used = processor_time();
    let source = root().join(format!("programs/loops/{name}.c"));
    let defines = defines.iter().map(|it| OsString::from(format!("-D{it}")));
    let words = [source.into_os_string(), "-O1".into()];
    let words = words.into_iter().chain(defines).collect();
    let built = compile::build(kit, words).map_err(|error| error.to_string())?;
    let launch = Launch::new(built.program.clone());
    let mut options = Options::default();
    loop {
        let mut search = Search::new(options);
        let target = |_| Watched {
            native: NativeTarget::start(&launch).expect("the program starts"),
            end: |_| {},
        };
        let before = || match processor_time() - used > PATIENCE {
            true => Flow::Stop,
            false => Flow::Continue,
        };
        let explored = search.run(1, target, before, |_, _| Flow::Continue);
        explored.map_err(|error| error.to_string())?;
        if let Some(why) = search.unfit() {
            options.instead(why);
            continue;
        }
        let totals = search.totals();
        let more = if search.exhausted() { ' ' } else { '+' };
        return Ok(format!(
            "{:>9}{more} {:>10} {:>8.2}  {:<16}",
            totals.executions,
            totals.redundant,
            processor_time() - used,
            options.equivalence(),
        ));
    }
}
