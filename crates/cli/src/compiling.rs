//! `reweave cc`, `c++` and `build`: instrumenting compilers, alone and for a whole build.

use crate::{kit, usage};
use reweave_drive::compile::{Compiler, Language, Wrappers, stand_in};
use std::{env, ffi::OsString, os::unix::process::ExitStatusExt, process};

/// Does what the compiler would do with these arguments, and more. The code to exit with is the compiler's.
pub fn compile(language: Language, args: Vec<OsString>) -> u8 {
    let done = kit::unpack().and_then(|kit| {
        let compiler = Compiler::find(language).map_err(|error| error.to_string())?;
        stand_in(&kit, &compiler, args).map_err(|error| error.to_string())
    });
    done.unwrap_or_else(|sentence| usage(&sentence).code())
}

/// Runs a build with our compilers in place of its own. The code to exit with is the build's.
pub fn build(command: &[OsString]) -> u8 {
    let done = kit::unpack().and_then(|kit| {
        let own = env::current_exe().map_err(|error| format!("where reweave is: {error}"))?;
        let wrappers = Wrappers::new(&kit, &own).map_err(|error| error.to_string())?;
        let mut build = process::Command::new(&command[0]);
        build.args(&command[1..]);
        wrappers.enter(&mut build);
        let name = command[0].to_string_lossy();
        build
            .status()
            .map_err(|error| format!("{name}: cannot be run: {error}"))
    });
    match done {
        Ok(status) => match status.code() {
            Some(code) => code as u8,
            None => 128 + status.signal().unwrap_or(0) as u8,
        },
        Err(sentence) => usage(&sentence).code(),
    }
}
