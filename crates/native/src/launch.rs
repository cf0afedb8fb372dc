//! How a native program is started: the program itself, its input, its limits and how its runs are controlled.
//!
//! *Called by:* whoever prepares a program; `target` and `process` read it. *Invariants:* a launch is plain data, apart
//! from the list of libraries and the place for copies of files, which all processes of one program share.

use crate::{
    limits::Limits, lines::Lines, loaded_libraries::LoadedLibraries, scratch_disk::ScratchDisks,
};
use reweave_wire::{Fault, Races, Restart, Rules, Sends, Threads, Unit};
use std::{ffi::OsString, fs::File, path::PathBuf, sync::Arc};

/// How to start a program.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// The runtime, if it has to be loaded into the program: one that was built without hooks, whose library calls are its visible
    /// operations.
    pub preload: Option<PathBuf>,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its standard input, read from the beginning in every run; `None`: empty.
    pub stdin: Option<Arc<File>>,
    /// How races of plain accesses are treated.
    pub races: Races,
    /// Whether waits on condition variables may end spuriously.
    pub spurious_wakeups: bool,
    /// What else may happen.
    pub faults: Vec<Fault>,
    /// How many ranks of MPI it has, if it is run as a program of MPI.
    pub ranks: Option<u32>,
    /// Whether a standard send of MPI waits for its receive.
    pub sends: Sends,
    /// Directories in which its libraries are looked for first.
    pub library_path: Vec<PathBuf>,
    /// Memory whose plain accesses are visible operations.
    pub units: Vec<Unit>,
    /// Rules that all runs follow.
    pub rules: Rules,
    /// Slots of thread-local memory that runs are known to need.
    pub slots: Vec<u32>,
    /// Libraries that runs are known to open.
    pub libraries: LoadedLibraries,
    /// Where its processes keep copies of files that runs change.
    pub disks: ScratchDisks,
    /// How runs are restarted.
    pub restart: Restart,
    /// Its limits.
    pub limits: Limits,
    /// How its threads are run.
    pub threads: Threads,
    /// Lines whose first run is noted, if that was asked for.
    pub lines: Option<Arc<Lines>>,
    /// Whether it is only for [`NativeTarget::debug`](crate::target::NativeTarget::debug).
    pub debugged: bool,
    /// Whether to measure where time goes: [`NativeTarget::spent`](crate::target::NativeTarget::spent).
    pub measure: bool,
}

impl Launch {
    /// A program without arguments, with races checked.
    pub fn new(program: PathBuf) -> Launch {
        Launch {
            program,
            preload: None,
            args: Vec::new(),
            stdin: None,
            races: Races::default(),
            spurious_wakeups: false,
            faults: Vec::new(),
            ranks: None,
            sends: Sends::default(),
            library_path: Vec::new(),
            units: Vec::new(),
            rules: Rules::default(),
            slots: Vec::new(),
            libraries: LoadedLibraries::default(),
            disks: ScratchDisks::default(),
            restart: Restart::default(),
            limits: Limits::default(),
            threads: Threads::default(),
            lines: None,
            debugged: false,
            measure: false,
        }
    }
}
