//! One process of a native program under the runtime, and the shared memory it is driven by.
//!
//! Everything unsafe of this crate is here: the mapping, the futex, what happens between `fork` and `exec`.

use reweave_wire::{
    Debugged, Header, MAGIC, PLANS_AT, PLANS_BYTES, REPORTS_AT, REPORTS_BYTES, Races, Restart,
    TOTAL_BYTES, Threads, Unit, VERSION, Writer, write_units,
};
use std::{
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{AsRawFd, FromRawFd, OwnedFd},
        unix::process::CommandExt,
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

/// Why a process did not answer.
#[derive(Debug)]
pub(crate) enum Silence {
    /// It ended, and left this sentence if any.
    Ended(ExitStatus, Option<String>),
    /// It made no step for too long.
    Stuck,
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
}

/// How to start one.
pub(crate) struct Start<'a> {
    pub(crate) program: &'a Path,
    pub(crate) args: &'a [OsString],
    pub(crate) stdin: Option<&'a File>,
    pub(crate) races: Races,
    pub(crate) units: &'a [Unit],
    pub(crate) restart: Restart,
    pub(crate) threads: Threads,
    pub(crate) debugged: bool,
    pub(crate) measure: bool,
}

fn anonymous(name: &std::ffi::CStr) -> io::Result<OwnedFd> {
    // SAFETY: a valid name; the descriptor is new and ours.
    unsafe {
        let descriptor = libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC);
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

impl Process {
    /// Starts the program and waits until it stands at `main`.
    pub(crate) fn start(start: &Start<'_>) -> Result<Process, String> {
        let channel_file = anonymous(c"reweave-channel").map_err(|error| {
            format!("there is no shared memory for the program's runtime: {error}")
        })?;
        let output = anonymous(c"reweave-output")
            .map_err(|error| format!("there is no memory for the program's output: {error}"))?;
        let mut channel = map(&channel_file)
            .map_err(|error| format!("the shared memory cannot be mapped: {error}"))?;
        write_units(&mut Writer::new(channel.plans()), start.units);
        let header = channel.header();
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
        };
        process
            .wait(Duration::from_secs(20))
            .map_err(|silence| match silence {
                Silence::Ended(_, Some(why)) => why,
                Silence::Ended(status, None) => format!(
                    "{}: ended before its `main` ({status}); is it linked with the runtime?",
                    start.program.display()
                ),
                Silence::Stuck => {
                    format!("{}: does not come to its `main`", start.program.display())
                }
                Silence::Unknown(error) => error.to_string(),
            })?;
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

    /// Waits for the answer; a process that makes no step for this long is stuck.
    pub(crate) fn wait(&mut self, patience: Duration) -> Result<(), Silence> {
        let answered =
            |process: &Process| process.header().reply.load(Ordering::Acquire) == process.batch;
        let mut steps = u64::MAX;
        let mut since = Instant::now();
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
            let now = self.header().steps.load(Ordering::Relaxed);
            if now != steps {
                (steps, since) = (now, Instant::now());
            } else if since.elapsed() > patience {
                return Err(Silence::Stuck);
            }
        }
    }

    /// Tells it that it makes no progress.
    pub(crate) fn nudge(&self) {
        // SAFETY: a signal to our own child, which has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGXCPU) };
    }

    /// The sentence it left.
    fn message(&self) -> Option<String> {
        let header = self.header();
        let length = header.message_bytes.load(Ordering::Acquire) as usize;
        let words = header.message.iter();
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

fn map(file: &OwnedFd) -> io::Result<Channel> {
    // SAFETY: a new mapping of a file that is ours, initialised before anybody else maps it.
    unsafe {
        if libc::ftruncate(file.as_raw_fd(), TOTAL_BYTES as libc::off_t) != 0 {
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
