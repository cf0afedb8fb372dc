//! Builds native programs so that they can be explored, and reads their files.
//!
//! * [`kit`]: the runtime and headers that programs are compiled and linked against, embedded in this crate.
//! * [`compile`]: real compilers with instrumentation added, for one program, for `cc` and `c++`, for a whole build.
//! * [`assemble`]: the assembler that those compilers are given, which adds the hooks that they leave out.
//! * [`executable`]: whether a program's file can be run under the runtime.
//! * [`rust`]: the standard library of Rust with hooks, and what rustc and its linker get.
//! * [`symbols`]: functions, lines and variables from debug information.
//! * [`temporary`]: directories that disappear with the command, however it ends.
//!
//! It knows nothing of searches and starts no program.
#![forbid(unsafe_code)]

pub mod assemble;
pub mod compile;
pub mod executable;
pub mod kit;
pub mod rust;
pub mod symbols;
pub mod temporary;

pub use kit::Kit;
