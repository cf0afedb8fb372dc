//! The loop of a worker: takes tokens out of the work queues, and explores their pieces.
//!
//! *Decides:* which search a slot turns to. *Called by:* `reweave worker`. *Owns:* the threads of its slots and the files of
//! programs. *Invariants:* nothing of a search is run before its manifest is believed; a program that cannot be explored here is
//! reported, and the worker stays up.

use crate::{
    broker::{Broker, BrokerError, Delivery, Key, Queue},
    coordinate::head_key,
    credentials::Credentials,
    manifest::Manifest,
    message::{Alive, Control, Outcome, Report, SearchId, Token},
    sentence::Sentence,
    worker::{Action, Event, Worker},
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// Makes programs ready to be explored.
pub trait Opener: Sync {
    /// For one slot. The files lie in this directory; an error is a sentence.
    fn open(&self, manifest: &Manifest, directory: &Path) -> Result<Box<dyn Explorer>, Sentence>;
}

/// Explores pieces of one search.
pub trait Explorer {
    /// Explores a piece. An error is a sentence: it cannot be explored here.
    fn explore(&mut self, piece: &[u8], slice: &PieceSlice) -> Result<Explored, Sentence>;
}

/// How far a piece is explored.
#[derive(Clone, Debug)]
pub struct PieceSlice {
    /// For so long, once the program is ready.
    pub time: Duration,
    /// At most so many runs.
    pub most_runs: Option<u64>,
    /// Set to end it at once.
    pub stop: Arc<AtomicBool>,
    /// Runs so far, for others to look at.
    pub runs: Arc<AtomicU64>,
}

/// What became of a piece.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explored {
    /// How it ended.
    pub outcome: Outcome,
    /// Runs in it.
    pub runs: u64,
    /// How long it was explored, reading and writing left out.
    pub time: Duration,
    /// The piece as it is now.
    pub payload: Vec<u8>,
}

/// Who serves, and where.
pub struct Place {
    /// A name that no other worker has.
    pub name: String,
    /// How many pieces are explored at once.
    pub slots: usize,
    /// Where programs lie while they are explored.
    pub directory: PathBuf,
    /// The address of the broker.
    pub url: String,
    /// Whose programs are believed.
    pub credentials: Credentials,
    /// The version that this is: programs for another one are refused.
    pub build: String,
    /// The machine that this is.
    pub machine: String,
    /// Bytes that the files of all programs can have together.
    pub disk: u64,
    /// Shows a sentence.
    pub say: fn(&str),
}

/// How often a worker says that it is there.
const BEAT: Duration = Duration::from_millis(300);
/// How long a slot waits for a token, if there is one search; shared among several.
const WAIT: Duration = Duration::from_millis(900);
/// A piece whose exploration was begun so often ends its workers. Far more than machines that are slow or fail would cause.
const TOO_OFTEN: i64 = 40;

/// A search that this worker knows.
struct Known {
    search: SearchId,
    manifest: Result<Manifest, Sentence>,
    queue: Queue,
    /// Why it cannot be explored here.
    refused: Mutex<Option<String>>,
    files: Mutex<Option<PathBuf>>,
}

#[derive(Default)]
struct Slot {
    machine: Worker,
    delivery: Option<Delivery>,
    stop: Arc<AtomicBool>,
    runs: Arc<AtomicU64>,
}

struct Serving<'a> {
    broker: &'a Broker,
    place: &'a Place,
    opener: &'a dyn Opener,
    stop: &'a AtomicBool,
    searches: Mutex<BTreeMap<SearchId, Arc<Known>>>,
    slots: Vec<Mutex<Slot>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Broker {
    /// Gets the files of a program; an error is a sentence.
    pub fn unpack(&self, manifest: &Manifest, directory: &Path) -> Result<(), Sentence> {
        let failed = |error: io::Error| format!("{}: {error}", directory.display());
        fs::create_dir_all(directory).map_err(failed)?;
        for file in &manifest.files {
            let bytes = self.get_file(&file.hash, file.bytes + 1);
            let bytes = bytes.map_err(Sentence::of)?;
            if !file.is(&bytes) {
                let name = &file.name;
                return Err(format!("{name}: its hash is not the one of its manifest").into());
            }
            let path = directory.join(&file.name);
            fs::write(&path, &bytes).map_err(failed)?;
            let executable = fs::Permissions::from_mode(0o700);
            fs::set_permissions(&path, executable).map_err(failed)?;
        }
        Ok(())
    }
}

