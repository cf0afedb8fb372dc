//! A look at a program's file before it is started: what cannot be run under the runtime is told in a sentence that says what to do.

use crate::compile::Kit;
use object::{
    Endianness, Object,
    elf::{EM_X86_64, PT_INTERP},
    read::elf::{ElfFile64, FileHeader, ProgramHeader},
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

/// What is worth saying about a program that can be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Binary {
    /// It has no debug information: places are functions and addresses.
    pub bare: bool,
}

/// Looks at a file; an error is a sentence about why it is no program that can be explored.
pub fn look(path: &Path) -> Result<Binary, String> {
    let wrong = |why: &str| Err(format!("{}: cannot be started: {why}", path.display()));
    let about = match fs::metadata(path) {
        Ok(about) => about,
        Err(error) => return wrong(&error.to_string()),
    };
    let mode = about.permissions().mode();
    if !about.is_file() {
        return wrong("it is no file");
    }
    if mode & 0o111 == 0 {
        return wrong("it is not executable; `chmod +x` makes it so, if it is a program");
    }
    if mode & 0o6000 != 0 {
        return wrong(
            "it runs as another user or group (set-uid), which keeps the runtime out; copy it without that bit",
        );
    }
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => return wrong(&format!("it cannot be read: {error}")),
    };
    if bytes.starts_with(b"#!") {
        return Err(script(path, &bytes));
    }
    if !bytes.starts_with(b"\x7fELF") {
        return wrong("it is no program: neither a binary nor a script");
    }
    let Ok(file) = ElfFile64::<Endianness>::parse(&*bytes) else {
        return wrong(
            "it is for another kind of machine, or damaged; x86-64 is what can be explored",
        );
    };
    let endian = file.endian();
    if file.elf_header().e_machine(endian) != EM_X86_64 || !file.is_little_endian() {
        return wrong("it is for another kind of machine; x86-64 is what can be explored");
    }
    let interpreted =
        |header: &<object::elf::FileHeader64<Endianness> as FileHeader>::ProgramHeader| {
            header.p_type(endian) == PT_INTERP
        };
    if !file.elf_program_headers().iter().any(interpreted) {
        return wrong(
            "it is linked statically, so that the runtime cannot come before its C library; link it without -static",
        );
    }
    Ok(Binary {
        bare: file.section_by_name(".debug_info").is_none(),
    })
}

/// Whether the runtime comes with a program: an error is a sentence that says what to do where it does not.
///
/// The loader is asked, since the runtime may come with a library of the program's; nothing of the program is run. Where the loader
/// does not know, the program may be started.
pub fn instrumented(path: &Path) -> Result<(), String> {
    let mut loader = Command::new(path);
    loader.env("LD_TRACE_LOADED_OBJECTS", "1");
    loader.stdin(Stdio::null()).stderr(Stdio::null());
    let Ok(listed) = loader.output() else {
        return Ok(());
    };
    let libraries = String::from_utf8_lossy(&listed.stdout);
    let known = listed.status.success() && !libraries.contains("=> not found");
    match known && !libraries.contains(Kit::RUNTIME) {
        true => Err(format!(
            "{} is not instrumented: build it with `reweave build -- make` or `reweave cc`",
            path.display()
        )),
        false => Ok(()),
    }
}

/// What to do about a script.
fn script(path: &Path, bytes: &[u8]) -> String {
    let first = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let first = String::from_utf8_lossy(first);
    let name = path.file_name().unwrap_or_default();
    // Where libtool puts the program that its script starts.
    let hidden = path.with_file_name(".libs").join(name);
    let instead = match hidden.is_file() {
        true => format!("the program that it starts is likely {}", hidden.display()),
        false => "name the program that it starts, with the arguments that it gives it".into(),
    };
    format!(
        "{}: cannot be started: it is a script ({first}), and only programs are explored; {instead}",
        path.display()
    )
}
