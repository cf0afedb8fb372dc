//! One archive of the standard library: its objects are translated once more, with hooks.
//!
//! *Called by:* `rust`. *Owns:* nothing but temporary files.

use super::{
    DROP_HANDLER, LINKER, LOCK_CONTENDED, Library, PASSES, Replaced, RustError, TEST_MAIN, output,
};
use object::{
    Object, ObjectSection, ObjectSymbol, read::archive::ArchiveFile, read::elf::ElfFile64,
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What the linker gets beside the passes.
pub(super) const LINKER_FLAGS: &[&str] = &[
    "-flavor",
    "gnu",
    "-r",
    "--lto-partitions=1",
    "-mllvm",
    "-force-attribute=sanitize_thread",
    "-mllvm",
    "-tsan-instrument-read-before-write=1",
];

/// Where objects keep the code that the machine's was made of.
const CODE: &str = ".llvmbc";

/// Writes an archive with the same contents and hooks in its objects. Other functions may take the place of those that are to be replaced, when a
/// program is linked.
pub(super) fn translate(
    library: &Library,
    from: &Path,
    to: &Path,
    replaced: &mut Replaced,
) -> Result<(), RustError> {
    let failed = |error| RustError::File(from.into(), error);
    let bytes = fs::read(from).map_err(failed)?;
    let unknown = || RustError::Archive(from.into());
    let archive = ArchiveFile::parse(&*bytes).map_err(|_| unknown())?;
    let directory = tempfile::tempdir().map_err(failed)?;
    let mut objects: Vec<PathBuf> = Vec::new();
    for member in archive.members() {
        let member = member.map_err(|_| unknown())?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        if !name.ends_with(".o") {
            continue;
        }
        let data = member.data(&*bytes).map_err(|_| unknown())?;
        let object = ElfFile64::<object::Endianness>::parse(data).map_err(|_| unknown())?;
        let code = object.section_by_name(CODE);
        let code = code.and_then(|code| code.data().ok()).unwrap_or_default();
        let has_text = object
            .sections()
            .any(|it| it.kind() == object::SectionKind::Text && it.size() > 0);
        if code.is_empty() && !has_text {
            continue;
        }
        if code.is_empty() {
            return Err(unknown());
        }
        let input = directory.path().join("code.bc");
        fs::write(&input, code).map_err(failed)?;
        let output_file = directory.path().join(&name);
        let mut linker = library.tool(LINKER);
        linker
            .args(LINKER_FLAGS)
            .arg(format!("--lto-newpm-passes={PASSES}"));
        output(linker.arg("-o").arg(&output_file).arg(&input))?;
        empty(&output_file).map_err(failed)?;
        let mut weaken = library.tool("rust-objcopy");
        for (found, names) in [
            (&mut replaced.lock, LOCK_CONTENDED),
            (&mut replaced.tests, TEST_MAIN),
        ] {
            if let Some(symbol) = symbol(&object, names) {
                weaken.arg(format!("--weaken-symbol={symbol}"));
                *found = Some(symbol);
            }
        }
        if weaken.get_args().len() > 0 {
            output(weaken.arg(&output_file))?;
        }
        objects.push(output_file);
    }
    fs::copy(from, to).map_err(failed)?;
    if !objects.is_empty() {
        output(Command::new("ar").arg("rs").arg(to).args(&objects))?;
    }
    Ok(())
}

/// Has the function that would drop a handler for faults return at once.
fn empty(file: &Path) -> std::io::Result<()> {
    const RETURN: u8 = 0xc3;
    let mut bytes = fs::read(file)?;
    let place = ElfFile64::<object::Endianness>::parse(&*bytes)
        .ok()
        .and_then(|object| {
            let name = symbol(&object, DROP_HANDLER)?;
            let function = object.symbol_by_name(&name)?;
            let section = object.section_by_index(function.section_index()?).ok()?;
            let (start, _) = section.file_range()?;
            usize::try_from(start + function.address()).ok()
        });
    match place {
        Some(place) => {
            bytes[place] = RETURN;
            fs::write(file, bytes)
        }
        None => Ok(()),
    }
}

/// A function's symbol, which begins and ends so, with a hash between.
fn symbol(object: &ElfFile64<'_>, [begin, end]: [&str; 2]) -> Option<String> {
    let mut names = object.symbols().filter(|symbol| symbol.is_definition());
    names.find_map(|symbol| {
        let name = symbol.name().ok()?;
        let hash = name.strip_prefix(begin)?.strip_suffix(end)?;
        let plain = hash.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plain.then(|| name.to_owned())
    })
}
