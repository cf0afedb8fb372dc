//! The assembler that compilers are given: it adds a hook before every access to memory that the compiler left without one.
//!
//! *Decides:* which accesses these are, and what they become. *Called by:* the command, as `as`, by way of the compilers that `compile` runs.
//! *Owns:* nothing but temporary files. *Invariants:* what it adds keeps every register, the flags and the stack; a text that it does not
//! understand is assembled as it is, and the object says so ([`UNREAD`]).
//!
//! Compilers have no hooks for structures that are passed or returned by value, for functions on memory that they expand in place, and for inline
//! assembly. All of these are instructions in the end, so it is there that nothing is missed: an assembler and a disassembler say what each
//! instruction does to memory (`decoded`), and the compiler's own hooks are found before the accesses they are for (`coverage`). The rest gets
//! hooks of ours (`hooks`). Atomic instructions written by hand become operations. Calls of the C++ library, whose code has no hooks, get one for
//! the object that they are for (`library_calls`).

mod coverage;
mod decoded;
mod forms;
mod hooks;
mod library_calls;
mod operands;
mod statements;

use crate::{compile::in_path, temporary::TemporaryDirectory};
use std::{
    ffi::OsString,
    fmt, fs,
    io::{self, Read},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The section of an object with the name of its source, if that was not understood, or is written by hand and accesses memory.
pub const UNREAD: &str = ".reweave.unread";

/// Code was not assembled.
#[derive(Debug)]
pub enum AssembleError {
    /// There is no assembler.
    Missing,
    /// It cannot be run.
    Unusable(PathBuf, io::Error),
    /// It does not understand a text that was made here.
    Refused,
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
}

impl fmt::Display for AssembleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AssembleError::Missing => write!(f, "there is no assembler (`as`) in PATH"),
            AssembleError::Unusable(path, error) => {
                write!(f, "cannot run {}: {error}", path.display())
            }
            AssembleError::Refused => write!(f, "the assembler refuses a text with added hooks"),
            AssembleError::File(path, error) => write!(f, "{}: {error}", path.display()),
        }
    }
}

impl std::error::Error for AssembleError {}

/// Does what the assembler would do with these arguments, with hooks added. Returns its exit code.
pub fn run_as_assembler(args: &[OsString]) -> Result<u8, AssembleError> {
    let real = in_path("as").ok_or(AssembleError::Missing)?;
    let Some(line) = Line::read(args) else {
        return run(&real, args);
    };
    let text = line.text()?;
    let directory = TemporaryDirectory::new();
    let directory = directory.map_err(|error| AssembleError::File(std::env::temp_dir(), error))?;
    let assembler = Assembler {
        real,
        options: line.options,
        directory,
    };
    let hooked = match &text {
        Text::Compiled(text) => assembler.with_hooks(text).ok(),
        Text::Unread(_) | Text::Other(_) => None,
    };
    let output = line.output.unwrap_or_else(|| "a.out".into());
    if let Some(hooked) = &hooked
        && let Ok(object) = assembler.assemble(hooked, "hooked")
    {
        let copied = fs::copy(&object, &output);
        copied.map_err(|error| AssembleError::File(output, error))?;
        return Ok(0);
    }
    let unseen = match &text {
        Text::Other(bytes) => assembler.accesses_memory(bytes),
        Text::Compiled(_) | Text::Unread(_) => true,
    };
    let input = line.input.as_deref().unwrap_or(Path::new("unknown"));
    match unseen {
        true => assembler.finish(&text.unread(input), &output),
        false => assembler.finish(text.bytes(), &output),
    }
}

/// A command line of the assembler with one input.
struct Line {
    /// All but input and output.
    options: Vec<OsString>,
    /// `None`: standard input.
    input: Option<PathBuf>,
    output: Option<PathBuf>,
}

impl Line {
    /// `None`: the command line asks for something else.
    fn read(args: &[OsString]) -> Option<Line> {
        let mut line = Line {
            options: Vec::new(),
            input: None,
            output: None,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("-o") => line.output = Some(args.next()?.into()),
                Some("-I" | "--defsym" | "--MD" | "--listing-lhs-width") => {
                    line.options.push(arg.clone());
                    line.options.push(args.next()?.clone());
                }
                Some("--version" | "--help" | "--target-help") => return None,
                Some("-" | "--") => {}
                Some(option) if option.starts_with('-') => line.options.push(arg.clone()),
                _ if line.input.is_some() => return None,
                _ => line.input = Some(arg.into()),
            }
        }
        Some(line)
    }

    fn text(&self) -> Result<Text, AssembleError> {
        let bytes = match &self.input {
            Some(path) => {
                fs::read(path).map_err(|error| AssembleError::File(path.clone(), error))?
            }
            None => {
                let mut bytes = Vec::new();
                let read = io::stdin().lock().read_to_end(&mut bytes);
                read.map_err(|error| AssembleError::File("standard input".into(), error))?;
                bytes
            }
        };
        let compiled = bytes
            .windows(COMPILED.len())
            .any(|part| part == COMPILED.as_bytes());
        Ok(match String::from_utf8(bytes) {
            Ok(text) if compiled => Text::Compiled(text),
            Ok(text) => Text::Other(text.into_bytes()),
            Err(error) if compiled => Text::Unread(error.into_bytes()),
            Err(error) => Text::Other(error.into_bytes()),
        })
    }
}

