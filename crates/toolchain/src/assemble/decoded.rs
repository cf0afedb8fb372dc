//! What instructions do to memory, by the assembler and a disassembler.
//!
//! The assembler translates the text once with a label before each instruction; the disassembler reads what it made of each.

use super::{
    AssembleError, Assembler,
    statements::{Kind, Statement},
};
use iced_x86::{Decoder, DecoderOptions, Instruction};
use object::{Object, ObjectSection, ObjectSymbol, read::elf::ElfFile64};
use std::{fmt::Write, fs};

/// How names of these labels begin.
const LABEL: &str = "__reweave.";

/// The instruction that each statement is, if it is one. A prefix that is a statement of its own counts as part of the next.
pub(super) fn instructions(
    statements: &[Statement<'_>],
    assembler: &Assembler,
) -> Result<Vec<Option<Instruction>>, AssembleError> {
    let object = assembler.assemble(&labelled(statements), "labelled")?;
    let bytes = fs::read(&object).map_err(|error| AssembleError::File(object, error))?;
    let mut found = vec![None; statements.len()];
    let Ok(file) = ElfFile64::<object::Endianness>::parse(&*bytes) else {
        return Ok(found);
    };
    for symbol in file.symbols() {
        let index = symbol.name().ok().and_then(|name| name.strip_prefix(LABEL));
        let Some(index) = index.and_then(|index| index.parse::<usize>().ok()) else {
            continue;
        };
        let section = symbol.section_index();
        let section = section.and_then(|section| file.section_by_index(section).ok());
        let code = section.and_then(|section| section.data().ok());
        let code = code.and_then(|code| code.get(symbol.address() as usize..));
        let decoded = code.and_then(|code| {
            let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
            decoder.can_decode().then(|| decoder.decode())
        });
        found[index] = decoded.filter(|instruction| !instruction.is_invalid());
    }
    Ok(found)
}

/// The text with a label before each instruction.
fn labelled(statements: &[Statement<'_>]) -> String {
    let mut text = String::new();
    let mut prefixed = false;
    for (index, statement) in statements.iter().enumerate() {
        let prefix = statement.kind == Kind::Prefix;
        if !prefixed && (prefix || matches!(statement.kind, Kind::Instruction { .. })) {
            let _ = writeln!(text, "{LABEL}{index}:");
        }
        prefixed = prefix;
        text.push_str(statement.text);
        text.push('\n');
    }
    text
}
