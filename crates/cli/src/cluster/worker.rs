//! `reweave worker`: explores pieces of other people's searches.
//!
//! *Called by:* `main`. *Owns:* the directory in which programs lie.

use super::{connect, home, program};
use crate::{
    args::WorkerOptions,
    output::{Failure, say},
    signals::interrupts,
};
use reweave_check::{Control, Piece};
use reweave_cluster::{
    Explored, Explorer, Manifest, Opener, Outcome, PieceSlice, Place, Sentence, serve,
};
use reweave_native::{Confinement, Session};
use reweave_report::ExitCode;
use reweave_toolchain::temporary::TemporaryDirectory;
use std::{
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Instant,
};

/// Runs the command and returns its exit code.
pub fn run(options: &WorkerOptions) -> ExitCode {
    match work(options) {
        Ok(()) => ExitCode::Clean,
        Err(failure) => failure.report(),
    }
}

fn work(options: &WorkerOptions) -> Result<(), Failure> {
    let (broker, credentials) = connect(&options.cluster, options.credentials.as_deref())?;
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let slots = options.workers.map_or_else(cores, usize::from);
    let directory = TemporaryDirectory::new_in(&std::env::temp_dir());
    let directory = directory.map_err(|error| format!("no directory for programs: {error}"))?;
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let place = Place {
        name: format!("{}-{}", host.trim(), std::process::id()),
        slots,
        directory: directory.path().into(),
        url: options.cluster.clone(),
        credentials,
        build: program::build(),
        machine: program::machine(),
        disk: options.max_disk,
        say,
    };
    let control = Control::default();
    let stop = interrupts(&control);
    say(&format!("{}: {slots} pieces at a time", place.name));
    let native = Native {
        confinement: Confinement {
            file: Some(options.max_file),
            processes: Some(options.max_processes.get()),
        },
    };
    serve(&broker, &place, &native, &stop)?;
    Ok(())
}

/// Opens native programs, within these limits.
struct Native {
    confinement: Confinement,
}

impl Opener for Native {
    fn open(&self, manifest: &Manifest, directory: &Path) -> Result<Box<dyn Explorer>, Sentence> {
        let (mut program, settings) = program::open(manifest, directory)?;
        program.launch.limits.confinement = self.confinement;
        let session = Session::new(program, settings, None);
        let session = session.map_err(Sentence::of)?;
        Ok(Box::new(NativeExplorer { session }))
    }
}

struct NativeExplorer {
    session: Session,
}

impl Explorer for NativeExplorer {
    fn explore(&mut self, piece: &[u8], slice: &PieceSlice) -> Result<Explored, Sentence> {
        let session = &mut self.session;
        let mut control = Control::stopped_by(slice.stop.clone());
        let runs = Arc::clone(&slice.runs);
        control.witness = Some(Box::new(move |control, _| {
            runs.store(control.runs.load(Relaxed), Relaxed);
        }));
        session.stopped_by(&control);
        let resumed = session.resume(home::read(piece)?);
        resumed.map_err(Sentence::of)?;
        session
            .check_mut()
            .set_enough(slice.most_runs.unwrap_or(u64::MAX));
        let begun = Instant::now();
        let until = begun.checked_add(slice.time);
        let outcome = match session.explore_piece(&control, until) {
            Ok(Piece::Explored) => Outcome::Explored,
            Ok(Piece::Restarts) => Outcome::Restarts,
            Err(reweave_native::CheckError::Start(error)) => return Err(Sentence::of(error)),
            Err(error) => Outcome::Fault(error.to_string()),
        };
        let time = begun.elapsed();
        let payload = match outcome {
            Outcome::Fault(_) => Vec::new(),
            _ => home::write(&session.store_for_others()),
        };
        Ok(Explored {
            outcome,
            runs: session.check().totals().runs(),
            time,
            payload,
        })
    }
}
