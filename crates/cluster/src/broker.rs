//! The client of the broker: values, the work queue, messages and files, as calls that wait for their answer.
//!
//! *Decides:* names in the broker, what is tried again. *Called by:* `coordinate`, `serve`, and the command. *Owns:* the connection and the
//! thread that keeps it; the only asynchronous code. *Invariants:* a call that fails may be made again: values are
//! replaced by compare-and-swap or do not change, and a write without an answer is looked up.

use crate::{
    credentials::Credentials,
    manifest::ManifestFile,
    message::{Alive, PieceId, SearchId, Token},
};
use async_nats::{
    Client, ConnectErrorKind, ConnectOptions,
    jetstream::{
        self, AckKind, Context,
        consumer::{AckPolicy, PullConsumer, pull},
        context::{AccountErrorKind, PublishErrorKind},
        message::PublishMessage,
        object_store::{self, ObjectStore},
        stream::{self, LastRawMessageErrorKind, RetentionPolicy, Stream},
    },
};
use futures_util::{StreamExt, future::join_all};
use std::{
    hash::{BuildHasher, RandomState},
    sync::mpsc,
    time::{Duration, Instant},
};
use tokio::{io::AsyncReadExt, runtime::Handle};

pub use errors::BrokerError;
pub(crate) use watch::Watch;

mod errors;
mod rate;
mod watch;

/// The stream of values, the work queue, and the store of files.
const VALUES: &str = "reweave";
const WORK: &str = "reweave-work";
const FILES: &str = "reweave-files";

/// For how long a call is tried again while the broker does not answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// And while its storage is full: what other searches end with may make room.
const PATIENCE_FULL: Duration = Duration::from_secs(5);
/// Before it is tried again.
const PAUSE: Duration = Duration::from_millis(100);
/// Values longer than this are stored in parts: by default a broker takes a megabyte at once.
const PART: usize = 512 << 10;
/// The most parts of a value.
const PARTS: u32 = 2048;
/// A worker that says nothing about a token for so long loses it.
const SILENCE: Duration = Duration::from_secs(3);

/// See the module.
#[derive(Clone)]
pub struct Broker {
    handle: Handle,
    client: Client,
    context: Context,
    values: Stream,
    work: Stream,
    files: ObjectStore,
}

impl std::fmt::Debug for Broker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Broker").finish_non_exhaustive()
    }
}

/// How long to try again after this error.
fn patience(error: &BrokerError) -> Duration {
    match error {
        BrokerError::Full => PATIENCE_FULL,
        _ => PATIENCE,
    }
}

/// A key of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn of(search: &SearchId, what: &str) -> Key {
        Key(format!("{VALUES}.v.{search}.{what}"))
    }

    /// The heads of all searches.
    pub(crate) fn any_head() -> Key {
        Key(format!("{VALUES}.v.*.head"))
    }

    pub(crate) fn piece(search: &SearchId, piece: PieceId) -> Key {
        Key::of(search, &format!("piece.{piece}.itself"))
    }

    pub(crate) fn report(search: &SearchId, piece: PieceId) -> Key {
        Key::of(search, &format!("piece.{piece}.report"))
    }

    /// The reports of a search.
    pub(crate) fn any_report(search: &SearchId) -> Key {
        Key::of(search, "piece.*.*.report")
    }

    /// The subject of the value.
    fn subject(&self) -> String {
        format!("{}.value", self.0)
    }

    /// The subject of a part of a long value.
    fn part(&self, name: u64, index: u32) -> String {
        format!("{}.part.{name:016x}.{index}", self.0)
    }
}

/// What a write did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Written {
    /// The value has this revision.
    As(u64),
    /// The value has another revision than expected.
    Conflict,
}

/// A token that was taken out of the work queue, to be acknowledged.
#[derive(Clone)]
pub(crate) struct Delivery {
    pub(crate) token: Token,
    /// How often it was taken out, this time included.
    pub(crate) times: i64,
    handle: Handle,
    message: std::sync::Arc<jetstream::Message>,
}

