//! Processes that a program starts by itself, past the runtime: they are found, ended and reported.
//!
//! *Decides:* which processes a program has left behind. *Called by:* `process`, after each batch and when a process ends. *Owns:* nothing.
//!
//! The runtime refuses `fork`, but a program can start processes that it does not see: by a system call of its own. A program's process adopts
//! its orphans, and this process adopts those of a program that has ended, so none can get away. *Invariant:* while a
//! parent has not waited for a process, the number of the process is not reused.

use std::{
    fs, io,
    path::PathBuf,
    thread::sleep,
    time::{Duration, Instant},
};

/// How long ended processes may take to disappear.
const PATIENCE: Duration = Duration::from_secs(1);

/// Has the orphans below the calling process become its children. Async-signal-safe.
pub(crate) fn adopt_orphans() {
    // SAFETY: `prctl` with these numbers sets an attribute of this process and takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// The children that threads of a process have: those of its first thread, or of `all`.
fn children(process: u32, all: bool) -> Vec<u32> {
    let list = |thread: &str| {
        let path = format!("/proc/{process}/task/{thread}/children");
        fs::read_to_string(path).unwrap_or_default()
    };
    let text = match all {
        false => list(&process.to_string()),
        true => {
            let threads = fs::read_dir(format!("/proc/{process}/task"));
            let threads = threads.into_iter().flatten().flatten();
            threads
                .map(|thread| list(&thread.file_name().to_string_lossy()))
                .collect()
        }
    };
    let numbers = text.split_ascii_whitespace();
    numbers.filter_map(|word| word.parse().ok()).collect()
}

/// The process that the runtime forks for a run.
#[derive(Clone, Copy)]
pub(crate) enum RunProcess {
    None,
    /// The runtime was about to note its number.
    Unknown,
    Known(u32),
}

impl RunProcess {
    /// By what the runtime has noted.
    pub(crate) fn noted(forked: u32) -> RunProcess {
        match forked {
            0 => RunProcess::None,
            reweave_wire::FORKING => RunProcess::Unknown,
            number => RunProcess::Known(number),
        }
    }

    /// Whether this is it. The first that is asked for is the unknown one.
    pub(crate) fn is(&mut self, process: u32) -> bool {
        if let RunProcess::Unknown = self {
            *self = RunProcess::Known(process);
        }
        matches!(self, RunProcess::Known(number) if *number == process)
    }
}

/// Whether a program's process has children that it should not have, others than the process of a `run`.
pub(crate) fn any(process: u32, all: bool, mut run: RunProcess) -> bool {
    children(process, all).iter().any(|child| !run.is(*child))
}

/// Everything below a process, however deep.
fn below(process: u32, all: bool) -> Vec<u32> {
    let mut found = children(process, all);
    let mut next = 0;
    while next < found.len() {
        // Others are not ours: any of their threads may have children.
        found.extend(children(found[next], true));
        next += 1;
    }
    found
}

/// Whether a process still runs.
fn runs(process: u32) -> bool {
    let state = state(process);
    state.is_some_and(|state| state != b'Z' && state != b'X')
}

/// What the kernel says that a process, or its first thread, does: a letter of `/proc/PID/stat`.
fn state(process: u32) -> Option<u8> {
    state_in(&format!("/proc/{process}/stat"))
}

fn state_in(path: &str) -> Option<u8> {
    let text = fs::read(path).ok()?;
    // The name before it may hold anything.
    let name = text.iter().rposition(|byte| *byte == b')')?;
    text.get(name + 2).copied()
}

/// Whether a process waits in the kernel: its first thread, and with `all` every other one.
pub(crate) fn sleeps(process: u32, all: bool) -> bool {
    let asleep = |path: &str| state_in(path) == Some(b'S');
    if !asleep(&format!("/proc/{process}/stat")) {
        return false;
    }
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let mut threads = threads.into_iter().flatten().flatten();
    !all || threads.all(|thread| asleep(&thread.path().join("stat").to_string_lossy()))
}

/// The system calls that a process waits in: that of its first thread, or of `all`.
pub(crate) fn system_calls(process: u32, all: bool) -> Vec<u32> {
    let threads = match all {
        false => vec![PathBuf::from(format!("/proc/{process}"))],
        true => {
            let threads = fs::read_dir(format!("/proc/{process}/task"));
            let threads = threads.into_iter().flatten().flatten();
            threads.map(|thread| thread.path()).collect()
        }
    };
    let call = |thread: PathBuf| {
        let text = fs::read_to_string(thread.join("syscall")).ok()?;
        text.split_ascii_whitespace().next()?.parse().ok()
    };
    threads.into_iter().filter_map(call).collect()
}

fn kill(process: i64, signal: i32) {
    // SAFETY: a signal to a process that a parent of it has not waited for, so that the number is still its own.
    unsafe { libc::kill(process as libc::pid_t, signal) };
}

/// Ends everything below a program's process, which is stopped for that and about to be ended. Returns what there was.
pub(crate) fn end_below(process: u32, all: bool) -> Vec<u32> {
    kill(process.into(), libc::SIGSTOP);
    let since = Instant::now();
    // Until it stands, it may start more.
    while state(process).is_some_and(|state| !b"TtZX".contains(&state))
        && since.elapsed() < PATIENCE
    {
        sleep(Duration::from_millis(1));
    }
    loop {
        let found = below(process, all);
        let running: Vec<u32> = found.iter().copied().filter(|child| runs(*child)).collect();
        if running.is_empty() || since.elapsed() > PATIENCE {
            return found;
        }
        running
            .iter()
            .for_each(|child| kill((*child).into(), libc::SIGKILL));
        sleep(Duration::from_millis(1));
    }
}

/// Ends and forgets what is left of a program whose process has ended: `left` was found below it, the rest is in its process group or in
/// none of the `known` programs'. Whether there was anything but the process of a `run`.
pub(crate) fn end_orphans(leader: u32, left: &[u32], known: &[u32], mut run: RunProcess) -> bool {
    let mut found = !left.is_empty();
    let since = Instant::now();
    loop {
        let all = children(std::process::id(), true);
        let mut orphans = all.into_iter().filter(|child| {
            let ours = left.contains(child) || group(*child) == Some(leader);
            *child != leader && !known.contains(child) && (ours || is_of_program(*child))
        });
        let Some(orphan) = orphans.next() else {
            return found;
        };
        found |= !run.is(orphan);
        kill(orphan.into(), libc::SIGKILL);
        if !reap(orphan) {
            sleep(Duration::from_millis(1));
        }
        if since.elapsed() > PATIENCE {
            return true;
        }
    }
}

/// Whether a process group, whose leader was waited for, still has members.
pub(crate) fn group_lives(leader: u32) -> bool {
    // SAFETY: `kill` takes numbers and no pointer; signal 0 only asks whether the group exists.
    unsafe { libc::kill(-(leader as libc::pid_t), 0) == 0 }
}

fn group(process: u32) -> Option<u32> {
    // SAFETY: `getpgid` takes a number and no pointer, and changes nothing.
    let group = unsafe { libc::getpgid(process as libc::pid_t) };
    u32::try_from(group).ok()
}

/// Whether a process was started under the runtime, as its environment shows.
fn is_of_program(process: u32) -> bool {
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let mut words = environment.split(|byte| *byte == 0);
    words.any(|word| word.starts_with(MARK))
}

/// In the environment of programs.
const MARK: &[u8] = b"REWEAVE_CHANNEL=";

/// Takes note of a child's end; whether it has ended, or is no child.
fn reap(child: u32) -> bool {
    // SAFETY: `waitpid` writes to its pointer, which is null: no status is asked for.
    let ended = unsafe {
        libc::waitpid(
            child as libc::pid_t,
            std::ptr::null_mut(),
            libc::WNOHANG | libc::__WALL,
        )
    };
    ended > 0 || (ended < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ECHILD))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{BufRead, BufReader},
        process::{Child, Command, Stdio},
    };

    /// A shell with this many children, which end with its input, and their numbers.
    fn parent_of(count: usize) -> (Child, Vec<u32>) {
        let script = format!(
            "exec 3<&0; {} wait",
            "cat <&3 >&2 & echo $!; ".repeat(count)
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]);
        let mut shell = shell
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("there is a shell");
        let output = BufReader::new(shell.stdout.take().expect("it is piped"));
        let lines = output.lines().take(count).map_while(Result::ok);
        let numbers = lines.map(|line| line.parse().expect("the number of a process"));
        (shell, numbers.collect())
    }

    /// With `--restart fork` a process may be looked at while the process of a run is there: that is none that the program left
    /// behind, also when its number is not noted yet. Another one is.
    #[test]
    fn the_process_of_a_run_is_not_left_behind() {
        for count in [1, 2] {
            let (mut shell, numbers) = parent_of(count);
            let process = shell.id();
            let any = |run| any(process, false, run);
            assert_eq!(numbers.len(), count);
            assert!(any(RunProcess::noted(0)));
            let others = count > 1;
            assert_eq!(any(RunProcess::noted(reweave_wire::FORKING)), others);
            assert_eq!(any(RunProcess::noted(numbers[0])), others);
            assert!(any(RunProcess::noted(process)));
            drop(shell.stdin.take());
            shell.wait().expect("its input has ended");
            assert!(!super::any(process, false, RunProcess::None));
        }
    }
}
