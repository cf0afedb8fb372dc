//! A native program that can be checked: built from sources or found as it is, with how it is launched and described.
//!
//! *Called by:* the command and any other user of this crate; `session` and `replay` take it over. *Owns:* what was built,
//! which is removed with the program.

use crate::{
    errors::{CheckError, PrepareError, StartError},
    ladder::Ladder,
    launch::Launch,
    subject::NativeSubject,
};
use reweave_check::{Control, Fault, Outcome, Settings};
use reweave_report::Program;
use reweave_toolchain::{
    Kit,
    compile::{self, Built, CommandLine},
    executable::{self, Executable},
};
use reweave_wire::{Races, Restart};
use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// See the module.
pub struct NativeProgram {
    /// How it is started.
    pub launch: Launch,
    /// How traces describe it. Callers may add how to build and start it again.
    pub description: Program,
    /// Which rungs may be used.
    pub ladder: Ladder,
    has_debug_info: bool,
    _built: Option<Built>,
}

impl NativeProgram {
    /// Compiles and links the files of a compiler's command line, with instrumentation.
    pub fn build(words: Vec<OsString>) -> Result<NativeProgram, PrepareError> {
        let kit = Kit::unpack().map_err(PrepareError::Kit)?;
        let name = name_of_files(&words);
        let built = compile::build(&kit, words).map_err(PrepareError::Compile)?;
        let mut program = NativeProgram::new(built.program.clone(), name);
        program._built = Some(built);
        Ok(program)
    }

    /// Takes a program as it is, which must be instrumented. One that is named without a directory is looked up in `PATH`.
    pub fn open(program: &Path) -> Result<NativeProgram, PrepareError> {
        let path = in_path(program);
        let file = Executable::inspect(&path).map_err(PrepareError::Executable)?;
        executable::require_runtime(&path).map_err(PrepareError::Executable)?;
        Ok(NativeProgram {
            has_debug_info: file.has_debug_info,
            ..NativeProgram::new(path, name_of_program(program))
        })
    }

    /// Takes a program that was built without hooks. Its calls of libraries are its visible operations.
    pub fn open_unmodified(program: &Path) -> Result<NativeProgram, PrepareError> {
        let path = in_path(program);
        let file = Executable::inspect(&path).map_err(PrepareError::Executable)?;
        executable::require_no_runtime(&path).map_err(PrepareError::Executable)?;
        let kit = Kit::unpack().map_err(PrepareError::Kit)?;
        let mut found = NativeProgram::new(path, name_of_program(program));
        found.has_debug_info = file.has_debug_info;
        found.launch.preload = Some(kit.runtime());
        found.launch.races = Races::Ignore;
        Ok(found)
    }

    fn new(path: PathBuf, name: String) -> NativeProgram {
        NativeProgram {
            launch: Launch::new(path),
            description: Program {
                name,
                kind: "native".into(),
                ..Program::default()
            },
            ladder: Ladder::default(),
            has_debug_info: true,
            _built: None,
        }
    }

    /// Its name: that of its first file.
    pub fn name(&self) -> &str {
        &self.description.name
    }

    /// Whether places are files and lines, and not just functions and addresses.
    pub fn has_debug_info(&self) -> bool {
        self.has_debug_info
    }

    /// Has its runs end when the check is stopped, or its time is over.
    pub fn stopped_by(&mut self, control: &Control) {
        self.launch.limits.stop = control.stop.clone();
    }

    /// The next rung, if state leaked on this one and another may be used.
    pub fn rung_below(&self) -> Option<Restart> {
        self.ladder.below(self.launch.restart, self.launch.threads)
    }

    /// The program as the subject of a check.
    pub fn subject(&self, max_steps: u32) -> Result<NativeSubject, StartError> {
        let (launch, description) = (self.launch.clone(), self.description.clone());
        NativeSubject::new(launch, description, max_steps)
    }

    /// Explores the program once, and steps down by itself. For what is counted; [`Session`](crate::Session) reports errors.
    pub fn explore(
        &mut self,
        settings: &Settings,
        control: &Control,
    ) -> Result<Outcome, CheckError> {
        loop {
            self.launch.limits.deadline.set(None);
            let mut subject = self.subject(settings.options.max_steps)?;
            let outcome = reweave_check::check(&mut subject, settings, control);
            match (outcome, self.rung_below()) {
                (Ok(outcome), _) => return Ok(outcome),
                (Err(Fault::Differs(_)), Some(rung)) => self.launch.restart = rung,
                (Err(fault), _) => return Err(CheckError::Fault(fault)),
            }
        }
    }
}

/// The name of the program that files are compiled to.
pub fn name_of_files(words: &[OsString]) -> String {
    let line = CommandLine::read(words.to_vec());
    name_of_program(Path::new(line.first_file().unwrap_or_default()))
}

/// The name of a program's file.
pub fn name_of_program(program: &Path) -> String {
    let name = program.file_name().map(OsStr::to_string_lossy);
    name.map_or_else(|| "program".into(), String::from)
}

/// The file of a program, looked up in `PATH` if it is named without a directory.
pub(crate) fn in_path(program: &Path) -> PathBuf {
    let plain = !program.as_os_str().to_string_lossy().contains('/');
    let path = env::var_os("PATH").filter(|_| plain).unwrap_or_default();
    let files = env::split_paths(&path).map(|directory| directory.join(program));
    let mut files = files.filter(|file| file.is_file());
    files.next().unwrap_or_else(|| program.into())
}
