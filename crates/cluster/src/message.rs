//! What travels between processes of a cluster, and how it is written as bytes.
//!
//! *Decides:* formats. *Called by:* everything here. *Invariants:* bytes from the network are untrusted: lengths, version and
//! hash are checked before anything is believed, and nothing panics.

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{fmt, str::FromStr};

/// Grows with every change of what is written. Processes of another version are refused.
pub(crate) const VERSION: u32 = 2;

/// The name of a search: sixteen hexadecimal digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SearchId(String);

impl SearchId {
    /// The name with this number.
    pub fn new(number: u64) -> SearchId {
        SearchId(format!("{number:016x}"))
    }

    /// As it is written in subjects and keys.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SearchId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<SearchId, Malformed> {
        let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        match text.len() == 16 && text.chars().all(digit) {
            true => Ok(SearchId(text.into())),
            false => Err(Malformed("the name of a search has sixteen digits")),
        }
    }
}

impl TryFrom<String> for SearchId {
    type Error = Malformed;

    fn try_from(text: String) -> Result<SearchId, Malformed> {
        text.parse()
    }
}

impl From<SearchId> for String {
    fn from(id: SearchId) -> String {
        id.0
    }
}

impl fmt::Display for SearchId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A piece of a search.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct PieceId {
    /// How often the search restarted, or another process took over: fences those that do not know it yet.
    pub epoch: u32,
    /// Counted over all epochs.
    pub number: u64,
}

impl fmt::Display for PieceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}

impl FromStr for PieceId {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<PieceId, Malformed> {
        const WRONG: Malformed = Malformed("a piece has two numbers");
        let (epoch, number) = text.split_once('.').ok_or(WRONG)?;
        Ok(PieceId {
            epoch: epoch.parse().map_err(|_| WRONG)?,
            number: number.parse().map_err(|_| WRONG)?,
        })
    }
}

/// In the work queue: a piece that is to be explored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Token {
    /// Of which search.
    pub search: SearchId,
    /// Which piece.
    pub piece: PieceId,
    /// For how long at most.
    pub budget_ms: u64,
    /// How many runs at most.
    pub most_runs: Option<u64>,
}

/// What became of a piece. Its payload is the piece again, with what was seen in it and without what was explored.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Which piece.
    pub piece: PieceId,
    /// How it ended.
    pub outcome: Outcome,
    /// Runs in it.
    pub runs: u64,
    /// How long it was explored.
    pub busy_ms: u64,
    /// How long it took to read the piece and to write the report.
    pub moving_ms: u64,
    /// Which worker explored it.
    pub worker: String,
    /// The piece, as the program's side writes it.
    #[serde(skip)]
    pub payload: Vec<u8>,
}

/// How the exploration of a piece ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// Its time was over, or all of it is explored, or an error was found.
    Explored,
    /// The search has to restart, as the payload says.
    Restarts,
    /// The program does not behave the same again, or something failed; a sentence.
    Fault(String),
}

/// What the coordinator has put together. Replaced by compare-and-swap: the one place where a search moves on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record {
    /// The present epoch.
    pub epoch: u32,
    /// The number of the next piece.
    pub next: u64,
    /// Pieces that are out, with their limits on runs.
    pub out: Vec<(PieceId, Option<u64>)>,
    /// Whether there is more to do.
    pub status: Status,
    /// The process that wrote it, and its how-many-th record: tells whether an unanswered write arrived.
    pub writer: (u64, u64),
    /// Runs so far.
    pub runs: u64,
    /// Reports that were taken in.
    pub reports: u64,
    /// Reports that came again or too late.
    pub repeated: u64,
    /// The rest of the search, as the program's side writes it.
    #[serde(skip)]
    pub home: Vec<u8>,
}

/// Where a search stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Status {
    /// It is explored.
    Running,
    /// It can be resumed.
    Stopped,
}

/// What a worker says of itself a few times a second.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Alive {
    /// Its name: host, process, and a number.
    pub worker: String,
    /// How many pieces it can explore at once.
    pub slots: u32,
    /// What it explores, with how many runs so far.
    pub busy: Vec<(SearchId, PieceId, u64)>,
    /// Programs that it cannot explore, and why.
    pub refused: Vec<(SearchId, String)>,
    /// It is about to leave.
    pub leaves: bool,
}

/// To all workers of a search.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Control {
    /// Pieces of this epoch and earlier ones are to be explored no longer; what was explored is reported.
    Stop(u32),
    /// These pieces are to be reported as they are: others have nothing to do.
    Recall(Vec<PieceId>),
}

/// Bytes that are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a damaged message: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

