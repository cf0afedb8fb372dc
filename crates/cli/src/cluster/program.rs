//! A native program on its way to workers: its manifest, and what a worker makes of that.
//!
//! *Called by:* `search` and `worker`. *Owns:* nothing.

use crate::{
    args::{CheckRequest, ProgramSource},
    check,
};
use reweave_check::Settings;
use reweave_cluster::{Manifest, ManifestFile};
use reweave_explore::Options;
use reweave_native::{Ladder, NativeProgram};
use reweave_toolchain::Kit;
use serde::{Deserialize, Serialize};
use std::{ffi::OsString, fs, path::Path, sync::Arc};

/// How a program is run, for a manifest.
#[derive(Serialize, Deserialize)]
struct Launched {
    /// The words of the check; the program in them is replaced by the one that was sent.
    words: Vec<String>,
    options: Options,
    keep_going: bool,
    every_race: bool,
    beyond_races: bool,
    races_cut: bool,
    /// The rungs that may be used.
    restart: String,
    /// The name of the file with its standard input.
    stdin: Option<String>,
}

const STDIN: &str = "standard-input";

/// The version of this command and of its runtime.
pub fn build() -> String {
    format!("{} ({})", env!("CARGO_PKG_VERSION"), Kit::FINGERPRINT)
}

/// The kind of this machine.
pub fn machine() -> String {
    format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS)
}

/// The manifest of a program, and the contents of its files.
pub fn manifest(
    request: &CheckRequest,
    program: &NativeProgram,
    settings: &Settings,
) -> Result<(Manifest, Vec<Vec<u8>>), String> {
    let path = &program.launch.program;
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut contents = vec![read(path)?];
    let mut files = vec![ManifestFile::of("program", &contents[0])];
    if let Some(stdin) = &program.launch.stdin {
        let bytes = check::whole(stdin).map_err(|error| format!("standard input: {error}"))?;
        files.push(ManifestFile::of(STDIN, &bytes));
        contents.push(bytes);
    }
    let mut plain = request.clone();
    plain.source = ProgramSource::Program("program".into());
    let launched = Launched {
        words: plain.to_words(),
        options: settings.options,
        keep_going: settings.keep_going,
        every_race: settings.every_race,
        beyond_races: settings.beyond_races,
        races_cut: settings.races_cut,
        restart: match program.ladder {
            Ladder::Auto => "auto".into(),
            Ladder::Only(rung) => reweave_native::rung_name(rung).into(),
        },
        stdin: (files.len() > 1).then(|| STDIN.into()),
    };
    let manifest = Manifest {
        build: build(),
        machine: machine(),
        name: program.name().into(),
        files,
        launch: serde_json::to_value(&launched).expect("it is plain data"),
    };
    Ok((manifest, contents))
}

/// The check of a manifest, as it was asked for; the program lies in this directory.
pub fn request(manifest: &Manifest, directory: &Path) -> Result<CheckRequest, String> {
    let launched = launched(manifest)?;
    let words = launched.words.into_iter().map(OsString::from);
    let mut request = CheckRequest::from_words(words.collect())?;
    request.search = launched.options;
    request.options.keep_going = launched.keep_going;
    request.options.restart = crate::args::restart_named(&launched.restart)?;
    let program = directory.join(&manifest.files[0].name);
    request.source = ProgramSource::Program(program);
    Ok(request)
}

/// The program of a manifest, and the settings of its check.
pub fn open(manifest: &Manifest, directory: &Path) -> Result<(NativeProgram, Settings), String> {
    let kit = Kit::unpack().map_err(|error| error.to_string())?;
    let request = request(manifest, directory)?;
    let launched = launched(manifest)?;
    let stdin = launched.stdin.map(|name| {
        let known = manifest.files.iter().any(|file| file.name == name);
        let open = || fs::File::open(directory.join(&name)).map_err(|error| error.to_string());
        known
            .then(open)
            .ok_or("its standard input is missing")?
            .map(Arc::new)
    });
    let mut program =
        check::prepare(&request, stdin.transpose()?).map_err(|failure| failure.sentence)?;
    program.description.name.clone_from(&manifest.name);
    program.launch.library_path = vec![directory.into(), kit.directory];
    let settings = Settings {
        options: launched.options,
        workers: 1,
        keep_going: launched.keep_going,
        every_race: launched.every_race,
        beyond_races: launched.beyond_races,
        races_cut: launched.races_cut,
        ..check::settings(&request, &program)
    };
    Ok((program, settings))
}

fn launched(manifest: &Manifest) -> Result<Launched, String> {
    let launched = Launched::deserialize(&manifest.launch);
    launched.map_err(|error| format!("its manifest does not say how it is run: {error}"))
}
