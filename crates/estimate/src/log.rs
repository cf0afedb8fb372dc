//! Exploration logs: what a search did, event by event, to be looked at by estimators afterwards.
//!
//! A log begins with [`HEADER`]; then come events, each a number of seven bits a byte, the least first: its kind in the lowest three bits, its
//! argument above. Nodes are numbered as they are added; an argument that names one says how many were added after it.
//! The last event says whether everything was explored: a log without it was cut.
//!
//! *A search as a tree of choices:* an execution begins at its node. Where children leave it there is a choice between them and
//! going on, which is a node too; alternatives that were enabled there and not taken up are added and never explored.
//! Transitions through nodes that are known are left out: an execution begins by going to its own node.

use std::{
    fmt,
    io::{self, BufRead, Write},
};

/// The first line, with the version of what follows.
pub const HEADER: &str = "reweave.exploration/1\n";

/// One thing that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Happened {
    /// A node was added below another one (the first: below itself), at a number of steps from the beginning.
    AddNode {
        /// Below this one.
        parent: u64,
        /// Steps before it.
        depth: u64,
    },
    /// A node will be explored.
    Explore(u64),
    /// The execution goes to a node.
    Transition(u64),
    /// An execution begins.
    Start,
    /// It is over, and took a thousandth of this many units of time. Our own unit is the execution.
    End(u64),
    /// The search is over; whether everything was explored.
    Closed(bool),
}

/// Writes a log.
pub struct Log {
    out: Box<dyn Write + Send>,
    /// Nodes so far.
    nodes: u64,
    /// The first thing that went wrong; nothing is written after it.
    failed: Option<io::Error>,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a log of {} nodes", self.nodes)
    }
}

impl Log {
    /// Begins a log.
    pub fn new(out: Box<dyn Write + Send>) -> Log {
        let mut log = Log {
            out,
            nodes: 0,
            failed: None,
        };
        log.try_write(HEADER.as_bytes());
        log.add(0, 0);
        log.named(EXPLORE, 0);
        log
    }

    /// Writes down an execution that began at a node: the positions at which branches leave it, and those of all that was enabled and not
    /// done. Returns the nodes of the branches, in their order.
    pub fn execution(&mut self, node: u64, branches: &[u32], alternatives: &[u32]) -> Vec<u64> {
        self.event(START, 0);
        self.named(TRANSITION, node);
        let mut places: Vec<u32> = branches.iter().chain(alternatives).copied().collect();
        places.sort_unstable();
        places.dedup();
        let mut here = node;
        let mut choices = Vec::new();
        for place in places {
            choices.push((place, here));
            here = self.add(here, place.into());
            self.named(EXPLORE, here);
            self.named(TRANSITION, here);
        }
        let mut nodes = Vec::new();
        for &place in branches {
            let choice = choices.partition_point(|(other, _)| *other < place);
            let node = self.add(choices[choice].1, place.into());
            self.named(EXPLORE, node);
            nodes.push(node);
        }
        for (place, choice) in choices {
            let at = |places: &[u32]| places.iter().filter(|other| **other == place).count();
            for _ in at(branches)..at(alternatives) {
                self.add(choice, place.into());
            }
        }
        self.event(END, 1000);
        nodes
    }

    /// Ends the log. Says what kept it from being written.
    pub fn close(mut self, exhausted: bool) -> io::Result<()> {
        self.event(CLOSED, exhausted.into());
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn add(&mut self, parent: u64, depth: u64) -> u64 {
        self.event(ADD, self.nodes.saturating_sub(1) - parent);
        self.number(depth);
        self.nodes += 1;
        self.nodes - 1
    }

    fn named(&mut self, kind: u64, node: u64) {
        self.event(kind, self.nodes - 1 - node);
    }

    fn event(&mut self, kind: u64, argument: u64) {
        self.number(argument << 3 | kind);
    }

    fn number(&mut self, mut number: u64) {
        let mut bytes = [0; 10];
        let mut count = 0;
        loop {
            let more = if number > 0x7f { 0x80 } else { 0 };
            bytes[count] = (number & 0x7f) as u8 | more;
            count += 1;
            number >>= 7;
            if more == 0 {
                break;
            }
        }
        self.try_write(&bytes[..count]);
    }

    fn try_write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(bytes).err();
        }
    }
}

