//! How fast native programs are explored: `cargo bench -p reweave-native`, or a part of it, `-- lastzero=12 readers=15`, `-- straight`,
//! `-- memory`, `-- rungs`.
//!
//! * Programs of the corpus by name and size: see [`rates`].
//! * `table`: the table of the RF-SMC paper beside other checkers, by `rf`; `table-long` has its longest row too, `workers` says what a
//!   second worker is worth. See [`table`]. `beside` (with `table-long`, too) runs the other checkers as well: see [`peers`].
//! * `loops`: programs with loops that wait or retry. See [`loops`].
//! * `estimation`: what it costs to say how large a search is.
//! * `rungs`: what it costs to run a program again, warm, forked and in a new process.
//! * `straight`: what hooks cost in code that does nothing visible.
//! * `memory`: that a million executions leave nothing behind.
//!
//! Else one worker on one core, `optimal`, warm.

mod estimation;
mod loops;
mod memory;
mod peers;
mod rates;
mod rungs;
mod straight;
mod table;

use reweave_explore::{Target, TargetError};
use reweave_model::{Execution, Plan};
use reweave_native::NativeTarget;
use reweave_toolchain::Kit;
use std::path::{Path, PathBuf};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // Cargo says `--bench`.
    let wanted: Vec<&str> = args.into_iter().filter(|arg| *arg != "--bench").collect();
    if let ["row", words @ ..] = wanted.as_slice() {
        return table::print_row(words);
    }
    let all = wanted.is_empty();
    let kit = Kit::unpack().expect("the kit can be unpacked");
    if wanted.contains(&"workers") {
        table::print_workers(&kit);
    }
    one_core();
    let programs: Vec<(&str, u32)> = wanted.iter().filter_map(|arg| program(arg)).collect();
    if all || !programs.is_empty() {
        rates::print(&kit, if all { rates::PROGRAMS } else { &programs });
    }
    let long = wanted.contains(&"table-long");
    let beside = wanted.contains(&"beside");
    if let (true, Some(program)) = (beside, peers::missing()) {
        eprintln!("beside: {program} is not on the search path");
        std::process::exit(2);
    }
    if all || long || beside || wanted.contains(&"table") {
        table::print(&kit, long, beside);
    }
    if all || wanted.contains(&"loops") {
        loops::print(&kit);
    }
    if all || wanted.contains(&"estimation") {
        estimation::print(&kit);
    }
    if all || wanted.contains(&"rungs") {
        rungs::print(&kit);
    }
    if all || wanted.contains(&"straight") {
        straight::print(&kit);
    }
    if all || wanted.contains(&"memory") {
        memory::print(&kit);
    }
}

fn program(arg: &str) -> Option<(&str, u32)> {
    let (name, size) = arg.split_once('=')?;
    Some((name, size.parse().ok()?))
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("two below").into()
}

/// Seconds of processor time that this process and its children have used.
fn processor_time() -> f64 {
    let used = |who: libc::c_int| {
        // SAFETY: all zeros is a valid `rusage`, and `getrusage` writes only this local one.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(who, &mut usage);
            usage
        };
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        seconds(usage.ru_utime) + seconds(usage.ru_stime)
    };
    used(libc::RUSAGE_SELF) + used(libc::RUSAGE_CHILDREN)
}

/// Stays on the processor it is on, with all processes it starts.
fn one_core() {
    // SAFETY: sets the affinity of this process from a set on the stack.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(libc::sched_getcpu().max(0) as usize, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// A program that is looked at when it is ended.
struct Watched {
    native: NativeTarget,
    end: fn(&NativeTarget),
}

impl Target for Watched {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, TargetError> {
        self.native.run(plan)
    }

    fn batch(&self) -> usize {
        self.native.batch()
    }

    fn prepare(&mut self, plans: &[Plan]) {
        self.native.prepare(plans);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        (self.end)(&self.native);
    }
}
