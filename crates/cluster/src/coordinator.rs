//! The state machine of the coordinator: deals a search out, takes reports in, decides when it is over.
//!
//! *Decides:* how many pieces there are, how long each is explored, which are called back. *Called by:* `coordinate`, and the
//! simulator. *Owns:* the list of pieces that are out, and the fleet as far as it is known. *Invariants:* a report is taken in only if
//! its piece is out, and the record that no longer lists the piece holds what was taken in. A step's actions are done in order: pieces
//! are stored before the record that lists them, and queued after it.

use crate::{
    message::{Alive, Control, Outcome, PieceId, Record, Report, SearchId, Status, Token},
    sentence::Sentence,
};
use std::collections::BTreeMap;

/// The search itself, in the coordinator's hands.
pub trait Home {
    /// Hands out all that is left, in at most so many pieces.
    fn deal(&mut self, most: usize) -> Vec<Vec<u8>>;

    /// Takes in a piece that was explored. Where it fails nothing has changed.
    fn absorb(&mut self, piece: &[u8]) -> Result<(), Sentence>;

    /// Starts over, in the way that this piece says. Pieces that are out mean nothing any more.
    fn restart(&mut self, with: &[u8]) -> Result<(), Sentence>;

    /// All of it as bytes, but for the pieces that are out.
    fn store(&mut self) -> Vec<u8>;

    /// Runs so far.
    fn runs(&self) -> u64;

    /// Whether there is nothing more to do: everything is explored, or an error or a limit ends it.
    fn is_over(&self) -> bool;
}

/// How long pieces are explored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// At most.
    pub slice_ms: u64,
    /// Whether a piece gets the less of that the fewer are out, so that a search is soon in enough pieces for all.
    pub variable: bool,
    /// Pieces for each worker.
    pub pieces: usize,
    /// How long a piece is left alone before it is called back because others have nothing to do; `None`: for ever.
    pub recall_ms: Option<u64>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace {
            slice_ms: 10_000,
            variable: true,
            pieces: 2,
            recall_ms: Some(100),
        }
    }
}

/// The shortest exploration that is worth its overhead.
const LEAST_MS: u64 = 50;

/// Pieces are called back after so long, whatever came of it before.
const LONGEST_MS: u64 = 10_000;

/// A piece is explored, and left alone, for so many times as long as it takes to move it.
const WORTH: u64 = 10;

/// A worker that is silent for so long is gone, as far as the number of pieces goes.
const SILENT_MS: u64 = 3_000;

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// Runs at most.
    pub runs: Option<u64>,
    /// When it is stopped.
    pub until_ms: Option<u64>,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A report was stored.
    Report(Report),
    /// A worker is there.
    Alive(Alive),
    /// The user, or another process, wants it to stop.
    Stop,
}

/// What to do, in this order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Step {
    /// Store these pieces.
    pub put: Vec<(PieceId, Vec<u8>)>,
    /// Replace the record. If it is not the last one that this coordinator knows, another process has taken over.
    pub record: Option<Record>,
    /// Put these into the work queue. Doing it twice does no harm.
    pub queue: Vec<Token>,
    /// Remove these pieces and their reports.
    pub discard: Vec<PieceId>,
    /// Send this to the workers.
    pub control: Option<Control>,
    /// The search restarts: explore a little of it here, as at its beginning.
    pub begins: bool,
    /// Then it is over.
    pub ending: Option<Ending>,
}

/// How a search ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// There is nothing more to do.
    Over,
    /// Its time is over.
    Late,
    /// It was stopped. What is out stays in the broker.
    Stopped,
    /// Another process is its coordinator now.
    Replaced,
    /// The program does not behave the same again, or something failed; a sentence.
    Fault(String),
}

#[derive(Clone, Copy, Debug)]
struct Out {
    most_runs: Option<u64>,
    /// Since when it is left alone.
    since_ms: u64,
}

