//! Checks that share a cluster: each is explored there for a while, and is whole in this process between two turns.
//!
//! *Called by:* `suite`. *Owns:* the coordinators of its searches, and what was said about workers.

use super::{
    connect, fresh,
    home::{FIRST, NativeDesk, NativeHome},
    program,
};
use crate::{
    args::CheckRequest,
    output::{Failure, say},
};
use reweave_check::Control;
use reweave_cluster::{
    Broker, Coordination, Coordinator, Credentials, Ending, Fleet, Home, Limits, Pace, SearchId,
};
use reweave_native::{Session, StepDown};
use std::{
    collections::BTreeSet,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// A cluster that explores many checks.
pub struct SharedCluster {
    broker: Broker,
    credentials: Credentials,
    /// The most pieces that its workers could explore at once.
    slots: AtomicUsize,
    said: Mutex<BTreeSet<String>>,
}

/// A check on a cluster.
pub struct Remote<'a> {
    cluster: &'a SharedCluster,
    search: SearchId,
    machine: Coordinator<NativeHome>,
    coordination: Coordination<'a>,
}

impl SharedCluster {
    /// The cluster with this address.
    pub fn connect(url: &str, credentials: Option<&Path>) -> Result<SharedCluster, Failure> {
        let (broker, credentials) = connect(url, credentials)?;
        Ok(SharedCluster {
            broker,
            credentials,
            slots: AtomicUsize::new(0),
            said: Mutex::default(),
        })
    }

    /// The most pieces that its workers could explore at once, as far as was seen.
    pub fn slots(&self) -> usize {
        self.slots.load(Relaxed)
    }

    /// Makes a check known to the workers.
    pub fn enter(&self, request: &CheckRequest, session: Session) -> Result<Remote<'_>, Failure> {
        let (manifest, files) = program::manifest(request, session.program(), session.settings())?;
        for (file, bytes) in manifest.files.iter().zip(&files) {
            self.broker.upload(file, bytes)?;
        }
        let limits = Limits {
            runs: session.settings().max_executions,
            until_ms: None,
        };
        let search = SearchId::new(fresh());
        let home = NativeHome { session };
        let mut machine = Coordinator::new(home, search.clone(), Pace::default(), limits, fresh());
        let sealed = manifest.seal(&self.credentials);
        let coordination = Coordination::begin(&self.broker, &search, &mut machine, &sealed)?;
        Ok(Remote {
            cluster: self,
            search,
            machine,
            coordination,
        })
    }

    /// Says once what keeps workers from exploring.
    fn look(&self, name: &str, waited: Duration, fleet: &Fleet) {
        self.slots.fetch_max(fleet.slots, Relaxed);
        for (worker, why) in &fleet.refused {
            self.say_once(format!("{worker} cannot explore {name}: {why}"));
        }
        if fleet.slots == 0 && waited > Duration::from_secs(3) {
            let how = "`reweave worker --cluster URL` starts some";
            self.say_once(format!("the tests wait for workers: {how}"));
        }
    }

    fn say_once(&self, sentence: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.insert(sentence.clone()) {
            say(&sentence);
        }
    }
}

/// How long a turn is.
pub struct TurnLength {
    pub until: Instant,
    /// When no test is explored any more.
    pub deadline: Option<Instant>,
    /// How many tests have a turn at the same time.
    pub sharing: usize,
}

impl Remote<'_> {
    /// The check.
    pub fn session(&self) -> &Session {
        &self.machine.home.session
    }

    /// Has it explored, and returns whether there is more to do. Then all pieces are back.
    pub fn turn(&mut self, control: &Control, length: &TurnLength) -> Result<bool, Failure> {
        let (begun, before) = (Instant::now(), self.session().check().elapsed());
        let left = length.until.saturating_duration_since(begun);
        let end = self.coordination.now_ms() + left.as_millis() as u64;
        let name = self.session().program().name().to_owned();
        let machine = &mut self.machine;
        machine.share_among(length.sharing);
        machine.end_at(Some(end));
        let cluster = self.cluster;
        let mut desk = NativeDesk {
            control,
            deadline: length.deadline,
            first: FIRST,
            stepped_down: &mut |step: &StepDown| say(&step.to_string()),
            look: &mut |fleet, _| cluster.look(&name, begun.elapsed(), fleet),
            failed: None,
        };
        // Nothing was run: it has restarted.
        let begins = machine.home.runs() == 0;
        let mut ending = self.coordination.run(machine, begins, &mut desk)?;
        if let Some(error) = desk.failed.take() {
            return Err(error.into());
        }
        if matches!(ending, Ending::Late | Ending::Stopped) {
            ending = self.coordination.gather(machine)?;
        }
        let session = &mut machine.home.session;
        session.set_workers(cluster.slots().max(1));
        let check = session.check_mut();
        let counted = check.elapsed().saturating_sub(before);
        check.spend(begun.elapsed().saturating_sub(counted));
        check.end(control.stop.load(Relaxed));
        match ending {
            Ending::Over => Ok(false),
            Ending::Late | Ending::Stopped => Ok(!check.is_over()),
            Ending::Replaced => {
                let search = &self.search;
                Err(format!("another process has taken search {search} over").into())
            }
            Ending::Fault(sentence) => Err(Failure::fault(sentence)),
        }
    }

    /// Leaves the cluster.
    pub fn leave(self) -> Session {
        if let Err(error) = self.cluster.broker.forget(&self.search) {
            say(&error.to_string());
        }
        self.machine.home.session
    }
}