const ADD: u64 = 0;
const EXPLORE: u64 = 1;
const TRANSITION: u64 = 2;
const START: u64 = 3;
const END: u64 = 4;
const CLOSED: u64 = 5;

/// Why a log cannot be read or used.
#[derive(Debug)]
pub enum LogError {
    /// It does not begin like one.
    NotALog,
    /// It is of another version.
    OtherVersion,
    /// It ends before the search does.
    Cut,
    /// It cannot be read.
    Unreadable(io::Error),
    /// It has an event of a kind that does not exist.
    UnknownKind(u64),
    /// It names a node that was not added.
    UnknownNode,
    /// It holds a number that is too large.
    TooLarge,
    /// The search was not explored to its end.
    Unfinished,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LogError::NotALog => "not an exploration log",
            LogError::OtherVersion => {
                "the exploration log is of another version than this one can read"
            }
            LogError::Cut => "the exploration log is cut: it does not say how the search ended",
            LogError::Unreadable(error) => {
                return write!(f, "the exploration log cannot be read: {error}");
            }
            LogError::UnknownKind(kind) => {
                return write!(
                    f,
                    "the exploration log has an event of kind {kind}, which there is not"
                );
            }
            LogError::UnknownNode => "the exploration log names a node that was not added",
            LogError::TooLarge => "the exploration log holds a number that is too large",
            LogError::Unfinished => "the recorded search was not explored to its end",
        })
    }
}

impl std::error::Error for LogError {}

/// Reads a log, event by event, to the one that closes it.
#[derive(Debug)]
pub struct Reader<R> {
    from: R,
    nodes: u64,
    closed: bool,
}

impl<R: BufRead> Reader<R> {
    /// Begins to read.
    pub fn new(mut from: R) -> Result<Reader<R>, LogError> {
        let mut header = vec![0; HEADER.len()];
        let read = from.read_exact(&mut header);
        if read.is_ok() && header == HEADER.as_bytes() {
            return Ok(Reader {
                from,
                nodes: 0,
                closed: false,
            });
        }
        match header.starts_with(b"reweave.exploration/") {
            true => Err(LogError::OtherVersion),
            false => Err(LogError::NotALog),
        }
    }

    fn event(&mut self) -> Result<Happened, LogError> {
        let number = self.number()?;
        let argument = number >> 3;
        Ok(match number & 7 {
            ADD => {
                let parent = match self.nodes {
                    0 => 0,
                    _ => self.node(argument)?,
                };
                self.nodes += 1;
                let depth = self.number()?;
                Happened::AddNode { parent, depth }
            }
            EXPLORE => Happened::Explore(self.node(argument)?),
            TRANSITION => Happened::Transition(self.node(argument)?),
            START => Happened::Start,
            END => Happened::End(argument),
            CLOSED => {
                self.closed = true;
                Happened::Closed(argument != 0)
            }
            kind => return Err(LogError::UnknownKind(kind)),
        })
    }

    fn node(&self, back: u64) -> Result<u64, LogError> {
        let node = (self.nodes.checked_sub(1)).and_then(|newest| newest.checked_sub(back));
        node.ok_or(LogError::UnknownNode)
    }

    fn number(&mut self) -> Result<u64, LogError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            let read = self.from.read_exact(&mut byte);
            read.map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => LogError::Cut,
                _ => LogError::Unreadable(error),
            })?;
            number |= u64::from(byte[0] & 0x7f) << shift;
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(LogError::TooLarge)
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Happened, LogError>;

    fn next(&mut self) -> Option<Result<Happened, LogError>> {
        if self.closed {
            return None;
        }
        let event = self.event();
        // Nothing can be read behind an error.
        self.closed |= event.is_err();
        Some(event)
    }
}
