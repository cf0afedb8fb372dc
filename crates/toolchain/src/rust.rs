//! Rust: the standard library with hooks, the flags that the user's compiler gets, and the linker that it calls.
//!
//! *Decides:* how crates that nobody changed get hooks. *Called by:* `reweave cargo` ([`Rust::prepare`]), and by rustc as its linker
//! ([`link`]). *Owns:* a directory in the user's cache for each compiler, named after it, with its standard library. *Invariant:* the directory gets
//! its name when it is complete.
//!
//! rustc inserts the thread sanitizer's hooks as C compilers do. But its standard library comes compiled, and has atomics without hooks: a lock
//! that two threads want would look like a deadlock. The archives of the library also hold the code that the machine's was made of, so that it can
//! be optimised with the program, and the linker that comes with rustc can translate that, with passes of one's choice. So every archive is
//! translated once more, with hooks for all accesses. Neither the library's sources nor another compiler are needed.

mod archive;
mod link;

use crate::Kit;
use std::{
    collections::hash_map::DefaultHasher,
    env,
    ffi::OsString,
    fmt, fs,
    hash::{Hash, Hasher},
    io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

pub use link::link;

use crate::compile::{quoted, write};

/// The only one whose programs can be explored.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// What replaces parts of the standard library, and its object.
const PARTS: &str = include_str!("rust/parts.rs");
const PARTS_OBJECT: &str = "parts.o";

/// Where `Mutex::lock` continues when the lock is taken: how its symbol begins and ends, with the crate's hash between.
const LOCK_CONTENDED: [&str; 2] = [
    "_RNvMNtNtNtNtCs",
    "_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended",
];

/// `main` of test programs.
const TEST_MAIN: [&str; 2] = ["_RNvCs", "_4test16test_main_static"];

/// A function that does nothing if no thread has a handler for faults (`parts.rs`), but takes a lock to find out.
const DROP_HANDLER: [&str; 2] = [
    "_RNvNtNtNtNtNtCs",
    "_3std3sys3pal4unix14stack_overflow3imp12drop_handler",
];

/// What is used where the library has no such function: nothing calls this.
const NO_LOCK: &str = "__reweave_no_lock";

/// Rust code cannot be built with hooks.
#[derive(Debug)]
pub enum RustError {
    /// A command that is needed cannot be run.
    Unusable(PathBuf, io::Error),
    /// A command failed; the first line that it printed.
    Failed(PathBuf, String),
    /// The compiler is for another machine.
    OtherMachine(String),
    /// The compiler comes without its linker.
    NoLinker(PathBuf),
    /// A file cannot be read or written.
    File(PathBuf, io::Error),
    /// An archive of the standard library is not understood, or its code is in no form that can be translated.
    Archive(PathBuf),
}

impl fmt::Display for RustError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RustError::Unusable(path, error) => {
                write!(f, "{} cannot be run: {error}", path.display())
            }
            RustError::Failed(path, line) => write!(f, "{} failed: {line}", path.display()),
            RustError::OtherMachine(host) => {
                write!(
                    f,
                    "rustc is for {host}; only {TARGET} programs can be explored"
                )
            }
            RustError::NoLinker(path) => write!(
                f,
                "this rustc comes without rust-lld ({}), which gives its standard library hooks; install the toolchain by rustup",
                path.display()
            ),
            RustError::File(path, error) => write!(f, "{}: {error}", path.display()),
            RustError::Archive(path) => write!(
                f,
                "{}: not an archive whose code can be given hooks; install the toolchain by rustup",
                path.display()
            ),
        }
    }
}

impl std::error::Error for RustError {}

/// A compiler of Rust whose programs have hooks.
#[derive(Clone, Debug)]
pub struct Rust {
    /// With the standard library that has hooks.
    directory: PathBuf,
    /// A script.
    linker: PathBuf,
}

impl Rust {
    /// What `cargo` has to build for, so that programs of the build itself have no hooks.
    pub const TARGET: &'static str = TARGET;

