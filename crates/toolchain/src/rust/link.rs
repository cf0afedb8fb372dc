//! The linker that rustc calls: a C compiler, with the runtime and the parts of the standard library that are replaced.
//!
//! *Called by:* the script that [`Rust::flags`](super::Rust::flags) names. *Owns:* nothing.

use crate::{
    Kit,
    compile::{CompileError, Compiler, Language, run_as_compiler},
};
use std::ffi::OsString;

/// What is linked before anything else. Programs call these functions by the linker's leave; see `parts.rs`.
const FRONT: &[&str] = &[
    "-Wl,--wrap=getrandom",
    "-Wl,--wrap=poll",
    "-Wl,--wrap=sigaction",
    "-Wl,--export-dynamic-symbol=__reweave_rust",
];

/// Links what rustc asks for. The first argument is the object with the replaced parts. Returns the linker's exit code.
pub fn link(kit: &Kit, args: Vec<OsString>) -> Result<u8, CompileError> {
    let mut args = args.into_iter();
    let mut words: Vec<OsString> = args.next().into_iter().collect();
    words.extend(FRONT.iter().map(OsString::from));
    // rustc names the C library itself. The compiler may do so, too: for it this would be a part of something larger, without the runtime.
    words.extend(args.filter(|word| word != "-nodefaultlibs"));
    run_as_compiler(kit, &Compiler::find(Language::C)?, words)
}
