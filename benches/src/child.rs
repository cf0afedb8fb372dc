//! A cell's child process as the parent sees it: started, waited for no longer than it must be, its line read.

use std::{
    io::Read,
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use reweave_bench_cell::{CAP_S, Outcome, Program};

use crate::tools::Tool;

/// What the parent knows of a cell.
pub(crate) enum Cell {
    Said(Outcome),
    /// No line came: how the child ended.
    Lost(String),
}

/// Wall-clock seconds after which the parent kills a child. The child stops itself after [`CAP_S`] CPU seconds, so this is for one
/// that sleeps for ever; four times as long, for the machine may be busy, and some for the start.
const CELL_WALL_S: u64 = 4 * CAP_S as u64 + 10;

/// Has a cell filled.
pub(crate) fn cell(tool: &Tool, program: Program) -> Cell {
    let said = tool
        .command(program)
        .and_then(|command| lines(command, Duration::from_secs(CELL_WALL_S)));
    match said.map(|text| text.lines().find_map(Outcome::from_line)) {
        Ok(Some(outcome)) => Cell::Said(outcome),
        Ok(None) => Cell::Lost("said nothing".to_owned()),
        Err(why) => Cell::Lost(why),
    }
}

/// Runs a child and returns what it printed, or how it failed; what it wrote to stderr then goes to ours.
pub(crate) fn lines(mut command: Command, limit: Duration) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("not started: {e}"))?;
    let stdout = drain(child.stdout.take().expect("piped above"));
    let stderr = drain(child.stderr.take().expect("piped above"));
    let ended = wait(&mut child, limit);
    let text = stdout.join().expect("the draining thread does not panic");
    let complaints = stderr.join().expect("the draining thread does not panic");
    match ended {
        Some(status) if status.success() => Ok(text),
        Some(status) => {
            eprintln!("{command:?}: {status}\n{complaints}");
            Err(status.to_string())
        }
        None => Err(format!("> {} s by the wall clock", limit.as_secs())),
    }
}

/// Reads a pipe to its end on a thread of its own, lest a child that prints much waits for us.
fn drain(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // An error ends the text early; the missing line then says so.
        let _ = pipe.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the child; kills it and returns `None` when the limit has passed.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child
            .try_wait()
            .expect("it is our child and not yet reaped")
        {
            return Some(status);
        }
        if start.elapsed() > limit {
            // It may have ended this instant; either way it is gone after `wait`.
            let _ = child.kill();
            child.wait().expect("it is our child and not yet reaped");
            return None;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