/// Serves until it is stopped.
pub fn serve(
    broker: &Broker,
    place: &Place,
    opener: &dyn Opener,
    stop: &AtomicBool,
) -> Result<(), BrokerError> {
    let serving = Serving {
        broker,
        place,
        opener,
        stop,
        searches: Mutex::default(),
        slots: (0..place.slots).map(|_| Mutex::default()).collect(),
    };
    let mut heads = broker.watch(&Key::any_head())?;
    let controls = broker.listen("control.*")?;
    let serving = &serving;
    std::thread::scope(|scope| {
        for index in 0..place.slots {
            scope.spawn(move || serving.slot(index));
        }
        scope.spawn(|| serving.beat());
        scope.spawn(move || {
            while !stop.load(Relaxed) {
                if let Ok((search, bytes)) = controls.recv_timeout(BEAT) {
                    serving.control(&search, &bytes);
                }
            }
        });
        while !stop.load(Relaxed) {
            match heads.next(BEAT) {
                Ok(Some((key, head))) => serving.meet(&key, &head),
                Ok(None) => {}
                Err(error) => (place.say)(&error.to_string()),
            }
        }
    });
    Ok(())
}

/// A token that need not be waited for, of the first search that has one. Of a single search it is waited for in any case.
fn at_hand(searches: &[Arc<Known>], first: usize) -> Option<(&Arc<Known>, Delivery)> {
    let several = if searches.len() > 1 { searches } else { &[] };
    let mut turned = several.iter().cycle().skip(first).take(several.len());
    turned.find_map(|known| Some((known, known.queue.at_hand()?)))
}

