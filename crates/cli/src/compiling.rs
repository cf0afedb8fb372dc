//! `reweave cc`, `c++` and `build`: instrumenting compilers, alone and for a whole build.

use crate::{kit, usage};
use reweave_drive::compile::{Compiler, Language, Wrappers, stand_in};
use reweave_report::ExitCode;
use std::{env, ffi::OsString, process};

/// Does what the compiler would do with these arguments, and more. The code to exit with is the compiler's.
pub fn compile(language: Language, args: Vec<OsString>) -> u8 {
    let done = kit::unpack().and_then(|kit| {
        let compiler = Compiler::find(language).map_err(|error| error.to_string())?;
        stand_in(&kit, &compiler, args).map_err(|error| error.to_string())
    });
    done.unwrap_or_else(|sentence| usage(&sentence).code())
}

/// Runs a build with our compilers in place of its own.
pub fn build(command: &[OsString]) -> ExitCode {
    let done = kit::unpack().and_then(|kit| {
        let own = env::current_exe().map_err(|error| format!("where reweave is: {error}"))?;
        let wrappers = Wrappers::new(&kit, &own).map_err(|error| error.to_string())?;
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
    match done {
        Ok(()) => ExitCode::Clean,
        Err(sentence) => usage(&sentence),
    }
}

/// How a process ended, in words.
fn ended(status: process::ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("exit status {code}"),
        None => status.to_string(),
    }
}
