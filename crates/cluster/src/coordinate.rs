//! The loop of the coordinator: what the broker has goes into the state machine, and its actions are done.
//!
//! *Called by:* the command, at the user's end. *Owns:* the clock. *Invariant:* the actions of a step are done in their order, and
//! none after a record that was refused: see `coordinator`.

use crate::{
    broker::{Broker, BrokerError, Key, Written},
    coordinator::{Coordinator, Ending, Home, Input, Step},
    message::{Alive, Record, Report, SearchId, Status},
    sentence::Sentence,
};
use std::{
    collections::BTreeMap,
    sync::mpsc,
    time::{Duration, Instant},
};

/// What the user's end does in between.
pub trait Desk<H> {
    /// The search begins, or starts over: explores a little of it, so that there is something to deal out. An error is a
    /// sentence.
    fn begin(&mut self, home: &mut H) -> Result<(), Sentence>;

    /// Whether the user wants it to stop.
    fn wants_stop(&self) -> bool;

    /// Shows how far it is.
    fn look(&mut self, home: &H, fleet: &Fleet);
}

/// The fleet as a search sees it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fleet {
    /// How many pieces it can explore at once.
    pub slots: usize,
    /// How many of this search it explores.
    pub busy: usize,
    /// Runs in pieces that are being explored.
    pub runs: u64,
    /// Pieces that are out.
    pub out: usize,
    /// Reports that were taken in, and those that came again or too late.
    pub reports: (u64, u64),
    /// Processes of workers that fell silent.
    pub lost: u64,
    /// Workers that cannot explore the program, and why.
    pub refused: BTreeMap<String, String>,
}

/// One search under way, in this process.
pub struct Coordination<'a> {
    broker: &'a Broker,
    search: SearchId,
    revision: u64,
    /// The name of the parts of the last record, if it is long.
    parts: Option<u64>,
    begun: Instant,
    reports: crate::broker::Watch,
    alive: mpsc::Receiver<(String, Vec<u8>)>,
    asks: mpsc::Receiver<(String, Vec<u8>)>,
    /// The last word of each worker.
    fleet: BTreeMap<String, (Instant, Alive)>,
    /// Workers that said no last word.
    lost: u64,
}

/// How long to wait for a report before looking at everything else.
const TICK: Duration = Duration::from_millis(20);
/// Reports that are taken in together.
const BATCH: usize = 64;
/// A worker that is silent for so long is gone.
const SILENT: Duration = Duration::from_secs(3);
/// Workers that are interrupted report within this time.
const GRACE: Duration = Duration::from_millis(300);
/// A record that may be stored in parts.
const LONG: usize = 256 << 10;

