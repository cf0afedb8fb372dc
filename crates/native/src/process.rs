//! One process of a native program under the runtime, and the shared memory it is driven by.
//!
//! Everything unsafe of this crate is here: the mapping, the futex, what happens between `fork` and `exec`.

use crate::{disk::Disk, limits::Limits};
use reweave_wire::{
    Beginning, Death, Debugged, Header, Library, MAGIC, PLANS_AT, PLANS_BYTES, REPORTS_AT,
    REPORTS_BYTES, Races, Restart, TOTAL_BYTES, Threads, Unit, VERSION, Writer, write_beginning,
};
use std::{
    ffi::{CStr, OsString},
    fs::File,
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    ptr, slice,
    sync::{
        LazyLock,
        atomic::{AtomicU32, Ordering},
        mpsc,
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
    /// It made no step for too long.
    Stuck,
    /// There is no time left.
    Late,
    /// It cannot be watched.
    Unknown(io::Error),
}

/// The shared memory.
struct Channel {
    base: *mut u8,
}

// SAFETY: the mapping belongs to the process as a whole; one worker at a time uses it.
unsafe impl Send for Channel {}

impl Channel {
    fn header(&self) -> &Header {
        // SAFETY: the mapping is large enough and lives as long as `self`; all fields are atomic.
        unsafe { &*self.base.cast() }
    }

    fn plans(&mut self) -> &mut [u64] {
        // SAFETY: as above; the target does not touch it between batches.
        unsafe { slice::from_raw_parts_mut(self.base.add(PLANS_AT).cast(), PLANS_BYTES / 8) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: mapped by `Process::start`, and nobody keeps a reference.
        unsafe { libc::munmap(self.base.cast(), TOTAL_BYTES) };
    }
}

pub(crate) struct Process {
    channel: Channel,
    child: Child,
    batch: u32,
    output: OwnedFd,
    limits: Limits,
    _disk: Disk,
}

/// How to start one.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [OsString],
    pub(crate) stdin: Option<&'a File>,
    pub(crate) races: Races,
    pub(crate) units: &'a [Unit],
    pub(crate) slots: &'a [u32],
    pub(crate) libraries: &'a [Library],
    pub(crate) restart: Restart,
    pub(crate) limits: &'a Limits,
    pub(crate) threads: Threads,
    pub(crate) debugged: bool,
    pub(crate) measure: bool,
}

fn anonymous(name: &CStr, flags: u32) -> io::Result<OwnedFd> {
    // SAFETY: a valid name; the descriptor is new and ours.
    unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | flags);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

impl Process {
    /// Starts the program and waits until it stands at `main`.
    pub(crate) fn start(start: &Start<'_>) -> Result<Process, String> {
        let channel_file =
            anonymous(c"reweave-channel", libc::MFD_ALLOW_SEALING).map_err(|error| {
                format!("there is no shared memory for the program's runtime: {error}")
            })?;
        let output = anonymous(c"reweave-output", 0)
            .map_err(|error| format!("there is no memory for the program's output: {error}"))?;
        let mut channel = map(&channel_file)
            .map_err(|error| format!("the shared memory cannot be mapped: {error}"))?;
        let disk = Disk::new();
        let beginning = Beginning {
            units: start.units.into(),
            slots: start.slots.into(),
            disk: disk.path(),
            libraries: start.libraries.into(),
        };
        write_beginning(&mut Writer::new(channel.plans()), &beginning);
        let header = channel.header();
        let memory = start.limits.memory;
        header.max_memory.store(memory, Ordering::Relaxed);
        let descriptors = descriptors();
        if descriptors.rlim_max < NEEDED {
            return Err(format!(
                "the limit on open files is {}, and the program's runtime needs {NEEDED} (`ulimit -Hn`)",
                descriptors.rlim_max
            ));
        }
        let most = descriptors.rlim_cur;
        header.max_descriptors.store(most, Ordering::Relaxed);
        header.races.store(start.races as u32, Ordering::Relaxed);
        let restart = start.restart as u32;
        header.restart.store(restart, Ordering::Relaxed);
        let threads = start.threads as u32;
        header.threads.store(threads, Ordering::Relaxed);
        if start.debugged {
            let wanted = Debugged::Wanted as u32;
            header.debugged.store(wanted, Ordering::Relaxed);
        }
        let measure = start.measure.into();
        header.measure.store(measure, Ordering::Relaxed);
        let stdout = || output.try_clone().map(Stdio::from);
        let mut command = Command::new(start.program);
        command.args(start.args);
        command.env("REWEAVE_CHANNEL", "1");
        // Lazy binding would be undone by every restart, and the kernel must not write into thread-local memory.
        command.env("LD_BIND_NOW", "1");
        command.env("GLIBC_TUNABLES", "glibc.pthread.rseq=0");
        command.stdin(match start.stdin {
            // Opened anew, for a place in it of the process's own.
            Some(file) => File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
                .map_err(|error| format!("its standard input cannot be opened: {error}"))?
                .into(),
            None => Stdio::null(),
        });
        command.stdout(stdout().map_err(|error| error.to_string())?);
        command.stderr(stdout().map_err(|error| error.to_string())?);
        let (channel_fd, output_fd) = (channel_file.as_raw_fd(), output.as_raw_fd());
        // What is typed at a terminal is for us.
        command.process_group(0);
        // SAFETY: only async-signal-safe calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                // Not what happens to be open here.
                libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_ON_EXEC);
                be_first_victim();
                // The runtime has some beside the program's.
                let raised = libc::rlimit {
                    rlim_cur: descriptors.rlim_max,
                    ..descriptors
                };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raised);
                // The same addresses in every process, where that is allowed.
                libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
                for (from, to) in [(channel_fd, CHANNEL), (output_fd, OUTPUT)] {
                    if libc::dup2(from, to) < 0 {
                        return Err(io::Error::last_os_error());
                    }
                }
                Ok(())
            });
        }
        let child = spawn(command)
            .map_err(|error| format!("{}: cannot be started: {error}", start.program.display()))?;
        let mut process = Process {
            channel,
            child,
            batch: 1,
            output,
            limits: start.limits.without_end(),
            _disk: disk,
        };
        process
            .wait(Duration::from_secs(20))
            .map_err(|silence| match silence {
                Silence::Ended(_, Some(why)) => why,
                Silence::Ended(status, None) => format!(
                    "{}: ended before its `main` ({status}); if only its libraries are instrumented, build it with `reweave build -- make` or `reweave cc` too",
                    start.program.display()
                ),
                Silence::Stuck | Silence::Late => {
                    format!("{}: does not come to its `main`", start.program.display())
                }
                Silence::Unknown(error) => error.to_string(),
            })?;
        process.limits = start.limits.clone();
        Ok(process)
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
        // SAFETY: as above.
        unsafe {
            slice::from_raw_parts(self.channel.base.add(REPORTS_AT).cast(), REPORTS_BYTES / 8)
        }
    }

    /// Asks for the plans that were written.
    pub(crate) fn request(&mut self, plans: u32) {
        self.batch += 1;
        let header = self.header();
        header.plans.store(plans, Ordering::Relaxed);
        header.done.store(0, Ordering::Relaxed);
        header.library_bytes.store(0, Ordering::Relaxed);
        header.request.store(self.batch, Ordering::Release);
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
            let debugged = self.header().debugged.load(Ordering::Acquire);
            if debugged == Debugged::Waits as u32 {
                return true;
            }
            if since.elapsed() > patience || !matches!(self.child.try_wait(), Ok(None)) {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Waits for the answer; a process that makes no step for this long, by its own clock, is stuck. One that sleeps may take
    /// some times as long: the machine can be busy with others.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<(), Silence> {
        let answered =
            |process: &Process| process.header().reply.load(Ordering::Acquire) == process.batch;
        let asleep = (4 * patience).max(ASLEEP);
        let mut steps = u64::MAX;
        let mut since = (Instant::now(), Duration::ZERO);
        let first = STALLED.min(patience / 2);
        let mut asks = first;
        loop {
            let seen = self.header().reply.load(Ordering::Acquire);
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
            let now = self.header().steps.load(Ordering::Relaxed);
            let used = self.processor_time();
            if now != steps {
                (steps, since, asks) = (now, (Instant::now(), used), first);
            } else if used.saturating_sub(since.1) > patience || since.0.elapsed() > asleep {
                return Err(Silence::Stuck);
            } else if self.limits.late() {
                return Err(Silence::Late);
            } else if used.saturating_sub(since.1) > asks {
                // It may compute for a while before it waits.
                asks *= 2;
                self.nudge(false);
            }
        }
    }

    /// Who writes more than anybody wants to read writes the rest for nothing.
    fn cut_output(&self) {
        let file = self.output.as_raw_fd();
        let most = self.limits.output as libc::off_t;
        // SAFETY: moves in our own file, or cuts it; the program is at the same place of it.
        unsafe {
            if libc::lseek(file, 0, libc::SEEK_CUR) > most {
                libc::ftruncate(file, most);
                libc::lseek(file, most, libc::SEEK_SET);
            }
        }
    }

    /// What it has used, with the process that it has forked for the run under way.
    fn processor_time(&self) -> Duration {
        let forked = self.header().forked.load(Ordering::Relaxed);
        let ids = [self.child.id(), forked];
        ids.into_iter()
            .filter(|id| *id != 0)
            .map(processor_time)
            .sum()
    }

    /// Where it was when it ended, or was ended: which thread ran, and how many steps that had made. And how that came.
    pub(crate) fn last_seen(&self, status: Option<ExitStatus>, gave_up: bool) -> (u32, u32, Death) {
        let header = self.header();
        let lost = header.lost.load(Ordering::Relaxed);
        let status = match lost {
            0 => status,
            lost => Some(ExitStatus::from_raw(lost as i32)),
        };
        let death = match status {
            _ if gave_up => Death::GivenUp,
            None => Death::Endless,
            Some(status) => match status.signal() {
                Some(signal) => Death::Signal(signal as u32),
                None => Death::Status(status.code().unwrap_or(0) as u32),
            },
        };
        let (thread, count) = (&header.running, &header.count);
        let place = (
            thread.load(Ordering::Relaxed),
            count.load(Ordering::Relaxed),
        );
        (place.0, place.1, death)
    }

    /// As [`Process::wait`], but one that is stuck is asked to say so itself.
    pub(crate) fn wait_or_nudge(&mut self, patience: Duration) -> Result<(), Silence> {
        match self.wait(patience) {
            Err(Silence::Stuck) => {
                self.nudge(true);
                self.wait(ANSWER)
            }
            answer => answer,
        }
    }

    /// Tells it, or the process that it has forked for the run under way, that it makes no progress: it is to look why, or to give up the thread
    /// that runs.
    fn nudge(&self, give_up: bool) {
        let endless = &self.header().endless;
        endless.store(u32::from(give_up), Ordering::Relaxed);
        let process = match self.header().forked.load(Ordering::Relaxed) {
            0 => self.child.id(),
            forked => forked,
        };
        // SAFETY: a signal to our own child, which has not been waited for, or to its child.
        unsafe { libc::kill(process as libc::pid_t, libc::SIGXCPU) };
    }

    /// The sentence it left.
    fn message(&self) -> Option<String> {
        self.text(&self.header().message_bytes)
    }

    /// The library that it wants to be loaded.
    pub(crate) fn library(&self) -> Option<Library> {
        let header = self.header();
        let path = self.text(&header.library_bytes)?;
        let global = header.library_global.load(Ordering::Relaxed) != 0;
        Some(Library { path, global })
    }

    /// A text of this length that it left.
    fn text(&self, length: &AtomicU32) -> Option<String> {
        let length = length.load(Ordering::Acquire) as usize;
        let words = self.header().message.iter();
        let bytes: Vec<u8> = words
            .flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes())
            .take(length)
            .collect();
        (length > 0).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It is ours and waits for plans, or hangs: nothing of it is needed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const CLOSE_ON_EXEC: u32 = 4;

/// How long a program that does nothing is waited for at least.
const ASLEEP: Duration = Duration::from_secs(10);

/// A program that makes no step for so long may wait in a loop that has none.
const STALLED: Duration = Duration::from_millis(250);

/// How long a program may take to say that it goes on for ever.
const ANSWER: Duration = Duration::from_millis(500);

/// How many descriptors a process may have.
fn descriptors() -> libc::rlimit {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: writes a local.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    limit
}

/// When memory runs out it is this process that the kernel ends. Only async-signal-safe calls.
fn be_first_victim() {
    // SAFETY: writes a constant to a file of the kernel's.
    unsafe {
        let file = libc::open(
            c"/proc/self/oom_score_adj".as_ptr(),
            libc::O_WRONLY | libc::O_CLOEXEC,
        );
        if file >= 0 {
            libc::write(file, c"1000".as_ptr().cast(), 4);
            libc::close(file);
        }
    }
}

/// What a process has used.
fn processor_time(process: u32) -> Duration {
    // SAFETY: asks about a process, and writes locals.
    unsafe {
        let mut clock = 0;
        let mut time: libc::timespec = std::mem::zeroed();
        let known = libc::clock_getcpuclockid(process as libc::pid_t, &mut clock) == 0
            && libc::clock_gettime(clock, &mut time) == 0;
        match known {
            true => Duration::new(time.tv_sec as u64, time.tv_nsec as u32),
            false => Duration::ZERO,
        }
    }
}

/// Starts a child from a thread that never ends: the kernel lets children that ask for it die with the thread that started them, and
/// not only with the process.
fn spawn(command: Command) -> io::Result<Child> {
    type Wanted = (Command, mpsc::Sender<io::Result<Child>>);
    static STARTER: LazyLock<mpsc::Sender<Wanted>> = LazyLock::new(|| {
        let (order, orders) = mpsc::channel::<Wanted>();
        std::thread::spawn(move || {
            for (mut command, answer) in orders {
                // Whoever asked waits for it.
                let _ = answer.send(command.spawn());
            }
        });
        order
    });
    let (answer, answers) = mpsc::channel();
    let ended = || io::Error::other("the thread that starts programs has ended");
    STARTER.send((command, answer)).map_err(|_| ended())?;
    answers.recv().map_err(|_| ended())?
}

/// How many bytes fit into a directory; none if it cannot be written to.
pub(crate) fn room(directory: &CStr) -> u64 {
    // SAFETY: a text that ends with a nul, and a local that may be all zeros.
    unsafe {
        let mut found: libc::statvfs = std::mem::zeroed();
        let writable = libc::access(directory.as_ptr(), libc::W_OK | libc::X_OK) == 0;
        match writable && libc::statvfs(directory.as_ptr(), &mut found) == 0 {
            true => found.f_bavail.saturating_mul(found.f_frsize),
            false => 0,
        }
    }
}

fn map(file: &OwnedFd) -> io::Result<Channel> {
    // SAFETY: a new mapping of a file that is ours, initialised before anybody else maps it.
    unsafe {
        if libc::ftruncate(file.as_raw_fd(), TOTAL_BYTES as libc::off_t) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Whoever cuts it, on the other side, would end this process.
        let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        if libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) != 0 {
            return Err(io::Error::last_os_error());
        }
        let base = libc::mmap(
            ptr::null_mut(),
            TOTAL_BYTES,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let channel = Channel { base: base.cast() };
        let header = &*channel.base.cast::<Header>();
        header.version.store(VERSION, Ordering::Relaxed);
        header.request.store(1, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok(channel)
    }
}

fn futex(word: &AtomicU32, operation: i32, value: u32, timeout: Option<Duration>) {
    let time = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: a live word, and a local timeout.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}
