//! What is added to a compiler's command line, and why.

use super::{Compiler, Language};
use crate::Kit;
use std::{
    ffi::{OsStr, OsString},
    fs,
};

/// Flags of a program of our own that the user's come after and may override.
pub(super) fn defaults() -> Vec<OsString> {
    words(&["-O1", "-fPIE"])
}

/// Flags of every compilation; they come last, so that nothing overrides them.
pub(super) fn compile(kit: &Kit, compiler: &Compiler, language: Option<Language>) -> Vec<OsString> {
    let mut flags = words(&[
        "-g",
        // That code was instrumented is in its debug information.
        "-grecord-gcc-switches",
        "-fsanitize=thread",
        "-fno-omit-frame-pointer",
        "-pthread",
        // Code that is made while linking would be made without instrumentation.
        "-fno-lto",
    ]);
    // The compiler's hooks do not cover everything; what it gives to an assembler gets the rest there.
    if compiler.is_clang() {
        flags.push("-fno-integrated-as".into());
    } else {
        // gcc takes a hook for a function that changes no variable. But other threads run in hooks.
        flags.extend(words(&[
            "-fno-ipa-reference",
            "-fno-ipa-reference-addressable",
            "-fno-ipa-pure-const",
            "-fno-ipa-modref",
            "-fno-ipa-pta",
            // Hooks are inserted late. What gcc merges or drops before, nobody would see: reads of the same, dead reads, stores
            // that are overwritten.
            "-fno-code-hoisting",
            "-fno-tree-dce",
            "-fno-tree-dominator-opts",
            "-fno-tree-dse",
            "-fno-tree-fre",
            "-fno-tree-loop-if-convert",
            "-fno-tree-loop-im",
            "-fno-tree-pre",
            "-fno-tree-sink",
            "-fno-tree-sra",
            "-fno-tree-vectorize",
        ]));
    }
    if language == Some(Language::Fortran) {
        return flags;
    }
    // Checked variants of memory and string functions are expanded in place.
    flags.push("-U_FORTIFY_SOURCE".into());
    flags.extend(["-idirafter".into(), kit.directory.clone().into()]);
    flags.extend(["-isystem".into(), kit.directory.join(Kit::STD).into()]);
    flags.extend(["-include".into(), kit.directory.join(Kit::FIRST).into()]);
    let calls = NO_BUILTIN.iter();
    flags.extend(calls.map(|name| format!("-fno-builtin-{name}").into()));
    if compiler.is_clang() {
        // It leaves out the read of `x++`, and warns of flags that another step needs.
        flags.extend(words(&[
            "-mllvm",
            "-tsan-instrument-read-before-write=1",
            "-Qunused-arguments",
        ]));
    } else {
        // It warns of each fence, which our runtime understands.
        flags.push("-Wno-tsan".into());
    }
    flags
}

/// Has a compiler that assembles by itself use ours.
pub(super) fn assembler(kit: &Kit) -> Option<OsString> {
    let mut flag = OsString::from("-B");
    flag.push(kit.assembler.as_ref()?);
    Some(flag)
}

/// More of them for this very file.
pub(super) fn for_source(file: &OsStr, compiler: &Compiler) -> Vec<OsString> {
    /// Functions that are atomic by their name have to stay functions: the runtime knows them by where they begin and end.
    const BY_NAME: &[u8] = b"__VERIFIER_atomic_";
    let source = fs::read(file).unwrap_or_default();
    if !source.windows(BY_NAME.len()).any(|part| part == BY_NAME) {
        return Vec::new();
    }
    let mut flags = words(&["-fno-inline", "-fno-optimize-sibling-calls"]);
    if !compiler.is_clang() {
        // Only gcc makes one of two that are alike.
        flags.push("-fno-ipa-icf".into());
    }
    flags
}

/// Functions that compilers would expand in place, without a hook and without a call that the runtime sees. (With gcc, what calls
/// `__builtin_memcpy` by that name with a constant size is expanded nevertheless; where that is a copy of a whole object, gcc makes
/// an assignment of it first, and instruments that.)
const NO_BUILTIN: &[&str] = &[
    "bcmp",
    "bcopy",
    "bzero",
    "index",
    "memccpy",
    "memchr",
    "memcmp",
    "memcpy",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "rindex",
    "snprintf",
    "sprintf",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcpy",
    "strcspn",
    "strdup",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strndup",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "vsnprintf",
    "vsprintf",
];

/// Flags of every linking; they come first. The runtime has to be found before the C library, whose functions it stands in for, and
/// before any library of the user's that is linked against it.
pub(super) fn link(kit: &Kit, runtime: bool) -> Vec<OsString> {
    let mut flags = words(&["-pthread"]);
    if !runtime {
        return flags;
    }
    let directory = || kit.directory.clone().into();
    flags.extend(["-L".into(), directory()]);
    flags.extend(words(&["-Xlinker", "-rpath", "-Xlinker"]));
    flags.push(directory());
    // Kept even if this very object has no use for it. (It has no other name than its file's, so programs remember that.)
    flags.extend(words(&["-Wl,-z,now", "-Wl,--push-state,--no-as-needed"]));
    flags.push(format!("-l:{}", Kit::RUNTIME).into());
    flags.push("-Wl,--pop-state".into());
    let wrapped = WRAPPED.iter();
    flags.extend(wrapped.map(|name| format!("-Wl,--wrap={name}").into()));
    flags
}

/// Functions whose calls from what is linked go to the runtime under the name `__wrap_...`: it has to look at what they read and
/// write. Those of other libraries stay libc's.
const WRAPPED: &[&str] = &[
    "__isoc23_sscanf",
    "__isoc23_strtol",
    "__isoc23_strtoll",
    "__isoc23_strtoul",
    "__isoc23_strtoull",
    "__isoc23_vsscanf",
    "__isoc99_sscanf",
    "__isoc99_vsscanf",
    "__strtok_r",
    "asctime_r",
    "atoi",
    "atol",
    "atoll",
    "bcmp",
    "bcopy",
    "bzero",
    "ctime_r",
    "explicit_bzero",
    "gmtime_r",
    "index",
    "localtime_r",
    "memccpy",
    "memchr",
    "memcmp",
    "memcpy",
    "memmem",
    "memmove",
    "mempcpy",
    "memrchr",
    "memset",
    "qsort",
    "qsort_r",
    "rand_r",
    "rindex",
    "snprintf",
    "sprintf",
    "sscanf",
    "stpcpy",
    "stpncpy",
    "strcasecmp",
    "strcat",
    "strchr",
    "strchrnul",
    "strcmp",
    "strcpy",
    "strcspn",
    "strdup",
    "strftime",
    "strlen",
    "strncasecmp",
    "strncat",
    "strncmp",
    "strncpy",
    "strndup",
    "strnlen",
    "strpbrk",
    "strrchr",
    "strspn",
    "strstr",
    "strtod",
    "strtof",
    "strtok",
    "strtok_r",
    "strtol",
    "strtoll",
    "strtoul",
    "strtoull",
    "vsnprintf",
    "vsprintf",
    "vsscanf",
];

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}