impl<'a> Coordination<'a> {
    /// Writes the first record of a new search, with its manifest. `manifest` is sealed.
    pub fn begin<H: Home>(
        broker: &'a Broker,
        search: &SearchId,
        machine: &mut Coordinator<H>,
        manifest: &[u8],
    ) -> Result<Coordination<'a>, BrokerError> {
        let record = machine.record(Status::Running).encode();
        // Workers look for searches by their heads, which come last.
        let revision = match broker.replace(&record_key(search), &record, 0)? {
            Written::As(revision) => revision,
            Written::Conflict => return Err(taken(search)),
        };
        broker.queue_of(search)?;
        // Workers answer the head at once.
        let coordination = Coordination::of(broker, search, revision)?;
        broker.put(&[(head_key(search), manifest)])?;
        Ok(coordination)
    }

    /// Becomes the coordinator of a search: `machine` took over from the record with this revision.
    pub fn take_over<H: Home>(
        broker: &'a Broker,
        search: &SearchId,
        machine: &mut Coordinator<H>,
        revision: u64,
    ) -> Result<Coordination<'a>, BrokerError> {
        let record = machine.record(Status::Running).encode();
        match broker.replace(&record_key(search), &record, revision)? {
            Written::As(revision) => Coordination::of(broker, search, revision),
            Written::Conflict => Err(taken(search)),
        }
    }

    fn of(
        broker: &'a Broker,
        search: &SearchId,
        revision: u64,
    ) -> Result<Coordination<'a>, BrokerError> {
        Ok(Coordination {
            broker,
            search: search.clone(),
            revision,
            parts: None,
            begun: Instant::now(),
            reports: broker.watch(&Key::any_report(search))?,
            alive: broker.listen("alive")?,
            asks: broker.listen(&format!("ask.{search}"))?,
            fleet: BTreeMap::new(),
            lost: 0,
        })
    }

    /// The time as the state machine counts it.
    pub fn now_ms(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    /// Goes on until the search ends. `begins`: explore a little of it first.
    pub fn run<H: Home>(
        &mut self,
        machine: &mut Coordinator<H>,
        mut begins: bool,
        desk: &mut dyn Desk<H>,
    ) -> Result<Ending, BrokerError> {
        loop {
            if std::mem::take(&mut begins) {
                if let Err(sentence) = desk.begin(&mut machine.home) {
                    return Ok(Ending::Fault(sentence.0));
                }
            }
            let inputs = self.inputs(desk.wants_stop())?;
            let step = machine.step(self.now_ms(), inputs);
            begins = step.begins;
            if let Some(ending) = self.carry_out(step)? {
                return Ok(ending);
            }
            self.forget_silent();
            desk.look(&machine.home, &self.fleet(machine));
        }
    }

    /// Brings all pieces home, so that the search is whole in this process: workers report what they explore, and what none of them
    /// reports within [`GRACE`] comes home as it was dealt. The search goes on with [`Coordination::run`], or is stored elsewhere.
    pub fn gather<H: Home>(&mut self, machine: &mut Coordinator<H>) -> Result<Ending, BrokerError> {
        let begun = Instant::now();
        let mut withdrawn = false;
        machine.end_at(Some(0));
        while machine.out() > 0 {
            let inputs = self.inputs(false)?;
            if !withdrawn && begun.elapsed() >= GRACE {
                withdrawn = true;
                self.withdraw(machine)?;
            }
            // Each step stores the record.
            if !inputs.iter().any(|it| matches!(it, Input::Report(_))) {
                continue;
            }
            let step = machine.step(self.now_ms(), inputs);
            match self.carry_out(step)? {
                None | Some(Ending::Late) => {}
                Some(ending) => return Ok(ending),
            }
        }
        Ok(Ending::Late)
    }

    /// Reports the pieces that are out as they were dealt. Where a worker was faster its report counts, and otherwise not.
    fn withdraw<H: Home>(&self, machine: &Coordinator<H>) -> Result<(), BrokerError> {
        for piece in machine.pieces_out() {
            let Some((_, payload)) = self.broker.get(&Key::piece(&self.search, piece))? else {
                continue;
            };
            let report = Report::unexplored(piece, payload);
            let key = Key::report(&self.search, piece);
            self.broker.replace(&key, &report.encode(), 0)?;
        }
        Ok(())
    }

    /// Stores that the search starts over.
    pub fn start_over<H: Home>(&mut self, machine: &mut Coordinator<H>) -> Result<(), BrokerError> {
        machine.start_over();
        let record = machine.record(Status::Running).encode();
        let key = record_key(&self.search);
        match self.broker.replace(&key, &record, self.revision)? {
            Written::As(revision) => self.revision = revision,
            Written::Conflict => return Err(taken(&self.search)),
        }
        Ok(())
    }

    /// What has come in since.
    fn inputs(&mut self, stop: bool) -> Result<Vec<Input>, BrokerError> {
        let mut inputs = Vec::new();
        while let Ok((_, bytes)) = self.alive.try_recv() {
            if let Ok(alive) = Alive::decode(&bytes) {
                match alive.leaves {
                    true => self.fleet.remove(&alive.worker),
                    false => {
                        let last = (Instant::now(), alive.clone());
                        self.fleet.insert(alive.worker.clone(), last)
                    }
                };
                inputs.push(Input::Alive(alive));
            }
        }
        let mut wait = TICK;
        while inputs.len() < BATCH {
            let Some((_, bytes)) = self.reports.next(wait)? else {
                break;
            };
            // A report that is damaged comes again: its piece stays out, and the token is not done with.
            inputs.extend(Report::decode(&bytes).ok().map(Input::Report));
            wait = Duration::ZERO;
        }
        if stop || self.asks.try_recv().is_ok() {
            inputs.push(Input::Stop);
        }
        Ok(inputs)
    }

    fn carry_out(&mut self, step: Step) -> Result<Option<Ending>, BrokerError> {
        let search = &self.search;
        let put = step.put.iter();
        let put = put.map(|(id, piece)| (Key::piece(search, *id), &piece[..]));
        self.broker.put(&put.collect::<Vec<_>>())?;
        if let Some(record) = step.record {
            let key = record_key(search);
            let bytes = record.encode();
            match self.broker.replace(&key, &bytes, self.revision)? {
                Written::As(revision) => self.revision = revision,
                Written::Conflict => return Ok(Some(Ending::Replaced)),
            }
            self.tidy(&key, bytes.len())?;
        }
        let search = &self.search;
        self.broker.queue(&step.queue)?;
        if let Some(control) = step.control {
            let subject = format!("control.{search}");
            self.broker.send(&subject, control.encode());
        }
        self.broker.discard(search, &step.discard)?;
        Ok(step.ending)
    }

    /// Removes the parts of the record before the one that was just written.
    fn tidy(&mut self, key: &Key, bytes: usize) -> Result<(), BrokerError> {
        if let Some(old) = self.parts.take() {
            self.broker.tidy(key, old)?;
        }
        if bytes > LONG {
            self.parts = self.broker.parts(key)?;
        }
        Ok(())
    }

    fn forget_silent(&mut self) {
        let known = self.fleet.len();
        self.fleet.retain(|_, (at, _)| at.elapsed() < SILENT);
        self.lost += (known - self.fleet.len()) as u64;
    }

    fn fleet<H: Home>(&self, machine: &Coordinator<H>) -> Fleet {
        let mut fleet = Fleet {
            slots: machine.slots(self.now_ms()),
            out: machine.out(),
            reports: machine.reports(),
            lost: self.lost,
            ..Fleet::default()
        };
        for (_, alive) in self.fleet.values() {
            for (_, _, runs) in alive.busy.iter().filter(|(id, ..)| *id == self.search) {
                fleet.busy += 1;
                fleet.runs += runs;
            }
            let refused = alive.refused.iter().find(|(id, _)| *id == self.search);
            if let Some((_, why)) = refused {
                fleet.refused.insert(alive.worker.clone(), why.clone());
            }
        }
        fleet
    }
}

/// The record of a search and its revision.
pub fn record_of(broker: &Broker, search: &SearchId) -> Result<Option<(u64, Record)>, BrokerError> {
    let Some((revision, bytes)) = broker.get(&record_key(search))? else {
        return Ok(None);
    };
    let record = Record::decode(&bytes);
    let record = record.map_err(|error| BrokerError::Failed(error.to_string()))?;
    Ok(Some((revision, record)))
}

/// The manifest of a search, as it was sealed.
pub fn manifest_of(broker: &Broker, search: &SearchId) -> Result<Option<Vec<u8>>, BrokerError> {
    Ok(broker.get(&head_key(search))?.map(|(_, bytes)| bytes))
}

pub(crate) fn record_key(search: &SearchId) -> Key {
    Key::of(search, "record")
}

pub(crate) fn head_key(search: &SearchId) -> Key {
    Key::of(search, "head")
}

fn taken(search: &SearchId) -> BrokerError {
    BrokerError::Usage(format!(
        "another process has just taken search {search} over"
    ))
}
