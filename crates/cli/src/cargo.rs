//! `reweave cargo test` and `run`, which cargo knows as `cargo reweave`: programs in Rust that nobody changed, checked with hooks.
//!
//! *Decides:* how cargo builds them, which tests there are, and the exit code of several checks. *Called by:* `main`. *Owns:* nothing. Each check is a
//! process of its own (`reweave check -- PROGRAM TEST`), so that it can be repeated by hand and replayed.

use crate::{
    args::{CargoBuild, CargoCommand, CargoOptions, CargoRun, CargoTest},
    compilers,
    output::{Failure, say},
};
use reweave_report::ExitCode;
use reweave_toolchain::rust::Rust;
use serde_json::Value;
use std::{
    env,
    ffi::OsString,
    fmt::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Builds and checks. The exit code is that of the gravest verdict.
pub fn run(options: &CargoOptions) -> ExitCode {
    let checked = match &options.command {
        CargoCommand::Test(options) => test(options),
        CargoCommand::Run(options) => run_program(options),
    };
    checked.unwrap_or_else(|failure| failure.report())
}

/// Links for rustc. The exit code is the linker's.
pub fn link(args: Vec<OsString>) -> u8 {
    let linked = compilers::unpack().and_then(|kit| {
        reweave_toolchain::rust::link(&kit, args).map_err(|error| error.to_string())
    });
    linked.unwrap_or_else(|sentence| Failure::from(sentence).report().code())
}

/// Something that cargo has built.
struct Artifact {
    program: PathBuf,
    /// Where cargo would start it.
    directory: PathBuf,
    /// As cargo calls it.
    name: String,
}

fn run_program(options: &CargoRun) -> Result<ExitCode, Failure> {
    let mut words: Vec<OsString> = vec!["build".into()];
    for (flag, name) in [("--bin", &options.bin), ("--example", &options.example)] {
        if let Some(name) = name {
            words.extend([flag.into(), name.into()]);
        }
    }
    let built = build(&options.build, words, |artifact| {
        artifact["profile"]["test"] == false
    })?;
    match &*built {
        [one] => {
            // A program is started where the command was.
            let code = check(&options.build, &one.program, None, &options.args)?;
            Ok(code)
        }
        [] => Err("there is no program to run".to_owned().into()),
        [_, ..] => {
            let names: Vec<&str> = built.iter().map(|one| &*one.name).collect();
            Err(format!("name the program by --bin: {}", names.join(", ")).into())
        }
    }
}

fn test(options: &CargoTest) -> Result<ExitCode, Failure> {
    let mut words: Vec<OsString> = vec!["test".into(), "--no-run".into()];
    words.extend(options.lib.then(|| "--lib".into()));
    for name in &options.test {
        words.extend(["--test".into(), name.into()]);
    }
    let built = build(&options.build, words, |artifact| {
        artifact["profile"]["test"] == true
    })?;
    let mut count = Count::default();
    for artifact in &built {
        for test in tests(artifact, options)? {
            if options.list {
                println!("{}: {test}", artifact.name);
                continue;
            }
            println!("test {test} ({})", artifact.name);
            let args = [OsString::from(&test)];
            let directory = Some(&*artifact.directory);
            count.add(check(&options.build, &artifact.program, directory, &args)?);
            println!();
        }
    }
    if options.list {
        return Ok(ExitCode::Clean);
    }
    println!("{}", count.sentence());
    Ok(count.gravest())
}

/// The tests of a program that are wanted, by name.
fn tests(artifact: &Artifact, options: &CargoTest) -> Result<Vec<String>, Failure> {
    let names = |more: &[&str]| -> Result<Vec<String>, Failure> {
        let mut listing = Command::new(&artifact.program);
        listing.arg("--list").args(more);
        listing.stdin(Stdio::null()).stderr(Stdio::null());
        let listed = listing.current_dir(&artifact.directory).output();
        let listed = listed
            .map_err(|error| format!("{} cannot be run: {error}", artifact.program.display()))?;
        let text = String::from_utf8_lossy(&listed.stdout);
        let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(tests.map(str::to_owned).collect())
    };
    let ignored = names(&["--ignored"])?;
    let wanted = |name: &String| match &options.filter {
        None => true,
        Some(filter) if options.exact => name == filter,
        Some(filter) => name.contains(&**filter),
    };
    let all = names(&[])?.into_iter();
    Ok(all
        .filter(|name| wanted(name) && !ignored.contains(name))
        .collect())
}

/// Checks one program, in its directory.
fn check(
    build: &CargoBuild,
    program: &Path,
    directory: Option<&Path>,
    args: &[OsString],
) -> Result<ExitCode, Failure> {
    let mut command = Command::new(compilers::own_path()?);
    command.arg("check");
    command.args(
        build
            .check
            .iter()
            .flat_map(|words| words.split_whitespace()),
    );
    command.arg("--").arg(program).args(args);
    // Frames are reported anyway.
    command
        .env_remove("RUST_BACKTRACE")
        .env_remove("RUST_TEST_THREADS");
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let status = command.status();
    let status = status.map_err(|error| format!("reweave cannot be run: {error}"))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let known = [
        ExitCode::Clean,
        ExitCode::Found,
        ExitCode::Usage,
        ExitCode::Incomplete,
        ExitCode::Fault,
    ];
    let known = known.into_iter().find(|it| Some(it.code()) == code);
    match known {
        Some(ExitCode::Usage) => Err(Failure {
            code: ExitCode::Usage,
            sentence: "a test cannot be checked".into(),
        }),
        Some(code) => Ok(code),
        None => Err(Failure::fault(format!("a check ended with {status}"))),
    }
}

/// Has cargo build with hooks, and returns what it has built.
fn build(
    options: &CargoBuild,
    words: Vec<OsString>,
    wanted: impl Fn(&Value) -> bool,
) -> Result<Vec<Artifact>, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let manifest = options.manifest_path.iter();
    let manifest: Vec<OsString> = manifest
        .flat_map(|path| ["--manifest-path".into(), path.into()])
        .collect();
    let kit = compilers::unpack()?;
    let rust = Rust::prepare(&kit, &compilers::own_path()?).map_err(|error| error.to_string())?;
    let mut command = Command::new(&cargo);
    command.args(words).args(&manifest).args(options.words());
    command.args([
        "--target",
        Rust::TARGET,
        "--message-format=json-render-diagnostics",
    ]);
    command
        .arg("--target-dir")
        .arg(target_directory(&cargo, &manifest)?);
    command.env("CARGO_ENCODED_RUSTFLAGS", encoded(rust.flags()));
    command.env("RUSTC_BOOTSTRAP", "1");
    // What is never run makes every execution longer.
    for (variable, value) in [
        ("CARGO_PROFILE_DEV_OPT_LEVEL", "1"),
        ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ] {
        if env::var_os(variable).is_none() {
            command.env(variable, value);
        }
    }
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    let built = command.output();
    let built = built.map_err(|error| format!("cargo cannot be run: {error}"))?;
    if !built.status.success() {
        return Err("the build failed".to_owned().into());
    }
    let text = String::from_utf8_lossy(&built.stdout);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let messages = messages.filter(|message| wanted(message));
    Ok(messages.filter_map(|message| artifact(&message)).collect())
}

