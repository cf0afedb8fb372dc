//! A native program as a target: plans in batches to its process, executions back.

use crate::process::{Process, Silence, Start};
use reweave_explore::Target;
use reweave_model::{Divergence, Execution, Plan};
use reweave_wire::{
    Detail, Hello, Note, Races, Reader, Report, Writer, read_hello, read_report, write_request,
};
use std::{collections::BTreeSet, ffi::OsString, path::PathBuf, time::Duration};

/// How to run a program.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program, built with instrumentation.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Whether plain accesses are checked for races.
    pub races: bool,
    /// Whether to measure where time goes.
    pub measure: bool,
}

/// A program that is run again and again in one process, or in another one after a crash.
pub struct Native {
    launch: Launch,
    process: Option<Process>,
    hello: Hello,
    report: Report,
    /// Plans of the batch under way that were not handed out yet.
    waiting: usize,
    /// Where the next report begins.
    at: usize,
    notes: BTreeSet<Note>,
}

/// Plans in one batch: so many that a switch between the two processes costs little for each.
const BATCH: usize = 64;

impl Native {
    /// Starts the program; an error is a sentence about why not.
    pub fn start(launch: &Launch) -> Result<Native, String> {
        let mut native = Native {
            launch: launch.clone(),
            process: None,
            hello: Hello::default(),
            report: Report::default(),
            waiting: 0,
            at: 0,
            notes: BTreeSet::new(),
        };
        native.ensure()?;
        Ok(native)
    }

    fn ensure(&mut self) -> Result<&mut Process, String> {
        if self.process.is_none() {
            let process = Process::start(&Start {
                program: &self.launch.program,
                args: &self.launch.args,
                stdin: None,
                races: if self.launch.races {
                    Races::Check
                } else {
                    Races::Ignore
                },
                measure: self.launch.measure,
            })?;
            self.hello = read_hello(&mut Reader::new(process.reports()))
                .map_err(|_| "the program's runtime does not introduce itself".to_owned())?;
            self.process = Some(process);
        }
        Ok(self.process.as_mut().expect("just started"))
    }

    /// Nanoseconds spent in the target: running, restoring, writing reports.
    pub fn spent(&self) -> [u64; 3] {
        let Some(process) = &self.process else {
            return [0; 3];
        };
        let spent = &process.header().spent;
        [0, 1, 2].map(|part: usize| spent[part].load(std::sync::atomic::Ordering::Relaxed))
    }

    fn submit(&mut self, plans: &[Plan], detail: bool) -> Result<(), String> {
        let process = self.ensure()?;
        let mut writer = Writer::new(process.plans());
        let mut count = 0;
        for plan in plans {
            write_request(&mut writer, plan, detail);
            if writer.overflowed() {
                break;
            }
            count += 1;
        }
        process.request(count as u32);
        match process.wait(Duration::from_secs(10)) {
            Ok(()) => {}
            Err(Silence::Ended(status, message)) => {
                return Err(message.unwrap_or_else(|| format!("the program ended: {status}")));
            }
            Err(Silence::Stuck) => return Err("the program is stuck".into()),
            Err(Silence::Unknown(error)) => return Err(error.to_string()),
        }
        let done = &process.header().done;
        self.waiting = done.load(std::sync::atomic::Ordering::Acquire) as usize;
        self.at = 0;
        Ok(())
    }

    fn collect(&mut self) -> Result<(), String> {
        let process = self.process.as_mut().expect("a batch was run");
        let words = &process.reports()[self.at..];
        let length = words.first().copied().unwrap_or(0) as usize + 1;
        let words = words.get(..length).ok_or("a report makes no sense")?;
        read_report(&mut Reader::new(words), &mut self.report)
            .map_err(|_| "a report makes no sense".to_owned())?;
        self.at += length;
        self.waiting -= 1;
        self.notes.extend(self.report.notes.drain(..));
        Ok(())
    }
}

impl Target for Native {
    fn run(&mut self, plan: &Plan) -> Result<&Execution, Divergence> {
        if self.waiting == 0 {
            self.submit(std::slice::from_ref(plan), false)
                .unwrap_or_else(|why| panic!("{why}"));
        }
        self.collect().unwrap_or_else(|why| panic!("{why}"));
        match self.report.divergence.take() {
            Some(divergence) => Err(divergence),
            None => Ok(&self.report.execution),
        }
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn prepare(&mut self, plans: &[Plan]) {
        self.submit(plans, false)
            .unwrap_or_else(|why| panic!("{why}"));
    }
}
