//! A native check as the coordinator of a cluster sees it.
//!
//! *Called by:* `search`. *Owns:* the session.

use reweave_check::Control;
use reweave_cluster::{Desk, Fleet, Home, Sentence};
use reweave_native::{Session, StepDown, StoredSession};
use std::{
    sync::atomic::Ordering::Relaxed,
    time::{Duration, Instant},
};

/// The check, with all that came back so far.
pub struct NativeHome {
    pub session: Session,
}

/// A piece as bytes.
pub fn write(piece: &StoredSession) -> Vec<u8> {
    serde_json::to_vec(piece).expect("pieces are plain data")
}

/// And back; an error is a sentence.
pub fn read(bytes: &[u8]) -> Result<StoredSession, Sentence> {
    let read = serde_json::from_slice(bytes);
    read.map_err(|error| Sentence(format!("a piece of the search is damaged: {error}")))
}

impl Home for NativeHome {
    fn deal(&mut self, most: usize) -> Vec<Vec<u8>> {
        self.session.deal(most).iter().map(write).collect()
    }

    fn absorb(&mut self, piece: &[u8]) -> Result<(), Sentence> {
        let absorbed = self.session.absorb(read(piece)?);
        absorbed.map_err(Sentence::of)
    }

    fn restart(&mut self, with: &[u8]) -> Result<(), Sentence> {
        let resumed = self.session.resume(read(with)?);
        resumed.map_err(Sentence::of)
    }

    fn store(&mut self) -> Vec<u8> {
        write(&self.session.store_for_others())
    }

    fn runs(&self) -> u64 {
        self.session.check().totals().runs()
    }

    fn is_over(&self) -> bool {
        self.session.check().is_over()
    }
}

/// So many executions, or for so long, a search is explored here before it is dealt out: most are over by then.
pub const FIRST: u64 = 500;
const SOON: Duration = Duration::from_millis(300);

/// The user's end of a check.
pub struct NativeDesk<'a> {
    pub control: &'a Control,
    pub deadline: Option<Instant>,
    /// See [`FIRST`].
    pub first: u64,
    pub stepped_down: &'a mut dyn FnMut(&StepDown),
    /// Called with the fleet, and the executions so far, whenever they may have changed.
    pub look: &'a mut dyn FnMut(&Fleet, u64),
    /// What made it impossible to begin.
    pub failed: Option<reweave_native::CheckError>,
}

impl Desk<NativeHome> for NativeDesk<'_> {
    fn begin(&mut self, home: &mut NativeHome) -> Result<(), Sentence> {
        let session = &mut home.session;
        session.set_workers(1);
        session.check_mut().set_enough(self.first);
        let soon = Instant::now() + SOON;
        let until = self.deadline.map_or(soon, |end| end.min(soon));
        let advanced = session.advance(self.control, Some(until), self.stepped_down);
        session.check_mut().set_enough(u64::MAX);
        advanced.map(|_| ()).map_err(|error| {
            let sentence = Sentence::of(&error);
            self.failed = Some(error);
            sentence
        })
    }

    fn wants_stop(&self) -> bool {
        self.control.stop.load(Relaxed)
    }

    fn look(&mut self, home: &NativeHome, fleet: &Fleet) {
        let check = home.session.check();
        check.show(self.control);
        let runs = check.totals().runs() + fleet.runs;
        self.control.runs.store(runs, Relaxed);
        self.control.failures.store(check.errors() as u64, Relaxed);
        (self.look)(fleet, runs);
    }
}
