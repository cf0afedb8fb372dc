//! `reweave cc`, `c++` and `build`: instrumenting compilers, alone and for a whole build.

use crate::output::usage;
use reweave_report::ExitCode;
use reweave_toolchain::{
    Kit,
    assemble::run_as_assembler,
    compile::{CompileError, Compiler, Language, Wrappers, run_as_compiler},
};
use std::{env, ffi::OsString, path::PathBuf, process};

/// Runs the compiler with instrumentation. The exit code is the compiler's.
pub fn compile(language: Language, args: Vec<OsString>) -> u8 {
    let compiled = unpack().and_then(|kit| {
        let compile = || run_as_compiler(&kit, &Compiler::find(language)?, args);
        compile().map_err(|error: CompileError| error.to_string())
    });
    compiled.unwrap_or_else(|sentence| usage(&sentence).code())
}

/// Runs the assembler, for those compilers. The exit code is the assembler's.
pub fn assemble(args: &[OsString]) -> u8 {
    let assembled = run_as_assembler(args);
    assembled.unwrap_or_else(|error| usage(&error.to_string()).code())
}

/// Runs a build with instrumenting compilers in place of its own.
pub fn build(command: &[OsString]) -> ExitCode {
    let built = unpack().and_then(|kit| {
        let wrappers = Wrappers::new(&kit, &own_path()?).map_err(|error| error.to_string())?;
        let mut build = process::Command::new(&command[0]);
        build.args(&command[1..]);
        wrappers.enter(&mut build);
        let name = command[0].to_string_lossy();
        let status = build
            .status()
            .map_err(|error| format!("{name}: cannot be run: {error}"))?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("the build failed: {}", ended(status))),
        }
    });
    match built {
        Ok(()) => ExitCode::Clean,
        Err(sentence) => usage(&sentence),
    }
}

/// The kit, with this very command as the assembler.
pub fn unpack() -> Result<Kit, String> {
    let own = own_path()?;
    let kit = Kit::unpack().and_then(|kit| kit.with_assembler(&own));
    kit.map_err(|error| error.to_string())
}

pub fn own_path() -> Result<PathBuf, String> {
    env::current_exe().map_err(|error| format!("where reweave is: {error}"))
}

/// How a process ended, in words.
fn ended(status: process::ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}