    /// Prepares the compiler that cargo would call. `command` is called as its linker, with `rust-link` and the arguments.
    pub fn prepare(kit: &Kit, command: &Path) -> Result<Rust, RustError> {
        let rustc = PathBuf::from(env::var_os("RUSTC").unwrap_or("rustc".into()));
        let version = output(Command::new(&rustc).arg("-vV"))?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        if host != Some(TARGET) {
            return Err(RustError::OtherMachine(host.unwrap_or("?").into()));
        }
        let sysroot = output(Command::new(&rustc).args(["--print", "sysroot"]))?;
        let library = Library::new(rustc, Path::new(sysroot.trim()))?;
        let mut name = DefaultHasher::new();
        (
            &version,
            &sysroot,
            PARTS,
            DROP_HANDLER,
            FLAGS,
            PASSES,
            archive::LINKER_FLAGS,
        )
            .hash(&mut name);
        let user =
            Kit::user_directory().map_err(|error| RustError::File(env::temp_dir(), error))?;
        let directory = user.join(format!("rust-{:016x}", name.finish()));
        if !directory.is_dir() {
            library.translate_into(&directory)?;
        }
        let mut script = b"#!/bin/sh\nexec ".to_vec();
        script.extend(quoted(command.as_os_str()));
        script.extend(b" rust-link ");
        script.extend(quoted(directory.join(PARTS_OBJECT).as_os_str()));
        script.extend(b" \"$@\"\n");
        let mut contents = DefaultHasher::new();
        script.hash(&mut contents);
        let name = format!("rust-linker-{:016x}", contents.finish());
        let made = write(&kit.directory, &name, &script);
        let linker = kit.directory.join(name);
        made.map_err(|error| RustError::File(linker.clone(), error))?;
        Ok(Rust { directory, linker })
    }

    /// What rustc gets.
    pub fn flags(&self) -> Vec<OsString> {
        let mut flags = flags(&self.directory);
        let mut linker = OsString::from("-Clinker=");
        linker.push(&self.linker);
        flags.push(linker);
        // Ours understands what other linkers do.
        flags.push("-Clinker-features=-lld".into());
        flags
    }
}

/// Flags of every compilation.
const FLAGS: &[&str] = &[
    "-Zsanitizer=thread",
    // The runtime is there instead of the sanitizer's.
    "-Zexternal-clangrt",
    // The standard library says that it has no hooks; it has.
    "-Cunsafe-allow-abi-mismatch=sanitizer",
    "-Cllvm-args=-tsan-instrument-read-before-write=1",
    // By these it is known later what has hooks.
    "-Cdebuginfo=2",
    "-Csplit-debuginfo=off",
    "-Cstrip=none",
    "-Cforce-frame-pointers=yes",
];

/// The passes that insert hooks, into functions that were not meant to have any.
const PASSES: &str = "forceattrs,tsan-module,function(tsan)";

fn flags(sysroot: &Path) -> Vec<OsString> {
    let mut place = OsString::from("--sysroot=");
    place.push(sysroot);
    let mut flags: Vec<OsString> = FLAGS.iter().map(OsString::from).collect();
    flags.push(place);
    flags
}

