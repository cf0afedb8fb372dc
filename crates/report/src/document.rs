//! Stored documents: how they are read and written, and what can be wrong with them.
//!
//! Every document is one JSON object with a `schema` such as `reweave.trace/1`. The schema is looked at before anything
//! else, so that a file of a newer version is met with a sentence and not with a puzzle about fields.

use crate::{result::ResultDocument, suite::SuiteDocument, text::harmless_json, trace::Trace};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::ser::Formatter;
use std::{
    fmt, fs,
    io::{self, Read, Write},
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Any of the documents that can be shown.
#[derive(Clone, PartialEq, Debug)]
#[allow(clippy::large_enum_variant)]
pub enum Document {
    /// One execution.
    Trace(Trace),
    /// One search.
    Result(ResultDocument),
    /// Many tests.
    Suite(SuiteDocument),
}

/// Why a document could not be read. [`fmt::Display`] is a sentence that says what to do.
#[derive(Debug)]
pub enum ReadError {
    /// There is no such file.
    NotFound(PathBuf),
    /// It is there and cannot be read.
    Io(PathBuf, io::Error),
    /// It is a device or a socket.
    NoFile(PathBuf),
    /// It is larger than any document.
    TooLarge(PathBuf),
    /// It ends too early: only a part of it was written or copied.
    Cut {
        /// The file.
        path: PathBuf,
        /// How many bytes are there.
        offset: usize,
    },
    /// It is no JSON.
    NotJson {
        /// The file.
        path: PathBuf,
        /// The first byte that does not fit.
        offset: usize,
        /// What does not fit.
        message: String,
    },
    /// JSON, but no document of this kind.
    Other {
        /// The file.
        path: PathBuf,
        /// The schemas that would have done.
        wanted: &'static str,
        /// The schema it names, if any.
        found: Option<String>,
    },
    /// A document of a newer version.
    Newer {
        /// The file.
        path: PathBuf,
        /// Its schema.
        found: String,
    },
    /// The right schema, and contents that cannot be.
    Inconsistent {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
}

/// Why a document could not be written.
#[derive(Debug)]
pub struct WriteError {
    /// The file that was to be written.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::NotFound(path) => {
                write!(f, "{}: no such file", path.display())
            }
            ReadError::Io(path, error) => write!(f, "{}: cannot be read: {error}", path.display()),
            ReadError::NoFile(path) => write!(f, "{}: neither a file nor a pipe", path.display()),
            ReadError::TooLarge(path) => write!(
                f,
                "{}: larger than any file of reweave ({} MB)",
                path.display(),
                LARGEST >> 20
            ),
            ReadError::Cut { path, offset } => write!(
                f,
                "{}: the file is cut: it ends at byte {offset} in the middle of the document; \
                 copy or record it again",
                path.display()
            ),
            ReadError::NotJson {
                path,
                offset,
                message,
            } => write!(
                f,
                "{}: not a reweave file: no JSON at byte {offset} ({message})",
                path.display()
            ),
            ReadError::Other {
                path,
                wanted,
                found,
            } => {
                write!(f, "{}: not a {wanted} document", path.display())?;
                match found {
                    Some(found) => write!(f, ": its schema is `{found}`"),
                    None => write!(f, ": it names no schema"),
                }
            }
            ReadError::Newer { path, found } => write!(
                f,
                "{}: written by a newer reweave (schema `{found}`, this version {} reads up to /1); \
                 update reweave to open it",
                path.display(),
                env!("CARGO_PKG_VERSION")
            ),
            ReadError::Inconsistent { path, message } => write!(
                f,
                "{}: the document contradicts itself: {message}; it was damaged or edited",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ReadError {}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.source.kind() {
            io::ErrorKind::NotFound => write!(
                f,
                "{path}: cannot be written: the directory does not exist; create it first"
            ),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => write!(
                f,
                "{path}: cannot be written: the disk is full ({})",
                self.source
            ),
            _ => write!(f, "{path}: cannot be written: {}", self.source),
        }
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

impl Document {
    /// Reads whichever document the file holds.
    pub fn read(path: &Path) -> Result<Document, ReadError> {
        let bytes = load(path)?;
        Document::parse(path, &bytes)
    }

    /// As [`Document::read`], of bytes at hand; the path is only for messages.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Document, ReadError> {
        let any = "reweave.trace/1, reweave.result/1 or reweave.suite/1";
        match family(path, bytes, any)?.as_str() {
            "reweave.trace" => Trace::parse(path, bytes).map(Document::Trace),
            "reweave.suite" => SuiteDocument::parse(path, bytes).map(Document::Suite),
            _ => ResultDocument::parse(path, bytes).map(Document::Result),
        }
    }
}

/// The largest document that is read: a trace of the most events that the runtime reports takes less.
const LARGEST: u64 = 1 << 30;

/// Opens a file or a pipe, to be read no further than a document can reach. Devices are refused: some have no end.
pub fn open(path: &Path) -> Result<io::Take<fs::File>, ReadError> {
    // Before it is opened: opening some devices has effects.
    let kind = fs::metadata(path).map_err(|error| unopened(path, error))?;
    let kind = kind.file_type();
    if kind.is_char_device() || kind.is_block_device() || kind.is_socket() {
        return Err(ReadError::NoFile(path.into()));
    }
    let file = fs::File::open(path).map_err(|error| unopened(path, error))?;
    Ok(file.take(LARGEST + 1))
}

/// All bytes of a file or of a pipe.
pub fn load(path: &Path) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    open(path)?
        .read_to_end(&mut bytes)
        .map_err(|error| unopened(path, error))?;
    match bytes.len() as u64 > LARGEST {
        true => Err(ReadError::TooLarge(path.into())),
        false => Ok(bytes),
    }
}

fn unopened(path: &Path, error: io::Error) -> ReadError {
    match error.kind() {
        io::ErrorKind::NotFound => ReadError::NotFound(path.into()),
        _ => ReadError::Io(path.into(), error),
    }
}

#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
}