/// What compilers put into every text with hooks.
const COMPILED: &str = "__tsan_init";

/// An input.
enum Text {
    /// By a compiler, with hooks.
    Compiled(String),
    /// The same, and not text.
    Unread(Vec<u8>),
    /// Anything else.
    Other(Vec<u8>),
}

impl Text {
    fn bytes(&self) -> &[u8] {
        match self {
            Text::Compiled(text) => text.as_bytes(),
            Text::Unread(bytes) | Text::Other(bytes) => bytes,
        }
    }

    /// What is assembled if there are accesses without hooks: it says which source they are of.
    fn unread(&self, input: &Path) -> Vec<u8> {
        let mut text = self.bytes().to_vec();
        let file = source_of(&text).unwrap_or_else(|| format!("{input:?}").into_bytes());
        text.extend(format!("\n\t.section {UNREAD},\"\",@progbits\n\t.string ").into_bytes());
        text.extend(file);
        text.push(b'\n');
        text
    }
}

/// The name of a text's source in quotes: as the compiler says, or the preprocessor in its first line.
fn source_of(text: &[u8]) -> Option<Vec<u8>> {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let by_preprocessor = lines.clone().next().and_then(|line| {
        let rest = line.strip_prefix(b"# ")?;
        let start = rest.iter().position(|byte| *byte == b'"')?;
        let length = rest[start + 1..].iter().position(|byte| *byte == b'"')?;
        Some(&rest[start..start + length + 2])
    });
    let by_compiler = || {
        let file = lines.find_map(|line| line.strip_prefix(b".file"))?;
        Some(file.trim_ascii())
    };
    by_preprocessor.or_else(by_compiler).map(<[u8]>::to_vec)
}

/// The machine's assembler.
struct Assembler {
    real: PathBuf,
    options: Vec<OsString>,
    directory: TemporaryDirectory,
}

impl Assembler {
    fn with_hooks(&self, text: &str) -> Result<String, AssembleError> {
        let statements = statements::split(text);
        let instructions = decoded::instructions(&statements, self)?;
        let unhooked = coverage::unhooked(&statements, &instructions);
        Ok(hooks::write(&statements, &instructions, &unhooked))
    }

    /// Whether a text written by hand accesses memory that others may know, or may do so.
    fn accesses_memory(&self, text: &[u8]) -> bool {
        let unhooked = || {
            let statements = statements::split(str::from_utf8(text).ok()?);
            let instructions = decoded::instructions(&statements, self).ok()?;
            let unhooked = coverage::unhooked(&statements, &instructions);
            Some(unhooked.iter().any(Option::is_some))
        };
        unhooked().unwrap_or(true)
    }

    /// Assembles a text that was made here.
    fn assemble(&self, text: &str, name: &str) -> Result<PathBuf, AssembleError> {
        let path = |end: &str| self.directory.path().join(format!("{name}.{end}"));
        let (source, object) = (path("s"), path("o"));
        fs::write(&source, text).map_err(|error| AssembleError::File(source.clone(), error))?;
        let mut command = Command::new(&self.real);
        command
            .args(&self.options)
            .arg("-o")
            .arg(&object)
            .arg(&source);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let status = command.status();
        let status = status.map_err(|error| AssembleError::Unusable(self.real.clone(), error))?;
        status
            .success()
            .then_some(object)
            .ok_or(AssembleError::Refused)
    }

    /// Assembles what the compiler has written. Mistakes are reported.
    fn finish(&self, text: &[u8], output: &Path) -> Result<u8, AssembleError> {
        let source = self.directory.path().join("text.s");
        fs::write(&source, text).map_err(|error| AssembleError::File(source.clone(), error))?;
        let mut args = self.options.clone();
        args.extend(["-o".into(), output.into(), source.into()]);
        run(&self.real, &args)
    }
}

fn run(real: &Path, args: &[OsString]) -> Result<u8, AssembleError> {
    let status = Command::new(real).args(args).status();
    let status = status.map_err(|error| AssembleError::Unusable(real.into(), error))?;
    Ok(status.code().unwrap_or(1) as u8)
}
