//! One process of a native program under the runtime, driven through shared memory.
//!
//! *Decides:* how a process is set up between `fork` and `exec`, and when a process that does not answer is dead, stuck or
//! late. *Called by:* `target`. *Owns:* the child, its channel, its output and its scratch disk; dropping it ends the child.

use crate::{
    channel::{Channel, anonymous, futex, map},
    cores::Core,
    descendants::{self, RunProcess},
    errors::StartError,
    launch::Launch,
    limits::Limits,
    lines::Lines,
    scratch_disk::ScratchDisk,
    spawn::{be_first_victim, descriptors, living, processor_time, spawn},
};
use reweave_wire::{
    Beginning, Death, Debugged, Header, Library, Rule, Threads, Writer, write_beginning,
};
use std::{
    fs::File,
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{
            AtomicU32,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::{Duration, Instant},
};

/// Descriptors that the runtime expects.
const CHANNEL: i32 = 1000;
const OUTPUT: i32 = 1001;
/// How many descriptors a process must be able to have: those two, and copies of what the program begins with.
const NEEDED: u64 = 1024;

/// Why a process did not answer.
#[derive(Debug)]
pub(crate) enum Silence {
    /// It ended, and left this sentence if any.
    Ended(ExitStatus, Option<String>),
    /// It made no step for too long, and computes.
    Stuck,
    /// It made no step for too long, and waits in a system call: its number, if it is known.
    Waits(Option<u32>),
    /// There is no time left.
    Late,
    /// It cannot be watched.
    Unknown(io::Error),
}

/// How a process came to its end, as far as it was seen from outside.
#[derive(Clone, Copy)]
pub(crate) enum Seen {
    /// It made no step any more.
    Endless,
    /// It waited in this system call.
    Waits(Option<u32>),
    /// Its runtime said why it cannot go on.
    GivenUp,
    /// It ended.
    Ended(ExitStatus),
}

pub(crate) struct Process {
    channel: Channel,
    child: Child,
    batch: u32,
    output: OwnedFd,
    limits: Limits,
    /// Libraries that it loads before its first run.
    libraries: usize,
    /// Whether its runs are under way: before, its own constructors may wait for something.
    at_main: bool,
    /// Whether its threads are real ones.
    os_threads: bool,
    ended: bool,
    lines: Option<Arc<Lines>>,
    _disk: ScratchDisk,
    _core: Option<Core>,
}

impl Process {
    /// Starts the program and waits until it stands at `main`.
    pub(crate) fn start(launch: &Launch) -> Result<Process, StartError> {
        let channel_file = anonymous(c"reweave-channel", libc::MFD_ALLOW_SEALING)
            .map_err(StartError::SharedMemory)?;
        let output = anonymous(c"reweave-output", 0).map_err(StartError::OutputMemory)?;
        let mut channel = map(&channel_file).map_err(StartError::Mapping)?;
        let disk = launch.disks.next();
        let beginning = Beginning {
            units: launch.units.clone(),
            rules: launch.rules,
            slots: launch.slots.clone(),
            disk: disk.path(),
            libraries: launch.libraries.wanted(),
        };
        write_beginning(&mut Writer::new(channel.plans()), &beginning);
        let descriptors = descriptors();
        if descriptors.rlim_max < NEEDED {
            return Err(StartError::OpenFiles {
                limit: descriptors.rlim_max,
                needed: NEEDED,
            });
        }
        fill_header(channel.header(), launch, descriptors.rlim_cur);
        if let Some(lines) = &launch.lines {
            let count = lines.watch(channel.lines());
            channel.header().lines.store(count, Relaxed);
        }
        let several = launch.rules.contains(Rule::Processes);
        let core = several.then(Core::choose).flatten();
        let number = core.as_ref().map_or(0, Core::number);
        channel.header().core.store(number, Relaxed);
        let command = command(launch, &channel_file, &output, descriptors)?;
        let program = || launch.program.clone();
        let child = spawn(command).map_err(|error| StartError::Spawn(program(), error))?;
        let mut process = Process {
            channel,
            child,
            batch: 1,
            output,
            limits: launch.limits.clone(),
            libraries: beginning.libraries.len(),
            at_main: false,
            os_threads: launch.threads == Threads::Os,
            ended: false,
            lines: launch.lines.clone(),
            _disk: disk,
            _core: core,
        };
        process
            .wait(Duration::from_secs(20))
            .map_err(|silence| match silence {
                Silence::Ended(_, Some(why)) => StartError::Refused(why),
                Silence::Ended(status, None) => StartError::EndedEarly(program(), status),
                Silence::Stuck | Silence::Waits(_) => StartError::NoMain(program()),
                Silence::Late => StartError::Late(program()),
                Silence::Unknown(error) => StartError::Unwatchable(error),
            })?;
        process.at_main = true;
        Ok(process)
    }

    /// Libraries that it loads before its first run.
    pub(crate) fn libraries(&self) -> usize {
        self.libraries
    }

    pub(crate) fn header(&self) -> &Header {
        self.channel.header()
    }

    /// Room for plans. Only while no batch is under way.
    pub(crate) fn plans(&mut self) -> &mut [u64] {
        self.channel.plans()
    }

    /// What it wrote. Only while no batch is under way.
    pub(crate) fn reports(&self) -> &[u64] {
        self.channel.reports()
    }

    /// Asks for the plans that were written.
    pub(crate) fn request(&mut self, plans: u32) {
        self.batch += 1;
        let header = self.header();
        header.plans.store(plans, Relaxed);
        header.done.store(0, Relaxed);
        header.library_bytes.store(0, Relaxed);
        header.request.store(self.batch, Release);
        futex(&header.request, libc::FUTEX_WAKE, i32::MAX as u32, None);
    }

    /// Its number for the operating system.
    pub(crate) fn number(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it waits for a debugger; whether it does.
    pub(crate) fn wait_for_debugger(&mut self, patience: Duration) -> bool {
        let since = Instant::now();
        loop {
            let debugged = self.header().debugged.load(Acquire);
            if debugged == Debugged::Waits as u32 {
                return true;
            }
            if since.elapsed() > patience || !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the answer. A process that makes no step for this long, by its own clock, is stuck; one that does not get to
    /// run may take several times as long, since the machine can be busy. One that waits in a system call does so for a reason that no
    /// run can change.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<(), Silence> {
        let answered = |process: &Process| process.header().reply.load(Acquire) == process.batch;
        let starved = (4 * patience).max(STARVED);
        let blocked = if self.at_main {
            BLOCKED.min(patience)
        } else {
            patience
        };
        let mut steps = u64::MAX;
        let mut since = (Instant::now(), Duration::ZERO);
        let mut asleep: Option<(Instant, Duration)> = None;
        let first = STALLED.min(patience / 2);
        let mut asks = first;
        loop {
            let seen = self.header().reply.load(Acquire);
            if seen == self.batch {
                return Ok(());
            }
            futex(
                &self.header().reply,
                libc::FUTEX_WAIT,
                seen,
                Some(Duration::from_millis(20)),
            );
            if answered(self) {
                return Ok(());
            }
            match self.child.try_wait() {
                Ok(Some(status)) if !answered(self) => {
                    return Err(Silence::Ended(status, self.message()));
                }
                Ok(_) => {}
                Err(error) => return Err(Silence::Unknown(error)),
            }
            self.cut_output();
            if self.limits.late() {
                return Err(Silence::Late);
            }
            let now = self.header().steps.load(Relaxed);
            let used = self.processor_time();
            // One that ran in between has used some time.
            asleep = match asleep {
                Some(known) if known.1 == used && now == steps && self.sleeps() => Some(known),
                _ => self.sleeps().then(|| (Instant::now(), used)),
            };
            if now != steps {
                (steps, since, asks) = (now, (Instant::now(), used), first);
            } else if asleep.is_some_and(|(then, _)| then.elapsed() > blocked) {
                return Err(Silence::Waits(self.system_call()));
            } else if used.saturating_sub(since.1) > patience || since.0.elapsed() > starved {
                return Err(Silence::Stuck);
            } else if used.saturating_sub(since.1) > asks {
                // It may compute for a while before it waits.
                asks *= 2;
                self.nudge(false);
            }
        }
    }

    /// Discards output beyond the limit.
    fn cut_output(&self) {
        let file = self.output.as_raw_fd();
        let most = self.limits.output as libc::off_t;
        // SAFETY: the descriptor is open and owned by `self`; the program shares its position, so both move together.
        unsafe {
            if libc::lseek(file, 0, libc::SEEK_CUR) > most {
                libc::ftruncate(file, most);
                libc::lseek(file, most, libc::SEEK_SET);
            }
        }
    }

    /// What it has used, with the process that it has forked for the run under way.
    fn processor_time(&self) -> Duration {
        let own = processor_time(self.child.id());
        match self.forked() {
            RunProcess::Known(forked) => own + processor_time(forked),
            _ => own,
        }
    }

    /// The process that makes the run under way: itself, or the one that it has forked.
    fn runner(&self) -> u32 {
        match self.forked() {
            RunProcess::Known(forked) => forked,
            _ => self.child.id(),
        }
    }

    /// The process that it has forked for the run under way.
    fn forked(&self) -> RunProcess {
        RunProcess::noted(self.header().forked.load(Relaxed))
    }

    /// Whether all of its threads that could run wait in the kernel.
    fn sleeps(&self) -> bool {
        descendants::sleeps(self.runner(), self.os_threads)
    }

    /// The system call that it waits in. Threads that are not to run wait for a futex.
    fn system_call(&self) -> Option<u32> {
        let calls = descendants::system_calls(self.runner(), self.os_threads);
        let futex = libc::SYS_futex as u32;
        let other = calls.iter().find(|call| **call != futex);
        other.or(calls.first()).copied()
    }

    /// Where it was when it ended or was ended: the running thread, the steps it had made, and the cause.
    pub(crate) fn last_seen(&self, end: Seen) -> (u32, u32, Death) {
        let header = self.header();
        let lost = header.lost.load(Relaxed);
        let end = match lost {
            0 => end,
            lost => Seen::Ended(ExitStatus::from_raw(lost as i32)),
        };
        let death = match end {
            Seen::GivenUp => Death::GivenUp,
            Seen::Endless => Death::Endless,
            Seen::Waits(call) => Death::Waits(call.unwrap_or(UNKNOWN_CALL)),
            Seen::Ended(status) => match status.signal() {
                Some(signal) => Death::Signal(signal as u32),
                None => Death::Status(status.code().unwrap_or(0) as u32),
            },
        };
        let (thread, count) = (&header.running, &header.count);
        let place = (thread.load(Relaxed), count.load(Relaxed));
        (place.0, place.1, death)
    }

    /// As [`Process::wait`], but a stuck process is asked to report that itself.
    pub(crate) fn wait_or_nudge(&mut self, patience: Duration) -> Result<(), Silence> {
        match self.wait(patience) {
            Err(Silence::Stuck) => {
                self.nudge(true);
                self.wait(ANSWER)
            }
            Err(Silence::Waits(call)) => {
                let call = call.unwrap_or(UNKNOWN_CALL);
                self.header().waits_in.store(call + 1, Relaxed);
                self.nudge(true);
                let answer = self.wait(ANSWER);
                self.header().waits_in.store(0, Relaxed);
                // Whatever it does now, it was found waiting.
                answer.map_err(|silence| match silence {
                    Silence::Stuck => Silence::Waits(Some(call)),
                    silence => silence,
                })
            }
            answer => answer,
        }
    }

    /// Signals the process, or the one that it forked for the run under way, that it makes no progress: it looks for the
    /// reason, or ends the running thread.
    fn nudge(&self, give_up: bool) {
        let endless = &self.header().endless;
        endless.store(u32::from(give_up), Relaxed);
        // SAFETY: the process is a child that has not been waited for, or its child, so the number is not reused.
        unsafe { libc::kill(self.runner() as libc::pid_t, libc::SIGXCPU) };
    }

    /// The sentence it left.
    fn message(&self) -> Option<String> {
        self.text(&self.header().message_bytes)
    }

    /// The library that it wants to be loaded.
    pub(crate) fn library(&self) -> Option<Library> {
        let header = self.header();
        let path = self.text(&header.library_bytes)?;
        let global = header.library_global.load(Relaxed) != 0;
        Some(Library { path, global })
    }

    /// A text of this length that it left.
    fn text(&self, length: &AtomicU32) -> Option<String> {
        let length = length.load(Acquire) as usize;
        let words = self.header().message.iter();
        let bytes: Vec<u8> = words
            .flat_map(|word| word.load(Relaxed).to_le_bytes())
            .take(length)
            .collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Process {
    /// Whether the program has started processes past the runtime.
    pub(crate) fn has_children(&self) -> bool {
        descendants::any(self.child.id(), self.os_threads, self.forked())
    }

    /// Ends it, and all processes that the program has started past the runtime; whether there were any. It waits for plans, or
    /// hangs: nothing of it is needed any more.
    pub(crate) fn end(&mut self) -> bool {
        if std::mem::replace(&mut self.ended, true) {
            return false;
        }
        let id = self.child.id();
        let died = !matches!(self.child.try_wait(), Ok(None));
        let mut left = Vec::new();
        if !died && self.has_children() {
            left = descendants::end_below(id, self.os_threads);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        // What it has noted does not change any more.
        let mut run = self.forked();
        left.retain(|child| !run.is(*child));
        let mut living = living();
        living.retain(|child| *child != id);
        let look = died || !left.is_empty() || descendants::group_lives(id);
        look && descendants::end_orphans(id, &left, &living, run)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
        if let Some(lines) = &self.lines {
            let count = self.header().lines.load(Relaxed) as usize;
            lines.collect(self.channel.lines().iter().take(count));
        }
    }
}

/// Tells the runtime how to run.
fn fill_header(header: &Header, launch: &Launch, max_descriptors: u64) {
    header.max_memory.store(launch.limits.memory, Relaxed);
    header.max_descriptors.store(max_descriptors, Relaxed);
    header.races.store(launch.races as u32, Relaxed);
    let spurious = u32::from(launch.spurious_wakeups);
    header.spurious_wakeups.store(spurious, Relaxed);
    let faults = launch.faults.iter().map(|fault| *fault as u32);
    header.faults.store(faults.sum(), Relaxed);
    header.ranks.store(launch.ranks.unwrap_or(0), Relaxed);
    header.sends.store(launch.sends as u32, Relaxed);
    header.restart.store(launch.restart as u32, Relaxed);
    header.threads.store(launch.threads as u32, Relaxed);
    if launch.debugged {
        header.debugged.store(Debugged::Wanted as u32, Relaxed);
    }
    header.measure.store(launch.measure.into(), Relaxed);
}

/// Tells the runtime that it is driven, and has it loaded into a program that was built without hooks.
fn drive(command: &mut Command, launch: &Launch) {
    let Some(runtime) = &launch.preload else {
        command.env("REWEAVE_CHANNEL", "1");
        return;
    };
    let others = std::env::var_os("LD_PRELOAD").unwrap_or_default();
    let mut all = runtime.clone().into_os_string();
    // The runtime unwinds by the compiler's library, which programs in C need not have.
    all.push(":libgcc_s.so.1");
    if !others.is_empty() {
        all.push(":");
        all.push(others);
    }
    command.env("LD_PRELOAD", all);
    command.env("REWEAVE_CHANNEL", "calls");
}

/// The command that starts the program, with its descriptors, environment and limits.
fn command(
    launch: &Launch,
    channel: &OwnedFd,
    output: &OwnedFd,
    descriptors: libc::rlimit,
) -> Result<Command, StartError> {
    let mut command = Command::new(&launch.program);
    command.args(&launch.args);
    drive(&mut command, launch);
    // Every restart would undo lazy binding, and the kernel must not write into thread-local memory.
    command.env("LD_BIND_NOW", "1");
    command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
    if !launch.library_path.is_empty() {
        let own = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let own = std::env::split_paths(&own).filter(|it| !it.as_os_str().is_empty());
        let all = launch.library_path.iter().cloned().chain(own);
        // A directory with a colon in its name cannot be searched.
        if let Ok(all) = std::env::join_paths(all) {
            command.env("LD_LIBRARY_PATH", all);
        }
    }
    command.stdin(match &launch.stdin {
        // Opened again, so that each process has its own position in it.
        Some(file) => File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
            .map_err(StartError::StandardInput)?
            .into(),
        None => Stdio::null(),
    });
    let stdout = || {
        let copy = output.try_clone().map(Stdio::from);
        copy.map_err(StartError::OutputMemory)
    };
    command.stdout(stdout()?);
    command.stderr(stdout()?);
    // Signals typed at a terminal are for this process, not for the program.
    command.process_group(0);
    let (channel, output) = (channel.as_raw_fd(), output.as_raw_fd());
    let confinement = launch.limits.confinement;
    // SAFETY: between fork and exec the closure makes async-signal-safe calls only, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            descendants::adopt_orphans();
            // The program shall not inherit what happens to be open here.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_ON_EXEC);
            be_first_victim();
            // The runtime needs some descriptors besides the program's.
            let raised = libc::rlimit {
                rlim_cur: descriptors.rlim_max,
                ..descriptors
            };
            libc::setrlimit(libc::RLIMIT_NOFILE, &raised);
            confinement.enter();
            // The same addresses in every process, where that is allowed.
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            for (from, to) in [(channel, CHANNEL), (output, OUTPUT)] {
                if libc::dup2(from, to) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        });
    }
    Ok(command)
}

const CLOSE_ON_EXEC: u32 = 4;

/// How long to wait at least for a program that gets no processor.
const STARVED: Duration = Duration::from_secs(10);

/// How long a run may wait in a system call. All calls that can wait for another thread are modelled; a file answers sooner.
const BLOCKED: Duration = Duration::from_secs(2);

/// A system call whose number is not known.
const UNKNOWN_CALL: u32 = u32::MAX - 1;

/// A program that makes no step for this long may wait in a loop without steps.
const STALLED: Duration = Duration::from_millis(250);

/// How long a program may take to report that it loops forever.
const ANSWER: Duration = Duration::from_millis(500);
