//! What an operation costs a broker, by the processor time of its process: `cargo run --release -p reweave-cluster --example broker_rate -- URL PID`.
//!
//! 20,000 pieces of 2 KB are written, read, reported and removed. What a busy machine does beside the broker does not matter.

use reweave_cluster::{Broker, Credentials};
use std::{error::Error, fs, time::Instant};

const PIECES: u64 = 20_000;
const BYTES: usize = 2_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [url, process] = &words[..] else {
        return Err("usage: broker_rate URL PID".into());
    };
    let broker = Broker::connect(url, &Credentials::default())?;
    let (begun, before) = (Instant::now(), processor_ms(process)?);
    let operations = broker.exercise(PIECES, BYTES)?;
    let (wall, busy) = (begun.elapsed(), processor_ms(process)? - before);
    println!(
        "{operations} operations in {:.1} s; the broker was busy for {:.1} s: {:.1} us each, {:.0} a second and core",
        wall.as_secs_f64(),
        busy as f64 / 1e3,
        busy as f64 * 1e3 / operations as f64,
        operations as f64 * 1e3 / busy.max(1) as f64
    );
    Ok(())
}

/// The processor time of a process, in ms; the kernel counts in hundredths of a second.
fn processor_ms(process: &str) -> Result<u64, Box<dyn Error>> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in brackets, may contain anything.
    let (_, rest) = stat.rsplit_once(')').ok_or("no such process")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).ok_or("no such field");
    Ok(10 * (ticks(11)?.parse::<u64>()? + ticks(12)?.parse::<u64>()?))
}