impl Serving<'_> {
    /// A search begins.
    fn meet(&self, key: &str, head: &[u8]) {
        let name = key.split('.').nth(2).unwrap_or_default();
        let Ok(search) = name.parse::<SearchId>() else {
            return;
        };
        if lock(&self.searches).contains_key(&search) {
            return;
        }
        let credentials = &self.place.credentials;
        let demands = credentials.demands_signatures(&self.place.url);
        let believed = demands.then_some(&credentials.trust[..]);
        let manifest = Manifest::unseal(head, believed).and_then(|it| self.suits(it));
        if let Err(why) = &manifest {
            (self.place.say)(&format!("search {search} is not explored here: {why}"));
        }
        let queue = match self.broker.queue_of(&search) {
            Ok(queue) => queue,
            Err(error) => return (self.place.say)(&error.to_string()),
        };
        let known = Known {
            search: search.clone(),
            refused: Mutex::new(manifest.as_ref().err().map(Sentence::to_string)),
            manifest,
            queue,
            files: Mutex::default(),
        };
        lock(&self.searches).insert(search, known.into());
        // Its coordinator need not wait for the next beat.
        self.broker.send("alive", self.alive(false).encode());
    }

    fn suits(&self, manifest: Manifest) -> Result<Manifest, Sentence> {
        let (build, machine) = (&self.place.build, &self.place.machine);
        if manifest.machine != *machine {
            let theirs = &manifest.machine;
            return Err(format!("it is for {theirs}, and this machine is {machine}").into());
        }
        if manifest.build != *build {
            let theirs = &manifest.build;
            return Err(format!("it is of reweave {theirs}, and this worker is {build}").into());
        }
        Ok(manifest)
    }

    /// Says a few times a second what it does, and keeps its tokens.
    fn beat(&self) {
        let mut count = 0u32;
        while !self.stop.load(Relaxed) {
            self.broker.send("alive", self.alive(false).encode());
            count += 1;
            if count.is_multiple_of(2) {
                for slot in &self.slots {
                    let delivery = lock(slot).delivery.clone();
                    if let Some(delivery) = delivery {
                        delivery.progress();
                    }
                }
            }
            std::thread::sleep(BEAT);
        }
        self.broker.send("alive", self.alive(true).encode());
    }

    fn alive(&self, leaves: bool) -> Alive {
        let busy = self.slots.iter().filter_map(|slot| {
            let slot = lock(slot);
            let (search, piece) = slot.machine.piece()?;
            Some((search.clone(), piece, slot.runs.load(Relaxed)))
        });
        let searches = lock(&self.searches);
        let refused = searches.values().filter_map(|known| {
            let why = lock(&known.refused).clone()?;
            Some((known.search.clone(), why))
        });
        Alive {
            worker: self.place.name.clone(),
            slots: self.place.slots as u32,
            busy: busy.collect(),
            refused: refused.collect(),
            leaves,
        }
    }

    fn control(&self, search: &str, bytes: &[u8]) {
        let (Ok(search), Ok(control)) = (search.parse::<SearchId>(), Control::decode(bytes)) else {
            return;
        };
        for slot in &self.slots {
            let mut slot = lock(slot);
            let event = Event::Control(search.clone(), control.clone());
            if slot.machine.step(event) == Some(Action::Interrupt) {
                slot.stop.store(true, Relaxed);
            }
        }
    }

    /// Explores one piece after the other.
    fn slot(&self, index: usize) {
        let mut explorers: BTreeMap<SearchId, Box<dyn Explorer>> = BTreeMap::new();
        let mut turn = index;
        while !self.stop.load(Relaxed) {
            let searches: Vec<Arc<Known>> = {
                let all = lock(&self.searches);
                explorers.retain(|search, _| all.contains_key(search));
                let usable = all.values().filter(|it| lock(&it.refused).is_none());
                usable.cloned().collect()
            };
            if searches.is_empty() {
                self.drop_ended();
                std::thread::sleep(BEAT / 3);
                continue;
            }
            turn += 1;
            let first = turn % searches.len();
            if let Some((known, delivery)) = at_hand(&searches, first) {
                self.work(index, known, delivery, &mut explorers);
                continue;
            }
            let known = &searches[first];
            match known.queue.next(WAIT / searches.len() as u32) {
                Ok(Some(delivery)) => self.work(index, known, delivery, &mut explorers),
                Ok(None) => self.drop_if_ended(known),
                Err(_) => {
                    self.drop_if_ended(known);
                    std::thread::sleep(BEAT);
                }
            }
        }
    }

    fn drop_ended(&self) {
        let all: Vec<Arc<Known>> = lock(&self.searches).values().cloned().collect();
        all.iter().for_each(|known| self.drop_if_ended(known));
    }

    fn drop_if_ended(&self, known: &Known) {
        if let Ok(None) = self.broker.get(&head_key(&known.search)) {
            let gone = lock(&self.searches).remove(&known.search);
            let files = gone.and_then(|known| lock(&known.files).take());
            if let Some(directory) = files {
                // What stays is removed with the worker's directory.
                let _ = fs::remove_dir_all(directory);
            }
        }
    }

    /// From a token to its acknowledgement.
    fn work(
        &self,
        index: usize,
        known: &Known,
        delivery: Delivery,
        explorers: &mut BTreeMap<SearchId, Box<dyn Explorer>>,
    ) {
        let slot = &self.slots[index];
        let times = delivery.times;
        let mut event = Event::Token(delivery.token.clone());
        lock(slot).delivery = Some(delivery.clone());
        loop {
            let Some(action) = lock(slot).machine.step(event) else {
                break;
            };
            event = match action {
                Action::Fetch(token) => match self.fetch(&token, times) {
                    Ok(piece) => Event::Piece(piece),
                    Err(error) => {
                        (self.place.say)(&error.to_string());
                        // The token comes again when the broker misses its acknowledgement.
                        lock(slot).machine = Worker::default();
                        break;
                    }
                },
                Action::Explore(token, _) if times > TOO_OFTEN => Event::Explored(Report {
                    outcome: Outcome::Fault(format!(
                        "the exploration of a piece was begun {times} times and never came to an end"
                    )),
                    ..self.report(&token)
                }),
                Action::Explore(token, piece) => {
                    self.explore(slot, known, &token, &piece, explorers)
                }
                Action::Store(search, report) => {
                    let key = Key::report(&search, report.piece);
                    // A conflict means that there is one.
                    match self.broker.replace(&key, &report.encode(), 0) {
                        Ok(_) => Event::Stored,
                        Err(error) => {
                            (self.place.say)(&error.to_string());
                            lock(slot).machine = Worker::default();
                            break;
                        }
                    }
                }
                Action::Acknowledge => {
                    delivery.acknowledge();
                    break;
                }
                Action::Return => {
                    delivery.give_back();
                    break;
                }
                Action::Interrupt => break,
            };
        }
        lock(slot).delivery = None;
    }

    /// The piece of a token, if it is out. One that comes again may have a report.
    fn fetch(&self, token: &Token, times: i64) -> Result<Option<Vec<u8>>, BrokerError> {
        let report = Key::report(&token.search, token.piece);
        if times > 1 && self.broker.get(&report)?.is_some() {
            return Ok(None);
        }
        let piece = self.broker.get(&Key::piece(&token.search, token.piece))?;
        Ok(piece.map(|(_, bytes)| bytes))
    }

    fn report(&self, token: &Token) -> Report {
        Report {
            worker: self.place.name.clone(),
            ..Report::unexplored(token.piece, Vec::new())
        }
    }

    fn explore(
        &self,
        slot: &Mutex<Slot>,
        known: &Known,
        token: &Token,
        piece: &[u8],
        explorers: &mut BTreeMap<SearchId, Box<dyn Explorer>>,
    ) -> Event {
        let slice = {
            let mut slot = lock(slot);
            slot.stop = Arc::default();
            slot.runs = Arc::default();
            PieceSlice {
                time: Duration::from_millis(token.budget_ms),
                most_runs: token.most_runs,
                stop: slot.stop.clone(),
                runs: slot.runs.clone(),
            }
        };
        let explorer = match explorers.entry(token.search.clone()) {
            Entry::Occupied(there) => Ok(there.into_mut()),
            Entry::Vacant(place) => self.open(known).map(|explorer| place.insert(explorer)),
        };
        let begun = Instant::now();
        match explorer.and_then(|explorer| explorer.explore(piece, &slice)) {
            Ok(explored) => Event::Explored(Report {
                outcome: explored.outcome,
                runs: explored.runs,
                busy_ms: explored.time.as_millis() as u64,
                moving_ms: begun.elapsed().saturating_sub(explored.time).as_millis() as u64,
                payload: explored.payload,
                ..self.report(token)
            }),
            Err(why) => {
                let search = &token.search;
                (self.place.say)(&format!("search {search} is not explored here: {why}"));
                *lock(&known.refused) = Some(why.0);
                Event::Refused
            }
        }
    }

    /// Whether the files of a program fit beside those that are here.
    fn has_room(&self, known: &Known, manifest: &Manifest) -> Result<(), Sentence> {
        let others = lock(&self.searches);
        let others = others.values().filter(|other| other.search != known.search);
        // One that is being opened counts: its lock is held by the slot that opens it, which may wait here.
        let here = others.filter(|other| other.files.try_lock().map_or(true, |it| it.is_some()));
        let here = here.filter_map(|other| Some(other.manifest.as_ref().ok()?.bytes()));
        let (used, disk, wanted) = (here.sum::<u64>(), self.place.disk, manifest.bytes());
        match wanted <= disk.saturating_sub(used) {
            true => Ok(()),
            false => Err(format!(
                "its files have {wanted} bytes, and of the {disk} that programs can have on this worker {used} are used"
            )
            .into()),
        }
    }

    fn open(&self, known: &Known) -> Result<Box<dyn Explorer>, Sentence> {
        let manifest = known.manifest.as_ref().map_err(Sentence::clone)?;
        let directory = {
            let mut files = lock(&known.files);
            match &*files {
                Some(directory) => directory.clone(),
                None => {
                    self.has_room(known, manifest)?;
                    let directory = self.place.directory.join(known.search.as_str());
                    self.broker.unpack(manifest, &directory)?;
                    files.insert(directory).clone()
                }
            }
        };
        self.opener.open(manifest, &directory)
    }
}
