//! `reweave check --cluster`: builds the program here, has it explored there, and reports here.
//!
//! *Called by:* `check`, and `admin` for searches that are resumed. *Owns:* the coordinator of the search.

use super::{
    connect, fresh,
    home::{FIRST, NativeDesk, NativeHome},
    program,
};
use crate::{
    args::{CheckRequest, Format},
    check::{self, Checked},
    output::{Failure, say},
    progress::{self, Phase, Progress},
    signals::interrupts,
};
use reweave_check::{Control, Settings};
use reweave_cluster::{
    Broker, Coordination, Coordinator, Ending, Fleet, Limits, Pace, Record, SearchId,
};
use reweave_native::{CheckError, Finished, NativeProgram, Session, StepDown, StoredSession};
use reweave_report::{ExitCode, FleetCourse, FleetSample};
use std::{
    cell::RefCell,
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// A search that is in the broker already.
pub struct Existing {
    pub search: SearchId,
    pub revision: u64,
    pub record: Record,
}

/// Explores on the cluster that the options name.
pub fn explore(request: &CheckRequest) -> Result<ExitCode, Failure> {
    let options = &request.options;
    let url = options.cluster.as_deref().expect("it was asked for");
    let (broker, credentials) = connect(url, options.credentials.as_deref())?;
    let program = check::prepare(request, check::standard_input()?)?;
    let settings = check::settings(request, &program);
    let (manifest, files) = program::manifest(request, &program, &settings)?;
    for (file, bytes) in manifest.files.iter().zip(&files) {
        broker.upload(file, bytes)?;
    }
    let sealed = manifest.seal(&credentials);
    Search {
        broker: &broker,
        url,
        request,
        settings,
        search: SearchId::new(fresh()),
    }
    .run(program, Start::New(&sealed))
}

/// Goes on with a search, whatever became of its coordinator.
pub fn resume(
    (broker, url): (&Broker, &str),
    request: &CheckRequest,
    program: NativeProgram,
    settings: Settings,
    existing: Existing,
) -> Result<ExitCode, Failure> {
    Search {
        broker,
        url,
        request,
        settings,
        search: existing.search.clone(),
    }
    .run(program, Start::Again(existing))
}

enum Start<'a> {
    /// With its manifest.
    New(&'a [u8]),
    Again(Existing),
}

struct Search<'a> {
    broker: &'a Broker,
    url: &'a str,
    request: &'a CheckRequest,
    settings: Settings,
    search: SearchId,
}

/// What was seen of the fleet.
#[derive(Default)]
struct Seen {
    most: usize,
    refused: BTreeSet<String>,
    waits: bool,
    course: FleetCourse,
}

fn sample(begun: Instant, fleet: &Fleet, executions: u64) -> FleetSample {
    FleetSample {
        at_s: begun.elapsed().as_secs_f64(),
        slots: fleet.slots as u64,
        busy: fleet.busy as u64,
        pieces: fleet.out as u64,
        executions,
        reports: fleet.reports.0,
        repeated: fleet.reports.1,
        lost: fleet.lost,
    }
}

/// How a search went.
struct Ended {
    finished: Finished,
    stopped: bool,
}