#[derive(Clone, Debug)]
struct Seen {
    slots: u32,
    at_ms: u64,
    /// Pieces of this search that it explores.
    busy: Vec<PieceId>,
}

/// See the module.
#[derive(Debug)]
pub struct Coordinator<H> {
    /// The search.
    pub home: H,
    search: SearchId,
    pace: Pace,
    limits: Limits,
    epoch: u32,
    next: u64,
    out: BTreeMap<PieceId, Out>,
    fleet: BTreeMap<String, Seen>,
    /// How many searches share the fleet.
    sharing: usize,
    writer: (u64, u64),
    reports: u64,
    repeated: u64,
    /// Out when it was resumed, and to be queued once more.
    again: Vec<PieceId>,
    /// How long pieces are left alone at present, and the runs when some were called back last.
    patience_ms: u64,
    recalled_at: Option<u64>,
    /// How long workers took to read a piece and to write a report, of late.
    moving_ms: u64,
}

impl<H: Home> Coordinator<H> {
    /// Of a new search. `writer` distinguishes this process from others.
    pub fn new(home: H, search: SearchId, pace: Pace, limits: Limits, writer: u64) -> Self {
        Coordinator {
            home,
            search,
            pace,
            limits,
            epoch: 0,
            next: 0,
            out: BTreeMap::new(),
            fleet: BTreeMap::new(),
            sharing: 1,
            writer: (writer, 0),
            reports: 0,
            repeated: 0,
            again: Vec::new(),
            patience_ms: pace.recall_ms.unwrap_or_default(),
            recalled_at: None,
            moving_ms: 0,
        }
    }

    /// Goes on where the writer of this record stopped. `home` was restored from it. The next record is to be stored before any step:
    /// from then on pieces of this process have names that no other process gives.
    pub fn take_over(mut self, record: &Record, now_ms: u64) -> Self {
        self.epoch = record.epoch + 1;
        self.next = record.next;
        self.reports = record.reports;
        self.repeated = record.repeated;
        let out = record.out.iter().map(|(piece, most_runs)| {
            let out = Out {
                most_runs: *most_runs,
                since_ms: now_ms,
            };
            (*piece, out)
        });
        self.out = out.collect();
        self.again = self.out.keys().copied().collect();
        self
    }

    /// The search starts over: what is out means nothing any more. The next record is to be stored before any step.
    pub fn start_over(&mut self) {
        self.out.clear();
        self.again.clear();
        self.epoch += 1;
    }

    /// The search ends as late then, in the time that [`Coordinator::step`] is given; `None`: never.
    pub fn end_at(&mut self, until_ms: Option<u64>) {
        self.limits.until_ms = until_ms;
    }

    /// So many searches share the fleet from here on.
    pub fn share_among(&mut self, searches: usize) {
        self.sharing = searches.max(1);
    }

    /// The present epoch.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Pieces that are out.
    pub fn out(&self) -> usize {
        self.out.len()
    }

    /// Their names.
    pub fn pieces_out(&self) -> Vec<PieceId> {
        self.out.keys().copied().collect()
    }

    /// Reports that were taken in, and those that came again or too late.
    pub fn reports(&self) -> (u64, u64) {
        (self.reports, self.repeated)
    }

    /// How many pieces the fleet can explore at once.
    pub fn slots(&self, now_ms: u64) -> usize {
        let here = |seen: &&Seen| now_ms.saturating_sub(seen.at_ms) < SILENT_MS;
        let fleet = self.fleet.values().filter(here);
        fleet.map(|seen| seen.slots as usize).sum()
    }

    /// How many of these are for this search.
    fn share(&self, now_ms: u64) -> usize {
        self.slots(now_ms).div_ceil(self.sharing)
    }

    /// The first record of a search, or the one by which this process takes over.
    pub fn record(&mut self, status: Status) -> Record {
        self.writer.1 += 1;
        Record {
            epoch: self.epoch,
            next: self.next,
            out: self
                .out
                .iter()
                .map(|(id, out)| (*id, out.most_runs))
                .collect(),
            status,
            writer: self.writer,
            runs: self.home.runs(),
            reports: self.reports,
            repeated: self.repeated,
            home: self.home.store(),
        }
    }