fn artifact(message: &Value) -> Option<Artifact> {
    let manifest = Path::new(message["manifest_path"].as_str()?);
    let target = &message["target"];
    let kind = target["kind"][0].as_str().unwrap_or_default();
    let name = target["name"].as_str()?;
    Some(Artifact {
        program: message["executable"].as_str()?.into(),
        directory: manifest.parent()?.into(),
        name: format!("{kind} {name}"),
    })
}

/// A directory for what has hooks: builds without must not take it for theirs.
fn target_directory(cargo: &OsString, manifest: &[OsString]) -> Result<PathBuf, Failure> {
    let mut command = Command::new(cargo);
    command.args(["metadata", "--no-deps", "--format-version=1"]);
    command
        .args(manifest)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let told = command.output();
    let told = told.map_err(|error| format!("cargo cannot be run: {error}"))?;
    let told: Option<Value> = serde_json::from_slice(&told.stdout).ok();
    let place = told.as_ref().and_then(|it| it["target_directory"].as_str());
    let place = place.ok_or_else(|| "cargo does not say where it builds".to_owned())?;
    Ok(Path::new(place).join("reweave"))
}

/// The user's flags and ours, as cargo passes them on.
fn encoded(ours: Vec<OsString>) -> OsString {
    const BETWEEN: &str = "\x1f";
    let mut flags = match env::var_os("CARGO_ENCODED_RUSTFLAGS") {
        Some(flags) => flags,
        None => {
            let flags = env::var("RUSTFLAGS").unwrap_or_default();
            let flags: Vec<&str> = flags.split_whitespace().collect();
            flags.join(BETWEEN).into()
        }
    };
    for flag in ours {
        if !flags.is_empty() {
            flags.push(BETWEEN);
        }
        flags.push(flag);
    }
    flags
}

/// The verdicts of several checks.
#[derive(Default)]
struct Count {
    complete: usize,
    failed: usize,
    incomplete: usize,
    faults: usize,
}

impl Count {
    fn add(&mut self, code: ExitCode) {
        match code {
            ExitCode::Clean => self.complete += 1,
            ExitCode::Found => self.failed += 1,
            ExitCode::Incomplete => self.incomplete += 1,
            ExitCode::Usage | ExitCode::Fault => self.faults += 1,
        }
    }

    fn gravest(&self) -> ExitCode {
        match self {
            Count { failed: 1.., .. } => ExitCode::Found,
            Count { faults: 1.., .. } => ExitCode::Fault,
            Count {
                incomplete: 1.., ..
            } => ExitCode::Incomplete,
            Count { complete: 0, .. } => {
                say("no test was checked");
                ExitCode::Usage
            }
            _ => ExitCode::Clean,
        }
    }

    fn sentence(&self) -> String {
        let mut text = format!("{} complete without an error", self.complete);
        let others = [
            (self.failed, "with errors"),
            (self.incomplete, "incomplete"),
            (self.faults, "faults"),
        ];
        for (count, what) in others {
            if count > 0 {
                let _ = write!(text, ", {count} {what}");
            }
        }
        text
    }
}