/// What a command prints.
fn output(command: &mut Command) -> Result<String, RustError> {
    let path = PathBuf::from(command.get_program());
    let ran = command.stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| RustError::Unusable(path.clone(), error))?;
    if !ran.status.success() {
        let text = String::from_utf8_lossy(&ran.stderr);
        let line = text.lines().next().unwrap_or("no message");
        return Err(RustError::Failed(path, line.into()));
    }
    Ok(String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// The standard library as it comes.
struct Library {
    rustc: PathBuf,
    /// For this machine.
    place: PathBuf,
}

/// Comes with rustc.
const LINKER: &str = "rust-lld";

impl Library {
    fn new(rustc: PathBuf, sysroot: &Path) -> Result<Library, RustError> {
        let place = within(sysroot);
        let linker = place.join("bin").join(LINKER);
        match linker.exists() {
            true => Ok(Library { rustc, place }),
            false => Err(RustError::NoLinker(linker)),
        }
    }

    /// A tool that comes with rustc. Some look for the compiler's libraries in the wrong place, unless cargo says where they are.
    fn tool(&self, name: &str) -> Command {
        let mut command = Command::new(self.place.join("bin").join(name));
        // `place` is `lib/rustlib/TARGET`.
        if let Some(libraries) = self.place.ancestors().nth(2) {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    /// Makes a directory like the compiler's own, with the same library, with hooks.
    fn translate_into(&self, directory: &Path) -> Result<(), RustError> {
        let parent = directory.parent().expect("it lies in the user's cache");
        let part = tempfile::tempdir_in(parent);
        let part = part.map_err(|error| RustError::File(parent.into(), error))?;
        let place = within(part.path());
        let library = place.join("lib");
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| RustError::File(path, error)
        };
        fs::create_dir_all(&library).map_err(failed(&library))?;
        let tools = place.join("bin");
        symlink(self.place.join("bin"), &tools).map_err(failed(&tools))?;
        let mut replaced = Replaced::default();
        let from = self.place.join("lib");
        for entry in fs::read_dir(&from).map_err(failed(&from))? {
            let path = entry.map_err(failed(&from))?.path();
            let to = library.join(path.file_name().expect("it is an entry"));
            match path.extension().and_then(|it| it.to_str()) {
                Some("rlib") if !stays(&path) => {
                    archive::translate(self, &path, &to, &mut replaced)?;
                }
                // A program that took it would have no hooks there.
                Some("so") => {}
                _ => symlink(&path, &to).map_err(failed(&to))?,
            }
        }
        self.compile_parts(part.path(), &replaced)?;
        // Another command may have been faster.
        match fs::rename(part.path(), directory) {
            Ok(()) => Ok(()),
            Err(_) if directory.is_dir() => Ok(()),
            Err(error) => Err(RustError::File(directory.into(), error)),
        }
    }

    fn compile_parts(&self, directory: &Path, replaced: &Replaced) -> Result<(), RustError> {
        let source = directory.join("parts.rs");
        let lock = replaced.lock.as_deref().unwrap_or(NO_LOCK);
        let tests = replaced.tests.as_deref();
        let tests = tests.ok_or_else(|| RustError::Archive(self.place.join("lib")))?;
        let text = PARTS.replace("%LOCK_CONTENDED%", lock);
        let text = text.replace("%TEST_MAIN%", tests);
        fs::write(&source, text).map_err(|error| RustError::File(source.clone(), error))?;
        let mut command = Command::new(&self.rustc);
        command.env("RUSTC_BOOTSTRAP", "1").args(flags(directory));
        command.args([
            "--edition=2024",
            "--crate-type=lib",
            "--crate-name=reweave_parts",
        ]);
        // As what it replaces.
        let mut place = OsString::from("--remap-path-prefix=");
        place.push(directory);
        place.push("=/rustc/parts");
        command
            .arg(place)
            .args(["--emit=obj", "-Copt-level=1", "-o"]);
        command.arg(directory.join(PARTS_OBJECT)).arg(source);
        output(&mut command).map(drop)
    }
}

/// The symbols of functions that are replaced.
#[derive(Default)]
struct Replaced {
    lock: Option<String>,
    tests: Option<String>,
}

/// The library for this machine, in such a directory.
fn within(sysroot: &Path) -> PathBuf {
    sysroot.join("lib/rustlib").join(TARGET)
}

/// Whether an archive stays as it is: it computes with numbers, or belongs to the compiler.
fn stays(archive: &Path) -> bool {
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    [
        "libcompiler_builtins-",
        "libproc_macro-",
        "libprofiler_builtins-",
    ]
    .iter()
    .any(|stays| name.starts_with(stays))
}