    /// What to do now that these things happened. To be asked now and then even if nothing did.
    pub fn step(&mut self, now_ms: u64, inputs: Vec<Input>) -> Step {
        let mut step = Step::default();
        let mut changed = false;
        let mut stop = false;
        for input in inputs {
            match input {
                Input::Alive(alive) => self.meet(alive, now_ms),
                Input::Stop => stop = true,
                Input::Report(report) => {
                    changed |= self.report(report, &mut step);
                    if step.ending.is_some() || step.begins {
                        break;
                    }
                }
            }
        }
        if step.begins {
            step.record = Some(self.record(Status::Running));
            return step;
        }
        let late = self.limits.until_ms.is_some_and(|end| now_ms >= end);
        if step.ending.is_none() {
            step.ending = match () {
                () if self.home.is_over() => Some(Ending::Over),
                () if stop => Some(Ending::Stopped),
                () if late => Some(Ending::Late),
                () => None,
            };
        }
        if let Some(ending) = &step.ending {
            let stopped = *ending == Ending::Stopped;
            step.control = Some(Control::Stop(self.epoch));
            // Also where nothing changed: one that was replaced meanwhile learns it by this, and ends nothing.
            step.record = Some(self.record(match stopped {
                true => Status::Stopped,
                false => Status::Running,
            }));
            return step;
        }
        let again = std::mem::take(&mut self.again).into_iter();
        let out = again.filter(|id| self.out.contains_key(id));
        step.queue = out.map(|id| self.token(id, now_ms)).collect();
        self.deal(now_ms, &mut step);
        if changed || !step.put.is_empty() {
            step.record = Some(self.record(Status::Running));
        }
        self.recall(now_ms, &mut step);
        step
    }

    fn meet(&mut self, alive: Alive, now_ms: u64) {
        if alive.leaves {
            self.fleet.remove(&alive.worker);
            return;
        }
        let refused = alive
            .refused
            .iter()
            .any(|(search, _)| *search == self.search);
        let busy = alive.busy.iter().filter(|(search, ..)| *search == self.search);
        let seen = Seen {
            slots: if refused { 0 } else { alive.slots },
            at_ms: now_ms,
            busy: busy.map(|(_, piece, _)| *piece).collect(),
        };
        self.fleet.insert(alive.worker, seen);
    }

    /// Takes a report in; whether that changed anything.
    fn report(&mut self, report: Report, step: &mut Step) -> bool {
        let next = PieceId {
            epoch: self.epoch,
            number: self.next,
        };
        if report.piece >= next {
            // Another process has taken over. The report is for that one.
            return false;
        }
        step.discard.push(report.piece);
        if self.out.remove(&report.piece).is_none() {
            self.repeated += 1;
            return false;
        }
        self.reports += 1;
        self.moving_ms = report.moving_ms.max(self.moving_ms * 7 / 8);
        let done = match report.outcome {
            Outcome::Fault(sentence) => Err(Sentence(sentence)),
            Outcome::Explored => self.home.absorb(&report.payload),
            Outcome::Restarts => self.home.restart(&report.payload).map(|()| {
                step.discard.extend(self.out.keys());
                step.control = Some(Control::Stop(self.epoch));
                step.begins = true;
                self.start_over();
            }),
        };
        if let Err(sentence) = done {
            step.ending = Some(Ending::Fault(sentence.0));
        }
        true
    }