impl Delivery {
    /// It is done with. If that gets lost, it comes again and is found to be done with.
    pub(crate) fn acknowledge(&self) {
        let _ = self.handle.block_on(self.message.ack());
    }

    /// It is still being worked on.
    pub(crate) fn progress(&self) {
        let _ = self
            .handle
            .block_on(self.message.ack_with(AckKind::Progress));
    }

    /// Another worker shall have it, a little later.
    pub(crate) fn give_back(&self) {
        let soon = AckKind::Nak(Some(Duration::from_millis(500)));
        let _ = self.handle.block_on(self.message.ack_with(soon));
    }
}

enum Attempt<T> {
    Done(T),
    Again(BrokerError),
    Never(BrokerError),
}

impl Broker {
    /// Connects, and makes sure that the broker has what a cluster needs.
    pub fn connect(url: &str, credentials: &Credentials) -> Result<Broker, BrokerError> {
        let options = credentials.options(url)?;
        let (answer, answers) = mpsc::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| BrokerError::Failed(error.to_string()))?;
        std::thread::spawn(move || {
            // The receiver waits below.
            let _ = answer.send(runtime.handle().clone());
            runtime.block_on(std::future::pending::<()>());
        });
        let handle = answers.recv().expect("the thread has just begun");
        handle.block_on(Broker::open(url, options, handle.clone()))
    }

    async fn open(
        url: &str,
        options: ConnectOptions,
        handle: Handle,
    ) -> Result<Broker, BrokerError> {
        let options = options
            .connection_timeout(Duration::from_secs(5))
            .request_timeout(Some(Duration::from_secs(3)))
            .ping_interval(Duration::from_secs(5))
            .max_reconnects(None)
            .reconnect_delay_callback(|_| Duration::from_millis(200));
        let addresses: Vec<&str> = url.split(',').collect();
        let client = options.connect(addresses.as_slice()).await;
        let client = client.map_err(|error| {
            let (url, why) = (url.to_owned(), error.to_string());
            match error.kind() {
                ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                    BrokerError::Refused(url)
                }
                ConnectErrorKind::Tls => BrokerError::Tls(url, why),
                // A certificate that is not accepted is an error of reading.
                _ if why.contains("certificate") => BrokerError::Tls(url, why),
                _ => BrokerError::Unreachable(url, why),
            }
        })?;
        let mut context = jetstream::new(client.clone());
        context.set_timeout(Duration::from_secs(3));
        if let Err(error) = context.query_account().await {
            // Older servers leave out some of what the answer is expected to say.
            let missing = match error.kind() {
                AccountErrorKind::JetStream(error) => error.code() == NOT_ENABLED,
                AccountErrorKind::JetStreamUnavailable => true,
                AccountErrorKind::TimedOut | AccountErrorKind::Other => false,
            };
            if missing {
                return Err(BrokerError::NoJetStream(url.into()));
            }
        }
        let values = stream::Config {
            name: VALUES.into(),
            subjects: vec![format!("{VALUES}.v.>")],
            max_messages_per_subject: 1,
            ..stream::Config::default()
        };
        let work = stream::Config {
            name: WORK.into(),
            subjects: vec![format!("{WORK}.>")],
            retention: RetentionPolicy::WorkQueue,
            ..stream::Config::default()
        };
        Ok(Broker {
            values: open_stream(&context, values).await?,
            work: open_stream(&context, work).await?,
            files: open_files(&context).await?,
            handle,
            client,
            context,
        })
    }

    fn patiently<T>(&self, mut attempt: impl AsyncFnMut() -> Attempt<T>) -> Result<T, BrokerError> {
        let begun = Instant::now();
        loop {
            match self.handle.block_on(attempt()) {
                Attempt::Done(value) => return Ok(value),
                Attempt::Never(error) => return Err(error),
                Attempt::Again(error) if begun.elapsed() > patience(&error) => return Err(error),
                Attempt::Again(_) => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Writes a message to a stream; with `expected`, only if that is the revision of its subject.
    async fn publish(
        &self,
        subject: &str,
        bytes: &[u8],
        expected: Option<u64>,
        id: Option<&str>,
    ) -> Attempt<Written> {
        let mut message = PublishMessage::build().payload(bytes.to_vec().into());
        if let Some(expected) = expected {
            message = message.expected_last_subject_sequence(expected);
        }
        if let Some(id) = id {
            message = message.message_id(id);
        }
        let sent = self.context.send_publish(subject.to_owned(), message).await;
        let answer = match sent {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => Attempt::Done(Written::As(answer.sequence)),
            Err(error) => match error.kind() {
                PublishErrorKind::WrongLastSequence => Attempt::Done(Written::Conflict),
                PublishErrorKind::MaxPayloadExceeded => {
                    Attempt::Never(BrokerError::Failed(error.to_string()))
                }
                _ => Attempt::Again(BrokerError::of(&error)),
            },
        }
    }

    /// The value of a subject as it was written, with its revision.
    async fn read(&self, subject: &str) -> Attempt<Option<(u64, Vec<u8>)>> {
        match self.values.get_last_raw_message_by_subject(subject).await {
            Ok(message) => Attempt::Done(Some((message.sequence, message.payload.to_vec()))),
            Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => {
                Attempt::Done(None)
            }
            Err(error) => Attempt::Again(BrokerError::of(&error)),
        }
    }

    /// Replaces the value with this revision; 0: there must be none.
    pub(crate) fn replace(
        &self,
        key: &Key,
        bytes: &[u8],
        expected: u64,
    ) -> Result<Written, BrokerError> {
        let subject = key.subject();
        let value = self.in_parts(key, bytes)?;
        let mut unsure = false;
        self.patiently(async || {
            match self.publish(&subject, &value, Some(expected), None).await {
                Attempt::Done(Written::Conflict) if unsure => match self.read(&subject).await {
                    // An earlier attempt arrived.
                    Attempt::Done(Some((now, there))) if there == value => {
                        Attempt::Done(Written::As(now))
                    }
                    Attempt::Again(error) => Attempt::Again(error),
                    _ => Attempt::Done(Written::Conflict),
                },
                Attempt::Again(error) => {
                    unsure = true;
                    Attempt::Again(error)
                }
                done => done,
            }
        })
    }

    /// Writes values, whatever was there.
    pub(crate) fn put(&self, values: &[(Key, &[u8])]) -> Result<(), BrokerError> {
        let values = values.iter().map(|(key, bytes)| {
            let value = self.in_parts(key, bytes)?;
            Ok((key.subject(), value))
        });
        let values: Vec<(String, Vec<u8>)> = values.collect::<Result<_, BrokerError>>()?;
        self.all(&values, async |(subject, value)| {
            self.publish(subject, value, None, None).await
        })
    }

    /// Does many things at the same time; each of them may be done again.
    fn all<T>(
        &self,
        things: &[T],
        attempt: impl AsyncFn(&T) -> Attempt<Written>,
    ) -> Result<(), BrokerError> {
        const AT_ONCE: usize = 64;
        for some in things.chunks(AT_ONCE) {
            self.patiently(async || {
                let done = join_all(some.iter().map(|it| attempt(it))).await;
                for attempt in done {
                    match attempt {
                        Attempt::Done(_) => {}
                        Attempt::Again(error) => return Attempt::Again(error),
                        Attempt::Never(error) => return Attempt::Never(error),
                    }
                }
                Attempt::Done(())
            })?;
        }
        Ok(())
    }

    /// A value and its revision. One whose parts are gone was replaced meanwhile, or removed.
    pub(crate) fn get(&self, key: &Key) -> Result<Option<(u64, Vec<u8>)>, BrokerError> {
        let subject = key.subject();
        let mut last = None;
        loop {
            let found = self.patiently(async || self.read(&subject).await)?;
            let Some((revision, value)) = found.filter(|(now, _)| last != Some(*now)) else {
                return Ok(None);
            };
            if let Some(bytes) = self.put_together(key, &value)? {
                return Ok(Some((revision, bytes)));
            }
            last = Some(revision);
        }
    }

    /// Stores the parts of a long value, and returns what is stored for it: a byte that says how, then the value or the name and number of the parts.
    fn in_parts(&self, key: &Key, bytes: &[u8]) -> Result<Vec<u8>, BrokerError> {
        if bytes.len() <= PART {
            return Ok([&[0], bytes].concat());
        }
        let name = RandomState::new().hash_one(bytes.len());
        let parts = bytes.chunks(PART);
        let count = parts.len() as u32;
        if count > PARTS {
            return Err(BrokerError::Failed(format!(
                "a piece of the search has {} MB, which is too much to send",
                bytes.len() >> 20
            )));
        }
        for (index, part) in parts.enumerate() {
            let subject = key.part(name, index as u32);
            self.patiently(async || self.publish(&subject, part, None, None).await)?;
        }
        Ok([&[1][..], &name.to_le_bytes(), &count.to_le_bytes()].concat())
    }

    fn put_together(&self, key: &Key, value: &[u8]) -> Result<Option<Vec<u8>>, BrokerError> {
        let Some((name, count)) = parts_of(value) else {
            return Ok(value.split_first().map(|(_, bytes)| bytes.to_vec()));
        };
        let mut bytes = Vec::new();
        for index in 0..count {
            let subject = key.part(name, index);
            match self.patiently(async || self.read(&subject).await)? {
                Some((_, part)) => bytes.extend(part),
                None => return Ok(None),
            }
        }
        Ok(Some(bytes))
    }

    /// Removes pieces with their reports.
    pub(crate) fn discard(&self, search: &SearchId, pieces: &[PieceId]) -> Result<(), BrokerError> {
        self.all(pieces, async |piece| {
            let all = format!("{VALUES}.v.{search}.piece.{piece}.>");
            match self.values.purge().filter(all).await {
                Ok(_) => Attempt::Done(Written::Conflict),
                Err(error) => Attempt::Again(BrokerError::of(&error)),
            }
        })
    }

    fn purge(&self, stream: &Stream, filter: &str) -> Result<(), BrokerError> {
        self.patiently(async || match stream.purge().filter(filter).await {
            Ok(_) => Attempt::Done(()),
            Err(error) => Attempt::Again(BrokerError::of(&error)),
        })
    }

    /// Removes the parts of a value that are not those of its present one.
    pub(crate) fn tidy(&self, key: &Key, old: u64) -> Result<(), BrokerError> {
        self.purge(&self.values, &format!("{}.part.{old:016x}.>", key.0))
    }

    /// The name of the parts of a long value.
    pub(crate) fn parts(&self, key: &Key) -> Result<Option<u64>, BrokerError> {
        let subject = key.subject();
        let found = self.patiently(async || self.read(&subject).await)?;
        Ok(found.and_then(|(_, value)| Some(parts_of(&value)?.0)))
    }

    /// Removes all that the broker holds of a search, but for its files.
    pub fn forget(&self, search: &SearchId) -> Result<(), BrokerError> {
        self.purge(&self.work, &format!("{WORK}.{search}"))?;
        self.patiently(async || {
            // It may never have been made.
            let _ = self.work.delete_consumer(search.as_str()).await;
            Attempt::Done(())
        })?;
        self.purge(&self.values, &format!("{VALUES}.v.{search}.>"))
    }

    /// Puts tokens into the work queue, unless they are there.
    pub(crate) fn queue(&self, tokens: &[Token]) -> Result<(), BrokerError> {
        self.all(tokens, async |token| {
            let subject = format!("{WORK}.{}", token.search);
            let id = format!("{}.{}", token.search, token.piece);
            self.publish(&subject, &token.encode(), None, Some(&id))
                .await
        })
    }

    /// The work queue of a search.
    pub(crate) fn queue_of(&self, search: &SearchId) -> Result<Queue, BrokerError> {
        let config = pull::Config {
            durable_name: Some(search.to_string()),
            filter_subject: format!("{WORK}.{search}"),
            ack_policy: AckPolicy::Explicit,
            ack_wait: SILENCE,
            max_ack_pending: 100_000,
            ..pull::Config::default()
        };
        let consumer = self.patiently(async || {
            let name = search.as_str();
            match self.work.get_or_create_consumer(name, config.clone()).await {
                Ok(consumer) => Attempt::Done(consumer),
                Err(error) => Attempt::Again(BrokerError::of(&error)),
            }
        })?;
        Ok(Queue {
            handle: self.handle.clone(),
            consumer,
        })
    }

    /// Sends a message to whoever listens. It may get lost.
    pub(crate) fn send(&self, subject: &str, bytes: Vec<u8>) {
        let subject = format!("{VALUES}.m.{subject}");
        let _ = self.handle.block_on(async {
            self.client.publish(subject, bytes.into()).await.ok()?;
            let flushed = self.client.flush();
            tokio::time::timeout(Duration::from_secs(1), flushed)
                .await
                .ok()
        });
    }

    /// Messages sent from now on, with the last word of their subjects.
    pub(crate) fn listen(
        &self,
        subject: &str,
    ) -> Result<mpsc::Receiver<(String, Vec<u8>)>, BrokerError> {
        let subject = format!("{VALUES}.m.{subject}");
        let mut subscription =
            self.patiently(
                async || match self.client.subscribe(subject.clone()).await {
                    Ok(subscription) => Attempt::Done(subscription),
                    Err(error) => Attempt::Never(BrokerError::Failed(error.to_string())),
                },
            )?;
        let (sender, receiver) = mpsc::channel();
        self.handle.spawn(async move {
            while let Some(message) = subscription.next().await {
                let last = message.subject.rsplit('.').next();
                let last = last.unwrap_or_default().to_owned();
                if sender.send((last, message.payload.to_vec())).is_err() {
                    break;
                }
            }
        });
        Ok(receiver)
    }

    /// Stores the files of a program, each once.
    pub fn upload(&self, file: &ManifestFile, bytes: &[u8]) -> Result<(), BrokerError> {
        self.put_file(&file.hash, bytes)
    }

    /// Asks the coordinator of a search to stop it.
    pub fn ask_to_stop(&self, search: &SearchId) {
        self.send(&format!("ask.{search}"), b"stop".to_vec());
    }

    /// What all workers say within this time, by name.
    pub fn fleet(&self, wait: Duration) -> Result<Vec<Alive>, BrokerError> {
        let heard = self.listen("alive")?;
        let end = Instant::now() + wait;
        let mut fleet = std::collections::BTreeMap::new();
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if let Ok((_, bytes)) = heard.recv_timeout(left)
                && let Ok(alive) = Alive::decode(&bytes)
            {
                fleet.insert(alive.worker.clone(), alive);
            }
        }
        Ok(fleet.into_values().filter(|it| !it.leaves).collect())
    }

    /// The searches that the broker holds.
    pub fn searches(&self) -> Result<Vec<SearchId>, BrokerError> {
        let mut heads = self.watch(&Key::any_head())?;
        let mut found = Vec::new();
        while let Some((key, _)) = heads.next(Duration::from_millis(500))? {
            let name = key.split('.').nth(2).unwrap_or_default();
            found.extend(name.parse::<SearchId>().ok());
        }
        found.sort();
        found.dedup();
        Ok(found)
    }

    /// Stores a file under the hash of its contents, unless it is there.
    pub(crate) fn put_file(&self, name: &str, bytes: &[u8]) -> Result<(), BrokerError> {
        self.patiently(async || {
            if self.files.info(name).await.is_ok() {
                return Attempt::Done(());
            }
            match self.files.put(name, &mut &bytes[..]).await {
                Ok(_) => Attempt::Done(()),
                Err(error) => Attempt::Again(BrokerError::of(&error)),
            }
        })
    }

    /// A file, of at most so many bytes.
    pub(crate) fn get_file(&self, name: &str, most: u64) -> Result<Vec<u8>, BrokerError> {
        self.patiently(async || {
            let file = match self.files.get(name).await {
                Ok(file) => file,
                Err(error) => return Attempt::Never(BrokerError::of(&error)),
            };
            let mut bytes = Vec::new();
            match file.take(most).read_to_end(&mut bytes).await {
                Ok(_) => Attempt::Done(bytes),
                Err(error) => Attempt::Again(BrokerError::Failed(error.to_string())),
            }
        })
    }
}

/// The work queue of one search.
#[derive(Clone)]
pub(crate) struct Queue {
    handle: Handle,
    consumer: PullConsumer,
}

impl Queue {
    /// The next token; `None`: there was none for so long. A token that makes no sense is dropped.
    pub(crate) fn next(&self, wait: Duration) -> Result<Option<Delivery>, BrokerError> {
        let message = self.handle.block_on(async {
            let batch = self.consumer.batch().max_messages(1).expires(wait);
            let mut batch = batch
                .messages()
                .await
                .map_err(|error| BrokerError::Failed(error.to_string()))?;
            let longest = wait + Duration::from_secs(1);
            match tokio::time::timeout(longest, batch.next()).await {
                Ok(Some(Ok(message))) => Ok(Some(message)),
                Ok(Some(Err(error))) => Err(BrokerError::Failed(error.to_string())),
                Ok(None) | Err(_) => Ok(None),
            }
        })?;
        Ok(message.and_then(|message| self.delivery(message)))
    }

    /// The next token if there is one now.
    pub(crate) fn at_hand(&self) -> Option<Delivery> {
        const ANSWER: Duration = Duration::from_secs(1);
        let message = self.handle.block_on(async {
            let batch = self.consumer.fetch().max_messages(1);
            let mut batch = batch.messages().await.ok()?;
            let answer = tokio::time::timeout(ANSWER, batch.next()).await;
            answer.ok()??.ok()
        })?;
        self.delivery(message)
    }

    fn delivery(&self, message: jetstream::Message) -> Option<Delivery> {
        let times = message.info().map_or(1, |info| info.delivered);
        let Ok(token) = Token::decode(&message.payload) else {
            let _ = self.handle.block_on(message.ack());
            return None;
        };
        Some(Delivery {
            token,
            times,
            handle: self.handle.clone(),
            message: message.into(),
        })
    }
}

/// The name and number of the parts of a value that is stored in parts.
fn parts_of(value: &[u8]) -> Option<(u64, u32)> {
    let (1, rest) = value.split_first()? else {
        return None;
    };
    let (name, rest) = rest.split_first_chunk::<8>()?;
    let count = u32::from_le_bytes(rest.try_into().ok()?);
    (count <= PARTS).then_some((u64::from_le_bytes(*name), count))
}

/// What a server answers to an account that may not use JetStream.
const NOT_ENABLED: usize = 503;

/// Three copies where there are as many servers, one otherwise.
const COPIES: [usize; 2] = [3, 1];
/// Servers that have just been started choose one of them first, and count.
const ELECTION: Duration = Duration::from_secs(10);

/// Makes something with as many copies as there can be.
async fn in_copies<T>(
    mut make: impl AsyncFnMut(usize) -> Result<T, BrokerError>,
) -> Result<T, BrokerError> {
    let begun = Instant::now();
    let [all, one] = COPIES;
    loop {
        let error = match make(all).await {
            Ok(made) => return Ok(made),
            Err(error) => error,
        };
        let single = error.to_string().contains("non-clustered");
        if single || begun.elapsed() > ELECTION {
            return make(one).await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn open_stream(context: &Context, config: stream::Config) -> Result<Stream, BrokerError> {
    in_copies(async |num_replicas| {
        let config = stream::Config {
            num_replicas,
            ..config.clone()
        };
        let made = context.get_or_create_stream(config).await;
        made.map_err(|error| BrokerError::of(&error))
    })
    .await
}

async fn open_files(context: &Context) -> Result<ObjectStore, BrokerError> {
    in_copies(async |num_replicas| {
        if let Ok(files) = context.get_object_store(FILES).await {
            return Ok(files);
        }
        let config = object_store::Config {
            bucket: FILES.into(),
            num_replicas,
            ..object_store::Config::default()
        };
        let made = context.create_object_store(config).await;
        made.map_err(|error| BrokerError::of(&error))
    })
    .await
}