impl Search<'_> {
    fn run(self, mut program: NativeProgram, start: Start<'_>) -> Result<ExitCode, Failure> {
        let begun = Instant::now();
        let options = &self.request.options;
        let control = Control::default();
        interrupts(&control);
        program.stopped_by(&control);
        let progress = Progress::new(program.name().to_owned(), 1, &control);
        progress.enter(Phase::Exploring);
        let until = options.budget.and_then(|it| begun.checked_add(it));
        let session = Session::new(program, self.settings.clone(), until)?;
        let limits = Limits {
            runs: self.settings.max_executions,
            until_ms: options.budget.map(|it| it.as_millis() as u64),
        };
        let home = NativeHome { session };
        let mut machine = Coordinator::new(home, self.search.clone(), self.pace(), limits, fresh());
        let (broker, search) = (self.broker, &self.search);
        let (mut coordination, begins) = match start {
            Start::New(manifest) => (
                Coordination::begin(broker, search, &mut machine, manifest)?,
                true,
            ),
            Start::Again(Existing {
                revision, record, ..
            }) => {
                let stored: StoredSession = super::home::read(&record.home)?;
                let resumed = machine.home.session.resume(stored);
                resumed.map_err(|error| error.to_string())?;
                machine = machine.take_over(&record, 0);
                (
                    Coordination::take_over(broker, search, &mut machine, revision)?,
                    record.out.is_empty(),
                )
            }
        };
        let shown = options.format == Format::Text;
        let ended = progress::shown(&progress, shown, || {
            self.lead(&mut machine, &mut coordination, begins, &control, until)
        })?;
        if !ended.stopped {
            broker.forget(search)?;
        }
        let checked = Checked {
            finished: ended.finished,
            name: self.settings.name.clone(),
            interrupted: ended.stopped.then(|| {
                format!(
                    "search {search} is stopped; to continue:\n  reweave cluster resume {search} --cluster {}",
                    self.url
                )
            }),
        };
        check::present(self.request, &checked)
    }

    /// Coordinates until there is a result.
    fn lead(
        &self,
        machine: &mut Coordinator<NativeHome>,
        coordination: &mut Coordination<'_>,
        mut begins: bool,
        control: &Control,
        until: Option<Instant>,
    ) -> Result<Ended, Failure> {
        let begun = Instant::now();
        let seen = RefCell::new(Seen::default());
        let mut look = |fleet: &Fleet, executions: u64| {
            let mut seen = seen.borrow_mut();
            self.look(&mut seen, begun, fleet);
            seen.course.note(sample(begun, fleet, executions));
        };
        let mut stepped_down = |step: &StepDown| say(&step.to_string());
        loop {
            let mut desk = NativeDesk {
                control,
                deadline: until,
                first: self.request.options.first.unwrap_or(FIRST),
                stepped_down: &mut stepped_down,
                look: &mut look,
                failed: None,
            };
            let ended = coordination.run(machine, begins, &mut desk)?;
            let (stopped, replaced) = (ended == Ending::Stopped, ended == Ending::Replaced);
            let failed = desk.failed.take();
            if let Err(failure) = self.unless_failed(ended, failed) {
                if !replaced {
                    self.broker.forget(&self.search)?;
                }
                return Err(failure);
            }
            let session = &mut machine.home.session;
            session.set_workers(seen.borrow().most);
            let check = session.check_mut();
            check.spend(begun.elapsed().saturating_sub(check.elapsed()));
            check.end(stopped);
            if let Some(mut finished) = session.conclude(&mut stepped_down)? {
                finished.result.fleet = Some(seen.take().course.ended());
                return Ok(Ended { finished, stopped });
            }
            // A run that confirmed something showed that all have to be run in another way.
            coordination.start_over(machine)?;
            begins = true;
        }
    }

    fn pace(&self) -> Pace {
        let usual = match self.request.search.balance.copies() {
            // Each worker has one stack of its own.
            true => Pace {
                pieces: 1,
                ..Pace::default()
            },
            false => Pace::default(),
        };
        match self.request.options.slice {
            Some(slice) => Pace {
                slice_ms: slice.as_millis().max(1) as u64,
                variable: false,
                ..usual
            },
            None => usual,
        }
    }

    fn unless_failed(&self, ending: Ending, failed: Option<CheckError>) -> Result<(), Failure> {
        match (ending, failed) {
            (_, Some(error)) => Err(error.into()),
            (Ending::Over | Ending::Late | Ending::Stopped, None) => Ok(()),
            (Ending::Replaced, None) => Err(Failure::from(format!(
                "another process has taken search {} over, and reports its result",
                self.search
            ))),
            (Ending::Fault(sentence), None) => Err(Failure::fault(sentence)),
        }
    }

    /// Says once what keeps workers from exploring.
    fn look(&self, seen: &mut Seen, begun: Instant, fleet: &Fleet) {
        seen.most = seen.most.max(fleet.slots);
        for (worker, why) in &fleet.refused {
            let sentence = format!("{worker} cannot explore it: {why}");
            if seen.refused.insert(sentence.clone()) {
                say(&sentence);
            }
        }
        if fleet.slots == 0 && !seen.waits && begun.elapsed() > Duration::from_secs(3) {
            seen.waits = true;
            say(&format!(
                "search {} waits for workers: `reweave worker --cluster URL` starts some",
                self.search
            ));
        }
    }
}
