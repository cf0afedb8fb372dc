//! A first suite file, from the programs that are found: C and C++ files with a `main`, programs that were built with instrumentation.

use reweave_toolchain::{Kit, compile::Language};
use std::{
    fs,
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

/// Writes it, never over another one; an error is a sentence. Hands back how many tests there are in it.
pub fn write(file: &Path) -> Result<usize, String> {
    let place = match file.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if file.exists() {
        return Err(format!("{}: is there already", file.display()));
    }
    let mut found = Vec::new();
    walk(place, place, &mut found);
    found.sort();
    if found.is_empty() {
        return Err(format!(
            "{}: there is no C or C++ file with a `main` here, and no program built by `reweave build`",
            place.display()
        ));
    }
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => format!("{}: is there already", file.display()),
        _ => format!("{}: cannot be written: {error}", file.display()),
    };
    let mut new = fs::File::create_new(file).map_err(failed)?;
    new.write_all(text(&found).as_bytes()).map_err(failed)?;
    Ok(found.len())
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    Source(PathBuf),
    Program(PathBuf),
}

/// Directories that hold what is made or fetched.
const MADE: [&str; 4] = ["target", "node_modules", "reweave-out", "CMakeFiles"];

fn walk(directory: &Path, root: &Path, found: &mut Vec<Found>) {
    // What cannot be read has no programs for us.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && !name.starts_with('.') && !MADE.contains(&&*name) {
            walk(&path, root, found);
        } else if kind.is_file() {
            let inside = path.strip_prefix(root).unwrap_or(&path).to_path_buf();
            if Language::of(path.as_os_str(), None).is_some() {
                found.extend(has_main(&path).then_some(Found::Source(inside)));
            } else if is_program(&path) {
                found.push(Found::Program(inside));
            }
        }
    }
}

/// Whether a source defines `main`, as far as can be seen without a compiler: a line that begins it and is no statement.
fn has_main(path: &Path) -> bool {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().any(|line| {
        let Some(at) = line.find("main") else {
            return false;
        };
        let (before, after) = (line[..at].trim(), line[at + 4..].trim_start());
        let types = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ' ';
        let whole = line[..at].ends_with([' ', '\t']) || at == 0;
        whole
            && after.starts_with('(')
            && !line.trim_end().ends_with(';')
            && before.chars().all(types)
    })
}

/// Whether a file is a program that names the runtime.
fn is_program(path: &Path) -> bool {
    let Ok(about) = fs::metadata(path) else {
        return false;
    };
    let executable = about.permissions().mode() & 0o111 != 0;
    let runtime = Kit::RUNTIME.as_bytes();
    executable
        && path.extension().is_none_or(|it| it != "so")
        && fs::read(path).is_ok_and(|bytes| {
            bytes.starts_with(b"\x7fELF") && bytes.windows(runtime.len()).any(|it| it == runtime)
        })
}

fn text(found: &[Found]) -> String {
    let mut out = String::from(
        "# Tests for `reweave suite`. Every key but `files` and `program` may also stand under [defaults].\n\
         # files, flags, program, args, stdin; expect = \"clean\", \"no-error\", \"deadlock\", \"misuse:relock\", ...;\n\
         # algorithm, preemptions, races, max-steps, max-executions, restart, threads, keep-going, strict\n\
         budget = \"10m\"\n",
    );
    let name = |path: &Path| path.with_extension("").to_string_lossy().into_owned();
    for program in found {
        let (name, key) = match program {
            Found::Source(path) => (name(path), format!("files = [{}]", quoted(path))),
            Found::Program(path) => {
                let path = Path::new(".").join(path);
                (
                    path.to_string_lossy().into_owned(),
                    format!("program = {}", quoted(&path)),
                )
            }
        };
        out += &format!(
            "\n[[test]]\nname = {}\n{key}\nexpect = \"clean\"\n",
            quoted(Path::new(&name))
        );
    }
    out
}

/// As a TOML string.
fn quoted(path: &Path) -> String {
    let mut out = String::from("\"");
    for c in path.to_string_lossy().chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out += &format!("\\u{:04X}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}