const MAGIC: [u8; 4] = *b"rwv1";
/// The longest header. Payloads are limited by the broker client.
const LONGEST: usize = 1 << 20;
const HASH: usize = 32;

/// A header and a payload as bytes: magic, version, length of the header, hash of both, header, payload.
pub(crate) fn encode(header: &impl Serialize, payload: &[u8]) -> Vec<u8> {
    let header = serde_json::to_vec(header).expect("headers are plain data");
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend((header.len() as u32).to_le_bytes());
    let body = [&header[..], payload].concat();
    bytes.extend(digest(&SHA256, &body).as_ref());
    bytes.extend(body);
    bytes
}

/// And back.
pub(crate) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8]), Malformed> {
    let short = Malformed("it is too short");
    let (magic, rest) = bytes.split_first_chunk::<4>().ok_or(short)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or(short)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or(short)?;
    let (hash, body) = rest.split_first_chunk::<HASH>().ok_or(short)?;
    if *magic != MAGIC {
        return Err(Malformed("it is from something else"));
    }
    if u32::from_le_bytes(*version) != VERSION {
        return Err(Malformed("it is from another version of reweave"));
    }
    let length = u32::from_le_bytes(*length) as usize;
    if length > LONGEST || length > body.len() {
        return Err(Malformed("its length is wrong"));
    }
    if digest(&SHA256, body).as_ref() != hash {
        return Err(Malformed("its hash is wrong"));
    }
    let (header, payload) = body.split_at(length);
    let header = serde_json::from_slice(header);
    Ok((
        header.map_err(|_| Malformed("its header makes no sense"))?,
        payload,
    ))
}

impl Report {
    /// Of a piece that comes back as it was dealt.
    pub(crate) fn unexplored(piece: PieceId, payload: Vec<u8>) -> Report {
        Report {
            piece,
            outcome: Outcome::Explored,
            runs: 0,
            busy_ms: 0,
            moving_ms: 0,
            worker: String::new(),
            payload,
        }
    }

    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self, &self.payload)
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Report, Malformed> {
        let (report, payload) = decode::<Report>(bytes)?;
        Ok(Report {
            payload: payload.into(),
            ..report
        })
    }
}

impl Record {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self, &self.home)
    }

    /// From bytes.
    pub fn decode(bytes: &[u8]) -> Result<Record, Malformed> {
        let (record, home) = decode::<Record>(bytes)?;
        Ok(Record {
            home: home.into(),
            ..record
        })
    }
}

macro_rules! small {
    ($($name:ident)*) => {$(
        impl $name {
            /// As bytes.
            pub fn encode(&self) -> Vec<u8> {
                encode(self, &[])
            }

            /// From bytes.
            pub fn decode(bytes: &[u8]) -> Result<$name, Malformed> {
                decode(bytes).map(|(it, _)| it)
            }
        }
    )*};
}

small!(Token Alive Control);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report() -> Report {
        Report {
            piece: PieceId {
                epoch: 1,
                number: 7,
            },
            outcome: Outcome::Explored,
            runs: 12,
            busy_ms: 3,
            moving_ms: 1,
            worker: "host".into(),
            payload: vec![1, 2, 3],
        }
    }

    #[test]
    fn messages_round_trip() {
        assert_eq!(Report::decode(&report().encode()), Ok(report()));
        let record = Record {
            epoch: 2,
            next: 9,
            out: vec![(report().piece, None)],
            status: Status::Running,
            writer: (3, 4),
            runs: 5,
            reports: 6,
            repeated: 7,
            home: vec![0; 1000],
        };
        assert_eq!(Record::decode(&record.encode()), Ok(record));
        let control = Control::Recall(vec![report().piece]);
        assert_eq!(Control::decode(&control.encode()), Ok(control));
        assert_eq!("1.7".parse(), Ok(report().piece));
        assert!("1.x".parse::<PieceId>().is_err());
        assert!("../../etc/passwd".parse::<SearchId>().is_err());
    }

    #[test]
    fn other_versions_are_refused() {
        let mut bytes = report().encode();
        bytes[4] += 1;
        let refused = Report::decode(&bytes).expect_err("it is of another version");
        assert_eq!(
            refused.to_string(),
            "a damaged message: it is from another version of reweave"
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Report::decode(&bytes);
            let _ = Record::decode(&bytes);
            let _ = Alive::decode(&bytes);
        }

        #[test]
        fn damaged_messages_are_refused(at in 0usize..100, bit in 0u8..8) {
            let mut bytes = report().encode();
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert!(Report::decode(&bytes).is_err());
        }
    }
}