const FAMILIES: [&str; 3] = ["reweave.trace", "reweave.result", "reweave.suite"];

/// Which family of documents the bytes belong to, such as `reweave.trace`, of a version that can be read.
fn family(path: &Path, bytes: &[u8], wanted: &'static str) -> Result<String, ReadError> {
    let head = serde_json::from_slice::<Head>(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => ReadError::Other {
            path: path.into(),
            wanted,
            found: None,
        },
        _ => unreadable(path, bytes, &error),
    })?;
    let found = head
        .schema
        .and_then(|schema| Some(schema.as_str()?.to_owned()));
    let other = |found| ReadError::Other {
        path: path.into(),
        wanted,
        found,
    };
    let Some(found) = found else {
        return Err(other(None));
    };
    let (family, version) = match found.split_once('/') {
        Some((family, version)) => (family, version.parse::<u32>().ok()),
        None => (found.as_str(), None),
    };
    match version {
        Some(1) if FAMILIES.contains(&family) => Ok(family.to_owned()),
        Some(2..) if family.starts_with("reweave.") => Err(ReadError::Newer {
            path: path.into(),
            found,
        }),
        _ => Err(other(Some(found))),
    }
}

/// Reads a document of one family.
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    bytes: &[u8],
    schema: &'static str,
) -> Result<T, ReadError> {
    let found = family(path, bytes, schema)?;
    if !schema.starts_with(found.as_str()) {
        return Err(ReadError::Other {
            path: path.into(),
            wanted: schema,
            found: Some(format!("{found}/1")),
        });
    }
    serde_json::from_slice(bytes).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => ReadError::Inconsistent {
            path: path.into(),
            message: error.to_string(),
        },
        _ => unreadable(path, bytes, &error),
    })
}

fn unreadable(path: &Path, bytes: &[u8], error: &serde_json::Error) -> ReadError {
    if error.is_eof() && !bytes.trim_ascii().is_empty() {
        return ReadError::Cut {
            path: path.into(),
            offset: bytes.len(),
        };
    }
    // The parser counts lines from 1 and columns in bytes from 1.
    let before: usize = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum();
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    ReadError::NotJson {
        path: path.into(),
        offset: (before + error.column().saturating_sub(1)).min(bytes.len()),
        message: message.to_owned(),
    }
}

/// One document as text: a line for each field, and for each entry of a field that is a table.
pub(crate) fn to_json<T: Serialize>(document: &T) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Lines { depth: 0 });
    document
        .serialize(&mut serializer)
        .expect("documents have string keys and memory does not refuse bytes");
    let mut text = String::from_utf8(bytes).expect("JSON is written as UTF-8");
    text.push('\n');
    harmless_json(&text)
}

/// Line ends down to the entries of the document's tables, none inside an entry: a diff shows whole events.
struct Lines {
    depth: usize,
}

impl Lines {
    fn enter<W: ?Sized + Write>(&mut self, writer: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(sign)
    }

    fn leave<W: ?Sized + Write>(&mut self, writer: &mut W, sign: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.depth < 1 {
            writer.write_all(b"\n")?;
        }
        writer.write_all(sign)
    }

    fn next<W: ?Sized + Write>(&self, writer: &mut W, first: bool, table: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        match self.depth {
            1 => writer.write_all(b"\n  "),
            2 if table => writer.write_all(b"\n    "),
            _ if first => Ok(()),
            _ => writer.write_all(b" "),
        }
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.next(w, first, true)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.enter(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.leave(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, w: &mut W, first: bool) -> io::Result<()> {
        self.next(w, first, false)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

/// Writes a file whole or not at all: into a neighbour first, which then takes the name.
pub fn save(path: &Path, text: &str) -> Result<(), WriteError> {
    let failed = |source| WriteError {
        path: path.into(),
        source,
    };
    let name = path.file_name().ok_or_else(|| {
        failed(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a file name",
        ))
    })?;
    // Several processes and threads may write the same file at once, each to a neighbour of its own.
    static PARTS: AtomicU64 = AtomicU64::new(0);
    let part = PARTS.fetch_add(1, Ordering::Relaxed);
    let mut neighbour = name.to_owned();
    neighbour.push(format!(".{}-{part}.part", std::process::id()));
    let part = path.with_file_name(neighbour);
    let written = (|| {
        let mut file = fs::File::create(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        drop(file);
        fs::rename(&part, path)
    })();
    written.map_err(|source| {
        // The error to tell is the first one; a part that was never made cannot be removed.
        let _ = fs::remove_file(&part);
        failed(source)
    })
}
