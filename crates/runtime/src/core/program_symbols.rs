//! The functions that an ELF file defines, by its table of symbols.

use core::ops::Range;

/// A little-endian number of so many bytes at an offset of a file; `None` where the file ends before.
fn number(file: &[u8], at: usize, bytes: usize) -> Option<usize> {
    let digits = file.get(at..at.checked_add(bytes)?)?;
    let mut word = [0; 8];
    word[..bytes].copy_from_slice(digits);
    Some(usize::from_le_bytes(word))
}

/// The functions that a file of 64 bits defines: their names, and where they lie from its load address on.
pub fn functions(file: &[u8]) -> Option<impl Iterator<Item = (&[u8], Range<usize>)>> {
    const SYMBOL_TABLE: usize = 2;
    const HEADER: usize = 64;
    const SYMBOL: usize = 24;
    // 64 bits, little-endian.
    if file.get(..6)? != b"\x7fELF\x02\x01" || number(file, 0x3a, 2)? != HEADER {
        return None;
    }
    let headers = number(file, 0x28, 8)?;
    let count = number(file, 0x3c, 2)?;
    let header = move |index: usize| {
        let at = headers.checked_add(index * HEADER)?;
        Some((number(file, at + 4, 4)?, at))
    };
    let content = move |at: usize| {
        let start = number(file, at + 0x18, 8)?;
        file.get(start..start.checked_add(number(file, at + 0x20, 8)?)?)
    };
    let mut tables = (0..count).filter_map(header);
    let (_, at) = tables.find(|(kind, _)| *kind == SYMBOL_TABLE)?;
    let symbols = content(at)?;
    let (_, names) = header(number(file, at + 0x28, 4)?)?;
    let names = content(names)?;
    let symbols = symbols.chunks_exact(SYMBOL);
    Some(symbols.filter_map(|symbol| function(symbol, names)))
}

/// Name and place of a symbol, if it is a function that the file defines.
fn function<'a>(symbol: &[u8], names: &'a [u8]) -> Option<(&'a [u8], Range<usize>)> {
    const FUNCTION: usize = 2;
    let kind = number(symbol, 4, 1)? & 15;
    let section = number(symbol, 6, 2)?;
    let (start, bytes) = (number(symbol, 8, 8)?, number(symbol, 16, 8)?);
    let name = names.get(number(symbol, 0, 4)?..)?;
    let name = name.split(|byte| *byte == 0).next()?;
    let end = start.checked_add(bytes)?;
    (kind == FUNCTION && section != 0).then_some((name, start..end))
}