    /// Hands out what is left, while there are fewer pieces than wanted.
    fn deal(&mut self, now_ms: u64, step: &mut Step) {
        let slots = self.share(now_ms);
        let wanted = (slots * self.pace.pieces).saturating_sub(self.out.len());
        let most = match self.unused_runs() {
            _ if slots == 0 => 0,
            // What comes back early has to be explored as well.
            None => wanted.max(1),
            Some(unused) => wanted
                .max(1)
                .min(usize::try_from(unused).unwrap_or(usize::MAX)),
        };
        if most == 0 {
            return;
        }
        let pieces = self.home.deal(most);
        let each = self.unused_runs();
        let each = each.map(|unused| unused / pieces.len().max(1) as u64);
        let mut dealt = Vec::new();
        for piece in pieces {
            let id = PieceId {
                epoch: self.epoch,
                number: self.next,
            };
            self.next += 1;
            let out = Out {
                most_runs: each,
                since_ms: now_ms,
            };
            self.out.insert(id, out);
            step.put.push((id, piece));
            dealt.push(id);
        }
        let tokens = dealt.into_iter().map(|id| self.token(id, now_ms));
        step.queue.extend(tokens);
    }

    /// Runs that are neither made nor promised to a piece that is out.
    fn unused_runs(&self) -> Option<u64> {
        let promised: u64 = self.out.values().filter_map(|out| out.most_runs).sum();
        let unused = |limit: u64| limit.saturating_sub(self.home.runs() + promised);
        self.limits.runs.map(unused)
    }

    fn token(&self, piece: PieceId, now_ms: u64) -> Token {
        let slots = self.share(now_ms).max(1) as u64;
        let active = slots.min(self.out.len() as u64);
        let slice = match self.pace.variable {
            true => {
                let share = self.pace.slice_ms * active / slots;
                share.max(self.worth()).min(self.pace.slice_ms)
            }
            false => self.pace.slice_ms,
        };
        let left = self.limits.until_ms.map(|end| end.saturating_sub(now_ms));
        let floor = LEAST_MS.min(self.pace.slice_ms);
        Token {
            search: self.search.clone(),
            piece,
            budget_ms: slice.max(floor).min(left.unwrap_or(u64::MAX)),
            most_runs: self.out.get(&piece).and_then(|out| out.most_runs),
        }
    }

    /// The shortest time that is worth the way of a piece.
    fn worth(&self) -> u64 {
        (WORTH * self.moving_ms).min(LONGEST_MS)
    }

    fn is_explored(&self, piece: &PieceId, now_ms: u64) -> bool {
        let here = |seen: &&Seen| now_ms.saturating_sub(seen.at_ms) < SILENT_MS;
        let mut fleet = self.fleet.values().filter(here);
        fleet.any(|seen| seen.busy.contains(piece))
    }

    /// Calls the oldest pieces back if there are fewer than the fleet can explore.
    fn recall(&mut self, now_ms: u64, step: &mut Step) {
        let idle = self.share(now_ms).saturating_sub(self.out.len());
        let (Some(least), 1..) = (self.pace.recall_ms, idle) else {
            return;
        };
        let least = least.max(self.worth());
        let patience = self.patience_ms.max(least);
        let ripe = |out: &Out| now_ms.saturating_sub(out.since_ms) >= patience;
        let mut ripe: Vec<(u64, PieceId)> = self
            .out
            .iter()
            .filter(|(_, out)| ripe(out))
            .map(|(id, out)| (out.since_ms, *id))
            .collect();
        ripe.sort_unstable();
        ripe.truncate(idle);
        let called: Vec<PieceId> = ripe.into_iter().map(|(_, id)| id).collect();
        for id in &called {
            if let Some(out) = self.out.get_mut(id) {
                out.since_ms = now_ms;
            }
        }
        if !called.is_empty() {
            // A piece that is called back before its first run comes back as it was: next time it gets longer.
            let runs = Some(self.home.runs());
            // One that no worker explores has been lost: the broker gives it to another worker, which is not to keep it for long.
            let lost = !called.iter().any(|id| self.is_explored(id, now_ms));
            self.patience_ms = match self.recalled_at == runs && !lost {
                true => (2 * patience).min(self.pace.slice_ms.max(LONGEST_MS)),
                false => least,
            };
            self.recalled_at = runs;
            step.control = Some(Control::Recall(called));
        }
    }
}
